//! Requests whose framing is right, whatever is in them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// A request with lines and a body that are written as they are.
pub(crate) struct Request {
    start: Vec<u8>,
    host: String,
    lines: Vec<u8>,
    body: Option<Vec<u8>>,
}

impl Request {
    pub(crate) fn new(method: impl AsRef<[u8]>, target: impl AsRef<[u8]>) -> Self {
        let start = [method.as_ref(), b" ", target.as_ref()].concat();
        Self { start, host: "localhost".to_owned(), lines: b"Connection: close\r\n".to_vec(), body: None }
    }

    pub(crate) fn get(path: &str, query: impl AsRef<[u8]>) -> Self {
        Self::new("GET", [path.as_bytes(), b"?", query.as_ref()].concat())
    }

    /// A form as clients send it.
    pub(crate) fn form(path: &str, body: impl AsRef<[u8]>) -> Self {
        Self::new("POST", path).line("Content-Type", FORM).body(body)
    }

    pub(crate) fn host(mut self, host: &str) -> Self {
        host.clone_into(&mut self.host);
        self
    }

    pub(crate) fn line(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.lines.extend_from_slice(&[name.as_bytes(), b": ", value.as_ref(), b"\r\n"].concat());
        self
    }

    pub(crate) fn basic(self, id: &str, secret: &str) -> Self {
        self.line("Authorization", format!("Basic {}", STANDARD.encode(format!("{id}:{secret}"))))
    }

    pub(crate) fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = Some(body.as_ref().to_vec());
        self
    }

    /// The head, up to the empty line and without a word on the body.
    pub(crate) fn head(&self) -> Vec<u8> {
        [&self.start[..], b" HTTP/1.1\r\nHost: ", self.host.as_bytes(), b"\r\n", &self.lines].concat()
    }

    pub(crate) fn octets(&self) -> Vec<u8> {
        let mut octets = self.head();
        if let Some(body) = &self.body {
            octets.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
            octets.extend_from_slice(body);
        } else {
            octets.extend_from_slice(b"\r\n");
        }
        octets
    }
}

impl From<Request> for Vec<u8> {
    fn from(request: Request) -> Self {
        request.octets()
    }
}

/// Writes names and values so that every reader finds the same octets.
pub(crate) fn encode(pairs: &[(&str, &str)]) -> String {
    pairs.iter().map(|(name, value)| format!("{name}={}", escape(value.as_bytes()))).collect::<Vec<_>>().join("&")
}

pub(crate) fn escape(octets: &[u8]) -> String {
    let plain = |octet: &u8| octet.is_ascii_alphanumeric() || b"-._~".contains(octet);
    octets
        .iter()
        .map(|octet| if plain(octet) { char::from(*octet).to_string() } else { format!("%{octet:02x}") })
        .collect()
}

pub(crate) const FORM: &str = "application/x-www-form-urlencoded";
