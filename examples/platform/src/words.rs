//! Texts for the pages: permissions, states, resources, scopes, times.

use grantor::client::{ApplicationType, CheckedForm, ClientKeys, ClientState, ClientType, GrantType};
use grantor::scope::{Permission, ResourceScope, ScopeCatalog, ScopeSet};
use grantor::{Application, Client, Timestamp};
use time::OffsetDateTime;

/// The permission of a scope; a scope without a permission is granted as a whole.
pub(crate) const fn permission(permission: Option<Permission>) -> &'static str {
    match permission {
        Some(Permission::Read) => "Read-only",
        Some(Permission::ReadWrite) => "Read and write",
        None => "Everything",
    }
}

/// The owner of an application, as administrators see it.
pub(crate) fn owner(application: &Application) -> String {
    match (application.owner.as_ref(), application.more_metadata()) {
        (Some(owner), _) => owner.to_string(),
        (None, Some(_)) => "no owner: no developer submitted it".to_owned(),
        (None, None) => "the platform".to_owned(),
    }
}

/// The state of an application.
pub(crate) const fn state(state: ClientState) -> &'static str {
    match state {
        ClientState::Pending => "Awaiting review",
        ClientState::Approved => "Approved",
        ClientState::Rejected => "Rejected",
        ClientState::Suspended => "Suspended",
        _ => "Unknown",
    }
}

/// The class of the style sheet that colours a state.
pub(crate) const fn state_class(state: ClientState) -> &'static str {
    match state {
        ClientState::Approved => "good",
        ClientState::Rejected | ClientState::Suspended => "bad",
        _ => "",
    }
}

/// How an application authenticates, and its keys, if it has any.
pub(crate) fn authentication(form: &CheckedForm) -> Vec<String> {
    match &form.keys {
        Some(ClientKeys::Set(set)) => vec!["With its key. The public one:".to_owned(), set.as_str().to_owned()],
        Some(ClientKeys::Url(url)) => vec!["With its key. The public one is at:".to_owned(), url.to_string()],
        Some(_) => vec!["With its key".to_owned()],
        None if form.client_type == ClientType::Public => vec!["Not at all".to_owned()],
        None => vec!["With its secret".to_owned()],
    }
}

pub(crate) const fn client_type(client_type: ClientType) -> &'static str {
    match client_type {
        ClientType::Public => "Cannot keep a secret (public)",
        _ => "Can keep a secret (confidential)",
    }
}

/// Where an application runs.
pub(crate) const fn application_type(form: &CheckedForm) -> &'static str {
    let types = form.grant_types;
    match form.application_type {
        _ if types.contains(GrantType::DeviceCode) && types.contains(GrantType::AuthorizationCode) => {
            "Runs on devices with and without a browser (device authorization)"
        }
        _ if types.contains(GrantType::DeviceCode) => "Runs on devices without a browser (device authorization)",
        ApplicationType::Native => "Runs on its users’ devices (native)",
        _ => "Runs on a server or in the browser (web)",
    }
}

/// How pages name an application: by its name, if that was reviewed; otherwise the name is marked as a claim.
pub(crate) fn called(client: &Client) -> String {
    match (client.is_unreviewed(), client.form().name.as_str()) {
        (false, name) => name.to_owned(),
        (true, "") => "An application without a name".to_owned(),
        (true, name) => format!("An application that calls itself “{name}”"),
    }
}

/// The texts of these two choices on the registration form and the lists.
pub(crate) const ALL_RESOURCES: &str = "All resources of the account, private ones and later ones too";
pub(crate) const ALL_PUBLIC_RESOURCES: &str = "All public resources of the account, later ones too";

/// Which resources an application may reach, and their names if they are listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resources {
    pub(crate) summary: &'static str,
    pub(crate) names: Vec<String>,
}

pub(crate) fn resources(scope: &ResourceScope) -> Resources {
    let summary = match scope {
        ResourceScope::All => ALL_RESOURCES,
        ResourceScope::Public => ALL_PUBLIC_RESOURCES,
        ResourceScope::Specified(list) if list.is_empty() => "No resource",
        ResourceScope::Specified(_) => "Only these resources",
    };
    let names = match scope {
        ResourceScope::Specified(list) => list.iter().map(str::to_owned).collect(),
        ResourceScope::All | ResourceScope::Public => Vec::new(),
    };
    Resources { summary, names }
}

/// Scopes under the heading that the catalog gives them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScopeGroup {
    pub(crate) title: String,
    pub(crate) scopes: Vec<ScopeWords>,
}

/// One scope in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScopeWords {
    /// As a request names it: `repo-code:r`.
    pub(crate) token: String,
    pub(crate) title: String,
    pub(crate) permission: &'static str,
}

/// Groups the scopes of a set as the catalog does. A scope that the catalog no longer has keeps its name.
pub(crate) fn scope_groups(catalog: &ScopeCatalog, scopes: &ScopeSet) -> Vec<ScopeGroup> {
    let mut groups = Vec::<ScopeGroup>::new();
    for scope in scopes.iter() {
        let definition = catalog.definition(scope.name());
        let title = definition.map_or_else(|| scope.name(), |definition| definition.title());
        let permission = permission(scope.permission());
        let words = ScopeWords { token: scope.to_string(), title: title.to_owned(), permission };
        let title = definition.map_or("Other", |definition| definition.group());
        match groups.iter_mut().find(|group| group.title == title) {
            Some(group) => group.scopes.push(words),
            None => groups.push(ScopeGroup { title: title.to_owned(), scopes: vec![words] }),
        }
    }
    groups
}

/// A time for people and for programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct When {
    /// RFC 3339, for the attribute `datetime`.
    pub(crate) exact: String,
    pub(crate) text: String,
}

pub(crate) fn when(time: Timestamp) -> When {
    let at = OffsetDateTime::from(time);
    let (hour, minute, second) = at.to_hms();
    let text = format!("{} {} {}, {hour:02}:{minute:02}:{second:02} UTC", at.day(), at.month(), at.year());
    When { exact: time.to_string(), text }
}
