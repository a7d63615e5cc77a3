//! Files of every schema there ever was, and of one to come.

use std::fs;
use std::path::Path;

use futures::executor::block_on;
use grantor::store::{ClientRegistry, CodeStore, Page, RevocationReason, TokenStore};
use grantor::testing::SeededEntropy;
use grantor::{
    ApplicationFilter, AuthorizationId, AuthorizationServer, ClientState, GrantId, LogoSlot, SqliteProblem,
    SqliteStore, Subject,
};

use crate::flow::move_to;
use crate::folder::Folder;
use crate::records::{assert_sound, other_connection};
use crate::world::{Credentials, ISSUER, World, e400, logo, pair};

/// One for each version: what a release with that schema wrote, with the records and tokens below.
const FIXTURES: [&str; 1] = [include_str!("schema_1.sql")];

const LIVE: &str = "AO5rKB1YfVKahNH9Z7kX5Q";
const REVOKED: &str = "AO5rKPN6tUvQjsr8TJ8o_g";
const ACCESS_TOKEN: &str = "at_AO5rKB1YfVKahNH9Z7kX5Q_Pt68dl1snIix_Co647f98Q48VujJ1MUXGsFlX-0l94";
const REFRESH_TOKEN: &str =
    "rt_AO5rKB1YfVKahNH9Z7kX5QW1L4kwv9SFJDsmQ2b4ohdTyIGAAAAAABTJLRr7_7_vrsB7TmwaLUBfRTBQVffXbn6je6_tbj453wHlLG";
const REVOKED_REFRESH_TOKEN: &str =
    "rt_AO5rKPN6tUvQjsr8TJ8o_gcqvf6Cz829xDwTqB3-mz2zyIGAAAAAABRUE2aSIaHUK-0LMOb4_AGnFvCE3IdVLfDDMqbSZqu_752PTt";

fn credentials() -> Credentials {
    Credentials {
        id: "EuNWMvjTMV9CG9Q23S6wY9".to_owned(),
        secret: "yrAyiBTvGQ2rxwhYCONygGsyNH6ye5UOiza5GUOudCq".to_owned(),
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

#[test]
fn a_file_of_every_earlier_schema_is_brought_to_this_one_with_everything_in_it() {
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
    let found = block_on(store.list(&ApplicationFilter::InState(ClientState::Approved), Page::first(10))).unwrap();
    assert_eq!(found.iter().map(|application| application.id()).collect::<Vec<_>>(), [&client]);
    assert_eq!(block_on(store.logo(&client, LogoSlot::InForce)).unwrap().as_deref(), Some(&logo()));
    let alice = Subject::new("alice").unwrap();
    let ids: Vec<GrantId> = [LIVE, REVOKED].map(|id| id.parse().unwrap()).to_vec();
    let grants = block_on(store.grants_of(&alice, Page::first(10))).unwrap();
    assert_eq!(grants.iter().map(|grant| grant.id()).collect::<Vec<_>>(), ids);
    assert_eq!(grants[0].revoked(), None);
    assert_eq!(grants[1].revoked().map(|revoked| revoked.reason), Some(RevocationReason::RevokedByClient));
    let authorizations = block_on(store.authorizations_of(&alice, Page::first(10))).unwrap();
    let ids: Vec<AuthorizationId> = [LIVE, REVOKED].map(|id| id.parse().unwrap()).to_vec();
    assert_eq!(authorizations.iter().map(|row| row.id()).collect::<Vec<_>>(), ids);
}

#[test]
fn tokens_of_every_earlier_schema_are_good_still() {
    for fixture in FIXTURES {
        let folder = Folder::new("tokens");
        other_connection(&folder.file()).execute_batch(fixture).unwrap();
        let mut world = block_on(World::platform());
        move_to(&mut world, SqliteStore::open(folder.file()).unwrap());
        // Another seed than that of the server that wrote the file.
        let builder = AuthorizationServer::builder(SqliteStore::open(folder.file()).unwrap()).issuer(ISSUER);
        world.server = builder.clock(world.clock.clone()).entropy(SeededEntropy::new(12)).build().unwrap();
        assert!(block_on(world.opens(ACCESS_TOKEN)));
        let fresh = pair(&block_on(world.refresh_as(&credentials(), REFRESH_TOKEN)));
        assert!(block_on(world.opens(&fresh.access)));
        e400(&block_on(world.refresh_as(&credentials(), REVOKED_REFRESH_TOKEN)), "invalid_grant");
    }
}

#[test]
fn a_file_of_a_newer_release_is_refused_and_left_as_it_is() {
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
    // Marked as a store and without a table of it, but one with the name of its last index.
    let sql = "PRAGMA application_id = 1735552628; CREATE TABLE grantor_application_lists_by_id (x)";
    file.execute_batch(sql).unwrap();
    drop(file);
    let before = shape(&folder.file());
    let error = SqliteStore::open(folder.file()).unwrap_err();
    assert_eq!(error.problem(), SqliteProblem::Refused);
    assert_eq!(shape(&folder.file()), before);
}

#[test]
fn columns_tell_an_operator_what_happened_to_a_grant() {
    let folder = Folder::new("columns");
    other_connection(&folder.file()).execute_batch(FIXTURES[0]).unwrap();
    let mut world = block_on(World::platform());
    move_to(&mut world, SqliteStore::open(folder.file()).unwrap());
    let row = |id: &str| {
        let id: GrantId = id.parse().unwrap();
        let sql = "SELECT client, subject, version, created, revoked_at, revoked_why FROM grantor_grants WHERE id = ?1";
        let connection = other_connection(&folder.file());
        let row = connection.query_row(sql, [id.octets()], |row| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, String>(1)?,
                row.get::<_, u32>(2)?,
                row.get::<_, u32>(3)?,
                row.get::<_, Option<u32>>(4)?,
                row.get::<_, Option<String>>(5)?,
            ))
        });
        row.unwrap()
    };
    let client = credentials().id;
    let began = 1_000_000_000;
    assert_eq!(row(LIVE), (client.clone(), "alice".into(), 1, began, None, None));
    world.advance(5);
    let live: GrantId = LIVE.parse().unwrap();
    assert!(block_on(world.server.revoke_grant(live, &world.alice)).unwrap());
    assert_eq!(row(LIVE), (client, "alice".into(), 2, began, Some(began + 5), Some("withdrawn".into())));
    assert_eq!(row(REVOKED).5.as_deref(), Some("revoked_by_client"));
}
