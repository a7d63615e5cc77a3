//! The index of due times, which may be earlier than the record's own time.

use std::path::Path;
use std::thread;

use futures::executor::block_on;
use grantor::store::{Authorization, Grant, Insertion, Page, Purge, Record, RecordStore, Replacement};
use grantor::{Consent, Decision, SqliteStore, Timestamp};

use crate::sqlite::flow::move_to;
use crate::sqlite::records::{Template, find, id, insert, other_connection, replace};
use support::folder::Folder;
use support::world::{PKCE, SESSION, World, form};

/// The purge index of every grant.
fn index(path: &Path) -> Vec<i64> {
    let connection = other_connection(path);
    let mut statement = connection.prepare("SELECT due_check FROM grantor_grants ORDER BY key").unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

fn purge(store: &SqliteStore, now: Timestamp, limit: usize) -> Purge {
    block_on(RecordStore::<Grant>::purge(store, now, limit)).unwrap()
}

fn earlier(time: Timestamp, seconds: u32) -> Timestamp {
    Timestamp::from_seconds(time.seconds() - seconds)
}

#[test]
fn a_row_goes_at_its_time_and_not_a_second_before() {
    let store = SqliteStore::temporary().unwrap();
    let grant = Template::new().grant(id(1), 1);
    let due = grant.purge_after().unwrap();
    let _ = insert(&store, grant.clone()).unwrap();
    let before = purge(&store, earlier(due, 1), 10);
    assert_eq!((before.removed(), before.is_finished()), (0, true));
    assert_eq!(find(&store, id(1)), Some(grant.clone()));
    let at = purge(&store, due, 10);
    assert_eq!((at.removed(), at.is_finished()), (1, true));
    assert_eq!(find(&store, id(1)), None);
    assert!(
        block_on(RecordStore::<Grant>::list(&store, grant.subject().unwrap().as_str(), Page::first(1)))
            .unwrap()
            .is_empty()
    );
    assert_eq!(replace(&store, 1, grant.clone()).unwrap(), Replacement::Lost);
    assert_eq!(insert(&store, grant).unwrap(), Insertion::Inserted, "the id is free again");
}

#[test]
fn a_purge_looks_at_no_more_than_its_limit_and_goes_on_where_it_stopped() {
    let store = SqliteStore::temporary().unwrap();
    let template = Template::new();
    // More rows than a purge removes before other writes get their turn.
    for number in 0..600 {
        let _ = insert(&store, template.grant(id(number), 1)).unwrap();
    }
    let due = template.grant(id(0), 1).purge_after().unwrap();
    let none = purge(&store, due, 0);
    assert_eq!((none.removed(), none.is_finished()), (0, false));
    let mut removed = Vec::new();
    loop {
        let step = purge(&store, due, 280);
        removed.push(step.removed());
        if step.is_finished() {
            break;
        }
    }
    assert_eq!(removed, [280, 280, 40]);
}

#[test]
fn a_refresh_writes_no_index_and_the_purge_moves_it_on_only() {
    let folder = Folder::new("index");
    let store = SqliteStore::open(folder.file()).unwrap();
    let mut world = block_on(World::platform());
    move_to(&mut world, store.clone());
    let client = block_on(world.register(form()));
    let pair = block_on(world.pair_of(&client));
    let only = || -> Grant {
        (*block_on(RecordStore::<Grant>::list(&store, world.alice.as_str(), Page::first(1))).unwrap()[0]).clone()
    };
    let first = only();
    let indexed = [i64::from(first.purge_after().unwrap().seconds())];
    assert_eq!(index(&folder.file()), indexed);
    world.advance(1000);
    assert_eq!(block_on(world.refresh_as(&client, &pair.refresh)).status(), 200);
    let refreshed = only();
    assert!(first.purge_after().unwrap() < refreshed.purge_after().unwrap());
    assert_eq!(index(&folder.file()), indexed, "a refresh writes no index");

    assert_eq!(purge(&store, first.purge_after().unwrap(), 10).removed(), 0);
    let moved = [i64::from(refreshed.purge_after().unwrap().seconds())];
    assert_eq!(index(&folder.file()), moved);
    // A record whose own time is earlier than the index does not change the index.
    assert_eq!(replace(&store, refreshed.version(), Grant::clone(&first).into()).unwrap(), Replacement::Replaced);
    assert_eq!(purge(&store, first.purge_after().unwrap(), 10).removed(), 0);
    assert_eq!(index(&folder.file()), moved, "it only rises");
    assert_eq!(purge(&store, refreshed.purge_after().unwrap(), 10).removed(), 1);
}

#[test]
fn an_unreadable_row_goes_at_its_time_and_not_before() {
    let folder = Folder::new("unreadable");
    let store = SqliteStore::open(folder.file()).unwrap();
    let template = Template::new();
    for number in 0..3 {
        let _ = insert(&store, template.grant(id(number), 1)).unwrap();
    }
    let due = template.grant(id(0), 1).purge_after().unwrap();
    // As a later release may write it.
    let unreadable = "UPDATE grantor_grants SET record = x'4763', due_check = due_check - 1 WHERE key = ?1";
    other_connection(&folder.file()).execute(unreadable, [id(1).as_bytes()]).unwrap();
    assert_eq!(purge(&store, earlier(due, 1), 10).removed(), 0, "its index is past, its own time is not");
    let error = block_on(RecordStore::<Grant>::find(&store, &id(1))).unwrap_err();
    assert_eq!(error.unreadable_key(), Some(&id(1).as_bytes()[..]));
    assert!(!error.is_transient());
    let source = std::error::Error::source(&error).unwrap();
    assert_eq!(source.downcast_ref(), Some(&grantor::store::DecodeError::UnknownLayout));
    assert_eq!(purge(&store, due, 10).removed(), 3);
    assert_eq!(find(&store, id(1)), None);
}

#[test]
fn a_row_without_a_due_time_stays() {
    let folder = Folder::new("stays");
    let store = SqliteStore::open(folder.file()).unwrap();
    let grant = Template::new().grant(id(1), 1);
    let _ = insert(&store, grant.clone()).unwrap();
    let stays = "UPDATE grantor_grants SET due = NULL";
    other_connection(&folder.file()).execute(stays, []).unwrap();
    let purged = purge(&store, grant.purge_after().unwrap(), 10);
    assert_eq!((purged.removed(), purged.is_finished()), (0, true));
    assert_eq!(find(&store, id(1)), Some(grant));
}

#[test]
fn rows_that_are_not_due_count_as_examined() {
    let folder = Folder::new("examined");
    let store = SqliteStore::open(folder.file()).unwrap();
    let template = Template::new();
    for number in 0..8 {
        let _ = insert(&store, template.grant(id(number), 1)).unwrap();
    }
    let due = template.grant(id(0), 1).purge_after().unwrap();
    // Every second row was refreshed since.
    let later = "UPDATE grantor_grants SET due = due + 1 WHERE rowid % 2 = 0";
    other_connection(&folder.file()).execute(later, []).unwrap();
    let steps: Vec<_> =
        (0..3).map(|_| purge(&store, due, 4)).map(|step| (step.removed(), step.is_finished())).collect();
    assert_eq!(steps, [(2, false), (2, false), (0, true)]);
    assert_eq!(purge(&store, Timestamp::from_seconds(due.seconds() + 1), 10).removed(), 4);
}

#[test]
fn an_authorization_that_was_decided_late_outlives_its_index() {
    let store = SqliteStore::temporary().unwrap();
    let mut world = block_on(World::platform());
    move_to(&mut world, store.clone());
    let client = block_on(world.register(form()));
    let pending = block_on(world.authorize(&world.query_of(&client, &PKCE))).unwrap();
    let handle = block_on(world.server.hold(&pending, &world.alice, SESSION)).unwrap();
    let only = || {
        block_on(RecordStore::<Authorization>::list(&store, world.alice.as_str(), Page::first(1))).unwrap().remove(0)
    };
    let indexed = only().purge_after().unwrap();
    world.advance(1500);
    let agree = Decision::Approve(Consent::to_everything());
    block_on(world.server.decide(handle.expose(), &world.alice, SESSION, &agree)).unwrap();
    let due = only().purge_after().unwrap();
    assert!(indexed < due);
    let purge = |now| block_on(RecordStore::<Authorization>::purge(&store, now, 10)).unwrap().removed();
    assert_eq!((purge(indexed), purge(earlier(due, 1))), (0, 0));
    assert_eq!(purge(due), 1);
    assert!(
        block_on(RecordStore::<Authorization>::list(&store, world.alice.as_str(), Page::first(1))).unwrap().is_empty()
    );
}

#[test]
fn a_purge_and_the_writes_of_another_process_do_not_disturb_each_other() {
    const ROWS: u32 = 300;
    let folder = Folder::new("disturb");
    // Two stores have two writers, as two processes have.
    let [one, other] = [(); 2].map(|()| SqliteStore::open(folder.file()).unwrap());
    let template = Template::new();
    let due = template.grant(id(0), 1).purge_after().unwrap();
    let removed: usize = thread::scope(|scope| {
        let writes = scope.spawn(|| {
            for number in 0..ROWS {
                assert_eq!(insert(&one, template.grant(id(number), 1)).unwrap(), Insertion::Inserted);
            }
        });
        let mut removed = 0;
        while !writes.is_finished() {
            removed += purge(&other, due, 10).removed();
        }
        removed
    });
    let rest = purge(&other, due, 1000).removed();
    assert_eq!(removed + rest, usize::try_from(ROWS).unwrap());
}
