//! PostgreSQL driven directly: a pool of plain connections that send one statement after the other, and pgbench.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use tokio::runtime::Runtime;
use tokio_postgres::{Client, Statement};

use super::grants::{Grants, id, version};
use support_servers::servers::postgres::{PASSWORD, PostgresServer, USER};

const FIND: &str = "SELECT record FROM grantor.grants WHERE key = $1::text::uuid";
const REPLACE: &str = "UPDATE grantor.grants SET version = $3::bigint, record = $4::bytea, ended_at = NULL,
    ended_why = NULL WHERE key = $1::text::uuid AND version = $2::bigint";
/// Statements in the script that pgbench repeats.
const LOOK_UPS: u64 = 200;

/// Connections, each used by one caller at a time.
pub(crate) struct Pool {
    connections: Vec<Arc<Connection>>,
}

struct Connection {
    client: Client,
    find: Statement,
    replace: Statement,
}

impl Pool {
    pub(crate) fn connect(runtime: &Runtime, server: &PostgresServer, size: u32) -> Self {
        let connect = async || {
            let client = server.client().await;
            let find = client.prepare(FIND).await.unwrap();
            let replace = client.prepare(REPLACE).await.unwrap();
            Arc::new(Connection { client, find, replace })
        };
        Self { connections: (0..size).map(|_| runtime.block_on(connect())).collect() }
    }

    /// Finds a grant and puts its next version in its place, with the connection of that number.
    pub(crate) fn refresh(
        &self,
        connection: u32,
        grants: Arc<Grants>,
        number: u64,
    ) -> impl Future<Output = ()> + use<> {
        let connection = self.connections[connection as usize % self.connections.len()].clone();
        async move {
            let id = uuid(number);
            let row = connection.client.query_one(&connection.find, &[&id]).await.unwrap();
            let version = version(row.get(0));
            let bytes = grants.refreshed_bytes(number, version + 1);
            let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
                [&id, &i64::from(version), &i64::from(version + 1), &bytes];
            assert_eq!(connection.client.execute(&connection.replace, &parameters).await.unwrap(), 1);
        }
    }
}

/// Look-ups a second with eight connections of pgbench, which is written in C. `None` if it is not installed.
pub(crate) fn look_ups(server: &PostgresServer, rows: u64, seconds: u32) -> Option<f64> {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("pgbench-{}.sql", std::process::id()));
    let mut script = String::new();
    for place in 0..LOOK_UPS {
        let id = uuid(super::grants::mixed(place) % rows);
        writeln!(script, "SELECT record FROM grantor.grants WHERE key = '{id}';").unwrap();
    }
    fs::write(&path, script).unwrap();
    let (port, time) = (server.port().to_string(), seconds.to_string());
    let mut pgbench = Command::new("pgbench");
    pgbench.args(["-n", "-M", "prepared", "-c", "8", "-j", "2", "-T", &time, "-f"]).arg(&path);
    pgbench.args(["-h", "127.0.0.1", "-p", &port, "-U", USER, "postgres"]).env("PGPASSWORD", PASSWORD);
    let output = pgbench.output();
    fs::remove_file(path).unwrap();
    let printed = String::from_utf8(output.ok()?.stdout).unwrap();
    let line = printed.lines().find_map(|line| line.strip_prefix("tps = "))?;
    let scripts: f64 = line.split(' ').next()?.parse().ok()?;
    Some(scripts * LOOK_UPS as f64)
}

fn uuid(number: u64) -> String {
    let digits = id(number).iter().fold(String::new(), |digits, byte| digits + &format!("{byte:02x}"));
    format!("{}-{}-{}-{}-{}", &digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..])
}
