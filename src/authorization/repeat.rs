//! An answer that is sent again: by a second click, or by Stop and the same button.
//!
//! A browser shows the response to what it sent last. So the same decision about the same page gets the same
//! response for a minute, with the same code. It is not a second decision: no event is raised, and no end is moved.
//!
//! The first response may be on its way to the client too, which then exchanges one code twice. So the record is marked
//! before the code is sent again, and a second exchange of a marked code revokes nothing
//! (`grant/authorization_code.rs`).

use std::sync::Arc;

use crate::authorization::decision::Submitted;
use crate::authorization::pending::{Answer, Shows};
use crate::base::clock::Timestamp;
use crate::base::id::IdText;
use crate::claim::{ATTEMPTS, After, Claim, Effect, Seen, claim_record};
use crate::context::Context;
use crate::error::Reason;
use crate::model::client::Client;
use crate::model::{Authorization, Destination, Grant, Stage};
use crate::secret::{Digest, MintedOpaque};
use crate::wire;

/// Makes the response to the answer that a record keeps. No browser goes back to a device, so its user sees a page. A
/// code is derived unless the caller has it.
pub(crate) fn respond(
    context: &Context,
    answered: &Authorization,
    client: &Client,
    submitted: &Submitted<'_>,
    code: Option<MintedOpaque>,
) -> Answer {
    let is_allowed = matches!(answered.stage, Stage::CodeIssued(_));
    match (&answered.destination, answered.answer.as_deref()) {
        (Destination::Device(_), _) => (wire::page::device_answered(is_allowed), Some(Shows::Device { is_allowed })),
        (Destination::Browser(to), Some(answer)) if is_allowed => {
            let minted = code.unwrap_or_else(|| submitted.code(&answer.seed));
            let code = minted.text(&context.prefixes.code, &IdText::of(answered.id.as_bytes()));
            (to.code(context, &code), None)
        }
        (Destination::Browser(to), _) => to.error(context, client, &Reason::AccessDenied),
    }
}

/// Makes the same response as the first time, if `submitted` is the answer that the request of `asked` got within the
/// last minute, and nothing has ended or used what it led to.
///
/// # Errors
///
/// [`Reason::AlreadyDecided`] if it is not; [`Reason::SubjectRefused`] if the user may not be given tokens any more;
/// the store's error.
pub(crate) async fn respond_again(
    context: &Context,
    asked: &Authorization,
    client: &Client,
    submitted: &Submitted<'_>,
) -> Result<Answer, Reason> {
    let now = context.now();
    let mut repeating = Repeating { context, asked, client, decision: submitted.digest(), now, grant: None };
    let ((), answered) = claim_record(context, &mut repeating, Some(ATTEMPTS)).await?;
    let answered = answered.ok_or(Reason::AlreadyDecided)?;
    Ok(respond(context, &answered, client, submitted, None))
}

struct Repeating<'a> {
    context: &'a Context,
    asked: &'a Authorization,
    client: &'a Client,
    decision: Digest,
    now: Timestamp,
    /// What has the place of the code's grant, an ended one too.
    grant: Option<Arc<Grant>>,
}

impl Claim for Repeating<'_> {
    type Row = Authorization;
    type Won = ();
    type Error = Reason;

    async fn read(&mut self) -> Result<Seen<Authorization>, Reason> {
        let found = self.context.stores.codes.find(&self.asked.id).await?;
        if let Some(found) = found.as_deref().filter(|found| matches!(found.stage, Stage::CodeIssued(_))) {
            self.context.check_subject(found.subject(), self.client).await?;
            self.grant = self.context.stores.tokens.find(&found.id.into()).await?;
        }
        Ok(found.into())
    }

    fn judge(&mut self, seen: &Seen<Authorization>) -> Result<Effect<Authorization, ()>, Reason> {
        let found = seen
            .found()
            .filter(|found| found.ticket == self.asked.ticket && found.is_fresh_answer(&self.decision, self.now));
        let found = found.ok_or(Reason::AlreadyDecided)?;
        match (&found.stage, &found.destination, self.grant.as_deref()) {
            (Stage::Denied, ..) => Ok(Effect::Confirm(())),
            // All grants of the client were revoked since.
            (Stage::CodeIssued(_), ..) if self.client.has_revoked(found.epoch)? => Err(Reason::AlreadyDecided),
            (Stage::CodeIssued(_), Destination::Browser(_), None) if self.now < found.end => {
                Ok(Effect::Replace(Arc::new(found.repeated(self.now)), ()))
            }
            (Stage::CodeIssued(_), Destination::Device(_), None) if self.now < found.end => Ok(Effect::Confirm(())),
            // The device may have fetched its tokens before the second click.
            (Stage::CodeIssued(_), Destination::Device(_), Some(grant)) if grant.is_live(self.now) => {
                Ok(Effect::Confirm(()))
            }
            (Stage::CodeIssued(_) | Stage::Held, ..) => Err(Reason::AlreadyDecided),
        }
    }

    /// A mark that another request made a moment later protects this answer too.
    fn is_done(&self, found: &Authorization, meant: &Authorization, _: After) -> bool {
        let mark = |own: &Authorization| own.answer.as_deref().map(|answer| (answer.seed, answer.repeated));
        let is_marked =
            mark(found).zip(mark(meant)).is_some_and(|(found, meant)| found.0 == meant.0 && found.1 >= meant.1);
        found.stage == meant.stage && found.ticket == meant.ticket && is_marked
    }
}
