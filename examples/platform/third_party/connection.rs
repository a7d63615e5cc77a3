//! Who is connected: the tokens, which no page, log or cookie ever holds.

use std::collections::HashMap;
use std::sync::Arc;

use oauth2::basic::BasicTokenResponse;
use oauth2::{AccessToken, CsrfToken, RefreshToken, StandardRevocableToken, TokenResponse as _};
use time::{Duration, OffsetDateTime};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::oauth::SCOPES;

/// The connections of all people, in memory: a real application keeps them encrypted in its database.
#[derive(Default)]
pub(super) struct Connections(Mutex<HashMap<String, Arc<Mutex<Connection>>>>);

impl Connections {
    /// Gives the key under which the new connection is found.
    pub(super) async fn add(&self, tokens: Tokens) -> String {
        let key = CsrfToken::new_random().into_secret();
        let connection = Connection { tokens, earlier: None };
        self.0.lock().await.insert(key.clone(), Arc::new(Mutex::new(connection)));
        key
    }

    /// Waits for its turn: two pages of one person at once would refresh the same token twice.
    pub(super) async fn find(&self, key: &str) -> Option<OwnedMutexGuard<Connection>> {
        let found = self.0.lock().await.get(key).cloned()?;
        let connection = found.lock_owned().await;
        // It may have been forgotten meanwhile.
        self.contains(key).await.then_some(connection)
    }

    pub(super) async fn contains(&self, key: &str) -> bool {
        self.0.lock().await.contains_key(key)
    }

    pub(super) async fn forget(&self, key: &str) {
        self.0.lock().await.remove(key);
    }
}

/// One person's tokens.
pub(super) struct Connection {
    pub(super) tokens: Tokens,
    /// The access token before the last refresh, and when it was replaced.
    pub(super) earlier: Option<(AccessToken, OffsetDateTime)>,
}

impl Connection {
    /// Takes the tokens of a refresh, which leaves out what stays as it is.
    pub(super) fn replace(&mut self, mut tokens: Tokens) {
        tokens.refresh = tokens.refresh.or_else(|| self.tokens.refresh.take());
        tokens.scopes = tokens.scopes.or_else(|| self.tokens.scopes.take());
        let before = std::mem::replace(&mut self.tokens, tokens);
        self.earlier = Some((before.access, now()));
    }
}

/// What a token response holds.
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

    /// § RFC 7009, 2.1: the refresh token takes the access tokens with it.
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
