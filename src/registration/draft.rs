//! How a metadata document changes a client: pure functions from the current record to the next one.

use std::sync::Arc;
use std::time::Duration;

use crate::base::clock::Timestamp;
use crate::base::id::ClientId;
use crate::claim::Contended;
use crate::config::ClientLifetimes;
use crate::model::application::{Application, ClientPlace, OpenApplication};
use crate::model::client::{
    AuthenticationMethods, CheckedForm, Client, ClientOrigin, ClientState, Privileges, SelfRegistration,
};
use crate::model::client_metadata::{Admitted, ClientMetadata, MetadataError};
use crate::registration::error::RegistrarError;
use crate::registration::submission::{OpenSubmission, Submission};
use crate::registration::update::proposed_update;
use crate::registration::user_approval::{DAY, with_end};
use crate::secret::Digest;
use crate::store::StoreError;

/// A metadata document that a policy admitted.
#[derive(Clone, Debug)]
pub(crate) struct DocumentAdmission {
    pub(crate) id: ClientId,
    pub(crate) admitted: Admitted,
    /// The digest of everything that was taken from the document.
    pub(crate) digest: Digest,
    /// Whether a person must approve it before it can be used.
    pub(crate) awaits_review: bool,
}

impl DocumentAdmission {
    pub(crate) fn new(id: ClientId, metadata: &ClientMetadata, admitted: Admitted, awaits_review: bool) -> Self {
        Self { id, admitted, digest: metadata.digest(), awaits_review }
    }

    /// Checks that a client which had to use its key still has to. Its grants stay with the holder of the
    /// key, even if its document no longer names a key, or lists `none` beside it
    /// [draft-ietf-oauth-client-id-metadata-document section 8.4].
    ///
    /// # Errors
    ///
    /// [`RegistrarError::Metadata`] if the document no longer demands a key, and the client may have a live grant.
    pub(super) fn check_key(&self, client: &Client, now: Timestamp) -> Result<(), RegistrarError> {
        let may_have_grants = client.open().is_some_and(|open| open.is_reviewed || open.used_until.is_some());
        let needs_key = |form: &CheckedForm| form.authentication_methods == AuthenticationMethods::KEY;
        let loses_key = needs_key(&client.form) && !needs_key(&self.admitted.form);
        if loses_key && may_have_grants && !client.is_gone_at(now) {
            return Err(MetadataError::Fixed("token_endpoint_auth_method").into());
        }
        Ok(())
    }

    /// Returns whether the client is as the document describes it, within what the policy admits now. It may have less:
    /// the bounds that were stored with it stay until the document changes, and an administrator may have reduced it.
    /// Beside the digest, only the policy's bounds are compared.
    pub(super) fn is_in_force(&self, client: &Client) -> bool {
        let Admitted { form, resources, .. } = &self.admitted;
        let Some(open) = client.open() else { return false };
        let is_bounded = resources
            .as_ref()
            .is_none_or(|admitted| open.resources.as_ref().is_some_and(|resources| resources.is_subset(admitted)));
        client.state == ClientState::Approved
            && open.document.as_ref() == Some(&self.digest)
            && is_bounded
            && client.form.scopes.is_subset_of(&form.scopes)
            && form.resource_scope.covers(&client.form.resource_scope)
            && client.form.redirect_uris.iter().all(|uri| form.redirect_uris.contains(uri))
    }

    /// Returns whether nothing is to be written for the document, because a person approved it, or must decide about it
    /// and can. A change that the owner submitted is decided first.
    pub(super) fn is_settled(&self, current: &Application) -> bool {
        let proposed = current.proposed_update().and_then(|update| update.document);
        if is_reviewed(&current.client, &self.digest) {
            return proposed.is_none();
        }
        let awaits_decision = match current.proposed_update() {
            Some(_) => proposed == Some(self.digest),
            None => current.proposed.is_some(),
        };
        let is_approved = current.state() == ClientState::Approved;
        is_approved && self.awaits_review && awaits_decision && !self.was_rejected(current)
    }

    fn was_rejected(&self, current: &Application) -> bool {
        current.open.as_ref().is_some_and(|open| open.rejected == Some(self.digest))
    }
}

/// Returns whether a person approved the document as it is now.
pub(super) fn is_reviewed(client: &Client, digest: &Digest) -> bool {
    let is_same = client.open().is_some_and(|open| open.is_reviewed && open.document.as_ref() == Some(digest));
    is_same && client.state == ClientState::Approved
}

/// Returns the next row of a client whose publisher returned to the document that a person approved: the other one no
/// longer awaits review.
fn withdrawn(current: &Application) -> Application {
    let mut next = current.clone();
    next.drop_proposed();
    next
}

/// The input that decides what is written for a document.
pub(super) struct Draft<'a> {
    pub(super) admission: &'a DocumentAdmission,
    pub(super) looks_like_another: bool,
    /// A free place, if the client may need one.
    pub(super) place: Option<ClientPlace>,
    pub(super) now: Timestamp,
    pub(super) limits: ClientLifetimes,
    pub(super) longest: Duration,
    /// The version of a first record.
    pub(super) version: u32,
}

impl Draft<'_> {
    /// Returns the next row; `None` if nothing changes.
    ///
    /// A client whose registration has ended is stored as a new one with a higher epoch, so that no earlier token
    /// becomes valid again.
    pub(super) fn next(&self, current: Option<&Application>) -> Result<Option<Application>, RegistrarError> {
        let Some(current) = current else { return self.placed(self.first(None)).map(Some) };
        let client = &*current.client;
        self.admission.check_key(client, self.now)?;
        let is_gone = client.is_gone_at(self.now);
        match client.state {
            ClientState::Deleted if current.reserved_until.is_none_or(|until| self.now < until) => {
                Err(RegistrarError::NotFound)
            }
            ClientState::Deleted => self.placed(self.first(Some(client))).map(Some),
            // A suspended client is not reinstated because its registration ended.
            state @ ClientState::Suspended if current.is_suspended_document() => Err(RegistrarError::WrongState(state)),
            _ if is_gone => self.placed(self.first(Some(client))).map(Some),
            // Meanwhile an administrator has stored a client under this id. The next request finds it.
            _ if !client.is_of_document() => Err(StoreError::transient(Contended).into()),
            state @ (ClientState::Rejected | ClientState::Suspended) => Err(RegistrarError::WrongState(state)),
            ClientState::Approved if self.admission.is_settled(current) => Ok(None),
            ClientState::Approved if is_reviewed(client, &self.admission.digest) => Ok(Some(withdrawn(current))),
            // What a person refused is not put in force without a person.
            ClientState::Approved if self.admission.was_rejected(current) => {
                Err(RegistrarError::WrongState(ClientState::Rejected))
            }
            ClientState::Approved if self.admission.awaits_review => Ok(Some(self.proposed(current))),
            ClientState::Approved if self.admission.is_in_force(client) => Ok(None),
            ClientState::Pending | ClientState::Approved => self.changed(current),
        }
    }

    /// Returns the row of a client that is stored for the first time, or again after its registration has ended.
    pub(super) fn first(&self, before: Option<&Client>) -> Application {
        let DocumentAdmission { admitted, awaits_review, .. } = self.admission;
        let client = SelfRegistration {
            origin: ClientOrigin::MetadataDocument,
            registered: self.now,
            is_reviewed: false,
            default_scopes: admitted.default_scopes.clone(),
            resources: admitted.resources.clone(),
            end: admitted.lifetime.map(|lifetime| self.now.plus(lifetime)),
            used_until: None,
            gone_at: None,
            has_foreign_links: admitted.has_foreign_links(),
            looks_like_another: self.looks_like_another,
            document: Some(self.admission.digest),
        };
        let client = with_end(&client, &self.limits);
        let more = admitted.more.clone();
        let application = OpenApplication { place: self.place, more, ..OpenApplication::default() };
        let open = OpenSubmission {
            client: Arc::new(client),
            application: Box::new(application),
            state: if *awaits_review { ClientState::Pending } else { ClientState::Approved },
            secret: None,
        };
        let form = admitted.form.clone();
        let (now, version) = (self.now, self.version);
        let submission = Submission { owner: None, form, logo: None, now, version, open: Some(open) };
        let mut first = submission.application(self.admission.id.clone());
        // The earlier row may have been removed. Its epochs are lower, so none of its tokens becomes valid again.
        let epoch = before.map_or(0, |before| before.epoch.saturating_add(1));
        first.client_mut().epoch = epoch.max(self.now.seconds());
        first
    }

    fn placed(&self, first: Application) -> Result<Application, RegistrarError> {
        // No place was searched for, because the client had one when it was read.
        if self.place.is_none() { Err(StoreError::transient(Contended).into()) } else { Ok(first) }
    }

    /// Returns the client in force as the document describes it.
    pub(super) fn described(&self, client: &Client) -> Client {
        let admitted = &self.admission.admitted;
        let mut next = client.clone();
        next.state = if self.admission.awaits_review { ClientState::Pending } else { ClientState::Approved };
        next.put_form(admitted.form.clone());
        next.open = client.open().map(|open| Arc::new(self.unreviewed(open)));
        if !client.is_unreviewed() {
            // The privileges were for the version that a person had reviewed.
            next.privileges = Privileges::default();
        }
        next
    }

    /// Returns the data of a self-registered client, marked as unreviewed. While the client was reviewed, the ends of
    /// its grants were not recorded, so it counts as used for as long as any grant may live.
    fn unreviewed(&self, open: &SelfRegistration) -> SelfRegistration {
        let admitted = &self.admission.admitted;
        // The first end is kept. A reviewed client has none, and counted from its registration it could be long past.
        let end = admitted.lifetime.map(|lifetime| self.now.plus(lifetime));
        let next = SelfRegistration {
            is_reviewed: false,
            default_scopes: admitted.default_scopes.clone(),
            resources: admitted.resources.clone(),
            end: open.end.into_iter().chain(end).min(),
            used_until: match open.used_until {
                _ if open.is_reviewed => Some(self.now.plus(self.longest).plus(DAY)),
                noted => noted,
            },
            has_foreign_links: admitted.has_foreign_links(),
            looks_like_another: self.looks_like_another,
            document: Some(self.admission.digest),
            ..open.clone()
        };
        with_end(&next, &self.limits)
    }

    /// Returns the next row if the document changed, or if the policy now approves a client that awaited review.
    fn changed(&self, current: &Application) -> Result<Option<Application>, RegistrarError> {
        let client = self.described(&current.client);
        if client == *current.client {
            return Ok(None);
        }
        let place = current.place().or(self.place).ok_or_else(|| StoreError::transient(Contended))?;
        let (more, kept) = (self.admission.admitted.more.clone(), current.open.as_deref().cloned().unwrap_or_default());
        let open =
            OpenApplication { place: Some(place), more, management: None, proposed: None, rejected: None, ..kept };
        Ok(Some(Application {
            client: Arc::new(client),
            submitted: self.now,
            proposed: None,
            open: Some(Box::new(open)),
            // They were reviewed with an earlier version of the document.
            logo: None,
            proposed_logo: None,
            ..current.clone()
        }))
    }

    /// Returns the next row of a client in use whose changed document a person must approve. Until then no request of
    /// the client is accepted, and what is in force stays, except its privileges. It stays even if the policy now
    /// admits less: any signed-in user can cause the fetch, and that must not reduce what a person approved.
    fn proposed(&self, current: &Application) -> Application {
        let Admitted { form, .. } = &self.admission.admitted;
        let digest = Some(self.admission.digest);
        let update = proposed_update(&self.admission.admitted, self.looks_like_another, digest);
        let mut next = Application { submitted: self.now, rejection: None, ..current.clone() };
        next.drop_proposed();
        next.proposed = Some(form.clone());
        if let Some(open) = &mut next.open {
            (open.proposed, open.rejected) = (Some(Box::new(update)), None);
        }
        if !current.client.is_unreviewed() {
            // They were given to the earlier document alone.
            next.client_mut().privileges = Privileges::default();
        }
        next
    }

    /// Returns whether a person had reviewed the client, so that it may have live grants.
    pub(super) fn was_reviewed(&self, current: &Application) -> bool {
        !current.client.is_gone_at(self.now) && current.client.open().is_some_and(|open| open.is_reviewed)
    }

    /// Returns whether the client has a place already, or is reviewed and stays so for now.
    pub(super) fn needs_no_place(&self, current: &Application) -> bool {
        let is_gone = current.client.is_gone_at(self.now);
        let is_kept = is_reviewed(&current.client, &self.admission.digest)
            || (self.admission.awaits_review && self.was_reviewed(current));
        // No other client is evicted for one that is refused.
        current.is_suspended_document() || (!is_gone && (is_kept || current.place().is_some()))
    }
}
