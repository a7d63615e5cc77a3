//! Servers that redirect a caller in circles are not asked without a pause.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use grantor::store::redis::RedisOptions;
use grantor::store::{Grant, RecordStore};
use grantor::testing::records;
use grantor::{Clock as _, RedisStore, SystemClock, Timestamp};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Far more than pauses allow in a second, far less than the thousands of a loop without one.
const MAX_REQUESTS: usize = 30;

/// A server of a cluster that redirects every key to itself.
struct Redirecting {
    address: String,
    asked: Arc<Mutex<HashMap<String, usize>>>,
}

impl Redirecting {
    async fn start(redirection: &'static str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked = Arc::new(Mutex::new(HashMap::new()));
        let server = Self { address: address.clone(), asked: asked.clone() };
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(answer(stream, redirection, address.clone(), asked.clone()));
            }
        });
        server
    }

    fn asked(&self, command: &str) -> usize {
        self.asked.lock().unwrap().get(command).copied().unwrap_or(0)
    }
}

async fn answer(
    stream: TcpStream,
    redirection: &'static str,
    address: String,
    asked: Arc<Mutex<HashMap<String, usize>>>,
) {
    let mut stream = BufReader::new(stream);
    while let Some(words) = command(&mut stream).await {
        let name = words[0].clone();
        *asked.lock().unwrap().entry(name.clone()).or_default() += 1;
        let port = address.rsplit_once(':').unwrap().1;
        let answer = match name.as_str() {
            "GET" if words[1].ends_with(":layout") => "$1\r\n1\r\n".to_owned(),
            "GET" => format!("-{redirection} 1 {address}\r\n"),
            "CLUSTER" => format!("*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$9\r\n127.0.0.1\r\n:{port}\r\n$2\r\nid\r\n"),
            "ROLE" => "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n".to_owned(),
            "INFO" => "$13\r\nrole:master\r\n\r\n".to_owned(),
            "TIME" => format!("*2\r\n$10\r\n{}\r\n$1\r\n0\r\n", SystemClock.now().seconds()),
            _ => "+OK\r\n".to_owned(),
        };
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Reads one command.
async fn command(stream: &mut BufReader<TcpStream>) -> Option<Vec<String>> {
    let mut words = Vec::new();
    for _ in 0..number(stream).await? {
        let mut word = vec![0; number(stream).await? + 2];
        stream.read_exact(&mut word).await.ok()?;
        words.push(String::from_utf8_lossy(&word[..word.len() - 2]).into_owned());
    }
    (!words.is_empty()).then_some(words)
}

async fn number(stream: &mut BufReader<TcpStream>) -> Option<usize> {
    let mut line = String::new();
    stream.read_line(&mut line).await.ok()?;
    line.trim().get(1..)?.parse().ok()
}

#[tokio::test]
async fn a_server_that_names_itself_is_asked_a_few_times() {
    for redirection in ["MOVED", "ASK"] {
        let server = Redirecting::start(redirection).await;
        let options = RedisOptions::new().response_timeout(Duration::from_secs(1)).accept_unchecked();
        let address = format!("redis://{}", server.address);
        let store = RedisStore::connect_cluster(&[&address], &options).await.unwrap();
        let grant = records::grant(&records::subject(), Timestamp::from_seconds(3_000_000_000));
        assert!(RecordStore::<Grant>::find(&store, &grant.id()).await.unwrap_err().is_transient());
        let asked = (server.asked("GET"), server.asked("CLUSTER"));
        println!("{redirection}: asked {} times for the key, {} times for the slots", asked.0, asked.1);
        assert!((3..MAX_REQUESTS).contains(&asked.0) && asked.1 < MAX_REQUESTS, "{redirection}: {asked:?}");
    }
}
