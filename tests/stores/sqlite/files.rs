//! Which files are opened, which are refused, and which other users may read.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use futures::executor::block_on;
use grantor::SqliteStore;
use grantor::store::sqlite::{SqliteError, SqliteOptions, SqliteProblem};
use grantor::store::{ApplicationLogo, Record, RecordStore, Replacement};

use crate::sqlite::contract::versions_of_a_large_logo;
use crate::sqlite::records::{Template, find, id, insert, other_connection, path_of};
use support::folder::Folder;

#[track_caller]
fn refused(path: &Path) -> (SqliteProblem, String) {
    let error: SqliteError = SqliteStore::open(path).expect_err("the file was opened");
    (error.problem(), error.to_string())
}

#[test]
fn a_missing_or_empty_file_becomes_a_store() {
    let folder = Folder::new("new");
    fs::write(folder.file(), "").unwrap();
    for path in [folder.file(), folder.path().join("other.sqlite")] {
        let template = Template::new();
        let store = SqliteStore::open(&path).unwrap();
        let _ = insert(&store, template.grant(id(1), 1)).unwrap();
        assert_eq!(find(&store, id(1)), Some(template.grant(id(1), 1)));
    }
}

#[test]
fn a_missing_file_is_refused_where_it_must_exist() {
    let folder = Folder::new("missing");
    let options = SqliteOptions::new().must_exist();
    let error = SqliteStore::open_with(folder.file(), &options).unwrap_err();
    assert_eq!(error.problem(), SqliteProblem::Missing);
    assert_eq!(error.to_string(), format!("there is no file {:?}", folder.file()));
    assert!(!error.is_transient());
    assert!(folder.names().is_empty(), "nothing was created");
    drop(SqliteStore::open(folder.file()).unwrap());
    assert!(SqliteStore::open_with(folder.file(), &options).is_ok());
}

#[test]
fn settings_out_of_range_are_the_nearest_that_are_possible() {
    let template = Template::new();
    for (size, time) in [(0, Duration::ZERO), (usize::MAX, Duration::MAX)] {
        let folder = Folder::new("range");
        let options = SqliteOptions::new().queue_limit(size).cache_bytes(size).busy_timeout(time);
        let store = SqliteStore::open_with(folder.file(), &options).unwrap();
        let _ = insert(&store, template.grant(id(1), 1)).unwrap();
        assert!(find(&store, id(1)).is_some(), "{options:?}");
    }
}

#[test]
fn a_path_that_leads_nowhere_is_named() {
    let folder = Folder::new("nowhere");
    let missing = folder.path().join("none");
    let text = format!("there is no folder {missing:?}; create it first");
    assert_eq!(refused(&missing.join("store.sqlite")), (SqliteProblem::Missing, text));
    let text = format!("{:?} is a folder; name a file in it", folder.path());
    let (problem, said) = refused(folder.path());
    assert!(matches!(problem, SqliteProblem::Io | SqliteProblem::ReadOnly), "{problem:?}");
    assert_eq!(said, text);
    fs::write(folder.file(), "").unwrap();
    let text = format!("{:?} is a file, not a folder", folder.file());
    assert_eq!(refused(&folder.file().join("store.sqlite")), (SqliteProblem::Missing, text));
    let (problem, text) = refused(Path::new(""));
    assert_eq!(problem, SqliteProblem::Io);
    assert!(text.starts_with("\"\": the file could not be opened, read or written: "), "{text}");
}

#[test]
fn a_database_in_memory_is_refused_with_the_remedy() {
    for path in [":memory:", "file::memory:", "sqlite::memory:"] {
        let error = SqliteStore::open(path).unwrap_err();
        assert_eq!(error.problem(), SqliteProblem::Memory);
        let text = format!("{path:?}: a file is needed; use MemoryStore, or for tests SqliteStore::temporary");
        assert_eq!((error.to_string(), format!("{error:?}")), (text.clone(), text));
        assert!(!Path::new(path).exists());
    }
}

#[test]
fn special_names_of_sqlite_are_files_like_any_other() {
    let folder = Folder::new("names");
    for name in [":memory:", "file:x?mode=memory", "a b'\"%?#.sqlite"] {
        drop(SqliteStore::open(folder.path().join(name)).unwrap());
        assert!(folder.names().contains(&name.to_owned()), "{:?}", folder.names());
    }
}

#[test]
fn what_is_no_database_is_refused() {
    let folder = Folder::new("garbage");
    for garbage in [&b"a letter to somebody"[..], &[0xff; 5000], b"SQLite format 3\0 and then nothing of it"] {
        fs::write(folder.file(), garbage).unwrap();
        let error = SqliteStore::open(folder.file()).unwrap_err();
        assert_eq!(error.problem(), SqliteProblem::Damaged);
        let text = format!("{:?}: the file is damaged, or is not a SQLite database: ", folder.file());
        assert!(error.to_string().starts_with(&text), "{error}");
        assert!(format!("{error:?}").starts_with(&error.to_string()), "`main` prints the text: {error:?}");
        assert_eq!(fs::read(folder.file()).unwrap(), garbage);
        assert_eq!(folder.names(), ["store.sqlite"]);
    }
}

#[test]
fn the_database_of_another_program_is_refused() {
    let folder = Folder::new("foreign");
    for sql in [
        "CREATE TABLE accounts (id INTEGER PRIMARY KEY)",
        "CREATE TABLE clients (id TEXT)",
        "PRAGMA application_id = 7",
        "PRAGMA user_version = 1",
    ] {
        let path = folder.path().join("foreign.sqlite");
        other_connection(&path).execute_batch(sql).unwrap();
        let before = fs::read(&path).unwrap();
        assert_eq!(refused(&path).0, SqliteProblem::NotAStore, "{sql}");
        assert_eq!(fs::read(&path).unwrap(), before, "{sql}");
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn threads_that_open_a_new_file_at_once_all_succeed() {
    const FILES: u64 = 100;
    const THREADS: u64 = 4;
    let folder = Folder::new("at-once");
    for number in 0..FILES {
        let path = folder.path().join(number.to_string());
        let open = |later| {
            thread::sleep(later);
            SqliteStore::open(&path).map(drop).map_err(|error| error.problem())
        };
        let opened: Vec<_> = thread::scope(|scope| {
            let later = |thread| Duration::from_micros(number * 40 * thread);
            let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || open(later(thread)))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(opened.iter().all(Result::is_ok), "file {number}: {opened:?}");
    }
}

#[test]
fn tables_of_the_service_share_the_file() {
    let folder = Folder::new("shared");
    drop(SqliteStore::open(folder.file()).unwrap());
    let own = other_connection(&folder.file());
    let of_the_store = |name: &str| name.trim_start_matches("sqlite_autoindex_").starts_with("grantor_");
    let names = || -> Vec<String> {
        let mut statement = own.prepare("SELECT name FROM sqlite_schema").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    assert!(names().iter().all(|name| of_the_store(name)), "{:?}", names());
    for table in ["accounts", "applications", "authorizations", "clients", "grants", "logos"] {
        own.execute_batch(&format!("CREATE TABLE {table} (id INTEGER PRIMARY KEY)")).unwrap();
    }
    let store = SqliteStore::open(folder.file()).unwrap();
    let template = Template::new();
    for number in 0..20 {
        own.execute("INSERT INTO grants DEFAULT VALUES", []).unwrap();
        let _ = insert(&store, template.grant(id(number), 1)).unwrap();
    }
    let grants: u32 = own.query_row("SELECT count(*) FROM grants", [], |row| row.get(0)).unwrap();
    assert_eq!(grants, 20);
    assert!((0..20).all(|number| find(&store, id(number)).is_some()));
}

#[test]
fn a_temporary_store_leaves_nothing_behind() {
    let store = SqliteStore::temporary().unwrap();
    let other = store.clone();
    let path = path_of(&store);
    assert!(path.starts_with(std::env::temp_dir()) && path.exists(), "{store:?}");
    drop(store);
    assert!(path.exists(), "a clone still exists");
    drop(other);
    assert!(!path.exists() && !path.parent().unwrap().exists());
}

#[test]
fn a_store_that_ended_well_leaves_one_file() {
    let folder = Folder::new("one");
    let store = SqliteStore::open(folder.file()).unwrap();
    let _ = insert(&store, Template::new().grant(id(1), 1)).unwrap();
    assert_eq!(folder.names(), ["store.sqlite", "store.sqlite-shm", "store.sqlite-wal"]);
    drop(store);
    assert_eq!(folder.names(), ["store.sqlite"], "the log is in the file");
}

/// Written pages are moved into the file while writes continue, and the log starts again.
#[test]
fn the_log_does_not_grow_with_what_is_written() {
    let folder = Folder::new("log");
    let store = SqliteStore::open(folder.file()).unwrap();
    let template = Template::new();
    let [large, _] = versions_of_a_large_logo();
    let _ = block_on(RecordStore::<ApplicationLogo>::insert(&store, large.clone())).unwrap();
    let mut written = 0;
    let mut longest = 0;
    for number in 0..150 {
        let replaced = block_on(RecordStore::<ApplicationLogo>::replace(&store, large.version(), large.clone()));
        assert_eq!(replaced.unwrap(), Replacement::Replaced);
        let _ = insert(&store, template.grant(id(number), 1)).unwrap();
        assert!(find(&store, id(number)).is_some(), "reads still work");
        written += 1 << 20;
        longest = longest.max(fs::metadata(folder.path().join("store.sqlite-wal")).unwrap().len());
    }
    assert!(longest < written / 2, "{longest} bytes of {written}");
}

#[test]
fn settings_that_durability_rests_on_are_in_force() {
    let folder = Folder::new("settings");
    let store = SqliteStore::open(folder.file()).unwrap();
    let mode: String = other_connection(&folder.file()).query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
    drop(store);
    // Another tool has set another mode.
    let mode: String =
        other_connection(&folder.file()).query_row("PRAGMA journal_mode = delete", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "delete");
    let store = SqliteStore::open(folder.file()).unwrap();
    let mode: String = other_connection(&folder.file()).query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
    drop(store);
}

#[cfg(unix)]
mod unix {
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use super::*;
    use crate::sqlite::processes::Child;

    #[test]
    fn a_new_file_belongs_to_its_owner_alone() {
        let folder = Folder::new("mode");
        let store = SqliteStore::open(folder.file()).unwrap();
        let _ = insert(&store, Template::new().grant(id(1), 1)).unwrap();
        block_on(store.backup(folder.path().join("copy"))).unwrap();
        for name in folder.names() {
            let mode = fs::metadata(folder.path().join(&name)).unwrap().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
        assert_eq!(folder.names().len(), 4);
    }

    /// For example, where the members of a group may read the file.
    #[test]
    fn the_log_has_the_mode_of_its_file() {
        let folder = Folder::new("shared-mode");
        fs::write(folder.file(), "").unwrap();
        fs::set_permissions(folder.file(), Permissions::from_mode(0o640)).unwrap();
        let store = SqliteStore::open(folder.file()).unwrap();
        let _ = insert(&store, Template::new().grant(id(1), 1)).unwrap();
        assert_eq!(folder.names(), ["store.sqlite", "store.sqlite-shm", "store.sqlite-wal"]);
        for name in folder.names() {
            let mode = fs::metadata(folder.path().join(&name)).unwrap().mode();
            assert_eq!(mode & 0o777, 0o640, "{name}");
        }
        block_on(store.backup(folder.path().join("copy"))).unwrap();
        assert_eq!(fs::metadata(folder.path().join("copy")).unwrap().mode() & 0o777, 0o600);
    }

    /// Then no file can be created in any folder, which says nothing about this one.
    #[test]
    fn too_many_open_files_are_not_missing_rights() {
        let folder = Folder::new("exhausted");
        let mut shell = Command::new("sh");
        shell.args(["-c", "ulimit -n 64; exec \"$0\" \"$@\""]).arg(std::env::current_exe().unwrap());
        let lines = Child::OpenExhausted.run_as(shell, &folder.file());
        assert!(lines.len() == 1 && lines[0].starts_with("Io "), "{lines:?}");
    }

    /// A file or a folder that this process may not write.
    #[test]
    fn what_may_not_be_written_is_named() {
        let file = |path: &Path| format!("this process may not read and write the file {path:?}");
        let folder = |path: &Path| {
            let folder = path.parent().unwrap();
            format!("this process may not create files in the folder {folder:?}, as SQLite must")
        };
        type Text<'a> = &'a dyn Fn(&Path) -> String;
        let cases: [(u32, Option<u32>, Text<'_>); 3] =
            [(0o777, Some(0o444), &file), (0o555, Some(0o666), &folder), (0o555, None, &folder)];
        // Root may write to any file, so another user tries. That user must be able to reach the files and this
        // program.
        let public = std::env::temp_dir().join(format!("grantor-may-not-{}", std::process::id()));
        fs::create_dir(&public).unwrap();
        fs::set_permissions(&public, Permissions::from_mode(0o755)).unwrap();
        let is_root = fs::metadata(&public).unwrap().uid() == 0;
        let program = public.join("program");
        fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        for (number, (of_folder, of_file, text)) in cases.into_iter().enumerate() {
            let within = public.join(number.to_string());
            let path = within.join("store.sqlite");
            fs::create_dir(&within).unwrap();
            if let Some(mode) = of_file {
                drop(SqliteStore::open(&path).unwrap());
                fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            }
            fs::set_permissions(&within, Permissions::from_mode(of_folder)).unwrap();
            let mut command = Command::new(&program);
            if is_root {
                command.uid(65534).gid(65534).current_dir("/");
            }
            let lines = Child::Open.run_as(command, &path);
            fs::set_permissions(&within, Permissions::from_mode(0o777)).unwrap();
            assert!(lines.len() == 1 && lines[0].starts_with(&format!("ReadOnly {}", text(&path))), "{lines:?}");
            if of_folder == 0o555 {
                assert!(lines[0].len() > text(&path).len() + 9, "its cause: {lines:?}");
            }
            assert!(fs::read_dir(&within).unwrap().count() <= 1, "nothing was left in the folder");
        }
        fs::remove_dir_all(public).unwrap();
    }
}
