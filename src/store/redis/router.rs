//! Finds the primary that has a key, and finds it again when it has moved.
//!
//! Every command names one key. A command whose connection broke is sent again until its time-out: each write has a
//! number, by which the scripts recognize it.
//!
//! The library's own cluster client never leaves a primary that is stuck: `benches/results/2026-11-23-redis-cluster.md`
//! says what was measured, and when it could replace this.
//!
//! The slots of a cluster, which hold its keys, and their servers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use redis::{Cmd, ConnectionAddr, FromRedisValue, Value};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout};

use crate::store::redis::check::Place;
use crate::store::redis::error::{RedisError, RedisProblem};
use crate::store::redis::node::{COMMON_CONNECTION, Message, Node, Purpose};
use crate::store::redis::options::RedisOptions;

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

    /// Creates a router to the cluster that is found through these servers, once one of them is asked.
    pub(super) fn cluster(seeds: Vec<Node>, options: &RedisOptions) -> Self {
        let known = Known { edition: 0, parts: Vec::new(), nodes: HashMap::new() };
        Self::new(known, seeds.into_iter().map(Arc::new).collect(), options)
    }

    /// Finds the servers, and connects to all primaries.
    pub(super) async fn open(&self) -> Result<(), RedisError> {
        self.refresh(self.known().edition).await?;
        for primary in self.primaries() {
            primary.open().await?;
        }
        Ok(())
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
    fn primaries(&self) -> Vec<Arc<Node>> {
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

/// The number of slots of a cluster.
const SLOTS: u16 = 16_384;
/// The last slot.
pub(super) const LAST_SLOT: u16 = SLOTS - 1;

/// A part of the slots and the addresses of those that have it, the primary first.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) first: u16,
    pub(super) last: u16,
    pub(super) servers: Vec<Address>,
}

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Address {
    pub(super) host: String,
    pub(super) port: u16,
}

impl Address {
    /// Reads the address in a redirection, such as `192.0.2.1:6379` or `::1:6379`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let port = port.parse().ok()?;
        (!host.is_empty()).then(|| Self { host: host.to_owned(), port })
    }
}

/// Returns the slot of a key, which depends only on the text in its first braces, if there is any.
pub(super) fn slot_of(key: &[u8]) -> u16 {
    let tag = key.iter().position(|byte| *byte == b'{').and_then(|open| {
        let rest = key.get(open + 1..)?;
        let close = rest.iter().position(|byte| *byte == b'}')?;
        rest.get(..close).filter(|tag| !tag.is_empty())
    });
    checksum(tag.unwrap_or(key)) % SLOTS
}

/// CRC-16/XMODEM.
fn checksum(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |sum, byte| {
        (0..8).fold(
            sum ^ (u16::from(*byte) << 8),
            |sum, _| {
                if sum & 0x8000 == 0 { sum << 1 } else { (sum << 1) ^ 0x1021 }
            },
        )
    })
}

/// Reads a server's answer to `CLUSTER SLOTS`, in which the server may leave out its own host.
pub(super) fn parts(answer: Value, own_host: &str) -> Result<Vec<Part>, RedisError> {
    let answer: Vec<Vec<Value>> = redis::from_redis_value(answer)?;
    let mut parts = Vec::with_capacity(answer.len());
    for part in answer {
        let mut fields = part.into_iter();
        let (Some(first), Some(last)) = (fields.next(), fields.next()) else { continue };
        let (first, last) = (u16::from_redis_value(first)?, u16::from_redis_value(last)?);
        let servers = fields.map(|server| address(server, own_host)).collect::<Result<_, _>>()?;
        parts.push(Part { first, last, servers });
    }
    Ok(parts)
}

fn address(server: Value, own_host: &str) -> Result<Address, RedisError> {
    let mut fields = Vec::<Value>::from_redis_value(server)?.into_iter();
    let host: Option<String> = redis::from_redis_value(fields.next().unwrap_or(Value::Nil))?;
    let port = redis::from_redis_value(fields.next().unwrap_or(Value::Nil))?;
    let host = host.filter(|host| !host.is_empty() && host != "?").unwrap_or_else(|| own_host.to_owned());
    Ok(Address { host, port })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_specification() {
        // Redis cluster specification, appendix A, and the hash tags of its section on them.
        assert_eq!(checksum(b"123456789"), 0x31c3);
        assert_eq!(slot_of(b"123456789"), 0x31c3);
        assert_eq!(slot_of(b"foo"), 12_182);
        assert_eq!(slot_of(b"{user1000}.following"), slot_of(b"{user1000}.followers"));
        assert_eq!(slot_of(b"foo{}{bar}"), checksum(b"foo{}{bar}") % SLOTS);
        assert_eq!(slot_of(b"foo{{bar}}zap"), slot_of(b"{bar"));
        assert_eq!(slot_of(b"foo{bar}{zap}"), slot_of(b"bar"));
        assert_eq!(slot_of(b"foo{bar"), checksum(b"foo{bar") % SLOTS);
    }

    #[test]
    fn parts_are_read_with_their_servers() {
        let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let server = |host: Value, port| Value::Array(vec![host, Value::Int(port), text("id")]);
        let servers = [server(text("192.0.2.1"), 1), server(Value::Nil, 2), server(text(""), 3)];
        let part = [vec![Value::Int(0), Value::Int(5460)], servers.to_vec()].concat();
        let at = |host: &str, port| Address { host: host.to_owned(), port };
        let servers = vec![at("192.0.2.1", 1), at("192.0.2.9", 2), at("192.0.2.9", 3)];
        let read = |answer| parts(answer, "192.0.2.9");
        let expected = [Part { first: 0, last: 5460, servers }];
        assert_eq!(read(Value::Array(vec![Value::Array(part)])).unwrap(), expected);
        assert!(read(Value::Array(vec![Value::Array(vec![text("x"), text("y")])])).is_err());
        assert_eq!(read(Value::Array(Vec::new())).unwrap(), []);
    }

    #[test]
    fn addresses_of_redirections_are_read() {
        let at = |host: &str, port| Some(Address { host: host.to_owned(), port });
        assert_eq!(Address::parse("192.0.2.1:6379"), at("192.0.2.1", 6379));
        assert_eq!(Address::parse("2001:db8::1:6379"), at("2001:db8::1", 6379));
        for none in [":6379", "192.0.2.1", "192.0.2.1:x", ""] {
            assert_eq!(Address::parse(none), None);
        }
    }
}
