//! Finds the primary that has a key, and finds it again when it has moved.
//!
//! Every command names one key. A command whose connection broke is sent again until its time-out: each write has a
//! number, by which the scripts recognize it.
//!
//! The library's own cluster client never leaves a primary that is stuck: `benches/results/2026-11-23-redis-cluster.md`
//! says what was measured, and when it could replace this.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use redis::{Cmd, ConnectionAddr, Value};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout};

use crate::store::redis::check::Place;
use crate::store::redis::error::{RedisError, RedisProblem};
use crate::store::redis::node::{COMMON_CONNECTION, Message, Node, Purpose};
use crate::store::redis::options::RedisOptions;
use crate::store::redis::slots::{Address, LAST_SLOT, Part, parts, slot_of};

const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);
/// How many redirections are followed at once: to the server to which a key has moved, and to the one to which it is
/// migrating.
const MAX_REDIRECTIONS: u32 = 2;
/// How long one server may take to report the slots, before the next one is asked.
const SLOTS_TIMEOUT: Duration = Duration::from_millis(500);

/// The servers that have the keys.
pub(super) struct Router {
    known: RwLock<Arc<Known>>,
    /// Held while the slots are refreshed; other callers wait for it.
    refreshing: Mutex<()>,
    /// Set when a server did not answer: it may have been replaced.
    doubtful: AtomicBool,
    next_asked: AtomicUsize,
    /// The servers through which a cluster is found; none for a standalone server.
    seeds: Vec<Arc<Node>>,
    options: RedisOptions,
}

/// What is known of the servers at one time.
struct Known {
    /// The count of refreshes.
    edition: u64,
    parts: Vec<Served>,
    nodes: HashMap<Address, Arc<Node>>,
}

/// A part of the slots and its primary.
struct Served {
    first: u16,
    last: u16,
    primary: Arc<Node>,
}

impl Router {
    /// Creates a router to a standalone server, which has all keys.
    pub(super) fn single(node: Node, options: &RedisOptions) -> Self {
        let primary = Arc::new(node);
        let parts = vec![Served { first: 0, last: LAST_SLOT, primary }];
        Self::new(Known { edition: 0, parts, nodes: HashMap::new() }, Vec::new(), options)
    }

    /// Creates a router to the cluster that is found through these servers.
    pub(super) async fn cluster(seeds: Vec<Node>, options: &RedisOptions) -> Result<Self, RedisError> {
        let known = Known { edition: 0, parts: Vec::new(), nodes: HashMap::new() };
        let router = Self::new(known, seeds.into_iter().map(Arc::new).collect(), options);
        router.refresh(0).await?;
        Ok(router)
    }

    fn new(known: Known, seeds: Vec<Arc<Node>>, options: &RedisOptions) -> Self {
        Self {
            known: RwLock::new(Arc::new(known)),
            refreshing: Mutex::new(()),
            doubtful: AtomicBool::new(false),
            next_asked: AtomicUsize::new(0),
            seeds,
            options: options.clone(),
        }
    }

    /// Returns all primaries, each once.
    pub(super) fn primaries(&self) -> Vec<Arc<Node>> {
        let mut primaries: Vec<Arc<Node>> = Vec::new();
        for part in &self.known().parts {
            if !primaries.iter().any(|node| Arc::ptr_eq(node, &part.primary)) {
                primaries.push(part.primary.clone());
            }
        }
        primaries
    }

    /// Sends a message about `key` to the primary that has it, and retries until `deadline`.
    pub(super) async fn send(&self, key: &[u8], message: &Message, deadline: Instant) -> Result<Value, RedisError> {
        let slot = slot_of(key);
        let mut pause = SHORTEST_PAUSE;
        let mut redirected: Option<(Arc<Node>, bool)> = None;
        let mut redirections = 0;
        loop {
            let known = self.known();
            if self.doubtful.swap(false, Ordering::Relaxed) {
                drop(self.refresh(known.edition).await);
                continue;
            }
            let sent = match redirected.take() {
                Some((node, asking)) => node.send(message, asking).await,
                None => match known.primary_of(slot) {
                    Some(node) => node.send(message, false).await,
                    None => Err(RedisProblem::Unavailable.into()),
                },
            };
            let error = match sent {
                Err(error) if error.may_be_sent_again() => error,
                sent => return sent,
            };
            let mut refreshes = true;
            if let Some((address, asking)) = error.redirection() {
                redirected = self.node_at(&known, address).map(|node| (node, asking));
                redirections += 1;
                refreshes = !asking;
            }
            // Two servers that disagree redirect a caller back and forth.
            if redirected.is_none() || redirections > MAX_REDIRECTIONS {
                if Instant::now() + pause >= deadline {
                    return Err(error);
                }
                sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            if refreshes {
                drop(self.refresh(known.edition).await);
            }
        }
    }

    pub(super) fn is_cluster(&self) -> bool {
        !self.seeds.is_empty()
    }

    /// Notes that a server did not answer in time.
    pub(super) fn doubt(&self) {
        self.doubtful.store(self.is_cluster(), Ordering::Relaxed);
    }

    fn known(&self) -> Arc<Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn node_at(&self, known: &Known, address: &str) -> Option<Arc<Node>> {
        let address = Address::parse(address)?;
        // A server that is named for the first time is in the next refresh as well.
        let node = known.nodes.get(&address).cloned();
        node.or_else(|| self.seeds.first().and_then(|seed| self.new_node(seed, address).ok()))
    }

    /// Refreshes the slots, unless another caller has done so since `edition`.
    async fn refresh(&self, edition: u64) -> Result<(), RedisError> {
        if !self.is_cluster() {
            return Ok(());
        }
        let _refreshing = self.refreshing.lock().await;
        let known = self.known();
        if known.edition != edition {
            return Ok(());
        }
        let mut asked: Vec<_> = known.nodes.values().chain(&self.seeds).cloned().collect();
        // Each refresh begins with another server, so that one with an old view is not trusted forever.
        let first = self.next_asked.fetch_add(1, Ordering::Relaxed) % asked.len().max(1);
        asked.rotate_left(first);
        let mut failure = RedisProblem::Connection.into();
        for node in asked {
            match timeout(SLOTS_TIMEOUT, self.ask(&known, &node)).await {
                Ok(Ok(found)) => {
                    *self.known.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(found);
                    return Ok(());
                }
                Ok(Err(error)) => failure = error,
                Err(_) => failure = RedisProblem::TimedOut.into(),
            }
        }
        Err(failure)
    }

    async fn ask(&self, known: &Known, node: &Node) -> Result<Known, RedisError> {
        let mut command = Cmd::new();
        command.arg("CLUSTER").arg("SLOTS");
        let answer =
            node.send(&Message { command, purpose: Purpose::Servers, connection: COMMON_CONNECTION }, false).await?;
        let mut nodes = HashMap::new();
        let mut served = Vec::new();
        for Part { first, last, servers } in parts(answer, node.host())? {
            let mut primary = None;
            for address in servers {
                let found = match known.nodes.get(&address).or_else(|| nodes.get(&address)) {
                    Some(node) => Arc::clone(node),
                    None => self.new_node(node, address.clone())?,
                };
                primary.get_or_insert_with(|| Arc::clone(&found));
                nodes.insert(address, found);
            }
            served.extend(primary.map(|primary| Served { first, last, primary }));
        }
        if served.is_empty() {
            return Err(RedisProblem::Unavailable.into());
        }
        served.sort_by_key(|part| part.first);
        Ok(Known { edition: known.edition.wrapping_add(1), parts: served, nodes })
    }

    /// Creates a node with the settings of the node that named it.
    fn new_node(&self, like: &Node, address: Address) -> Result<Arc<Node>, RedisError> {
        let addr = moved_to(like.info().addr(), address);
        Ok(Arc::new(Node::new(like.info().clone().set_addr(addr), Place::Cluster, &self.options)?))
    }
}

impl Known {
    fn primary_of(&self, slot: u16) -> Option<&Node> {
        let part = self.parts.get(self.parts.partition_point(|part| part.last < slot))?;
        (part.first <= slot).then_some(&*part.primary)
    }
}

fn moved_to(like: &ConnectionAddr, address: Address) -> ConnectionAddr {
    let Address { host, port } = address;
    #[expect(clippy::wildcard_enum_match_arm, reason = "a foreign enum; a cluster is reached by nothing else")]
    match like.clone() {
        ConnectionAddr::TcpTls { insecure, tls_params, .. } => {
            ConnectionAddr::TcpTls { host, port, insecure, tls_params }
        }
        _ => ConnectionAddr::Tcp(host, port),
    }
}
