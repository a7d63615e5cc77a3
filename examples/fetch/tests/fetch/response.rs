//! What is returned of a response, and which responses are errors.

use std::time::Duration;

use grantor::fetch::FetchErrorKind;
use tokio::time::Instant;

use crate::World;
use crate::server::Part;

/// A body of that many bytes, with `Content-Length`.
fn announced(length: usize) -> Vec<Part> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n");
    vec![Part::text(head), Part::Bytes(vec![b' '; length])]
}

/// The same in chunks of a thousand bytes.
fn chunked(length: usize) -> Vec<Part> {
    let mut body = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for begin in (0..length).step_by(1000) {
        let chunk = vec![b' '; (length - begin).min(1000)];
        body.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        body.extend_from_slice(&chunk);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"0\r\n\r\n");
    vec![Part::Bytes(body)]
}

/// The same, without a length, up to the end of the connection.
fn until_the_end(length: usize) -> Vec<Part> {
    vec![Part::text("HTTP/1.1 200 OK\r\n\r\n"), Part::Bytes(vec![b' '; length])]
}

/// CIMD-4-01
#[tokio::test]
async fn a_body_of_5120_bytes_is_whole_and_one_of_5121_too_large() {
    for framing in [announced, chunked, until_the_end] {
        for length in [0, 1, 5119, 5120] {
            let fetched = World::new(framing(length)).await.fetch().await;
            assert_eq!(fetched.unwrap().body, vec![b' '; length]);
        }
        for length in [5121, 5122, 1_000_000] {
            let fetched = World::new(framing(length)).await.fetch().await;
            assert_eq!(fetched, Err(FetchErrorKind::TooLarge), "{length}");
        }
    }
}

/// CIMD-4-01
///
/// The host keeps sending until the client closes.
#[tokio::test]
async fn a_body_without_end_is_cut_off() {
    let kilobyte = vec![b'x'; 1024];
    let mut chunk = b"400\r\n".to_vec();
    chunk.extend_from_slice(&kilobyte);
    chunk.extend_from_slice(b"\r\n");
    for (framing, piece) in [
        ("", kilobyte.clone()),
        ("Transfer-Encoding: chunked\r\n", chunk),
        ("Content-Length: 9000000000000000000\r\n", kilobyte),
    ] {
        let head = format!("HTTP/1.1 200 OK\r\n{framing}\r\n");
        let world = World::new(vec![Part::text(head), Part::Endless(piece)]).await;
        let begun = Instant::now();
        assert_eq!(world.fetch().await, Err(FetchErrorKind::TooLarge), "{framing}");
        assert!(begun.elapsed() < Duration::from_secs(4), "{framing}");
        world.server.is_idle().await;
    }
}

/// CIMD-4-01, NEG-OC-01
///
/// The host is asked once, and the core gets the status to check.
#[tokio::test]
async fn a_redirect_is_returned_and_not_followed() {
    for location in ["http://169.254.169.254/", "https://other.example/", "https://client.example/again", "/again"] {
        for status in [301, 302, 303, 307, 308] {
            let head = format!("HTTP/1.1 {status} Moved\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n");
            let world = World::new(vec![Part::text(head)]).await;
            assert_eq!(world.fetch().await.unwrap().status, status, "{location}");
            assert_eq!((world.network.names().len(), world.network.connections().len()), (1, 1));
            assert_eq!(world.server.requests().len(), 1);
        }
    }
}

/// CIMD-4-01
#[tokio::test]
async fn every_status_is_returned() {
    for status in [200, 201, 204, 206, 304, 400, 401, 404, 418, 500, 503, 599] {
        let body = if [204, 304].contains(&status) { "" } else { "Content-Length: 2\r\n\r\n{}" };
        let head = format!("HTTP/1.1 {status} \r\n{body}");
        let head = if body.is_empty() { format!("{head}\r\n") } else { head };
        assert_eq!(World::new(vec![Part::text(head)]).await.fetch().await.unwrap().status, status);
    }
    // An interim response is not the response.
    let early = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
    assert_eq!(World::new(vec![Part::text(early)]).await.fetch().await.unwrap().status, 200);
}

/// CIMD-4-02
#[tokio::test]
async fn the_media_type_and_what_caches_read_are_returned_as_they_came() {
    let lines = "Content-Type: application/ld+json; charset=UTF-8\r\nCache-Control: max-age=60\r\ncache-control: public\r\n\
                 Expires: 0\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nAge: 7\r\n";
    let head = format!("HTTP/1.1 200 OK\r\n{lines}Content-Length: 2\r\n\r\n{{}}");
    let response = World::new(vec![Part::text(head)]).await.fetch().await.unwrap();
    assert_eq!(response.content_type.as_deref(), Some("application/ld+json; charset=UTF-8"));
    assert_eq!(response.cache_control.as_deref(), Some("max-age=60, public"));
    assert_eq!(response.expires.as_deref(), Some("0"));
    assert_eq!(response.date.as_deref(), Some("Sun, 06 Nov 1994 08:49:37 GMT"));
    assert_eq!(response.age.as_deref(), Some("7"));

    let bare = World::new(vec![Part::text("HTTP/1.1 200 OK\r\n\r\n{}")]).await.fetch().await.unwrap();
    assert_eq!((bare.content_type, bare.cache_control), (None, None));
    assert_eq!((bare.expires, bare.date, bare.age), (None, None, None));
}

/// CIMD-5-02
///
/// A small compressed body (a "zip bomb") is never decompressed.
#[tokio::test]
async fn an_encoded_body_is_refused() {
    for encoding in ["gzip", "GZIP", "deflate", "br", "zstd", "x-unknown", "identity, gzip", ""] {
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\nContent-Length: 4\r\n\r\n\x1f\u{b}\u{8}");
        let fetched = World::new(vec![Part::text(head)]).await.fetch().await;
        assert_eq!(fetched, Err(FetchErrorKind::Response), "{encoding}");
    }
    for encoding in ["gzip, chunked", "chunked, chunked", "gzip"] {
        let head = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: {encoding}\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n");
        let fetched = World::new(vec![Part::text(head)]).await.fetch().await;
        assert_eq!(fetched, Err(FetchErrorKind::Response), "{encoding}");
    }
    let head = "HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}";
    assert_eq!(World::new(vec![Part::text(head)]).await.fetch().await.unwrap().body, b"{}");
    // Without a header that names the encoding, the bytes are returned unchanged.
    let mut packed = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n".to_vec();
    packed.extend_from_slice(b"\x1f\x8b\x08\x00");
    assert_eq!(World::new(vec![Part::Bytes(packed)]).await.fetch().await.unwrap().body, b"\x1f\x8b\x08\x00");
}

#[tokio::test]
async fn a_head_without_end_is_cut_off() {
    let status = || Part::text("HTTP/1.1 200 OK\r\n");
    for endless in [
        vec![status(), Part::Endless(b"X-More: and more\r\n".to_vec())],
        vec![status(), Part::text("X-Long: "), Part::Endless(vec![b'x'; 1024])],
        vec![Part::text("HTTP/1.1 200 "), Part::Endless(vec![b'x'; 1024])],
    ] {
        let world = World::new(endless).await;
        assert_eq!(world.fetch().await, Err(FetchErrorKind::Response));
        world.server.is_idle().await;
    }
    let many = format!("HTTP/1.1 200 OK\r\n{}Content-Length: 0\r\n\r\n", "A: b\r\n".repeat(100));
    assert_eq!(World::new(vec![Part::text(many)]).await.fetch().await, Err(FetchErrorKind::Response));
    for (length, expected) in [(12_000, Ok(200)), (17_000, Err(FetchErrorKind::Response))] {
        let long = format!("HTTP/1.1 200 OK\r\nA: {}\r\nContent-Length: 0\r\n\r\n", "b".repeat(length));
        let fetched = World::new(vec![Part::text(long)]).await.fetch().await;
        assert_eq!(fetched.map(|response| response.status), expected, "{length}");
    }
    let some = format!("HTTP/1.1 200 OK\r\n{}Content-Length: 0\r\n\r\n", "A: b\r\n".repeat(99));
    assert_eq!(World::new(vec![Part::text(some)]).await.fetch().await.unwrap().status, 200);
}

#[tokio::test]
async fn a_trailer_without_end_is_cut_off() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n";
    let world = World::new(vec![Part::text(head), Part::Endless(b"X-More: and more\r\n".to_vec())]).await;
    assert_eq!(world.fetch().await, Err(FetchErrorKind::Connection));
    world.server.is_idle().await;
}

#[tokio::test]
async fn what_is_no_http_is_refused() {
    for text in [
        "SSH-2.0-OpenSSH_9.9\r\n\r\n",
        "{\"client_id\":\"https://client.example/metadata.json\"}\r\n\r\n",
        "HTTP/2 200\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}",
    ] {
        let fetched = World::new(vec![Part::text(text)]).await.fetch().await;
        assert_eq!(fetched, Err(FetchErrorKind::Response), "{text:?}");
    }
}

/// A truncated document must not be accepted.
#[tokio::test]
async fn a_response_that_breaks_off_is_refused() {
    for (head, end) in [
        ("", Part::Cut),
        ("HTTP/1.1 200 OK\r\nContent-Le", Part::Cut),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}", Part::Cut),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}", Part::Pause(Duration::ZERO)),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", Part::Pause(Duration::ZERO)),
        ("HTTP/1.1 200 OK\r\n\r\n{}", Part::Cut),
    ] {
        let fetched = World::new(vec![Part::text(head), end]).await.fetch().await;
        assert_eq!(fetched, Err(FetchErrorKind::Connection), "{head:?}");
    }
}
