//! The page that asks the user.

use std::time::Duration;

use askama::Template;
use grantor::client::GrantType;
use grantor::scope::ResourceScope;
use grantor::secret::ConsentTicket;
use grantor::{Client, Config, PendingAuthorization, Timestamp};

use crate::accounts::Account;
use crate::consent::Form;
use crate::logos;
use crate::pages::Frame;
use crate::repositories::Repository;
use crate::words::{self, ScopeGroup, When};

#[derive(Template)]
#[template(path = "consent.html")]
pub(super) struct ConsentPage {
    frame: Frame,
    handle: String,
    next: String,
    application: Application,
    /// Set for an unreviewed application: the page shows this instead of the reviewed facts.
    unreviewed: Option<Unreviewed>,
    account: Account,
    /// Why the previous answer had no effect.
    problem: Option<&'static str>,
    groups: Vec<Group>,
    resources: Resources,
    redirect_host: String,
    warning: Option<Warning>,
    lasts: String,
}

/// Why the platform cannot be sure which program asks [RFC 8252 section 8.6].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Warning {
    /// The answer goes to a program on the user's own device: any program there can ask for it.
    OwnDevice,
    /// The same, for an unreviewed application whose redirect URIs are all on the user's device.
    OwnDeviceAlone,
    /// Everybody who has the application has its secret, if there is one.
    NoSecret,
}

impl Warning {
    fn about(pending: &PendingAuthorization) -> Option<Self> {
        let uri = pending.redirect_uri();
        if pending.is_client_identity_assured() {
            None
        } else if pending.is_client_unreviewed() && pending.is_loopback_only() {
            Some(Self::OwnDeviceAlone)
        } else if uri.is_loopback() || uri.is_private_use() {
            Some(Self::OwnDevice)
        } else {
            Some(Self::NoSecret)
        }
    }
}

struct Group {
    title: String,
    scopes: Vec<Deed>,
}

/// One thing that the application would like to do.
struct Deed {
    token: String,
    verbs: String,
    is_chosen: bool,
}

/// What is known about an unreviewed application.
struct Unreviewed {
    /// The host and the URL of its metadata document, if it has one: the only verified fact. Several owners may share a
    /// host by path.
    document: Option<(String, String)>,
    /// Its own claim.
    name: Option<String>,
    looks_like_another: bool,
    registered: When,
}

impl Unreviewed {
    fn of(pending: &PendingAuthorization) -> Option<Self> {
        let client = pending.client();
        let open = client.open().filter(|_| pending.is_client_unreviewed())?;
        Some(Self {
            document: pending.client_id_host().map(|host| (host.to_owned(), client.id().to_string())),
            name: Some(client.form().name.clone()).filter(|name| !name.is_empty()),
            looks_like_another: open.looks_like_another,
            registered: words::day(open.registered),
        })
    }
}

struct Application {
    /// The application's name, if that was reviewed.
    name: String,
    website: String,
    /// In its developer's words, as an administrator approved them.
    description: Option<String>,
    logo: Option<String>,
    publisher: Option<String>,
    since: Option<When>,
}

enum Resources {
    All,
    Public,
    Specified(Vec<Choice>),
}

/// A repository that the application asks for by name.
struct Choice {
    name: String,
    /// `None` if the user has no such repository.
    is_public: Option<bool>,
    is_chosen: bool,
}

/// The publisher of the application, and since when it can be used.
pub(super) struct Publisher {
    pub(super) name: Option<String>,
    pub(super) since: Option<Timestamp>,
}

/// What the application asks for, and which of it the user has.
pub(super) struct Asked<'a> {
    pub(super) pending: &'a PendingAuthorization,
    pub(super) description: Option<String>,
    pub(super) publisher: Publisher,
    pub(super) repositories: &'a [Repository],
}

impl ConsentPage {
    pub(super) fn new(
        config: &Config,
        account: &Account,
        asked: Asked<'_>,
        handle: &ConsentTicket,
        next: String,
    ) -> Self {
        let Asked { pending, description, publisher, repositories } = asked;
        let client = pending.client();
        let unreviewed = Unreviewed::of(pending);
        let name = if unreviewed.is_some() { "this application" } else { &client.form().name };
        Self {
            frame: Frame::for_account(account),
            handle: handle.expose().to_owned(),
            next,
            application: Application {
                name: name.to_owned(),
                website: client.form().website.clone(),
                description,
                logo: logos::address(client),
                publisher: publisher.name,
                since: publisher.since.map(words::day),
            },
            unreviewed,
            account: account.clone(),
            problem: None,
            groups: words::scope_groups(&config.scopes, pending.scopes()).into_iter().map(Group::from).collect(),
            resources: Resources::of(pending.resource_scope(), repositories),
            redirect_host: pending.redirect_host().to_owned(),
            warning: Warning::about(pending),
            lasts: how_long(config, client),
        }
    }

    /// Shows the boxes as the user left them, and the problem.
    pub(super) fn repeat(&mut self, before: &Form) {
        self.problem = before.problem();
        for scope in self.groups.iter_mut().flat_map(|group| &mut group.scopes) {
            scope.is_chosen = before.scopes.contains(&scope.token);
        }
        if let Resources::Specified(choices) = &mut self.resources {
            for choice in choices {
                choice.is_chosen = before.resources.contains(&choice.name);
            }
        }
    }
}

impl From<ScopeGroup> for Group {
    fn from(group: ScopeGroup) -> Self {
        let deed = |scope: words::ScopeWords| Deed { token: scope.token, verbs: scope.verbs, is_chosen: true };
        Self { title: group.title, scopes: group.scopes.into_iter().map(deed).collect() }
    }
}

impl Resources {
    fn of(scope: &ResourceScope, repositories: &[Repository]) -> Self {
        let choice = |name: &str| {
            let known = repositories.iter().find(|repository| repository.name == name);
            let is_public = known.map(|repository| repository.public);
            Choice { name: name.to_owned(), is_public, is_chosen: is_public.is_some() }
        };
        match scope {
            ResourceScope::All => Self::All,
            ResourceScope::Public => Self::Public,
            ResourceScope::Specified(list) => Self::Specified(list.iter().map(choice).collect()),
        }
    }
}

/// How long the application can act on what is granted here, as the settings say.
fn how_long(config: &Config, client: &Client) -> String {
    let access = span(config.tokens.access_lifetime);
    if !client.form().grant_types.contains(GrantType::RefreshToken) {
        return format!("It ends by itself after {access}.");
    }
    let unused = span(config.tokens.refresh_lifetime);
    let renewed = format!("The application renews it every {access} at the latest; unused, it ends after {unused}.");
    match config.tokens.grant_lifetime {
        Some(max) => format!("{renewed} After {} it ends in any case.", span(max)),
        None => renewed,
    }
}

/// Writes a duration in the largest unit that gives a whole number.
fn span(span: Duration) -> String {
    let seconds = span.as_secs();
    let units = [(86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second")];
    let fits = |size: u64| seconds >= size && seconds.is_multiple_of(size);
    let (size, unit) = units.into_iter().find(|(size, _)| fits(*size)).unwrap_or((1, "second"));
    let count = seconds / size;
    if count == 1 { format!("1 {unit}") } else { format!("{count} {unit}s") }
}
