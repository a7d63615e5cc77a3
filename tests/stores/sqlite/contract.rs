//! The contract of the stores where a file could break it.

use std::sync::Arc;

use futures::executor::block_on;
use grantor::application::ApplicationFilter;
use grantor::store::sqlite::SqliteProblem;
use grantor::store::{
    ApplicationLogo, Authorization, ClientStore as _, Insertion, Page, Record, RecordStore, Replacement,
};
use grantor::{Application, Approval, SqliteStore, Subject};

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
        let found = block_on(RecordStore::<Authorization>::list(&store, subject.as_str(), Page::first(10))).unwrap();
        assert_eq!(found.len(), 1, "{subject:?}");
        assert_eq!(found[0].subject(), Some(subject));
        assert!(handle.contains(&found[0].id().to_string()));
        let again = block_on(RecordStore::<Authorization>::find(&store, &found[0].id())).unwrap().unwrap();
        assert_eq!(again.encode(), found[0].encode());
    }
}

/// A submission and its approval, as a server writes them: the same in every process.
pub(crate) fn versions() -> [Arc<Application>; 2] {
    let world = block_on(World::platform());
    let registrar = world.server.registrar().unwrap();
    let id = block_on(registrar.submit(Subject::new("developer").unwrap(), form(), Some(logo()))).unwrap();
    let submitted = block_on(registrar.application(&id)).unwrap();
    block_on(registrar.approve_now(&id, Approval::default())).unwrap();
    [submitted, block_on(registrar.application(&id)).unwrap()]
}

/// Two versions of one logo, with different images of a mebibyte: the same in every process.
pub(crate) fn versions_of_a_large_logo() -> [Arc<ApplicationLogo>; 2] {
    [1_u8, 2].map(|version| {
        let image = [PNG, &vec![version; (1 << 20) - PNG.len()]].concat();
        // Kind, layout, id, version, no end, and the image with its length.
        let length = u32::try_from(image.len()).unwrap().to_be_bytes();
        let record = [b"O\x01", &[7; 16][..], &[0, 0, 0, version], &[0], &length, &image].concat();
        Arc::new(ApplicationLogo::decode(&record).unwrap())
    })
}

/// Row and lists change together or not at all, whichever statement fails.
#[test]
fn an_application_that_fails_half_way_leaves_no_trace() {
    let [submitted, approved] = versions();
    let folder = Folder::new("half-way");
    let store = SqliteStore::open(folder.file()).unwrap();
    let template = Template::new();
    let client = submitted.id();
    let fails = other_connection(&folder.file());
    let fail_on = |table: &str, when: &str| {
        let sql = format!("CREATE TRIGGER fails BEFORE {when} ON grantor_{table} BEGIN SELECT RAISE(ABORT, 'no'); END");
        fails.execute_batch(&sql).unwrap();
    };
    let listed = |filter: ApplicationFilter| {
        block_on(RecordStore::<Application>::list(&store, &filter.key(), Page::first(1))).unwrap().len()
    };
    fail_on("applications_lists", "INSERT");
    let error = block_on(RecordStore::<Application>::insert(&store, submitted.clone())).unwrap_err();
    assert!(!error.is_transient());
    assert_eq!(problem(&error), SqliteProblem::Refused);
    assert_eq!(block_on(store.client(client)).unwrap(), None);
    assert_eq!(listed(ApplicationFilter::All), 0);
    fails.execute_batch("DROP TRIGGER fails").unwrap();
    let _ = block_on(RecordStore::<Application>::insert(&store, submitted.clone())).unwrap();
    for when in ["INSERT", "DELETE"] {
        fail_on("applications_lists", when);
        let replaced = block_on(RecordStore::<Application>::replace(&store, submitted.version(), approved.clone()));
        assert_eq!(problem(&replaced.unwrap_err()), SqliteProblem::Refused);
        let found = block_on(RecordStore::<Application>::find(&store, client)).unwrap();
        assert_eq!(found, Some(submitted.clone()), "{when}");
        assert_eq!(listed(ApplicationFilter::AwaitingReview), 1, "{when}");
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
        block_on(RecordStore::<Authorization>::list(&world.store, world.alice.as_str(), Page::first(1)))
            .unwrap()
            .remove(0);
    let [application, _] = versions();
    for round in 0..3 {
        let store = SqliteStore::open(folder.file()).unwrap();
        for number in 0..10 {
            let number = round * 10 + number;
            assert_eq!(insert(&store, template.grant(id(number), 1)).unwrap(), Insertion::Inserted);
            assert_eq!(replace(&store, 1, template.grant(id(number), 2)).unwrap(), Replacement::Replaced);
        }
        if round == 0 {
            let _ = block_on(RecordStore::<Authorization>::insert(&store, authorization.clone())).unwrap();
            let _ = block_on(RecordStore::<Application>::insert(&store, application.clone())).unwrap();
        }
    }
    let store = SqliteStore::open(folder.file()).unwrap();
    for number in 0..30 {
        assert_eq!(find(&store, id(number)), Some(template.grant(id(number), 2)));
    }
    let found = block_on(RecordStore::<Authorization>::find(&store, &authorization.id())).unwrap();
    assert_eq!(found.as_deref().map(Authorization::encode), Some(authorization.encode()));
    assert_eq!(block_on(store.client(application.id())).unwrap().as_ref(), Some(application.client()));
}
