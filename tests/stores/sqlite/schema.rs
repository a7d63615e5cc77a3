//! Files of every schema so far, and of a later one.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use futures::executor::block_on;
use grantor::application::{ApplicationFilter, LogoSlot};
use grantor::client::ClientState;
use grantor::id::{AuthorizationId, GrantId};
use grantor::store::sqlite::SqliteProblem;
use grantor::store::{Authorization, Grant, Page, RecordStore, Replay, RevocationReason};
use grantor::testing::SeededEntropy;
use grantor::{Application, AuthorizationServer, Clock, Config, SqliteStore, Subject, Timestamp};

use crate::sqlite::flow::move_to;
use crate::sqlite::records::{assert_sound, other_connection};
use support::folder::Folder;
use support::world::{Credentials, ISSUER, World, e400, empty, form, logo, pair};

/// One for each version: what a release with that schema wrote, with the records and tokens below.
const FIXTURES: [&str; 1] = [include_str!("schema_1.sql")];

const LIVE: &str = "AO5rKGe5F-WmoaQJ6bixHw";
const REVOKED: &str = "AO5rKJo9GMY3qlUSvECkXQ";
const ACCESS_TOKEN: &str = "at_AO5rKGe5F-WmoaQJ6bixHwxDjxW6MnUxRcawWVf7SX3kyS0a-_-_767Ae05sGi1AU";
const REFRESH_TOKEN: &str = "rt_AO5rKGe5F-WmoaQJ6bixHw83q1S9COyvxMnyj-sV50zjyIGAAAAAAB9FMFBV99dufqN7r-1uPjM1tS-JML_Uh\
                             SQ7JkNm-KIeNJz0i9CgO13lbi";
const REVOKED_REFRESH_TOKEN: &str =
    "rt_AO5rKJo9GMY3qlUSvECkXQy2-BbnbukQL3JPTDYkXF9jyIGAAAAAAB3-mz26rG_ocmrZUS_URS98m0g78vSUpNJZw9SfO-4_a93M-HMkIs4e8T";

fn credentials() -> Credentials {
    Credentials {
        id: "S64VwY95TagKZ3TUhHbmd6".to_owned(),
        secret: "iBTvGQ2rxwhYCONygGsyNH6ye5UOiza5GUOudCgqOMh".to_owned(),
    }
}

/// Tables and indexes as they were declared, and the two numbers in the file's header.
fn shape(path: &Path) -> (Vec<String>, [i64; 2]) {
    let connection = other_connection(path);
    let mut statement =
        connection.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name").unwrap();
    let declared = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let number = |pragma: &str| connection.query_row(pragma, [], |row| row.get(0)).unwrap();
    (declared, [number("PRAGMA application_id"), number("PRAGMA user_version")])
}

/// It has everything that was in it.
#[test]
fn a_file_of_every_schema_is_migrated() {
    let folder = Folder::new("migrated");
    drop(SqliteStore::open(folder.file()).unwrap());
    let newest = shape(&folder.file());
    assert_eq!(newest.1, [0x6772_6e74, i64::try_from(FIXTURES.len()).unwrap()]);
    for (number, fixture) in FIXTURES.iter().enumerate() {
        let path = folder.path().join(format!("schema-{}", number + 1));
        other_connection(&path).execute_batch(fixture).unwrap();
        let store = SqliteStore::open(&path).unwrap();
        assert_fixture(&store);
        drop(store);
        assert_eq!(shape(&path), newest);
        assert_sound(&path);
        assert_fixture(&SqliteStore::open(&path).unwrap());
    }
}

#[track_caller]
fn assert_fixture(store: &SqliteStore) {
    let client = credentials().client_id();
    let approved = ApplicationFilter::InState(ClientState::Approved).key();
    let found = block_on(RecordStore::<Application>::list(store, &approved, Page::first(10))).unwrap();
    assert_eq!(found.iter().map(|application| application.id()).collect::<Vec<_>>(), [&client]);
    let server = AuthorizationServer::new(Config::platform(ISSUER), store.clone()).unwrap();
    let found = block_on(server.registrar().unwrap().logo(&client, LogoSlot::InForce)).unwrap();
    assert_eq!(found.as_deref(), Some(&logo()));
    let alice = Subject::new("alice").unwrap();
    let ids: Vec<GrantId> = [LIVE, REVOKED].map(|id| id.parse().unwrap()).to_vec();
    let grants = block_on(RecordStore::<Grant>::list(store, alice.as_str(), Page::first(10))).unwrap();
    assert_eq!(grants.iter().map(|grant| grant.id()).collect::<Vec<_>>(), ids);
    assert_eq!(grants[0].revoked(), None);
    assert_eq!(grants[1].revoked().map(|revoked| revoked.reason), Some(RevocationReason::RevokedByClient));
    let authorizations = block_on(RecordStore::<Authorization>::list(store, alice.as_str(), Page::first(10))).unwrap();
    let ids: Vec<AuthorizationId> = [LIVE, REVOKED].map(|id| id.parse().unwrap()).to_vec();
    assert_eq!(authorizations.iter().map(|row| row.id()).collect::<Vec<_>>(), ids);
}

#[test]
fn tokens_of_every_schema_work() {
    for fixture in FIXTURES {
        let folder = Folder::new("tokens");
        other_connection(&folder.file()).execute_batch(fixture).unwrap();
        let mut world = block_on(World::platform());
        move_to(&mut world, SqliteStore::open(folder.file()).unwrap());
        // Not the seed of the server that wrote the file.
        let builder = AuthorizationServer::builder(Config::platform(ISSUER), SqliteStore::open(folder.file()).unwrap());
        world.server = builder.clock(world.clock.clone()).entropy(SeededEntropy::new(12)).build().unwrap();
        assert!(block_on(world.opens(ACCESS_TOKEN)));
        let fresh = pair(&block_on(world.refresh_as(&credentials(), REFRESH_TOKEN)));
        assert!(block_on(world.opens(&fresh.access)));
        e400(&block_on(world.refresh_as(&credentials(), REVOKED_REFRESH_TOKEN)), "invalid_grant");
    }
}

/// It is left as it is.
#[test]
fn a_file_of_a_newer_release_is_refused() {
    let folder = Folder::new("newer");
    drop(SqliteStore::open(folder.file()).unwrap());
    let known = i64::try_from(FIXTURES.len()).unwrap();
    for found in [known + 1, i64::from(i32::MAX)] {
        let later = other_connection(&folder.file());
        later.execute_batch(&format!("PRAGMA user_version = {found}; DROP TABLE IF EXISTS grantor_grants")).unwrap();
        drop(later);
        let before = fs::read(folder.file()).unwrap();
        let error = SqliteStore::open(folder.file()).unwrap_err();
        assert_eq!(error.problem(), SqliteProblem::Newer { found, known });
        assert!(!error.is_transient());
        assert_eq!(fs::read(folder.file()).unwrap(), before);
    }
}

#[test]
fn a_migration_that_fails_leaves_the_file_as_it_was() {
    let folder = Folder::new("half");
    let file = other_connection(&folder.file());
    // Marked as a store, but without its tables; another table has the name of its last index.
    let sql = "PRAGMA application_id = 1735552628; CREATE TABLE grantor_applications_lists_by_key (x)";
    file.execute_batch(sql).unwrap();
    drop(file);
    let before = shape(&folder.file());
    let error = SqliteStore::open(folder.file()).unwrap_err();
    assert_eq!(error.problem(), SqliteProblem::Refused);
    assert_eq!(shape(&folder.file()), before);
}

#[test]
fn columns_show_an_operator_what_happened_to_a_grant() {
    let folder = Folder::new("columns");
    other_connection(&folder.file()).execute_batch(FIXTURES[0]).unwrap();
    let mut world = block_on(World::platform());
    move_to(&mut world, SqliteStore::open(folder.file()).unwrap());
    let row = |id: &str| {
        let id: GrantId = id.parse().unwrap();
        // As in the guide on operating.
        let sql = "SELECT concat_ws(' ', client, subject, created, state, ended_at, ended_why)
                   FROM grantor_grants WHERE key = ?1";
        other_connection(&folder.file()).query_row(sql, [id.as_bytes()], |row| row.get::<_, String>(0)).unwrap()
    };
    let client = credentials().id;
    assert_eq!(row(LIVE), format!("{client} alice 1000000000 granted"));
    world.advance(5);
    let live: GrantId = LIVE.parse().unwrap();
    assert!(block_on(world.server.revoke_grant(live, &world.alice)).unwrap());
    assert_eq!(row(LIVE), format!("{client} alice 1000000000 revoked 1000000005 revoked_by_user"));
    assert_eq!(row(REVOKED), format!("{client} alice 1000000000 revoked 1000000000 revoked_by_client"));
}

#[test]
fn columns_show_an_operator_where_an_application_stands() {
    let folder = Folder::new("applications");
    other_connection(&folder.file()).execute_batch(FIXTURES[0]).unwrap();
    let mut world = block_on(World::platform());
    move_to(&mut world, SqliteStore::open(folder.file()).unwrap());
    let row = || {
        let sql = "SELECT concat_ws(' ', client, subject, created, state) FROM grantor_applications";
        other_connection(&folder.file()).query_row(sql, [], |row| row.get::<_, String>(0)).unwrap()
    };
    let client = credentials();
    assert_eq!(row(), format!("{} developer 1000000000 approved", client.id));
    block_on(world.server.registrar().unwrap().suspend(&client.client_id())).unwrap();
    assert_eq!(row(), format!("{} developer 1000000000 suspended", client.id));
}

/// What a server with the newest schema writes can be written as SQL. With `GRANTOR_WRITE_SCHEMA` set, that becomes the
/// new fixture of this schema, until a release has it. Its credentials and tokens are printed.
#[test]
fn a_file_written_down_is_read_as_it_was() {
    let folder = Folder::new("written");
    let store = SqliteStore::open(folder.file()).unwrap();
    let mut world = block_on(World::platform());
    move_to(&mut world, store.clone());
    let client = block_on(world.register(form()));
    let mut pairs = [(); 2].map(|()| block_on(world.pair_of(&client)));
    pairs.sort_by(|one, other| one.refresh.cmp(&other.refresh));
    empty(&block_on(world.revoke_as(&client, &pairs[1].refresh)));
    let used = Replay::new(&[b"client", b"jti"], Timestamp::from_seconds(world.clock.now().seconds() + 300));
    let _ = block_on(RecordStore::<Replay>::insert(&store, Arc::new(used))).unwrap();
    let grants = block_on(RecordStore::<Grant>::list(&store, world.alice.as_str(), Page::first(10))).unwrap();
    println!("{} {} {pairs:?}", client.id, client.secret);

    let written = written_down(&folder.file());
    if std::env::var_os("GRANTOR_WRITE_SCHEMA").is_some() {
        let path = format!("{}/tests/stores/sqlite/schema_{}.sql", env!("CARGO_MANIFEST_DIR"), FIXTURES.len());
        let head = "-- A file of this schema: one client with its logo, two authorizations, a grant that lives and \
                    one\n\
                    -- that was revoked, and one identifier that was used.\n";
        fs::write(path, format!("{head}{written}")).unwrap();
    }
    let copy = folder.path().join("copy");
    other_connection(&copy).execute_batch(&written).unwrap();
    let copy = SqliteStore::open(&copy).unwrap();
    assert_eq!(block_on(RecordStore::<Grant>::list(&copy, world.alice.as_str(), Page::first(10))).unwrap(), grants);
}

/// All of a file as SQL: the numbers in its header, each table with its rows, then indexes and triggers.
fn written_down(path: &Path) -> String {
    let connection = other_connection(path);
    let number =
        |pragma: &str| -> i64 { connection.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0)).unwrap() };
    let texts = |sql: &str| -> Vec<[String; 2]> {
        let mut statement = connection.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| Ok([row.get(0)?, row.get(1)?])).unwrap();
        rows.map(Result::unwrap).collect()
    };
    let [id, version] = ["application_id", "user_version"].map(number);
    let mut written = format!("PRAGMA application_id = {id};\nPRAGMA user_version = {version};\n");
    for [name, sql] in texts("SELECT name, sql FROM sqlite_schema WHERE type = 'table' ORDER BY name") {
        written += &format!("{sql};\n");
        let columns = texts(&format!("SELECT name, 'quote(' || name || ')' FROM pragma_table_info('{name}')"));
        let quoted: Vec<_> = columns.iter().map(|[_, quoted]| quoted.as_str()).collect();
        let values = format!("SELECT concat_ws(', ', {}), '' FROM {name} ORDER BY 1", quoted.join(", "));
        for [values, _] in texts(&values) {
            written += &format!("INSERT INTO {name} VALUES ({values});\n");
        }
    }
    for [_, sql] in
        texts("SELECT name, sql FROM sqlite_schema WHERE type <> 'table' AND sql IS NOT NULL ORDER BY rowid")
    {
        written += &format!("{sql};\n");
    }
    written
}
