//! The index of due times, which may be earlier than the record's own time.

use std::path::Path;

use futures::executor::block_on;
use grantor::store::{Grant, Page, Purge, Record, RecordStore, Replacement};
use grantor::{SqliteStore, Timestamp};

use crate::sqlite::flow::move_to;
use crate::sqlite::records::{Template, id, insert, other_connection, replace};
use support::folder::Folder;
use support::world::{World, form};

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

#[test]
fn a_purge_examines_no_more_than_its_limit() {
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

/// The purge moves the index on, and only to a later time.
#[test]
fn a_refresh_writes_no_purge_index() {
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
