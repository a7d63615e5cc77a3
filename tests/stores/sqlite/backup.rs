//! Copies of a file that is still being written.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use futures::executor::block_on;
use grantor::SqliteStore;
use grantor::store::sqlite::SqliteProblem;
use grantor::store::{ApplicationLogo, Record, RecordStore, Replacement};

use crate::sqlite::contract::versions_of_a_large_logo;
use crate::sqlite::records::{Template, assert_sound, find, id, insert, replace};
use support::folder::Folder;

/// Row 0 counts the other rows: it is written after each of them.
#[test]
fn a_backup_under_load_is_one_moment_of_the_file() {
    let folder = Folder::new("backup");
    let store = SqliteStore::open(folder.file()).unwrap();
    let template = Template::new();
    let _ = insert(&store, template.grant(id(0), 1)).unwrap();
    let acknowledged = AtomicU32::new(0);
    let stop = AtomicBool::new(false);
    let copies: Vec<_> = (0..5).map(|number| folder.path().join(format!("copy-{number}"))).collect();
    let known: Vec<u32> = thread::scope(|scope| {
        scope.spawn(|| {
            for number in 1.. {
                let _ = insert(&store, template.grant(id(number), 1)).unwrap();
                let answer = replace(&store, number, template.grant(id(0), number + 1)).unwrap();
                assert_eq!(answer, Replacement::Replaced);
                acknowledged.store(number, Ordering::SeqCst);
                if stop.load(Ordering::SeqCst) {
                    return;
                }
            }
        });
        let backup = |path| {
            let known = acknowledged.load(Ordering::SeqCst);
            block_on(store.backup(path)).unwrap();
            known
        };
        let known = copies.iter().map(backup).collect();
        stop.store(true, Ordering::SeqCst);
        known
    });
    for (path, known) in copies.iter().zip(known) {
        assert_sound(path);
        let copy = SqliteStore::open(path).unwrap();
        let counted = find(&copy, id(0)).unwrap().version() - 1;
        assert!(counted >= known, "{counted} rows, of {known} that were acknowledged before");
        assert!((1..=counted).all(|number| find(&copy, id(number)).is_some()));
        assert!(find(&copy, id(counted + 2)).is_none());
        // A copy is a store like any other.
        let _ = insert(&copy, template.grant(id(counted + 2), 1)).unwrap();
        assert!(find(&copy, id(counted + 2)).is_some());
    }
    assert!(!folder.names().iter().any(|name| name.ends_with(".partial")), "{:?}", folder.names());
}

#[test]
fn a_backup_replaces_no_file() {
    let folder = Folder::new("exists");
    let store = SqliteStore::open(folder.file()).unwrap();
    let path = folder.path().join("copy");
    block_on(store.backup(&path)).unwrap();
    let before = fs::read(&path).unwrap();
    let _ = insert(&store, Template::new().grant(id(1), 1)).unwrap();
    assert_eq!(block_on(store.backup(&path)).unwrap_err().problem(), SqliteProblem::Exists);
    assert_eq!(block_on(store.backup(folder.file())).unwrap_err().problem(), SqliteProblem::Exists);
    assert_eq!(fs::read(&path).unwrap(), before);
    fs::write(folder.path().join("broken-off.partial"), "").unwrap();
    let error = block_on(store.backup(folder.path().join("broken-off"))).unwrap_err();
    assert_eq!(error.problem(), SqliteProblem::Exists);
    let error = block_on(store.backup(folder.path().join("none/copy"))).unwrap_err();
    assert_eq!(error.problem(), SqliteProblem::Missing);
}

#[test]
fn a_backup_replaces_no_file_that_appears_while_it_is_written() {
    const ROUNDS: usize = 20;
    let folder = Folder::new("appears");
    let store = SqliteStore::open(folder.file()).unwrap();
    let [large, _] = versions_of_a_large_logo();
    let _ = block_on(RecordStore::<ApplicationLogo>::insert(&store, large)).unwrap();
    let mut came_first = 0;
    for number in 0..ROUNDS {
        let path = folder.path().join(format!("copy-{number}"));
        let partial = folder.path().join(format!("copy-{number}.partial"));
        thread::scope(|scope| {
            let backup = scope.spawn(|| block_on(store.backup(&path)));
            while !partial.exists() && !backup.is_finished() {}
            let created = fs::File::create_new(&path);
            let written = backup.join().unwrap();
            if created.is_ok() {
                assert_eq!(written.unwrap_err().problem(), SqliteProblem::Exists);
                assert_eq!(fs::metadata(&path).unwrap().len(), 0, "it is as it was");
                came_first += 1;
            } else {
                written.unwrap();
            }
            assert!(!partial.exists());
        });
    }
    assert!(came_first > 0, "no file appeared in time");
}

#[test]
fn a_backup_of_a_temporary_store_is_durable() {
    let folder = Folder::new("kept");
    let store = SqliteStore::temporary().unwrap();
    let template = Template::new();
    let _ = insert(&store, template.grant(id(1), 1)).unwrap();
    block_on(store.backup(folder.file())).unwrap();
    drop(store);
    assert_eq!(find(&SqliteStore::open(folder.file()).unwrap(), id(1)), Some(template.grant(id(1), 1)));
    assert_eq!(folder.names(), ["store.sqlite"]);
}

/// A copy that was put in the place of a file whose process was killed: its log stays, and would damage the copy.
#[test]
fn a_copy_beside_an_old_log_is_refused() {
    let folder = Folder::new("foreign-log");
    let (copy, kept) = (folder.path().join("copy"), folder.path().join("kept"));
    let template = Template::new();
    let [log, index] = ["-wal", "-shm"].map(|ending| PathBuf::from(format!("{}{ending}", folder.file().display())));
    {
        let store = SqliteStore::open(folder.file()).unwrap();
        let _ = insert(&store, template.grant(id(1), 1)).unwrap();
        block_on(store.backup(&copy)).unwrap();
        let _ = insert(&store, template.grant(id(2), 1)).unwrap();
        fs::copy(&log, &kept).unwrap();
    }
    fs::rename(&copy, folder.file()).unwrap();
    fs::copy(&kept, &log).unwrap();
    for _ in 0..2 {
        let refused = SqliteStore::open(folder.file()).unwrap_err();
        assert_eq!((refused.problem(), refused.is_transient()), (SqliteProblem::ForeignLog, false));
        assert!(refused.to_string().contains("remove the -wal and the -shm"), "{refused}");
    }
    fs::remove_file(&log).unwrap();
    let _ = fs::remove_file(&index);
    // An honest restart, after which the file has a log of its own.
    for _ in 0..2 {
        let store = SqliteStore::open(folder.file()).unwrap();
        assert!(find(&store, id(1)).is_some() && find(&store, id(2)).is_none());
        let _ = insert(&store, template.grant(id(3), 1)).unwrap();
        std::mem::forget(store);
    }
}
