//! Browser sessions, kept in the database, so that users stay signed in after a restart.

use axum::extract::FromRequestParts;
use axum::http::HeaderValue;
use axum::http::header::COOKIE;
use axum::http::request::Parts;
use grantor::interaction::Browser;
use grantor::{Clock as _, SystemClock};
use rusqlite::OptionalExtension as _;
use sha2::{Digest as _, Sha256};
use time::{Duration, OffsetDateTime};
use tower_sessions::cookie::SameSite;
use tower_sessions::session::{Id, Record};
use tower_sessions::session_store::{Error, Result};
use tower_sessions::{Expiry, Session, SessionManagerLayer, SessionStore};

use crate::accounts::Account;
use crate::database::{Database, DatabaseError};
use crate::pages::{Failure, Sent};
use crate::sign_in::local;
use crate::web::Platform;

const ACCOUNT: &str = "account";
const ENDS: &str = "ends";
/// Seconds from the sign-in after which a session ends, however busy it is: seven days.
const LONGEST: u32 = 7 * 86_400;

/// The session cookie. Scripts cannot read it, and forms of other sites do not send it.
pub(crate) fn layer(platform: &Platform) -> SessionManagerLayer<Sessions> {
    SessionManagerLayer::new(Sessions(platform.database.clone()))
        .with_name(platform.cookie_name("platform_session"))
        .with_http_only(true)
        .with_same_site(SameSite::Lax)
        .with_secure(platform.is_secure())
        .with_expiry(Expiry::OnInactivity(Duration::hours(12)))
}

/// The visitor of a page, with the account if signed in.
#[derive(Clone, Debug)]
pub(crate) struct Visitor {
    pub(crate) session: Session,
    pub(crate) account: Option<Account>,
    /// The browser as the consent page knows it, by a cookie that exists before the sign-in and outlasts it.
    pub(crate) browser: Browser,
}

impl Visitor {
    /// Begins a session of this account under a new id, so that an earlier id is not valid.
    pub(crate) async fn sign_in(&self, account: &Account) -> std::result::Result<(), Failure> {
        self.session.cycle_id().await?;
        self.session.insert(ACCOUNT, account.subject.as_str()).await?;
        self.session.insert(ENDS, SystemClock.now().seconds().saturating_add(LONGEST)).await?;
        Ok(self.session.save().await?)
    }

    pub(crate) async fn sign_out(&self) -> std::result::Result<(), Failure> {
        if self.session.id().is_none() {
            return Ok(());
        }
        Ok(self.session.flush().await?)
    }
}

impl FromRequestParts<Platform> for Visitor {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, platform: &Platform) -> std::result::Result<Self, Failure> {
        let missing = |(_, why): (_, &'static str)| Failure::internal(why);
        let session = Session::from_request_parts(parts, platform).await.map_err(missing)?;
        let ends: u32 = session.get(ENDS).await?.unwrap_or_default();
        let account = match session.get::<String>(ACCOUNT).await? {
            Some(id) if SystemClock.now().seconds() < ends => Account::find(&platform.database, &id).await?,
            Some(_) => {
                session.flush().await?;
                None
            }
            None => None,
        };
        let browser = platform.flow.browser(parts.headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes));
        Ok(Self { session, account, browser })
    }
}

/// A visitor who must be signed in. Others are sent to the sign-in page, and then back.
#[derive(Clone, Debug)]
pub(crate) struct SignedIn {
    pub(crate) visitor: Visitor,
    pub(crate) account: Account,
}

impl FromRequestParts<Platform> for SignedIn {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, platform: &Platform) -> std::result::Result<Self, Failure> {
        let visitor = Visitor::from_request_parts(parts, platform).await?;
        let Some(account) = visitor.account.clone() else {
            // Every address that accepts a form redirects a GET to the page with the form.
            let return_to = local(parts.uri.path_and_query().map_or("/", |path| path.as_str()));
            let sent = if parts.method.is_safe() { Sent::Nothing } else { Sent::Form };
            return Err(Failure::SignInFirst { return_to, sent });
        };
        Ok(Self { visitor, account })
    }
}

/// A visitor who must be an administrator.
#[derive(Clone, Debug)]
pub(crate) struct Administrator(pub(crate) Account);

impl FromRequestParts<Platform> for Administrator {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, platform: &Platform) -> std::result::Result<Self, Failure> {
        let signed_in = SignedIn::from_request_parts(parts, platform).await?;
        if signed_in.account.is_administrator { Ok(Self(signed_in.account)) } else { Err(Failure::Forbidden) }
    }
}

/// The table of sessions. It has only digests of the ids, so a copy of the file is of no use for making cookies.
#[derive(Clone, Debug)]
pub(crate) struct Sessions(Database);

#[async_trait::async_trait]
impl SessionStore for Sessions {
    async fn create(&self, record: &mut Record) -> Result<()> {
        // 128 random bits: two sessions never have the same id, and the second one would be refused.
        self.write("INSERT INTO sessions VALUES (?1, ?2, ?3)", record).await
    }

    async fn save(&self, record: &Record) -> Result<()> {
        self.write("INSERT OR REPLACE INTO sessions VALUES (?1, ?2, ?3)", record).await
    }

    async fn load(&self, id: &Id) -> Result<Option<Record>> {
        let (key, now) = (key(id), SystemClock.now().seconds());
        let query = "SELECT data, expires FROM sessions WHERE id_digest = ?1 AND expires > ?2";
        let found: Option<(String, i64)> = self
            .0
            .call(move |connection| {
                connection.query_row(query, (key, now), |row| Ok((row.get(0)?, row.get(1)?))).optional()
            })
            .await
            .map_err(backend)?;
        let Some((data, expires)) = found else { return Ok(None) };
        let data = serde_json::from_str(&data).map_err(|error| Error::Decode(error.to_string()))?;
        let expiry_date =
            OffsetDateTime::from_unix_timestamp(expires).map_err(|error| Error::Decode(error.to_string()))?;
        Ok(Some(Record { id: *id, data, expiry_date }))
    }

    async fn delete(&self, id: &Id) -> Result<()> {
        let key = key(id);
        let gone = "DELETE FROM sessions WHERE id_digest = ?1";
        self.0.call(move |connection| connection.execute(gone, [key]).map(drop)).await.map_err(backend)
    }
}

impl Sessions {
    async fn write(&self, statement: &'static str, record: &Record) -> Result<()> {
        let data = serde_json::to_string(&record.data).map_err(|error| Error::Encode(error.to_string()))?;
        let values = (key(&record.id), data, record.expiry_date.unix_timestamp());
        self.0.call(move |connection| connection.execute(statement, values).map(drop)).await.map_err(backend)
    }
}

fn key(id: &Id) -> [u8; 32] {
    Sha256::digest(id.0.to_be_bytes()).into()
}

fn backend(error: DatabaseError) -> Error {
    Error::Backend(error.to_string())
}
