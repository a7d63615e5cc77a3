//! The page of the registration form.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use grantor::application::RegistrationLimits;
use grantor::scope::{Permission, ScopeDefinition};
use grantor::{ClientId, Config};

use crate::accounts::Account;
use crate::applications::entered::{Entered, Kind};
use crate::pages::{Frame, page_with_preview};
use crate::registration::problems::{Problems, size};
use crate::web::Platform;
use crate::words;

#[derive(Template)]
#[template(path = "applications/form.html")]
struct FormPage<'a> {
    frame: Frame,
    /// The application that is changed.
    id: Option<&'a ClientId>,
    entered: &'a Entered,
    problems: &'a Problems,
    /// Whether the form was checked, and nothing is wrong with it.
    is_correct: bool,
    /// The consent page of a correct form, if it can be shown.
    preview: Option<String>,
    logo: Option<String>,
    limits: &'a RegistrationLimits,
    logo_size: String,
    groups: Vec<Group<'a>>,
    kind_is_open: bool,
    public_clients: bool,
    awaits_review: bool,
}

struct Group<'a> {
    title: &'a str,
    /// How many of its scopes are chosen. Without any, the group is folded.
    chosen: usize,
    scopes: Vec<Choice<'a>>,
}

/// The choices for one scope.
struct Choice<'a> {
    name: &'a str,
    title: &'a str,
    description: &'a str,
    offers: Vec<Offer>,
}

struct Offer {
    token: String,
    text: &'static str,
    is_chosen: bool,
}

/// What the page shows besides the typed values.
pub(super) struct Shown<'a> {
    pub(super) id: Option<&'a ClientId>,
    pub(super) kind: Kind,
    /// The address of the logo that would be submitted.
    pub(super) logo: Option<String>,
    pub(super) is_correct: bool,
    pub(super) preview: Option<String>,
    pub(super) awaits_review: bool,
}

pub(super) fn show(
    platform: &Platform,
    account: &Account,
    entered: &Entered,
    problems: &Problems,
    shown: Shown<'_>,
) -> Response {
    let config = platform.server.config();
    let page = FormPage {
        frame: Frame::for_account(account),
        id: shown.id,
        entered,
        problems,
        is_correct: shown.is_correct,
        preview: shown.preview,
        logo: shown.logo,
        limits: &config.registration.form,
        logo_size: size(config.registration.form.logo),
        groups: groups(config, entered),
        kind_is_open: shown.kind == Kind::Open,
        public_clients: config.public_clients,
        awaits_review: shown.awaits_review,
    };
    let mut response = page_with_preview(&page, &platform.pages);
    if !problems.is_empty() {
        *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
    }
    response
}

fn groups<'a>(config: &'a Config, entered: &Entered) -> Vec<Group<'a>> {
    let mut groups = Vec::<Group<'a>>::new();
    for definition in config.scopes.definitions() {
        let choice = Choice {
            name: definition.name(),
            title: definition.title(),
            description: definition.description(),
            offers: offers(definition, entered.chosen(definition.name())),
        };
        match groups.iter_mut().find(|group| group.title == definition.group()) {
            Some(group) => group.scopes.push(choice),
            None => groups.push(Group { title: definition.group(), chosen: 0, scopes: vec![choice] }),
        }
    }
    for group in &mut groups {
        group.chosen = group.scopes.iter().filter(|scope| scope.offers.iter().any(|offer| offer.is_chosen)).count();
    }
    groups
}

fn offers(definition: &ScopeDefinition, chosen: &str) -> Vec<Offer> {
    let permissions = definition.permissions();
    let name = definition.name();
    let offered = [
        (format!("{name}:r"), Some(Permission::Read), permissions.allows(Permission::Read)),
        (format!("{name}:rw"), Some(Permission::ReadWrite), permissions.allows(Permission::ReadWrite)),
        (name.to_owned(), None, permissions.max().is_none()),
    ];
    let offered = offered.into_iter().filter(|(_, _, is_allowed)| *is_allowed);
    offered
        .map(|(token, permission, _)| Offer { is_chosen: token == chosen, token, text: words::permission(permission) })
        .collect()
}
