//! Paths and methods.

use grantor::config::Profile;
use grantor::wire::Cors;

use crate::adapters::trio::{CONSENT, COOKIE, Trio};
use support::world::{World, config_at};
use support_servers::http::{Answer, Request};

/// The methods of RFC 9110 but CONNECT, one of RFC 5789, one of RFC 2324, and one in small letters.
const METHODS: [&str; 10] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW", "post"];

/// HTTP-02
#[tokio::test]
async fn every_method_reaches_the_core() {
    let trio = Trio::start().await;
    let paths = [
        ("/oauth2/auth", [400, 400, 405, 405, 405, 405, 405, 405, 405, 405]),
        ("/oauth2/token", [405, 405, 400, 405, 405, 405, 405, 405, 405, 405]),
        ("/oauth2/revoke", [405, 405, 400, 405, 405, 405, 405, 405, 405, 405]),
        ("/oauth2/introspect", [405, 405, 400, 405, 405, 405, 405, 405, 405, 405]),
        ("/.well-known/oauth-authorization-server", [200, 200, 405, 405, 405, 405, 405, 405, 405, 405]),
        (CONSENT, [405, 405, 400, 405, 405, 405, 405, 405, 405, 405]),
        ("/oauth2/auth/applications", [200, 200, 400, 405, 405, 405, 405, 405, 405, 405]),
        ("/oauth2/auth/logo", [404, 404, 405, 405, 405, 405, 405, 405, 405, 405]),
        ("/api/me", [401; 10]),
    ];
    for (path, statuses) in paths {
        for (method, status) in METHODS.into_iter().zip(statuses) {
            trio.answers(status, &Request::new(method, path).header("Cookie", COOKIE)).await;
        }
    }
}

/// ADM-15
#[tokio::test]
async fn no_administration_is_served() {
    let trio = Trio::start().await;
    for path in ["/oauth2/clients", "/oauth2/clients/demo", "/oauth2/register", "/oauth2/applications", "/oauth2/admin"]
    {
        for method in ["GET", "POST", "PUT", "DELETE"] {
            trio.answers(404, &Request::new(method, path).header("Cookie", COOKIE)).await;
        }
    }
}

/// HTTP-02
#[tokio::test]
async fn a_method_that_is_not_taken_is_refused_whatever_the_body() {
    let trio = Trio::start().await;
    let client = trio.client();
    let form = [("grant_type", "refresh_token"), ("refresh_token", "x"), ("token", "x")];
    for path in ["/oauth2/token", "/oauth2/revoke", "/oauth2/introspect"] {
        for method in ["PUT", "PATCH", "DELETE", "OPTIONS", "BREW"] {
            let mut request = Request::post(path, &form).basic(&client.id, &client.secret);
            request.method = method.into();
            trio.answers(405, &request).await;
            trio.answers(405, &request.body(vec![b'a'; trio.body_limit() + 1])).await;
        }
    }
}

/// The examples sign every browser in: a page whose name was pointed at them would register, consent and read.
#[tokio::test]
async fn a_request_for_another_host_is_refused() {
    let trio = Trio::start().await;
    let paths = ["/oauth2/auth", CONSENT, "/oauth2/token", "/.well-known/oauth-authorization-server", "/api/me"];
    for path in paths {
        for method in ["GET", "POST", "OPTIONS"] {
            for host in ["evil.example", "evil.example:80", "auth.example.evil.example", "10.0.0.1", "localhost."] {
                trio.refuses_the_host(true, &Request::new(method, path).host(host)).await;
            }
            for host in ["auth.example", "AUTH.example:443", "localhost:8080", "127.0.0.1:1", "[::1]"] {
                trio.refuses_the_host(false, &Request::new(method, path).host(host)).await;
            }
        }
    }
}

/// HTTP-02
#[tokio::test]
async fn an_unknown_path_is_not_found() {
    let trio = Trio::start().await;
    let unknown = [
        "/",
        "/oauth2",
        "/oauth2/",
        "/oauth2/token/",
        "/oauth2//token",
        "//oauth2/token",
        "/OAuth2/token",
        "/oauth2/token/x",
        "/oauth2/tokens",
        "/oauth2/token;x",
        "/x/oauth2/token",
        "/oauth2%2Ftoken",
        "/oauth2/token%00",
        "/oauth2/token%20",
        "/.well-known/oauth-authorization-server/x",
        "/.well-known/openid-configuration",
        "/api/me/",
        "/consent",
        "/oauth2/auth/consent/",
    ];
    for path in unknown {
        for method in ["GET", "POST", "OPTIONS", "BREW"] {
            trio.answers(404, &Request::new(method, path)).await;
        }
    }
}

/// HTTP-02
#[tokio::test]
async fn the_metadata_are_the_same_whatever_is_asked_with_them() {
    let trio = Trio::start().await;
    let metadata = || Request::get("/.well-known/oauth-authorization-server");
    let many = (0..80).fold(metadata(), |request, _| request.header("X-Many", "x"));
    trio.answer_all(&[
        (200, metadata()),
        (200, metadata().query("")),
        (200, metadata().query("x=%ff&x=%zz&&=")),
        (200, metadata().header("Authorization", "Basic !!!").header("Authorization", "x")),
        (200, metadata().header("Accept", "text/html").header("If-None-Match", "*").header("Range", "bytes=0-1")),
        (200, metadata().header("Origin", "https://other.example").header("Accept-Encoding", "gzip, br")),
        (200, metadata().body("a body")),
        (200, metadata().body(vec![b'a'; trio.body_limit() + 1])),
        (200, many),
    ])
    .await;
}

/// 8414-3-02, 8414-3-03, 8414-5-01, MCP-1125-05
#[tokio::test]
async fn of_the_paths_that_clients_try_those_of_the_metadata_alone_are_found() {
    const METADATA: &str = "/.well-known/oauth-authorization-server";
    const OPENID: &str = "/.well-known/openid-configuration";
    for (issuer, below) in [("https://auth.example", ""), ("https://auth.example/t", "/t")] {
        let trio = Trio::of(|| World::built(config_at(Profile::Mcp, issuer), |builder| builder)).await;
        let own = trio.answers(200, &Request::get(format!("{METADATA}{below}"))).await;
        for same in [
            Request::get(format!("{METADATA}{below}/")),
            Request::get(format!("{METADATA}{below}"))
                .header("Accept", "text/html")
                .header("MCP-Protocol-Version", "x"),
            Request::get(format!("{METADATA}{below}/")).query("issuer=x&%zz"),
        ] {
            assert_eq!(trio.answers(200, &same).await, own);
        }
        let mut unknown = vec![
            format!("{METADATA}/other"),
            format!("{METADATA}{below}/other"),
            format!("{METADATA}{below}//"),
            format!("{below}{METADATA}/x"),
            OPENID.to_owned(),
            format!("{OPENID}{below}"),
            format!("{OPENID}{below}/"),
            format!("{below}{OPENID}"),
            format!("/oauth2{OPENID}"),
        ];
        if !below.is_empty() {
            unknown.extend([METADATA.to_owned(), format!("{METADATA}/"), format!("{below}{METADATA}")]);
        }
        for path in unknown {
            for method in ["GET", "POST", "OPTIONS"] {
                trio.answers(404, &Request::new(method, &path)).await;
            }
        }
    }
}

/// CORS-01, CORS-02, CORS-03, CORS-04, CORS-05
#[tokio::test]
async fn what_a_page_is_told_goes_through_as_it_is() {
    let page = "https://page.example";
    let preflight = |path: &str| {
        Request::new("OPTIONS", path).header("Origin", page).header("Access-Control-Request-Method", "POST")
    };
    let off = Trio::start().await;
    let any = Trio::of(World::mcp).await;
    let list = Trio::of(|| World::with(Profile::Mcp, |config| config.cors = Cors::Origins(vec![page.into()]))).await;
    for path in ["/oauth2/token", "/oauth2/revoke", "/.well-known/oauth-authorization-server"] {
        off.answers(405, &preflight(path)).await;
        let answer = any.answers(204, &preflight(path)).await;
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
        let answer = list.answers(204, &preflight(path)).await;
        assert_eq!((answer.header("access-control-allow-origin"), answer.header("vary")), (Some(page), Some("Origin")));
        for method in ["GET", "POST", "OPTIONS", "PUT"] {
            for origin in [page, "https://other.example", "null", ""] {
                let request = Request::new(method, path).header("Origin", origin).header("Cookie", COOKIE);
                let core = |answer: &Answer| answer.header("access-control-allow-origin").map(str::to_owned);
                let status = match (method, path.starts_with("/oauth2")) {
                    ("GET", false) => 200,
                    ("POST", true) => 400,
                    _ => 405,
                };
                assert_eq!(core(&off.answers(status, &request).await), None);
                assert_eq!(core(&any.answers(status, &request).await), Some("*".to_owned()));
                let expected = (origin == page).then(|| page.to_owned());
                assert_eq!(core(&list.answers(status, &request).await), expected);
            }
        }
    }
    for path in ["/oauth2/auth", "/oauth2/introspect"] {
        for trio in [&off, &any, &list] {
            let answer = trio.answers(405, &preflight(path)).await;
            assert_eq!((answer.header("access-control-allow-origin"), answer.header("vary")), (None, None));
        }
    }
}
