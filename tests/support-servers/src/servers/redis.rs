//! Redis servers from the machine's own binaries, each in its own folder and on its own ports.
//!
//! A shell watches over each server and ends it when the test's process is gone, however that ended.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use support::folder::scratch;

/// Starts a server, prints its process id, and ends it when the input ends. Removes its folder too, unless a line was
/// read.
const WATCH: &str = r#"folder=$1; shift
redis-server "$@" >>"$folder/log" 2>&1 &
echo $!
read -r keep
kill -9 $! 2>/dev/null
wait
[ -n "$keep" ] || rm -rf "$folder""#;
/// Tenths of a second within which a server must answer, or a cluster must be whole.
const PATIENCE: usize = 600;

const DURABLE: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "always"];

/// A standalone server, or one node of a cluster.
#[derive(Debug)]
pub struct Server {
    port: u16,
    folder: PathBuf,
    arguments: Vec<String>,
    running: Mutex<Option<Running>>,
}

#[derive(Debug)]
struct Running {
    watch: Child,
    process: u32,
}

impl Server {
    /// Starts a server whose append-only file is never synced.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server that syncs each write before it answers.
    pub fn durable() -> Self {
        Self::start_with(&DURABLE)
    }

    /// Starts a server with more arguments.
    pub fn start_with(more: &[&str]) -> Self {
        let server = Self::begin(more);
        server.until_it_answers();
        server
    }

    fn begin(more: &[&str]) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = scratch().join(format!("redis-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let port = free_port();
        let own = ["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--daemonize", "no"];
        let mut arguments: Vec<_> = own.map(str::to_owned).into();
        arguments.extend(["--dir".to_owned(), folder.display().to_string()]);
        arguments.extend(["--appendonly", "yes", "--appendfsync", "no"].map(str::to_owned));
        arguments.extend(more.iter().map(|&argument| argument.to_owned()));
        let server = Self { port, folder, arguments, running: Mutex::new(None) };
        server.run();
        server
    }

    fn run(&self) {
        let mut watch = Command::new("sh")
            .args(["-c", WATCH, "redis-watch"])
            .arg(&self.folder)
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("there is a shell");
        let mut process = String::new();
        BufReader::new(watch.stdout.take().unwrap()).read_line(&mut process).unwrap();
        let process = process.trim().parse().expect("the shell prints the process id");
        *self.running.lock().unwrap() = Some(Running { watch, process });
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn address(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Kills the process with `kill -9`.
    pub fn kill(&self) {
        if let Some(mut running) = self.running.lock().unwrap().take() {
            signal(running.process, "KILL");
            drop(running.watch.stdin.take().map(|mut input| input.write_all(b"keep the folder\n")));
            running.watch.wait().unwrap();
        }
    }

    /// Freezes the process with `SIGSTOP`.
    pub fn freeze(&self) {
        signal(self.running.lock().unwrap().as_ref().expect("it runs").process, "STOP");
    }

    /// Lets a frozen process continue.
    pub fn thaw(&self) {
        signal(self.running.lock().unwrap().as_ref().expect("it runs").process, "CONT");
    }

    /// Starts the process again, with what it had on the disk.
    pub fn restart(&self) {
        self.run();
        self.until_it_answers();
    }

    /// Runs `redis-cli` on the server.
    pub fn ask(&self, arguments: &[&str]) -> String {
        let output = self.cli(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Returns the value of a line of `INFO`.
    pub fn info(&self, name: &str) -> Option<String> {
        let info = self.ask(&["INFO", "everything"]);
        info.lines().find_map(|line| Some(line.trim().strip_prefix(name)?.strip_prefix(':')?.to_owned()))
    }

    /// Whether one replica has caught up, so that what is written now reaches it.
    pub fn feeds_a_replica(&self) -> bool {
        self.info("slave0").is_some_and(|replica| replica.contains("state=online"))
    }

    fn cli(&self, arguments: &[&str]) -> Output {
        let port = self.port.to_string();
        Command::new("redis-cli").args(["-p", &port]).args(arguments).output().expect("there is redis-cli")
    }

    fn until_it_answers(&self) {
        let answers = || self.cli(&["PING"]).stdout.starts_with(b"PONG");
        until(answers, || fs::read_to_string(self.folder.join("log")).unwrap_or_default());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        drop(fs::remove_dir_all(&self.folder));
    }
}

/// Three primaries, each with one replica.
#[derive(Debug)]
pub struct Cluster {
    pub nodes: Vec<Server>,
}

impl Cluster {
    /// Starts a cluster whose nodes treat a silent node as failed after a second.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a cluster whose nodes sync each write before they answer.
    pub fn durable() -> Self {
        Self::start_with(&DURABLE)
    }

    /// Starts a cluster with more arguments for each node.
    pub fn start_with(more: &[&str]) -> Self {
        let nodes: Vec<_> = (0..6)
            .map(|_| {
                let bus = free_port().to_string();
                let own = ["--cluster-enabled", "yes", "--cluster-port", &bus, "--cluster-node-timeout", "1000"];
                Server::begin(&[&own, more].concat())
            })
            .collect();
        nodes.iter().for_each(Server::until_it_answers);
        let addresses: Vec<_> = nodes.iter().map(|node| format!("127.0.0.1:{}", node.port)).collect();
        let mut create = Command::new("redis-cli");
        create.args(["--cluster", "create"]).args(addresses).args(["--cluster-replicas", "1", "--cluster-yes"]);
        let output = create.output().expect("there is redis-cli");
        assert!(output.status.success(), "{output:?}");
        let cluster = Self { nodes };
        cluster.until_it_is_whole();
        cluster
    }

    /// Returns the addresses of the nodes.
    pub fn addresses(&self) -> Vec<String> {
        self.nodes.iter().map(Server::address).collect()
    }

    /// Returns the nodes that are primaries now and run.
    pub fn primaries(&self) -> Vec<&Server> {
        let running = |node: &&Server| node.running.lock().unwrap().is_some();
        self.nodes.iter().filter(running).filter(|node| node.info("role").as_deref() == Some("master")).collect()
    }

    /// Returns the replica of a primary.
    pub fn replica_of(&self, primary: &Server) -> &Server {
        let port = primary.port.to_string();
        let follows = |node: &&Server| node.info("master_port").as_deref() == Some(&port);
        self.nodes.iter().find(follows).expect("each primary has a replica")
    }

    /// Moves so many slots from one primary to another, with their keys, once all nodes agree on an earlier move.
    pub fn move_slots(&self, from: &Server, to: &Server, count: usize) {
        let check = || {
            let address = format!("127.0.0.1:{}", from.port);
            Command::new("redis-cli").args(["--cluster", "check", &address]).output().expect("there is redis-cli")
        };
        until(|| check().status.success(), || format!("{:?}", check()));
        let id = |server: &Server| server.ask(&["CLUSTER", "MYID"]);
        let mut reshard = Command::new("redis-cli");
        reshard.args(["--cluster", "reshard", &format!("127.0.0.1:{}", from.port), "--cluster-yes"]);
        reshard.args(["--cluster-from", &id(from), "--cluster-to", &id(to), "--cluster-slots", &count.to_string()]);
        let output = reshard.output().expect("there is redis-cli");
        assert!(output.status.success(), "{output:?}");
    }

    /// Waits until all nodes agree, and every replica is up to date.
    pub fn until_it_is_whole(&self) {
        let is_ready = |node: &Server| {
            let agreed = node.cli(&["CLUSTER", "INFO"]).stdout;
            let agreed = String::from_utf8_lossy(&agreed);
            let follows = match node.info("role").as_deref() {
                Some("slave") => node.info("master_link_status").as_deref() == Some("up"),
                _ => node.feeds_a_replica(),
            };
            agreed.contains("cluster_state:ok") && agreed.contains("cluster_known_nodes:6") && follows
        };
        until(|| self.nodes.iter().all(is_ready), || format!("{:?}", self.nodes[0].cli(&["CLUSTER", "NODES"])));
    }
}

/// Waits until the condition holds, or fails with that description.
pub fn until(holds: impl Fn() -> bool, describe: impl Fn() -> String) {
    for _ in 0..PATIENCE {
        if holds() {
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("waited in vain: {}", describe());
}

/// A port below the ephemeral ports: a connection might get one of those before the server does.
pub(super) fn free_port() -> u16 {
    const FIRST: u32 = 10_000;
    const COUNT: u32 = 20_000;
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let own = std::process::id().wrapping_mul(97);
    loop {
        let number = own.wrapping_add(NUMBER.fetch_add(1, Ordering::Relaxed));
        let port = u16::try_from(FIRST + number % COUNT).unwrap();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

pub(super) fn signal(process: u32, name: &str) {
    let sent = Command::new("kill").args([format!("-{name}"), process.to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()), "no signal {name} to {process}");
}
