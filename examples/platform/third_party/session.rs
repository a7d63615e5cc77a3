//! What is kept for one browser, behind a cookie that holds an id alone.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use oauth2::CsrfToken;
use tokio::sync::OwnedMutexGuard;
use tower_sessions::{Session, session};

use super::Application;
use super::connection::{Connection, Tokens};
use super::oauth::Attempt;
use super::pages::Failure;

const ATTEMPT: &str = "attempt";
const CONNECTION: &str = "connection";
const FORM_TOKEN: &str = "form_token";
const NOTICE: &str = "notice";

/// A browser that visits.
pub(super) struct Visit {
    pub(super) session: Session,
    pub(super) application: Arc<Application>,
}

impl Visit {
    pub(super) async fn is_connected(&self) -> Result<bool, Failure> {
        let key: Option<String> = self.session.get(CONNECTION).await?;
        Ok(self.application.connections.contains(&key.unwrap_or_default()).await)
    }

    pub(super) async fn begin(&self, attempt: &Attempt) -> Result<(), Failure> {
        Ok(self.session.insert(ATTEMPT, attempt).await?)
    }

    /// Gives what this browser began, once, if the answer is the one to it.
    pub(super) async fn take_attempt(&self, state: &str) -> Result<Option<Attempt>, Failure> {
        let attempt: Option<Attempt> = self.session.get(ATTEMPT).await?;
        let Some(attempt) = attempt.filter(|attempt| attempt.state.secret() == state) else { return Ok(None) };
        self.session.remove_value(ATTEMPT).await?;
        // Now, because the layer saves nothing when the answer is a failure of the server.
        self.session.save().await?;
        Ok(Some(attempt))
    }

    /// Connects this browser under a new session id, so that an id from before is worth nothing.
    pub(super) async fn connect(&self, tokens: Tokens) -> Result<(), Failure> {
        self.session.cycle_id().await?;
        Ok(self.session.insert(CONNECTION, self.application.connections.add(tokens).await).await?)
    }

    /// Forgets the connection, and says why on the next page.
    pub(super) async fn forget(&self, why: String) -> Result<(), Failure> {
        if let Some(key) = self.session.remove::<String>(CONNECTION).await? {
            self.application.connections.forget(&key).await;
        }
        self.notify(why).await
    }

    pub(super) async fn notify(&self, text: String) -> Result<(), Failure> {
        Ok(self.session.insert(NOTICE, text).await?)
    }

    pub(super) async fn take_notice(&self) -> Result<Option<String>, Failure> {
        Ok(self.session.remove(NOTICE).await?)
    }

    /// What the forms of this session carry: other ports of the host share its cookies' site.
    pub(super) async fn form_token(&self) -> Result<String, Failure> {
        if let Some(token) = self.session.get(FORM_TOKEN).await? {
            return Ok(token);
        }
        let token = CsrfToken::new_random().into_secret();
        self.session.insert(FORM_TOKEN, &token).await?;
        Ok(token)
    }

    pub(super) async fn confirm(&self, form_token: &str) -> Result<(), Failure> {
        let own: Option<String> = self.session.get(FORM_TOKEN).await?;
        if own.is_some_and(|own| own == form_token) { Ok(()) } else { Err(Failure::ForeignForm) }
    }
}

impl FromRequestParts<Arc<Application>> for Visit {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, application: &Arc<Application>) -> Result<Self, Failure> {
        let session = Session::from_request_parts(parts, application).await.map_err(|_| Failure::Broken)?;
        Ok(Self { session, application: application.clone() })
    }
}

/// A visit of somebody connected, who has the connection alone until it is over.
pub(super) struct Connected {
    pub(super) visit: Visit,
    pub(super) connection: OwnedMutexGuard<Connection>,
}

impl FromRequestParts<Arc<Application>> for Connected {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, application: &Arc<Application>) -> Result<Self, Failure> {
        let visit = Visit::from_request_parts(parts, application).await?;
        let key: Option<String> = visit.session.get(CONNECTION).await?;
        let Some(connection) = application.connections.find(&key.unwrap_or_default()).await else {
            return Err(Failure::NotConnected);
        };
        Ok(Self { visit, connection })
    }
}

impl From<session::Error> for Failure {
    fn from(_: session::Error) -> Self {
        Self::Broken
    }
}
