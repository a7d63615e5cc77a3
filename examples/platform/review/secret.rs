//! The page that shows a secret, once.

use askama::Template;
use axum::response::Response;
use grantor::{Approved, ClientId, ClientSecret};

use crate::accounts::Account;
use crate::pages::{Frame, page};

#[derive(Template)]
#[template(path = "review/secret.html", config = "examples/platform/askama.toml")]
struct SecretPage<'a> {
    frame: Frame,
    name: &'a str,
    client_id: &'a ClientId,
    client_secret: Option<&'a str>,
    is_rotated: bool,
}

pub(super) fn of_approved(account: &Account, name: &str, approved: &Approved) -> Response {
    page(&SecretPage {
        frame: Frame::for_account(account),
        name,
        client_id: approved.client_id(),
        client_secret: approved.client_secret().map(ClientSecret::expose),
        is_rotated: false,
    })
}

pub(super) fn of_rotated(account: &Account, name: &str, client_id: &ClientId, made: &ClientSecret) -> Response {
    let client_secret = Some(made.expose());
    page(&SecretPage { frame: Frame::for_account(account), name, client_id, client_secret, is_rotated: true })
}
