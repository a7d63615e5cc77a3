//! Requests to a configured host.

use std::collections::BTreeSet;
use std::env;
use std::error::Error as _;
use std::net::Ipv4Addr;
use std::process::Command;
use std::time::Duration;

use grantor::fetch::{FetchError, FetchErrorKind, FetchResponse, Transport as _, TransportRequest};
use grantor_fetch::{ConfiguredHost, SetupError};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::time::{Instant, advance, pause, resume, sleep, timeout};

use crate::authority::Authority;
use crate::server::{Part, Server};

/// Long enough for a handshake on a busy machine.
const TIME: Duration = Duration::from_secs(5);

/// A time after which requests to a silent server end.
const SHORT: Duration = Duration::from_millis(500);

/// A server on the loopback, and the transport to it.
struct World {
    server: Server,
    host: ConfiguredHost,
}

impl World {
    /// Each connection has its own parts; the last ones are for all further connections.
    async fn new(parts: impl Into<Vec<Vec<Part>>>) -> Self {
        let authority = Authority::new();
        let server = Server::start_each(Some(authority.certify("localhost")), parts.into()).await;
        let host = ConfiguredHost::with_roots(&url(&server), authority.pem()).unwrap();
        Self { server, host }
    }

    async fn send(&self) -> Result<FetchResponse, FetchError> {
        self.send_within(TIME).await
    }

    async fn send_within(&self, time: Duration) -> Result<FetchResponse, FetchError> {
        send(&self.host, &url(&self.server), time).await
    }

    /// Sends a request, and returns the body of the response.
    async fn body(&self) -> String {
        String::from_utf8(self.send().await.unwrap().body).unwrap()
    }
}

fn url(server: &Server) -> String {
    format!("https://localhost:{}/oauth2/introspect", server.address.port())
}

/// Sends a request with a secret and a token.
async fn send(host: &ConfiguredHost, url: &str, time: Duration) -> Result<FetchResponse, FetchError> {
    let mut request = TransportRequest::new("POST", url);
    request.headers = &[
        ("Authorization", "Basic c2VjcmV0"),
        ("Content-Type", "application/x-www-form-urlencoded"),
        ("Accept", "application/json"),
    ];
    request.body = b"token=tok-1";
    request.timeout = time;
    host.send(&request).await
}

/// A response that leaves the connection open.
fn answer(body: &str) -> Part {
    Part::text(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
}

/// Responses to so many requests of one connection, which the server then keeps open.
fn answers(body: &str, count: usize) -> Vec<Part> {
    (0..count).flat_map(|_| [answer(body), Part::Next]).collect()
}

/// RSC-01
///
/// The transport adds `Host`, `Content-Length` and `Accept-Encoding`.
#[tokio::test]
async fn a_request_is_sent_as_given() {
    let world = World::new([answers("{}", 1)]).await;
    let response = world.send().await.unwrap();
    assert_eq!((response.status, response.body.as_slice()), (200, b"{}".as_slice()));
    let [request] = world.server.requests().try_into().unwrap();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert_eq!(body, "token=tok-1");
    let host = format!("host: localhost:{}", world.server.address.port());
    let expected = [
        "POST /oauth2/introspect HTTP/1.1",
        &host,
        "authorization: Basic c2VjcmV0",
        "content-type: application/x-www-form-urlencoded",
        "accept: application/json",
        "accept-encoding: identity",
        "content-length: 11",
    ];
    assert_eq!(head.split("\r\n").collect::<BTreeSet<_>>(), expected.into());
}

#[tokio::test]
async fn a_key_set_is_fetched_with_the_headers_of_caches() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/jwk-set+json\r\nCache-Control: max-age=60\r\n\
                Content-Length: 11\r\n\r\n";
    let world = World::new([vec![Part::text(head), Part::text("{\"keys\":[]}"), Part::Next]]).await;
    let url = format!("https://localhost:{}/oauth2/jwks?x=y", world.server.address.port());
    let response = world.host.send(&TransportRequest::new("GET", &url)).await.unwrap();
    assert_eq!(response.body, b"{\"keys\":[]}");
    assert_eq!(response.content_type.as_deref(), Some("application/jwk-set+json"));
    assert_eq!(response.cache_control.as_deref(), Some("max-age=60"));
    assert!(world.server.requests()[0].starts_with("GET /oauth2/jwks?x=y HTTP/1.1\r\n"));
}

#[tokio::test]
async fn requests_share_a_connection() {
    let world = World::new([answers("{}", 5)]).await;
    for _ in 0..4 {
        assert_eq!(world.body().await, "{}");
    }
    // Clones share it too.
    assert_eq!(send(&world.host.clone(), &url(&world.server), TIME).await.unwrap().body, b"{}");
    assert_eq!((world.server.connections(), world.server.requests().len()), (1, 5));
}

/// The test above runs once more, in a process whose environment names a proxy that does not exist.
#[test]
fn a_proxy_of_the_environment_is_not_used() {
    let mut again = Command::new(env::current_exe().unwrap());
    again.args(["--exact", "configured::requests_share_a_connection"]);
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"] {
        again.env(name, "http://127.0.0.1:9/");
    }
    let output = again.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// RSC-08
#[tokio::test]
async fn at_most_64_connections_are_open() {
    let parts = [Part::Pause(Duration::from_millis(50)), answer("{}"), Part::Next];
    let world = World::new([parts.into_iter().cycle().take(3 * 200).collect::<Vec<_>>()]).await;
    let requests = (0..200).map(|_| {
        let (host, url) = (world.host.clone(), url(&world.server));
        tokio::spawn(async move { send(&host, &url, TIME * 4).await.unwrap().body })
    });
    for request in requests.collect::<Vec<_>>() {
        assert_eq!(request.await.unwrap(), b"{}");
    }
    assert_eq!(world.server.requests().len(), 200);
    assert!((2..=64).contains(&world.server.connections()), "{}", world.server.connections());
}

/// RSC-07
///
/// The other server is one that the transport would trust.
#[tokio::test]
async fn a_redirect_is_returned_and_not_followed() {
    let authority = Authority::new();
    let other = Server::start(authority.certify("localhost"), answers("{}", 1)).await;
    for status in [301, 302, 303, 307, 308] {
        for location in [url(&other), "/again".to_owned()] {
            let head = format!("HTTP/1.1 {status} Moved\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n");
            let server = Server::start(authority.certify("localhost"), vec![Part::text(head), Part::Next]).await;
            let host = ConfiguredHost::with_roots(&url(&server), authority.pem()).unwrap();
            assert_eq!(send(&host, &url(&server), TIME).await.unwrap().status, status, "{location}");
            assert_eq!(server.requests().len(), 1, "{location}");
        }
    }
    assert_eq!(other.connections(), 0);
}

/// RSC-07
#[tokio::test]
async fn every_status_is_returned() {
    for status in [200, 204, 400, 401, 403, 404, 429, 500, 503] {
        let length = if status == 204 { "" } else { "Content-Length: 0\r\n" };
        let head = format!("HTTP/1.1 {status} \r\n{length}\r\n");
        let world = World::new([vec![Part::text(head), Part::Next]]).await;
        assert_eq!(world.send().await.unwrap().status, status);
        assert_eq!(world.server.requests().len(), 1);
    }
}

/// RSC-07
#[tokio::test]
async fn another_origin_is_refused_without_connection() {
    let authority = Authority::new();
    let (own, other) = (
        Server::start(authority.certify("localhost"), answers("{}", 1)).await,
        Server::start(authority.certify("localhost"), answers("{}", 1)).await,
    );
    let host = ConfiguredHost::with_roots(&url(&own), authority.pem()).unwrap();
    let port = own.address.port();
    for refused in [
        url(&other),
        format!("http://localhost:{port}/oauth2/introspect"),
        format!("https://127.0.0.1:{port}/oauth2/introspect"),
        format!("https://a.localhost:{port}/oauth2/introspect"),
        "https://localhost/oauth2/introspect".to_owned(),
        format!("https://localhost:{port}@localhost:{}/", other.address.port()),
        format!("https://localhost:{port}#@localhost:{}/", other.address.port()),
        format!("https://localhost:{port}\\@localhost:{}/", other.address.port()),
        "/oauth2/introspect".to_owned(),
        String::new(),
    ] {
        let error = send(&host, &refused, TIME).await.unwrap_err();
        assert_eq!(error.kind(), FetchErrorKind::Url, "{refused}");
    }
    assert_eq!((own.connections(), other.connections()), (0, 0));
    let other_case = format!("HTTPS://LOCALHOST:{port}/oauth2/introspect");
    assert_eq!(send(&host, &other_case, TIME).await.unwrap().body, b"{}");
}

#[tokio::test]
async fn a_private_address_is_connected_to() {
    let authority = Authority::new();
    let server = Server::start(authority.certify("127.0.0.1"), answers("{}", 1)).await;
    let url = format!("https://127.0.0.1:{}/", server.address.port());
    let host = ConfiguredHost::with_roots(&url, authority.pem()).unwrap();
    assert_eq!(send(&host, &url, TIME).await.unwrap().body, b"{}");
}

/// RSC-07
///
/// No byte of the request is sent.
#[tokio::test]
async fn the_certificate_is_checked() {
    let authority = Authority::new();
    for (certified, roots) in [
        (authority.certify("localhost"), Authority::new().pem()),
        (authority.certify("other.example"), authority.pem()),
        (authority.certify("127.0.0.1"), authority.pem()),
        (authority.certify_until("localhost", 2020), authority.pem()),
    ] {
        let server = Server::start(certified, answers("{}", 1)).await;
        let url = url(&server);
        for host in
            [ConfiguredHost::with_roots(&url, roots), ConfiguredHost::new(&url), ConfiguredHost::for_development(&url)]
        {
            let error = send(&host.unwrap(), &url, TIME).await.unwrap_err();
            assert_eq!(error.kind(), FetchErrorKind::Tls, "{error:?}");
        }
        server.is_idle().await;
        assert_eq!((server.connections(), server.requests().len()), (3, 0));
    }
}

#[tokio::test]
async fn plain_http_is_for_development_on_the_loopback() {
    let pem = Authority::new().pem();
    for url in ["http://localhost:8080/", "http://127.0.0.1:8080/", "http://auth.example/"] {
        for host in [ConfiguredHost::new(url), ConfiguredHost::with_roots(url, &pem)] {
            let error = host.unwrap_err();
            assert!(matches!(error, SetupError::Url(_)), "{url}");
            assert_eq!(error.source().unwrap().to_string(), "the URL does not begin with https://");
        }
    }
    for url in ["http://auth.example/", "http://auth/", "http://10.0.0.1/", "http://[::ffff:127.0.0.1]/"] {
        let error = ConfiguredHost::for_development(url).unwrap_err();
        assert_eq!(format!("{error:?}"), format!("the URL cannot be used: {}", error.source().unwrap()), "{url}");
        assert!(matches!(error, SetupError::Url(_)), "{url}");
    }
    assert!(matches!(ConfiguredHost::for_development("ftp://localhost/"), Err(SetupError::Url(_))));

    let server = Server::start_each(None, vec![answers("{}", 2)]).await;
    let port = server.address.port();
    for name in ["localhost", "127.0.0.1"] {
        let url = format!("http://{name}:{port}/");
        let host = ConfiguredHost::for_development(&url).unwrap();
        for _ in 0..2 {
            assert_eq!(send(&host, &url, TIME).await.unwrap().body, b"{}");
        }
        let error = send(&host, &format!("https://{name}:{port}/"), TIME).await.unwrap_err();
        assert_eq!(error.kind(), FetchErrorKind::Url);
    }
    assert_eq!((server.connections(), server.requests().len()), (2, 4));
}

#[test]
fn roots_that_cannot_be_read_are_refused() {
    let url = "https://auth.internal/";
    assert!(matches!(ConfiguredHost::with_roots(url, ""), Err(SetupError::NoRoot)));
    let bad = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    assert!(matches!(ConfiguredHost::with_roots(url, bad), Err(SetupError::Root { number: 1, .. })));
}

/// The connection with the rest of the body is not used again.
#[tokio::test]
async fn a_body_that_is_too_large_is_refused() {
    for (length, fits) in [(65_536, true), (65_537, false), (1_000_000, false)] {
        let world = World::new([answers(&"x".repeat(length), 2), answers("{}", 1)]).await;
        let sent = world.send().await;
        assert_eq!(sent.as_ref().map(|response| response.body.len()).ok(), fits.then_some(length));
        if let Err(error) = sent {
            assert_eq!(error.kind(), FetchErrorKind::TooLarge);
            assert_eq!(world.body().await, "{}");
            assert_eq!(world.server.connections(), 2);
        }
    }
    let world = World::new([vec![Part::text("HTTP/1.1 200 OK\r\n\r\n"), Part::Endless(vec![b'x'; 1024])]]).await;
    assert_eq!(world.send().await.unwrap_err().kind(), FetchErrorKind::TooLarge);
    world.server.is_idle().await;
}

#[tokio::test]
async fn an_encoded_body_is_refused() {
    let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}";
    let world = World::new([vec![Part::text(head), Part::Next]]).await;
    assert_eq!(world.send().await.unwrap_err().kind(), FetchErrorKind::Response);
}

/// RSC-08
///
/// As many requests as there are places. Afterwards the server answers.
#[tokio::test]
async fn a_silent_server_takes_no_longer_than_the_time() {
    let mut parts = vec![vec![Part::Wait]; 64];
    parts.push(answers("{}", 1));
    let world = World::new(parts).await;
    let requests = (0..64).map(|_| {
        let (host, url) = (world.host.clone(), url(&world.server));
        tokio::spawn(async move {
            let begun = Instant::now();
            let kind = send(&host, &url, TIME / 2).await.unwrap_err().kind();
            (kind, begun.elapsed())
        })
    });
    for request in requests.collect::<Vec<_>>() {
        let (kind, elapsed) = request.await.unwrap();
        assert_eq!(kind, FetchErrorKind::TimedOut);
        assert!(elapsed >= TIME / 2 && elapsed < TIME, "{elapsed:?}");
    }
    assert_eq!(world.server.connections(), 64);
    timeout(TIME, world.server.is_idle()).await.expect("the connections were closed");
    assert_eq!(world.body().await, "{}");
}

/// RSC-08
///
/// In the handshake, and between the bytes of a response.
#[tokio::test]
async fn the_time_is_for_the_whole() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("https://localhost:{}/", listener.local_addr().unwrap().port());
    let error = send(&ConfiguredHost::new(&url).unwrap(), &url, SHORT).await.unwrap_err();
    assert_eq!(error.kind(), FetchErrorKind::TimedOut);

    let text = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
    let drip = text.bytes().flat_map(|own| [Part::Bytes(vec![own]), Part::Pause(SHORT / 10)]);
    let world = World::new([drip.collect::<Vec<_>>(), answers("{}", 1)]).await;
    assert_eq!(world.send_within(SHORT * 2).await.unwrap_err().kind(), FetchErrorKind::TimedOut);
    assert_eq!(world.body().await, "{}");
    assert_eq!(world.server.connections(), 2);
}

/// RSC-07
#[tokio::test]
async fn a_host_that_is_down_is_an_error() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("https://localhost:{}/", listener.local_addr().unwrap().port());
    drop(listener);
    let error = send(&ConfiguredHost::new(&url).unwrap(), &url, TIME).await.unwrap_err();
    assert_eq!(error.kind(), FetchErrorKind::Connection);
}

/// The server closes after each response, and does not announce it.
#[tokio::test]
async fn a_closed_connection_is_replaced() {
    for end in [vec![], vec![Part::Cut]] {
        let parts: Vec<_> = [answer("{}")].into_iter().chain(end).collect();
        let world = World::new([parts]).await;
        for _ in 0..20 {
            assert_eq!(world.body().await, "{}");
        }
        assert_eq!((world.server.connections(), world.server.requests().len()), (20, 20));
    }
}

#[tokio::test]
async fn an_announced_close_is_obeyed() {
    let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}";
    let world = World::new([vec![Part::text(head), Part::Wait]]).await;
    for _ in 0..3 {
        assert_eq!(world.body().await, "{}");
    }
    timeout(TIME, world.server.is_idle()).await.expect("the connections were closed");
    assert_eq!((world.server.connections(), world.server.requests().len()), (3, 3));
}

/// The server has read the second request of the connection, and closes.
#[tokio::test]
async fn a_request_without_response_is_sent_once_more() {
    for end in [vec![], vec![Part::Cut]] {
        let parts: Vec<_> = [answer("1"), Part::Next].into_iter().chain(end).collect();
        let world = World::new([parts, answers("2", 1)]).await;
        assert_eq!((world.body().await, world.body().await), ("1".to_owned(), "2".to_owned()));
        let requests = world.server.requests();
        assert_eq!((world.server.connections(), requests.len()), (2, 3));
        assert_eq!(requests[1], requests[2]);
    }
}

#[tokio::test]
async fn a_request_is_sent_twice_at_most() {
    let world = World::new([vec![answer("1"), Part::Next, Part::Cut], vec![Part::Cut]]).await;
    assert_eq!(world.body().await, "1");
    assert_eq!(world.send().await.unwrap_err().kind(), FetchErrorKind::Connection);
    assert_eq!((world.server.connections(), world.server.requests().len()), (2, 3));
    // Over a new connection, once.
    assert_eq!(world.send().await.unwrap_err().kind(), FetchErrorKind::Connection);
    assert_eq!((world.server.connections(), world.server.requests().len()), (3, 4));
}

#[tokio::test]
async fn a_response_that_breaks_off_is_not_asked_for_again() {
    for begun in ["H", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}"] {
        let world = World::new([vec![answer("1"), Part::Next, Part::text(begun), Part::Cut], answers("2", 1)]).await;
        assert_eq!(world.body().await, "1");
        assert_eq!(world.send().await.unwrap_err().kind(), FetchErrorKind::Connection, "{begun}");
        assert_eq!((world.server.connections(), world.server.requests().len()), (1, 2), "{begun}");
        assert_eq!(world.body().await, "2");
    }
}

/// Otherwise the next request would get the response of the dropped one.
#[tokio::test]
async fn a_dropped_request_closes_its_connection() {
    let half = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n2";
    for begun in [vec![], vec![Part::text("HTTP/1.1 200")], vec![Part::text(half)]] {
        let parts: Vec<_> = [answer("1"), Part::Next].into_iter().chain(begun).chain([Part::Wait]).collect();
        let world = World::new([parts, answers("3", 1)]).await;
        assert_eq!(world.body().await, "1");
        let dropped = timeout(SHORT, world.send()).await;
        assert!(dropped.is_err(), "{dropped:?}");
        assert_eq!((world.server.connections(), world.server.requests().len()), (1, 2));
        timeout(TIME, world.server.is_idle()).await.expect("the connection was closed");
        assert_eq!(world.body().await, "3");
        assert_eq!(world.server.connections(), 2);
    }
}

/// The server sends a second response that no request asked for, with the first one or later.
#[tokio::test]
async fn a_surplus_response_answers_no_request() {
    let both =
        || Part::text("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n!");
    for parts in [vec![both(), Part::Next], vec![answer("1"), Part::Pause(SHORT / 10), answer("!"), Part::Next]] {
        let world = World::new([parts, answers("2", 1)]).await;
        assert_eq!(world.body().await, "1");
        sleep(SHORT / 2).await;
        assert_eq!(world.body().await, "2");
        assert_eq!((world.server.connections(), world.server.requests().len()), (2, 2));
    }
    // Without the pause.
    let world = World::new([vec![both(), Part::Next], answers("2", 1)]).await;
    assert_eq!((world.body().await, world.body().await), ("1".to_owned(), "2".to_owned()));
}

#[tokio::test]
async fn an_idle_connection_is_closed_after_30_seconds() {
    let world = World::new([answers("{}", 3)]).await;
    let pass = async |seconds| {
        pause();
        advance(Duration::from_secs(seconds)).await;
        resume();
    };
    assert_eq!(world.body().await, "{}");
    // The time that the test itself takes passes too.
    pass(20).await;
    assert_eq!(world.body().await, "{}");
    pass(20).await;
    let idle = timeout(SHORT, world.server.is_idle()).await;
    assert!(idle.is_err(), "closed 20 seconds after the last request");
    pass(11).await;
    timeout(TIME, world.server.is_idle()).await.expect("the connection was closed");
    assert_eq!((world.server.connections(), world.server.requests().len()), (1, 2));
    assert_eq!(world.body().await, "{}");
    assert_eq!(world.server.connections(), 2);
    // The closer runs again.
    pass(31).await;
    timeout(TIME, world.server.is_idle()).await.expect("the connection was closed");
}

/// As in tests, each of which has its own runtime.
#[test]
fn a_host_outlives_a_runtime() {
    let servers = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let world = servers.block_on(World::new([answers("{}", 2)]));
    for connections in 1..=3 {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        assert_eq!(runtime.block_on(world.body()), "{}");
        assert_eq!(world.server.connections(), connections);
    }
}

/// RSC-07
///
/// Nor does the transport itself.
#[tokio::test]
async fn no_error_shows_headers_or_body() {
    let failures = [
        vec![Part::Cut],
        vec![Part::Wait],
        vec![Part::text("SSH-2.0-OpenSSH_9.9\r\n\r\n")],
        vec![Part::text("HTTP/1.1 200 OK\r\n\r\n"), Part::Endless(vec![b'x'; 1024])],
    ];
    let mut shown = Vec::new();
    for failure in failures {
        let world = World::new([failure]).await;
        shown.push(format!("{:?} {:?}", world.send_within(SHORT).await.unwrap_err(), world.host));
    }
    let world = World::new([answers("{}", 1)]).await;
    for headers in [[("Authorization", "Basic c2VjcmV0\n")], [("c2VjcmV0\n", "")]] {
        let url = url(&world.server);
        let mut request = TransportRequest::new("POST", &url);
        (request.headers, request.body) = (&headers, b"token=tok-1");
        shown.push(format!("{:?}", world.host.send(&request).await.unwrap_err()));
    }
    shown.push(format!("{:?}", send(&world.host, "https://user:c2VjcmV0@localhost/", TIME).await.unwrap_err()));
    assert_eq!(world.server.connections(), 0);
    assert_eq!(world.body().await, "{}");
    shown.push(format!("{:?}", world.host));
    assert!(shown.last().unwrap().contains("https://localhost:"), "{shown:?}");
    for text in shown {
        for hidden in ["c2VjcmV0", "tok-1", "Basic", "token="] {
            assert!(!text.contains(hidden), "{hidden}: {text}");
        }
    }
}
