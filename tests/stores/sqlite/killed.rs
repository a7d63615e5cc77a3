//! Processes that are killed under load, at any point.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::Duration;

use grantor::SqliteStore;
use grantor::id::GrantId;
use grantor::store::Record;

use crate::sqlite::processes::{CALLERS, Child, Wins, assert_versions_are_whole, contested, lines, this_program};
use crate::sqlite::records::{Template, assert_sound, find};
use support::folder::Folder;

const FILES: u32 = 3;
/// Each of them kills two processes that share the file.
const ROUNDS_ON_A_FILE: u32 = 10;

/// After a kill every write that was acknowledged is there, and no version was won twice.
#[test]
fn a_process_that_is_killed_loses_nothing_that_was_acknowledged() {
    for file in 0..FILES {
        let folder = Folder::new("killed");
        let template = contested(&folder);
        let mut wins = Wins::default();
        for round in 0..ROUNDS_ON_A_FILE {
            let first = (file * ROUNDS_ON_A_FILE + round) * 2;
            let path = &folder.file();
            let said: Vec<_> = thread::scope(|scope| {
                let children = [first, first + 1].map(|number| scope.spawn(move || killed(number, path)));
                children.into_iter().flat_map(|child| child.join().unwrap()).collect()
            });
            let store = SqliteStore::open(path).unwrap();
            said.iter().filter(|line| line.starts_with("won")).for_each(|line| wins.take(line));
            assert_versions_are_whole(&store);
            check_written(&said, &store, &template);
            // Each caller of a process may not have reported its last win.
            wins.check(&store, &template, (round + 1) * 2 * CALLERS);
        }
        assert!(wins.len() > 0);
        assert_sound(&folder.file());
    }
}

/// Starts a process, kills it some time after its first acknowledged write, and returns its output.
fn killed(number: u32, path: &Path) -> Vec<String> {
    let mut child = Child::Write(number).command(this_program(), path).spawn().unwrap();
    let mut lines = lines(child.stdout.take().unwrap());
    let mut said = vec![lines.next().expect("a child that writes")];
    let killer = thread::spawn(move || {
        thread::sleep(life(number));
        child.kill().unwrap();
        child.wait().unwrap()
    });
    said.extend(lines);
    assert!(!killer.join().unwrap().success(), "it ended before it was killed");
    said
}

/// Returns how long a process lives: from the first groups on, and in one of ten cases long enough for checkpoints.
fn life(number: u32) -> Duration {
    let micros = number * number * 7919 % 60_000;
    Duration::from_micros(u64::from(if number % 10 == 9 { 600_000 + micros } else { micros }))
}

/// Compares each caller's own grants with the last version that it reported.
fn check_written(said: &[String], store: &SqliteStore, template: &Template) {
    let mut reported: BTreeMap<GrantId, u32> = BTreeMap::new();
    for line in said.iter().filter_map(|line| line.strip_prefix("wrote ")) {
        let (id, version) = line.split_once(' ').unwrap();
        reported.insert(id.parse().unwrap(), version.parse().unwrap());
    }
    for (id, version) in reported {
        let stored = find(store, id).unwrap_or_else(|| panic!("{id} is gone"));
        assert!((version..=version + 1).contains(&stored.version()), "{id} has version {}", stored.version());
        assert_eq!(stored, template.grant(id, stored.version()));
    }
}
