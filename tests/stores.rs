//! The contract of the stores, over the memory store and through the public traits alone.
//!
//! Records have no public constructor: they are taken from the flows of a server, of which a store in
//! between keeps what was to be written.

#[path = "stores/records.rs"]
mod records;
#[path = "stores/registry.rs"]
mod registry;
#[expect(dead_code, reason = "the fixture has more than these tests need")]
#[path = "protocol/world.rs"]
mod world;

use std::collections::BTreeSet;
use std::sync::{Arc, Barrier};
use std::thread;

use grantor::store::{Insertion, Page, Replacement};
use grantor::{MemoryStore, Subject, Timestamp};

use crate::records::{Codes, History, Kind, Tokens};

const CALLERS: usize = 16;
const ROUNDS: usize = 20;

/// CodeStore 1, TokenStore 1
#[test]
fn an_insert_succeeds_for_exactly_one_of_all_callers_with_the_same_id() {
    fn rule<K: Kind>() {
        let History { first, next } = K::histories(1, CALLERS).remove(0);
        let rows: Vec<_> = next.into_iter().chain([first]).collect();
        for _ in 0..ROUNDS {
            let store = MemoryStore::new();
            let answers = at_once(&rows, |row| K::insert(&store, row.clone()));
            let winners: Vec<_> = with(&rows, &answers, Insertion::Inserted);
            assert_eq!(winners.len(), 1);
            assert_eq!(K::find(&store, K::id(&rows[0])).as_ref(), Some(winners[0]), "the row is the winner's");
            assert_eq!(listed::<K>(&store), [winners[0].clone()]);
        }
    }
    rule::<Codes>();
    rule::<Tokens>();
}

/// CodeStore 2, TokenStore 2
#[test]
fn a_replace_succeeds_for_exactly_one_of_all_callers_with_the_same_version() {
    fn rule<K: Kind>() {
        let History { first, next } = K::histories(1, CALLERS).remove(0);
        assert!(next.iter().all(|row| K::version(row) == K::version(&first) + 1));
        for _ in 0..ROUNDS {
            let store = MemoryStore::new();
            assert_eq!(K::insert(&store, first.clone()), Insertion::Inserted);
            let answers = at_once(&next, |row| K::replace(&store, K::version(&first), row.clone()));
            let winners = with(&next, &answers, Replacement::Replaced);
            assert_eq!(winners.len(), 1);
            assert_eq!(K::find(&store, K::id(&first)).as_ref(), Some(winners[0]), "the row is the winner's");
            assert_eq!(listed::<K>(&store), [winners[0].clone()]);
        }
    }
    rule::<Codes>();
    rule::<Tokens>();
}

/// CodeStore 2, TokenStore 2
#[test]
fn a_replace_of_a_missing_row_or_with_another_version_is_lost_and_writes_nothing() {
    fn rule<K: Kind>() {
        let History { first, next } = K::histories(1, 2).remove(0);
        let store = MemoryStore::new();
        assert_eq!(K::replace(&store, K::version(&first), next[0].clone()), Replacement::Lost);
        assert_eq!((K::find(&store, K::id(&first)), listed::<K>(&store)), (None, vec![]));

        assert_eq!(K::insert(&store, first.clone()), Insertion::Inserted);
        for version in [0, K::version(&first) + 1, u32::MAX] {
            assert_eq!(K::replace(&store, version, next[0].clone()), Replacement::Lost, "version {version}");
            assert_eq!(K::find(&store, K::id(&first)).as_ref(), Some(&first));
        }
        assert_eq!(K::replace(&store, K::version(&first), next[0].clone()), Replacement::Replaced);
        assert_eq!(K::replace(&store, K::version(&first), next[1].clone()), Replacement::Lost, "it was replaced");
        assert_eq!(K::insert(&store, first.clone()), Insertion::Exists);
        assert_eq!(K::find(&store, K::id(&first)).as_ref(), Some(&next[0]));
    }
    rule::<Codes>();
    rule::<Tokens>();
}

/// CodeStore 3, TokenStore 3
#[test]
fn what_one_caller_was_told_every_other_finds() {
    fn rule<K: Kind>() {
        for History { first, next } in K::histories(ROUNDS, CALLERS) {
            let store = MemoryStore::new();
            let _ = K::insert(&store, first.clone());
            // The last version that was acknowledged is found by those who were told that they lost.
            at_once(&next, |row| match K::replace(&store, K::version(&first), row.clone()) {
                Replacement::Replaced => assert_eq!(K::find(&store, K::id(&first)).as_ref(), Some(row)),
                Replacement::Lost => assert_ne!(K::find(&store, K::id(&first)).as_ref(), Some(&first)),
            });
        }
    }
    rule::<Codes>();
    rule::<Tokens>();
}

/// CodeStore 5, TokenStore 5
#[test]
fn an_acknowledged_row_is_in_the_list_of_its_subject_at_once() {
    fn rule<K: Kind>() {
        let histories = K::histories(CALLERS * 4, 1);
        let store = MemoryStore::new();
        let parts: Vec<_> = histories.chunks(4).collect();
        at_once(&parts, |part| {
            for History { first, next } in *part {
                assert_eq!(K::insert(&store, first.clone()), Insertion::Inserted);
                assert!(listed::<K>(&store).contains(first));
                assert_eq!(K::replace(&store, K::version(first), next[0].clone()), Replacement::Replaced);
                assert!(listed::<K>(&store).contains(&next[0]), "the list shows what is found");
            }
        });
        assert_eq!(listed::<K>(&store).len(), histories.len());
        assert_eq!(K::list(&store, &bob(), Page::first(100)), vec![], "those of somebody else");
    }
    rule::<Codes>();
    rule::<Tokens>();
}

#[test]
fn a_list_comes_in_pages_ordered_by_id_and_ends_with_one_that_is_not_full() {
    fn rule<K: Kind>() {
        let store = MemoryStore::new();
        let mut rows: Vec<_> = K::histories(12, 1).into_iter().map(|history| history.first).collect();
        for row in &rows {
            let _ = K::insert(&store, row.clone());
        }
        rows.sort_by_key(|row| K::id(row));
        for limit in [1, 3, 4, 11, 12, 13, 1000] {
            let (found, sizes) = pages::<K>(&store, limit, |_| {});
            assert_eq!(found, rows, "in pages of {limit}");
            let (last, full) = sizes.split_last().unwrap();
            assert!(*last < limit && full.iter().all(|size| *size == limit), "{limit}: {sizes:?}");
        }
        assert_eq!(K::list(&store, &alice(), Page::first(0)).len(), 1, "a page has one item at least");
    }
    rule::<Codes>();
    rule::<Tokens>();
}

#[test]
fn a_reader_of_pages_meets_every_row_once_that_stays_while_others_come_and_go() {
    fn rule<K: Kind>() {
        let mut histories = K::histories(30, 1);
        let newcomers = histories.split_off(20);
        let store = MemoryStore::new();
        let due = K::purge_after(&histories[0].first);
        let mut stay = BTreeSet::new();
        for (number, History { first, next }) in histories.iter().enumerate() {
            let _ = K::insert(&store, first.clone());
            // A later version outlives the purge.
            if number % 2 == 1 {
                assert_eq!(K::replace(&store, K::version(first), next[0].clone()), Replacement::Replaced);
                stay.insert(K::id(first));
            }
        }
        let (found, sizes) = pages::<K>(&store, 3, |page| match page {
            0 => assert_eq!(K::purge(&store, due, 1000).removed(), 10),
            page => {
                for History { first, .. } in newcomers.iter().skip(page * 2).take(2) {
                    let _ = K::insert(&store, first.clone());
                }
            }
        });
        assert!(sizes.len() > 3, "{sizes:?}");
        let ids: Vec<_> = found.iter().map(|row| K::id(row)).collect();
        assert!(ids.is_sorted_by(|one, other| one < other), "twice or out of order: {ids:?}");
        let missed: Vec<_> = stay.iter().filter(|id| !ids.contains(id)).collect();
        assert!(missed.is_empty(), "{missed:?}");
    }
    rule::<Codes>();
    rule::<Tokens>();
}

/// CodeStore 6, TokenStore 6
#[test]
fn a_purge_removes_a_row_at_its_time_and_not_a_second_before() {
    fn rule<K: Kind>() {
        let first = K::histories(1, 0).remove(0).first;
        let store = MemoryStore::new();
        let _ = K::insert(&store, first.clone());
        let due = K::purge_after(&first).seconds();
        for before in [0, due - 3600, due - 1] {
            let purge = K::purge(&store, Timestamp::from_seconds(before), 100);
            assert_eq!((purge.removed(), purge.is_finished()), (0, true));
            assert_eq!(K::find(&store, K::id(&first)).as_ref(), Some(&first));
        }
        let purge = K::purge(&store, Timestamp::from_seconds(due), 100);
        assert_eq!((purge.removed(), purge.is_finished()), (1, true));
        assert_eq!((K::find(&store, K::id(&first)), listed::<K>(&store)), (None, vec![]));
        assert_eq!((store.authorization_count(), store.grant_count()), (0, 0));
        assert_eq!(K::replace(&store, K::version(&first), first.clone()), Replacement::Lost);
        assert_eq!(K::purge(&store, Timestamp::from_seconds(u32::MAX), 100).removed(), 0);

        // An id that is free again is one like any other.
        assert_eq!(K::insert(&store, first.clone()), Insertion::Inserted);
        assert_eq!(listed::<K>(&store), std::slice::from_ref(&first));
        assert_eq!(K::purge(&store, Timestamp::from_seconds(due), 100).removed(), 1);
    }
    rule::<Codes>();
    rule::<Tokens>();
}

/// CodeStore 6, TokenStore 6
#[test]
fn a_purge_looks_at_no_more_than_its_limit_and_goes_on_where_it_stopped() {
    fn rule<K: Kind>() {
        let histories = K::histories(40, 1);
        let store = MemoryStore::new();
        let due = K::purge_after(&histories[0].first);
        for History { first, .. } in &histories[..25] {
            let _ = K::insert(&store, first.clone());
        }
        // These are not due by any index.
        for History { next, .. } in &histories[25..] {
            let _ = K::insert(&store, next[0].clone());
        }
        let none = K::purge(&store, due, 0);
        assert_eq!((none.removed(), none.is_finished()), (0, false));
        let mut steps = Vec::new();
        loop {
            let purge = K::purge(&store, due, 4);
            assert!(purge.removed() <= 4);
            steps.push(purge.removed());
            if purge.is_finished() {
                break;
            }
            assert_eq!(purge.removed(), 4, "a step that found no end did as much as it could");
            assert!(steps.len() < 20, "{steps:?}");
        }
        assert_eq!(steps.iter().sum::<usize>(), 25, "{steps:?}");
        let left: Vec<_> = listed::<K>(&store).iter().map(|row| K::version(row)).collect();
        assert_eq!(left, [2; 15]);
    }
    rule::<Codes>();
    rule::<Tokens>();
}

/// CodeStore 6, TokenStore 6: what is alive costs a purge nothing.
#[test]
fn a_purge_does_not_walk_over_what_is_alive() {
    fn rule<K: Kind>() {
        let histories = K::histories(200, 1);
        let store = MemoryStore::new();
        for History { next, .. } in &histories[1..] {
            let _ = K::insert(&store, next[0].clone());
        }
        let old = &histories[0].first;
        let _ = K::insert(&store, old.clone());
        let purge = K::purge(&store, K::purge_after(old), 1);
        assert_eq!(purge.removed(), 1, "one look is enough for the one that is due");
        assert_eq!(K::find(&store, K::id(old)), None);
        assert_eq!(listed::<K>(&store).len(), 199);
    }
    rule::<Codes>();
    rule::<Tokens>();
}

/// TokenStore 6: the index may be earlier than the row's own time, and is moved when the purge meets it.
#[test]
fn a_purge_leaves_a_row_whose_end_was_moved_and_removes_it_when_that_has_come() {
    fn rule<K: Kind>() {
        let History { first, next } = K::histories(1, 1).remove(0);
        let (indexed, due) = (K::purge_after(&first), K::purge_after(&next[0]));
        assert!(indexed < due, "the later version lives longer");
        let store = MemoryStore::new();
        let _ = K::insert(&store, first.clone());
        assert_eq!(K::replace(&store, K::version(&first), next[0].clone()), Replacement::Replaced);
        for now in [indexed.seconds(), indexed.seconds(), due.seconds() - 1] {
            assert_eq!(K::purge(&store, Timestamp::from_seconds(now), 100).removed(), 0);
            assert_eq!(K::find(&store, K::id(&first)).as_ref(), Some(&next[0]));
            assert_eq!(listed::<K>(&store), next);
        }
        assert_eq!(K::purge(&store, due, 100).removed(), 1);
        assert_eq!((K::find(&store, K::id(&first)), listed::<K>(&store)), (None, vec![]));
    }
    rule::<Codes>();
    rule::<Tokens>();
}

/// CodeStore 6, TokenStore 6: a removal is conditional on the version.
#[test]
fn a_purge_loses_no_write_that_was_acknowledged() {
    fn rule<K: Kind>() {
        let histories = K::histories(ROUNDS * 10, 1);
        for round in histories.chunks(10) {
            let store = MemoryStore::new();
            let due = K::purge_after(&round[0].first);
            for History { first, .. } in round {
                let _ = K::insert(&store, first.clone());
            }
            let writers = 10;
            let callers: Vec<usize> = (0..writers + 2).collect();
            let answers = at_once(&callers, |caller| match round.get(*caller) {
                Some(History { first, next }) => Some(K::replace(&store, K::version(first), next[0].clone())),
                None => {
                    while !K::purge(&store, due, 1).is_finished() {}
                    None
                }
            });
            for (History { first, next }, answer) in round.iter().zip(answers) {
                let found = K::find(&store, K::id(first));
                match answer {
                    Some(Replacement::Replaced) => assert_eq!(found.as_ref(), Some(&next[0])),
                    Some(Replacement::Lost) | None => assert_eq!(found, None),
                }
                assert_eq!(listed::<K>(&store).iter().any(|row| K::id(row) == K::id(first)), found.is_some());
            }
        }
    }
    rule::<Codes>();
    rule::<Tokens>();
}

#[test]
fn clones_share_their_contents() {
    fn rule<K: Kind>() {
        let History { first, next } = K::histories(1, 1).remove(0);
        let store = MemoryStore::new();
        let other = store.clone();
        assert_eq!(K::insert(&store, first.clone()), Insertion::Inserted);
        assert_eq!(K::insert(&other, first.clone()), Insertion::Exists);
        assert_eq!(K::replace(&other, K::version(&first), next[0].clone()), Replacement::Replaced);
        assert_eq!(K::find(&store, K::id(&first)).as_ref(), Some(&next[0]));
        assert_eq!(listed::<K>(&other), next);
        assert_eq!(K::purge(&other, Timestamp::from_seconds(u32::MAX), 10).removed(), 1);
        assert_eq!(K::find(&store, K::id(&first)), None);
        assert_eq!(K::find(&MemoryStore::new(), K::id(&first)), None, "another store is another");
    }
    rule::<Codes>();
    rule::<Tokens>();
}

/// CodeStore 4, TokenStore 4
#[test]
fn a_row_comes_back_equal_in_every_field() {
    fn rule<K: Kind>() {
        for History { first, next } in K::histories(3, 2) {
            let store = MemoryStore::new();
            let _ = K::insert(&store, first.clone());
            assert_eq!(K::octets(&K::find(&store, K::id(&first)).unwrap()), K::octets(&first));
            let _ = K::replace(&store, K::version(&first), next[0].clone());
            assert_eq!(K::octets(&K::find(&store, K::id(&first)).unwrap()), K::octets(&next[0]));
            assert_ne!(K::octets(&next[0]), K::octets(&next[1]));
        }
    }
    rule::<Codes>();
    rule::<Tokens>();
}

/// Runs `act` on every item in a thread of its own, all at once.
fn at_once<T: Sync, A: Send>(items: &[T], act: impl Fn(&T) -> A + Sync) -> Vec<A> {
    let barrier = Barrier::new(items.len());
    let act = |item| {
        barrier.wait();
        act(item)
    };
    thread::scope(|scope| {
        let threads: Vec<_> = items.iter().map(|item| scope.spawn(|| act(item))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn with<'r, R, A: PartialEq>(rows: &'r [R], answers: &[A], wanted: A) -> Vec<&'r R> {
    rows.iter().zip(answers).filter(|(_, answer)| **answer == wanted).map(|(row, _)| row).collect()
}

/// All that the store has of the user.
fn listed<K: Kind>(store: &MemoryStore) -> Vec<Arc<K::Row>> {
    K::list(store, &alice(), Page::first(10_000))
}

/// Reads the list page by page; `between` is called after each one with its number.
fn pages<K: Kind>(store: &MemoryStore, limit: usize, between: impl Fn(usize)) -> (Vec<Arc<K::Row>>, Vec<usize>) {
    let (mut rows, mut sizes) = (Vec::new(), Vec::new());
    let mut page = Page::first(limit);
    loop {
        let found = K::list(store, &alice(), page);
        sizes.push(found.len());
        rows.extend(found.iter().cloned());
        match found.last() {
            Some(last) if found.len() == limit => page = Page::after(K::id(last), limit),
            _ => return (rows, sizes),
        }
        between(sizes.len() - 1);
    }
}

fn alice() -> Subject {
    Subject::new("alice").unwrap()
}

fn bob() -> Subject {
    Subject::new("bob").unwrap()
}
