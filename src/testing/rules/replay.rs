//! An identifier is used once.

use std::sync::Arc;

use crate::clock::Timestamp;
use crate::model::Replay;
use crate::store::{Insertion, Purge, RecordStore};
use crate::testing::at_once::at_once;
use crate::testing::draw::{self, sound};
use crate::testing::rows::answer;
use crate::testing::rules::{CALLERS, PATIENCE, due, earlier, far, in_turn, later, meetings, never_ends};

pub(in crate::testing) async fn has_one_winner<S: RecordStore<Replay>>(store: &S, another: &S) {
    for meeting in meetings() {
        let used = new(far());
        // Each caller has its own clock.
        let rivals: Vec<_> = (0..12).map(|seconds| ending(&used, earlier(far(), seconds))).collect();
        let calls = in_turn(store, another).zip(&rivals).map(|(handle, rival)| insert(handle, *rival));
        let answers = at_once(meeting, calls).await;
        let winners = answers.iter().filter(|answer| **answer == Insertion::Inserted).count();
        assert_eq!(winners, 1, "of {CALLERS} callers with one identifier, one should get `Inserted`");
        for handle in [store, another] {
            assert_eq!(insert(handle, used).await, Insertion::Exists, "an identifier that was used");
        }
    }
}

/// Digests that a careless key confuses: they differ in a single bit.
pub(in crate::testing) async fn tells_identifiers_apart<S: RecordStore<Replay>>(store: &S) {
    let replay = new(far());
    let flipped = (0..32).flat_map(|place| [1, 0x20, 0x80].map(|bit| (place, bit)));
    let similar: Vec<_> = flipped.map(|(place, bit)| with_bit(&replay, place, bit)).chain([replay]).collect();
    for replay in &similar {
        assert_eq!(insert(store, *replay).await, Insertion::Inserted, "a different identifier");
    }
    for replay in &similar {
        assert_eq!(insert(store, *replay).await, Insertion::Exists, "an identifier that was used");
    }
}

pub(in crate::testing) async fn purge_waits_for_the_end<S: RecordStore<Replay>>(store: &S) {
    let end = emptied(store).await;
    let replay = new(end);
    assert_eq!(insert(store, replay).await, Insertion::Inserted, "the first use");
    for before in [Timestamp::default(), earlier(end, 3600), earlier(end, 1)] {
        assert_eq!(purge_all(store, before, 100).await, 0, "nothing is due yet");
        assert_eq!(insert(store, replay).await, Insertion::Exists, "an identifier before its end");
    }
    // A refused insert leaves neither a row nor a second end.
    let sooner = ending(&replay, earlier(end, 60));
    assert_eq!(insert(store, sooner).await, Insertion::Exists, "an identifier that was used");
    assert_eq!(purge_all(store, earlier(end, 1), 100).await, 0, "the first end counts");
    assert_eq!(insert(store, replay).await, Insertion::Exists, "an identifier before its end");

    assert_eq!(purge_all(store, end, 100).await, 1, "the record is due");
    assert_eq!(insert(store, replay).await, Insertion::Inserted, "an identifier that was forgotten at its end");
    assert_eq!(purge_all(store, end, 100).await, 1, "the record is due again");
}

pub(in crate::testing) async fn purge_is_bounded_and_finishes<S: RecordStore<Replay>>(store: &S) {
    const DEAD: usize = 25;
    const ALIVE: usize = 60;
    const LIMIT: usize = 4;
    let end = emptied(store).await;
    let mut alive = Vec::new();
    for number in 0..DEAD + ALIVE {
        let is_dead = number % 2 == 0 && number < 2 * DEAD;
        let replay = new(if is_dead { end } else { later(end, 1) });
        assert_eq!(insert(store, replay).await, Insertion::Inserted, "the first use");
        if !is_dead {
            alive.push(replay);
        }
    }
    let none = purge_step(store, end, 0).await;
    assert!(!none.is_finished(), "a step with limit 0 examines nothing, and cannot know that it finished");
    let (mut removed, mut steps) = (0, 0);
    loop {
        let step = purge_step(store, end, LIMIT).await;
        removed += step.removed();
        steps += 1;
        if step.is_finished() {
            break;
        }
        assert!(steps <= DEAD, "a purge of {DEAD} records in steps of {LIMIT} does not finish, or scans live records");
    }
    assert_eq!(removed, DEAD, "a purge that says it finished has removed all that is due, in {steps} steps");
    for replay in alive {
        assert_eq!(insert(store, replay).await, Insertion::Exists, "an identifier before its end");
    }
    purge_all(store, later(end, 1), 1000).await;
}

fn new(end: Timestamp) -> Replay {
    Replay::new(&[b"kit", draw::unique().as_bytes()], end)
}

/// Returns the same identifier with another end.
fn ending(replay: &Replay, end: Timestamp) -> Replay {
    altered(replay, replay.digest(), end)
}

fn with_bit(replay: &Replay, place: usize, bit: u8) -> Replay {
    let mut digest = *replay.digest();
    digest.iter_mut().skip(place).take(1).for_each(|byte| *byte ^= bit);
    altered(replay, &digest, replay.end())
}

/// Returns the record as it would be read with that digest and that end, which no message produces.
fn altered(replay: &Replay, digest: &[u8; 32], end: Timestamp) -> Replay {
    let bytes = replay.encode();
    let front = bytes.len() - 36;
    let bytes: Vec<u8> = bytes.into_iter().take(front).chain(*digest).chain(end.seconds().to_be_bytes()).collect();
    let altered = sound(Replay::decode(&bytes));
    assert!(
        *altered.digest() == *digest && altered.end() == end,
        "the kit no longer knows where a replay's fields are"
    );
    altered
}

async fn insert(store: &impl RecordStore<Replay>, replay: Replay) -> Insertion {
    answer("insert", store.insert(Arc::new(replay)).await)
}

/// Returns an end at which nothing else is due, nor a second later.
async fn emptied(store: &impl RecordStore<Replay>) -> Timestamp {
    let end = due();
    purge_all(store, later(end, 1), 1000).await;
    end
}

async fn purge_all(store: &impl RecordStore<Replay>, now: Timestamp, limit: usize) -> usize {
    let mut removed = 0;
    for _ in 0..PATIENCE {
        let step = purge_step(store, now, limit).await;
        removed += step.removed();
        if step.is_finished() {
            return removed;
        }
    }
    never_ends(PATIENCE)
}

async fn purge_step(store: &impl RecordStore<Replay>, now: Timestamp, limit: usize) -> Purge {
    let step = answer("purge", store.purge(now, limit).await);
    assert!(step.removed() <= limit, "a step of a purge with limit {limit} removed {} records", step.removed());
    step
}
