//! Answers as they are on the wire; errors describe what is not well-formed.

use std::fmt;

use serde_json::Value;
use url::Url;

/// One answer; header names in lower case.
#[derive(Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    /// Reads all answers of a connection; interim ones are left out. Those to a HEAD have no body.
    pub fn read_all(mut bytes: &[u8], is_head: bool) -> Result<Vec<Self>, String> {
        let mut answers = Vec::new();
        while !bytes.is_empty() {
            let (answer, length) = Self::read(bytes, is_head)?.ok_or("an answer that breaks off")?;
            bytes = &bytes[length..];
            answers.extend(Some(answer).filter(|answer| answer.status != 100));
        }
        Ok(answers)
    }

    /// Reads the first answer and the number of its bytes, if all of it is there.
    pub(crate) fn read(bytes: &[u8], is_head: bool) -> Result<Option<(Self, usize)>, String> {
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(None) };
        let mut answer = Self::of_head(&bytes[..end])?;
        let body = &bytes[end + 4..];
        // [RFC 9112 section 6.3]
        let length = match answer.status {
            _ if is_head => 0,
            100..200 | 204 | 304 => 0,
            _ => {
                let length = answer.header("content-length").ok_or("no Content-Length")?;
                length.parse().map_err(|_| format!("a length of {length}"))?
            }
        };
        if body.len() < length {
            return Ok(None);
        }
        answer.body = body[..length].to_vec();
        Ok(Some((answer, end + 4 + length)))
    }

    fn of_head(bytes: &[u8]) -> Result<Self, String> {
        let mut lines = str::from_utf8(bytes).map_err(|_| "a head that is not UTF-8")?.split("\r\n");
        let first = lines.next().unwrap_or_default();
        let version = first.strip_prefix("HTTP/1.1 ").or_else(|| first.strip_prefix("HTTP/1.0 "));
        let status = version.and_then(|rest| rest.get(..3)?.parse().ok());
        let status = status.ok_or_else(|| format!("a status line {first:?}"))?;
        let headers = lines.map(|line| {
            let (name, value) = line.split_once(':').ok_or_else(|| format!("a header line {line:?}"))?;
            let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
            let is_clean = value.bytes().all(|byte| (b' '..=b'~').contains(&byte));
            match is_name && is_clean {
                true => Ok((name.to_lowercase(), value.trim().to_owned())),
                false => Err(format!("a header line {line:?}")),
            }
        });
        Ok(Self { status, headers: headers.collect::<Result<_, String>>()?, body: Vec::new() })
    }

    /// The value of the only header of that name, which is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(own, _)| own == name);
        let first = found.next();
        assert!(found.next().is_none(), "{name} twice in {:?}", self.headers);
        first.map(|(_, value)| value.as_str())
    }

    /// The values of all headers of that name.
    pub fn headers_of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers.iter().filter(move |(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// Where a redirect leads; a relative URL is resolved against that service.
    pub fn location(&self, service: impl AsRef<str>) -> Url {
        let service = Url::parse(service.as_ref()).unwrap();
        service.join(self.header("location").unwrap_or_else(|| panic!("no redirect: {self:?}"))).unwrap()
    }

    /// The cookies that it sets, as they are sent back.
    pub fn cookies(&self) -> String {
        self.headers_of("set-cookie").filter_map(|line| line.split(';').next()).collect::<Vec<_>>().join("; ")
    }

    /// The cookies of the browser that sent these, once it has the answer.
    pub fn cookies_after(&self, sent: &str) -> String {
        let set = self.cookies();
        let name = |cookie: &str| cookie.split('=').next().map(str::to_owned);
        let is_kept = |cookie: &&str| !cookie.is_empty() && set.split("; ").all(|own| name(own) != name(cookie));
        sent.split("; ").filter(is_kept).chain(Some(&*set).filter(|set| !set.is_empty())).collect::<Vec<_>>().join("; ")
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON, or nothing.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { status, headers, body } = self;
        write!(f, "{status} {headers:#?} {}", body.escape_ascii())
    }
}
