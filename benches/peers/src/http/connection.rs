//! One keep-alive connection of the load, with its own grants.

use std::io::{self, Read, Write};
use std::time::Instant;

use mio::net::TcpStream;

use super::{Job, RESOURCE_PATH};
use crate::material::{Tokens, member, refresh_form};

/// What all connections of a load have in common.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) job: Job,
    pub(crate) rotates: bool,
    pub(crate) token_path: &'a str,
    pub(crate) basic: &'a str,
}

/// A connection with one request at a time.
#[derive(Debug)]
pub(crate) struct Connection<'a> {
    pub(crate) stream: TcpStream,
    grants: &'a mut [Tokens],
    turn: usize,
    request: Vec<u8>,
    written: usize,
    response: Vec<u8>,
    pub(crate) started: Instant,
}

impl<'a> Connection<'a> {
    pub(crate) fn new(stream: TcpStream, grants: &'a mut [Tokens]) -> Self {
        let (request, response) = (Vec::with_capacity(1024), Vec::with_capacity(4096));
        Self { stream, grants, turn: 0, request, written: 0, response, started: Instant::now() }
    }

    /// Begins the request for the next grant.
    pub(crate) fn ask(&mut self, plan: &Plan<'_>) -> io::Result<()> {
        self.turn = (self.turn + 1) % self.grants.len();
        let tokens = &self.grants[self.turn];
        self.request.clear();
        self.written = 0;
        write_request(plan, tokens, &mut self.request)?;
        self.started = Instant::now();
        self.write()
    }

    /// Sends the rest of the request.
    pub(crate) fn write(&mut self) -> io::Result<()> {
        while self.written < self.request.len() {
            match self.stream.write(&self.request[self.written..]) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads more of the response. Returns true once it is complete and checked, and its tokens are kept.
    ///
    /// # Panics
    ///
    /// If the response is not the expected one.
    pub(crate) fn read(&mut self, plan: &Plan<'_>) -> io::Result<bool> {
        let mut bytes = [0; 4096];
        loop {
            match self.stream.read(&mut bytes) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.response.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
            if let Some(body) = complete(&self.response) {
                let asked = &mut self.grants[self.turn];
                match plan.job {
                    Job::Refresh => take(asked, body, plan.rotates),
                    Job::Authenticate => assert!(body.starts_with(br#"{""#), "no JSON at the resource"),
                }
                self.response.clear();
                return Ok(true);
            }
        }
    }
}

/// Sends one request, for the first of the grants, and returns the body of the answer.
///
/// # Panics
///
/// If the response is not the one that was asked for.
pub(crate) fn ask_once(address: &str, plan: &Plan<'_>, grants: &mut [Tokens]) -> io::Result<String> {
    let mut request = Vec::new();
    write_request(plan, &grants[0], &mut request)?;
    let mut stream = std::net::TcpStream::connect(address)?;
    stream.write_all(&request)?;
    let (mut response, mut bytes) = (Vec::new(), [0; 4096]);
    while complete(&response).is_none() {
        let count = stream.read(&mut bytes)?;
        assert!(count > 0, "the server closed the connection");
        response.extend_from_slice(&bytes[..count]);
    }
    let body = complete(&response).unwrap_or_default();
    if plan.job == Job::Refresh {
        take(&mut grants[0], body, plan.rotates);
    }
    Ok(String::from_utf8_lossy(body).into_owned())
}

fn write_request(plan: &Plan<'_>, tokens: &Tokens, request: &mut Vec<u8>) -> io::Result<()> {
    match plan.job {
        Job::Refresh => {
            let (path, basic, form) = (plan.token_path, plan.basic, refresh_form(&tokens.refresh));
            write!(
                request,
                "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {basic}\r\n\
                 Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
                form.len(),
            )
        }
        Job::Authenticate => write!(
            request,
            "GET {RESOURCE_PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {}\r\n\r\n",
            tokens.access,
        ),
    }
}

/// Keeps the refresh token of the answer for the next request.
fn take(asked: &mut Tokens, body: &[u8], rotates: bool) {
    let refresh = member(body, "refresh_token").expect("a refresh token");
    assert_eq!(rotates, refresh != asked.refresh, "rotation");
    asked.refresh.clear();
    asked.refresh.push_str(refresh);
}

/// Returns the body of a response, once it is complete.
///
/// # Panics
///
/// If the status is not 200, or if there is no `Content-Length`.
fn complete(response: &[u8]) -> Option<&[u8]> {
    let head = response.windows(4).position(|window| window == b"\r\n\r\n")?;
    let (head, body) = (&response[..head], &response[head + 4..]);
    assert!(head.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(response));
    let lines = head.split(|&byte| byte == b'\n');
    let length = lines.filter_map(|line| line.split_at_checked(15));
    let length = length.filter(|(name, _)| name.eq_ignore_ascii_case(b"content-length:"));
    let length = length.map(|(_, value)| value.trim_ascii()).next().expect("a length");
    let length: usize = std::str::from_utf8(length).ok().and_then(|length| length.parse().ok()).expect("a length");
    assert!(body.len() <= length, "more than one answer");
    (body.len() == length).then_some(body)
}
