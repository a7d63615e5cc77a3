//! Grants in every state.

use std::iter;
use std::num::NonZeroU32;
use std::time::Duration;

use crate::base::clock::Timestamp;
use crate::base::id::{ClientId, GrantId};
use crate::base::subject::Subject;
use crate::grant::refresh_token::PAIRS_IN_GRACE;
use crate::jose::JwkThumbprint;
use crate::model::protected_resource::Audience;
use crate::model::record::Record;
use crate::model::terms::{RememberedConsent, Terms};
use crate::model::{
    AccessRecord, GraceEnds, Grant, OwnAccess, Pairs, RefreshRecord, Restrictions, Revocation, RevocationReason,
    SupersededPair, TokenPair,
};
use crate::scope::{ResourceScope, ScopeSet};
use crate::secret::derive::Link;
use crate::secret::refresh::{Family, FamilyIdDigest, TagKey};
use crate::testing::draw::{self, sound};
use crate::testing::records::hostile;

/// More access tokens than a server keeps for one refresh token.
const LIVE_ACCESS_TOKENS: usize = 256;

/// Creates a grant of that user: one pair of tokens, version 1, to be purged from `purge_after`, one hour after the
/// refresh token's end.
#[must_use]
pub fn grant(subject: &Subject, purge_after: Timestamp) -> Grant {
    Grant {
        id: GrantId::from(draw::new_id()),
        version: 1,
        client: sound(ClientId::new(draw::unique())),
        epoch: 0,
        subject: Some(subject.clone()),
        terms: Terms {
            scopes: draw::scopes("repo-code:rw account-email:r"),
            resources: ResourceScope::Public,
            audience: Audience::UNSET,
            remembered: None,
        },
        created: draw::now(),
        keep_until: Timestamp::default(),
        family: Family { id: FamilyIdDigest::from_bytes(draw::bytes()), tag_key: TagKey::from_bytes(draw::bytes()) },
        pairs_made: 1,
        bound_from: None,
        pairs: Pairs::one(pair(purge_after)),
        revoked: None,
    }
}

/// Creates the next version of a grant, with a new pair each time. The previous pair is in grace.
///
/// It may be purged from `purge_after`, or from the end of the previous pair if that is later.
#[must_use]
pub fn refreshed(grant: &Grant, purge_after: Timestamp) -> Grant {
    let older = grant.pairs.newest.iter().cloned().map(superseded).chain(grant.pairs.superseded.iter().cloned());
    let pairs = Pairs { newest: Some(pair(purge_after)), superseded: older.collect() };
    let (version, pairs_made) = (grant.version.saturating_add(1), grant.pairs_made.saturating_add(1));
    Grant { version, pairs_made, ..grant.with_pairs(pairs) }
}

/// Returns the pair as replaced now, with the full lifetime of its tokens.
fn superseded(pair: TokenPair) -> SupersededPair {
    let last = Timestamp::from_seconds(u32::MAX);
    SupersededPair::new(pair, draw::now(), GraceEnds { access: last, refresh: last }, Some(link()))
}

fn link() -> Link {
    Link::from_bytes(draw::bytes())
}

/// Creates the next version of a grant, revoked now and kept as long as the grant would be.
#[must_use]
pub fn revoked(grant: &Grant, reason: RevocationReason) -> Grant {
    revoked_until(grant, reason, grant.purge_after().unwrap_or_default())
}

/// Creates the next version of a grant, revoked now, to be purged from `purge_after`.
pub(in crate::testing) fn revoked_until(grant: &Grant, reason: RevocationReason, purge_after: Timestamp) -> Grant {
    let version = grant.version.saturating_add(1);
    Grant { version, keep_until: purge_after, ..grant.revoked_at(draw::now(), reason, Duration::ZERO) }
}

/// Returns grants that are live, refreshed, reduced or revoked for each reason, with all bytes that a field may hold.
pub(in crate::testing) fn grants_of_every_kind(subject: &Subject, purge_after: Timestamp) -> Vec<Grant> {
    let plain = || grant(subject, purge_after);
    let with = |pair: TokenPair| Grant { pairs: Pairs::one(pair), ..plain() };
    let agreed = |terms: Terms| Grant { terms, ..plain() };
    let terms = || plain().terms;
    let reduced = |text: &str| pair_of(purge_after, with_scopes(&draw::scopes(text)));
    let issued = |at| AccessRecord::new(draw::digest(), at, draw::end(purge_after), Restrictions::default());
    let access_alone = TokenPair::new(issued(draw::now()), None);
    let made_long_ago = TokenPair::new(issued(Timestamp::default()), None);
    let mut access_revoked = pair(purge_after);
    access_revoked.access.revoke();
    let behind = |since, link| Pairs {
        newest: Some(pair(purge_after)),
        superseded: Box::new([SupersededPair { since, link, ..superseded(pair(purge_after)) }]),
    };
    let mut all = vec![
        plain(),
        refreshed(&plain(), purge_after),
        refreshed(&refreshed(&plain(), purge_after), purge_after),
        with(access_alone),
        with(access_revoked),
        Grant { pairs: behind(Timestamp::from_seconds(u32::MAX), None), ..plain() },
        Grant { pairs: behind(Timestamp::default(), Some(Link::from_bytes([0; Link::BYTES]))), ..plain() },
        with(pair(purge_after).with_further(
            access(purge_after, Restrictions::default()),
            LIVE_ACCESS_TOKENS,
            OwnAccess::Counted,
        )),
        with(reduced("account-email:r")),
        with(reduced(hostile::SCOPES)),
        with(made_long_ago),
        agreed(Terms::none()),
        agreed(Terms { resources: hostile::longest_list(1), ..terms() }),
        agreed(Terms { audience: hostile::audience(), ..terms() }),
        agreed(Terms { audience: hostile::audience(), remembered: Some(Box::new(consent())), ..terms() }),
        agreed(Terms { remembered: Some(Box::new(consent())), ..terms() }),
        Grant {
            pairs: Pairs::one(for_one_resource(purge_after)),
            ..agreed(Terms { audience: hostile::audience(), ..terms() })
        },
        with(for_one_resource(purge_after)),
        Grant { bound_from: Some(NonZeroU32::MAX), ..with(pair_of(purge_after, with_key())) },
        Grant { version: u32::MAX, epoch: u32::MAX, pairs_made: u32::MAX, created: Timestamp::default(), ..plain() },
        Grant { version: 1 << 31, keep_until: Timestamp::from_seconds(u32::MAX), ..plain() },
        Grant {
            client: hostile::client_id(120),
            ..agreed(Terms { scopes: draw::scopes(hostile::SCOPES), resources: hostile::resources(), ..terms() })
        },
    ];
    all.push(Grant { subject: None, ..plain() });
    for reason in reasons() {
        all.push(revoked(&plain(), reason));
        // A grant that was revoked before its code was exchanged has no pair.
        let keep_until = purge_after;
        let revoked = Some(Revocation { at: Timestamp::default(), reason });
        all.push(Grant { pairs: Pairs::default(), pairs_made: 0, keep_until, revoked, ..plain() });
    }
    all.extend(hostile::subjects().into_iter().map(|subject| Grant { subject: Some(subject), ..plain() }));
    all
}

pub(super) fn consent() -> RememberedConsent {
    RememberedConsent { asked: draw::now(), terms: draw::bytes() }
}

/// Returns an access token for a part of the grant, and a further one.
fn for_one_resource(purge_after: Timestamp) -> TokenPair {
    let one = || Restrictions { audience: Audience::new(["https://api.example/mcp"]), ..Restrictions::default() };
    pair_of(purge_after, one()).with_further(access(purge_after, one()), LIVE_ACCESS_TOKENS, OwnAccess::Counted)
}

fn reasons() -> impl Iterator<Item = RevocationReason> {
    iter::successors(Some(RevocationReason::CodeReplayed), |reason| match reason {
        RevocationReason::CodeReplayed => Some(RevocationReason::RefreshTokenReused),
        RevocationReason::RefreshTokenReused => Some(RevocationReason::RevokedByClient),
        RevocationReason::RevokedByClient => Some(RevocationReason::RevokedByUser),
        RevocationReason::RevokedByUser => Some(RevocationReason::SubjectRevoked),
        RevocationReason::SubjectRevoked => Some(RevocationReason::ApplicationRevoked),
        RevocationReason::ApplicationRevoked => Some(RevocationReason::TooManyGrants),
        RevocationReason::TooManyGrants => None,
    })
}

/// Returns a grant with every field as large as it may be.
pub(in crate::testing) fn huge_grant(subject: &Subject, purge_after: Timestamp) -> Grant {
    let scopes = draw::scopes(&hostile::many_scopes());
    let reduced = draw::scopes("repo-code:r");
    let large = |accesses: usize| TokenPair {
        further: (1..accesses).map(|_| access(purge_after, with_scopes(&reduced))).collect(),
        ..pair_of(purge_after, with_scopes(&reduced))
    };
    let pairs = Pairs {
        newest: Some(large(LIVE_ACCESS_TOKENS)),
        superseded: (0..PAIRS_IN_GRACE).map(|_| superseded(large(64))).collect(),
    };
    Grant {
        client: hostile::client_id(512),
        terms: Terms {
            scopes,
            resources: hostile::longest_list(0),
            audience: hostile::largest_audience(),
            remembered: Some(Box::new(consent())),
        },
        pairs,
        ..grant(subject, purge_after)
    }
}

fn pair(purge_after: Timestamp) -> TokenPair {
    pair_of(purge_after, Restrictions::default())
}

/// Returns a pair whose access token has these restrictions.
fn pair_of(purge_after: Timestamp, restrictions: Restrictions) -> TokenPair {
    let refresh = RefreshRecord { digest: draw::digest(), end: draw::end(purge_after) };
    TokenPair::new(access(purge_after, restrictions), Some(refresh))
}

fn with_scopes(scopes: &ScopeSet) -> Restrictions {
    Restrictions { scopes: Some(scopes.clone()), ..Restrictions::default() }
}

fn with_key() -> Restrictions {
    Restrictions { key: Some(JwkThumbprint::from_bytes(draw::bytes())), ..Restrictions::default() }
}

fn access(purge_after: Timestamp, restrictions: Restrictions) -> AccessRecord {
    let end = draw::before(draw::end(purge_after), Duration::from_secs(60 * 60));
    AccessRecord::new(draw::digest(), draw::now(), end, restrictions)
}
