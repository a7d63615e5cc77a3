//! The rules of a refresh as tables, without a runtime.

use std::time::Duration;

use crate::base::entropy::SystemEntropy;
use crate::base::id::IdText;
use crate::config::GraceEnd;
use crate::error::Reason;
use crate::grant::fixtures::{Line, at, client, scopes};
use crate::grant::refresh_token::judge::{Drawn, Judge, MAX_LIVE_ACCESS_TOKENS, PAIRS_IN_GRACE, Verdict};
use crate::grant::refresh_token::state::{TokenState, state_of};
use crate::grant::request::TokenRequest;
use crate::model::client::{ApplicationType, AuthenticationMethod, AuthenticationMethods, RefreshRotation};
use crate::model::{GraceEnds, Grant, Pairs, SupersededPair};
use crate::scope::ScopeSet;
use crate::secret::derive::{DerivationKey, Link};
use crate::secret::refresh::TagKey;

fn verdict(line: &Line, place: usize, scope: Option<&str>, seconds: u32) -> Result<Verdict, Reason> {
    let presented = line.presented(place);
    let (key, scope) = (line.key.as_ref(), scope.map(str::as_bytes));
    let request = TokenRequest { key, scope, ..TokenRequest::of(&line.client) };
    let drawn = Drawn::new(&line.client, &line.config, &SystemEntropy);
    let (config, resources) = (&line.config, &line.resources);
    Judge { request: &request, presented: &presented, config, resources, now: at(seconds), drawn }.verdict(&line.grant)
}

/// The reason of a refusal, by its name.
fn refusal(line: &Line, place: usize, scope: Option<&str>, seconds: u32) -> String {
    verdict(line, place, scope, seconds).err().map_or_else(|| "granted".to_owned(), |reason| format!("{reason:?}"))
}

/// What a verdict writes; a failure of the test if it writes nothing.
fn written(line: &Line, place: usize, scope: Option<&str>, seconds: u32) -> Grant {
    let next = verdict(line, place, scope, seconds).unwrap_or_else(|reason| panic!("{reason:?}")).next;
    Grant::clone(&next.expect("a write"))
}

// Where a token stands.

#[test]
fn each_token_stands_where_its_record_says() {
    let line = || Line::new().refreshed(1000);
    type Change = fn(Line) -> Line;
    let same: Change = |line| line;
    let forgotten: Change = |line| line.refreshed(28_000).without_superseded();
    let rows: [(&str, Change, usize, u32, &str); 13] = [
        ("newest", same, 1, 1000, "Usable(Newest"),
        ("in grace", same, 0, 1299, "Usable(Superseded(0"),
        ("in grace, two pairs on", |line| line.refreshed(1200), 0, 1299, "Usable(Superseded(1"),
        ("past grace", same, 0, 1300, "Superseded"),
        ("past retention", same, 0, 1360, "Superseded"),
        ("past grace, last second", same, 0, 15_551_999, "Superseded"),
        ("superseded and expired", same, 0, 15_552_000, "Expired"),
        ("newest, last second", same, 1, 15_552_999, "Usable(Newest"),
        ("newest, expired", same, 1, 15_553_000, "Expired"),
        ("forgotten", forgotten, 0, 28_400, "Superseded"),
        ("forgotten and expired", forgotten, 0, 15_552_000, "Expired"),
        (
            "of another family",
            |mut line| {
                line.grant.family.tag_key = TagKey::from_bytes([0; 16]);
                line
            },
            1,
            1000,
            "Unknown",
        ),
        (
            "of no pair at all",
            |mut line| {
                line.grant.pairs = Pairs::default();
                line
            },
            1,
            1000,
            "Superseded",
        ),
    ];
    for (name, change, place, seconds, expected) in rows {
        let line = change(line());
        let presented = line.presented(place);
        let seen = format!("{:?}", state_of(&line.grant, &presented, at(seconds)));
        assert!(seen.starts_with(expected), "{name}: {seen}");
    }
    // The store lost all but the first pair. Then another second pair was made.
    let genuine = line();
    let mut lost = Line { grant: genuine.grant.clone(), ..Line::new() };
    lost.grant.pairs_made = 1;
    lost.grant.pairs = Pairs::one(genuine.grant.pairs.superseded[0].pair.clone());
    let of = |grant: &Grant, seconds| format!("{:?}", state_of(grant, &genuine.presented(1), at(seconds)));
    assert_eq!(of(&lost.grant, 2000), "AboveCount");
    assert_eq!(of(&lost.grant, 15_553_000), "Expired");
    lost.refresh = vec![genuine.refresh[0].clone()];
    let forked = lost.refreshed(2000);
    assert_eq!(of(&forked.grant, 2000), "Forked");
    let later = forked.refreshed(3000);
    assert_eq!(of(&later.grant, 3000), "Forked");
    assert_eq!(of(&later.without_superseded().grant, 4000), "Superseded");
}

// The refusals, in the order of the RFC.

/// One fault each; a request that has this and all later ones is refused for this one.
type Fault = (&'static str, fn(&mut Line));

const FAULTS: [Fault; 9] = [
    ("RefreshTokenOfAnotherClient", |line| line.client = client("other")),
    ("GrantRevoked", |line| {
        line.grant = line.grant.revoked_at(at(0), crate::model::RevocationReason::RevokedByUser, Duration::ZERO)
    }),
    ("GrantRevoked", |line| line.client.epoch = 1),
    ("UnknownRefreshToken", |line| line.grant.family.tag_key = TagKey::from_bytes([0; 16])),
    ("GrantRevoked", |line| line.client.form.scopes = ScopeSet::empty()),
    ("ExcessScope", |line| line.client.form.scopes = line.client.form.scopes.intersection(&scopes("repo-issue:rw"))),
    ("MissingDerivationKey", |line| line.config.refresh.derivation_keys = vec![DerivationKey::new([2; 32])]),
    ("RefreshTokenSuperseded", |line| {
        // It leads to a pair that is not the newest, so its tokens would be of no use.
        let link = &mut line.grant.pairs.superseded[0].link;
        let mut bytes = *link.unwrap().bytes();
        bytes[0] ^= 1;
        *link = Some(Link::from_bytes(bytes));
    }),
    ("TooManyInGrace", |line| {
        let superseded = line.grant.pairs.superseded[0].clone();
        line.grant.pairs.superseded = vec![superseded; PAIRS_IN_GRACE].into();
    }),
];

/// A token in grace and the newest one, both of which may be used.
fn faultless() -> Line {
    let mut line = Line::new();
    line.config.refresh.derivation_keys = vec![DerivationKey::new([1; 32])];
    line.refreshed(1000)
}

#[test]
fn a_refresh_is_refused_in_the_order_of_the_rfc() {
    const SCOPE: Option<&str> = Some("repo-code:r");
    for (place, (expected, _)) in FAULTS.iter().enumerate() {
        // Only a token in grace follows a link to the newest pair, and only the newest one needs room for another.
        let tokens: &[usize] = match *expected {
            "MissingDerivationKey" | "RefreshTokenSuperseded" => &[0],
            "TooManyInGrace" => &[1],
            _ => &[0, 1],
        };
        for token in tokens {
            assert_eq!(refusal(&faultless(), *token, SCOPE, 1100), "granted");
            let mut alone = faultless();
            FAULTS[place].1(&mut alone);
            let seen = refusal(&alone, *token, SCOPE, 1100);
            assert!(seen.starts_with(expected), "{place} alone, {token}: {seen}");
            let mut all = faultless();
            for (_, fault) in FAULTS[place..].iter().rev() {
                fault(&mut all);
            }
            let seen = refusal(&all, *token, SCOPE, 1100);
            assert!(seen.starts_with(expected), "{place} with all later ones, {token}: {seen}");
        }
    }
    // What a request asks for is judged before any link is followed.
    for (scope, expected) in [("repo-cod:r", "Scope("), ("a\"b", "Scope("), ("account-profile:r", "ExcessScope")] {
        let mut line = faultless();
        FAULTS[6].1(&mut line);
        let seen = refusal(&line, 0, Some(scope), 1100);
        assert!(seen.starts_with(expected), "{scope}: {seen}");
    }
}

#[test]
fn an_old_token_is_refused_by_its_standing() {
    let line = Line::new().refreshed(1000);
    let rows = [
        (0, 1299, "granted"),
        (0, 1300, "RefreshTokenReused"),
        (0, 1360, "RefreshTokenReused"),
        (0, 15_552_000, "RefreshTokenExpired"),
        (1, 15_552_999, "granted"),
        (1, 15_553_000, "RefreshTokenExpired"),
    ];
    for (place, seconds, expected) in rows {
        assert_eq!(refusal(&line, place, None, seconds), expected, "{place}, {seconds}");
    }
    let mut lost = Line::new().refreshed(1000);
    lost.grant.pairs_made = 1;
    lost.grant.pairs = Pairs::one(lost.grant.pairs.superseded[0].pair.clone());
    assert_eq!(refusal(&lost, 1, None, 1100), "StoreWentBack");
}

// What is written and answered.

#[test]
fn a_token_in_grace_gets_the_newest_pair_again() {
    let line = Line::new().refreshed(1000).refreshed(1100).refreshed(1200);
    let id = IdText::of(line.grant.id.as_bytes());
    for (place, since) in [(0, 1000), (1, 1100), (2, 1200)] {
        let Verdict { next, issued, superseded_for } = verdict(&line, place, None, 1250).ok().unwrap();
        assert!(next.is_none());
        assert_eq!(superseded_for, Some(1250 - since));
        assert_eq!(issued.access_token.digest, line.access[3]);
        assert_eq!(issued.refresh_token.unwrap().text("rt_", &id), line.refresh[3]);
        assert_eq!(issued.expires_in, 28_800 - 50);
    }
}

#[test]
fn another_request_in_grace_gets_one_more_access_token() {
    type Change = fn(&mut Line);
    let revoke: Change = |line| {
        let access = line.access[1];
        line.grant.pairs.revoke_access(&access);
    };
    let shorten: Change = |line| {
        line.grant.pairs.newest.as_mut().unwrap().access.end = at(1100);
    };
    let reduce: Change = |line| line.client.form.scopes = scopes("repo-code:rw");
    let rows: [(&str, Change, Option<&str>, bool); 6] = [
        ("the same", |_| {}, None, false),
        ("the same by name", |_| {}, Some("repo-issue:rw repo-code:rw"), false),
        ("less", |_| {}, Some("repo-code:r"), true),
        ("a registration that was reduced", reduce, None, true),
        ("a revoked access token", revoke, None, true),
        ("an expired access token", shorten, None, true),
    ];
    for (name, change, scope, is_other) in rows {
        let mut line = Line::new().refreshed(1000);
        change(&mut line);
        let Verdict { next, issued, .. } = verdict(&line, 0, scope, 1100).ok().unwrap();
        assert_eq!(next.is_some(), is_other, "{name}");
        let id = IdText::of(line.grant.id.as_bytes());
        assert_eq!(issued.refresh_token.unwrap().text("rt_", &id), line.refresh[1], "{name}");
        if let Some(next) = next {
            assert_eq!((next.pairs_made, next.pairs.superseded.len()), (2, 1), "{name}: nothing rotates");
            assert_eq!(next.pairs.superseded, line.grant.pairs.superseded, "{name}");
            let further = next.pairs.newest.as_ref().unwrap().further.as_slice();
            let digests: Vec<_> = further.iter().map(|access| access.digest).collect();
            assert_eq!(digests, [issued.access_token.digest], "{name}");
        }
    }
}

#[test]
fn without_a_grace_nothing_is_derived() {
    let mut line = Line::new();
    for (grace, has_link) in [(Duration::from_secs(1), true), (Duration::ZERO, false)] {
        line.config.refresh.grace = grace;
        let next = written(&line, 0, None, 10);
        assert_eq!(next.pairs.superseded[0].link.is_some(), has_link);
    }
}

#[test]
fn pairs_leave_from_the_old_end_alone() {
    let line = Line::new().refreshed(1000).refreshed(1100);
    for (seconds, left) in [(1359, 3), (1360, 2), (1459, 2), (1460, 1), (20_000, 1)] {
        assert_eq!(written(&line, 2, None, seconds).pairs.superseded.len(), left, "{seconds}");
    }
    // The older one has its grace still: the one between, whose clock was behind, stays with its link.
    let mut line = Line::new().refreshed(1000).refreshed(1100);
    let behind = &line.grant.pairs.superseded[0];
    let ends = GraceEnds { access: at(1100), refresh: at(1100) };
    let behind = SupersededPair::new(behind.pair.clone(), behind.since, ends, behind.link);
    line.grant.pairs.superseded[0] = behind;
    let next = written(&line, 2, None, 1299);
    assert_eq!(next.pairs.superseded.len(), 3);
    assert!(next.pairs.superseded.iter().all(|old| old.link.is_some()));
    assert!(verdict(&line, 0, None, 1299).is_ok_and(|verdict| verdict.next.is_none()));
}

#[test]
fn strict_ends_every_older_grace_with_the_newest_token_alone() {
    let mut line = Line::new().refreshed(1000).refreshed(1010).refreshed(1020);
    for (end, presented, in_grace) in [
        (GraceEnd::Clock, 3, &[true, true, true, true][..]),
        (GraceEnd::NextRefresh, 3, &[true, false, false, false]),
        (GraceEnd::NextRefresh, 2, &[true, true, true]),
        (GraceEnd::NextRefresh, 0, &[true, true, true]),
    ] {
        line.config.refresh.grace_end = end;
        let next = written(&line, presented, Some("repo-code:r"), 1030);
        let seen: Vec<_> = next.pairs.superseded.iter().map(|old| old.pair.refresh_is_live(at(1030))).collect();
        assert_eq!(seen, in_grace, "{end:?}, {presented}");
    }
}

#[test]
fn uses_in_grace_never_end_the_own_access_token_of_the_newest_pair() {
    let mut line = Line::new().refreshed(1000);
    let max = MAX_LIVE_ACCESS_TOKENS;
    for number in 1..=max + 5 {
        line.grant = written(&line, 0, Some("repo-code:r"), 1010);
        let newest = line.grant.pairs.newest.as_ref().unwrap();
        assert!(newest.access.is_live(at(1010)), "{number}");
        assert_eq!(newest.accesses().filter(|access| access.is_live(at(1010))).count(), 1 + max.min(number));
    }
    assert!(verdict(&line, 0, None, 1010).unwrap().next.is_none(), "the newest pair again");
}

#[test]
fn the_seconds_to_wait_are_exact() {
    let mut line = Line::new();
    for number in 0..PAIRS_IN_GRACE {
        let seconds = 1000 + 2 * u32::try_from(number).unwrap();
        assert_eq!(refusal(&line, number, None, seconds), "granted");
        line = line.refreshed(seconds);
    }
    for (seconds, retry_after) in [(1127, 173), (1200, 100), (1299, 1)] {
        let expected = format!("TooManyInGrace {{ retry_after: {retry_after} }}");
        assert_eq!(refusal(&line, PAIRS_IN_GRACE, None, seconds), expected);
    }
    assert_eq!(refusal(&line, PAIRS_IN_GRACE, None, 1300), "granted");
    // The first one to end is not always the oldest.
    let newest = line.grant.pairs.superseded[0].pair.clone();
    let ends = GraceEnds { access: at(1150), refresh: at(1150) };
    line.grant.pairs.superseded[0] = SupersededPair::new(newest, at(1126), ends, None);
    assert_eq!(refusal(&line, PAIRS_IN_GRACE, None, 1127), "TooManyInGrace { retry_after: 23 }");
}

#[test]
fn a_kept_token_gets_further_access_tokens() {
    let mut line = Line::new();
    line.config.refresh.rotation = RefreshRotation::Keep;
    let id = IdText::of(line.grant.id.as_bytes());
    let max = MAX_LIVE_ACCESS_TOKENS;
    for number in 1..=max + 5 {
        let Verdict { next, issued, superseded_for } = verdict(&line, 0, None, 10).ok().unwrap();
        assert_eq!(superseded_for, None);
        assert_eq!(issued.refresh_token.unwrap().text("rt_", &id), line.refresh[0]);
        line.grant = Grant::clone(&next.unwrap());
        let newest = line.grant.pairs.newest.as_ref().unwrap();
        let live = newest.accesses().filter(|access| access.is_live(at(10))).count();
        assert_eq!(live, max.min(number + 1));
        assert_eq!((line.grant.pairs_made, line.grant.pairs.superseded.len()), (1, 0));
    }
    // If the pair is superseded afterwards, all of them are superseded with it.
    line.config.refresh.rotation = RefreshRotation::Rotate;
    let next = written(&line, 0, None, 20);
    assert!(next.pairs.superseded[0].pair.accesses().all(|access| access.end <= at(320)));
    assert!(matches!(
        state_of(&next, &line.presented(0), at(20)),
        TokenState::Usable(crate::model::Placed::Superseded(0, _))
    ));
}

// The key of the proof.

/// 9449-5-02, 9449-5-03, 9449-5-04
#[test]
fn a_key_is_judged_after_the_token_and_before_the_reuse_of_a_bound_one() {
    type Change = fn(Line) -> Line;
    let bound_again: Change = |line| line.refreshed(2000);
    let of_another_client: Change = |line| Line { client: client("other"), key: None, ..line };
    let forgotten: Change = |line| unproven(line.refreshed(28_000).without_superseded());
    // The pair in place 0 was never bound, and is superseded at 1000 s; 2000 s is past its grace. That in
    // place 1 is bound; where it is superseded, at 2000 s, 3000 s is past its grace.
    let rows: [(&str, Change, usize, u32, &str); 23] = [
        ("the key", |line| line, 1, 1000, "granted"),
        ("the key, public", public, 1, 1000, "granted"),
        ("the key, past grace", bound_again, 1, 3000, "RefreshTokenReused"),
        ("the key, public, past grace", |line| public(line.refreshed(2000)), 1, 3000, "RefreshTokenReused"),
        ("another key", |line| line.with_key(2), 1, 1000, "granted"),
        ("another key, past grace", |line| line.refreshed(2000).with_key(2), 1, 3000, "RefreshTokenReused"),
        ("another key, public", other_public, 1, 1000, "AnotherDpopKey"),
        ("another key, public, past grace", |line| other_public(line.refreshed(2000)), 1, 3000, "AnotherDpopKey"),
        ("no proof", unproven, 1, 1000, "MissingDpopProof"),
        ("no proof, past grace", |line| unproven(line.refreshed(2000)), 1, 3000, "MissingDpopProof"),
        ("no proof, public, past grace", |line| unproven(public(line.refreshed(2000))), 1, 3000, "MissingDpopProof"),
        ("no proof, forgotten", forgotten, 1, 28_400, "MissingDpopProof"),
        ("no proof, another client", of_another_client, 1, 1000, "RefreshTokenOfAnotherClient"),
        ("no proof, revoked", |line| unproven(line.revoked()), 1, 1000, "GrantRevoked"),
        ("bound since, the key, in grace", public, 0, 1000, "granted"),
        ("bound since, another key, in grace", |line| line.with_key(2), 0, 1000, "granted"),
        ("bound since, another key, public, in grace", other_public, 0, 1000, "RefreshTokenReused"),
        ("bound since, no proof, public, in grace", |line| unproven(public(line)), 0, 1000, "RefreshTokenReused"),
        ("bound since, another key, public, past grace", other_public, 0, 2000, "RefreshTokenReused"),
        ("bound since, no proof, in grace", unproven, 0, 1000, "MissingDpopProof"),
        ("bound since, no proof, just past grace", unproven, 0, 1300, "RefreshTokenReused"),
        ("bound since, no proof, past grace", |line| unproven(public(line)), 0, 2000, "RefreshTokenReused"),
        ("bound since, no proof, forgotten", forgotten, 0, 28_400, "RefreshTokenReused"),
    ];
    for (name, change, place, seconds, expected) in rows {
        let line = change(Line::new().with_key(1).refreshed(1000));
        assert_eq!(refusal(&line, place, None, seconds), expected, "{name}");
    }
    let unbound = Line::new().refreshed(1000);
    assert_eq!(refusal(&unbound, 1, None, 1000), "granted");
    assert_eq!(refusal(&unbound.with_key(1), 1, None, 1000), "granted", "the first proof");
    let mut altered = Line { key: None, ..Line::new().with_key(1).refreshed(1000) };
    altered.grant.family.tag_key = TagKey::random(&SystemEntropy);
    assert_eq!(refusal(&altered, 1, None, 1000), "UnknownRefreshToken", "keys of others are no one's business");
}

fn unproven(line: Line) -> Line {
    Line { key: None, ..line }
}

fn public(line: Line) -> Line {
    Line { client: public_of(&line), ..line }
}

fn other_public(line: Line) -> Line {
    public(line.with_key(2))
}

/// 9449-5-02, FAPI-5.3.2.1-06
#[test]
fn a_native_client_that_authenticates_with_a_key_may_bring_another_one() {
    let key = AuthenticationMethods::KEY;
    let both = key.with(AuthenticationMethod::ClientSecretBasic);
    for (registered, accepted, expected) in [
        (key, key, "granted"),
        (key, both, "granted"),
        (both, key, "granted"),
        (both, both, "AnotherDpopKey"),
        (AuthenticationMethods::SECRET, both, "AnotherDpopKey"),
    ] {
        let mut line = other_public(Line::new().with_key(1).refreshed(1000));
        line.client.form.authentication_methods = registered;
        line.config.client_authentication.methods = accepted;
        assert_eq!(refusal(&line, 1, None, 1000), expected, "{registered:?}, {accepted:?}");
    }
}

fn public_of(line: &Line) -> crate::model::client::Client {
    let mut client = line.client.clone();
    client.form.application_type = ApplicationType::Native;
    client
}

/// 9449-5-02
#[test]
fn in_grace_the_newest_pair_is_given_again_for_its_key_alone() {
    let line = || Line::new().with_key(1).refreshed(1000);
    assert!(verdict(&line(), 0, None, 1100).unwrap().next.is_none(), "the newest pair again");
    let next = written(&line().with_key(2), 0, None, 1100);
    let newest = next.pairs.newest.as_ref().unwrap();
    let keys: Vec<_> = newest.accesses().map(|access| access.key().copied()).collect();
    assert_eq!(keys, [line().key, line().with_key(2).key], "the pair keeps its key");
}

/// 9449-5-04
#[test]
fn a_superseded_token_binds_nothing() {
    let unbound = Line::new().refreshed(1000);
    let bound_from = |grant: &Grant| grant.bound_from.map(std::num::NonZeroU32::get);
    for change in [|line: Line| line, public] {
        let mut line = change(Line { client: unbound.client.clone(), ..Line::new().refreshed(1000) }).with_key(1);
        line.grant = written(&line, 0, None, 1100);
        assert_eq!(bound_from(&line.grant), None);
        let newest = line.grant.pairs.newest.as_ref().unwrap();
        let keys: Vec<_> = newest.accesses().map(|access| access.key().copied()).collect();
        assert_eq!(keys, [None, line.key]);
        // The newest refresh token is not bound: it works without a proof, or with another key, which binds the line.
        let key = line.key.take();
        assert_eq!(refusal(&line, 1, None, 1100), "granted");
        assert_eq!(refusal(&line, 0, None, 1100), "granted");
        let line = line.with_key(2);
        assert_eq!(bound_from(&written(&line, 1, None, 1100)), Some(3));
        assert_ne!(line.key, key);
    }
}

/// 9449-5-02, FAPI-KEEP-01
#[test]
fn a_kept_refresh_token_has_access_tokens_with_their_own_keys() {
    let mut line = Line::new().with_key(1);
    line.config.refresh.rotation = RefreshRotation::Keep;
    line.grant = written(&line, 0, None, 10);
    line = line.with_key(2);
    line.grant = written(&line, 0, None, 20);
    let keys: Vec<_> =
        line.grant.pairs.newest.as_ref().unwrap().accesses().map(|access| access.key().copied()).collect();
    assert_eq!(keys, [None, Line::new().with_key(1).key, line.key]);
    assert_eq!(refusal(&Line { key: None, ..line }, 0, None, 30), "MissingDpopProof");
}
