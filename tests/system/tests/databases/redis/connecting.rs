//! Which servers a store refuses when it connects, and with which error.

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use grantor::application::ApplicationFilter;
use grantor::store::redis::{RedisError, RedisOptions, RedisProblem};
use grantor::store::{Grant, Insertion, Page, RecordStore, Replacement};
use grantor::testing::records;
use grantor::{Application, RedisStore, Timestamp};

use crate::redis::REPLICATED;
use support::folder::scratch;
use support_servers::servers::redis::{Cluster, Server, until};

async fn problem(address: &str) -> RedisProblem {
    let connected = RedisStore::connect(address, &RedisOptions::new()).await;
    connected.expect_err("it must be refused").problem().clone()
}

fn assert_evicts(problem: &RedisProblem, expected: &str) {
    assert!(matches!(problem, RedisProblem::Evicts { policy, .. } if policy == expected), "{problem:?}");
}

async fn works(store: &RedisStore) {
    let grant = Arc::new(records::grant(&records::subject(), Timestamp::from_seconds(3_000_000_000)));
    assert_eq!(RecordStore::<Grant>::insert(store, grant.clone()).await.unwrap(), Insertion::Inserted);
    assert_eq!(RecordStore::<Grant>::find(store, &grant.id()).await.unwrap(), Some(grant));
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn a_server_that_may_lose_keys_is_refused() {
    let server = Server::start_with(&["--maxmemory-policy", "allkeys-lru"]);
    assert_evicts(&problem(&server.address()).await, "allkeys-lru");
    server.ask(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    works(&RedisStore::connect(&server.address(), &RedisOptions::new()).await.unwrap()).await;
    let replica = Server::start_with(&["--replicaof", "127.0.0.1", &server.port().to_string()]);
    assert_eq!(problem(&replica.address()).await, RedisProblem::Replica);
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn a_store_wants_a_log_unless_its_loss_is_accepted() {
    let server = Server::start_with(&["--appendonly", "no"]);
    let options = RedisOptions::new().accept_loss().wait(0, Duration::from_secs(1));
    for options in [&options, &RedisOptions::new()] {
        let refused = RedisStore::connect(&server.address(), options).await.unwrap_err();
        assert_eq!((refused.problem(), refused.is_transient()), (&RedisProblem::NoLog, false));
    }
    works(&RedisStore::connect(&server.address(), &RedisOptions::new().accept_loss()).await.unwrap()).await;
    server.ask(&["CONFIG", "SET", "appendonly", "yes"]);
    works(&RedisStore::connect(&server.address(), &options).await.unwrap()).await;
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn a_server_is_looked_at_with_every_connection() {
    let server = Server::start();
    let store = RedisStore::connect(&server.address(), &RedisOptions::new()).await.unwrap();
    works(&store).await;
    server.ask(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    server.ask(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    let (problem, is_transient) = failure(&store).await.expect("the server is refused");
    assert_evicts(&problem, "allkeys-lru");
    assert!(!is_transient);
    server.ask(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    works(&store).await;
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn a_replica_that_takes_over_is_looked_at() {
    let cluster = Cluster::start();
    let options = RedisOptions::new().response_timeout(Duration::from_secs(10));
    let store = crate::redis::over(&cluster, &options).await;
    let killed = cluster.primaries()[0];
    let successor = cluster.replica_of(killed);
    successor.ask(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    // A store that asks a replica where the keys are has a connection to it already.
    for _ in 0..20 {
        works(&store).await;
    }
    killed.kill();
    until(|| cluster.primaries().len() == 3, || "no replica takes over".to_owned());
    let mut refused = 0;
    for _ in 0..20 {
        if let Some((problem, _)) = failure(&store).await {
            assert_evicts(&problem, "allkeys-lru");
            refused += 1;
        }
    }
    assert!((1..20).contains(&refused), "{refused} of 20 keys were at the successor");
    successor.ask(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    for _ in 0..20 {
        works(&store).await;
    }
}

/// Returns the error of a look-up.
async fn failure(store: &RedisStore) -> Option<(RedisProblem, bool)> {
    let grant = records::grant(&records::subject(), Timestamp::from_seconds(3_000_000_000));
    let error = RecordStore::<Grant>::find(store, &grant.id()).await.err()?;
    let source = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<RedisError>());
    Some((source.expect("the source is a RedisError").problem().clone(), error.is_transient()))
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn a_cluster_and_a_single_server_are_not_mistaken_for_each_other() {
    let cluster = Cluster::start();
    assert_eq!(problem(&cluster.nodes[0].address()).await, RedisProblem::Cluster);
    let policy = ["CONFIG", "SET", "maxmemory-policy", "volatile-ttl"];
    cluster.primaries()[1].ask(&policy);
    let addresses = cluster.addresses();
    let addresses: Vec<_> = addresses.iter().map(String::as_str).collect();
    let refused = RedisStore::connect_cluster(&addresses, &RedisOptions::new()).await.unwrap_err();
    assert_evicts(refused.problem(), "volatile-ttl");

    let single = Server::start();
    let refused = RedisStore::connect_cluster(&[&single.address()], &RedisOptions::new()).await.unwrap_err();
    assert_eq!(*refused.problem(), RedisProblem::NotACluster);
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn a_wrong_password_is_reported_and_none_is_shown() {
    let server = Server::start();
    server.ask(&["CONFIG", "SET", "requirepass", "hush-hush"]);
    let with = |credentials: &str| format!("redis://{credentials}@127.0.0.1:{}", server.port());
    assert_eq!(problem(&server.address()).await, RedisProblem::Denied);
    let refused = RedisStore::connect(&with(":guessed"), &RedisOptions::new()).await.unwrap_err();
    assert_eq!((refused.problem(), refused.is_transient()), (&RedisProblem::Denied, false));
    assert!(!format!("{refused:?} {refused}").contains("guessed"));

    let store = RedisStore::connect(&with(":hush-hush"), &RedisOptions::new()).await.unwrap();
    works(&store).await;
    let shown = format!("{store:?} {:?}", RedisOptions::new());
    assert!(shown.contains(&server.port().to_string()) && !shown.contains("hush"), "{shown}");
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn a_user_needs_no_more_than_its_own_keys_and_a_few_commands() {
    let server = Server::start();
    allow(&server, ASKS);
    let address = format!("redis://grantor:open@127.0.0.1:{}", server.port());
    let store = RedisStore::connect(&address, &RedisOptions::new()).await.unwrap();
    works(&store).await;
    let application = Arc::new(records::application(&records::subject()));
    assert_eq!(RecordStore::insert(&store, application.clone()).await.unwrap(), Insertion::Inserted);
    assert_eq!(RecordStore::confirm(&store, application).await.unwrap(), Replacement::Replaced);
    let all = ApplicationFilter::All.key();
    assert_eq!(RecordStore::<Application>::list(&store, &all, Page::first(10)).await.unwrap().len(), 1);
    assert!(
        RecordStore::<Grant>::purge(&store, Timestamp::from_seconds(3_000_000_000), 10).await.unwrap().is_finished()
    );

    let others = RedisStore::connect(&address, &RedisOptions::new().prefix("others")).await.unwrap_err();
    assert_eq!((others.problem(), others.is_transient()), (&RedisProblem::Denied, false));
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn a_user_of_a_cluster_needs_a_few_more() {
    let cluster = Cluster::start();
    cluster.nodes.iter().for_each(|node| allow(node, " +info +time +wait +asking +cluster|slots"));
    cluster.nodes.iter().for_each(|node| drop(node.ask(&["CONFIG", "SET", "appendonly", "yes"])));
    let address = format!("redis://grantor:open@127.0.0.1:{}", cluster.nodes[0].port());
    let options = RedisOptions::new().wait(1, REPLICATED);
    let store = RedisStore::connect_cluster(&[&address], &options).await.unwrap();
    for _ in 0..20 {
        works(&store).await;
    }
    cluster.move_slots(cluster.primaries()[0], cluster.primaries()[1], 50);
    works(&store).await;
}

/// A server that hides a required setting is refused, and the error names the setting, unless unchecked servers are
/// accepted.
#[tokio::test]
#[ignore = "starts Redis servers"]
async fn a_server_that_may_not_be_asked_is_refused() {
    let server = Server::start_with(&["--maxmemory-policy", "allkeys-lru"]);
    let address = format!("redis://grantor:open@127.0.0.1:{}", server.port());
    let accepting = RedisOptions::new().accept_unchecked();
    for (command, what) in [
        ("INFO", "the eviction policy, the append-only file and the release"),
        ("ROLE", "whether it is still a primary"),
    ] {
        server.ask(&["ACL", "DELUSER", "grantor"]);
        allow(&server, &ASKS.replace(&format!(" +{}", command.to_lowercase()), ""));
        let policy = |policy| server.ask(&["CONFIG", "SET", "maxmemory-policy", policy]);
        policy("noeviction");
        let refused = RedisStore::connect(&address, &RedisOptions::new()).await.unwrap_err();
        let (said, is_transient) = (refused.to_string(), refused.is_transient());
        assert!(matches!(refused.problem(), RedisProblem::Unchecked { .. }), "{refused:?}");
        assert!(said.starts_with(&format!("{what} cannot be checked")) && !is_transient, "{said}");
        assert!(said.contains(&format!("+{command}")) && said.contains("accept_unchecked"), "{said}");
        works(&RedisStore::connect(&address, &accepting).await.unwrap()).await;
        // What it states is checked nevertheless.
        policy("allkeys-lru");
        let connected = RedisStore::connect(&address, &accepting).await;
        assert_eq!(connected.is_ok(), command == "INFO", "{command}");
    }
    // Without its clock nothing could be written.
    server.ask(&["ACL", "DELUSER", "grantor"]);
    allow(&server, " +info +role");
    server.ask(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    let refused = RedisStore::connect(&address, &accepting).await.unwrap_err();
    assert_eq!((refused.problem(), refused.is_transient()), (&RedisProblem::Denied, false));
}

/// The commands that a store sends to a standalone server to check it.
const ASKS: &str = " +info +time +role";

/// Makes a user who may do what a store does.
fn allow(server: &Server, more: &str) {
    let may = "~grantor:* +get +set +del +getrange +zadd +zrem +zrange +eval +evalsha";
    let may = format!("{may}{more}");
    server.ask(&[&["ACL", "SETUSER", "grantor", "on", ">open"][..], &may.split(' ').collect::<Vec<_>>()].concat());
}

#[tokio::test]
async fn what_cannot_be_reached_is_distinguished() {
    let unused = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
    assert_eq!(problem(&format!("redis://{unused}")).await, RedisProblem::Connection);
    assert_eq!(problem("http://127.0.0.1").await, RedisProblem::Address);
    let nowhere = RedisStore::connect_cluster(&[], &RedisOptions::new()).await;
    assert_eq!(*nowhere.unwrap_err().problem(), RedisProblem::Address);
    // Braces put all keys in one slot; with a colon the keys of `a` may be those of `a:grants-of`.
    for prefix in ["{one-slot}", "a:grants-of", ":"] {
        let refused = RedisStore::connect("redis://127.0.0.1", &RedisOptions::new().prefix(prefix)).await;
        assert_eq!(*refused.unwrap_err().problem(), RedisProblem::Setting("prefix"), "{prefix}");
    }
}

#[tokio::test]
async fn what_would_be_no_tls_is_refused() {
    let trusting = RedisOptions::new().root_certificates("-----BEGIN CERTIFICATE-----\nno\n");
    for address in ["redis://127.0.0.1", "redis+unix:///tmp/redis.sock"] {
        let refused = RedisStore::connect(address, &trusting).await.unwrap_err();
        assert_eq!(*refused.problem(), RedisProblem::Setting("root_certificates"), "{address}");
        let refused = RedisStore::connect_cluster(&[address], &trusting).await.unwrap_err();
        assert_eq!(*refused.problem(), RedisProblem::Setting("root_certificates"), "{address}");
    }
    assert_eq!(problem("rediss://127.0.0.1/#insecure").await, RedisProblem::Setting("insecure"));
}

#[test]
fn without_a_runtime_a_store_says_so() {
    let outside = futures::executor::block_on(RedisStore::connect("redis://127.0.0.1", &RedisOptions::new()));
    assert_eq!(*outside.unwrap_err().problem(), RedisProblem::Setting("runtime"));
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn tls_is_spoken_with_those_that_are_trusted() {
    let folder = scratch().join(format!("redis-tls-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (key, certificate) = (folder.join("key.pem"), folder.join("certificate.pem"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output()
        .expect("there is openssl");
    assert!(made.status.success(), "{made:?}");
    let port = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let (key, certificate) = (key.display().to_string(), certificate.display().to_string());
    let files = ["--tls-cert-file", &certificate, "--tls-key-file", &key, "--tls-auth-clients", "no"];
    let _server = Server::start_with(&[&["--tls-port", &port.to_string()][..], &files].concat());
    let address = format!("rediss://127.0.0.1:{port}");

    let trusting = RedisOptions::new().root_certificates(fs::read(&certificate).unwrap());
    works(&RedisStore::connect(&address, &trusting).await.unwrap()).await;
    let refused: RedisError = RedisStore::connect(&address, &RedisOptions::new()).await.unwrap_err();
    assert_eq!(*refused.problem(), RedisProblem::Connection);
    let unreadable = RedisOptions::new().root_certificates("-----BEGIN CERTIFICATE-----\nno\n");
    assert!(RedisStore::connect(&address, &unreadable).await.is_err());
    fs::remove_dir_all(&folder).unwrap();
}

/// No call is answered before the server and the layout of its keys were checked.
#[tokio::test]
#[ignore = "starts Redis servers"]
async fn a_service_may_start_before_redis() {
    let server = Server::start_with(&["--maxmemory-policy", "allkeys-lru"]);
    server.ask(&["SET", "grantor:layout", "99"]);
    let store = RedisStore::connect_lazily(&server.address(), &RedisOptions::new()).unwrap();
    let (problem, is_transient) = failure(&store).await.expect("the server is refused");
    assert_evicts(&problem, "allkeys-lru");
    assert!(!is_transient);
    server.ask(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    let (problem, _) = failure(&store).await.expect("the layout is refused");
    assert!(matches!(problem, RedisProblem::Newer { layout: 99, .. }), "{problem:?}");
    server.ask(&["DEL", "grantor:layout"]);
    works(&store).await;
    assert_eq!(server.ask(&["GET", "grantor:layout"]).trim(), "1");

    let options = RedisOptions::new().response_timeout(Duration::from_millis(300));
    let away = RedisStore::connect_lazily("redis://127.0.0.1:1", &options).unwrap();
    assert!(failure(&away).await.expect("nothing listens").1, "it is transient");
    assert!(RedisStore::connect_lazily("localhost", &options).is_err());
    let cluster = Cluster::start();
    let addresses = cluster.addresses();
    let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
    works(&RedisStore::connect_cluster_lazily(&addresses, &RedisOptions::new()).unwrap()).await;
}
