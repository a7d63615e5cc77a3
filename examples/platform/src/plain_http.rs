//! The HTTP client of the programs here that use the platform as others do: the third-party application and `sign-in`.
//!
//! It has no TLS, because the platform of this example is on the same machine. Each request has its own connection.
//! Redirects are not followed and no proxy is used: either would send secrets elsewhere.

use std::io;
use std::pin::pin;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderValue};
use hyper::http::uri::Scheme;
use hyper::{Request, Response, Uri};
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long a request and its response may take.
const TIME: Duration = Duration::from_secs(10);

/// The maximum size of a response's body in bytes. The longest list of the platform's API has a few thousand.
const MAX_BODY: usize = 1024 * 1024;

/// Why there is no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Unanswered {
    #[error("took too long to answer")]
    TimedOut,
    #[error("cannot be reached")]
    Unreachable,
    #[error("sent an answer that cannot be read")]
    Unreadable,
}

/// Sends a request, which has the whole URL, and reads the response to its end.
///
/// # Errors
///
/// [`Unanswered`] if there is no whole response. A response with any status is none.
pub async fn send(request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, Unanswered> {
    timeout(TIME, exchange(request)).await.unwrap_or(Err(Unanswered::TimedOut))
}

/// The connection lives as long as this future.
async fn exchange(mut request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, Unanswered> {
    let stream = connect(request.uri()).await.map_err(|_| Unanswered::Unreachable)?;
    let authority = request.uri().authority().map_or("", |authority| authority.as_str());
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = HeaderValue::from_str(host).map_err(|_| Unanswered::Unreachable)?;
    request.headers_mut().insert(HOST, host);
    // Only the path is sent [RFC 9112 section 3.2.1].
    let path = request.uri().path_and_query().cloned();
    *request.uri_mut() = path.map(Uri::from).unwrap_or_default();

    let unreadable = |_| Unanswered::Unreadable;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(unreadable)?;
    let response = async {
        let response = sender.send_request(request.map(|body| Full::new(Bytes::from(body)))).await;
        let (head, body) = response.map_err(unreadable)?.into_parts();
        let body = Limited::new(body, MAX_BODY).collect().await.map_err(|_| Unanswered::Unreadable)?;
        Ok(Response::from_parts(head, body.to_bytes().into()))
    };
    let mut response = pin!(response);
    tokio::select! {
        biased;
        response = &mut response => response,
        // What arrived before the connection ended is still read.
        _ = connection => response.await,
    }
}

async fn connect(uri: &Uri) -> io::Result<TcpStream> {
    let host = uri.host().filter(|_| uri.scheme() == Some(&Scheme::HTTP)).ok_or(io::ErrorKind::InvalidInput)?;
    // A `Uri` may have a port that is empty or beyond 65535.
    let names_port = uri.authority().is_some_and(|authority| !authority.as_str().ends_with(host));
    let port = uri.port_u16().or_else(|| (!names_port).then_some(80)).ok_or(io::ErrorKind::InvalidInput)?;
    TcpStream::connect(format!("{host}:{port}")).await
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread::{JoinHandle, spawn};

    use hyper::StatusCode;

    use super::*;

    /// Answers one request with that text, and returns its URL. The thread returns what it read.
    fn server(answer: impl Into<Vec<u8>> + Send + 'static) -> (String, JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/path?query", listener.local_addr().unwrap());
        let thread = spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut read = Vec::new();
            while !read.ends_with(b"body") {
                let mut bytes = [0; 1024];
                let count = stream.read(&mut bytes).unwrap();
                read.extend(&bytes[..count]);
            }
            // A client that has read enough closes the connection.
            let _ = stream.write_all(&answer.into());
            String::from_utf8(read).unwrap()
        });
        (url, thread)
    }

    fn request(url: &str) -> Request<Vec<u8>> {
        Request::post(url).body(b"body".to_vec()).unwrap()
    }

    fn with_body(size: usize) -> Vec<u8> {
        let mut answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n").into_bytes();
        answer.resize(answer.len() + size, b'x');
        answer
    }

    #[tokio::test]
    async fn a_redirect_is_a_response_like_any_other() {
        let (url, thread) =
            server("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 2\r\n\r\nhi");
        let response = send(request(&url)).await.unwrap();
        assert_eq!((response.status(), &**response.body()), (StatusCode::FOUND, &b"hi"[..]));
        let read = thread.join().unwrap();
        let host = url.trim_start_matches("http://").split('/').next().unwrap();
        assert!(read.starts_with("POST /path?query HTTP/1.1\r\n"), "{read}");
        assert!(read.contains(&format!("host: {host}\r\n")) && read.contains("content-length: 4\r\n"), "{read}");
    }

    #[tokio::test]
    async fn a_body_that_is_too_large_is_not_read() {
        let (url, _) = server(with_body(MAX_BODY));
        assert_eq!(send(request(&url)).await.unwrap().body().len(), MAX_BODY);
        let (url, _) = server(with_body(MAX_BODY + 1));
        assert_eq!(send(request(&url)).await.unwrap_err(), Unanswered::Unreadable);
    }

    #[tokio::test]
    async fn half_a_response_is_none() {
        let (url, _) = server("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi");
        assert_eq!(send(request(&url)).await.unwrap_err(), Unanswered::Unreadable);
    }

    /// The time is that of the test, which jumps to the next timer.
    #[tokio::test(start_paused = true)]
    async fn a_server_that_does_not_answer_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        assert_eq!(send(request(&url)).await.unwrap_err(), Unanswered::TimedOut);
    }

    #[tokio::test]
    async fn only_plain_http_is_spoken() {
        // The server is there, and would accept a connection.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("https://{}/", listener.local_addr().unwrap());
        assert_eq!(send(request(&url)).await.unwrap_err(), Unanswered::Unreachable);
        for url in ["/path", "http://127.0.0.1:99999/", "http://127.0.0.1:/"] {
            assert_eq!(send(request(url)).await.unwrap_err(), Unanswered::Unreachable, "{url}");
        }
    }
}
