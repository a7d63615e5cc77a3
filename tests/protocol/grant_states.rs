//! What follows from a grant's record and a refresh token together: superseded tokens of any age, altered
//! and forged ones, and a store that lost writes.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use grantor::MemoryStore;
use grantor::store::{Grant, Insertion, Page, Record, RecordStore};
use sha2::{Digest, Sha256};

use crate::interleaved::serve_from;
use crate::rfc6749_refresh::records;
use support::world::{START, World, e400, empty, form, ok, pair, public_form};

/// The record of the world's only grant.
pub(crate) async fn record(world: &World) -> Arc<Grant> {
    let grants = RecordStore::<Grant>::list(&world.store, world.alice.as_str(), Page::first(2)).await.unwrap();
    assert_eq!(grants.len(), 1);
    grants[0].clone()
}

// Superseded tokens.

/// D-12, 9700-4.14.2-02
#[tokio::test]
async fn a_token_of_five_hundred_generations_ago_is_noticed_while_the_record_stays_small() {
    let world = World::platform().await;
    let first = world.pair().await;
    let mut newest = first.clone();
    let mut sizes = Vec::new();
    for _ in 0..500 {
        world.advance(1000);
        newest = pair(&world.refresh(&newest.refresh).await);
        sizes.push(record(&world).await.encode().len());
    }
    // The newest pair, and the one in grace.
    assert!(sizes.iter().all(|size| *size == sizes[0]), "{sizes:?}");
    assert!(sizes[0] < 500, "{}", sizes[0]);
    assert!(world.opens(&newest.access).await);
    world.events.take();
    e400(&world.refresh(&first.refresh).await, "invalid_grant");
    assert!(world.events.saw("RefreshTokenReused"));
    assert!(!world.opens(&newest.access).await);
    e400(&world.refresh(&newest.refresh).await, "invalid_grant");
}

/// D-12, negative case #6
#[tokio::test]
async fn a_superseded_token_that_left_the_record_accuses_until_its_own_end() {
    for (age, accuses) in [(15_551_999, true), (15_552_000, false), (15_552_001, false)] {
        let world = World::platform().await;
        let first = world.pair().await;
        let mut newest = first.clone();
        for _ in 0..3 {
            world.advance(5_000_000);
            let _ = world.purge(1000).await;
            newest = pair(&world.refresh(&newest.refresh).await);
        }
        world.advance(age - 15_000_000);
        e400(&world.refresh(&first.refresh).await, "invalid_grant");
        assert_eq!(world.events.saw("RefreshTokenReused"), accuses, "after {age} s");
        assert_eq!(world.refresh(&newest.refresh).await.status(), if accuses { 400 } else { 200 }, "after {age} s");
    }
}

/// D-15, 7009-2.2-01, negative case #7
#[tokio::test]
async fn a_superseded_token_at_revocation_changes_nothing_but_is_reported() {
    let world = World::platform().await;
    let others = [world.register(form()).await, world.register(public_form()).await];
    let first = world.pair().await;
    let mut newest = pair(&world.refresh(&first.refresh).await);
    // At the end of its grace, a minute later, and after it left the record, until a day after its own end.
    for (seconds, is_reported) in
        [(300, true), (60, true), (10_000, true), (15_551_999 - 10_360, true), (86_401, false)]
    {
        world.advance(seconds);
        let before = record(&world).await.encode();
        world.events.take();
        for other in &others {
            empty(&world.revoke_as(other, &first.refresh).await);
        }
        assert!(!world.events.saw("SupersededTokenAtRevocation"), "another client raises no event, {seconds}");
        empty(&world.revoke(&first.refresh).await);
        assert_eq!(world.events.saw("SupersededTokenAtRevocation"), is_reported, "{seconds}");
        assert_eq!(record(&world).await.encode(), before, "{seconds}");
        if is_reported {
            newest = pair(&world.refresh(&newest.refresh).await);
        }
    }
    // A live token revokes the whole grant; after that there are no more events.
    empty(&world.revoke(&newest.refresh).await);
    assert!(!world.opens(&newest.access).await);
    world.events.take();
    empty(&world.revoke(&first.refresh).await);
    assert_eq!(world.events.take(), Vec::<String>::new());
}

// Altered and forged tokens.

/// Returns texts of the same length that differ in one character, including some that are not base64url.
fn flips(text: &str) -> impl Iterator<Item = String> {
    let others = "ABCDQgwxyz0189-_+/=. \"\\\0\t\r\n\u{7f}\u{e9}\u{1f600}";
    (0..text.len()).flat_map(move |position| {
        let (head, tail) = text.split_at(position);
        let own = tail.chars().next().unwrap();
        let rest = &tail[1..];
        others.chars().filter(move |other| *other != own).map(move |other| format!("{head}{other}{rest}"))
    })
}

/// Returns every prefix and every suffix, and some longer texts.
fn cuts(text: &str) -> impl Iterator<Item = String> {
    let parts = (1..text.len()).flat_map(move |at| [text[..at].to_owned(), text[at..].to_owned()]);
    let longer =
        [format!("{text}A"), format!("A{text}"), format!("{text}="), format!(" {text}"), format!("{text}{text}")];
    parts.chain(longer)
}

/// 6749-10.3-01, 6749-5.2-05, 6749-A-07
#[tokio::test]
async fn no_altered_code_is_exchanged_or_takes_anything_back() {
    let world = World::platform().await;
    let spent = world.code().await;
    let tokens = pair(&world.exchange(&spent).await);
    let before = record(&world).await.encode();
    let unspent = world.code().await;
    for altered in [&spent, &unspent].into_iter().flat_map(|code| flips(code).chain(cuts(code))) {
        assert_eq!(world.exchange(&altered).await.status(), 400, "{altered}");
    }
    assert_eq!(record(&world).await.encode(), before);
    assert!(world.opens(&tokens.access).await);
    ok(&world.exchange(&unspent).await);
}

/// 6749-10.3-01, 7009-2.2-01, 6750-3.1-01, 6749-A-07, CVE-2026-27840
#[tokio::test]
async fn no_altered_access_token_is_accepted_or_revokes() {
    let world = World::platform().await;
    let token = world.pair().await.access;
    let before = record(&world).await.encode();
    for altered in flips(&token).chain(cuts(&token)) {
        // A header field has no spaces at its ends.
        assert!(altered.trim() == token || !world.opens(&altered).await, "{altered}");
        empty(&world.revoke(&altered).await);
        let shown = world.introspect_as(&world.client, &altered).await;
        assert_eq!(shown, serde_json::json!({"active": false}), "{altered}");
    }
    assert_eq!(record(&world).await.encode(), before);
    assert!(world.opens(&token).await);
}

/// 6749-10.3-01, D-12, 6749-A-07
#[tokio::test]
async fn no_altered_refresh_token_brings_or_revokes_anything() {
    let world = World::platform().await;
    let old = world.pair().await;
    let live = pair(&world.refresh(&old.refresh).await);
    world.advance(360);
    let before = record(&world).await.encode();
    world.events.take();
    // Unaltered, the first would report reuse, and the second would return a pair.
    for altered in [&old.refresh, &live.refresh].into_iter().flat_map(|token| flips(token).chain(cuts(token))) {
        assert_eq!(world.refresh(&altered).await.status(), 400, "{altered}");
        empty(&world.revoke(&altered).await);
    }
    assert_eq!(record(&world).await.encode(), before);
    let events = world.events.take();
    assert!(events.iter().all(|event| event.starts_with("Refused")), "no flip is reported as reuse");
    ok(&world.refresh(&live.refresh).await);
}

const SECRET_BEGINS: usize = "rt_".len() + 22;
const FAMILY_ID: std::ops::Range<usize> = 0..16;
const END: std::ops::Range<usize> = 16..20;
const NUMBER: std::ops::Range<usize> = 20..24;
const FRESH: std::ops::Range<usize> = 24..55;
const TAG: std::ops::Range<usize> = 55..66;

/// Returns the token with some bytes of its secret replaced.
fn rewritten(token: &str, range: std::ops::Range<usize>, bytes: &[u8]) -> String {
    let mut secret = secret_of(token);
    secret[range].copy_from_slice(bytes);
    format!("{}{}", &token[..SECRET_BEGINS], URL_SAFE_NO_PAD.encode(secret))
}

/// Returns the token with a tag that needs no key, which is all that a party without the record can compute.
fn retagged(token: &str) -> String {
    let tag = Sha256::digest(&secret_of(token)[..TAG.start]);
    rewritten(token, TAG, &tag[..TAG.len()])
}

fn secret_of(token: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(&token[SECRET_BEGINS..]).unwrap()
}

fn bytes_of(token: &str, range: std::ops::Range<usize>) -> Vec<u8> {
    secret_of(token)[range].to_vec()
}

/// 6749-10.3-01
#[tokio::test]
async fn a_refresh_token_shows_its_end_number_and_lineage() {
    let world = World::platform().await;
    let first = world.pair().await.refresh;
    world.advance(1000);
    let second = pair(&world.refresh(&first).await).refresh;
    let other = world.pair().await.refresh;
    assert_eq!(secret_of(&first).len(), TAG.end);
    assert_eq!(bytes_of(&first, FAMILY_ID), bytes_of(&second, FAMILY_ID));
    assert_ne!(bytes_of(&first, FAMILY_ID), bytes_of(&other, FAMILY_ID));
    assert_eq!(bytes_of(&first, END), (START + 15_552_000).to_be_bytes());
    assert_eq!(bytes_of(&second, END), (START + 1000 + 15_552_000).to_be_bytes());
    assert_eq!([bytes_of(&first, NUMBER), bytes_of(&second, NUMBER)], [[0, 0, 0, 1], [0, 0, 0, 2]]);
    for part in [FRESH, TAG] {
        assert_ne!(bytes_of(&first, part.clone()), bytes_of(&second, part));
    }
}

/// Returns what the holder of a genuine token can make from it and from other tokens.
fn forgeries(token: &str, sibling: &str, other: &str) -> Vec<(&'static str, String)> {
    let later = u32::from_be_bytes(bytes_of(token, END).try_into().unwrap()) + 30 * 86_400;
    let parts: [(&'static str, std::ops::Range<usize>, Vec<u8>); 13] = [
        ("an end that is past", END, START.to_be_bytes().to_vec()),
        ("a later end", END, later.to_be_bytes().to_vec()),
        ("an end that never comes", END, u32::MAX.to_be_bytes().to_vec()),
        ("number 0", NUMBER, vec![0; 4]),
        ("number 1", NUMBER, vec![0, 0, 0, 1]),
        ("number 2", NUMBER, vec![0, 0, 0, 2]),
        ("number 3", NUMBER, vec![0, 0, 0, 3]),
        ("number 4", NUMBER, vec![0, 0, 0, 4]),
        ("the highest number", NUMBER, u32::MAX.to_be_bytes().to_vec()),
        ("another fresh part", FRESH, vec![7; FRESH.len()]),
        ("the fresh part of a sibling", FRESH, bytes_of(sibling, FRESH)),
        ("another family id", FAMILY_ID, bytes_of(other, FAMILY_ID)),
        ("no family id", FAMILY_ID, vec![0; FAMILY_ID.len()]),
    ];
    let mut all = Vec::new();
    for (name, range, bytes) in parts {
        let forged = rewritten(token, range, &bytes);
        if forged != token {
            all.extend([(name, retagged(&forged)), (name, rewritten(&forged, TAG, &bytes_of(sibling, TAG)))]);
            all.push((name, forged));
        }
    }
    all.push(("another tag", rewritten(token, TAG, &[0; TAG.end - TAG.start])));
    all.push(("a tag without a key", retagged(token)));
    all.push(("another id", format!("{}{}", &other[..SECRET_BEGINS], &token[SECRET_BEGINS..])));
    all
}

/// 6749-10.3-01, D-12
/// Tokens of every age, rewritten in every part; the tag is the one that was there, another's, or made without a key.
#[tokio::test]
async fn a_rewritten_refresh_token_changes_nothing() {
    // The time since the last refresh, and the place of the token in the line.
    let ages = [
        ("current", 0, 2),
        ("in grace", 299, 0),
        ("in grace, superseded last", 299, 1),
        ("past grace", 330, 0),
        ("a minute past grace", 360, 0),
        ("forgotten", 100 * 86_400, 0),
        ("expired 20 days ago", 200 * 86_400, 0),
    ];
    for (age, seconds, place) in ages {
        let world = World::platform().await;
        let unrelated = world.register(form()).await;
        let first = world.pair().await;
        let second = pair(&world.refresh(&first.refresh).await);
        let mut newest = pair(&world.refresh(&second.refresh).await);
        let token = [&first, &second, &newest][place].refresh.clone();
        let sibling = if place == 2 { first.refresh.clone() } else { newest.refresh.clone() };
        world.advance(seconds / 2);
        if seconds > 86_400 {
            newest = pair(&world.refresh(&newest.refresh).await);
        }
        world.advance(seconds - seconds / 2);
        let other = world.pair().await;
        let before = records(&world).await;
        for (name, forged) in forgeries(&token, &sibling, &other.refresh) {
            world.events.take();
            e400(&world.refresh(&forged).await, "invalid_grant");
            e400(&world.refresh_as(&unrelated, &forged).await, "invalid_grant");
            empty(&world.revoke(&forged).await);
            empty(&world.revoke_as(&unrelated, &forged).await);
            let events = world.events.take();
            assert!(events.iter().all(|event| event.starts_with("Refused")), "{age}, {name}: {events:?}");
            assert!(events[0].contains("UnknownRefreshToken"), "{age}, {name}: {events:?}");
            assert_eq!(records(&world).await, before, "{age}, {name}");
        }
        ok(&world.refresh(&newest.refresh).await);
        ok(&world.refresh(&other.refresh).await);
    }
}

/// 6749-10.3-01
#[tokio::test]
async fn a_secret_under_the_id_of_another_grant_is_unknown() {
    let world = World::platform().await;
    let (mine, theirs) = (world.pair().await, world.pair().await);
    let moved = format!("{}{}", &theirs.refresh[..SECRET_BEGINS], &mine.refresh[SECRET_BEGINS..]);
    world.events.take();
    e400(&world.refresh(&moved).await, "invalid_grant");
    empty(&world.revoke(&moved).await);
    for (kind, length) in [("ac_", 68), ("at_", 68)] {
        let code = world.code().await;
        let token = if kind == "ac_" { &code } else { &mine.access };
        let moved = format!("{kind}{}{}", &theirs.access[3..SECRET_BEGINS], &token[SECRET_BEGINS..]);
        assert_eq!(moved.len(), length);
        e400(&world.exchange(&moved).await, "invalid_grant");
        assert!(!world.opens(&moved).await);
        empty(&world.revoke(&moved).await);
    }
    let events = world.events.take();
    assert!(!events.iter().any(|event| event.contains("Reused") || event.contains("Revoked")), "{events:?}");
    assert!(world.opens(&mine.access).await && world.opens(&theirs.access).await);
    ok(&world.refresh(&mine.refresh).await);
    ok(&world.refresh(&theirs.refresh).await);
}

// A store that lost acknowledged writes.

/// Restores the world's store from an earlier copy of a grant.
pub(crate) async fn restore(world: &mut World, backup: &[u8]) {
    let tokens = MemoryStore::new();
    let grant = Arc::new(Grant::decode(backup).unwrap());
    assert_eq!(RecordStore::<Grant>::insert(&tokens, grant).await.unwrap(), Insertion::Inserted);
    serve_from(world, tokens);
}

/// Asserts that after the store lost writes nothing is changed and no reuse is reported.
async fn went_back(world: &World, token: &str) {
    world.events.take();
    e400(&world.refresh(token).await, "invalid_grant");
    let events = world.events.take();
    assert!(events.iter().any(|event| event.starts_with("StoreWentBack")), "{events:?}");
    assert!(!events.iter().any(|event| event.starts_with("RefreshTokenReused")), "{events:?}");
}

/// D-12
#[tokio::test]
async fn a_store_that_went_back_reports_no_reuse_at_first() {
    let mut world = World::platform().await;
    let first = world.pair().await;
    world.advance(1000);
    let second = pair(&world.refresh(&first.refresh).await);
    let backup = record(&world).await.encode();
    world.advance(1000);
    let third = pair(&world.refresh(&second.refresh).await);
    let fourth = pair(&world.refresh(&third.refresh).await);
    world.advance(1000);
    restore(&mut world, &backup).await;

    // Its tokens are newer than the store.
    for token in [&third, &fourth, &third, &fourth] {
        went_back(&world, &token.refresh).await;
        assert!(world.opens(&second.access).await);
    }
    assert!(!world.opens(&third.access).await);

    // Another holder creates a third pair again. While it is in the record, its number shows that the genuine third
    // token is not an older one.
    let other_third = pair(&world.refresh(&second.refresh).await);
    assert_ne!(other_third, third);
    went_back(&world, &third.refresh).await;
    went_back(&world, &fourth.refresh).await;
    world.advance(1000);
    let other_fourth = pair(&world.refresh(&other_third.refresh).await);
    went_back(&world, &third.refresh).await;
    went_back(&world, &fourth.refresh).await;
    assert!(world.opens(&other_fourth.access).await);

    // Once that pair has left the record, the genuine third token is treated like any superseded token.
    world.advance(1000);
    let other_fifth = pair(&world.refresh(&other_fourth.refresh).await);
    went_back(&world, &fourth.refresh).await;
    assert!(world.opens(&other_fifth.access).await);
    world.events.take();
    e400(&world.refresh(&third.refresh).await, "invalid_grant");
    assert!(world.events.saw("RefreshTokenReused"));
    assert!(!world.opens(&other_fifth.access).await);
}

/// D-12
#[tokio::test]
async fn a_restored_store_goes_on_with_the_tokens_that_it_knows() {
    let mut world = World::platform().await;
    let first = world.pair().await;
    let backup = record(&world).await.encode();
    assert_eq!(Grant::decode(&backup).unwrap(), *record(&world).await);
    pair(&world.refresh(&first.refresh).await);
    restore(&mut world, &backup).await;
    let second = pair(&world.refresh(&first.refresh).await);
    assert!(world.opens(&first.access).await && world.opens(&second.access).await);

    // A grant that the store has lost entirely is unknown, and no reuse is reported either.
    serve_from(&mut world, MemoryStore::new());
    world.events.take();
    e400(&world.refresh(&second.refresh).await, "invalid_grant");
    assert!(!world.opens(&second.access).await);
    let is_refusal = |event: &String| event.starts_with("Refused") || event.starts_with("AccessTokenRefused");
    assert!(world.events.take().iter().all(is_refusal));
}
