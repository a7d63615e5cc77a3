//! The issuer that the records of a store belong to.
//!
//! No record names its issuer, so two services on one store would accept each other's tokens. The record of the last
//! purge keeps the issuer of the server that wrote it. A server with another issuer is refused where every server
//! begins: when it registers clients of its own, and when it purges.

use crate::context::Context;
use crate::model::LastPurge;
use crate::store::StoreError;

/// Two services use one store, or the service has moved.
#[derive(Debug, thiserror::Error)]
#[error(
    "the store has records of the issuer {stored:?}, and this server is {own:?}: give each service a file, a schema or \
     a prefix of its own; or list the first one in Config::former_issuers, if the service has moved"
)]
struct OtherIssuer {
    stored: Box<str>,
    own: String,
}

impl Context {
    /// Checks the issuer that the store has.
    ///
    /// # Errors
    ///
    /// A permanent [`StoreError`] if it is another one; the store's error.
    pub(crate) async fn check_issuer(&self) -> Result<(), StoreError> {
        self.stores.last_purge.find(&LastPurge::KEY).await?.map_or(Ok(()), |last| self.check_issuer_of(&last))
    }

    /// Checks the issuer that purged last. A record without one is of an earlier release.
    ///
    /// # Errors
    ///
    /// A permanent [`StoreError`] if it is another one.
    pub(crate) fn check_issuer_of(&self, last: &LastPurge) -> Result<(), StoreError> {
        let own = &self.config.issuer;
        let is_known = |stored: &str| stored == own || self.config.former_issuers.iter().any(|former| former == stored);
        match last.issuer() {
            Some(stored) if !is_known(stored) => {
                Err(StoreError::permanent(OtherIssuer { stored: stored.into(), own: own.clone() }))
            }
            Some(_) | None => Ok(()),
        }
    }
}
