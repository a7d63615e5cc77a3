//! Methods of [`Registrar`] for administrators.

use crate::base::id::{ClientId, Subject};
use crate::hooks::ApplicationChange;
use crate::model::client::{ClientKeys, Privileges};
use crate::model::grant_data::GrantData;
use crate::registration::Registrar;
use crate::registration::claims::Taken;
use crate::registration::error::RegistrarError;
use crate::registration::judge::Action;
use crate::registration::reduction::Reduction;

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
