//! The rules of [`RecordStore`](crate::store::RecordStore#contract) for [`Replay`], which is only inserted, one function
//! each.

use std::sync::Arc;
use std::time::Duration;

use crate::base::clock::Timestamp;
use crate::store::{Insertion, Record, RecordStore, Replay};
use crate::testing::at_once::at_once;
use crate::testing::calls::{CALLERS, earlier, emptied, far, in_turn, insert, later, meetings, purge_all, purge_step};
use crate::testing::draw::{self, sound};

/// Rule 1: of many callers that insert one digest, with any end, one gets `Inserted`.
pub async fn one_identifier_has_one_winner(store: &dyn RecordStore<Replay>, another: &dyn RecordStore<Replay>) {
    for meeting in meetings() {
        let used = new(far());
        // Each caller has its own clock.
        let rivals: Vec<_> = (0..12).map(|seconds| ending(&used, earlier(far(), seconds))).collect();
        let calls = in_turn(store, another).zip(&rivals).map(|(handle, rival)| insert(handle, rival));
        let answers = at_once(meeting, calls).await;
        let winners = answers.iter().filter(|answer| **answer == Insertion::Inserted).count();
        assert_eq!(winners, 1, "of {CALLERS} callers with one identifier, one should get `Inserted`");
        for handle in [store, another] {
            assert_eq!(insert(handle, &used).await, Insertion::Exists, "an identifier that was used");
        }
    }
}

/// Rule 1: digests that differ in a single bit are different identifiers.
pub async fn identifiers_are_distinguished(store: &dyn RecordStore<Replay>) {
    let replay = new(far());
    let flipped = (0..32).flat_map(|place| [1, 0x20, 0x80].map(|bit| (place, bit)));
    let similar: Vec<_> = flipped.map(|(place, bit)| with_bit(&replay, place, bit)).chain([replay.clone()]).collect();
    for replay in &similar {
        assert_eq!(insert(store, replay).await, Insertion::Inserted, "a different identifier");
    }
    for replay in &similar {
        assert_eq!(insert(store, replay).await, Insertion::Exists, "an identifier that was used");
    }
}

/// Rule 7: an identifier is known until a second before its end, and free after a purge at its end.
pub async fn a_purge_waits_for_the_end_of_a_replay(store: &dyn RecordStore<Replay>) {
    let end = emptied(store, 1).await;
    let replay = new(end);
    assert_eq!(insert(store, &replay).await, Insertion::Inserted, "the first use");
    for before in [Timestamp::default(), earlier(end, 3600), earlier(end, 1)] {
        assert_eq!(purge_all(store, before, 100).await, 0, "nothing is due yet");
        assert_eq!(insert(store, &replay).await, Insertion::Exists, "an identifier before its end");
    }
    // A refused insert leaves neither a row nor a second end.
    let sooner = ending(&replay, earlier(end, 60));
    assert_eq!(insert(store, &sooner).await, Insertion::Exists, "an identifier that was used");
    assert_eq!(purge_all(store, earlier(end, 1), 100).await, 0, "the first end counts");
    assert_eq!(insert(store, &replay).await, Insertion::Exists, "an identifier before its end");

    assert_eq!(purge_all(store, end, 100).await, 1, "the record is due");
    assert_eq!(insert(store, &replay).await, Insertion::Inserted, "an identifier that was forgotten at its end");
    assert_eq!(purge_all(store, end, 100).await, 1, "the record is due again");
}

/// Rule 7: a step removes no more than its limit, and repeated steps remove all that is due and nothing else.
pub async fn a_purge_of_replays_is_bounded_and_finishes(store: &dyn RecordStore<Replay>) {
    const DEAD: usize = 25;
    const ALIVE: usize = 60;
    const LIMIT: usize = 4;
    let end = emptied(store, 1).await;
    let mut alive = Vec::new();
    for number in 0..DEAD + ALIVE {
        let is_dead = number % 2 == 0 && number < 2 * DEAD;
        let replay = new(if is_dead { end } else { later(end, 1) });
        assert_eq!(insert(store, &replay).await, Insertion::Inserted, "the first use");
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
        assert_eq!(insert(store, &replay).await, Insertion::Exists, "an identifier before its end");
    }
    purge_all(store, later(end, 1), 1000).await;
}

fn new(end: Timestamp) -> Arc<Replay> {
    Arc::new(Replay::new(&[b"kit", draw::unique().as_bytes()], end))
}

/// Rule 7: if the engine removes records by its own clock, it removes none before its end.
///
/// It takes three seconds and calls `sleep` of the runtime, so the macro does not include this rule.
pub async fn a_replay_does_not_expire_early<F: Future<Output = ()> + Send>(
    store: &dyn RecordStore<Replay>,
    sleep: impl Fn(Duration) -> F + Send + Sync,
) {
    let end = later(draw::now(), 3);
    let replay = new(end);
    assert_eq!(insert(store, &replay).await, Insertion::Inserted, "the first use");
    loop {
        let again = insert(store, &replay).await;
        if draw::now() >= end {
            break;
        }
        assert_eq!(again, Insertion::Exists, "an identifier that is kept until {end:?} was forgotten earlier");
        sleep(Duration::from_millis(100)).await;
    }
}

/// Returns the same identifier with another end.
fn ending(replay: &Replay, end: Timestamp) -> Arc<Replay> {
    altered(replay, replay.digest(), end)
}

fn with_bit(replay: &Replay, place: usize, bit: u8) -> Arc<Replay> {
    let mut digest = *replay.digest();
    digest.iter_mut().skip(place).take(1).for_each(|byte| *byte ^= bit);
    altered(replay, &digest, replay.end())
}

/// Returns the record as it would be read with that digest and that end, which no message produces.
fn altered(replay: &Replay, digest: &[u8; 32], end: Timestamp) -> Arc<Replay> {
    let bytes = replay.encode();
    let front = bytes.len() - 36;
    let bytes: Vec<u8> = bytes.into_iter().take(front).chain(*digest).chain(end.seconds().to_be_bytes()).collect();
    let altered = sound(Replay::decode(&bytes));
    assert!(
        *altered.digest() == *digest && altered.end() == end,
        "the kit no longer knows where a replay's fields are"
    );
    Arc::new(altered)
}
