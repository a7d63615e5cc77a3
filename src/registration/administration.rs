//! Methods of [`Registrar`] for administrators, and what an approval grants.

use crate::base::id::{ClientId, Subject};
use crate::hooks::ApplicationChange;
use crate::model::application::Logo;
use crate::model::client::{AskConsent, CheckedForm, ClientKeys, Privileges, RefreshRotation};
use crate::model::grant_data::GrantData;
use crate::registration::Registrar;
use crate::registration::claims::Taken;
use crate::registration::error::RegistrarError;
use crate::registration::judge::Action;
use crate::registration::reduction::Reduction;
use crate::scope::ResourceScope;

impl Registrar {
    /// Suspends an approved application. Until it is resumed, nothing is granted and its tokens are refused.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::NotFound`], [`RegistrarError::WrongState`] if it is not approved, or
    /// [`RegistrarError::Store`].
    pub async fn suspend(&self, id: &ClientId) -> Result<(), RegistrarError> {
        self.carry_out(id, None, None, Action::Suspend, ApplicationChange::Suspended).await
    }

    /// Resumes a suspended application. Its earlier tokens become valid again.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::NotFound`], [`RegistrarError::WrongState`] if it is not suspended, or
    /// [`RegistrarError::Store`].
    pub async fn resume(&self, id: &ClientId) -> Result<(), RegistrarError> {
        self.carry_out(id, None, None, Action::Resume, ApplicationChange::Resumed).await
    }

    /// Replaces the privileges of an approved client. Privileges that are not given are withdrawn.
    ///
    /// `version` is the version of the [`Client`](crate::Client) or [`Application`](crate::Application) that the caller
    /// read.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::ChangedMeanwhile`] if it was changed since; [`RegistrarError::FirstParty`],
    /// [`RegistrarError::NotFound`], [`RegistrarError::PublicClient`] if only a confidential web application may have
    /// them, [`RegistrarError::WrongState`] if it was never approved, or [`RegistrarError::Store`].
    pub async fn set_privileges(
        &self,
        id: &ClientId,
        version: u32,
        privileges: Privileges,
    ) -> Result<(), RegistrarError> {
        let Taken { before, after } = self.take(id, None, Some(version), Action::SetPrivileges(privileges)).await?;
        let (old, new) = (before.client.privileges(), after.client.privileges());
        self.raise(id, None, ApplicationChange::PrivilegesSet { old, new });
        Ok(())
    }

    /// Replaces what your service keeps with the tokens that an approved client gets for itself: see
    /// [`Client::data`](crate::Client::data). A client that registered itself has none before this.
    ///
    /// `version` is the version of the [`Client`](crate::Client) or [`Application`](crate::Application) that the caller
    /// read.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::ChangedMeanwhile`] if it was changed since; [`RegistrarError::FirstParty`], whose description
    /// [has it](crate::client::ClientBuilder::data); [`RegistrarError::NotFound`], [`RegistrarError::WrongState`] if it
    /// was never approved, or [`RegistrarError::Store`].
    pub async fn set_client_data(
        &self,
        id: &ClientId,
        version: u32,
        data: Option<GrantData>,
    ) -> Result<(), RegistrarError> {
        self.carry_out(id, None, Some(version), Action::SetData(data), ApplicationChange::DataSet).await
    }

    /// Removes scopes, resources, grant types or redirect URIs from an approved application, without a review.
    ///
    /// From the next request on, live tokens, codes and consent requests are reduced to what is left. A change that the
    /// owner proposed stays proposed, and its approval can restore what was removed. `version` is the version of the
    /// [`Application`](crate::Application) that the caller read.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::Extends`] with everything that was not approved, which only a submission and its review can
    /// add; [`RegistrarError::Invalid`] if nothing is left that a remaining grant type needs;
    /// [`RegistrarError::ChangedMeanwhile`] if it was changed since; [`RegistrarError::FirstParty`],
    /// [`RegistrarError::NotFound`], [`RegistrarError::WrongState`] if it was never approved, or
    /// [`RegistrarError::Store`].
    pub async fn reduce(&self, id: &ClientId, version: u32, reducing: Reduction) -> Result<(), RegistrarError> {
        self.carry_out(id, None, Some(version), Action::Reduce(Box::new(reducing)), ApplicationChange::Reduced).await
    }

    /// Ends every secret of a client, for example after one was published. The client cannot authenticate until its
    /// owner [creates](Self::rotate_secret) a new one; an administrator cannot create it.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::FirstParty`], [`RegistrarError::NotFound`], [`RegistrarError::PublicClient`],
    /// [`RegistrarError::NoSecret`] if it authenticates with its key, [`RegistrarError::WrongState`] if it was never
    /// approved, or [`RegistrarError::Store`].
    pub async fn end_secrets(&self, id: &ClientId) -> Result<(), RegistrarError> {
        self.carry_out(id, None, None, Action::EndSecrets, ApplicationChange::SecretsEnded).await
    }

    /// Replaces the public keys of a client, as [`replace_own_keys`](Self::replace_own_keys) does for its owner.
    ///
    /// # Errors
    ///
    /// As [`replace_own_keys`](Self::replace_own_keys), and [`RegistrarError::FirstParty`].
    pub async fn replace_keys(&self, id: &ClientId, version: u32, keys: ClientKeys) -> Result<(), RegistrarError> {
        let action = Action::ReplaceKeys { keys };
        self.carry_out(id, None, Some(version), action, ApplicationChange::KeysReplaced).await
    }

    /// Transfers an application to another owner.
    ///
    /// The previous owner loses access to it, and a change that they proposed is dropped. Tokens and secrets keep
    /// working. [`Client::has_secret_of_previous_owner`](crate::Client::has_secret_of_previous_owner) is `true` until
    /// the new owner has rotated the secret and revoked the previous one.
    /// [`Client::has_keys_of_previous_owner`](crate::Client::has_keys_of_previous_owner) is `true` until they have
    /// replaced the keys. `version` is the version of the [`Application`](crate::Application) that the caller read.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::ChangedMeanwhile`] if it was changed since; [`RegistrarError::FirstParty`],
    /// [`RegistrarError::NotFound`], or [`RegistrarError::Store`].
    pub async fn transfer(&self, id: &ClientId, version: u32, to: Subject) -> Result<(), RegistrarError> {
        let action = Action::Transfer { to: to.clone() };
        let Taken { before, .. } = self.take(id, None, Some(version), action).await?;
        self.raise(id, None, ApplicationChange::Transferred { from: before.owner.as_ref(), to: &to });
        Ok(())
    }

    /// Revokes all codes and grants of the client, for all users.
    ///
    /// Where clients are cached, this takes effect once the cached entry expires.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::NotFound`], or [`RegistrarError::Store`].
    pub async fn revoke_grants(&self, id: &ClientId) -> Result<(), RegistrarError> {
        self.carry_out(id, None, None, Action::RevokeGrants, ApplicationChange::GrantsRevoked).await
    }

    /// Deletes an application permanently. It is on no list, and its form, logos, owner and secrets are erased. From
    /// the next request on, its tokens, codes and consent requests are invalid.
    ///
    /// Its id is not reused until the last token that it could have got would have expired, plus an hour
    /// ([`Application::reserved_until`](crate::Application::reserved_until)). `version` is the version of the
    /// [`Application`](crate::Application) that the caller read.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::ChangedMeanwhile`] if it was changed since; [`RegistrarError::NotFound`], also if it was
    /// already deleted; or [`RegistrarError::Store`].
    pub async fn delete(&self, id: &ClientId, version: u32) -> Result<(), RegistrarError> {
        self.carry_out(id, None, Some(version), Action::Delete, ApplicationChange::Deleted).await
    }
}

/// What a reviewer grants to an application; by default everything that it requested, except [`ResourceScope::All`] for
/// tokens without a user: see [`client_resources`](Self::client_resources).
///
/// When a change is approved, `require_pkce`, `trusted`, `may_introspect`, `refresh_rotation` and `ask_consent` of an
/// earlier approval stay. [`Registrar::set_privileges`](crate::Registrar::set_privileges) withdraws them. Scopes and
/// resources are those of the changed form.
///
/// # Errors
///
/// [`Registrar::approve`](crate::Registrar::approve) returns
/// [`RegistrarError::ScopesNotAsked`](crate::RegistrarError::ScopesNotAsked) for anything that the application did not
/// request, [`RegistrarError::PublicClient`](crate::RegistrarError::PublicClient) for anything that a public client
/// cannot have, and [`RegistrarError::MustAsk`](crate::RegistrarError::MustAsk) if the users of the client must be
/// asked for consent each time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approval {
    pub(super) scopes: Option<String>,
    pub(super) client_scopes: Option<String>,
    pub(super) client_resources: Option<ResourceScope>,
    pub(super) privileges: Privileges,
    pub(super) name: Option<String>,
    pub(super) website: Option<String>,
    pub(super) logo: Option<Logo>,
}

impl Approval {
    /// Approves these scopes only, written as in a request [RFC 6749 section 3.3]; the application must have requested
    /// all of them.
    #[must_use]
    pub fn scopes(self, wire: impl Into<String>) -> Self {
        Self { scopes: Some(wire.into()), ..self }
    }

    /// Approves only these scopes for tokens without a user [RFC 6749 section 4.4]; the application must have requested
    /// all of them.
    #[must_use]
    pub fn client_scopes(self, wire: impl Into<String>) -> Self {
        Self { client_scopes: Some(wire.into()), ..self }
    }

    /// Approves only these resources for tokens without a user; the application must have requested all of them.
    ///
    /// An application that requests [`ResourceScope::All`], every resource that has a name, gets none of them unless
    /// this is `All` too.
    #[must_use]
    pub fn client_resources(self, resources: ResourceScope) -> Self {
        Self { client_resources: Some(resources), ..self }
    }

    /// Sets whether a refresh replaces the refresh token of a confidential web application: see [`RefreshRotation`]. If
    /// it is not set, [`Config::refresh.rotation`](field@crate::Config::refresh.rotation) decides.
    /// [`RefreshRotation::Keep`] is refused for public and native clients.
    #[must_use]
    pub fn refresh_rotation(mut self, rotation: RefreshRotation) -> Self {
        self.privileges.refresh_rotation = Some(rotation);
        self
    }

    /// Requires PKCE for every authorization of the client [RFC 7636].
    #[must_use]
    pub fn require_pkce(mut self) -> Self {
        self.privileges.require_pkce = true;
        self
    }

    /// Sets when users are asked for consent: see [`AskConsent`], also for who must not have it. A later approval of a
    /// change never makes the server ask more often.
    #[must_use]
    pub fn ask_consent(mut self, ask_consent: AskConsent) -> Self {
        self.privileges.ask_consent = ask_consent;
        self
    }

    /// Marks the client as trusted: see [`Privileges::trusted`].
    #[must_use]
    pub fn trusted(mut self) -> Self {
        self.privileges.trusted = true;
        self
    }

    /// Sets the name that users see, for a client that registered itself: it replaces the name that the client sent. It
    /// is ignored for other clients.
    #[must_use]
    pub fn name(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// Sets the address of the website, for a client that registered itself: it replaces the address that the client
    /// sent. It is ignored for other clients.
    #[must_use]
    pub fn website(self, website: impl Into<String>) -> Self {
        Self { website: Some(website.into()), ..self }
    }

    /// Supplies the logo of a client that registered itself. Its first review is refused without one. It is ignored for
    /// other clients.
    #[must_use]
    pub fn logo(self, logo: Logo) -> Self {
        Self { logo: Some(logo), ..self }
    }

    /// Returns the form with what the reviewer supplied.
    pub(super) fn supply(&self, form: &CheckedForm) -> CheckedForm {
        let text = |supplied: &Option<String>, own: &str| supplied.as_deref().unwrap_or(own).into();
        CheckedForm { name: text(&self.name, &form.name), website: text(&self.website, &form.website), ..form.clone() }
    }

    /// Makes a confidential web application a resource server: see
    /// [`Client::may_introspect`](crate::Client::may_introspect).
    #[must_use]
    pub fn may_introspect(mut self) -> Self {
        self.privileges.may_introspect = true;
        self
    }
}

/// An approval that took effect.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Approved {
    /// The id of the client.
    pub client_id: ClientId,
    /// Whether the client was in use before: a change was approved, or a client that a policy had approved was
    /// reviewed.
    pub is_change: bool,
}
