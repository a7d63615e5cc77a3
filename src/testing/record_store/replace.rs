//! Exactly one of all callers changes a version.

use std::slice::from_ref;
use std::sync::Arc;

use crate::store::{RecordStore, Replacement};
use crate::testing::at_once::{MEETINGS, at_once, pause};
use crate::testing::calls::{
    CALLERS, add, assert_gone, assert_there, change, far, find, in_turn, left, meetings, replace, with_answer,
};
use crate::testing::records;
use crate::testing::sample::Sample;
use crate::testing::told::cut;

/// How often each caller must win.
const WINS: usize = 4;
/// The most attempts of each caller. Each lost one is a win of another caller, so no more are needed.
const ATTEMPTS: usize = CALLERS * WINS;

/// Rule 2: of many callers that replace one version, one gets `Replaced`, and the stored row is its own.
pub async fn replace_has_one_winner<R: Sample>(store: &dyn RecordStore<R>, another: &dyn RecordStore<R>) {
    for meeting in meetings() {
        let subject = records::subject();
        let first = R::first(&subject, far());
        add(store, &first).await;
        let rivals: Vec<_> = (0..CALLERS).map(|_| R::next(&first, far())).collect();
        let calls = in_turn(store, another).zip(&rivals).map(|(handle, rival)| replace(handle, first.version(), rival));
        let answers = at_once(meeting, calls).await;
        let winners = with_answer(&rivals, &answers, Replacement::Replaced);
        assert_eq!(winners.len(), 1, "of {CALLERS} callers that replace one version, one should get `Replaced`");
        for winner in winners {
            assert_there(store, winner, "after a race of replaces").await;
            let left = left(another, &subject, from_ref(winner)).await;
            assert!(left == [winner.clone()], "only the winner's row may be listed, not {}", cut(&left));
        }
    }
}

/// Rule 2: a replace of a missing row is `Lost` and creates none.
pub async fn replace_of_a_missing_row_is_lost<R: Sample>(store: &dyn RecordStore<R>) {
    let row = R::first(&records::subject(), far());
    let next = R::next(&row, far());
    for version in [0, row.version(), next.version(), u32::MAX] {
        assert_eq!(replace(store, version, &next).await, Replacement::Lost, "a replace of version {version} of no row");
        assert_gone(store, &row, "after a replace of a missing row").await;
    }
}

/// Rule 2: a replace of any version but the row's own is `Lost` and changes nothing.
pub async fn replace_of_another_version_is_lost<R: Sample>(store: &dyn RecordStore<R>) {
    let row = R::first(&records::subject(), far());
    add(store, &row).await;
    let (next, rival) = (R::next(&row, far()), R::next(&row, far()));
    for version in [0, next.version(), next.version() + 1, 1 << 31, u32::MAX] {
        assert_eq!(replace(store, version, &next).await, Replacement::Lost, "a replace of version {version}, not 1");
        assert_there(store, &row, "after a replace of another version").await;
    }
    change(store, &row, &next).await;
    for late in [&rival, &row, &next] {
        assert_eq!(replace(store, row.version(), late).await, Replacement::Lost, "a replace of an earlier version");
        assert_there(store, &next, "after a replace of an earlier version").await;
    }
}

/// Rule 2: versions are compared up to the largest of 32 bits, without sign.
///
/// Versions beyond what signed numbers of 32 bits hold, and one that is lower than the version before it: the core
/// draws them at random.
pub async fn large_versions_are_compared<R: Sample>(store: &dyn RecordStore<R>) {
    let row = R::first(&records::subject(), far());
    add(store, &row).await;
    let versions = [1, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, u32::MAX - 1, u32::MAX, 7, 0, 9];
    let steps = versions.into_iter().zip(versions.into_iter().skip(1));
    for (from, to) in steps {
        let next = R::numbered(&row, to);
        let wrong = [from ^ 1, from.wrapping_add(1 << 31), from.wrapping_sub(1)];
        for version in wrong {
            let answer = replace(store, version, &next).await;
            assert_eq!(answer, Replacement::Lost, "a replace of version {version}, where {from} is stored");
        }
        assert_eq!(replace(store, from, &next).await, Replacement::Replaced, "a replace of version {from}");
        assert_there(store, &next, "under a large version").await;
    }
}

/// Rule 2: callers that read again after every loss win every version exactly once.
///
/// As refresh and revocation do: read, make the next version, replace, and read again after a loss.
pub async fn no_update_is_lost<R: Sample>(store: &dyn RecordStore<R>, another: &dyn RecordStore<R>) {
    for meeting in MEETINGS {
        let row = R::first(&records::subject(), far());
        add(store, &row).await;
        let calls = in_turn(store, another).take(CALLERS / 2).map(|handle| wins(handle, row.key()));
        let mut acknowledged: Vec<_> = at_once(meeting, calls).await.into_iter().flatten().collect();
        acknowledged.sort_by_key(|won| won.version());
        let versions: Vec<_> = acknowledged.iter().map(|won| won.version()).collect();
        let expected: Vec<_> = (row.version() + 1..).take(CALLERS / 2 * WINS).collect();
        assert_eq!(versions, expected, "every acknowledged version is won once, none is left out");
        if let Some(last) = acknowledged.last() {
            assert_there(store, last, "after the last of many updates").await;
        }
    }
}

async fn wins<R: Sample>(store: &dyn RecordStore<R>, id: &R::Key) -> Vec<Arc<R>> {
    let mut won = Vec::new();
    for _ in 0..ATTEMPTS {
        let found = find(store, id).await;
        pause().await;
        if let Some(row) = found {
            let next = R::next(&row, far());
            if replace(store, row.version(), &next).await == Replacement::Replaced {
                won.push(next);
            }
        }
        if won.len() == WINS {
            break;
        }
    }
    assert_eq!(won.len(), WINS, "a caller that reads again after every loss wins in the end");
    won
}
