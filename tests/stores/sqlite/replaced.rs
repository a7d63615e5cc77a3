//! Files that are removed or replaced while a store has them open.

use std::fs;

use futures::executor::block_on;
use grantor::SqliteStore;
use grantor::store::sqlite::SqliteProblem;
use grantor::store::{Grant, Insertion, RecordStore};

use crate::sqlite::records::{Template, find, id, insert, problem};
use support::folder::Folder;

/// Asserts that nothing is acknowledged, read or copied any more.
#[track_caller]
fn assert_stopped(store: &SqliteStore, folder: &Folder) {
    let template = Template::new();
    for number in 100..103 {
        let error = insert(store, template.grant(id(number), 1)).unwrap_err();
        assert_eq!(problem(&error), SqliteProblem::Replaced);
        assert!(!error.is_transient());
    }
    let error = block_on(RecordStore::<Grant>::find(store, &id(1))).unwrap_err();
    assert_eq!(problem(&error), SqliteProblem::Replaced);
    let copy = folder.path().join("copy");
    assert_eq!(block_on(store.backup(&copy)).unwrap_err().problem(), SqliteProblem::Replaced);
    assert!(folder.names().iter().all(|name| !name.starts_with("copy")), "{:?}", folder.names());
}

#[test]
fn a_file_that_is_removed_takes_no_write_with_it() {
    let folder = Folder::new("removed");
    let store = SqliteStore::open(folder.file()).unwrap();
    let _ = insert(&store, Template::new().grant(id(1), 1)).unwrap();
    fs::remove_file(folder.file()).unwrap();
    let error = insert(&store, Template::new().grant(id(2), 1)).unwrap_err();
    assert_eq!(problem(&error), SqliteProblem::Replaced);
    assert_stopped(&store, &folder);
    // Another store at its path, such as that of a command, changes nothing.
    let other = SqliteStore::open(folder.file()).unwrap();
    assert_stopped(&store, &folder);
    assert_eq!(find(&other, id(1)), None);
}

#[test]
fn a_file_moved_over_another_ends_its_store() {
    let folder = Folder::new("moved-over");
    let template = Template::new();
    let copy = folder.path().join("of-today");
    let store = SqliteStore::open(folder.file()).unwrap();
    let _ = insert(&store, template.grant(id(1), 1)).unwrap();
    block_on(store.backup(&copy)).unwrap();
    let _ = insert(&store, template.grant(id(2), 1)).unwrap();
    fs::rename(&copy, folder.file()).unwrap();
    assert_stopped(&store, &folder);
}

#[test]
fn a_store_goes_on_when_its_file_is_back() {
    let folder = Folder::new("back");
    let template = Template::new();
    let away = folder.path().join("away");
    let store = SqliteStore::open(folder.file()).unwrap();
    let _ = insert(&store, template.grant(id(1), 1)).unwrap();
    fs::rename(folder.file(), &away).unwrap();
    let error = insert(&store, template.grant(id(2), 1)).unwrap_err();
    assert_eq!(problem(&error), SqliteProblem::Replaced);
    fs::rename(&away, folder.file()).unwrap();
    assert_eq!(insert(&store, template.grant(id(2), 1)).unwrap(), Insertion::Inserted);
    drop(store);
    let store = SqliteStore::open(folder.file()).unwrap();
    assert!([1, 2].iter().all(|number| find(&store, id(*number)).is_some()));
}

#[test]
fn a_log_that_is_removed_takes_no_write_with_it() {
    for ending in ["-wal", "-shm"] {
        let folder = Folder::new("log-removed");
        let store = SqliteStore::open(folder.file()).unwrap();
        let _ = insert(&store, Template::new().grant(id(1), 1)).unwrap();
        fs::remove_file(folder.path().join(format!("store.sqlite{ending}"))).unwrap();
        // A read from a log that no other process has would be acknowledged, and is lost with this process.
        let error = block_on(RecordStore::<Grant>::find(&store, &id(1))).unwrap_err();
        assert_eq!(problem(&error), SqliteProblem::Replaced, "{ending}");
        let error = insert(&store, Template::new().grant(id(2), 1)).unwrap_err();
        assert_eq!(problem(&error), SqliteProblem::Replaced, "{ending}");
        let error = block_on(store.backup(folder.path().join("copy"))).unwrap_err();
        assert_eq!(error.problem(), SqliteProblem::Replaced, "{ending}");
    }
}

/// A link is followed: the log is next to the linked file.
#[test]
fn a_link_that_leads_elsewhere_ends_the_store() {
    let folder = Folder::new("link");
    let [one, other, link] = ["one", "other", "link"].map(|name| folder.path().join(name));
    drop(SqliteStore::open(&other).unwrap());
    drop(SqliteStore::open(&one).unwrap());
    std::os::unix::fs::symlink(&one, &link).unwrap();
    let store = SqliteStore::open(&link).unwrap();
    let _ = insert(&store, Template::new().grant(id(1), 1)).unwrap();
    assert_eq!(folder.names(), ["link", "one", "one-shm", "one-wal", "other"]);
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&other, &link).unwrap();
    assert_stopped(&store, &folder);
}
