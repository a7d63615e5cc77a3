//! Three members of etcd from the machine's own binary, each in its own folder and on its own ports, which sync each
//! write. They end with the process that started them, however that ends.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use crate::servers::postgres::{Running, new_folder};
use crate::servers::redis::{free_port, signal, until};

/// Milliseconds without a sign of the leader until the others choose another. The default, a second, is for slow
/// networks.
const ELECTION: &str = "--election-timeout=500";
const HEARTBEAT: &str = "--heartbeat-interval=50";

/// How long a member may take to state its leader.
const PATIENCE: Duration = Duration::from_secs(1);

/// A cluster.
#[derive(Debug)]
pub struct Etcd {
    members: Vec<Member>,
}

#[derive(Debug)]
struct Member {
    address: String,
    folder: PathBuf,
    arguments: Vec<String>,
    running: Mutex<Option<Running>>,
}

impl Etcd {
    /// Starts three members and waits until they have a leader.
    pub fn start() -> Self {
        let peers: Vec<_> = (0..3).map(|number| (format!("m{number}"), local(free_port()))).collect();
        let all = peers.iter().map(|(name, peer)| format!("{name}={peer}")).collect::<Vec<_>>().join(",");
        let members = peers.iter().map(|(name, peer)| Member::new(name, peer, &all)).collect();
        let cluster = Self { members };
        cluster.members.iter().for_each(Member::run);
        cluster.until_it_is_whole();
        cluster
    }

    /// The addresses for clients.
    pub fn addresses(&self) -> Vec<String> {
        self.members.iter().map(|member| member.address.clone()).collect()
    }

    /// The place of the leader among the members.
    pub fn leader(&self) -> Option<usize> {
        self.members.iter().position(|member| member.status().is_some_and(|(own, leader)| own == leader))
    }

    /// Kills a member with `kill -9`.
    pub fn kill(&self, member: usize) {
        let running = self.members[member].running.lock().unwrap().take().expect("it runs");
        running.ended(false);
    }

    /// Freezes a member, or lets it continue.
    pub fn freeze(&self, member: usize, is_frozen: bool) {
        let running = self.members[member].running.lock().unwrap();
        signal(running.as_ref().expect("it runs").server(), if is_frozen { "STOP" } else { "CONT" });
    }

    /// Starts a member again, with what it had on the disk.
    pub fn restart(&self, member: usize) {
        self.restart_all(&[member]);
    }

    /// The same for several.
    pub fn restart_all(&self, members: &[usize]) {
        members.iter().for_each(|member| self.members[*member].run());
        self.until_it_is_whole();
    }

    /// Waits until all members name one leader.
    pub fn until_it_is_whole(&self) {
        let leaders =
            || self.members.iter().map(|member| member.status().map(|(_, leader)| leader)).collect::<Vec<_>>();
        let is_whole = || {
            let leaders = leaders();
            leaders[0].as_ref().is_some_and(|leader| leader != "0") && leaders.iter().all(|own| *own == leaders[0])
        };
        until(is_whole, || format!("{:?} are the leaders", leaders()));
    }
}

impl Member {
    fn new(name: &str, peer: &str, all: &str) -> Self {
        let (folder, address) = (new_folder(), local(free_port()));
        let own = |name: &str, value: &str| format!("--{name}={value}");
        let arguments = vec![
            own("name", name),
            own("data-dir", &folder.join("data").display().to_string()),
            own("listen-client-urls", &address),
            own("advertise-client-urls", &address),
            own("listen-peer-urls", peer),
            own("initial-advertise-peer-urls", peer),
            own("initial-cluster", all),
            own("initial-cluster-state", "new"),
            ELECTION.to_owned(),
            HEARTBEAT.to_owned(),
        ];
        Self { address, folder, arguments, running: Mutex::new(None) }
    }

    fn run(&self) {
        let arguments: Vec<_> = self.arguments.iter().map(OsStr::new).collect();
        let running = Running::start(Path::new("/usr/bin/etcd"), &arguments, &self.folder, "KILL");
        *self.running.lock().unwrap() = Some(running);
    }

    /// Its own id, and that of its leader; `None` if it does not answer.
    fn status(&self) -> Option<(String, String)> {
        let address = self.address.strip_prefix("http://")?.parse().ok()?;
        let mut connection = TcpStream::connect_timeout(&address, PATIENCE).ok()?;
        connection.set_read_timeout(Some(PATIENCE)).ok()?;
        // With this version, the end of the answer is that of the connection.
        let request = "POST /v3/maintenance/status HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}";
        connection.write_all(request.as_bytes()).ok()?;
        let mut text = String::new();
        connection.read_to_string(&mut text).ok()?;
        let answer: serde_json::Value = serde_json::from_str(text.split_once("\r\n\r\n")?.1).ok()?;
        let id = |value: &serde_json::Value| value.as_str().unwrap_or("0").to_owned();
        Some((id(&answer["header"]["member_id"]), id(&answer["leader"])))
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        match self.running.get_mut().unwrap().take() {
            Some(running) => running.ended(true),
            None => drop(std::fs::remove_dir_all(&self.folder)),
        }
    }
}

fn local(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}
