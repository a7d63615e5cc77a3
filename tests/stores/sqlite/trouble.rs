//! Disks that are full and files that are damaged.

use std::fs;
use std::path::Path;

use futures::executor::block_on;
use grantor::store::sqlite::SqliteProblem;
use grantor::store::{Grant, Insertion, Page, RecordStore, Replacement};
use grantor::{SqliteStore, Subject};

use crate::sqlite::processes::template_of;
use crate::sqlite::records::{Template, assert_sound, find, id, insert, problem, replace};
use support::folder::Folder;

/// Inserts until there is no room, and prints how many inserts were acknowledged, and the error.
pub(crate) fn fill(store: &SqliteStore, path: &Path, say: impl Fn(&str)) {
    let template = Template::read(&template_of(path));
    let mut written = 0;
    let error = loop {
        match insert(store, template.grant(id(written), 1)) {
            Ok(_) => written += 1,
            Err(error) => break error,
        }
    };
    let found = (0..written).all(|number| find(store, id(number)).is_some());
    say(&format!("{written} {:?} {} {found}", problem(&error), error.is_transient()));
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_a_transient_error_and_loses_nothing() {
    let folder = Folder::new("full");
    let template = Template::new();
    template.write(&template_of(&folder.file()));
    drop(SqliteStore::open(folder.file()).unwrap());
    // The operating system lets no file grow further, and does not kill the process that tries.
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; ulimit -f 600; exec \"$0\" \"$@\""]).arg(std::env::current_exe().unwrap());
    let lines = crate::sqlite::processes::Child::Fill.run_as(shell, &folder.file());
    let words: Vec<_> = lines[0].split(' ').collect();
    let written: u32 = words[0].parse().unwrap();
    assert!(written > 10, "{lines:?}");
    assert!(["Io", "Full"].contains(&words[1]), "{lines:?}");
    assert_eq!(words[2..], ["true", "true"], "transient, and everything acknowledged is found: {lines:?}");

    // There is room again.
    let store = SqliteStore::open(folder.file()).unwrap();
    for number in 0..written {
        assert_eq!(find(&store, id(number)), Some(template.grant(id(number), 1)));
    }
    let _ = insert(&store, template.grant(id(written + 1), 1)).unwrap();
    assert_eq!(replace(&store, 1, template.grant(id(0), 2)).unwrap(), Replacement::Replaced);
    drop(store);
    assert_sound(&folder.file());
}

/// Of what is stored on that page, and of nothing else.
#[test]
fn a_damaged_page_is_a_permanent_error() {
    const ROWS: u32 = 2000;
    let folder = Folder::new("damaged");
    let template = Template::new();
    {
        let store = SqliteStore::open(folder.file()).unwrap();
        let writes = (0..ROWS).map(|number| RecordStore::<Grant>::insert(&store, template.grant(id(number), 1)));
        for answer in block_on(futures::future::join_all(writes)) {
            assert_eq!(answer.unwrap(), Insertion::Inserted);
        }
    }
    // A page with rows, which begins with 13, from the middle of the file.
    let mut bytes = fs::read(folder.file()).unwrap();
    let middle = bytes.len() / 4096 / 2;
    let page = bytes.chunks_exact_mut(4096).skip(middle).find(|page| page[0] == 13).unwrap();
    page.fill(0xa5);
    fs::write(folder.file(), bytes).unwrap();

    let store = SqliteStore::open(folder.file()).unwrap();
    let found: Vec<_> =
        (0..ROWS).map(|number| (number, block_on(RecordStore::<Grant>::find(&store, &id(number))))).collect();
    let mut damaged = 0;
    for (number, answer) in found {
        match answer {
            Ok(found) => assert_eq!(found, Some(template.grant(id(number), 1))),
            Err(error) => {
                assert!(!error.is_transient());
                assert_eq!(problem(&error), SqliteProblem::Damaged);
                damaged += 1;
            }
        }
    }
    assert!((1..ROWS / 2).contains(&damaged), "{damaged} rows");
    let alice = Subject::new("alice").unwrap();
    let mut page = Page::first(usize::MAX);
    let failed = loop {
        match block_on(RecordStore::<Grant>::list(&store, alice.as_str(), page)) {
            Ok(found) => page = Page::after(found.last().expect("a damaged row comes before the end").id(), usize::MAX),
            Err(error) => break error,
        }
    };
    assert_eq!(problem(&failed), SqliteProblem::Damaged);
    let text = format!("the store failed: {:?}: the file is damaged", folder.file());
    assert!(format!("{failed:?}").starts_with(&text), "{failed:?}");
    // The store still works.
    let _ = insert(&store, template.grant(id(ROWS + 1), 1)).unwrap();
    assert!(find(&store, id(ROWS + 1)).is_some());
}
