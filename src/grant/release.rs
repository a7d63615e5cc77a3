//! What becomes of a device's code or a pushed request when the consent request ends that came from it.
//!
//! It is released: another user may type the code, and the pushed request may give way to another one. Otherwise a user
//! could begin more requests than may wait, and each would keep a place of its client until it expires.

use std::sync::Arc;

use crate::base::id::Subject;
use crate::claim::{ATTEMPTS, After, Claim, Effect, Seen, claim};
use crate::context::Context;
use crate::error::Reason;
use crate::model::{Authorization, DeviceFrom, DeviceRequest, PushedFrom, PushedRequest};
use crate::secret::Digest;

/// Releases what a consent request came from. If this fails, it keeps its place until it expires.
pub(crate) async fn source_of(context: &Context, ended: &Authorization) {
    if let Some((from, subject)) = ended.device().zip(ended.subject()) {
        let _ = device(context, from, subject).await;
    }
    if let Some((from, subject)) = ended.pushed.as_deref().zip(ended.subject()) {
        let user = Digest::of(subject.as_str().as_bytes());
        let _ = claim(context, &mut ReleasingPush { context, from: *from, user }, Some(ATTEMPTS)).await;
    }
}

/// Frees a device's request, so that another user may type its code.
///
/// # Errors
///
/// [`Reason::AlreadyDecided`] if it was decided; [`Reason::UnknownConsentTicket`] if another user typed its code, or
/// its record is gone; the store's error.
pub(crate) async fn device(context: &Context, from: &DeviceFrom, subject: &Subject) -> Result<(), Reason> {
    claim(context, &mut ReleasingDevice { context, from: *from, subject }, Some(ATTEMPTS)).await
}

struct ReleasingDevice<'a> {
    context: &'a Context,
    from: DeviceFrom,
    subject: &'a Subject,
}

impl Claim for ReleasingDevice<'_> {
    type Row = DeviceRequest;
    type Won = ();
    type Error = Reason;

    async fn read(&mut self) -> Result<Seen<DeviceRequest>, Reason> {
        Ok(self.context.stores.device_requests.find(&self.from.id).await?.into())
    }

    fn judge(&mut self, seen: &Seen<DeviceRequest>) -> Result<Effect<DeviceRequest, ()>, Reason> {
        let found = seen.found().filter(|found| found.is_of(&self.from) && found.is_for(self.subject));
        let found = found.ok_or(Reason::UnknownConsentTicket)?;
        match (&found.decision, &found.typed_by) {
            (Some(_), _) => Err(Reason::AlreadyDecided),
            (None, None) => Ok(Effect::Confirm(())),
            (None, Some(_)) => Ok(Effect::Replace(Arc::new(found.typed(None)), ())),
        }
    }

    fn is_done(&self, found: &DeviceRequest, meant: &DeviceRequest, _: After) -> bool {
        found.is_of(&self.from) && found.typed_by == meant.typed_by && found.decision == meant.decision
    }
}

/// Another user with the same `request_uri` keeps it open.
struct ReleasingPush<'a> {
    context: &'a Context,
    from: PushedFrom,
    user: Digest,
}

impl Claim for ReleasingPush<'_> {
    type Row = PushedRequest;
    type Won = ();
    type Error = Reason;

    async fn read(&mut self) -> Result<Seen<PushedRequest>, Reason> {
        Ok(self.context.stores.pushed_requests.find(&self.from.id).await?.into())
    }

    fn judge(&mut self, seen: &Seen<PushedRequest>) -> Result<Effect<PushedRequest, ()>, Reason> {
        let found = seen.found().filter(|found| found.is_of(&self.from) && found.used_by.is_none() && found.is_held());
        Ok(found.map_or(Effect::Leave(()), |found| Effect::Replace(Arc::new(found.released(&self.user)), ())))
    }

    fn is_done(&self, found: &PushedRequest, meant: &PushedRequest, _: After) -> bool {
        !found.is_of(&self.from) || found.visits == meant.visits && found.open_until == meant.open_until
    }
}
