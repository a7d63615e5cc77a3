//! The platform's users, as the library sees them.

use async_trait::async_trait;
use axum::extract::FromRequestParts as _;
use axum::http::request::Parts;
use axum::response::{IntoResponse as _, Redirect, Response};
use grantor::hooks::{SubjectStatus, Subjects};
use grantor::interaction::{ReturnTo, SignedIn};
use grantor::{Client, Subject};
use grantor_axum::Users;
use tracing::error;

use crate::accounts::Account;
use crate::database::Database;
use crate::session::Visitor;
use crate::web::Platform;

/// The page where users sign in, or change to another account.
const SIGN_IN: &str = "/sign-in";

/// Who is signed in, by the platform's own session.
pub(crate) struct PlatformUsers(pub(crate) Platform);

impl Users for PlatformUsers {
    async fn signed_in(&self, request: &mut Parts) -> Result<Option<SignedIn>, Response> {
        let visitor = Visitor::from_request_parts(request, &self.0).await.map_err(|failure| failure.into_response())?;
        Ok(visitor.account.map(|account| account.signed_in()))
    }

    fn sign_in(&self, return_to: &ReturnTo) -> Response {
        Redirect::to(&return_to.query(SIGN_IN)).into_response()
    }

    fn switch_account(&self) -> Option<&str> {
        Some(SIGN_IN)
    }
}

impl Account {
    /// The account as the pages name it.
    pub(crate) fn signed_in(&self) -> SignedIn {
        SignedIn::new(self.subject.clone()).name(format!("{} ({})", self.name, self.email))
    }
}

/// The accounts, whose names the pages show as publishers of applications. None is ever locked.
#[derive(Debug)]
pub(crate) struct Accounts(pub(crate) Database);

#[async_trait]
impl Subjects for Accounts {
    async fn status(&self, _: &Subject, _: &Client) -> SubjectStatus {
        SubjectStatus::Active
    }

    async fn public_name(&self, subject: &Subject) -> Option<String> {
        match Account::find(&self.0, subject.as_str()).await {
            Ok(account) => account.map(|account| account.name),
            Err(error) => {
                error!("{error}");
                None
            }
        }
    }
}
