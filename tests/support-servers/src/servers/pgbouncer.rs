//! PgBouncer from the machine's own binaries, in front of a PostgreSQL server of the tests.

use std::ffi::OsStr;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use tokio::time::Instant;

use crate::servers::postgres::{PASSWORD, PostgresServer, Running, USER, give_away, new_folder};

/// A pooler that gives each transaction any of its connections, with the defaults of Debian's package otherwise.
#[derive(Debug)]
pub struct PgBouncer {
    port: u16,
    running: Option<Running>,
}

impl PgBouncer {
    /// Starts one that has so many connections to the server.
    pub fn start(server: &PostgresServer, connections: usize) -> Self {
        Self::start_with(server, connections, "")
    }

    /// Starts one whose entry for the server has further settings.
    pub fn start_with(server: &PostgresServer, connections: usize, entry: &str) -> Self {
        let folder = new_folder();
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let (settings, users) = (folder.join("pgbouncer.ini"), folder.join("users.txt"));
        let text = format!(
            "[databases]
            * = host=127.0.0.1 port={} {entry}
            [pgbouncer]
            listen_addr = 127.0.0.1
            listen_port = {port}
            unix_socket_dir =
            auth_type = md5
            auth_file = {}
            admin_users = {USER}
            pool_mode = transaction
            default_pool_size = {connections}
            ",
            server.port(),
            users.display()
        );
        fs::write(&settings, text.replace("            ", "")).unwrap();
        fs::write(&users, format!("\"{USER}\" \"{PASSWORD}\"\n")).unwrap();
        [&settings, &users].into_iter().for_each(|path| give_away(path));
        let program = ["/usr/sbin", "/usr/bin"].map(|own| Path::new(own).join("pgbouncer"));
        let program = program.iter().find(|path| path.exists()).expect("PgBouncer is not installed");
        let running = Running::start(program, &[OsStr::new("-q"), settings.as_os_str()], &folder, "TERM");
        let deadline = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let log = || fs::read_to_string(folder.join("log.txt")).unwrap_or_default();
            assert!(Instant::now() < deadline, "no start: {}", log());
            sleep(Duration::from_millis(5));
        }
        Self { port, running: Some(running) }
    }

    /// A connection string of the superuser.
    pub fn connection(&self) -> String {
        format!("host=127.0.0.1 port={} user={USER} password='{PASSWORD}' dbname=postgres", self.port)
    }

    /// Returns how many connections to the server there are.
    pub async fn connections(&self) -> usize {
        let console = self.connection().replace("dbname=postgres", "dbname=pgbouncer");
        let (client, connection) = tokio_postgres::connect(&console, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        let rows = client.simple_query("SHOW SERVERS").await.unwrap();
        rows.iter().filter(|row| matches!(row, tokio_postgres::SimpleQueryMessage::Row(_))).count()
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        self.running.take().into_iter().for_each(|running| running.ended(true));
    }
}
