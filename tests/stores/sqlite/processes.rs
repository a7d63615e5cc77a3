//! Several processes on one file.
//!
//! A child is another process of this program, marked as a child by its environment.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::sync::Arc;
use std::thread;

use futures::executor::block_on;
use grantor::id::GrantId;
use grantor::store::{ApplicationLogo, Insertion, Page, Record, RecordStore, Replacement};
use grantor::{Application, SqliteStore};

use crate::sqlite::contract::{versions, versions_of_a_large_logo};
use crate::sqlite::records::{Template, assert_sound, find, id, insert, replace};
use support::folder::Folder;

/// The name of the test that a child runs.
const CHILD: &str = "sqlite::processes::child";
/// Grants that all callers of all processes replace.
const CONTESTED: u32 = 4;
/// The number of callers in each process.
pub(crate) const CALLERS: u32 = 8;
/// The prefix of every line that a child prints.
const MARK: &str = "child: ";

/// What a child does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Child {
    /// Opens the file and prints the result.
    Open,
    /// The same, while it has as many files open as it may.
    OpenExhausted,
    /// Wins so many versions of the contested grants with each caller.
    Contest(u32),
    /// Writes until it is killed; the number distinguishes its grants from those of other children.
    Write(u32),
    /// Writes until it fails.
    Fill,
}

impl Child {
    pub(crate) fn command(self, mut command: Command, path: &Path) -> Command {
        command.args([CHILD, "--exact", "--ignored", "--nocapture", "--test-threads", "1"]);
        let what = match self {
            Self::Open => "open".to_owned(),
            Self::OpenExhausted => "exhausted".to_owned(),
            Self::Contest(wins) => format!("contest {wins}"),
            Self::Write(number) => format!("write {number}"),
            Self::Fill => "fill".to_owned(),
        };
        command.env("GRANTOR_CHILD", what).env("GRANTOR_FILE", path);
        command.stdout(Stdio::piped());
        command
    }

    /// Runs it until it ends, and returns its lines.
    pub(crate) fn run_as(self, command: Command, path: &Path) -> Vec<String> {
        let mut child = self.command(command, path).spawn().unwrap();
        let lines = lines(child.stdout.take().unwrap()).collect();
        assert!(child.wait().unwrap().success(), "{self:?}");
        lines
    }
}

/// The lines that a child prints until it ends.
pub(crate) fn lines(output: impl std::io::Read) -> impl Iterator<Item = String> {
    let lines = BufReader::new(output).lines().map_while(Result::ok);
    lines.filter_map(|line| line.split_once(MARK).map(|(_, line)| line.to_owned()))
}

pub(crate) fn this_program() -> Command {
    Command::new(std::env::current_exe().unwrap())
}

fn say(line: &str) {
    // One unbuffered write: the line arrives even if this process is killed right after it.
    std::io::stdout().lock().write_all(format!("{MARK}{line}\n").as_bytes()).unwrap();
}

#[test]
#[ignore = "a part of other tests, which run it in its own process"]
fn child() {
    let (Ok(what), Some(path)) = (std::env::var("GRANTOR_CHILD"), std::env::var_os("GRANTOR_FILE")) else { return };
    let path = Path::new(&path);
    let (what, number) = what.split_once(' ').unwrap_or((&what, "0"));
    let number = u32::from_str(number).unwrap();
    let open = || std::fs::File::open(std::env::current_exe().unwrap()).ok();
    let held: Vec<_> = (what == "exhausted").then(|| std::iter::from_fn(open)).into_iter().flatten().collect();
    let opened = SqliteStore::open(path);
    drop(held);
    match (what, opened) {
        ("open" | "exhausted", Ok(_)) => say("opened"),
        ("open" | "exhausted", Err(error)) => say(&format!("{:?} {error:?}", error.problem())),
        ("fill", Ok(store)) => crate::sqlite::trouble::fill(&store, path, say),
        ("contest", Ok(store)) => contest_all(&store, path, Some(number), 0),
        ("write", Ok(store)) => thread::scope(|scope| {
            scope.spawn(|| contest_all(&store, path, None, number));
            scope.spawn(|| alternate(&store));
            for caller in 0..CALLERS / 2 {
                let store = &store;
                scope.spawn(move || write_all(store, path, number, caller));
            }
        }),
        (what, opened) => panic!("{what}: {opened:?}"),
    }
}

/// Where the parent leaves the grant that children write.
pub(crate) fn template_of(path: &Path) -> std::path::PathBuf {
    path.with_extension("template")
}

/// Every caller reads, and tries to write the next version.
fn contest_all(store: &SqliteStore, path: &Path, wins: Option<u32>, process: u32) {
    let template = Template::read(&template_of(path));
    thread::scope(|scope| {
        for caller in 0..CALLERS {
            let template = &template;
            scope.spawn(move || {
                let mark = process * 100 + caller;
                let mut won = 0;
                while wins.is_none_or(|wins| won < wins) {
                    for number in 0..CONTESTED {
                        let version = find(store, id(number)).unwrap().version();
                        match replace(store, version, template.marked(id(number), version + 1, mark)).unwrap() {
                            Replacement::Replaced => {
                                won += 1;
                                say(&format!("won {} {} {mark}", id(number), version + 1));
                            }
                            Replacement::Lost => {}
                        }
                    }
                }
            });
        }
    });
}

/// Writes two versions of an application in turns without end, and two of a logo that fill the log.
fn alternate(store: &SqliteStore) {
    let (applications, logos) = (versions(), versions_of_a_large_logo());
    loop {
        alternate_one(store, &applications);
        alternate_one(store, &logos);
    }
}

fn alternate_one<R: Record>(store: &SqliteStore, versions: &[Arc<R>; 2]) {
    let found = block_on(RecordStore::<R>::find(store, versions[0].key())).unwrap().unwrap();
    let next = versions.iter().find(|next| next.version() != found.version()).unwrap();
    // Won, or lost to the other process: the next write continues from there.
    let _ = block_on(RecordStore::<R>::replace(store, found.version(), next.clone())).unwrap();
}

/// Application and logo are one of their versions, and the application is on the lists of its own.
pub(crate) fn assert_versions_are_whole(store: &SqliteStore) {
    let (applications, logos) = (versions(), versions_of_a_large_logo());
    let logo = block_on(RecordStore::<ApplicationLogo>::find(store, logos[0].id())).unwrap().unwrap();
    assert!(logos.contains(&logo));
    let found = block_on(RecordStore::<Application>::find(store, applications[0].id())).unwrap().unwrap();
    assert!(applications.contains(&found));
    for list in applications.iter().flat_map(|version| version.lists()) {
        let listed = block_on(RecordStore::<Application>::list(store, &list, Page::first(9))).unwrap();
        assert_eq!(listed.len(), usize::from(found.lists().contains(&list)), "{list}");
    }
}

/// Inserts its own grants and replaces each twice.
fn write_all(store: &SqliteStore, path: &Path, process: u32, caller: u32) {
    let template = Template::read(&template_of(path));
    for number in 0..u32::MAX {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&process.to_be_bytes());
        bytes[4..8].copy_from_slice(&caller.to_be_bytes());
        bytes[8..12].copy_from_slice(&number.to_be_bytes());
        let id = GrantId::from_bytes(bytes);
        assert_eq!(insert(store, template.grant(id, 1)).unwrap(), Insertion::Inserted);
        say(&format!("wrote {id} 1"));
        for version in 1..3 {
            let answer = replace(store, version, template.grant(id, version + 1)).unwrap();
            assert_eq!(answer, Replacement::Replaced);
            say(&format!("wrote {id} {}", version + 1));
        }
    }
}

/// A file with the contested grants, an application and a logo, and the template beside it.
pub(crate) fn contested(folder: &Folder) -> Template {
    let template = Template::new();
    template.write(&template_of(&folder.file()));
    let store = SqliteStore::open(folder.file()).unwrap();
    for number in 0..CONTESTED {
        let _ = insert(&store, template.grant(id(number), 1)).unwrap();
    }
    let ([submitted, _], [large, _]) = (versions(), versions_of_a_large_logo());
    let _ = block_on(RecordStore::<Application>::insert(&store, submitted)).unwrap();
    let _ = block_on(RecordStore::<ApplicationLogo>::insert(&store, large)).unwrap();
    template
}

/// Versions that were won: of which grant, which one, by whom.
#[derive(Debug, Default)]
pub(crate) struct Wins(BTreeMap<(GrantId, u32), u32>);

impl Wins {
    /// Takes a line `won id version mark`.
    pub(crate) fn take(&mut self, line: &str) {
        let mut words = line.split(' ').skip(1);
        let id = words.next().unwrap().parse().unwrap();
        let [version, mark] = [(); 2].map(|()| words.next().unwrap().parse().unwrap());
        let before = self.0.insert((id, version), mark);
        assert_eq!(before, None, "{id} has had version {version} before");
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Compares what is stored with what was reported. One write of each process may be stored without a report.
    pub(crate) fn check(&self, store: &SqliteStore, template: &Template, unreported: u32) {
        for number in 0..CONTESTED {
            let stored = find(store, id(number)).unwrap();
            let reported: BTreeMap<_, _> = self.0.range((id(number), 0)..=(id(number), u32::MAX)).collect();
            let newest = reported.last_key_value().map_or(1, |((_, version), _)| *version);
            assert!(stored.version() >= newest, "an acknowledged version is gone");
            let missing = usize::try_from(stored.version() - 1).unwrap() - reported.len();
            assert!(missing <= usize::try_from(unreported).unwrap(), "{missing} versions have no reported winner");
            if let Some(mark) = self.0.get(&(id(number), stored.version())) {
                assert_eq!(stored, template.marked(id(number), stored.version(), *mark), "the row is the winner's");
            }
        }
    }
}

#[test]
fn two_processes_win_each_version_once() {
    const WINS: u32 = 40;
    let folder = Folder::new("contest");
    let template = contested(&folder);
    let path = folder.file();
    let said: Vec<Vec<String>> = thread::scope(|scope| {
        let child = || scope.spawn(|| Child::Contest(WINS).run_as(this_program(), &path));
        let children = [child(), child()];
        children.into_iter().map(|child| child.join().unwrap()).collect()
    });
    let mut wins = Wins::default();
    for lines in &said {
        assert!(lines.len() >= usize::try_from(WINS * CALLERS).unwrap(), "{} of one process", lines.len());
        lines.iter().for_each(|line| wins.take(line));
    }
    wins.check(&SqliteStore::open(&path).unwrap(), &template, 0);
    assert_sound(&path);
}

#[test]
fn processes_that_open_a_new_file_at_once_all_succeed() {
    for _ in 0..10 {
        let folder = Folder::new("at-once");
        let path = folder.file();
        let children: Vec<_> = (0..6).map(|_| Child::Open.command(this_program(), &path).spawn().unwrap()).collect();
        for mut child in children {
            let lines: Vec<_> = lines(child.stdout.take().unwrap()).collect();
            assert_eq!(lines, ["opened"]);
            assert!(child.wait().unwrap().success());
        }
        drop(SqliteStore::open(&path).unwrap());
        assert_sound(&path);
        let names: BTreeSet<_> = folder.names().into_iter().collect();
        assert_eq!(names, BTreeSet::from(["store.sqlite".to_owned()]));
    }
}
