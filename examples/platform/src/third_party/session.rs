//! What is kept for one browser. Its cookie contains only an id.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use oauth2::CsrfToken;
use serde_json::Value;
use time::Duration;
use tokio::sync::OwnedMutexGuard;
use tower_sessions::session::{self, Record};
use tower_sessions::{Expiry, Session};

use super::Application;
use super::connection::{Connection, Tokens, now};
use super::failure::Failure;
use super::message::Message;
use super::oauth::Attempt;

const ATTEMPT: &str = "attempt";
const CONNECTION: &str = "connection";
const FORM_TOKEN: &str = "form_token";
const NOTICE: &str = "notice";
const SEEN: &str = "seen";

/// How long a connected user may stay away.
const CONNECTED: Expiry = Expiry::OnInactivity(Duration::days(30));

/// A browser that visits.
pub(super) struct Visit {
    pub(super) session: Session,
    pub(super) application: Arc<Application>,
}

impl Visit {
    pub(super) async fn is_connected(&self) -> Result<bool, Failure> {
        let key: Option<String> = self.session.get(CONNECTION).await?;
        Ok(self.application.store.is_connected(&key.unwrap_or_default()).await)
    }

    pub(super) async fn begin(&self, attempt: &Attempt) -> Result<(), Failure> {
        Ok(self.session.insert(ATTEMPT, attempt).await?)
    }

    /// Returns the attempt that this browser began, once, if the answer belongs to it.
    pub(super) async fn take_attempt(&self, state: &str) -> Result<Option<Attempt>, Failure> {
        let attempt: Option<Attempt> = self.session.get(ATTEMPT).await?;
        let Some(attempt) = attempt.filter(|attempt| attempt.state.secret() == state) else { return Ok(None) };
        self.session.remove_value(ATTEMPT).await?;
        // Saved now, because the layer saves nothing if the response is a server error.
        self.session.save().await?;
        Ok(Some(attempt))
    }

    /// Connects this browser, and returns the connection that it had before.
    pub(super) async fn connect(&self, tokens: Tokens) -> Result<Option<Connection>, Failure> {
        let earlier = self.take_connection().await?;
        // Another port of this host may know the earlier session id or form token.
        self.session.cycle_id().await?;
        self.session.remove_value(FORM_TOKEN).await?;
        self.session.insert(CONNECTION, self.application.store.connect(tokens).await).await?;
        self.session.set_expiry(Some(CONNECTED));
        // Saved now, because the connection can be found only through its session.
        self.session.save().await?;
        Ok(earlier)
    }

    /// Forgets the connection, and says why on the next page.
    pub(super) async fn forget(&self, why: impl Into<Message>) -> Result<(), Failure> {
        self.take_connection().await?;
        self.notify(why).await
    }

    async fn take_connection(&self) -> Result<Option<Connection>, Failure> {
        let key: Option<String> = self.session.remove(CONNECTION).await?;
        Ok(self.application.store.forget(&key.unwrap_or_default()).await)
    }

    pub(super) async fn notify(&self, message: impl Into<Message>) -> Result<(), Failure> {
        Ok(self.session.insert(NOTICE, message.into()).await?)
    }

    pub(super) async fn take_notice(&self) -> Result<Option<Message>, Failure> {
        let Some(notice) = self.session.get(NOTICE).await? else { return Ok(None) };
        self.session.remove_value(NOTICE).await?;
        Ok(Some(notice))
    }

    /// Returns the token for the forms of this session: other ports of the host are the same site for cookies.
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
        if session.get_value(CONNECTION).await?.is_some() {
            session.set_expiry(Some(CONNECTED));
        }
        Ok(Self { session, application: application.clone() })
    }
}

/// A visit with a connection, which is locked until the visit ends.
pub(super) struct Connected {
    pub(super) visit: Visit,
    pub(super) key: String,
    pub(super) connection: Connection,
    _turn: OwnedMutexGuard<()>,
}

impl FromRequestParts<Arc<Application>> for Connected {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, application: &Arc<Application>) -> Result<Self, Failure> {
        let visit = Visit::from_request_parts(parts, application).await?;
        let key: Option<String> = visit.session.get(CONNECTION).await?;
        let Some(key) = key else { return Err(Failure::NotConnected) };
        let Some((connection, turn)) = application.store.find(&key).await else { return Err(Failure::NotConnected) };
        // Once a day, so that the session is saved with a new end, but not with every page.
        visit.session.insert(SEEN, now().date().to_julian_day()).await?;
        Ok(Self { visit, key, connection, _turn: turn })
    }
}

/// The key of a session's connection.
pub(super) fn connection_of(session: &Record) -> Option<&str> {
    session.data.get(CONNECTION).and_then(Value::as_str)
}

impl From<session::Error> for Failure {
    fn from(_: session::Error) -> Self {
        Self::Broken
    }
}
