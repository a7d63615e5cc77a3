//! The contract of the stores where a file could break it.

use std::sync::Arc;

use futures::executor::block_on;
use grantor::application::ApplicationFilter;
use grantor::store::sqlite::SqliteProblem;
use grantor::store::{ApplicationLogo, ClientStore as _, Page, Record, RecordStore};
use grantor::{Application, Approval, SqliteStore, Subject};

use crate::sqlite::records::{Template, id, insert, other_connection, path_of, problem};
use support::folder::Folder;
use support::world::{PNG, Reviewer as _, World, form, logo};

/// All rules, through two stores on one file, as in two processes.
mod kit {
    use super::*;

    grantor::store_tests!(
        #[tokio::test]
        => store: SqliteStore::temporary().unwrap(), another: SqliteStore::open(path_of(&store)).unwrap()
    );
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
