//! What a restored backup makes valid again, and how an operator revokes it.

use std::fs;

use futures::executor::block_on;
use grantor::SqliteStore;
use grantor::application::ApplicationFilter;
use grantor::store::Page;

use crate::sqlite::flow::move_to;
use support::folder::Folder;
use support::world::{Credentials, PKCE, World, e400, form, pair};

/// A code that was exchanged after the backup, and its grant withdrawn; then the backup is restored.
struct Restored {
    world: World,
    client: Credentials,
    code: String,
    _folder: Folder,
}

impl Restored {
    fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        let copy = folder.path().join("copy");
        let mut world = block_on(World::platform());
        let store = SqliteStore::open(folder.file()).unwrap();
        move_to(&mut world, store.clone());
        let client = block_on(world.register(form()));
        let code = block_on(world.code_for(&world.query_of(&client, &PKCE)));
        block_on(store.backup(&copy)).unwrap();
        let first = pair(&block_on(world.exchange_as(&client, &code)));
        assert_eq!(block_on(world.server.revoke_subject(&world.alice)).unwrap(), 1);
        assert!(!block_on(world.opens(&first.access)));

        drop(store);
        move_to(&mut world, SqliteStore::temporary().unwrap());
        fs::rename(&copy, folder.file()).unwrap();
        let store = SqliteStore::open(folder.file()).unwrap();
        move_to(&mut world, store);
        Self { world, client, code, _folder: folder }
    }
}

#[test]
fn a_code_that_was_spent_since_works_again_until_its_end() {
    let Restored { world, client, code, _folder } = Restored::new("code");
    let again = pair(&block_on(world.exchange_as(&client, &code)));
    assert!(block_on(world.opens(&again.access)));
}

#[test]
fn an_older_backup_brings_no_code_back() {
    let Restored { world, client, code, _folder } = Restored::new("old");
    world.advance(world.server.config().authorization.code_lifetime.as_secs());
    e400(&block_on(world.exchange_as(&client, &code)), "invalid_grant");
}

#[test]
fn revoking_all_grants_of_a_client_ends_its_codes() {
    let Restored { world, client, code, _folder } = Restored::new("withdrawn");
    let registrar = world.server.registrar().unwrap();
    for application in block_on(registrar.list(&ApplicationFilter::All, Page::first(10))).unwrap() {
        block_on(registrar.revoke_grants(application.id())).unwrap();
    }
    e400(&block_on(world.exchange_as(&client, &code)), "invalid_grant");
}
