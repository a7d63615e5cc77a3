//! The client: the part of a registered application that every request reads.

mod builder;
mod credentials;
mod encoding;
pub(crate) mod form;
mod grant_type;

pub use crate::model::members::ClientOptions;
pub use builder::ClientBuilder;
pub use credentials::{AuthenticationMethod, AuthenticationMethods, ClientKeys, ClientSecretError};
pub(crate) use credentials::{ClientSecrets, KeyFault, KeyRules};
pub(crate) use form::counts_as_public;
pub use form::{ApplicationType, AskConsent, CheckedForm, ClientOrigin, ClientType, MustAsk, SelfRegistration};
pub use grant_type::{GrantType, GrantTypes};

use std::num::NonZeroU32;
use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::base::codec::{Writer, kind};
use crate::base::field::Codec;
use crate::base::id::ClientId;
use crate::model::grant_data::GrantData;
use crate::model::redirect_uri::{RedirectUri, RegisteredRedirectUri};
use crate::scope::ScopeSet;
use crate::secret::Digest;

/// Bytes of the digest of what a consent was given for.
pub(crate) const CONSENT_TERMS_BYTES: usize = 16;

/// A client [RFC 6749 section 2]: its form in force, its secrets and its privileges. Every request reads it.
///
/// A proposed form, the review and the logo are in the [`Application`](crate::Application).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    pub(crate) id: ClientId,
    pub(crate) version: u32,
    pub(crate) state: ClientState,
    pub(crate) epoch: u32,
    pub(crate) secrets: ClientSecrets,
    pub(crate) privileges: Privileges,
    pub(crate) form: CheckedForm,
    /// The keys at the time when the application was given to another owner, while one of them is among those of the
    /// form. The previous owner may have the private keys.
    pub(crate) keys_of_previous_owner: Option<ClientKeys>,
    /// Set for a client that registered itself.
    pub(crate) open: Option<Arc<SelfRegistration>>,
    /// The revision of the description that was last written.
    pub(crate) revision: Option<NonZeroU32>,
    /// What your service keeps with the tokens that the client gets for itself.
    pub(crate) data: Option<GrantData>,
}

impl Client {
    pub(crate) fn blank(id: ClientId) -> Self {
        Self {
            id,
            version: 1,
            state: ClientState::Approved,
            epoch: 0,
            secrets: ClientSecrets::default(),
            privileges: Privileges::default(),
            form: CheckedForm::blank(),
            keys_of_previous_owner: None,
            open: None,
            revision: None,
            data: None,
        }
    }

    /// Returns the client's id [RFC 6749 section 2.2].
    #[must_use]
    pub const fn id(&self) -> &ClientId {
        &self.id
    }

    /// Returns the version of the record: a random number that every write draws anew. Compare it for equality only.
    #[must_use]
    pub const fn version(&self) -> u32 {
        self.version
    }

    /// Returns whether the client may be used.
    #[must_use]
    pub const fn state(&self) -> ClientState {
        self.state
    }

    /// Returns the epoch: a number that rises each time all grants of the client are revoked.
    ///
    /// A code or grant with a lower epoch is not valid.
    #[must_use]
    pub const fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Returns the address of the official website, if it begins with `https://` or `http://`, so that a page may link
    /// to it.
    #[must_use]
    pub fn web_address(&self) -> Option<&str> {
        let website = self.form.website.as_str();
        ["https://", "http://"].iter().any(|scheme| website.starts_with(scheme)).then_some(website)
    }

    /// Returns the form in force: what the client registered, as far as it was approved. If it was never approved, it
    /// is the form as submitted.
    #[must_use]
    pub const fn form(&self) -> &CheckedForm {
        &self.form
    }

    /// Puts a form in force.
    pub(crate) fn put_form(&mut self, form: CheckedForm) {
        if !form.authentication_methods.use_secret() {
            // Unused secrets could only be stolen.
            self.secrets = ClientSecrets::default();
        }
        self.form = form;
    }

    /// Returns whether the client is a resource server that may introspect every access token
    /// [RFC 7662 section 2.1]. A client that [counts as public](Self::counts_as_public) never is one.
    #[must_use]
    pub fn may_introspect(&self) -> bool {
        self.privileges.may_introspect && !self.counts_as_public()
    }

    /// Returns what an administrator granted to the client, or required of it, in addition to its scopes and resources.
    #[must_use]
    pub const fn privileges(&self) -> Privileges {
        self.privileges
    }

    /// Returns whether the client has a valid secret.
    #[must_use]
    pub const fn has_secret(&self) -> bool {
        self.secrets.current.is_some()
    }

    /// Returns whether the secret before the newest is still valid.
    #[must_use]
    pub const fn has_previous_secret(&self) -> bool {
        self.secrets.previous.is_some()
    }

    /// Returns whether a valid secret was created under a previous owner of the application, who may know it.
    ///
    /// [`Registrar::rotate_secret`](crate::Registrar::rotate_secret) and
    /// [`Registrar::revoke_previous_secret`](crate::Registrar::revoke_previous_secret) together end it.
    #[must_use]
    pub const fn has_secret_of_previous_owner(&self) -> bool {
        self.secrets.current_is_of_previous_owner || self.secrets.previous_is_of_previous_owner
    }

    /// Returns whether a secret of this client would prove nothing: the client is public, or its secret is on every
    /// user's device, because it is native [RFC 8252 section 8.5] or uses device codes [RFC 8628 section 5.6].
    #[must_use]
    pub fn counts_as_public(&self) -> bool {
        counts_as_public(self.form.client_type, self.form.application_type, self.form.grant_types)
    }

    /// Returns whether every authorization of this client needs PKCE [RFC 7636].
    #[must_use]
    pub fn requires_pkce(&self) -> bool {
        self.privileges.require_pkce || self.open.is_some() || self.counts_as_public()
    }

    /// Returns whether the client's keys were registered under a previous owner of the application, who may have the
    /// private keys. [`Registrar::replace_own_keys`](crate::Registrar::replace_own_keys) ends this state, with a set
    /// that has none of those keys, or with another URL.
    #[must_use]
    pub fn has_keys_of_previous_owner(&self) -> bool {
        // They stay recorded after they were replaced, since a change that was proposed before may bring them back.
        let (keys, previous) = (&self.form.keys, &self.keys_of_previous_owner);
        keys.as_ref().zip(previous.as_ref()).is_some_and(|(keys, previous)| keys.overlap(previous))
    }

    /// Returns what your service keeps with the tokens that the client gets for itself [RFC 6749 section 4.4]. It is
    /// read with the client, so a change holds for tokens that were issued before it, in other processes with
    /// [`CachedClients`](crate::CachedClients) after its time to live.
    #[must_use]
    pub fn data(&self) -> Option<&GrantData> {
        self.data.as_ref()
    }

    /// Returns the part of a client that registered itself [RFC 7591]; `None` for any other.
    #[must_use]
    pub fn open(&self) -> Option<&SelfRegistration> {
        self.open.as_deref()
    }

    /// Returns the revision of the description that was last written by
    /// [`ensure_client`](crate::Registrar::ensure_client); 0 if it had none.
    #[must_use]
    pub fn revision(&self) -> u32 {
        self.revision.map_or(0, NonZeroU32::get)
    }

    /// Returns whether the client registered itself and no person approved it yet [RFC 7591 section 5].
    #[must_use]
    pub fn is_unreviewed(&self) -> bool {
        self.open().is_some_and(|open| !open.is_reviewed)
    }

    /// Returns whether a metadata document describes the client.
    pub(crate) fn is_of_document(&self) -> bool {
        self.open().is_some_and(|open| open.origin == ClientOrigin::MetadataDocument)
    }

    /// The scopes of a request without `scope`: the registered default, as far as the client may still have it, or else
    /// everything.
    pub(crate) fn default_scopes(&self) -> ScopeSet {
        let of_open = self.open().map(|open| open.default_scopes.intersection(&self.form.scopes));
        of_open.filter(|scopes| !scopes.is_empty()).unwrap_or_else(|| self.form.scopes.clone())
    }

    /// The digest of what a repeated consent relies on.
    pub(crate) fn consent_digest(&self) -> [u8; 32] {
        let mut writer = Writer::new(kind::CONSENT);
        writer.flag(self.form.client_type == ClientType::Public);
        let mut uris: Vec<_> = self.form.redirect_uris.iter().map(RegisteredRedirectUri::as_str).collect();
        uris.sort_unstable();
        writer.count(uris.len());
        uris.into_iter().for_each(|uri| writer.text(uri));
        self.form.authentication_methods.iter().for_each(|method| writer.text(method.as_str()));
        writer.text(self.default_scopes().as_str());
        if let Some(keys) = &self.form.keys {
            keys.write(&mut writer);
        }
        *Digest::of(&writer.finish()).bytes()
    }

    /// Checks that a code for this client reaches nobody else, so that a page may be spared.
    pub(crate) fn check_identity(&self) -> Result<(), MustAsk> {
        if self.open().is_some() {
            return Err(MustAsk::SelfRegistered);
        }
        if self.form.application_type == ApplicationType::Native || self.form.grant_types.count_as_public() {
            return Err(MustAsk::Native);
        }
        let weak = self.form.redirect_uris.iter().find(|uri| !uri.as_requested().is_https_on_a_domain());
        weak.map_or(Ok(()), |uri| Err(MustAsk::RedirectUri(uri.as_str().to_owned())))
    }

    /// Returns the digest of the whole registration and of the redirect URI that a request used: what a remembered
    /// consent was given for.
    pub(crate) fn consent_terms(&self, redirect_uri: &RedirectUri) -> [u8; CONSENT_TERMS_BYTES] {
        let mut writer = Writer::new(kind::CONSENT_TERMS);
        self.form.write(&mut writer);
        writer.text(redirect_uri.as_str());
        Digest::of(&writer.finish()).first_bytes()
    }

    /// Returns whether the client may have tokens for the protected resource with that identifier.
    #[inline]
    pub(crate) fn reaches(&self, identifier: &str) -> bool {
        let bound = self.open().and_then(|open| open.resources.as_ref());
        bound.is_none_or(|resources| resources.contains(identifier))
    }

    /// When the registration ends. From then on, the client counts as unknown.
    #[inline]
    pub(crate) fn gone_at(&self) -> Option<Timestamp> {
        self.open().and_then(|open| open.gone_at)
    }

    /// Returns whether the registration has ended at that time.
    pub(crate) fn is_gone_at(&self, now: Timestamp) -> bool {
        self.gone_at().is_some_and(|gone_at| now >= gone_at)
    }

    /// Revokes all codes and grants.
    pub(crate) fn revoke_grants(&mut self) {
        self.epoch = self.epoch.saturating_add(1);
    }

    /// Returns whether what was granted under that epoch was revoked with all grants of the client.
    ///
    /// # Errors
    ///
    /// [`StaleClient`] if the client was read before its grants were last revoked, for example from a cache: grants
    /// made since then must not count as revoked.
    pub(crate) const fn has_revoked(&self, epoch: u32) -> Result<bool, StaleClient> {
        if epoch > self.epoch { Err(StaleClient) } else { Ok(epoch < self.epoch) }
    }

    pub(crate) fn is_approved(&self) -> bool {
        self.state == ClientState::Approved
    }
}

/// The client was read before all its grants were revoked. A later request reads its current state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client was read before its grants were revoked")]
pub(crate) struct StaleClient;

/// What an administrator grants to a client, or requires of it, in addition to its scopes and resources.
///
/// [`Registrar::set_privileges`](crate::Registrar::set_privileges) writes them as given. By default a client has none.
///
/// # Examples
///
/// ```
/// use grantor::{ClientId, Registrar, RegistrarError};
/// use grantor::client::Privileges;
///
/// async fn distrust(registrar: &Registrar, id: &ClientId) -> Result<(), RegistrarError> {
///     let client = registrar.client(id).await?;
///     let mut privileges: Privileges = client.privileges();
///     privileges.trusted = false;
///     registrar.set_privileges(id, client.version(), privileges).await
/// }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Privileges {
    /// Errors of an authorization request are sent to the client even before the user has signed in
    /// [RFC 9700 section 4.11.2].
    pub trusted: bool,
    /// The client is a resource server that may introspect every access token [RFC 7662 section 2.1]. It must be a
    /// confidential web application.
    pub may_introspect: bool,
    /// Every authorization of the client needs PKCE [RFC 7636]. Public and native clients need it anyway.
    pub require_pkce: bool,
    /// Whether a refresh replaces the refresh token. If it is not set,
    /// [`Config::refresh.rotation`](field@crate::Config::refresh.rotation) decides.
    /// [`RefreshRotation::Keep`] is for confidential web applications, and for native clients that authenticate with a
    /// key alone.
    pub refresh_rotation: Option<RefreshRotation>,
    /// When users are asked for consent.
    pub ask_consent: AskConsent,
}

impl Privileges {
    /// Adds what an approval grants. Its rotation replaces the current one if it is set.
    pub(crate) fn with(self, granted: Self) -> Self {
        Self {
            trusted: self.trusted | granted.trusted,
            may_introspect: self.may_introspect | granted.may_introspect,
            require_pkce: self.require_pkce | granted.require_pkce,
            refresh_rotation: granted.refresh_rotation.or(self.refresh_rotation),
            ask_consent: self.ask_consent.max(granted.ask_consent),
        }
    }
}

/// Whether a refresh replaces the refresh token [RFC 6749 section 6].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum RefreshRotation {
    /// Each refresh returns a new pair, and the old refresh token stays usable for its
    /// [grace](crate::config::RefreshSettings::grace).
    ///
    /// All workers of one grant must share one stored pair. The use of an old refresh token after its grace
    /// counts as theft, and revokes the grant.
    Rotate,
    /// Each refresh returns a new access token and repeats the refresh token, which stays valid until it expires.
    ///
    /// It is for workers with private copies of one refresh token. Access tokens live until they expire, at most 64 of
    /// a grant at once: a further refresh ends the oldest.
    ///
    /// # Security
    ///
    /// No token is superseded, so the theft of a refresh token is not noticed. It takes effect for confidential web
    /// applications, and for native clients that authenticate with a key alone. A thief also needs their secret or key.
    Keep,
}

/// The state of an application: pending → approved | rejected; rejected → pending; approved ↔ suspended; any → deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ClientState {
    /// Submitted, not yet reviewed.
    Pending,
    /// In use.
    Approved,
    /// Refused at review.
    Rejected,
    /// Approved before, but currently disabled: its tokens are refused.
    Suspended,
    /// Deleted permanently. The remaining record prevents its id from being assigned again.
    Deleted,
}
