//! A proxy between a client and the server, under the server's name. It records every request and response, and can
//! drop a response, or make the server look like one of an older revision.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use support_servers::http::Request;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use url::form_urlencoded;

use crate::open::head::Head;

/// A request and what was answered.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) head: Head,
    pub(crate) body: Vec<u8>,
    /// 0 until the server has answered.
    pub(crate) status: u16,
    pub(crate) answer_head: Head,
    pub(crate) answer: Vec<u8>,
}

impl Exchange {
    /// The path, without the query.
    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap()
    }

    /// A field of the form that was sent.
    pub(crate) fn field(&self, name: &str) -> Option<String> {
        form_urlencoded::parse(&self.body).find(|(own, _)| own == name).map(|(_, value)| value.into_owned())
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.answer).unwrap_or_default()
    }

    /// Whether it is a request to the token endpoint with this grant type.
    pub(crate) fn is_grant(&self, grant_type: &str) -> bool {
        self.path().ends_with("/oauth2/token") && self.field("grant_type").as_deref() == Some(grant_type)
    }
}

/// What the relay does besides forwarding.
#[derive(Clone, Debug, Default)]
pub(crate) struct Orders {
    /// The answer to the next refresh never arrives.
    pub(crate) lose_next_refresh: bool,
    /// The next refresh is answered with this status and `temporarily_unavailable`.
    pub(crate) refuse_next_refresh: Option<u16>,
    /// The revision that the client's first message names, instead of its own.
    pub(crate) revision: Option<&'static str>,
    /// Hides the resource metadata, as before 2025-06-18.
    pub(crate) hides_resource_metadata: bool,
}

#[derive(Debug)]
struct State {
    server: Mutex<Option<SocketAddr>>,
    orders: Mutex<Orders>,
    exchanges: Mutex<Vec<Exchange>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Relay {
    address: SocketAddr,
    state: Arc<State>,
}

impl Relay {
    /// Listens until the runtime of the test ends.
    pub(crate) async fn listen() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State { server: Mutex::default(), orders: Mutex::default(), exchanges: Mutex::default() });
        let relay = Self { address, state };
        let serving = relay.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let relay = serving.clone();
                // A client may close the connection.
                tokio::spawn(async move { relay.serve(client).await.ok() });
            }
        });
        relay
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn pass_on_to(&self, server: SocketAddr) {
        *self.state.server.lock().unwrap() = Some(server);
    }

    pub(crate) fn order(&self, change: impl FnOnce(&mut Orders)) {
        change(&mut self.state.orders.lock().unwrap());
    }

    /// All exchanges until now.
    pub(crate) fn exchanges(&self) -> Vec<Exchange> {
        self.state.exchanges.lock().unwrap().clone()
    }

    /// Those requests to the token endpoint.
    pub(crate) fn grants(&self, grant_type: &str) -> Vec<Exchange> {
        self.exchanges().into_iter().filter(|exchange| exchange.is_grant(grant_type)).collect()
    }

    /// One request and its answer; both sides close then.
    async fn serve(&self, mut client: TcpStream) -> io::Result<()> {
        let (head, body) = read_message(&mut client).await?;
        let mut exchange = Exchange::of(head, body);
        let orders = self.state.orders.lock().unwrap().clone();
        let place = {
            let mut exchanges = self.state.exchanges.lock().unwrap();
            exchanges.push(exchange.clone());
            exchanges.len() - 1
        };
        if let Some(answer) = self.own_answer(&orders, &exchange) {
            return client.write_all(answer.as_bytes()).await;
        }
        let is_lost = orders.lose_next_refresh && exchange.is_grant("refresh_token");
        if is_lost {
            self.order(|orders| orders.lose_next_refresh = false);
        }
        if let Some(revision) = orders.revision {
            name_revision(&mut exchange.body, revision);
        }
        let address = self.state.server.lock().unwrap().expect("a server to pass on to");
        let mut server = TcpStream::connect(address).await?;
        server.write_all(&exchange.head.closing().bytes(&exchange.body)).await?;
        let (mut head, rest) = read_head(&mut server).await?;
        if orders.hides_resource_metadata {
            head.remove_attribute("www-authenticate", "resource_metadata");
        }
        exchange.status = head.status();
        exchange.answer_head = head.clone();
        exchange.answer = rest;
        self.keep(place, &exchange);
        if !is_lost {
            client.write_all(&head.bytes(&exchange.answer)).await?;
        }
        let mut buffer = [0; 16_384];
        loop {
            let count = server.read(&mut buffer).await?;
            if count == 0 {
                return Ok(());
            }
            exchange.answer.extend_from_slice(&buffer[..count]);
            self.keep(place, &exchange);
            if !is_lost {
                client.write_all(&buffer[..count]).await?;
            }
        }
    }

    /// The relay's own response, without the server.
    fn own_answer(&self, orders: &Orders, exchange: &Exchange) -> Option<String> {
        let is_hidden = orders.hides_resource_metadata && exchange.path().contains("oauth-protected-resource");
        let status = orders.refuse_next_refresh.filter(|_| exchange.is_grant("refresh_token"));
        if status.is_some() {
            self.order(|orders| orders.refuse_next_refresh = None);
        }
        let (status, body) = match status {
            Some(status) => (status, r#"{"error":"temporarily_unavailable","error_description":"try again later"}"#),
            None if is_hidden => (404, "{}"),
            None => return None,
        };
        let length = body.len();
        Some(format!(
            "HTTP/1.1 {status} No\r\nContent-Type: application/json;charset=UTF-8\r\nRetry-After: 1\r\n\
             Cache-Control: no-store\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        ))
    }

    fn keep(&self, place: usize, exchange: &Exchange) {
        self.state.exchanges.lock().unwrap()[place] = exchange.clone();
    }

    /// Sends a request of the test directly to the server, without recording it.
    pub(crate) async fn ask(&self, request: &Request) -> support_servers::http::Answer {
        let address = self.state.server.lock().unwrap().expect("a server to pass on to");
        request.send_to(address).await
    }
}

impl Exchange {
    fn of(head: Head, body: Vec<u8>) -> Self {
        let (method, target) = head.request_line();
        Self { method, target, head, body, status: 0, answer_head: Head::default(), answer: Vec::new() }
    }
}

/// Replaces the revision that `initialize` names; all have the same length.
fn name_revision(body: &mut [u8], revision: &str) {
    const BEFORE: &[u8] = b"\"protocolVersion\":\"";
    let is_first = body.windows(12).any(|window| window == b"\"initialize\"");
    let place = body.windows(BEFORE.len()).position(|window| window == BEFORE).filter(|_| is_first);
    if let Some(place) = place {
        body[place + BEFORE.len()..][..revision.len()].copy_from_slice(revision.as_bytes());
    }
}

async fn read_message(stream: &mut TcpStream) -> io::Result<(Head, Vec<u8>)> {
    let (head, mut body) = read_head(stream).await?;
    let length = head.value("content-length").map_or(0, |length| length.parse().unwrap());
    let read = body.len();
    body.resize(length.max(read), 0);
    stream.read_exact(&mut body[read..]).await?;
    Ok((head, body))
}

/// Reads a head, and what came with it.
async fn read_head(stream: &mut TcpStream) -> io::Result<(Head, Vec<u8>)> {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 16_384]);
    loop {
        let count = stream.read(&mut buffer).await?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&buffer[..count]);
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            bytes.truncate(end);
            return Ok((Head::of(&bytes), rest));
        }
    }
}
