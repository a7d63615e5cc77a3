//! Connections that the service opens itself.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use grantor::store::postgres::{
    PostgresConnection, PostgresConnector, PostgresError, PostgresOptions, PostgresProblem,
};
use grantor::store::{Insertion, RecordStore};
use grantor::testing::records;
use grantor::{PostgresStore, Timestamp};
use tokio::net::TcpStream;
use tokio_postgres::{Config, NoTls};

use crate::postgres::shared::{options_of, server, store_of};
use support_servers::servers::postgres::PASSWORD;

/// Opens its own socket, and fetches the password for each login.
#[derive(Clone, Default)]
pub(crate) struct Own {
    opened: Arc<AtomicUsize>,
}

#[async_trait]
impl PostgresConnector for Own {
    async fn connect(&self, config: &Config) -> Result<PostgresConnection, Box<dyn Error + Send + Sync>> {
        self.opened.fetch_add(1, Ordering::SeqCst);
        let mut config = config.clone();
        config.password(PASSWORD);
        let socket = TcpStream::connect(("127.0.0.1", server().port())).await?;
        let (client, connection) = config.connect_raw(socket, NoTls).await?;
        Ok(PostgresConnection::new(client, connection))
    }
}

#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn every_connection_comes_from_the_given_connector() {
    let own = Own::default();
    let options =
        options_of("host=unreachable.invalid user=postgres application_name='of its own'").connector(own.clone());
    PostgresStore::migrate(&options).await.unwrap();
    let store = PostgresStore::connect(&options).await.unwrap();
    assert_eq!(own.opened.load(Ordering::SeqCst), 3);
    let grant = Arc::new(records::grant(&records::subject(), Timestamp::from_seconds(3_000_000_000)));
    assert_eq!(store.insert(grant).await.unwrap(), Insertion::Inserted);
    // They belong to the store alone, so a write is a prepared statement, and not a transaction as through a pooler.
    let last = "SELECT query FROM pg_stat_activity WHERE application_name LIKE 'of its own-________'";
    let rows = server().client().await.query(last, &[]).await.unwrap();
    let statements: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    assert!(statements.len() == 2 && statements.iter().any(|text| text.starts_with("INSERT")), "{statements:?}");
}

/// PostgreSQL keeps 63 bytes of a name, and writes each byte that is not ASCII as up to four.
#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn any_application_name_leaves_the_sessions_to_the_store() {
    let connection = format!("{} application_name={}", server().connection(), "\u{fc}".repeat(60));
    let store = store_of(options_of(&connection)).await;
    let grant = Arc::new(records::grant(&records::subject(), Timestamp::from_seconds(3_000_000_000)));
    assert_eq!(store.insert(grant).await.unwrap(), Insertion::Inserted);
    let last = "SELECT query FROM pg_stat_activity WHERE application_name LIKE repeat('?', 54) || '-________'";
    let rows = server().client().await.query(last, &[]).await.unwrap();
    assert!(rows.len() == 2 && rows.iter().any(|row| row.get::<_, &str>(0).starts_with("INSERT")), "{rows:?}");
}

#[test]
#[ignore = "runs with the tests that start a PostgreSQL server"]
fn root_certificates_do_not_replace_a_connector() {
    let ca = include_bytes!("../../../../data/postgres-tls/ca.pem");
    let options = PostgresOptions::new("host=a").unwrap();
    let refused = options.clone().connector(Failing).root_certificates(ca).unwrap_err();
    assert!(refused.problem() == PostgresProblem::Configuration, "{refused:?}");
    let source = Error::source(&refused).unwrap().to_string();
    assert!(source.contains("PostgresOptions::connector") && source.contains("pass these to it"), "{source}");
    let _ = options.root_certificates(ca).unwrap().connector(Failing);
}

struct Failing;

#[async_trait]
impl PostgresConnector for Failing {
    async fn connect(&self, config: &Config) -> Result<PostgresConnection, Box<dyn Error + Send + Sync>> {
        match config.get_dbname() {
            Some("of the driver") => {
                let (client, connection) = config.clone().password("guessed").connect(NoTls).await?;
                Ok(PostgresConnection::new(client, connection))
            }
            Some("of the options") => Err(PostgresOptions::new("").unwrap_err().into()),
            _ => Err("the token service does not answer".into()),
        }
    }
}

#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn errors_of_a_connector_are_reported_as_what_they_are() {
    let connected = async |database: &str| -> PostgresError {
        let connection = server().connection().replace("dbname=postgres", &format!("dbname='{database}'"));
        let options = PostgresOptions::new(&connection).unwrap().connector(Failing);
        PostgresStore::connect(&options).await.unwrap_err()
    };
    assert_eq!(connected("of the driver").await.problem(), PostgresProblem::Refused);
    assert_eq!(connected("of the options").await.problem(), PostgresProblem::Configuration);
    let other = connected("postgres").await;
    assert!(other.problem() == PostgresProblem::Unreachable && other.is_transient(), "{other:?}");
    let source = Error::source(&other).unwrap().to_string();
    assert!(source.contains("the token service does not answer"), "{source}");
}
