//! Unreadable records of another release affect nothing but themselves.

use std::path::Path;

use futures::executor::block_on;
use grantor::store::{Authorization, DecodeError, Grant, Page, RecordStore, StoreError};
use grantor::{SqliteStore, Subject};

use crate::sqlite::flow::move_to;
use crate::sqlite::records::other_connection;
use support::folder::Folder;
use support::world::{PKCE, SESSION, World};

/// Gives a record a layout that no release knows yet.
fn spoil(path: &Path, table: &str, id: &[u8; 16]) {
    let kind = if table == "grantor_grants" { b'G' } else { b'A' };
    let sql = format!("UPDATE {table} SET record = ?2 WHERE key = ?1");
    assert_eq!(other_connection(path).execute(&sql, [&id[..], &[kind, 9]]).unwrap(), 1);
}

fn assert_unreadable(error: &StoreError) {
    let source = std::error::Error::source(error).unwrap();
    assert_eq!(source.downcast_ref(), Some(&DecodeError::UnknownLayout));
}

#[test]
fn all_is_withdrawn_but_what_cannot_be_read() {
    const GRANTS: usize = 130;
    let folder = Folder::new("withdrawn");
    let store = SqliteStore::open(folder.file()).unwrap();
    let mut world = block_on(World::platform());
    move_to(&mut world, store.clone());
    // No client has more than its bound of them.
    let clients: Vec<_> = (0..3).map(|_| block_on(world.register(support::world::form()))).collect();
    let client = clients[0].clone();
    let pairs: Vec<_> = (0..GRANTS).map(|number| block_on(world.pair_of(&clients[number % 3]))).collect();
    // Their codes are gone, so only the list of grants leads to them.
    world.advance(3 * 3600);
    let _ = block_on(world.purge(1000));
    for _ in 0..3 {
        let pending = block_on(world.authorize(&world.query_of(&client, &PKCE))).unwrap();
        block_on(world.server.hold(&pending, &world.alice, SESSION)).unwrap();
    }
    let grants = block_on(RecordStore::<Grant>::list(&store, world.alice.as_str(), Page::first(1000))).unwrap();
    assert_eq!(grants.len(), GRANTS);
    // The first, neighbours within a page, both sides of its end, and the last.
    let unreadable = [0, 40, 41, 99, 100, GRANTS - 1].map(|place| grants[place].id());
    for id in &unreadable {
        spoil(&folder.file(), "grantor_grants", id.as_bytes());
    }
    let codes = block_on(RecordStore::<Authorization>::list(&store, world.alice.as_str(), Page::first(1000))).unwrap();
    assert_eq!(codes.len(), 3);
    spoil(&folder.file(), "grantor_authorizations", codes[1].id().as_bytes());

    assert_unreadable(&block_on(world.server.revoke_subject(&world.alice)).unwrap_err());
    let listed = |subject: &Subject| block_on(world.server.grants_of(subject));
    assert_unreadable(&listed(&world.alice).unwrap_err());
    for id in grants.iter().map(|grant| grant.id()).filter(|id| !unreadable.contains(id)) {
        let grant = block_on(RecordStore::<Grant>::find(&store, &id)).unwrap().unwrap();
        assert!(grant.revoked().is_some(), "{id} is not revoked");
    }
    let opening = pairs.iter().filter(|pair| block_on(world.opens(&pair.access))).count();
    assert_eq!(opening, 0);
}
