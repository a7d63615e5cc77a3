//! Initial access tokens: your service creates them, and registrations spend them [RFC 7591 section 3].
//!
//! A token is a row of the registry, under a client id that no client ever gets. The row is a tombstone with the digest
//! of the token, the remaining uses and the bounds. It is on no list, and a purge removes it after the token has
//! expired.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use crate::claim::{ATTEMPTS, After, Flow, Seen, Step, claim};
use crate::clock::Timestamp;
use crate::error::Reason;
use crate::hooks::ApplicationChange;
use crate::model::application::{Application, CheckedForm, InitialToken, MARK_BYTES};
use crate::model::client::{Client, ClientState};
use crate::model::client_metadata::RegistrationBounds;
use crate::model::id::ClientId;
use crate::registration::Registrar;
use crate::registration::error::{RegistrarError, VersionsUsedUp};
use crate::registration::flows::read_any;
use crate::secret::{Digest, InitialAccessToken};
use crate::store::{ClientRegistry, LogoWrite, Registration};

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
///     Ok(made.token().expose().to_owned())
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
pub struct MadeInitialAccessToken {
    id: ClientId,
    token: InitialAccessToken,
    end: Timestamp,
}

impl MadeInitialAccessToken {
    /// Returns the id of the token, which is not secret.
    /// [`end_initial_access_token`](Registrar::end_initial_access_token) takes it, and
    /// [`RegistrationRequest::initial_access_token`](crate::hooks::RegistrationRequest::initial_access_token) contains it. It
    /// has the form of a client id, but no client ever gets it.
    #[must_use]
    pub const fn id(&self) -> &ClientId {
        &self.id
    }

    /// Returns the token. Only its digest is stored.
    #[must_use]
    pub const fn token(&self) -> &InitialAccessToken {
        &self.token
    }

    /// Returns the time at which the token expires.
    #[must_use]
    pub const fn end(&self) -> Timestamp {
        self.end
    }
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
        let (end, mark) = (now.plus(lifetime), self.mark());
        let kept = InitialToken { token: digest, uses_left: uses.get(), bounds };
        let row = row(&id, kept, Span { made: now, end }, mark);
        let mut flow = Making { registry: &*self.registry, row: Arc::new(row), has_read: false };
        claim(&self.context, &mut flow, Some(ATTEMPTS)).await?;
        self.raise(&id, crate::registration::FIRST_VERSION, None, ApplicationChange::InitialAccessTokenMade);
        Ok(MadeInitialAccessToken { id, token, end })
    }

    /// Revokes an initial access token. The clients that were registered with it stay.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::NotFound`] if there is no token with that id, or it expired and was purged;
    /// [`RegistrarError::Store`].
    pub async fn end_initial_access_token(&self, id: &ClientId) -> Result<(), RegistrarError> {
        let mut flow = Ending { registry: &*self.registry, id, mark: self.mark() };
        let version = claim(&self.context, &mut flow, Some(ATTEMPTS)).await?;
        self.raise(id, version, None, ApplicationChange::InitialAccessTokenEnded);
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
        let found = self.registry.application(&id).await?.ok_or(Reason::WrongInitialAccessToken)?;
        let bounds = judge(&found, &digest, self.context.now())?.bounds.clone();
        Ok(InitialAccess { id, bounds, digest })
    }

    /// Spends one use with one compare-and-swap: of two concurrent requests, only one gets the last use.
    ///
    /// # Errors
    ///
    /// The reason why the token is refused now, or a store error. After a store error the use may be spent.
    pub(super) async fn spend(&self, initial: &InitialAccess, now: Timestamp) -> Result<(), Reason> {
        let mut flow = Spending { registry: &*self.registry, initial, mark: self.mark(), now };
        claim(&self.context, &mut flow, Some(ATTEMPTS)).await
    }
}

/// Checks digest, expiry and uses, in this order: without the right token, a request learns nothing about expiry and
/// uses.
fn judge<'a>(found: &'a Application, digest: &Digest, now: Timestamp) -> Result<&'a InitialToken, Reason> {
    let own = found.initial_token.as_deref().filter(|own| own.token == *digest);
    let own = own.ok_or(Reason::WrongInitialAccessToken)?;
    if found.reserved_until.is_none_or(|end| now >= end) {
        return Err(Reason::InitialAccessTokenExpired);
    }
    if own.uses_left == 0 { Err(Reason::InitialAccessTokenUsedUp) } else { Ok(own) }
}

/// When a token was created, and when it expires.
struct Span {
    made: Timestamp,
    end: Timestamp,
}

/// Returns the row of a token: a tombstone, which is on no list and is never used as a client.
fn row(id: &ClientId, token: InitialToken, span: Span, mark: [u8; MARK_BYTES]) -> Registration {
    let client = Client { state: ClientState::Deleted, ..Client::blank(id.clone()) };
    let application = Application {
        id: id.clone(),
        version: client.version,
        state: client.state,
        owner: None,
        submitted: span.made,
        decided: None,
        form: CheckedForm::of(&client),
        proposed: None,
        rejection: None,
        reserved_until: Some(span.end),
        open: None,
        initial_token: Some(Box::new(token)),
        mark,
    };
    Registration { client, application, logo: LogoWrite::Keep, proposed_logo: LogoWrite::Keep }
}

/// Returns the next version of the row, with that many uses left.
fn with_uses(current: &Registration, uses_left: u32, mark: [u8; MARK_BYTES]) -> Result<Registration, VersionsUsedUp> {
    let version = current.client.version.checked_add(1).ok_or(VersionsUsedUp)?;
    let Registration { client, application, .. } = current;
    let initial_token = application.initial_token.as_ref().map(|own| {
        let own = InitialToken { uses_left, ..InitialToken::clone(own) };
        Box::new(own)
    });
    Ok(Registration {
        client: Client { version, ..client.clone() },
        application: Application { version, initial_token, mark, ..application.clone() },
        logo: LogoWrite::Keep,
        proposed_logo: LogoWrite::Keep,
    })
}

struct Making<'a> {
    registry: &'a dyn ClientRegistry,
    row: Arc<Registration>,
    has_read: bool,
}

impl Flow for Making<'_> {
    type Row = Registration;
    type Won = ();
    type Error = RegistrarError;

    async fn read(&mut self) -> Result<Seen<Registration>, RegistrarError> {
        if !std::mem::replace(&mut self.has_read, true) {
            return Ok(Seen::Unread);
        }
        Ok(read_any(self.registry, &self.row.client.id).await?.0)
    }

    fn judge(&mut self, _: &Seen<Registration>) -> Result<Step<Registration, ()>, RegistrarError> {
        Ok(Step::Insert(self.row.clone(), ()))
    }

    fn is_done(&self, found: &Registration, meant: &Registration, _: After) -> bool {
        found.application == meant.application
    }
}

struct Spending<'a> {
    registry: &'a dyn ClientRegistry,
    initial: &'a InitialAccess,
    mark: [u8; MARK_BYTES],
    now: Timestamp,
}

impl Flow for Spending<'_> {
    type Row = Registration;
    type Won = ();
    type Error = Reason;

    async fn read(&mut self) -> Result<Seen<Registration>, Reason> {
        Ok(read_any(self.registry, &self.initial.id).await?.0)
    }

    fn judge(&mut self, seen: &Seen<Registration>) -> Result<Step<Registration, ()>, Reason> {
        let Seen::Found(found) = seen else { return Err(Reason::WrongInitialAccessToken) };
        let own = judge(&found.application, &self.initial.digest, self.now)?;
        let next = with_uses(found, own.uses_left.saturating_sub(1), self.mark).map_err(RegistrarError::from)?;
        Ok(Step::Replace(Arc::new(next), ()))
    }

    /// If another request has spent a use since, the write of this request cannot be recognized, and its use is lost.
    fn is_done(&self, found: &Registration, meant: &Registration, _: After) -> bool {
        found.application == meant.application
    }
}

struct Ending<'a> {
    registry: &'a dyn ClientRegistry,
    id: &'a ClientId,
    mark: [u8; MARK_BYTES],
}

impl Flow for Ending<'_> {
    type Row = Registration;
    /// The version of the row that ended the token.
    type Won = u32;
    type Error = RegistrarError;

    async fn read(&mut self) -> Result<Seen<Registration>, RegistrarError> {
        Ok(read_any(self.registry, self.id).await?.0)
    }

    fn judge(&mut self, seen: &Seen<Registration>) -> Result<Step<Registration, u32>, RegistrarError> {
        let Seen::Found(found) = seen else { return Err(RegistrarError::NotFound) };
        let own = found.application.initial_token.as_ref().ok_or(RegistrarError::NotFound)?;
        if own.uses_left == 0 {
            return Ok(Step::Confirm(found.client.version));
        }
        let next = with_uses(found, 0, self.mark)?;
        let version = next.client.version;
        Ok(Step::Replace(Arc::new(next), version))
    }

    fn is_done(&self, found: &Registration, _: &Registration, _: After) -> bool {
        found.application.initial_token.as_ref().is_some_and(|own| own.uses_left == 0)
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
            let token = InitialToken { token: digest, uses_left, bounds: None };
            let row = row(&id, token, Span { made: at(1), end: at(9) }, [0; MARK_BYTES]);
            assert_eq!((row.application.filters().count(), row.application.purge_after()), (0, Some(at(9))));
            judge(&row.application, &Digest::of(sent), at(seconds)).map(|_| ()).map_err(|reason| reason.to_string())
        };
        let error = |reason: Reason| Err(reason.to_string());
        assert_eq!(judged(b"token", 8, 1), Ok(()));
        assert_eq!(judged(b"token", 9, 1), error(Reason::InitialAccessTokenExpired));
        assert_eq!(judged(b"token", 8, 0), error(Reason::InitialAccessTokenUsedUp));
        assert_eq!(judged(b"other", 9, 0), error(Reason::WrongInitialAccessToken));
        let token = InitialToken { token: digest, uses_left: 1, bounds: None };
        let mut deleted = row(&id, token, Span { made: at(1), end: at(9) }, [0; MARK_BYTES]);
        deleted.application.initial_token = None;
        assert!(matches!(judge(&deleted.application, &digest, at(1)), Err(Reason::WrongInitialAccessToken)));
    }

    #[test]
    fn a_use_is_one_fewer_and_nothing_else() {
        let at = Timestamp::from_seconds;
        let id = ClientId::new("token").unwrap();
        let token = InitialToken { token: Digest::of(b"token"), uses_left: 3, bounds: None };
        let first = row(&id, token, Span { made: at(1), end: at(9) }, [0; MARK_BYTES]);
        let next = with_uses(&first, 2, [7; MARK_BYTES]).unwrap();
        assert_eq!((next.client.version, next.application.version, next.application.mark), (2, 2, [7; MARK_BYTES]));
        assert_eq!(next.application.initial_token.as_ref().unwrap().uses_left, 2);
        assert_eq!(next.application.reserved_until, Some(at(9)));
        let mut last = first;
        last.client.version = u32::MAX;
        assert!(with_uses(&last, 2, [7; MARK_BYTES]).is_err());
    }
}
