//! The registration form as it was typed, so that nothing is lost when it is shown again.

use std::borrow::Cow;
use std::collections::BTreeMap;

use grantor::client::{ApplicationType, AuthenticationMethods, CheckedForm, ClientKeys, ClientType, GrantType};
use grantor::scope::{ResourceScope, ResourceScopeError, ScopeCatalog};
use grantor::{ApplicationForm, Config};

use crate::registration::problems::{Problems, misleading, without_line_ends};

/// Whether the client type and the application type may still be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Open,
    /// The application was approved, so they are fixed.
    Fixed,
}

/// The values of all controls of the page except the file.
#[derive(Clone, Debug, Default)]
pub(super) struct Entered {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) website: String,
    pub(super) client_type: String,
    /// Where it runs: `web`, `native` or `device`.
    pub(super) application_type: String,
    /// How it authenticates: `secret` or `key`.
    pub(super) authentication: String,
    pub(super) jwks: String,
    pub(super) jwks_uri: String,
    pub(super) redirect_uris: String,
    /// By the scope's name: the token to request, or an empty text.
    scopes: BTreeMap<String, String>,
    pub(super) resource_scope: String,
    pub(super) resources: String,
    /// The logo that was sent before.
    pub(super) draft: String,
    pub(super) wants_sample_logo: bool,
}

impl Entered {
    /// Returns the form of a new application.
    pub(super) fn blank() -> Self {
        let (client_type, application_type) = ("confidential".into(), "web".into());
        Self { client_type, application_type, authentication: "secret".into(), ..Self::default() }
    }

    pub(super) fn of_form(form: &CheckedForm) -> Self {
        let lines = |lines: Vec<&str>| lines.join("\n");
        let resources = match &form.resource_scope {
            ResourceScope::Specified(list) => lines(list.iter().collect()),
            ResourceScope::All | ResourceScope::Public => String::new(),
        };
        Self {
            name: form.name.clone(),
            description: form.description.clone().unwrap_or_default(),
            website: form.website.clone(),
            client_type: if form.client_type == ClientType::Public { "public" } else { "confidential" }.to_owned(),
            application_type: match form.application_type {
                _ if form.grant_types.contains(GrantType::DeviceCode) => "device",
                ApplicationType::Native => "native",
                _ => "web",
            }
            .to_owned(),
            authentication: if form.authentication_methods == AuthenticationMethods::KEY { "key" } else { "secret" }
                .to_owned(),
            jwks: jwks(form.keys.as_ref()),
            jwks_uri: jwks_uri(form.keys.as_ref()),
            redirect_uris: lines(form.redirect_uris.iter().map(|uri| uri.as_str()).collect()),
            scopes: form.scopes.iter().map(|scope| (scope.name().to_owned(), scope.to_string())).collect(),
            resource_scope: form.resource_scope.as_str().to_owned(),
            resources,
            ..Self::default()
        }
    }

    /// Returns a form with only the two controls of keys.
    pub(super) fn of_keys(jwks: &str, jwks_uri: &str) -> Self {
        Self { jwks: jwks.to_owned(), jwks_uri: jwks_uri.to_owned(), ..Self::default() }
    }

    pub(super) fn of_texts(texts: Vec<(String, String)>) -> Self {
        let mut entered = Self::default();
        for (name, text) in texts {
            // Browsers end the lines of a text with two characters.
            let text = text.replace("\r\n", "\n");
            match &*name {
                "name" => entered.name = text,
                "description" => entered.description = text,
                "website" => entered.website = text,
                "client_type" => entered.client_type = text,
                "application_type" => entered.application_type = text,
                "authentication" => entered.authentication = text,
                "jwks" => entered.jwks = text,
                "jwks_uri" => entered.jwks_uri = text,
                "redirect_uris" => entered.redirect_uris = text,
                "resource_scope" => entered.resource_scope = text,
                "resources" => entered.resources = text,
                "draft" => entered.draft = text,
                "sample_logo" => entered.wants_sample_logo = true,
                _ => {
                    if let Some(scope) = name.strip_prefix("scope-") {
                        entered.scopes.insert(scope.to_owned(), text);
                    }
                }
            }
        }
        entered
    }

    /// Returns the token that was chosen for a scope, or an empty text.
    pub(super) fn chosen(&self, scope: &str) -> &str {
        self.scopes.get(scope).map_or("", |token| token)
    }

    /// Converts to the form that the registrar checks. Adds the problems that cannot be expressed in it.
    ///
    /// Values that the page does not ask for are kept from `before`, and so is the kind of application once it is
    /// fixed.
    pub(super) fn to_form(
        &self,
        config: &Config,
        before: Option<&CheckedForm>,
        kind: Kind,
        problems: &mut Problems,
    ) -> ApplicationForm {
        let mut form = ApplicationForm::new(self.name.trim(), self.website.trim());
        form.description = Some(without_line_ends(&self.description)).filter(|text| !text.is_empty());
        form.redirect_uris = lines(&self.redirect_uris);
        form.scopes = self.tokens(&config.scopes);
        form.resource_scope = self.resource_scope(problems);
        if let Some(before) = before {
            form.client_type = before.client_type;
            form.application_type = before.application_type;
            form.grant_types = before.grant_types;
        }
        if kind == Kind::Open {
            self.choose_kind(&mut form, config, problems);
        }
        if form.grant_types.contains(GrantType::DeviceCode) {
            let types = form.grant_types.without(GrantType::AuthorizationCode);
            // It also uses codes if it has an address for them.
            let has_address = !form.redirect_uris.is_empty();
            form.grant_types = if has_address { types.with(GrantType::AuthorizationCode) } else { types };
        }
        // Its methods of authentication are valid only for its earlier client type.
        if let Some(before) = before.filter(|before| before.client_type == form.client_type) {
            form.authentication_methods = before.authentication_methods;
            form.options = before.options.clone();
        }
        if form.client_type == ClientType::Confidential {
            self.choose_authentication(&mut form);
        }
        form
    }

    /// Typed keys are sent even if the secret is chosen, so that they are not dropped silently.
    fn choose_authentication(&self, form: &mut ApplicationForm) {
        let had_key = form.authentication_methods == AuthenticationMethods::KEY;
        let has_key = self.authentication == "key";
        if has_key {
            form.authentication_methods = AuthenticationMethods::KEY;
        } else if had_key {
            form.authentication_methods = AuthenticationMethods::SECRET;
            form.options.signing_algorithm = None;
        }
        form.jwks = Some(self.jwks.trim().to_owned());
        form.jwks_uri = Some(self.jwks_uri.trim().to_owned());
    }

    fn tokens(&self, catalog: &ScopeCatalog) -> String {
        let in_order = catalog.definitions().iter().map(|definition| self.chosen(definition.name()));
        in_order.filter(|token| !token.is_empty()).collect::<Vec<_>>().join(" ")
    }

    fn choose_kind(&self, form: &mut ApplicationForm, config: &Config, problems: &mut Problems) {
        form.client_type = match &*self.client_type {
            "public" if config.public_clients => ClientType::Public,
            "confidential" => ClientType::Confidential,
            _ => {
                problems.push("client_type", "Choose whether it can keep a secret.");
                ClientType::Confidential
            }
        };
        if self.application_type == "device" {
            form.grant_types = form.grant_types.with(GrantType::DeviceCode);
        } else if form.grant_types.contains(GrantType::DeviceCode) {
            form.grant_types = form.grant_types.without(GrantType::DeviceCode).with(GrantType::AuthorizationCode);
        }
        form.application_type = match &*self.application_type {
            "native" | "device" => ApplicationType::Native,
            "web" => ApplicationType::Web,
            _ => {
                problems.push("application_type", "Choose where it runs.");
                ApplicationType::Web
            }
        };
    }

    fn resource_scope(&self, problems: &mut Problems) -> Option<ResourceScope> {
        let resources = match &*self.resource_scope {
            "all" => return Some(ResourceScope::All),
            "public" => return Some(ResourceScope::Public),
            "specified" => lines(&self.resources),
            _ => return None,
        };
        if let Some(odd) = resources.iter().find(|name| !is_repository(name)) {
            problems.push("resources", format!("“{odd}” is not a repository name; write owner/name."));
            return None;
        }
        let text: Cow<'static, str> = match ResourceScope::specified(resources) {
            Ok(scope) => return Some(scope),
            Err(ResourceScopeError::Text(error)) => misleading("A repository’s name", error).into(),
            Err(ResourceScopeError::Empty) => "List the repositories, one in each line.".into(),
            Err(ResourceScopeError::TooMany) => {
                "The list is too long: at most 100 repositories, 4096 bytes in total.".into()
            }
            Err(ResourceScopeError::Length) => "A repository’s name may have at most 255 bytes.".into(),
            Err(_) => "A repository’s name cannot be read.".into(),
        };
        problems.push("resources", text);
        None
    }
}

/// The keys as the text of a control.
pub(super) fn jwks(keys: Option<&ClientKeys>) -> String {
    if let Some(ClientKeys::Set(set)) = keys { set.as_str().to_owned() } else { String::new() }
}

/// The address of the keys as the text of a control.
pub(super) fn jwks_uri(keys: Option<&ClientKeys>) -> String {
    if let Some(ClientKeys::Url(url)) = keys { url.to_string() } else { String::new() }
}

/// The lines of a text that have something on them.
fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn is_repository(name: &str) -> bool {
    name.split_once('/').is_some_and(|(owner, name)| !owner.is_empty() && !name.is_empty() && !name.contains('/'))
}
