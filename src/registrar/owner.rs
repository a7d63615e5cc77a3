//! The steps of an application's owner. Each names the owner: for another subject there is no such application.

use crate::client::application::{ApplicationForm, Logo};
use crate::client::{ClientKeys, ClientState};
use crate::hooks::ApplicationChange;
use crate::id::ClientId;
use crate::registrar::Registrar;
use crate::registrar::error::RegistrarError;
use crate::registrar::flows::Taken;
use crate::registrar::judge::Action;
use crate::secret::{ClientSecret, Digest};
use crate::subject::Subject;

impl Registrar {
    /// Submits a change of an application; without a logo, the present one stays.
    ///
    /// It replaces a submission that awaits review or was rejected, and awaits review again. For an
    /// approved or suspended application it is kept beside the version in force, in the place of an
    /// earlier change, until it is decided.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::Invalid`] with everything that is wrong,
    /// [`Problem::Fixed`](crate::Problem::Fixed) among it for another client type or application type of an approved
    /// application; [`RegistrarError::NotFound`] also for a subject that does not own it; or
    /// [`RegistrarError::Store`].
    pub async fn change(
        &self,
        id: &ClientId,
        owner: &Subject,
        form: ApplicationForm,
        logo: Option<Logo>,
    ) -> Result<(), RegistrarError> {
        let (form, logo) = self.rules.check_change(&form, logo)?;
        let action = Action::Change { form: Box::new(form), logo };
        let Taken { client, .. } = self.take(id, Some(owner), None, action).await?;
        let awaits_first_review = client.state == ClientState::Pending;
        let change = if awaits_first_review { ApplicationChange::Submitted } else { ApplicationChange::ChangeProposed };
        self.raise(id, client.version, Some(owner), change);
        Ok(())
    }

    /// Makes the first secret of an approved client, which is returned this once; only its digest is kept.
    ///
    /// `version` is that of the [`Application`](crate::Application) that was read before: of two claims at once, one
    /// gets the secret. If the answer never arrives, [`rotate_secret`](Self::rotate_secret) makes the next one.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::ChangedMeanwhile`] if it was changed since; [`RegistrarError::SecretExists`] if there is a
    /// secret; [`RegistrarError::NotFound`] also for a subject that does not own it;
    /// [`RegistrarError::PublicClient`], [`RegistrarError::NoSecret`] if it authenticates with its key,
    /// [`RegistrarError::WrongState`] if it was never approved, or [`RegistrarError::Store`].
    ///
    /// # Examples
    ///
    /// ```
    /// use grantor::{ClientId, ClientSecret, Registrar, RegistrarError, Subject};
    ///
    /// async fn first_secret(registrar: &Registrar, id: &ClientId, me: &Subject) -> Result<ClientSecret, RegistrarError> {
    ///     let version = registrar.application(id).await?.version();
    ///     registrar.claim_secret(id, me, version).await
    /// }
    /// ```
    pub async fn claim_secret(
        &self,
        id: &ClientId,
        owner: &Subject,
        version: u32,
    ) -> Result<ClientSecret, RegistrarError> {
        let make = |digest| Action::ClaimSecret { digest };
        self.make_secret(id, owner, version, make, ApplicationChange::SecretClaimed).await
    }

    /// Makes a client's next secret, which is returned this once; the one before stays valid beside it.
    ///
    /// A third secret takes the place of the oldest. `version` is that of the
    /// [`Application`](crate::Application) that was read before, so that a form sent twice does not end the secret in
    /// use.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::ChangedMeanwhile`] if it was changed since; [`RegistrarError::NotFound`] also for a subject
    /// that does not own it; [`RegistrarError::PublicClient`], [`RegistrarError::NoSecret`] if it authenticates with its
    /// key, [`RegistrarError::WrongState`] if it was never approved, or [`RegistrarError::Store`].
    pub async fn rotate_secret(
        &self,
        id: &ClientId,
        owner: &Subject,
        version: u32,
    ) -> Result<ClientSecret, RegistrarError> {
        let make = |digest| Action::RotateSecret { digest };
        self.make_secret(id, owner, version, make, ApplicationChange::SecretRotated).await
    }

    /// Ends the secret that was kept beside the newest, if there is one; `version` is that of the
    /// [`Application`](crate::Application) that was read before.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::ChangedMeanwhile`] if it was changed since; [`RegistrarError::NotFound`] also for a subject
    /// that does not own it; [`RegistrarError::PublicClient`], [`RegistrarError::NoSecret`] if it authenticates with its
    /// key, [`RegistrarError::WrongState`] if it was never approved, or [`RegistrarError::Store`].
    pub async fn retire_previous_secret(
        &self,
        id: &ClientId,
        owner: &Subject,
        version: u32,
    ) -> Result<(), RegistrarError> {
        let change = ApplicationChange::PreviousSecretRetired;
        self.carry_out(id, Some(owner), Some(version), Action::RetirePreviousSecret, change).await
    }

    /// Replaces the public keys of an approved client that authenticates with `private_key_jwt`, for its owner. It
    /// needs no review, like the rotation of a secret.
    ///
    /// Assertions that were signed with a key that is not in the new set are refused from then on; on another server once it
    /// has read the client again, which is at most the time to live of its [`CachedClients`](crate::CachedClients) later.
    /// After a replacement by an address, also by the same one, the set there is fetched anew. To replace a key without a
    /// moment of failure, register a set with both, let the client sign with the new one, then register that alone.
    /// Tokens and grants live on. A proposed change that had the same keys gets the new ones too. `version` is that of the
    /// [`Application`](crate::Application) that was read before.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::Invalid`] if the client does not authenticate with a key, or if its keys come with its metadata
    /// document, or if the server does not accept the keys; [`RegistrarError::ChangedMeanwhile`] if the application was
    /// changed since; [`RegistrarError::NotFound`] also for a subject that does not own it;
    /// [`RegistrarError::WrongState`] if it was never approved, or [`RegistrarError::Store`].
    ///
    /// # Examples
    ///
    /// ```
    /// use grantor::{ClientId, ClientKeys, JwkSet, Registrar, Subject};
    ///
    /// async fn replace(registrar: &Registrar, id: &ClientId, me: &Subject, jwks: &str) -> Result<(), Box<dyn std::error::Error>> {
    ///     let version = registrar.application(id).await?.version();
    ///     registrar.replace_own_keys(id, me, version, ClientKeys::Set(JwkSet::parse(jwks)?)).await?;
    ///     Ok(())
    /// }
    /// ```
    pub async fn replace_own_keys(
        &self,
        id: &ClientId,
        owner: &Subject,
        version: u32,
        keys: ClientKeys,
    ) -> Result<(), RegistrarError> {
        let action = Action::ReplaceKeys { keys };
        self.carry_out(id, Some(owner), Some(version), action, ApplicationChange::KeysReplaced).await
    }

    /// Deletes an application for its owner, as [`delete`](Self::delete) does.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::ChangedMeanwhile`] if it was changed since; [`RegistrarError::NotFound`] also for a subject
    /// that does not own it; or [`RegistrarError::Store`].
    pub async fn delete_own(&self, id: &ClientId, owner: &Subject, version: u32) -> Result<(), RegistrarError> {
        self.carry_out(id, Some(owner), Some(version), Action::Delete, ApplicationChange::Deleted).await
    }

    async fn make_secret(
        &self,
        id: &ClientId,
        owner: &Subject,
        version: u32,
        action: impl FnOnce(Digest) -> Action,
        change: ApplicationChange<'_>,
    ) -> Result<ClientSecret, RegistrarError> {
        let secret = ClientSecret::generate(&*self.context.entropy);
        let action = action(Digest::of(secret.expose().as_bytes()));
        self.carry_out(id, Some(owner), Some(version), action, change).await?;
        Ok(secret)
    }
}
