//! One HTTP exchange as octets: nothing is normalised on the way out, everything is read on the way in.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::future;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::world::{FORM, encode};

/// A request as it is written.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    /// What stands behind the `?`, if there is one.
    pub(crate) query: Option<Vec<u8>>,
    pub(crate) headers: Vec<(&'static str, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
    /// The sizes of the chunks that the body is sent in; without, its length is told.
    chunk: Option<usize>,
    /// Octets that the told length counts in and that never come.
    missing: usize,
}

/// What came back; header names in lower case and sorted.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

pub(crate) fn request(method: &'static str, path: &str) -> Request {
    Request { method, path: path.into(), query: None, headers: Vec::new(), body: Vec::new(), chunk: None, missing: 0 }
}

pub(crate) fn get(path: &str) -> Request {
    request("GET", path)
}

/// A form as browsers and clients send it.
pub(crate) fn post(path: &str, form: &[(&str, &str)]) -> Request {
    request("POST", path).header("Content-Type", FORM).body(encode(form))
}

impl Request {
    pub(crate) fn query(mut self, query: impl AsRef<[u8]>) -> Self {
        self.query = Some(query.as_ref().to_vec());
        self
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name, value.as_ref().to_vec()));
        self
    }

    pub(crate) fn basic(self, id: &str, secret: &str) -> Self {
        self.header("Authorization", format!("Basic {}", STANDARD.encode(format!("{id}:{secret}"))))
    }

    pub(crate) fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = body.as_ref().to_vec();
        self
    }

    pub(crate) fn chunked(mut self, chunk: usize) -> Self {
        self.chunk = Some(chunk);
        self
    }

    pub(crate) fn missing(mut self, octets: usize) -> Self {
        self.missing = octets;
        self
    }

    /// Sends it over a connection of its own and reads until the server closes.
    pub(crate) async fn send(&self, address: SocketAddr) -> Answer {
        let (mut incoming, mut outgoing) = TcpStream::connect(address).await.unwrap().into_split();
        let octets = self.octets();
        let mut answer = Vec::new();
        // A server that has heard enough may answer and close while the rest is written.
        let exchange = future::join(outgoing.write_all(&octets), incoming.read_to_end(&mut answer));
        let (_, _) = timeout(PATIENCE, exchange).await.unwrap_or_else(|_| panic!("no answer to {}", self.shown()));
        Answer::read(&answer, self.method == "HEAD")
    }

    /// Its octets, as far as a message of a failed test needs them.
    pub(crate) fn shown(&self) -> String {
        format!("{:.600}", self.octets().escape_ascii().to_string())
    }

    fn octets(&self) -> Vec<u8> {
        let mut octets = format!("{} {}", self.method, self.path).into_bytes();
        if let Some(query) = &self.query {
            octets.push(b'?');
            octets.extend_from_slice(query);
        }
        octets.extend_from_slice(b" HTTP/1.1\r\nHost: auth.example\r\nConnection: close\r\n");
        for (name, value) in &self.headers {
            octets.extend_from_slice(&[name.as_bytes(), b": ", value, b"\r\n"].concat());
        }
        match self.chunk {
            Some(chunk) => {
                octets.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
                for chunk in self.body.chunks(chunk) {
                    octets.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                    octets.extend_from_slice(&[chunk, b"\r\n"].concat());
                }
                octets.extend_from_slice(b"0\r\n\r\n");
            }
            None => {
                let length = format!("Content-Length: {}\r\n\r\n", self.body.len() + self.missing);
                octets.extend_from_slice(length.as_bytes());
                octets.extend_from_slice(&self.body);
            }
        }
        octets
    }
}

impl Answer {
    pub(crate) fn new(status: u16, headers: impl IntoIterator<Item = (String, String)>, body: Vec<u8>) -> Self {
        let headers = headers.into_iter().map(|(name, value)| (name.to_lowercase(), value));
        let mut headers: Vec<_> = headers.filter(|(name, _)| name != "date" && name != "connection").collect();
        headers.sort();
        Self { status, headers, body }
    }

    fn read(octets: &[u8], is_head: bool) -> Self {
        let shown = String::from_utf8_lossy(octets);
        let end = octets.windows(4).position(|window| window == b"\r\n\r\n").unwrap_or_else(|| panic!("{shown:?}"));
        let (head, body) = (str::from_utf8(&octets[..end]).unwrap(), &octets[end + 4..]);
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap().strip_prefix("HTTP/1.1 ").unwrap()[..3].parse().unwrap();
        let headers = lines.map(|line| line.split_once(':').unwrap());
        let headers = headers.map(|(name, value)| (name.to_owned(), value.trim().to_owned()));
        let answer = Self::new(status, headers, body.to_vec());
        let length = if is_head { 0 } else { answer.header("content-length").unwrap().parse().unwrap() };
        assert_eq!(answer.body.len(), length, "{shown:?}");
        answer
    }

    /// The value of the only header of that name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(own, _)| own == name);
        let first = found.next();
        assert!(found.next().is_none(), "{name} twice in {:?}", self.headers);
        first.map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        str::from_utf8(&self.body).unwrap()
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { status, headers, body } = self;
        write!(f, "{status} {headers:#?} {}", body.escape_ascii())
    }
}

/// After that the server is taken to wait for something that does not come.
const PATIENCE: Duration = Duration::from_secs(20);
