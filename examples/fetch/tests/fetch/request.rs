//! What a host receives.

use std::collections::BTreeSet;
use std::env;
use std::process::Command;

use crate::World;
use crate::server::Part;

/// CIMD-5-02
///
/// The host that set the cookie is asked again, over a new connection.
#[tokio::test]
async fn the_request_is_a_bare_get() {
    let head = "HTTP/1.1 200 OK\r\nSet-Cookie: a=b; Secure\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}";
    let world = World::new(vec![Part::text(head), Part::Wait]).await;
    for times in 1..=3 {
        assert_eq!(world.fetch().await.unwrap().body, b"{}");
        assert_eq!((world.server.connections(), world.network.connections().len()), (times, times));
    }
    assert_eq!(world.server.resumed(), 0, "a host could recognize the client");
    for request in world.server.requests() {
        let lines: BTreeSet<_> = request.trim_end().split("\r\n").map(str::to_owned).collect();
        let expected = [
            "GET /metadata.json HTTP/1.1",
            "host: client.example",
            "accept: application/json",
            "accept-encoding: identity",
            "connection: close",
            "user-agent: grantor-fetch",
        ];
        assert_eq!(lines, expected.map(str::to_owned).into());
    }
}

/// CIMD-5-02
///
/// The test above runs once more, in a process whose environment names a proxy that does not exist.
#[test]
fn a_proxy_of_the_environment_is_not_used() {
    let mut again = Command::new(env::current_exe().unwrap());
    again.args(["--exact", "request::the_request_is_a_bare_get"]);
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"] {
        again.env(name, "http://127.0.0.1:9/");
    }
    let output = again.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}
