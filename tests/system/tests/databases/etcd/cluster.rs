//! Requests to the JSON gateway of etcd, which each member has beside gRPC.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use grantor::store::StoreError;
use serde_json::{Value, json};
use tokio::runtime::Handle;

/// How long a member may take to answer. It ends its own part after 5 s, so no write comes later.
const PATIENCE: Duration = Duration::from_secs(3);
/// Codes of gRPC for what passes: a deadline, a quota or a queue that is full, and a member without a leader.
const TRANSIENT: [u64; 3] = [4, 8, 14];

/// The members, of which one is asked as long as it answers.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    http: reqwest::Client,
    members: Arc<[String]>,
    asked: Arc<AtomicUsize>,
    runtime: Handle,
}

/// Writes that happen together if one key has the revision that was read.
pub(crate) struct Transaction {
    compare: Value,
    success: Vec<Value>,
}

impl Transaction {
    /// The revision of a missing key is 0. None ever recurs.
    pub(crate) fn if_unchanged(key: &[u8], seen: u64) -> Self {
        let compare = json!({ "key": text(key), "target": "MOD", "result": "EQUAL", "mod_revision": seen.to_string() });
        Self { compare, success: Vec::new() }
    }

    pub(crate) fn put(&mut self, key: &[u8], value: &[u8]) {
        self.success.push(json!({ "request_put": { "key": text(key), "value": text(value) } }));
    }

    pub(crate) fn delete(&mut self, key: &[u8]) {
        self.success.push(json!({ "request_delete_range": { "key": text(key) } }));
    }
}

impl Cluster {
    pub(crate) fn new(members: &[String]) -> Self {
        let http = reqwest::Client::builder().connect_timeout(PATIENCE / 3).timeout(PATIENCE).no_proxy().build();
        let http = http.unwrap_or_default();
        Self { http, members: members.into(), asked: Arc::default(), runtime: Handle::current() }
    }

    /// Returns whether the writes happened. An error leaves that open, except where no member was reached.
    pub(crate) async fn commit(&self, transaction: Transaction) -> Result<bool, StoreError> {
        let Transaction { compare, success } = transaction;
        let body = json!({ "compare": [compare], "success": success });
        Ok(self.ask("txn", &body, Repeat::IfUnsent).await?["succeeded"] == true)
    }

    /// Returns the value and the revision of each key that exists.
    pub(crate) async fn get_all(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<(Vec<u8>, u64)>>, StoreError> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let gets: Vec<_> = keys.iter().map(|key| json!({ "request_range": { "key": text(key) } })).collect();
        let answer = self.ask("txn", &json!({ "success": gets }), Repeat::Always).await?;
        let found = |place: usize| {
            let found = &answer["responses"][place]["response_range"]["kvs"][0];
            let revision = found["mod_revision"].as_str()?.parse().ok()?;
            Some((bytes(&found["value"]), revision))
        };
        Ok((0..keys.len()).map(found).collect())
    }

    /// Returns up to so many keys from this one on, and before the end, in their order.
    pub(crate) async fn range(&self, from: &[u8], end: &[u8], limit: usize) -> Result<Vec<Vec<u8>>, StoreError> {
        let body = json!({ "key": text(from), "range_end": text(end), "limit": limit.to_string(), "keys_only": true });
        let answer = self.ask("range", &body, Repeat::Always).await?;
        Ok(answer["kvs"].as_array().into_iter().flatten().map(|found| bytes(&found["key"])).collect())
    }

    /// Asks one member after the other until one answers. A write goes on to the next one only if it was not sent.
    async fn ask(&self, method: &str, body: &Value, repeat: Repeat) -> Result<Value, StoreError> {
        let first = self.asked.load(Ordering::Relaxed);
        let mut failure = StoreError::transient("there is no member");
        for place in (0..self.members.len()).map(|step| (first + step) % self.members.len()) {
            let url = format!("{}/v3/kv/{method}", self.members[place]);
            match within(&self.runtime, || self.exchange(&url, body)).await {
                Ok((200, answer)) => {
                    self.asked.store(place, Ordering::Relaxed);
                    return Ok(answer);
                }
                Ok((status, answer)) => {
                    let text = format!("etcd answered with {status}: {}", answer["message"]);
                    if !answer["code"].as_u64().is_some_and(|code| TRANSIENT.contains(&code)) {
                        return Err(StoreError::permanent(text));
                    }
                    failure = StoreError::transient(text);
                }
                Err(error) if error.is_connect() => {
                    failure = StoreError::transient(error);
                    continue;
                }
                Err(error) => failure = StoreError::transient(error),
            }
            if repeat == Repeat::IfUnsent {
                // The next call asks another member.
                self.asked.store(place + 1, Ordering::Relaxed);
                break;
            }
        }
        Err(failure)
    }

    async fn exchange(&self, url: &str, body: &Value) -> Result<(u16, Value), reqwest::Error> {
        let response = self.http.post(url).json(body).send().await?;
        Ok((response.status().as_u16(), response.json().await?))
    }
}

/// When a request is sent again, to another member.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repeat {
    Always,
    IfUnsent,
}

/// Makes and polls a future in the runtime of the store, whichever thread waits for it.
async fn within<F: Future>(runtime: &Handle, make: impl FnOnce() -> F) -> F::Output {
    let future = {
        let _entered = runtime.enter();
        make()
    };
    let mut future = pin!(future);
    poll_fn(|context| {
        let _entered = runtime.enter();
        future.as_mut().poll(context)
    })
    .await
}

fn text(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

fn bytes(text: &Value) -> Vec<u8> {
    text.as_str().and_then(|text| STANDARD.decode(text).ok()).unwrap_or_default()
}
