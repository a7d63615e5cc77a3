//! Who may open a store, where, and on which tables.

use std::process::Command;

use grantor::store::postgres::{PostgresError, PostgresOptions, PostgresProblem};
use grantor::store::{Grant, RecordStore};
use grantor::testing::records;
use grantor::{AuthorizationServer, Config, PostgresStore, Timestamp};

use crate::postgres::shared::{options, server};
use support::folder::repository;
use support_servers::servers::postgres::{PASSWORD, PostgresServer};

const END: Timestamp = Timestamp::from_seconds(3_000_000_000);

#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn a_wrong_password_is_reported_as_such_and_never_shown() {
    let connection = server().connection().replace(PASSWORD, "guessed");
    let options = PostgresOptions::new(&connection).unwrap();
    let error = PostgresStore::connect(&options).await.unwrap_err();
    assert!(error.problem() == PostgresProblem::Refused && !error.is_transient(), "{error:?}");
    let store = crate::postgres::shared::store().await;
    for text in [format!("{options:?}"), format!("{error:?}"), format!("{store:?}")] {
        assert!(!text.contains("guessed") && !text.contains(PASSWORD), "{text}");
    }
}

#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn a_server_that_is_not_there_may_come() {
    let options = PostgresOptions::new("host=127.0.0.1 port=1 user=nobody").unwrap();
    let error = PostgresStore::connect(&options).await.unwrap_err();
    assert!(error.problem() == PostgresProblem::Unreachable && error.is_transient(), "{error:?}");
}

#[test]
#[ignore = "runs with the tests that start a PostgreSQL server"]
fn what_cannot_be_meant_is_refused_before_anything_is_sent() {
    for text in ["", "user=nobody", "host=a sslmode=verify-ca", "host=a port=x", "mysql://a/b"] {
        let refused = PostgresOptions::new(text).unwrap_err();
        assert!(refused.problem() == PostgresProblem::Configuration, "{text}: {refused:?}");
    }
    let options = PostgresOptions::new("host=a").unwrap();
    for name in ["", "pg_own", "information_schema", "with\0nul", &"x".repeat(64)] {
        assert!(options.clone().schema(name).unwrap_err().problem() == PostgresProblem::SchemaName, "{name:?}");
    }
    for pem in ["", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        let refused = options.clone().root_certificates(pem.as_bytes()).unwrap_err();
        assert!(refused.problem() == PostgresProblem::Configuration, "{pem}: {refused:?}");
    }
}

#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn a_schema_may_have_any_name() {
    for name in ["quote\"d; DROP TABLE x; --", "UPPER lower", "{schema}", "\u{fc}\u{1f600}", "select", &"x".repeat(63)]
    {
        let options = options().schema(name).unwrap();
        PostgresStore::migrate(&options).await.unwrap();
        let store = PostgresStore::connect(&options).await.unwrap();
        let grant = std::sync::Arc::new(records::grant(&records::subject(), END));
        let _ = store.insert(grant.clone()).await.unwrap();
        assert_eq!(store.find(&grant.id()).await.unwrap(), Some(grant));
        let found = "SELECT FROM pg_namespace WHERE nspname = $1";
        assert_eq!(server().client().await.query(found, &[&name]).await.unwrap().len(), 1, "{name}");
    }
}

#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn a_user_who_may_only_read_and_write_rows_is_enough_once_the_tables_are_there() {
    let options = options().schema("with rights").unwrap();
    let admin = server().client().await;
    let user = "CREATE USER rows PASSWORD 'of rows'; GRANT CONNECT ON DATABASE postgres TO rows";
    admin.batch_execute(user).await.unwrap();
    let connection = server().connection().replace("user=postgres", "user=rows").replace(PASSWORD, "of rows");
    let of_rows = PostgresOptions::new(&connection).unwrap().schema("with rights").unwrap();
    let error = PostgresStore::migrate(&of_rows).await.unwrap_err();
    assert!(error.problem() == PostgresProblem::NotPermitted, "{error:?}");

    PostgresStore::migrate(&options).await.unwrap();
    let error = PostgresStore::connect(&of_rows).await.unwrap_err();
    assert!(error.problem() == PostgresProblem::NotPermitted, "{error:?}");
    let rights = "GRANT USAGE ON SCHEMA \"with rights\" TO rows;
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \"with rights\" TO rows";
    admin.batch_execute(rights).await.unwrap();
    PostgresStore::migrate(&of_rows).await.expect("there is nothing to do");
    let store = PostgresStore::connect(&of_rows).await.unwrap();
    let grant = std::sync::Arc::new(records::grant(&records::subject(), END));
    let _ = store.insert(grant.clone()).await.unwrap();
    assert_eq!(store.find(&grant.id()).await.unwrap(), Some(grant));
    assert_eq!(RecordStore::<Grant>::purge(&store, END, 10).await.unwrap().removed(), 1);
}

/// The same tables, whoever makes them.
#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn printed_sql_makes_the_tables_that_a_migration_makes() {
    let admin = server().client().await;
    admin.batch_execute("CREATE USER planned PASSWORD 'of planned'").await.unwrap();
    let (printed, migrated) = (options().schema("printed").unwrap(), options().schema("migrated").unwrap());
    let sql = PostgresStore::schema_sql(&printed);
    let rights = "GRANT USAGE ON SCHEMA printed TO planned;
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA printed TO planned";
    admin.batch_execute(&format!("BEGIN; {sql} {rights}; COMMIT")).await.unwrap();
    PostgresStore::migrate(&migrated).await.unwrap();
    let layout = async |schema: &str| {
        let columns = "SELECT table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable
            FROM information_schema.columns WHERE table_schema = $1
            UNION ALL SELECT replace(indexdef, $1, '') FROM pg_indexes WHERE schemaname = $1 ORDER BY 1";
        let rows = admin.query(columns, &[&schema]).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect::<Vec<String>>()
    };
    let made = layout("printed").await;
    assert!(made.len() > 50, "{made:?}");
    assert_eq!(made, layout("migrated").await);

    // That user has no right to create anything.
    let connection = server().connection().replace("user=postgres", "user=planned").replace(PASSWORD, "of planned");
    let of_planned = PostgresOptions::new(&connection).unwrap().schema("printed").unwrap();
    PostgresStore::migrate(&of_planned).await.expect("there is nothing to do");
    let store = PostgresStore::connect(&of_planned).await.unwrap();
    let grant = std::sync::Arc::new(records::grant(&records::subject(), END));
    let _ = store.insert(grant.clone()).await.unwrap();
    assert_eq!(store.find(&grant.id()).await.unwrap(), Some(grant));
}

#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn tables_of_a_later_release_are_used_only_if_they_say_so() {
    let options = options().schema("later").unwrap();
    PostgresStore::migrate(&options).await.unwrap();
    let admin = server().client().await;
    admin.batch_execute("UPDATE later.schema_version SET version = 9").await.unwrap();
    PostgresStore::connect(&options).await.expect("a release that knows version 1 can use version 9");
    PostgresStore::migrate(&options).await.unwrap();

    admin.batch_execute("UPDATE later.schema_version SET usable_from = 2").await.unwrap();
    let refused =
        [PostgresStore::connect(&options).await.unwrap_err(), PostgresStore::migrate(&options).await.unwrap_err()];
    for error in refused {
        assert!(matches!(error.problem(), PostgresProblem::SchemaTooNew { needed: 2, known: 1, .. }), "{error:?}");
    }
    let row = admin.query_one("SELECT version FROM later.schema_version", &[]).await.unwrap();
    assert_eq!(row.get::<_, i64>(0), 9, "nothing was changed");
}

/// The first migration step makes the schema from nothing.
#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn tables_of_an_earlier_version_are_brought_up_and_used_after_that_alone() {
    let options = options().schema("earlier").unwrap();
    let admin = server().client().await;
    let version_0 = "CREATE SCHEMA earlier;
        CREATE TABLE earlier.schema_version (version bigint NOT NULL, usable_from bigint NOT NULL);
        INSERT INTO earlier.schema_version VALUES (0, 0)";
    admin.batch_execute(version_0).await.unwrap();
    let error = PostgresStore::connect(&options).await.unwrap_err();
    assert!(matches!(error.problem(), PostgresProblem::SchemaOutdated { found: 0, needed: 1, .. }), "{error:?}");
    PostgresStore::migrate(&options).await.unwrap();
    PostgresStore::connect(&options).await.unwrap();
}

#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn encrypted_connections_check_the_server() {
    let server = PostgresServer::start_encrypted();
    let ca = include_bytes!("../../../../data/postgres-tls/ca.pem");
    // A certificate that signed nothing.
    let other = include_bytes!("../../../../data/postgres-tls/server.pem");
    let connection = server.connection().replace("host=127.0.0.1", "host=localhost hostaddr=127.0.0.1");
    let bare = PostgresOptions::new(&connection).unwrap();
    let error = PostgresStore::connect(&bare).await.unwrap_err();
    assert!(error.problem() == PostgresProblem::Refused, "the server takes no unencrypted connection: {error:?}");
    let required = PostgresOptions::new(&format!("{connection} sslmode=require")).unwrap();
    let error = PostgresStore::connect(&required).await.unwrap_err();
    assert!(error.problem() == PostgresProblem::Untrusted && !error.is_transient(), "not of the system: {error:?}");
    assert!(error.to_string().contains("PostgresOptions::root_certificates"), "{error}");

    for options in [bare.clone(), required.clone()] {
        let options = options.root_certificates(ca).unwrap();
        PostgresStore::migrate(&options).await.unwrap();
        PostgresStore::connect(&options).await.unwrap();
    }
    let bound = PostgresOptions::new(&format!("{connection} channel_binding=require")).unwrap();
    let store = PostgresStore::connect(&bound.root_certificates(ca).unwrap()).await.unwrap();
    let grant = std::sync::Arc::new(records::grant(&records::subject(), END));
    let _ = store.insert(grant).await.unwrap();

    let wrong_name = PostgresOptions::new(&server.connection()).unwrap().root_certificates(ca);
    for options in [bare.root_certificates(other), wrong_name] {
        let error = PostgresStore::connect(&options.unwrap()).await.unwrap_err();
        assert!(error.problem() == PostgresProblem::Untrusted && !error.is_transient(), "{error:?}");
    }
}

/// The environment says which certificates are the system's, so this runs itself once more with another one.
#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn authorities_of_the_system_are_trusted_without_a_setting() {
    const ADDRESS: &str = "GRANTOR_TEST_ENCRYPTED";
    if let Ok(connection) = std::env::var(ADDRESS) {
        for mode in ["require", "verify-full"] {
            let options = PostgresOptions::new(&format!("{connection} sslmode={mode}")).unwrap();
            PostgresStore::migrate(&options).await.unwrap();
            PostgresStore::connect(&options).await.unwrap();
        }
        return;
    }
    let server = PostgresServer::start_encrypted();
    let connection = server.connection().replace("host=127.0.0.1", "host=localhost hostaddr=127.0.0.1");
    let run = |roots: &str| {
        let mut again = Command::new(std::env::current_exe().unwrap());
        again.args(["--exact", "postgres::opening::authorities_of_the_system_are_trusted_without_a_setting"]);
        let roots = repository().join("tests/data/postgres-tls").join(roots);
        again
            .args(["--include-ignored"])
            .env(ADDRESS, &connection)
            .env("SSL_CERT_FILE", roots)
            .env_remove("SSL_CERT_DIR")
            .output()
            .unwrap()
    };
    let trusting = run("ca.pem");
    assert!(trusting.status.success(), "{}", String::from_utf8_lossy(&trusting.stdout));
    // A file without a certificate.
    let without = run("server.key");
    let text = String::from_utf8_lossy(&without.stdout);
    assert!(text.contains("the system has none"), "{text}");
    let mistyped = run("mistyped.pem");
    let text = String::from_utf8_lossy(&mistyped.stdout);
    assert!(text.contains("cannot be read") && text.contains("mistyped.pem"), "{text}");
}

#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn a_server_that_cannot_encrypt_is_refused_where_that_is_asked_for() {
    let ca = include_bytes!("../../../../data/postgres-tls/ca.pem");
    let connection = server().connection().replace("host=127.0.0.1", "host=localhost hostaddr=127.0.0.1");
    let options = PostgresOptions::new(&connection).unwrap().root_certificates(ca).unwrap();
    assert!(PostgresStore::connect(&options).await.is_err());
}

/// No call is answered before a server was reached and its tables were checked, and none is answered wrongly.
#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn a_service_may_start_before_its_database() {
    let options = options().schema("made later").unwrap();
    let store = PostgresStore::connect_lazily(&options);
    let grant = std::sync::Arc::new(records::grant(&records::subject(), END));
    let problem = |error: grantor::store::StoreError| {
        let source = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<PostgresError>());
        (source.expect("an error of the store").problem(), error.is_transient())
    };
    for _ in 0..2 {
        let found = RecordStore::<Grant>::find(&store, &grant.id()).await;
        assert_eq!(problem(found.unwrap_err()), (PostgresProblem::SchemaMissing, false));
        let inserted = store.insert(grant.clone()).await;
        assert_eq!(problem(inserted.unwrap_err()), (PostgresProblem::SchemaMissing, false));
    }
    let config = Config::platform("https://auth.example");
    let waiting = AuthorizationServer::new(config, store.clone()).unwrap();
    assert_eq!(waiting.readiness_response().await.status(), 503);
    PostgresStore::migrate(&options).await.unwrap();
    let began = tokio::time::Instant::now();
    while store.insert(grant.clone()).await.is_err() {
        assert!(began.elapsed().as_secs() < 10, "it does not notice the tables");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(store.find(&grant.id()).await.unwrap(), Some(grant));
    assert_eq!(waiting.readiness_response().await.status(), 204);

    let nobody = PostgresOptions::new("host=127.0.0.1 port=1 user=nobody").unwrap();
    let id = records::grant(&records::subject(), END).id();
    let found = RecordStore::<Grant>::find(&PostgresStore::connect_lazily(&nobody), &id).await;
    assert_eq!(problem(found.unwrap_err()), (PostgresProblem::Unreachable, true));
}
