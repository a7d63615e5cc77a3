//! Initial access tokens.

use crate::base::clock::Timestamp;
use crate::base::codec::kind;
use crate::base::field::fields;
use crate::base::id::ClientId;
use crate::model::client_metadata::RegistrationBounds;
use crate::model::record::{Columns, Record, Table, encoded_as, key_and_version};
use crate::secret::Digest;

/// An initial access token [RFC 7591 section 3].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitialToken {
    pub(crate) id: ClientId,
    pub(crate) version: u32,
    /// The digest of the whole token.
    pub(crate) token: Digest,
    pub(crate) uses_left: u32,
    pub(crate) made: Timestamp,
    pub(crate) end: Timestamp,
    /// The bounds of clients that are registered with it, in addition to those of the policy.
    pub(crate) bounds: Option<RegistrationBounds>,
}

impl InitialToken {
    /// Returns the id of the token, which is not secret.
    #[must_use]
    pub const fn id(&self) -> &ClientId {
        &self.id
    }

    /// Returns how many more clients can be registered with it.
    #[must_use]
    pub const fn uses_left(&self) -> u32 {
        self.uses_left
    }

    /// Returns the time at which the token expires.
    #[must_use]
    pub const fn end(&self) -> Timestamp {
        self.end
    }
}

impl Record for InitialToken {
    const TABLE: Table = Table::InitialTokens;

    key_and_version!(ClientId);

    fn purge_after(&self) -> Option<Timestamp> {
        Some(self.end)
    }

    fn columns(&self) -> Columns {
        let state = if self.uses_left == 0 { "used_up" } else { "usable" };
        Columns { created: Some(self.made), state, ..Columns::default() }
    }

    encoded_as!(kind::INITIAL_TOKEN);
}

fields! { InitialToken { id, version, token, uses_left, made, end, bounds } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixtures::compared_layout;
    use crate::scope::{ResourceScope, ScopeSet};

    fn token(bounds: Option<RegistrationBounds>) -> InitialToken {
        InitialToken {
            id: ClientId::new("token").unwrap(),
            version: 3,
            token: Digest::of(b"token"),
            uses_left: 7,
            made: Timestamp::from_seconds(8),
            end: Timestamp::from_seconds(9),
            bounds,
        }
    }

    fn bounded() -> InitialToken {
        let scopes = ScopeSet::read("repo-code:rw").unwrap();
        token(Some(RegistrationBounds::new(scopes, ResourceScope::Public).without_loopback()))
    }

    #[test]
    fn comes_back_equal() {
        for token in [token(None), bounded()] {
            let bytes = token.encode();
            assert_eq!(InitialToken::decode(&bytes), Ok(token));
            for cut in 0..bytes.len() {
                assert!(InitialToken::decode(&bytes[..cut]).is_err(), "cut to {cut}");
            }
        }
    }

    /// Every later release reads what a release has written.
    #[test]
    fn layout_1_stays_as_it_is() {
        let file = compared_layout("initial_token.1", &bounded().encode());
        assert_eq!(InitialToken::decode(&file), Ok(bounded()));
    }
}
