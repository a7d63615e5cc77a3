//! How large records are, in memory, as they are stored, and in a file.

use std::path::PathBuf;

use futures::executor::block_on;
use grantor::store::{Authorization, Grant, Record};
use grantor::testing::SeededEntropy;
use grantor::{SqliteStore, Subject};
use rusqlite::Connection;

use support::world::{World, form};

/// Every byte counts as often as there are grants.
#[test]
fn records_in_memory() {
    assert_eq!(size_of::<Grant>(), 288);
    assert_eq!(size_of::<Authorization>(), 360);
}

/// A grant of one pair and of two, with 45 bytes of scopes, 22 of client id and five of subject.
#[test]
fn records_as_they_are_stored() {
    let world = block_on(World::platform());
    let first = block_on(world.pair());
    let encoded = || block_on(world.server.grants_of(&world.alice)).unwrap()[0].encode().len();
    assert_eq!(encoded(), 244);
    block_on(world.refresh(&first.refresh));
    assert_eq!(encoded(), 348);
}

/// With one pair, table and indexes. One request follows the other, so the order of commits, which decides how pages
/// are split, is the same in every run, and so is the figure.
#[test]
fn a_grant_in_a_file_of_sqlite() {
    const GRANTS: i64 = 4000;
    let store = SqliteStore::temporary().unwrap();
    // `Debug` shows where the file is.
    let path: PathBuf = format!("{store:?}").split('"').nth(1).unwrap().into();
    let mut world = block_on(World::platform());
    let config = grantor::Config::platform(support::world::ISSUER);
    world.server = world.builder(config, store).entropy(SeededEntropy::new(3)).build().unwrap();
    world.client = block_on(world.register(form()));
    for number in 0..GRANTS / 10 {
        // No user has more pages open at once.
        world.alice = Subject::new(format!("a-{number:03}")).unwrap();
        (0..10).for_each(|_| drop(block_on(world.pair())));
    }
    let pages = "SELECT sum(pgsize) FROM dbstat WHERE name LIKE '%grantor_grants%'";
    let bytes: i64 = Connection::open(path).unwrap().query_row(pages, [], |row| row.get(0)).unwrap();
    println!("{} bytes a grant", bytes / GRANTS);
    assert!(bytes / GRANTS <= 421, "{} bytes a grant", bytes / GRANTS);
}
