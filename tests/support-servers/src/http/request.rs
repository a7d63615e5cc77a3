//! Requests whose framing is right, whatever is in them.

use std::net::{Ipv4Addr, SocketAddr};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use url::Url;

use crate::http::answer::Answer;
use crate::http::connection::exchange_one;
use support::world::{FORM, encode};

/// A request with header lines and a body that are written as they are.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: Vec<u8>,
    pub path: Vec<u8>,
    /// What follows the `?`, if there is one.
    pub query: Option<Vec<u8>>,
    host: String,
    /// Where [`send`](Self::send) connects to.
    authority: Option<String>,
    from: Ipv4Addr,
    keeps: bool,
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Option<Vec<u8>>,
    /// The sizes of the chunks that the body is sent in; without, its length is stated.
    chunk: Option<usize>,
    /// Bytes that the stated length includes and that are never sent.
    missing: usize,
}

impl Request {
    /// A request for a target that is written as it is.
    pub fn new(method: impl AsRef<[u8]>, target: impl AsRef<[u8]>) -> Self {
        Self {
            method: method.as_ref().to_vec(),
            path: target.as_ref().to_vec(),
            query: None,
            host: "localhost".to_owned(),
            authority: None,
            from: Ipv4Addr::UNSPECIFIED,
            keeps: false,
            headers: Vec::new(),
            body: None,
            chunk: None,
            missing: 0,
        }
    }

    pub fn get(path: impl AsRef<[u8]>) -> Self {
        Self::new("GET", path)
    }

    /// A form as browsers and clients send it.
    pub fn post(path: impl AsRef<[u8]>, fields: &[(&str, &str)]) -> Self {
        Self::form(path, encode(fields))
    }

    /// The same as it stands on the wire.
    pub fn form(path: impl AsRef<[u8]>, body: impl AsRef<[u8]>) -> Self {
        Self::new("POST", path).header("Content-Type", FORM).body(body)
    }

    /// A request for a URL, which [`send`](Self::send) sends to its host.
    pub fn to(method: &str, url: impl AsRef<str>) -> Self {
        let url = Url::parse(url.as_ref()).unwrap();
        let authority = format!("{}:{}", url.host_str().unwrap(), url.port_or_known_default().unwrap());
        let request = Self::new(method, url.path()).host(&authority);
        Self { authority: Some(authority), query: url.query().map(Into::into), ..request }
    }

    pub fn query(mut self, query: impl AsRef<[u8]>) -> Self {
        self.query = Some(query.as_ref().to_vec());
        self
    }

    pub fn host(mut self, host: &str) -> Self {
        host.clone_into(&mut self.host);
        self
    }

    /// Sends it from that address of this machine.
    pub fn from(mut self, address: Ipv4Addr) -> Self {
        self.from = address;
        self
    }

    /// Does not ask the server to close the connection.
    pub fn kept(mut self) -> Self {
        self.keeps = true;
        self
    }

    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    pub fn basic(self, id: &str, secret: &str) -> Self {
        self.header("Authorization", format!("Basic {}", STANDARD.encode(format!("{id}:{secret}"))))
    }

    pub fn bearer(self, token: &str) -> Self {
        self.header("Authorization", format!("Bearer {token}"))
    }

    /// The cookies of a browser, if it has any.
    pub fn cookies(self, cookies: &str) -> Self {
        if cookies.is_empty() { self } else { self.header("Cookie", cookies) }
    }

    /// The form that it carries.
    pub fn fields(self, fields: &[(&str, &str)]) -> Self {
        self.header("Content-Type", FORM).body(encode(fields))
    }

    pub fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = Some(body.as_ref().to_vec());
        self
    }

    pub fn chunked(mut self, chunk: usize) -> Self {
        self.chunk = Some(chunk);
        self
    }

    pub fn missing(mut self, bytes: usize) -> Self {
        self.missing = bytes;
        self
    }

    /// The head, without the lines about the body and without the empty line.
    pub fn head(&self) -> Vec<u8> {
        let mut head = [&self.method[..], b" ", &self.path].concat();
        if let Some(query) = &self.query {
            head.extend_from_slice(&[b"?", &query[..]].concat());
        }
        head.extend_from_slice(format!(" HTTP/1.1\r\nHost: {}\r\n", self.host).as_bytes());
        if !self.keeps {
            head.extend_from_slice(b"Connection: close\r\n");
        }
        for (name, value) in &self.headers {
            head.extend_from_slice(&[name.as_bytes(), b": ", value, b"\r\n"].concat());
        }
        head
    }

    /// Its bytes on the wire.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.head();
        let body = self.body.as_deref().unwrap_or_default();
        match self.chunk {
            Some(chunk) => {
                bytes.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
                for chunk in body.chunks(chunk) {
                    bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                    bytes.extend_from_slice(&[chunk, b"\r\n"].concat());
                }
                bytes.extend_from_slice(b"0\r\n\r\n");
            }
            None if self.body.is_some() || self.missing > 0 => {
                let length = format!("Content-Length: {}\r\n\r\n", body.len() + self.missing);
                bytes.extend_from_slice(&[length.as_bytes(), body].concat());
            }
            None => bytes.extend_from_slice(b"\r\n"),
        }
        bytes
    }

    /// Its bytes, as far as a message of a failed test needs them.
    pub fn shown(&self) -> String {
        format!("{:.600}", self.bytes().escape_ascii().to_string())
    }

    /// Sends it to the host of its URL over a new connection, and reads until the server closes.
    pub async fn send(&self) -> Answer {
        let authority = self.authority.as_deref().expect("a request for a URL");
        let mut addresses = tokio::net::lookup_host(authority).await.unwrap();
        self.send_to(addresses.find(SocketAddr::is_ipv4).expect("an address of the loopback")).await
    }

    /// The same to that address.
    pub async fn send_to(&self, address: SocketAddr) -> Answer {
        let heard = exchange_one(self.from, address, &self.bytes()).await;
        let heard = heard.unwrap_or_else(|_| panic!("no answer to {}", self.shown()));
        assert!(heard.closed, "the connection stays open after {}", self.shown());
        let answers = Answer::read_all(&heard.bytes, self.method == b"HEAD");
        let mut answers = answers.unwrap_or_else(|fault| panic!("{fault} to {}", self.shown()));
        assert_eq!(answers.len(), 1, "{} to {}", heard.bytes.escape_ascii(), self.shown());
        answers.remove(0)
    }
}

impl From<Request> for Vec<u8> {
    fn from(request: Request) -> Self {
        request.bytes()
    }
}
