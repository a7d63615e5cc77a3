//! Answers the polls of a device, and issues its first pair of tokens [RFC 8628 section 3.4].
//!
//! A poll writes nothing until the user has approved. The device code then counts as a refresh token that the first
//! pair superseded: a device that lost the answer gets the same pair within the grace.

use crate::base::clock::Timestamp;
use crate::base::id::DeviceRequestId;
use crate::config::DeviceSettings;
use crate::context::Context;
use crate::error::{ErrorCode, Reason};
use crate::grant::first_pair;
use crate::grant::first_pair::{Beginning, NotFirst, Rules, replayed};
use crate::grant::issue::Issued;
use crate::grant::refresh_token::refresh_with;
use crate::grant::refresh_token::state::{TokenState, state_of};
use crate::grant::request::TokenRequest;
use crate::hooks::Event;
use crate::model::{
    AccessRecord, Authorization, DeviceDecision, DeviceRequest, GraceEnds, Grant, RefreshRecord, Restrictions, Stage,
    SupersededPair, TokenPair,
};
use crate::secret::derive::{Link, MissingKey};
use crate::secret::refresh::{PresentedRefresh, of_device_code};
use crate::secret::{Digest, Presented};

/// The seconds by which a poll may be early, since the time on the network varies.
const TOLERANCE: u32 = 1;

/// Answers a poll: with tokens, or with the state of the device's request.
pub(crate) async fn poll(context: &Context, request: &TokenRequest<'_>) -> Result<Issued, Reason> {
    let now = context.now();
    let text = request.required("device_code")?;
    let presented = Presented::parse(&context.prefixes.device_code, text).ok_or(Reason::UnknownDeviceCode)?;
    let id = DeviceRequestId::from_bytes(presented.id);
    let device = context.stores.device_requests.find(&id).await?.ok_or(Reason::UnknownDeviceCode)?;
    judge_code(&device, &presented.digest, request, now)?;
    let (by, ticket) = match device.decision {
        Some(DeviceDecision::Approved { by, ticket }) => (by, ticket),
        Some(DeviceDecision::Denied) => return Err(Reason::AccessDenied),
        None => return Err(undecided(context, &device, now)),
    };
    let authorization = context.stores.codes.find(&by).await?.filter(|found| found.ticket == ticket);
    // Without it, the user's request ended between the claim of the decision and the decision.
    let authorization = authorization.ok_or(Reason::AccessDenied)?;
    match authorization.stage {
        Stage::CodeIssued(code) if code == device.secret => {
            Polled { context, request, digest: code, code: text, authorization: &authorization }.redeem(now).await
        }
        Stage::Held => Err(undecided(context, &device, now)),
        Stage::CodeIssued(_) | Stage::Denied => Err(Reason::AccessDenied),
    }
}

/// Checks that the code is genuine and the client's own, in the order that reveals least to a wrong party.
fn judge_code(device: &DeviceRequest, code: &Digest, request: &TokenRequest<'_>, now: Timestamp) -> Result<(), Reason> {
    if device.secret != *code || device.client != request.client.id {
        return Err(Reason::UnknownDeviceCode);
    }
    if request.client.has_revoked(device.epoch)? {
        return Err(Reason::DeviceCodeSpent);
    }
    if !device.created.has_come(now) {
        return Err(Reason::not_yet_valid(device.created, now, Reason::DeviceCodeSpent));
    }
    Ok(())
}

/// § 3.5: pending, or expired. The interval of the server stays as it is:
///
/// > the interval MUST be increased by 5 seconds for this and all subsequent requests
///
/// is for the device.
fn undecided(context: &Context, device: &DeviceRequest, now: Timestamp) -> Reason {
    if now >= device.end {
        return Reason::DeviceCodeExpired;
    }
    let before = context.polls.note(&device.secret, now);
    let is_soon = |before: Timestamp| before <= now && now.seconds_since(before) < DeviceSettings::INTERVAL - TOLERANCE;
    if before.is_some_and(is_soon) { Reason::DevicePollsTooOften } else { Reason::DeviceUndecided }
}

/// A poll with the code of an approved request.
struct Polled<'a> {
    context: &'a Context,
    request: &'a TokenRequest<'a>,
    code: &'a [u8],
    /// The digest of its secret.
    digest: Digest,
    authorization: &'a Authorization,
}

impl Polled<'_> {
    /// Issues the first pair, or returns the newest one again within the grace of the device code.
    async fn redeem(&self, now: Timestamp) -> Result<Issued, Reason> {
        let Self { context, request, authorization, .. } = self;
        let judged = if now < authorization.end {
            Rules::of(context).granted(authorization, request)
        } else {
            Err(Reason::DeviceCodeExpired)
        };
        let exchanged = match judged {
            Ok(exchanged) => exchanged,
            Err(reason) => return self.again_or(reason, now).await,
        };
        let beginning = self.beginning(now)?;
        match first_pair::issue(context, request, authorization, exchanged, beginning, now).await {
            Ok(issued) => Ok(issued),
            Err(NotFirst::Replayed(Some(grant))) => self.again(&grant, now).await,
            Err(NotFirst::Replayed(None)) => Err(Reason::DeviceCodeSpent),
            Err(NotFirst::Refused(Reason::CodeExpired)) => self.again_or(Reason::DeviceCodeExpired, now).await,
            Err(NotFirst::Refused(reason)) => Err(reason),
        }
    }

    /// A code that can no longer be redeemed may have been redeemed in time.
    async fn again_or(&self, reason: Reason, now: Timestamp) -> Result<Issued, Reason> {
        match self.context.stores.tokens.find(&self.authorization.id.into()).await? {
            Some(grant) => self.again(&grant, now).await,
            None if matches!(reason, Reason::CodeSpent) => Err(Reason::DeviceCodeSpent),
            None => Err(reason.or_newer_settings(&self.context.config, &self.authorization.terms)),
        }
    }

    /// Derives the first pair from the device code and a link, which stays in the grant.
    fn beginning(&self, now: Timestamp) -> Result<Beginning, Reason> {
        let config = &self.context.config;
        let link = Link::random(&*self.context.entropy, config.refresh.derivation_keys.first());
        let (family_id, fresh) = of_device_code(self.code);
        let secrets = link.follow(&fresh, &config.refresh.derivation_keys);
        let secrets = secrets.map_err(|MissingKey| Reason::MissingDerivationKey)?;
        // A pair needs an access token. This one has expired, and no token has its digest.
        let access = AccessRecord::new(Digest::from_bytes([0; 32]), now, now, Restrictions::default());
        let end = now.plus(config.device_code_grace());
        let pair = TokenPair::new(access, Some(RefreshRecord { digest: self.digest, end }));
        let superseded = SupersededPair::new(pair, now, GraceEnds { access: now, refresh: end }, Some(link));
        Ok(Beginning { secrets, family_id, superseded: Some(superseded) })
    }

    /// Answers a poll with a code that was redeemed. After its grace it is a replay.
    async fn again(&self, grant: &Grant, now: Timestamp) -> Result<Issued, Reason> {
        let Self { context, request, .. } = self;
        if grant.revoked.is_some() {
            return Err(Reason::DeviceCodeSpent);
        }
        self.check_key(grant)?;
        let presented = PresentedRefresh::of_device_code(self.code, self.digest, grant.id, &grant.family.tag_key);
        match state_of(grant, &presented, now) {
            TokenState::Usable(_) => {}
            TokenState::NotYetValid { issued } => {
                return Err(Reason::not_yet_valid(issued, now, Reason::DeviceCodeSpent));
            }
            // It is neither unknown nor expired: its digest was compared, and it has no end of its own.
            TokenState::Unknown
            | TokenState::Expired
            | TokenState::Superseded
            | TokenState::AboveCount
            | TokenState::Forked => {
                replayed(context, request, grant).await?;
                return Err(Reason::DeviceCodeSpent);
            }
        }
        // A poll has no scope: it gets what the user allowed.
        let request = TokenRequest { scope: None, ..**request };
        refresh_with(context, &request, &presented).await.map_err(|reason| {
            let says_more = matches!(reason, Reason::SubjectRefused | Reason::AnotherDpopKey);
            let is_spent = reason.code() == ErrorCode::InvalidGrant && !says_more;
            if is_spent { Reason::DeviceCodeSpent } else { reason }
        })
    }

    /// The poll that redeemed the code has bound the first pair to its key. Another key is refused, and nothing is
    /// revoked: the owner can still use the grant.
    fn check_key(&self, grant: &Grant) -> Result<(), Reason> {
        let bound = grant.pairs.newest.as_ref().filter(|_| grant.bound_from.is_some()).and_then(TokenPair::line_key);
        match (bound, self.request.key) {
            (None, _) => Ok(()),
            (Some(_), None) => Err(Reason::MissingDpopProof),
            (Some(bound), Some(sent)) if bound == sent => Ok(()),
            (Some(_), Some(_)) => {
                let (client, subject) = (&grant.client, grant.subject());
                self.context.raise(&Event::AnotherDpopKey { grant: grant.id, client, subject });
                Err(Reason::AnotherDpopKey)
            }
        }
    }
}
