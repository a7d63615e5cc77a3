//! How a client that registered itself replaces its registration [RFC 7592 section 2.2].
//!
//! An update is checked like a registration. Three bounds apply together: those of the policy's answer, those of the
//! registration, and what the client has now, which an administrator may have reduced. Once a person has approved or
//! reduced the client, all its updates await review.

use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::config::ClientLifetimes;
use crate::context::RegistrationRules;
use crate::model::application::{Application, Management, ProposedUpdate};
use crate::model::client::{Client, ClientState, SelfRegistration};
use crate::model::client_metadata::{Admitted, MetadataError, RegistrationBounds, Replacement};
use crate::registration::error::RegistrarError;
use crate::registration::user_approval::with_end;
use crate::secret::Digest;

/// An update, and what the policy decided about it.
#[derive(Debug)]
pub(crate) struct Update {
    /// The digest of the registration access token that was presented.
    pub(crate) token: Digest,
    pub(crate) replacement: Replacement,
    pub(crate) bounds: RegistrationBounds,
    pub(crate) awaits_review: bool,
    pub(crate) looks_like_another: bool,
    pub(crate) limits: ClientLifetimes,
}

/// Checks that the token is the client's, and that the client may manage its registration.
///
/// > If the registration access token is invalid [...], the server MUST respond with an error [...]. If the client does
/// > not have permission to read its record, the server MUST return an HTTP 403 Forbidden.
///
/// [RFC 7592 sections 2 and 2.1]
///
/// # Errors
///
/// [`RegistrarError::NotFound`] if the token is not the client's, or the client no longer exists;
/// [`RegistrarError::WrongState`] if the client was rejected or suspended.
pub(super) fn check_token<'a>(
    application: &'a Application,
    token: &Digest,
    now: Timestamp,
) -> Result<&'a Management, RegistrarError> {
    let is_gone = application.client.is_gone_at(now);
    let own = application.management().filter(|own| own.token == *token && !is_gone);
    let own = own.ok_or(RegistrarError::NotFound)?;
    match application.state() {
        ClientState::Approved | ClientState::Pending => Ok(own),
        state @ (ClientState::Rejected | ClientState::Suspended | ClientState::Deleted) => {
            Err(RegistrarError::WrongState(state))
        }
    }
}

pub(super) fn management(application: &mut Application) -> Option<&mut Management> {
    application.open.as_mut().and_then(|open| open.management.as_deref_mut())
}

impl Update {
    /// Puts the update in force, or stores it as a proposed change if a person must decide.
    ///
    /// # Errors
    ///
    /// As [`check_token`]; [`RegistrarError::Metadata`] if the secret is not the client's, if the update changes a
    /// fixed member, or if the bounds leave too little for a client.
    pub(super) fn judge(
        &self,
        next: &mut Application,
        rules: &RegistrationRules,
        now: Timestamp,
    ) -> Result<(), RegistrarError> {
        let own = check_token(next, &self.token, now)?;
        // > If the client includes the "client_secret" field in the request, the value of this field MUST match the
        // > currently issued client secret for that client.
        if self.replacement.secret.is_some_and(|secret| !next.client.secrets.prove(&secret)) {
            return Err(MetadataError::WrongSecret.into());
        }
        let bounds = self.bounds.clone().within(&own.bounds).within(&RegistrationBounds::of(&next.client));
        let admitted = bounds.admit(self.replacement.metadata.clone(), &rules.catalog)?;
        check_fixed(&next.client, &admitted)?;
        let awaits_review = self.awaits_review || own.updates_await_review;
        next.submitted = now;
        if let Some(open) = &mut next.open {
            open.proposed = Some(Box::new(proposed_update(&admitted, self.looks_like_another, None)));
        }
        if awaits_review && next.state() == ClientState::Approved {
            next.proposed = Some(admitted.form);
            return Ok(());
        }
        next.client_mut().put_form(admitted.form);
        next.proposed = None;
        put_update_in_force(next);
        keep_end(next, admitted.lifetime.map(|lifetime| now.plus(lifetime)), &self.limits);
        if !awaits_review {
            next.client_mut().state = ClientState::Approved;
        }
        Ok(())
    }
}

/// Returns the members of a change that are not part of its form. An approval removes the end of the registration, so a
/// change has none.
pub(super) fn proposed_update(
    admitted: &Admitted,
    looks_like_another: bool,
    document: Option<Digest>,
) -> ProposedUpdate {
    ProposedUpdate {
        default_scopes: admitted.default_scopes.clone(),
        resources: admitted.resources.clone(),
        has_foreign_links: admitted.has_foreign_links(),
        looks_like_another,
        more: admitted.more.clone(),
        document,
    }
}

/// Checks the fixed members: a client stays public or confidential, and a reviewed client also keeps its application
/// type. A client that authenticates with its key cannot change back to a secret.
fn check_fixed(client: &Client, admitted: &Admitted) -> Result<(), MetadataError> {
    let loses_key = client.form.keys.is_some() && admitted.form.keys.is_none();
    if admitted.form.client_type != client.form.client_type || loses_key {
        return Err(MetadataError::Fixed("token_endpoint_auth_method"));
    }
    if admitted.form.application_type != client.form.application_type && !client.is_unreviewed() {
        return Err(MetadataError::Fixed("application_type"));
    }
    Ok(())
}

/// Puts those members of a proposed change in force that its form does not contain.
pub(super) fn put_update_in_force(next: &mut Application) {
    let Some(application) = &mut next.open else { return };
    let Some(update) = application.proposed.take() else { return };
    let Some(open) = &mut Arc::make_mut(&mut next.client).open else { return };
    *open = update.applied_to(open).into();
    application.more = update.more;
}

/// Sets the end of an unreviewed registration, which is never postponed, and the time from which it counts as unknown.
fn keep_end(next: &mut Application, end: Option<Timestamp>, limits: &ClientLifetimes) {
    let Some(open) = &mut next.client_mut().open else { return };
    let end = open.end.into_iter().chain(end).min();
    *open = with_end(&SelfRegistration { end, ..SelfRegistration::clone(open) }, limits).into();
}
