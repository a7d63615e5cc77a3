//! The steps that a client takes on its own registration [RFC 7592].

use std::sync::Arc;

use crate::base::id::ClientId;
use crate::hooks::ApplicationChange;
use crate::model::application::Application;
use crate::model::client_metadata::{RegistrationBounds, Replacement};
use crate::registration::Registrar;
use crate::registration::claims::Taken;
use crate::registration::error::RegistrarError;
use crate::registration::judge::Action;
use crate::registration::update::{Update, check_token};
use crate::secret::Digest;

/// An update that a client sent for its own registration, and what the policy decided.
pub(crate) struct Decided {
    pub(crate) replacement: Replacement,
    pub(crate) bounds: RegistrationBounds,
    pub(crate) awaits_review: bool,
}

impl Registrar {
    /// Finds the registration of a client, if the digest is that of its token.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::NotFound`] if the token is not the client's; [`RegistrarError::WrongState`] if the client was
    /// rejected or suspended; [`RegistrarError::Store`].
    pub(crate) async fn own_registration(
        &self,
        id: &ClientId,
        token: &Digest,
    ) -> Result<Arc<Application>, RegistrarError> {
        let application = self.context.stores.applications.find(id).await?.ok_or(RegistrarError::NotFound)?;
        check_token(&application, token, self.context.now())?;
        Ok(application)
    }

    /// Replaces the registration of a client, if the digest is that of its token.
    ///
    /// # Errors
    ///
    /// As [`own_registration`](Self::own_registration), and [`RegistrarError::Metadata`].
    pub(crate) async fn update_own(
        &self,
        id: &ClientId,
        token: &Digest,
        decided: Decided,
    ) -> Result<Arc<Application>, RegistrarError> {
        let Decided { replacement, bounds, awaits_review } = decided;
        let name = replacement.metadata.name.as_deref().unwrap_or_default();
        let looks_like_another = self.looks_like_another(name, Some(id)).await?;
        let limits = self.context.config.client_lifetimes();
        let update = Update { token: *token, replacement, bounds, awaits_review, looks_like_another, limits };
        let Taken { after, .. } = self.take(id, None, None, Action::Update(Box::new(update))).await?;
        let is_proposed = after.proposed.is_some();
        let change = if is_proposed { ApplicationChange::ChangeProposed } else { ApplicationChange::Updated };
        self.raise(id, None, change);
        Ok(after)
    }

    /// Deletes a client with all its grants, if the digest is that of its token.
    ///
    /// # Errors
    ///
    /// As [`own_registration`](Self::own_registration).
    pub(crate) async fn delete_own_registration(&self, id: &ClientId, token: &Digest) -> Result<(), RegistrarError> {
        self.carry_out(id, None, None, Action::Deregister { token: *token }, ApplicationChange::Deleted).await
    }
}
