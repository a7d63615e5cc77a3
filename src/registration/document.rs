//! Clients with a metadata document: what is stored, and when.
//!
//! The row is written when a request is held, or when it is refused there because the client must await review. Every
//! later step reads only the row. A client that a person approved stays approved until a changed document is in force.
//!
//! Any signed-in user may be the first to bring a change in, because the publisher decides what the document says.
//! Consent requests and grants get at most what both versions allow. A digest in the record covers everything that is
//! taken from the document in force. That of a document that awaits review is beside the change.

use std::sync::Arc;
use std::time::Duration;

use crate::base::id::{ClientId, LogoId};
use crate::claim::{ATTEMPTS, After, Claim, Effect, Seen, claim, draw_version};
use crate::config::Config;
use crate::context::Context;
use crate::hooks::ApplicationChange;
use crate::model::application::{Application, ClientRoom};
use crate::model::client::{Client, ClientState};
use crate::registration::Registrar;
use crate::registration::draft::{DocumentAdmission, Draft, is_reviewed};
use crate::registration::error::RegistrarError;

/// How a request may use a client that has a metadata document.
#[derive(Debug)]
pub(crate) enum DocumentClient {
    /// The client is used as it is stored.
    Stored(Arc<Client>),
    /// The client is used as the document describes it now. This is stored when the request is held. It is pending if
    /// a person must approve it first.
    Described(Arc<Client>),
}

impl Registrar {
    /// Compares a client with its document. `stored` is the client's row, if its registration has not ended.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::Metadata`] if the client would lose its key, or [`RegistrarError::Store`].
    pub(crate) async fn document_client(
        &self,
        admission: &DocumentAdmission,
        stored: Option<&Arc<Client>>,
    ) -> Result<DocumentClient, RegistrarError> {
        if let Some(client) = stored {
            admission.check_key(client, self.context.now())?;
        }
        if let Some(client) = stored.filter(|client| is_reviewed(client, &admission.digest)) {
            // A change that the publisher has taken back must not be approved any more: the next write drops it.
            return Ok(DocumentClient::Described(Arc::clone(client)));
        }
        if let Some(client) = stored.filter(|client| !admission.awaits_review && admission.is_in_force(client)) {
            return Ok(DocumentClient::Stored(Arc::clone(client)));
        }
        let draft = self.draft(admission, stored.map(|client| &**client)).await?;
        let described = stored.map_or_else(|| draft.first(None).client, |client| Arc::new(draft.described(client)));
        Ok(DocumentClient::Described(described))
    }

    /// Stores the client as the document describes it, in force or awaiting review.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::Metadata`] if the client would lose its key; [`RegistrarError::NotFound`] if it was deleted;
    /// [`RegistrarError::WrongState`] if it was rejected or suspended; [`RegistrarError::NoRoom`]; or
    /// [`RegistrarError::Store`].
    pub(crate) async fn store_document(&self, admission: &DocumentAdmission) -> Result<(), RegistrarError> {
        let current = self.context.stores.applications.find(&admission.id).await?;
        let now = self.context.now();
        if current.as_ref().is_some_and(|own| admission.is_settled(own) && !own.client.is_gone_at(now)) {
            return Ok(());
        }
        let mut draft = self.draft(admission, current.as_ref().map(|current| &**current.client())).await?;
        if !current.as_ref().is_some_and(|current| draft.needs_no_place(current)) {
            let is_approved = current.as_ref().is_some_and(|current| draft.was_reviewed(current));
            let found = self.find_place(ClientRoom { has_document: true, is_approved }).await?;
            self.free(&found).await?;
            draft.place = Some(found.place);
        }
        let mut storing = Storing { context: &self.context, draft, left_out: Vec::new() };
        let is_written = claim(&self.context, &mut storing, Some(ATTEMPTS)).await??;
        if is_written {
            self.expire_logos(storing.left_out.into_iter()).await;
            self.raise(&admission.id, None, ApplicationChange::DocumentStored);
        }
        Ok(())
    }

    /// Returns whether the id belonged to a deleted client and is still reserved.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::Store`].
    pub(crate) async fn is_reserved(&self, id: &ClientId) -> Result<bool, RegistrarError> {
        let now = self.context.now();
        let application = self.context.stores.applications.find(id).await?;
        let of_deleted = application.filter(|application| application.state() == ClientState::Deleted);
        Ok(of_deleted.is_some_and(|deleted| deleted.reserved_until.is_none_or(|until| now < until)))
    }

    async fn draft<'a>(
        &self,
        admission: &'a DocumentAdmission,
        stored: Option<&Client>,
    ) -> Result<Draft<'a>, RegistrarError> {
        let config = &self.context.config;
        let known = stored.and_then(Client::open).filter(|open| open.document == Some(admission.digest));
        let looks_like_another = match known {
            Some(open) => open.looks_like_another,
            None => self.looks_like_another(&admission.admitted.form.name, Some(&admission.id)).await?,
        };
        Ok(Draft {
            admission,
            looks_like_another,
            place: None,
            now: self.context.now(),
            limits: config.client_lifetimes(),
            longest: longest(config),
            version: draw_version(&*self.context.entropy),
        })
    }
}

/// Returns the longest time for which a grant that is live now may stay live.
fn longest(config: &Config) -> Duration {
    config.tokens.refresh_lifetime.max(config.tokens.access_lifetime).saturating_add(config.authorization.code_lifetime)
}

/// Inserts or replaces the row of a client, as its document describes it.
struct Storing<'a> {
    context: &'a Context,
    draft: Draft<'a>,
    /// The logos of the record that was judged last which the next one no longer names.
    left_out: Vec<LogoId>,
}

impl Claim for Storing<'_> {
    type Row = Application;
    /// Whether anything was written.
    type Won = Result<bool, RegistrarError>;
    type Error = RegistrarError;

    async fn read(&mut self) -> Result<Seen<Application>, RegistrarError> {
        Ok(self.context.stores.applications.find(&self.draft.admission.id).await?.into())
    }

    fn judge(&mut self, seen: &Seen<Application>) -> Result<Effect<Application, Self::Won>, RegistrarError> {
        let current = seen.found();
        match self.draft.next(current.map(|current| &**current)) {
            Ok(None) => Ok(Effect::Confirm(Ok(false))),
            Ok(Some(next)) => {
                let before = current.into_iter().flat_map(|before| before.logos());
                self.left_out = before.filter(|logo| !next.logos().any(|named| named == *logo)).collect();
                let next = Arc::new(next);
                Ok(if current.is_some() { Effect::Replace(next, Ok(true)) } else { Effect::Insert(next, Ok(true)) })
            }
            Err(error @ (RegistrarError::NotFound | RegistrarError::WrongState(_))) => Ok(Effect::Confirm(Err(error))),
            Err(error) => Err(error),
        }
    }

    fn is_done(&self, found: &Application, meant: &Application, _: After) -> bool {
        found == meant
    }
}
