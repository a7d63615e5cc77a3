//! The page that asks the user.

use std::time::Duration;

use askama::Template;
use grantor::scope::ResourceScope;
use grantor::{AuthorizationHandle, Client, Config, GrantType, PendingAuthorization};

use crate::accounts::Account;
use crate::logos;
use crate::pages::Frame;
use crate::repositories::Repository;
use crate::words::{self, ScopeGroup};

#[derive(Template)]
#[template(path = "consent.html", config = "examples/platform/askama.toml")]
pub(super) struct ConsentPage {
    frame: Frame,
    handle: String,
    next: String,
    application: Application,
    account: Account,
    groups: Vec<ScopeGroup>,
    resources: Resources,
    redirect_host: String,
    is_assured: bool,
    lasts: String,
}

struct Application {
    name: String,
    website: String,
    /// In its developer's words, as an administrator approved them.
    description: Option<String>,
    logo: Option<String>,
}

enum Resources {
    All,
    Public,
    Specified(Vec<Choice>),
}

/// A repository that the application asks for by name.
struct Choice {
    name: String,
    /// Nothing if the user has no such repository.
    is_public: Option<bool>,
}

/// What the application asks for, and what the user has of it.
pub(super) struct Asked<'a> {
    pub(super) pending: &'a PendingAuthorization,
    pub(super) description: Option<String>,
    pub(super) repositories: &'a [Repository],
}

impl ConsentPage {
    pub(super) fn new(
        config: &Config,
        account: &Account,
        asked: Asked<'_>,
        handle: &AuthorizationHandle,
        next: String,
    ) -> Self {
        let Asked { pending, description, repositories } = asked;
        let client = pending.client();
        Self {
            frame: Frame::for_account(account),
            handle: handle.expose().to_owned(),
            next,
            application: Application {
                name: client.name().to_owned(),
                website: client.website().to_owned(),
                description,
                logo: logos::address(client),
            },
            account: account.clone(),
            groups: words::scope_groups(&config.scopes, pending.scopes()),
            resources: Resources::of(pending.resource_scope(), repositories),
            redirect_host: pending.redirect_host().to_owned(),
            is_assured: pending.is_client_assured(),
            lasts: how_long(config, client),
        }
    }
}

impl Resources {
    fn of(scope: &ResourceScope, repositories: &[Repository]) -> Self {
        let choice = |name: &str| {
            let known = repositories.iter().find(|repository| repository.name == name);
            Choice { name: name.to_owned(), is_public: known.map(|repository| repository.public) }
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
    let access = span(config.access_token_lifetime);
    if !client.grant_types().contains(GrantType::RefreshToken) {
        return format!("It ends by itself after {access}.");
    }
    let unused = span(config.refresh_token_lifetime);
    let renewed = format!("The application renews it every {access} at the latest; unused, it ends after {unused}.");
    match config.grant_lifetime {
        Some(most) => format!("{renewed} After {} it ends in any case.", span(most)),
        None => renewed,
    }
}

/// The largest unit that gives a whole number.
fn span(span: Duration) -> String {
    let seconds = span.as_secs();
    let units = [(86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second")];
    let fits = |size: u64| seconds >= size && seconds.is_multiple_of(size);
    let (size, unit) = units.into_iter().find(|(size, _)| fits(*size)).unwrap_or((1, "second"));
    let count = seconds / size;
    if count == 1 { format!("1 {unit}") } else { format!("{count} {unit}s") }
}
