//! Rows that the engine removes by its own clock stay until their end.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::model::Replay;
use crate::store::{Insertion, RecordStore};
use crate::testing::draw;
use crate::testing::records;
use crate::testing::rows::{Rows, Sample, answer};
use crate::testing::rules::{add, assert_there, change, far, later};

/// Seconds that a row is kept.
const KEPT: u32 = 3;
const STEP: Duration = Duration::from_millis(100);

pub(in crate::testing) async fn is_not_early<R: Sample, F>(
    rows: &Rows<'_, R>,
    sleep: impl Fn(Duration) -> F + Send + Sync,
) where
    F: Future<Output = ()> + Send,
{
    let subject = records::subject();
    let end = later(draw::now(), KEPT);
    let (row, first) = (R::first(&subject, end), R::first(&subject, end));
    let moved = R::next(&first, far());
    add(rows, &row).await;
    add(rows, &first).await;
    change(rows, &first, &moved).await;
    loop {
        let found = rows.find(R::id(&row)).await;
        if draw::now() >= end {
            break;
        }
        assert!(found.as_ref() == Some(&row), "a row that is kept until {end:?} was removed earlier");
        sleep(STEP).await;
    }
    sleep(Duration::from_secs(1)).await;
    assert_there(rows, &moved, "after the first of its ends, which was moved").await;
}

pub(in crate::testing) async fn of_a_replay_is_not_early<F>(
    store: &impl RecordStore<Replay>,
    sleep: impl Fn(Duration) -> F + Send + Sync,
) where
    F: Future<Output = ()> + Send,
{
    let end: Timestamp = later(draw::now(), KEPT);
    let replay = Replay::new(&[draw::unique().as_bytes()], end);
    assert_eq!(answer("insert", store.insert(Arc::new(replay)).await), Insertion::Inserted, "the first use");
    loop {
        let again = answer("insert", store.insert(Arc::new(replay)).await);
        if draw::now() >= end {
            break;
        }
        assert_eq!(again, Insertion::Exists, "an identifier that is kept until {end:?} was forgotten earlier");
        sleep(STEP).await;
    }
}
