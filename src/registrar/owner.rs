//! The steps of an application's owner. Each names the owner: for another subject there is no such application.

use crate::client::ClientState;
use crate::client::application::{ApplicationForm, Logo};
use crate::hooks::ApplicationChange;
use crate::id::ClientId;
use crate::registrar::Registrar;
use crate::registrar::error::RegistrarError;
use crate::registrar::flows::Taken;
use crate::registrar::judge::{Action, Step};
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
        let Taken { client, .. } =
            self.take(id, &Step { mark: self.mark(), owner: Some(owner), version: None, action }).await?;
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
    /// [`RegistrarError::PublicClient`], [`RegistrarError::WrongState`] if it was never approved, or
    /// [`RegistrarError::Store`].
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
    /// that does not own it; [`RegistrarError::PublicClient`], [`RegistrarError::WrongState`] if it was never
    /// approved, or [`RegistrarError::Store`].
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
    /// that does not own it; [`RegistrarError::PublicClient`], [`RegistrarError::WrongState`] if it was never
    /// approved, or [`RegistrarError::Store`].
    pub async fn retire_previous_secret(
        &self,
        id: &ClientId,
        owner: &Subject,
        version: u32,
    ) -> Result<(), RegistrarError> {
        let step = Step {
            mark: self.mark(),
            owner: Some(owner),
            version: Some(version),
            action: Action::RetirePreviousSecret,
        };
        let Taken { client, .. } = self.take(id, &step).await?;
        self.raise(id, client.version, Some(owner), ApplicationChange::PreviousSecretRetired);
        Ok(())
    }

    /// Deletes an application for its owner, as [`delete`](Self::delete) does.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::ChangedMeanwhile`] if it was changed since; [`RegistrarError::NotFound`] also for a subject
    /// that does not own it; or [`RegistrarError::Store`].
    pub async fn delete_own(&self, id: &ClientId, owner: &Subject, version: u32) -> Result<(), RegistrarError> {
        let step = Step { mark: self.mark(), owner: Some(owner), version: Some(version), action: Action::Delete };
        let Taken { client, .. } = self.take(id, &step).await?;
        self.raise(id, client.version, Some(owner), ApplicationChange::Deleted);
        Ok(())
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
        let Taken { client, .. } =
            self.take(id, &Step { mark: self.mark(), owner: Some(owner), version: Some(version), action }).await?;
        self.raise(id, client.version, Some(owner), change);
        Ok(secret)
    }
}
