//! Acknowledged writes are found.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::store::{RecordStore, Replacement};
use crate::testing::at_once::{MEETINGS, at_once, pause};
use crate::testing::calls::{CALLERS, add, assert_there, change, far, find, in_turn, meetings, replace};
use crate::testing::records;
use crate::testing::sample::Sample;
use crate::testing::told::{cut, difference};

/// The version with which a writer ends while others read.
const LAST_VERSION: u32 = 32;

/// Rule 4: an acknowledged write is found by all callers at once.
///
/// All callers at once, each with its own row, which it reads through both handles.
pub async fn acknowledged_writes_are_found<R: Sample>(store: &dyn RecordStore<R>, another: &dyn RecordStore<R>) {
    for meeting in MEETINGS {
        let subject = records::subject();
        let calls = in_turn(store, another).take(CALLERS).map(|handle| async {
            let mut row = R::first(&subject, far());
            add(handle, &row).await;
            for round in 0..4 {
                assert_there(store, &row, "at once after the write").await;
                assert_there(another, &row, "at once after the write, by another handle").await;
                let next = R::next(&row, far());
                let writer = if round % 2 == 0 { another } else { store };
                change(writer, &row, &next).await;
                row = next;
            }
            assert_there(store, &row, "at once after the last write").await;
        });
        at_once(meeting, calls).await;
    }
}

/// Rule 4: a caller that gets `Lost` finds the version that won.
pub async fn losers_find_the_winner<R: Sample>(store: &dyn RecordStore<R>, another: &dyn RecordStore<R>) {
    for meeting in meetings() {
        let first = R::first(&records::subject(), far());
        add(store, &first).await;
        let first = &first;
        let calls = in_turn(store, another).take(CALLERS).map(|handle| async move {
            let next = R::next(first, far());
            let answer = replace(handle, first.version(), &next).await;
            let found = find(handle, first.key()).await;
            match answer {
                Replacement::Replaced => {
                    assert!(found.as_ref() == Some(&next), "the winner finds {}", difference(&*next, found.as_deref()));
                }
                Replacement::Lost => assert!(
                    found.as_ref().is_some_and(|found| found != first && *found != next),
                    "a caller that got `Lost` finds {}",
                    cut(&found)
                ),
            }
        });
        at_once(meeting, calls).await;
    }
}

/// Rule 4: while versions are written, no reader finds one older than the last that was acknowledged or seen.
///
/// One caller writes version after version. The others never find one older than was acknowledged before they read.
pub async fn readers_never_go_back<R: Sample>(store: &dyn RecordStore<R>, another: &dyn RecordStore<R>) {
    for meeting in MEETINGS {
        let first = R::first(&records::subject(), far());
        add(store, &first).await;
        let acknowledged = AtomicU32::new(first.version());
        let (first, acknowledged) = (&first, &acknowledged);
        let calls = in_turn(store, another).take(CALLERS / 2).zip(0..).map(|(handle, number)| async move {
            if number == 0 {
                write_versions(handle, first, acknowledged).await;
            } else {
                read_versions(handle, first.key(), acknowledged).await;
            }
        });
        at_once(meeting, calls).await;
    }
}

async fn write_versions<R: Sample>(store: &dyn RecordStore<R>, first: &R, acknowledged: &AtomicU32) {
    for version in first.version()..LAST_VERSION {
        let next = R::numbered(&R::next(first, far()), version + 1);
        let answer = replace(store, version, &next).await;
        assert_eq!(answer, Replacement::Replaced, "the only writer of version {version}");
        acknowledged.store(version + 1, Ordering::SeqCst);
        pause().await;
    }
}

async fn read_versions<R: Sample>(store: &dyn RecordStore<R>, id: &R::Key, acknowledged: &AtomicU32) {
    let mut seen = 0;
    while seen < LAST_VERSION {
        let before = acknowledged.load(Ordering::SeqCst).max(seen);
        let found = find(store, id).await;
        let version = found.as_ref().map_or(0, |row| row.version());
        assert!(version >= before, "version {before} was acknowledged or seen, then `find` returned {}", cut(&found));
        seen = version;
        pause().await;
    }
}
