//! Processes that are killed under load, at any point.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use grantor::{GrantId, SqliteStore};

use crate::folder::Folder;
use crate::processes::{Child, Wins, contested, lines, this_program};
use crate::records::{assert_sound, find};

const KILLS: u32 = 100;
/// Kills on one file, until it is replaced by a new one.
const ON_ONE_FILE: u32 = 20;

/// From a point in the first groups on; one in ten gets past a few checkpoints.
fn life(number: u32) -> Duration {
    let micros = number * number * 7919 % 60_000;
    Duration::from_micros(u64::from(if number.is_multiple_of(10) { 600_000 + micros } else { micros }))
}

/// After a kill every write that was acknowledged is there, and no version was won twice. Two processes
/// share the file; each time one of them is killed and the other goes on.
#[test]
fn a_process_that_is_killed_loses_nothing_that_was_acknowledged() {
    for first in (0..KILLS).step_by(20) {
        let folder = Folder::new("killed");
        let template = contested(&folder);
        let path = folder.file();
        let mut wins = Wins::default();
        for round in (first..first + ON_ONE_FILE).step_by(2) {
            let numbers = [round + 1, round + 2];
            let said: Vec<_> = thread::scope(|scope| {
                let kill = |number: u32| {
                    let path = &path;
                    scope.spawn(move || {
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
                    })
                };
                let children = numbers.map(kill);
                children.into_iter().flat_map(|child| child.join().unwrap()).collect()
            });

            let store = SqliteStore::open(&path).unwrap();
            let mut told: BTreeMap<GrantId, u32> = BTreeMap::new();
            for line in &said {
                if line.starts_with("won") {
                    wins.take(line);
                    continue;
                }
                let mut words = line.split(' ').skip(1);
                let id = words.next().unwrap().parse().unwrap();
                told.insert(id, words.next().unwrap().parse().unwrap());
            }
            for (id, version) in &told {
                let stored = find(&store, *id).unwrap_or_else(|| panic!("{id} is gone"));
                assert!((*version..=version + 1).contains(&stored.version()), "{id} has version {}", stored.version());
                assert_eq!(stored, template.grant(*id, stored.version()));
            }
            assert!(!told.is_empty() && wins.len() > 0);
            // Each caller of a process may have been told nothing of its last write.
            wins.check(&store, &template, (round - first + 2) * 8);
        }
        assert_sound(&path);
    }
}
