//! A device's request on its user's side, from the code that the user types to the decision [RFC 8628 section 3.3].
//!
//! Before a decision is written, it is claimed here, as for a pushed request. So at most one of several pages approves.

use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::base::id::Subject;
use crate::claim::{ATTEMPTS, After, Claim, Effect, Seen, claim};
use crate::context::Context;
use crate::error::Reason;
use crate::model::{Authorization, DeviceDecision, DeviceFrom, DeviceRequest};

/// Claims a device's request for the user who typed its code.
pub(crate) async fn claim_for(context: &Context, device: &DeviceFrom, subject: &Subject) -> Result<(), Reason> {
    change(context, device, Change::Type { subject, now: context.now() }).await
}

/// Claims a device's request for the decision of a user's request.
///
/// # Errors
///
/// [`Reason::AlreadyDecided`] if it was decided otherwise, or its record is gone; [`Reason::UnknownConsentTicket`] if
/// its code was given back.
pub(crate) async fn decide(
    context: &Context,
    device: &DeviceFrom,
    held: &Authorization,
    decision: Decision,
) -> Result<(), Reason> {
    // The device code is good for a repeated poll as long as a refresh token is in grace.
    let open_until = device.end.plus(context.config.device_code_grace());
    change(context, device, Change::Decide { held, decision, open_until }).await
}

/// What a user decides about a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Approve,
    Deny,
}

async fn change(context: &Context, device: &DeviceFrom, change: Change<'_>) -> Result<(), Reason> {
    claim(context, &mut Changing { context, device: *device, change }, Some(ATTEMPTS)).await
}

/// Changes the state of a device's request, with one compare-and-swap.
struct Changing<'a> {
    context: &'a Context,
    device: DeviceFrom,
    change: Change<'a>,
}

enum Change<'a> {
    /// Records that the user has typed the code of a request that no user had typed.
    Type { subject: &'a Subject, now: Timestamp },
    /// Records the decision of a request that waits for it.
    Decide { held: &'a Authorization, decision: Decision, open_until: Timestamp },
}

impl Claim for Changing<'_> {
    type Row = DeviceRequest;
    type Won = ();
    type Error = Reason;

    async fn read(&mut self) -> Result<Seen<DeviceRequest>, Reason> {
        Ok(self.context.stores.device_requests.find(&self.device.id).await?.into())
    }

    fn judge(&mut self, seen: &Seen<DeviceRequest>) -> Result<Effect<DeviceRequest, ()>, Reason> {
        let found = seen.found().filter(|found| found.is_of(&self.device));
        judge(found, &self.change)
    }

    fn is_done(&self, found: &DeviceRequest, meant: &DeviceRequest, _: After) -> bool {
        found.is_of(&self.device) && found.typed_by == meant.typed_by && found.decision == meant.decision
    }
}

fn judge(found: Option<&Arc<DeviceRequest>>, change: &Change<'_>) -> Result<Effect<DeviceRequest, ()>, Reason> {
    let replace = |next| Ok(Effect::Replace(Arc::new(next), ()));
    match *change {
        Change::Type { subject, now } => {
            let found = found.filter(|found| found.is_for(subject)).ok_or(Reason::UnknownUserCode)?;
            match (&found.decision, &found.typed_by) {
                (Some(_), _) => Err(Reason::AlreadyDecided),
                (None, _) if !found.is_open(now) => Err(Reason::UnknownUserCode),
                (None, Some(_)) => Ok(Effect::Confirm(())),
                (None, None) => replace(found.typed(Some(subject))),
            }
        }
        Change::Decide { held, decision, open_until } => {
            let found = found.ok_or(Reason::AlreadyDecided)?;
            if found.typed_by.as_ref() != held.subject() {
                return Err(Reason::UnknownConsentTicket);
            }
            let approval = DeviceDecision::Approved { by: held.id, ticket: held.ticket };
            match (found.decision, decision) {
                (None, Decision::Approve) => replace(found.decided(approval, open_until)),
                (None, Decision::Deny) => replace(found.decided(DeviceDecision::Denied, found.end)),
                // An earlier attempt claimed the approval, and may not have written it. A denial then takes its place,
                // or comes too late.
                (Some(before), _) if before == approval => Ok(Effect::Confirm(())),
                (Some(DeviceDecision::Denied), Decision::Deny) => Ok(Effect::Confirm(())),
                // The device may have learned of a denial, so that is final.
                (Some(_), _) => Err(Reason::AlreadyDecided),
            }
        }
    }
}
