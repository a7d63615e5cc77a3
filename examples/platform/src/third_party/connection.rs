//! The connections with their tokens. No page, log or cookie contains a token.

use std::sync::Arc;

use oauth2::basic::BasicTokenResponse;
use oauth2::{AccessToken, CsrfToken, RefreshToken, StandardRevocableToken, TokenResponse as _};
use serde::{Deserialize, Serialize};
use time::{Duration, OffsetDateTime};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::oauth::SCOPES;
use super::store::{Contents, Store};

impl Store {
    /// Adds a connection, and returns its key.
    pub(super) async fn connect(&self, tokens: Tokens) -> String {
        let key = CsrfToken::new_random().into_secret();
        let connection = Connection { tokens, earlier: None, turn: Arc::default() };
        self.change(|contents| contents.connections.insert(key.clone(), connection)).await;
        key
    }

    /// Waits for its turn: two concurrent pages of one user would refresh the same token twice.
    pub(super) async fn find(&self, key: &str) -> Option<(Connection, OwnedMutexGuard<()>)> {
        let turn = self.look_up(key).await?.turn.lock_owned().await;
        // It may have been refreshed or forgotten meanwhile.
        Some((self.look_up(key).await?, turn))
    }

    async fn look_up(&self, key: &str) -> Option<Connection> {
        self.read(|contents| contents.connections.get(key).cloned()).await
    }

    pub(super) async fn is_connected(&self, key: &str) -> bool {
        self.read(|contents| contents.connections.contains_key(key)).await
    }

    /// Stores the result of a refresh, unless the connection was removed meanwhile.
    pub(super) async fn update(&self, key: &str, connection: Connection) {
        let replace = |contents: &mut Contents| contents.connections.get_mut(key).map(|kept| *kept = connection);
        self.change(replace).await;
    }

    pub(super) async fn forget(&self, key: &str) -> Option<Connection> {
        // A visitor without a connection does not cause a write of the file.
        if !self.is_connected(key).await {
            return None;
        }
        self.change(|contents| contents.connections.remove(key)).await
    }
}

/// One user's tokens.
#[derive(Clone, Deserialize, Serialize)]
pub(super) struct Connection {
    pub(super) tokens: Tokens,
    /// The access token before the last refresh, and when it was replaced.
    pub(super) earlier: Option<(AccessToken, OffsetDateTime)>,
    /// A lock for its use. Clones share it.
    #[serde(skip)]
    turn: Arc<Mutex<()>>,
}

impl Connection {
    /// Takes the tokens of a refresh. What the response omits is kept.
    pub(super) fn replace(&mut self, mut tokens: Tokens) {
        tokens.refresh = tokens.refresh.or_else(|| self.tokens.refresh.take());
        tokens.scopes = tokens.scopes.or_else(|| self.tokens.scopes.take());
        let before = std::mem::replace(&mut self.tokens, tokens);
        self.earlier = Some((before.access, now()));
    }
}

/// The contents of a token response.
#[derive(Clone, Deserialize, Serialize)]
pub(super) struct Tokens {
    pub(super) access: AccessToken,
    pub(super) access_ends: Option<OffsetDateTime>,
    pub(super) refresh: Option<RefreshToken>,
    scopes: Option<Vec<String>>,
}

impl Tokens {
    pub(super) fn of(answer: &BasicTokenResponse) -> Self {
        let lifetime = answer.expires_in().and_then(|lifetime| Duration::try_from(lifetime).ok());
        Self {
            access: answer.access_token().clone(),
            access_ends: lifetime.and_then(|lifetime| now().checked_add(lifetime)),
            refresh: answer.refresh_token().cloned(),
            scopes: answer.scopes().map(|scopes| scopes.iter().map(|scope| scope.to_string()).collect()),
        }
    }

    /// § RFC 6749, 5.1: without a scope in the answer, what was asked for was granted.
    pub(super) fn scopes(&self) -> Vec<String> {
        self.scopes.clone().unwrap_or_else(|| SCOPES.map(|(token, _)| token.to_owned()).into())
    }

    /// Writing includes reading: `repo-issue:rw` includes `repo-issue:r`.
    pub(super) fn allow(&self, scope: &str) -> bool {
        let read_and_write = scope.strip_suffix(":r").map(|name| format!("{name}:rw"));
        self.scopes().iter().any(|granted| granted == scope || Some(granted) == read_and_write.as_ref())
    }

    /// § RFC 7009, 2.1: a revoked refresh token revokes the access tokens too.
    pub(super) fn revocable(&self) -> StandardRevocableToken {
        match &self.refresh {
            Some(token) => token.into(),
            None => (&self.access).into(),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the clock that tests set is the service's, not this application's")]
pub(super) fn now() -> OffsetDateTime {
    OffsetDateTime::now_utc()
}
