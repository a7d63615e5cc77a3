//! Methods of [`Registrar`] for the owner of an application. Each takes the owner; for another subject there is no such
//! application.

use crate::base::id::{ClientId, Subject};
use crate::hooks::ApplicationChange;
use crate::model::application::{ApplicationForm, Logo};
use crate::model::client::{ClientKeys, ClientState};
use crate::registration::Registrar;
use crate::registration::claims::Taken;
use crate::registration::error::RegistrarError;
use crate::registration::judge::Action;
use crate::secret::{ClientSecret, Digest};

impl Registrar {
    /// Submits a change of an application. Without a logo, the current one is kept.
    ///
    /// It replaces a submission that awaits review or was rejected, and awaits review again. For an approved or
    /// suspended application it is kept beside the version in force until it is decided, and replaces an earlier
    /// change.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::Invalid`] with everything that is wrong, including
    /// [`Problem::Fixed`](crate::application::Problem::Fixed) for another client type or application type of an
    /// approved application; [`RegistrarError::NotFound`] also for a subject that does not own it; or
    /// [`RegistrarError::Store`].
    pub async fn change(
        &self,
        id: &ClientId,
        owner: &Subject,
        form: ApplicationForm,
        logo: Option<Logo>,
    ) -> Result<(), RegistrarError> {
        let (form, logo) = self.rules().check_change(&form, logo)?;
        let logo = match logo {
            Some(logo) => Some(self.insert_logo(logo).await?),
            None => None,
        };
        let action = Action::Change { form: Box::new(form), logo };
        let Taken { after, .. } = self.take_with_logo(id, Some(owner), None, action, logo).await?;
        let awaits_first_review = after.state() == ClientState::Pending;
        let change = if awaits_first_review { ApplicationChange::Submitted } else { ApplicationChange::ChangeProposed };
        self.raise(id, Some(owner), change);
        Ok(())
    }

    /// Creates the first secret of an approved client. It is returned only once; the server keeps only its digest.
    ///
    /// The owner calls it, and not the administrator, who would then know the secret and have to send it to the owner.
    ///
    /// `version` is the version of the [`Application`](crate::Application) that the caller read: of two concurrent
    /// claims, one gets the secret. If the answer is lost, [`rotate_secret`](Self::rotate_secret) creates the next one.
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
    /// async fn first_secret(
    ///     registrar: &Registrar,
    ///     id: &ClientId,
    ///     me: &Subject,
    /// ) -> Result<ClientSecret, RegistrarError> {
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

    /// Creates the next secret of a client. It is returned only once; the previous one stays valid.
    ///
    /// A third secret replaces the oldest. `version` is the version of the [`Application`](crate::Application) that the
    /// caller read, so that a form sent twice does not end the secret in use.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::ChangedMeanwhile`] if it was changed since; [`RegistrarError::NotFound`] also for a subject
    /// that does not own it; [`RegistrarError::PublicClient`], [`RegistrarError::NoSecret`] if it authenticates with
    /// its key, [`RegistrarError::WrongState`] if it was never approved, or [`RegistrarError::Store`].
    pub async fn rotate_secret(
        &self,
        id: &ClientId,
        owner: &Subject,
        version: u32,
    ) -> Result<ClientSecret, RegistrarError> {
        let make = |digest| Action::RotateSecret { digest };
        self.make_secret(id, owner, version, make, ApplicationChange::SecretRotated).await
    }

    /// Ends the previous secret, if it is still valid beside the newest; `version` is the version of the
    /// [`Application`](crate::Application) that the caller read.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::ChangedMeanwhile`] if it was changed since; [`RegistrarError::NotFound`] also for a subject
    /// that does not own it; [`RegistrarError::PublicClient`], [`RegistrarError::NoSecret`] if it authenticates with
    /// its key, [`RegistrarError::WrongState`] if it was never approved, or [`RegistrarError::Store`].
    pub async fn revoke_previous_secret(
        &self,
        id: &ClientId,
        owner: &Subject,
        version: u32,
    ) -> Result<(), RegistrarError> {
        let change = ApplicationChange::PreviousSecretRevoked;
        self.carry_out(id, Some(owner), Some(version), Action::RevokePreviousSecret, change).await
    }

    /// Replaces the public keys of an approved client that authenticates with `private_key_jwt`, for its owner. Like
    /// the rotation of a secret, this needs no review.
    ///
    /// From then on, assertions that were signed with a key outside the new set are refused. Another server refuses
    /// them once it has read the client again, at most the time to live of its [`CachedClients`](crate::CachedClients)
    /// later. If the keys are given by an address, even the same one, the set is fetched again. To replace a key
    /// without an interruption, register a set with both keys, let the client sign with the new one, then register the
    /// new one alone. Tokens and grants stay valid. A proposed change that had the same keys gets the new ones too.
    /// `version` is the version of the [`Application`](crate::Application) that the caller read.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::Invalid`] if the client does not authenticate with a key, if its keys come from its metadata
    /// document, or if the server does not accept the keys; [`RegistrarError::ChangedMeanwhile`] if the application was
    /// changed since; [`RegistrarError::NotFound`] also for a subject that does not own it;
    /// [`RegistrarError::WrongState`] if it was never approved, or [`RegistrarError::Store`].
    ///
    /// # Examples
    ///
    /// ```
    /// use grantor::{ClientId, Registrar, Subject};
    /// use grantor::client::ClientKeys;
    /// use grantor::jose::JwkSet;
    ///
    /// async fn replace(
    ///     registrar: &Registrar,
    ///     id: &ClientId,
    ///     me: &Subject,
    ///     jwks: &str,
    /// ) -> Result<(), Box<dyn std::error::Error>> {
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
