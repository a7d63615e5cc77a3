//! Initial access tokens: your service creates them, and registrations spend them [RFC 7591 section 3].
//!
//! A token is a record with its digest, the remaining uses and the bounds. A purge removes it after the token has
//! expired.
//!
//! A use is spent before the client is inserted, and is not returned after an error, since the insert may have been
//! applied after all. A client id that derives from the token and the number of the use would make the insert the
//! claim. But the id, and the use with it, would be free again once the client is deleted and purged.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use crate::base::clock::Timestamp;
use crate::base::id::ClientId;
use crate::claim::{ATTEMPTS, After, Claim, Effect, Seen, claim, draw_version};
use crate::context::Context;
use crate::error::Reason;
use crate::hooks::ApplicationChange;
use crate::model::InitialToken;
use crate::model::client_metadata::RegistrationBounds;
use crate::registration::Registrar;
use crate::registration::error::RegistrarError;
use crate::secret::{Digest, InitialAccessToken};

/// The terms of an initial access token: how often, until when and for what it may be used.
///
/// # Examples
///
/// ```
/// use std::num::NonZeroU32;
/// use std::time::Duration;
///
/// use grantor::{Registrar, RegistrarError};
/// use grantor::registration::InitialAccessTokenTerms;
///
/// async fn for_a_partner(registrar: &Registrar) -> Result<String, RegistrarError> {
///     let terms = InitialAccessTokenTerms::new(Duration::from_secs(86_400)).uses(NonZeroU32::new(5).unwrap());
///     let made = registrar.make_initial_access_token(terms).await?;
///     Ok(made.token.expose().to_owned())
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitialAccessTokenTerms {
    lifetime: Duration,
    uses: NonZeroU32,
    bounds: Option<RegistrationBounds>,
}

impl InitialAccessTokenTerms {
    /// Creates terms for one registration within that time.
    #[must_use]
    pub const fn new(lifetime: Duration) -> Self {
        Self { lifetime, uses: NonZeroU32::MIN, bounds: None }
    }

    /// Sets how many clients may be registered.
    #[must_use]
    pub fn uses(self, uses: NonZeroU32) -> Self {
        Self { uses, ..self }
    }

    /// Bounds what these clients may have, in addition to the bounds of the policy's decision.
    #[must_use]
    pub fn bounds(self, bounds: RegistrationBounds) -> Self {
        Self { bounds: Some(bounds), ..self }
    }
}

/// A newly created initial access token.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MadeInitialAccessToken {
    /// The id of the token, which is not secret.
    /// [`end_initial_access_token`](Registrar::end_initial_access_token) takes it, and
    /// [`RegistrationRequest::initial_access_token`](crate::hooks::RegistrationRequest::initial_access_token) contains
    /// it. It has the form of a client id, but no client ever gets it.
    pub id: ClientId,
    /// The token. Only its digest is stored.
    pub token: InitialAccessToken,
    /// The time at which the token expires.
    pub end: Timestamp,
}

/// An initial access token that a request presented. It was valid when it was read.
#[derive(Clone, Debug)]
pub(crate) struct InitialAccess {
    pub(crate) id: ClientId,
    pub(crate) bounds: Option<RegistrationBounds>,
    digest: Digest,
}

impl Registrar {
    /// Creates an initial access token [RFC 7591 section 3]. Give it to a party that may register clients while
    /// [`DynamicRegistration::WithToken`](crate::config::DynamicRegistration::WithToken) is set.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::Store`].
    pub async fn make_initial_access_token(
        &self,
        terms: InitialAccessTokenTerms,
    ) -> Result<MadeInitialAccessToken, RegistrarError> {
        let (now, entropy) = (self.context.now(), &*self.context.entropy);
        let InitialAccessTokenTerms { lifetime, uses, bounds } = terms;
        let id = ClientId::generate(entropy);
        let token = InitialAccessToken::generate(&self.context.prefixes.initial_access_token, &id, entropy);
        let digest = Digest::of(token.expose().as_bytes());
        let (version, end) = (draw_version(entropy), now.plus(lifetime));
        let uses_left = uses.get();
        let record = InitialToken { id: id.clone(), version, token: digest, uses_left, made: now, end, bounds };
        let mut making = Making { context: &self.context, record: Arc::new(record), has_read: false };
        claim(&self.context, &mut making, Some(ATTEMPTS)).await?;
        self.raise(&id, None, ApplicationChange::InitialAccessTokenMade);
        Ok(MadeInitialAccessToken { id, token, end })
    }

    /// Revokes an initial access token. The clients that were registered with it stay.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::NotFound`] if there is no token with that id, or it expired and was purged;
    /// [`RegistrarError::Store`].
    pub async fn end_initial_access_token(&self, id: &ClientId) -> Result<(), RegistrarError> {
        claim(&self.context, &mut Ending { context: &self.context, id }, Some(ATTEMPTS)).await?;
        self.raise(id, None, ApplicationChange::InitialAccessTokenEnded);
        Ok(())
    }

    /// Finds the initial access token that a request presents, without spending a use.
    ///
    /// # Errors
    ///
    /// The reason why the token is refused, or a store error.
    pub(crate) async fn initial_access(&self, text: &[u8]) -> Result<InitialAccess, Reason> {
        let prefix = &self.context.prefixes.initial_access_token;
        let id = InitialAccessToken::id(prefix, text).ok_or(Reason::WrongInitialAccessToken)?;
        let digest = Digest::of(text);
        let found = self.context.stores.initial_tokens.find(&id).await?.ok_or(Reason::WrongInitialAccessToken)?;
        judge(&found, &digest, self.context.now())?;
        Ok(InitialAccess { id, bounds: found.bounds.clone(), digest })
    }

    /// Spends one use with one compare-and-swap: of two concurrent requests, only one gets the last use.
    ///
    /// # Errors
    ///
    /// The reason why the token is refused now, or a store error. After a store error the use may be spent.
    pub(super) async fn spend(&self, initial: &InitialAccess, now: Timestamp) -> Result<(), Reason> {
        claim(&self.context, &mut Spending { context: &self.context, initial, now }, Some(ATTEMPTS)).await
    }
}

/// Checks digest, expiry and uses, in this order: without the right token, a request learns nothing about expiry and
/// uses.
fn judge(found: &InitialToken, digest: &Digest, now: Timestamp) -> Result<(), Reason> {
    if found.token != *digest {
        return Err(Reason::WrongInitialAccessToken);
    }
    if now >= found.end {
        return Err(Reason::InitialAccessTokenExpired);
    }
    if found.uses_left == 0 { Err(Reason::InitialAccessTokenUsedUp) } else { Ok(()) }
}

struct Making<'a> {
    context: &'a Context,
    record: Arc<InitialToken>,
    has_read: bool,
}

impl Claim for Making<'_> {
    type Row = InitialToken;
    type Won = ();
    type Error = RegistrarError;

    async fn read(&mut self) -> Result<Seen<InitialToken>, RegistrarError> {
        if !std::mem::replace(&mut self.has_read, true) {
            return Ok(Seen::Unread);
        }
        Ok(self.context.stores.initial_tokens.find(&self.record.id).await?.into())
    }

    fn judge(&mut self, _: &Seen<InitialToken>) -> Result<Effect<InitialToken, ()>, RegistrarError> {
        Ok(Effect::Insert(self.record.clone(), ()))
    }

    fn is_done(&self, found: &InitialToken, meant: &InitialToken, _: After) -> bool {
        found == meant
    }
}

struct Spending<'a> {
    context: &'a Context,
    initial: &'a InitialAccess,
    now: Timestamp,
}

impl Claim for Spending<'_> {
    type Row = InitialToken;
    type Won = ();
    type Error = Reason;

    async fn read(&mut self) -> Result<Seen<InitialToken>, Reason> {
        Ok(self.context.stores.initial_tokens.find(&self.initial.id).await?.into())
    }

    fn judge(&mut self, seen: &Seen<InitialToken>) -> Result<Effect<InitialToken, ()>, Reason> {
        let found = seen.found().ok_or(Reason::WrongInitialAccessToken)?;
        judge(found, &self.initial.digest, self.now)?;
        let uses_left = found.uses_left.saturating_sub(1);
        Ok(Effect::Replace(Arc::new(InitialToken { uses_left, ..InitialToken::clone(found) }), ()))
    }

    /// If another request has spent a use since, the write of this request cannot be recognized, and its use is lost.
    fn is_done(&self, found: &InitialToken, meant: &InitialToken, _: After) -> bool {
        found == meant
    }
}

struct Ending<'a> {
    context: &'a Context,
    id: &'a ClientId,
}

impl Claim for Ending<'_> {
    type Row = InitialToken;
    type Won = ();
    type Error = RegistrarError;

    async fn read(&mut self) -> Result<Seen<InitialToken>, RegistrarError> {
        Ok(self.context.stores.initial_tokens.find(self.id).await?.into())
    }

    fn judge(&mut self, seen: &Seen<InitialToken>) -> Result<Effect<InitialToken, ()>, RegistrarError> {
        let found = seen.found().ok_or(RegistrarError::NotFound)?;
        if found.uses_left == 0 {
            return Ok(Effect::Confirm(()));
        }
        Ok(Effect::Replace(Arc::new(InitialToken { uses_left: 0, ..InitialToken::clone(found) }), ()))
    }

    fn is_done(&self, found: &InitialToken, _: &InitialToken, _: After) -> bool {
        found.uses_left == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 7591-3-02
    #[test]
    fn a_token_is_judged_by_its_digest_its_end_and_its_uses() {
        let at = Timestamp::from_seconds;
        let id = ClientId::new("token").unwrap();
        let digest = Digest::of(b"token");
        let judged = |sent: &[u8], seconds: u32, uses_left: u32| {
            let (id, made, end) = (id.clone(), at(1), at(9));
            let token = InitialToken { id, version: 1, token: digest, uses_left, made, end, bounds: None };
            judge(&token, &Digest::of(sent), at(seconds)).map_err(|reason| reason.to_string())
        };
        let error = |reason: Reason| Err(reason.to_string());
        assert_eq!(judged(b"token", 8, 1), Ok(()));
        assert_eq!(judged(b"token", 9, 1), error(Reason::InitialAccessTokenExpired));
        assert_eq!(judged(b"token", 8, 0), error(Reason::InitialAccessTokenUsedUp));
        assert_eq!(judged(b"other", 9, 0), error(Reason::WrongInitialAccessToken));
    }
}
