//! Throw-away PostgreSQL servers from the machine's own binaries. Each has its own folder, loopback port and process,
//! and ends with the process that started it, however that ends.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread::sleep;
use std::time::Duration;

use tokio::time::Instant;

use support::folder::{repository, scratch};

pub const USER: &str = "postgres";
pub const PASSWORD: &str = "a password of tests";
/// How long a server may take to start, recovery included.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server, running or not.
#[derive(Debug)]
pub struct PostgresServer {
    folder: PathBuf,
    port: u16,
    settings: Vec<String>,
    running: Mutex<Option<Running>>,
}

/// A shell that starts the server, and ends it when the shell's own standard input ends. The input ends with the
/// process that holds its other end.
#[derive(Debug)]
pub(super) struct Running {
    shell: Child,
    server: u32,
}

impl Running {
    /// Starts a program as the servers' user, with its log in the folder. The signal ends it at once.
    pub(super) fn start(program: &Path, arguments: &[&OsStr], folder: &Path, signal: &str) -> Self {
        let mut command = as_server(Command::new("sh"));
        command.args(["-c", SHELL, "sh"]).arg(program).args(arguments);
        command.env("LOG", folder.join("log.txt")).env("FOLDER", folder).env("SIGNAL", signal).current_dir("/");
        let mut shell = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { shell, server: line.trim().parse().unwrap() }
    }

    pub(super) fn server(&self) -> u32 {
        self.server
    }

    /// Waits for the end of shell and server. If the shell reads no word, it removes the folder as well.
    pub(super) fn ended(mut self, for_good: bool) {
        let mut input = self.shell.stdin.take().unwrap();
        if !for_good {
            input.write_all(b"keep\n").unwrap();
        }
        drop(input);
        self.shell.wait().unwrap();
    }
}

const SHELL: &str = r#"
exec 2>>"$LOG"
"$@" >>"$LOG" 2>&1 </dev/null &
echo $!
read -r word
kill -$SIGNAL $! 2>>"$LOG"
wait $!
[ "$word" = keep ] || rm -rf -- "$FOLDER"
"#;

/// How a server is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// As an operator restarts it: sessions are ended, everything is written.
    Fast,
    /// Every process at once, without writing anything.
    Immediate,
    /// Every process with SIGKILL.
    Killed,
}

impl PostgresServer {
    /// Makes a server and starts it, with settings as `name=value`.
    pub fn start(settings: &[&str]) -> Self {
        let folder = new_folder();
        let password = folder.with_extension("password");
        fs::write(&password, PASSWORD).unwrap();
        give_away(&password);
        let pwfile = format!("--pwfile={}", password.display());
        let data = format!("--pgdata={}", folder.display());
        run(
            "initdb",
            &[
                &data,
                "--no-sync",
                "--auth=scram-sha-256",
                "--encoding=UTF8",
                "--locale=C",
                "--username=postgres",
                &pwfile,
            ],
        );
        fs::remove_file(password).unwrap();
        Self::running(folder, settings)
    }

    /// Makes a server that takes encrypted connections alone, by the name `localhost`.
    pub fn start_encrypted() -> Self {
        let mut server = Self::start(&[]);
        server.end(End::Fast);
        let given = repository().join("tests/data/postgres-tls");
        for (name, text) in
            [("server.pem", None), ("server.key", None), ("pg_hba.conf", Some("hostssl all all all scram-sha-256\n"))]
        {
            let path = server.folder.join(name);
            match text {
                Some(text) => fs::write(&path, text).unwrap(),
                None => _ = fs::copy(given.join(name), &path).unwrap(),
            }
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            give_away(&path);
        }
        let settings = ["ssl=on", "ssl_cert_file=server.pem", "ssl_key_file=server.key"];
        server.settings = settings.map(str::to_owned).to_vec();
        server.resume();
        server
    }

    /// Makes a standby of this server and starts it; it is known to the primary by that name.
    pub fn standby(&self, name: &str, settings: &[&str]) -> Self {
        let folder = new_folder();
        let primary = format!("{} application_name={name}", self.connection());
        let data = format!("--pgdata={}", folder.display());
        run("pg_basebackup", &[&data, "--dbname", &primary, "--checkpoint=fast", "--no-sync", "--write-recovery-conf"]);
        Self::running(folder, settings)
    }

    fn running(folder: PathBuf, settings: &[&str]) -> Self {
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let settings = settings.iter().map(|&setting| setting.to_owned()).collect();
        let server = Self { folder, port, settings, running: Mutex::new(None) };
        server.resume();
        server
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// A connection string of the superuser.
    pub fn connection(&self) -> String {
        format!("host=127.0.0.1 port={} user={USER} password='{PASSWORD}' dbname=postgres", self.port)
    }

    /// A connection of the superuser.
    pub async fn client(&self) -> tokio_postgres::Client {
        let (client, connection) = tokio_postgres::connect(&self.connection(), tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    /// Changes a setting of the running server, for existing sessions as well.
    pub async fn set(&self, name: &str, value: &str) {
        let client = self.client().await;
        client.batch_execute(&format!("ALTER SYSTEM SET {name} = '{value}'")).await.unwrap();
        client.batch_execute("SELECT pg_reload_conf()").await.unwrap();
        let show = format!("SHOW {name}");
        let deadline = Instant::now() + PATIENCE;
        loop {
            assert!(Instant::now() < deadline, "no change of {name}: {}", self.log());
            // A session reads the file when it comes to its next statement after the signal.
            let row = client.query_one(&show, &[]).await.unwrap();
            if row.get::<_, &str>(0) == value {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Starts the server where it was left, and waits until it answers.
    pub fn resume(&self) {
        let mut running = self.running.lock().unwrap();
        assert!(running.is_none(), "the server runs");
        let deadline = Instant::now() + PATIENCE;
        // Processes of a killed server may still be there, and keep the new one from starting.
        while running.is_none() {
            assert!(Instant::now() < deadline, "no start: {}", self.log());
            *running = self.try_to_run(deadline);
        }
    }

    /// Stops the server and waits until it is gone.
    pub fn end(&self, end: End) {
        let running = self.running.lock().unwrap().take().expect("the server runs");
        let server = running.server;
        let signal = match end {
            End::Fast => "INT",
            End::Immediate => "QUIT",
            End::Killed => "KILL",
        };
        if end == End::Killed {
            // None of its processes can do anything more.
            kill("STOP", server);
            children(server).into_iter().for_each(|child| kill(signal, child));
        }
        kill(signal, server);
        if end == End::Fast {
            let deadline = Instant::now() + PATIENCE;
            while self.folder.join("postmaster.pid").exists() {
                assert!(Instant::now() < deadline, "no end: {}", self.log());
                sleep(Duration::from_millis(2));
            }
        }
        running.ended(false);
    }

    /// Freezes the processes of the server, or lets them continue.
    pub fn freeze(&self, frozen: bool) {
        let signal = if frozen { "STOP" } else { "CONT" };
        let server = self.running.lock().unwrap().as_ref().expect("the server runs").server;
        children(server).into_iter().for_each(|child| kill(signal, child));
        kill(signal, server);
    }

    /// Lets these processes of the server write no file of more than that many bytes, or any file again.
    pub fn limit_files(&self, processes: &[i32], bytes: Option<u64>) {
        let limit = bytes.map_or_else(|| "unlimited".to_owned(), |bytes| bytes.to_string());
        for process in processes {
            let mut command = as_server(Command::new("prlimit"));
            // The soft limit alone, which may be raised again.
            let arguments = [format!("--pid={process}"), format!("--fsize={limit}:")];
            assert!(command.args(arguments).current_dir("/").status().unwrap().success(), "{}", self.log());
        }
    }

    /// Makes a standby take writes.
    pub fn promote(&self) {
        run("pg_ctl", &["promote", "--wait", &format!("--pgdata={}", self.folder.display())]);
    }

    fn try_to_run(&self, deadline: Instant) -> Option<Running> {
        let own = [
            format!("port={}", self.port),
            "listen_addresses=127.0.0.1".to_owned(),
            "unix_socket_directories=".to_owned(),
            "shared_buffers=64MB".to_owned(),
        ];
        let settings = own.iter().chain(&self.settings).flat_map(|setting| ["-c", setting]);
        let arguments: Vec<&OsStr> =
            [OsStr::new("-D"), self.folder.as_os_str()].into_iter().chain(settings.map(OsStr::new)).collect();
        let running = Running::start(&binary("postgres"), &arguments, &self.folder, "QUIT");
        loop {
            if self.is_ready(running.server) {
                return Some(running);
            }
            if is_gone(running.server) || Instant::now() > deadline {
                running.ended(false);
                return None;
            }
            sleep(Duration::from_millis(5));
        }
    }

    /// The file states its process, and at last whether connections are accepted.
    fn is_ready(&self, server: u32) -> bool {
        let Ok(status) = fs::read_to_string(self.folder.join("postmaster.pid")) else { return false };
        let lines: Vec<_> = status.lines().map(str::trim).collect();
        lines.first() == Some(&server.to_string().as_str()) && lines.get(7) == Some(&"ready")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log.txt")).unwrap_or_default()
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        match self.running.get_mut().unwrap().take() {
            Some(running) => running.ended(true),
            None => fs::remove_dir_all(&self.folder).unwrap(),
        }
    }
}

/// A process that has ended but was not waited for is gone as well.
fn is_gone(process: u32) -> bool {
    let Ok(status) = fs::read_to_string(format!("/proc/{process}/stat")) else { return true };
    status.rsplit(") ").next().is_some_and(|state| state.starts_with('Z'))
}

fn children(process: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let parent = |own: &u32| {
        let status = fs::read_to_string(format!("/proc/{own}/stat")).ok()?;
        status.rsplit(") ").next()?.split(' ').nth(1)?.parse::<u32>().ok()
    };
    numbers.filter(|own| parent(own) == Some(process)).collect()
}

/// A process that has ended meanwhile needs no signal.
fn kill(signal: &str, process: u32) {
    Command::new("kill").args([format!("-{signal}"), process.to_string()]).stderr(Stdio::null()).status().unwrap();
}

fn run(program: &str, arguments: &[&str]) {
    let mut command = as_server(Command::new(binary(program)));
    let output = command.args(arguments).current_dir("/").output().unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
}

/// PostgreSQL refuses to run as root, so root runs it as an unprivileged user.
fn as_server(mut command: Command) -> Command {
    if let Some((user, group)) = server_user() {
        command.uid(user).gid(group);
    }
    command
}

fn server_user() -> Option<(u32, u32)> {
    static USER: OnceLock<Option<(u32, u32)>> = OnceLock::new();
    *USER.get_or_init(|| {
        let root = fs::metadata("/proc/self").unwrap().uid() == 0;
        root.then(|| {
            let users = fs::read_to_string("/etc/passwd").unwrap();
            let of = |name: &str| {
                let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
                let mut fields = line.split(':').skip(2).map(|field| field.parse().unwrap());
                Some((fields.next()?, fields.next()?))
            };
            of("postgres").or_else(|| of("nobody")).expect("a user who is not root")
        })
    })
}

pub(super) fn give_away(path: &Path) {
    if let Some((user, group)) = server_user() {
        chown(path, Some(user), Some(group)).unwrap();
    }
}

/// Under the build's folder, or among the system's temporary files where the server's user cannot get
/// there.
pub(super) fn new_folder() -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let own = scratch();
    let reachable = own.ancestors().all(|part| fs::metadata(part).is_ok_and(|of| of.permissions().mode() & 1 == 1));
    let parent = if reachable || server_user().is_none() { own } else { std::env::temp_dir() };
    let number = NUMBER.fetch_add(1, Ordering::SeqCst);
    // Server processes of another user can only remove what is in a folder of that user.
    let parent = parent.join("servers");
    fs::create_dir_all(&parent).unwrap();
    give_away(&parent);
    let folder = parent.join(format!("postgres-{}-{number}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    give_away(&folder);
    folder
}

/// The newest installed one.
fn binary(name: &str) -> PathBuf {
    let named = Command::new("pg_config").arg("--bindir").output().ok();
    let named = named.and_then(|output| String::from_utf8(output.stdout).ok()).map(|path| path.trim().into());
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten().map(|entry| entry.path());
    let mut versions: Vec<_> = versions.collect();
    versions.sort_by_key(|path| path.file_name().and_then(OsStr::to_str).and_then(|name| name.parse::<u32>().ok()));
    let folders = versions.into_iter().rev().map(|version| version.join("bin")).chain(named);
    let mut programs = folders.map(|folder| folder.join(name));
    programs.find(|path| path.exists()).unwrap_or_else(|| panic!("{name} of PostgreSQL is not installed"))
}
