//! Revokes a token for the client that holds it [RFC 7009].

use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::claim::{After, Claim, Effect, Seen, claim};
use crate::config::{AccessTokenRevocation, Config, SupersededTokenRevocation};
use crate::context::Context;
use crate::context::uses::Uses;
use crate::error::Reason;
use crate::grant::refresh_token::state::{TokenState, state_of, state_to_revoke, was_bound};
use crate::grant::request::PresentedAccess;
use crate::grant::revocation;
use crate::hooks::Event;
use crate::model::client::Client;
use crate::model::{AccessRecord, Grant, RevocationReason, TokenPair};
use crate::secret::Digest;
use crate::secret::refresh::PresentedRefresh;
use crate::store::StoreError;

/// The client that sent a token to revoke, and what became of the client that the grant belongs to.
#[derive(Clone, Copy)]
struct Holder<'a> {
    caller: &'a Client,
    /// Whether the grant's own client has revoked all its grants since, or no longer exists.
    has_revoked: bool,
}

impl<'a> Holder<'a> {
    async fn of(context: &Context, caller: &'a Client, grant: &Grant) -> Result<Self, StoreError> {
        let has_revoked = if grant.client == caller.id {
            caller.has_revoked(grant.epoch) == Ok(true)
        } else {
            revocation::has_revoked(context, &grant.client, grant.epoch).await?
        };
        Ok(Self { caller, has_revoked })
    }
}

/// Revokes an access token, and the whole grant if the settings say so.
pub(crate) async fn revoke_access(
    context: &Context,
    client: &Client,
    uses: &Uses,
    presented: &PresentedAccess,
) -> Result<(), Reason> {
    let id = presented.grant;
    let holder = Holder { caller: client, has_revoked: false };
    let mut revoking = RevokingAccess { context, holder, uses, presented, now: context.now() };
    match claim(context, &mut revoking, None).await? {
        OfAccess::IsRevoked | OfAccess::Nothing => {}
        OfAccess::RevokeToken => context.raise(&Event::AccessTokenRevoked { grant: id, client: &client.id }),
        OfAccess::RevokeGrant => {
            uses.record(context).await?;
            let _ = revocation::revoke(context, id, RevocationReason::RevokedByClient).await?;
        }
    }
    Ok(())
}

struct RevokingAccess<'a> {
    context: &'a Context,
    holder: Holder<'a>,
    uses: &'a Uses,
    presented: &'a PresentedAccess,
    now: Timestamp,
}

impl Claim for RevokingAccess<'_> {
    type Row = Grant;
    type Won = OfAccess;
    type Error = Reason;

    async fn read(&mut self) -> Result<Seen<Grant>, Reason> {
        let found = self.context.stores.tokens.find(&self.presented.grant).await?;
        if let Some(grant) = &found {
            self.holder = Holder::of(self.context, self.holder.caller, grant).await?;
        }
        Ok(found.into())
    }

    fn judge(&mut self, seen: &Seen<Grant>) -> Result<Effect<Grant, OfAccess>, Reason> {
        let Seen::Found(grant) = seen else { return Ok(Effect::Leave(OfAccess::Nothing)) };
        let Some(digest) = self.presented.digest_in(grant) else {
            // A revoked grant keeps no tokens: the JWT may be of one of them.
            let is_revoked = grant.revoked.is_some() && grant.client == self.holder.caller.id;
            return Ok(if is_revoked {
                Effect::Confirm(OfAccess::IsRevoked)
            } else {
                Effect::Leave(OfAccess::Nothing)
            });
        };
        let outcome = judge_access(grant, self.holder, &digest, &self.context.config, self.now)?;
        Ok(match outcome {
            OfAccess::IsRevoked => Effect::Confirm(outcome),
            OfAccess::Nothing | OfAccess::RevokeGrant => Effect::Leave(outcome),
            OfAccess::RevokeToken => Effect::Replace(Arc::new(without_access(grant, &digest)), outcome),
        })
    }

    async fn prepare(&mut self, _: &Grant, _: &mut OfAccess) -> Result<bool, Reason> {
        self.uses.record(self.context).await?;
        Ok(false)
    }

    fn is_done(&self, found: &Grant, _: &Grant, after: After) -> bool {
        let is_revoked = || self.presented.digest_in(found).is_some_and(|digest| is_revoked(found, &digest));
        after == After::Error && (found.revoked.is_some() || is_revoked())
    }
}

/// What there is to do about an access token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OfAccess {
    /// It was revoked before.
    IsRevoked,
    /// It is unknown, or expired too long ago to be live by any server's clock, which is no error.
    Nothing,
    RevokeToken,
    RevokeGrant,
}

/// § 2.2: "invalid tokens do not cause an error response since the client cannot handle such an error in a
/// reasonable way".
fn judge_access(
    grant: &Grant,
    holder: Holder<'_>,
    digest: &Digest,
    config: &Config,
    now: Timestamp,
) -> Result<OfAccess, Reason> {
    let is_own = grant.client == holder.caller.id;
    // A revoked grant keeps no tokens, so it is unknown whether this was one of them. It is not valid either way.
    if is_own && is_revoked(grant, digest) {
        return Ok(OfAccess::IsRevoked);
    }
    let is_live = grant.live_access(digest, now).is_some();
    // The clock of this server may be ahead: the other servers then still accept a token that expired a short time ago.
    let may_be_live = || is_own && grant.live_access(digest, now.minus(config.clock_jump)).is_some();
    if holder.has_revoked || !(is_live || may_be_live()) {
        return Ok(OfAccess::Nothing);
    }
    if !is_own {
        return Err(Reason::TokenOfAnotherClient);
    }
    let newest = || grant.pairs.newest.iter().flat_map(TokenPair::accesses);
    // An old copy of a bound token, without its key, must not end the grant.
    let is_newest = || newest().any(|access| access.digest == *digest && access.key().is_none());
    let is_bound = || grant.pairs.with_access(digest).is_some_and(|access| access.key().is_some());
    // Tokens without a user share a grant only so that they can be counted.
    Ok(match config.revocation.access_token {
        _ if grant.subject.is_none() => OfAccess::RevokeToken,
        AccessTokenRevocation::TokenOnly => OfAccess::RevokeToken,
        AccessTokenRevocation::WholeGrant
            if !is_live && !is_newest() && !superseded_revokes_grant(holder.caller, is_bound(), config) =>
        {
            OfAccess::RevokeToken
        }
        AccessTokenRevocation::WholeGrant => OfAccess::RevokeGrant,
    })
}

fn is_revoked(grant: &Grant, digest: &Digest) -> bool {
    grant.revoked.is_some() || grant.pairs.with_access(digest).is_some_and(AccessRecord::is_revoked)
}

/// Returns the same grant with that access token revoked. Its refresh token stays valid.
fn without_access(grant: &Grant, digest: &Digest) -> Grant {
    let mut next = grant.clone();
    next.pairs.revoke_access(digest);
    next
}

/// Revokes a refresh token and the whole grant with it.
pub(crate) async fn revoke_refresh(
    context: &Context,
    client: &Client,
    uses: &Uses,
    presented: &PresentedRefresh,
) -> Result<(), Reason> {
    let Some(grant) = context.stores.tokens.find(&presented.grant).await? else { return Ok(()) };
    let holder = Holder::of(context, client, &grant).await?;
    match judge_refresh(&grant, holder, presented, &context.config, context.now())? {
        OfRefresh::Nothing => {}
        OfRefresh::Superseded => {
            context.raise(&Event::SupersededTokenAtRevocation { grant: grant.id, client: &client.id });
        }
        OfRefresh::RevokeGrant => {
            uses.record(context).await?;
            let _ = revocation::revoke(context, grant.id, RevocationReason::RevokedByClient).await?;
        }
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OfRefresh {
    Nothing,
    /// It is superseded and past its grace, but has not expired. By the settings, the grant stays valid.
    Superseded,
    /// The grant is revoked with it. If it was revoked before, that is confirmed.
    RevokeGrant,
}

/// § 2.1: "If the particular token is a refresh token and the authorization server supports the revocation of
/// access tokens, then the authorization server SHOULD also invalidate all access tokens based on the same
/// authorization grant".
fn judge_refresh(
    grant: &Grant,
    holder: Holder<'_>,
    presented: &PresentedRefresh,
    config: &Config,
    now: Timestamp,
) -> Result<OfRefresh, Reason> {
    let is_own = grant.client == holder.caller.id;
    let state = match is_own {
        true => state_to_revoke(grant, presented, now, config.clock_jump),
        false => state_of(grant, presented, now),
    };
    if grant.revoked.is_some() {
        let is_genuine = !matches!(state, TokenState::Unknown);
        return Ok(if is_genuine && is_own { OfRefresh::RevokeGrant } else { OfRefresh::Nothing });
    }
    if holder.has_revoked {
        return Ok(OfRefresh::Nothing);
    }
    match state {
        // A number above the count shows that the store lost writes. The client means this grant.
        TokenState::Usable(_) | TokenState::NotYetValid { .. } | TokenState::AboveCount if is_own => {
            Ok(OfRefresh::RevokeGrant)
        }
        TokenState::Usable(_) | TokenState::NotYetValid { .. } => Err(Reason::TokenOfAnotherClient),
        TokenState::Superseded | TokenState::Forked if is_own => {
            let revokes_grant = superseded_revokes_grant(holder.caller, was_bound(grant, presented), config);
            Ok(if revokes_grant { OfRefresh::RevokeGrant } else { OfRefresh::Superseded })
        }
        TokenState::Unknown
        | TokenState::Expired
        | TokenState::Superseded
        | TokenState::Forked
        | TokenState::AboveCount => Ok(OfRefresh::Nothing),
    }
}

/// Returns whether a superseded token past its grace revokes its grant. A copy of a DPoP-bound token, without its key,
/// must not be able to sign the user out.
fn superseded_revokes_grant(caller: &Client, was_bound: bool, config: &Config) -> bool {
    let is_copy = was_bound && config.has_unproven_refresh_tokens(caller);
    config.revocation.superseded_token == SupersededTokenRevocation::WholeGrant && !is_copy
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::grant::fixtures::{Line, at, client};
    use crate::model::Pairs;
    use crate::model::client::ClientType;
    use crate::secret::refresh::TagKey;

    /// Who sends the token, and what became of its grant.
    #[derive(Clone, Copy, Debug)]
    enum Case {
        Own,
        Foreign,
        OwnRevoked,
        ForeignRevoked,
        OwnAllRevoked,
        ForeignAllRevoked,
    }

    fn scene(line: Line, case: Case) -> (Line, Client) {
        let revoked = matches!(case, Case::OwnAllRevoked | Case::ForeignAllRevoked);
        let is_own = matches!(case, Case::Own | Case::OwnRevoked | Case::OwnAllRevoked);
        let mut line = if matches!(case, Case::OwnRevoked | Case::ForeignRevoked) { line.revoked() } else { line };
        line.client.epoch += u32::from(revoked);
        let caller = if is_own { line.client.clone() } else { client("other") };
        (line, caller)
    }

    const CASES: [Case; 6] = [
        Case::Own,
        Case::Foreign,
        Case::OwnRevoked,
        Case::ForeignRevoked,
        Case::OwnAllRevoked,
        Case::ForeignAllRevoked,
    ];

    fn holder_of<'a>(caller: &'a Client, line: &Line) -> Holder<'a> {
        Holder { caller, has_revoked: line.client.has_revoked(line.grant.epoch) == Ok(true) }
    }

    fn name<T: std::fmt::Debug>(outcome: Result<T, Reason>) -> String {
        outcome.map_or_else(|reason| format!("{reason:?}"), |step| format!("{step:?}"))
    }

    #[test]
    fn an_access_token_is_revoked_by_its_own_client() {
        type Change = fn(Line) -> Line;
        let own_revoked: Change = |mut line| {
            let access = line.access[0];
            line.grant.pairs.revoke_access(&access);
            line
        };
        let unknown: Change = |mut line| {
            line.access[0] = Digest::of(b"another");
            line
        };
        // The answers to the first access token, in the order of `CASES`.
        let (token, nothing, refused) = ("RevokeToken", "Nothing", "TokenOfAnotherClient");
        let long_past = 400 + 86_400;
        let rows: [(&str, Change, u32, [&str; 6]); 6] = [
            ("current", |line| line, 10, [token, refused, "IsRevoked", nothing, nothing, nothing]),
            ("in grace", |line| line.refreshed(100), 399, [token, refused, "IsRevoked", nothing, nothing, nothing]),
            ("past grace", |line| line.refreshed(100), 400, [token, nothing, "IsRevoked", nothing, nothing, nothing]),
            (
                "long past grace",
                |line| line.refreshed(100),
                long_past,
                [nothing, nothing, "IsRevoked", nothing, nothing, nothing],
            ),
            ("revoked alone", own_revoked, 10, ["IsRevoked", nothing, "IsRevoked", nothing, "IsRevoked", nothing]),
            // A revoked grant keeps no tokens, so it treats all of them the same.
            ("unknown", unknown, 10, [nothing, nothing, "IsRevoked", nothing, nothing, nothing]),
        ];
        for (state, change, seconds, expected) in rows {
            for (case, expected) in CASES.into_iter().zip(expected) {
                let (line, caller) = scene(change(Line::new()), case);
                let holder = holder_of(&caller, &line);
                let outcome = judge_access(&line.grant, holder, &line.access[0], &line.config, at(seconds));
                assert_eq!(name(outcome), expected, "{state}, {case:?}");
            }
        }
        let mut line = Line::new();
        line.config.revocation.access_token = AccessTokenRevocation::WholeGrant;
        let holder = holder_of(&line.client, &line);
        let outcome = judge_access(&line.grant, holder, &line.access[0], &line.config, at(10));
        assert_eq!(name(outcome), "RevokeGrant");
        assert!(without_access(&line.grant, &line.access[0]).pairs.with_access(&line.access[0]).unwrap().is_revoked());
    }

    #[test]
    fn a_refresh_token_takes_its_grant_along() {
        type Change = fn(Line) -> Line;
        let above: Change = |mut line| {
            line.grant.pairs = Pairs::one(line.grant.pairs.newest.take().unwrap());
            line.grant.pairs_made = 0;
            line.grant.pairs.newest = None;
            line
        };
        let forked: Change = |mut line| {
            let other = Line::new();
            line.grant.pairs = other.grant.pairs;
            line
        };
        let forged: Change = |mut line| {
            line.grant.family.tag_key = TagKey::from_bytes([0; 16]);
            line
        };
        // The answers to the first refresh token, in the order of `CASES`.
        let (grant, nothing, old, refused) = ("RevokeGrant", "Nothing", "Superseded", "TokenOfAnotherClient");
        let rows: [(&str, Change, u32, [&str; 6]); 10] = [
            ("current", |line| line, 10, [grant, refused, grant, nothing, nothing, nothing]),
            ("in grace", |line| line.refreshed(100), 399, [grant, refused, grant, nothing, nothing, nothing]),
            ("past grace", |line| line.refreshed(100), 400, [old, nothing, grant, nothing, nothing, nothing]),
            ("long past grace", |line| line.refreshed(100), 460, [old, nothing, grant, nothing, nothing, nothing]),
            (
                "forgotten",
                |line| line.refreshed(100).without_superseded(),
                999,
                [old, nothing, grant, nothing, nothing, nothing],
            ),
            ("expired", |line| line, 15_552_000, [grant, nothing, grant, nothing, nothing, nothing]),
            ("long expired", |line| line, 15_552_000 + 86_400, [nothing, nothing, grant, nothing, nothing, nothing]),
            ("above the count", above, 10, [grant, nothing, grant, nothing, nothing, nothing]),
            ("forked", forked, 10, [old, nothing, grant, nothing, nothing, nothing]),
            ("with a wrong tag", forged, 10, [nothing; 6]),
        ];
        for (state, change, seconds, expected) in rows {
            for (case, expected) in CASES.into_iter().zip(expected) {
                let (line, caller) = scene(change(Line::new()), case);
                let holder = holder_of(&caller, &line);
                let outcome = judge_refresh(&line.grant, holder, &line.presented(0), &line.config, at(seconds));
                assert_eq!(name(outcome), expected, "{state}, {case:?}");
                // By the other setting, the own client's superseded token revokes the grant.
                let (mut line, caller) = scene(change(Line::new()), case);
                line.config.revocation.superseded_token = SupersededTokenRevocation::WholeGrant;
                let holder = holder_of(&caller, &line);
                let outcome = judge_refresh(&line.grant, holder, &line.presented(0), &line.config, at(seconds));
                assert_eq!(name(outcome), if expected == old { grant } else { expected }, "{state}, {case:?}");
            }
        }
    }

    /// D-15
    #[test]
    fn a_superseded_token_that_was_bound_to_a_key_takes_nothing_along_for_a_public_client() {
        let mut public = client("own");
        public.form.client_type = ClientType::Public;
        // The first bound pair, if any; the presented token is that of pair 1.
        for (bound_from, caller, expected) in [
            (0, &client("own"), "RevokeGrant"),
            (0, &public, "RevokeGrant"),
            (1, &client("own"), "RevokeGrant"),
            (1, &public, "Superseded"),
            (2, &public, "RevokeGrant"),
        ] {
            let mut line = Line::new().refreshed(100);
            line.grant.bound_from = NonZeroU32::new(bound_from);
            line.config.revocation.superseded_token = SupersededTokenRevocation::WholeGrant;
            let holder = holder_of(caller, &line);
            let outcome = |seconds| judge_refresh(&line.grant, holder, &line.presented(0), &line.config, at(seconds));
            assert_eq!(name(outcome(399)), "RevokeGrant", "in grace, no key is needed: {bound_from}");
            assert_eq!(name(outcome(400)), expected, "{bound_from}, {:?}", caller.form.client_type);
        }
    }
}
