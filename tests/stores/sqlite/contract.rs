//! The contract of the stores where a file could break it.

use futures::executor::block_on;
use grantor::application::{ApplicationFilter, Logo, RegistrationLimits};
use grantor::store::sqlite::SqliteProblem;
use grantor::store::{
    Authorization, ClientRegistry, ClientStore, Insertion, LogoWrite, Page, RecordStore, Registration, Replacement,
};
use grantor::{Approval, Client, SqliteStore, Subject};

use crate::sqlite::flow::move_to;
use crate::sqlite::records::{Template, find, id, insert, other_connection, path_of, problem, replace};
use support::folder::Folder;
use support::world::{PKCE, PNG, Reviewer as _, SESSION, World, form, logo};

/// All rules, through two stores on one file, as in two processes.
mod kit {
    use super::*;

    grantor::store_tests!(
        #[tokio::test]
        => store: SqliteStore::temporary().unwrap(), another: SqliteStore::open(path_of(&store)).unwrap()
    );
}

#[test]
fn subjects_are_distinguished_by_every_byte() {
    let names = ["a", "A", "a ", "a\0", "\0a", "a\0b", "\u{e9}", "e\u{301}", "1", "01", "1.0", "%", "'", "\u{1f600}"];
    let mut world = block_on(World::platform());
    let store = SqliteStore::temporary().unwrap();
    move_to(&mut world, store.clone());
    let client = block_on(world.register(form()));
    let mut held: Vec<(Subject, String)> = Vec::new();
    for name in names {
        world.alice = Subject::new(name).unwrap();
        let pending = block_on(world.authorize(&world.query_of(&client, &PKCE))).unwrap();
        let handle = block_on(world.server.hold(&pending, &world.alice, SESSION)).unwrap();
        held.push((world.alice.clone(), handle.expose().to_owned()));
    }
    for (subject, handle) in &held {
        let found = block_on(RecordStore::<Authorization>::list(&store, subject, Page::first(10))).unwrap();
        assert_eq!(found.len(), 1, "{subject:?}");
        assert_eq!(found[0].subject(), Some(subject));
        assert!(handle.contains(&found[0].id().to_string()));
        let again = block_on(RecordStore::<Authorization>::find(&store, &found[0].id())).unwrap().unwrap();
        assert_eq!(again.encode(), found[0].encode());
    }
}

/// A submission and its approval, as a server writes them.
fn versions() -> [Registration; 2] {
    let world = block_on(World::platform());
    let registrar = world.server.registrar().unwrap();
    let id = block_on(registrar.submit(Subject::new("developer").unwrap(), form(), Some(logo()))).unwrap();
    let now = |logo| {
        let client = Client::clone(&block_on(world.store.current(&id)).unwrap().unwrap());
        let application = block_on(world.store.application(&id)).unwrap().unwrap();
        let mut registration = Registration::new(client, (*application).clone());
        registration.logo = logo;
        registration
    };
    let submitted = now(LogoWrite::Put(logo().into()));
    block_on(registrar.approve_now(&id, Approval::default())).unwrap();
    [submitted, now(LogoWrite::Keep)]
}

fn logo_of(bytes: usize, fill: u8) -> Logo {
    Logo::new([PNG, &vec![fill; bytes - PNG.len()]].concat(), &RegistrationLimits::default()).unwrap()
}

/// A submission and its approval, each with a different logo of so many bytes.
pub(crate) fn two_versions_with_logos(bytes: usize) -> [Registration; 2] {
    let mut versions = versions();
    for (registration, fill) in versions.iter_mut().zip(0..) {
        registration.logo = LogoWrite::Put(logo_of(bytes, fill).into());
    }
    versions
}

/// Row, parts and lists change together or not at all, whichever statement fails.
#[test]
fn a_registration_that_fails_half_way_leaves_no_trace() {
    let versions = versions();
    let folder = Folder::new("half-way");
    let store = SqliteStore::open(folder.file()).unwrap();
    let template = Template::new();
    let client = versions[0].client.id();
    let fails = other_connection(&folder.file());
    let fail_on = |table: &str, when: &str| {
        let sql = format!("CREATE TRIGGER fails BEFORE {when} ON grantor_{table} BEGIN SELECT RAISE(ABORT, 'no'); END");
        fails.execute_batch(&sql).unwrap();
    };
    for table in ["clients_lists", "clients_parts"] {
        fail_on(table, "INSERT");
        let error = block_on(ClientRegistry::insert(&store, versions[0].clone())).unwrap_err();
        assert!(!error.is_transient());
        assert_eq!(problem(&error), SqliteProblem::Refused);
        assert_eq!(block_on(store.current(client)).unwrap(), None, "{table}");
        assert_eq!(block_on(store.application(client)).unwrap(), None, "{table}");
        assert!(
            block_on(ClientRegistry::list(&store, &ApplicationFilter::All, Page::first(1))).unwrap().is_empty(),
            "{table}"
        );
        fails.execute_batch("DROP TRIGGER fails").unwrap();
    }
    let _ = block_on(ClientRegistry::insert(&store, versions[0].clone())).unwrap();
    let before = block_on(store.current(client)).unwrap();
    for (table, when) in [("clients_parts", "INSERT"), ("clients_lists", "INSERT"), ("clients_lists", "DELETE")] {
        fail_on(table, when);
        let version = versions[0].client.version();
        let error = block_on(ClientRegistry::replace(&store, version, versions[1].clone())).unwrap_err();
        assert_eq!(problem(&error), SqliteProblem::Refused);
        assert_eq!(block_on(store.current(client)).unwrap(), before, "{table}");
        let listed =
            block_on(ClientRegistry::list(&store, &ApplicationFilter::AwaitingReview, Page::first(1))).unwrap();
        assert_eq!(listed.len(), 1, "{table}");
        fails.execute_batch("DROP TRIGGER fails").unwrap();
    }
    let _ = insert(&store, template.grant(id(1), 1)).unwrap();
}

#[test]
fn everything_acknowledged_is_there_after_the_file_is_opened_again() {
    let folder = Folder::new("again");
    let template = Template::new();
    let world = block_on(World::platform());
    block_on(world.code());
    let authorization =
        block_on(RecordStore::<Authorization>::list(&world.store, &world.alice, Page::first(1))).unwrap().remove(0);
    let [registration, _] = versions();
    for round in 0..3 {
        let store = SqliteStore::open(folder.file()).unwrap();
        for number in 0..10 {
            let number = round * 10 + number;
            assert_eq!(insert(&store, template.grant(id(number), 1)).unwrap(), Insertion::Inserted);
            assert_eq!(replace(&store, 1, template.grant(id(number), 2)).unwrap(), Replacement::Replaced);
        }
        if round == 0 {
            let _ = block_on(RecordStore::<Authorization>::insert(&store, authorization.clone())).unwrap();
            let _ = block_on(ClientRegistry::insert(&store, registration.clone())).unwrap();
        }
    }
    let store = SqliteStore::open(folder.file()).unwrap();
    for number in 0..30 {
        assert_eq!(find(&store, id(number)), Some(template.grant(id(number), 2)));
    }
    let found = block_on(RecordStore::<Authorization>::find(&store, &authorization.id())).unwrap();
    assert_eq!(found.as_deref().map(Authorization::encode), Some(authorization.encode()));
    let client = block_on(ClientStore::find(&store, registration.client.id())).unwrap();
    assert_eq!(client.as_deref(), Some(&registration.client));
}
