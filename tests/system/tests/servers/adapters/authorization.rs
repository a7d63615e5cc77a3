//! The authorization endpoint: pages, redirects and the page that asks.

use crate::adapters::trio::{COOKIE, Trio};
use support::world::{CHALLENGE, PKCE, REDIRECT_URI, World, encode};
use support_servers::http::Request;

fn authorize(query: impl AsRef<[u8]>) -> Request {
    Request::get("/oauth2/auth").query(query).header("Cookie", COOKIE)
}

/// HTTP-02
#[tokio::test]
async fn a_fault_in_client_or_redirect_uri_is_a_page() {
    let trio = Trio::start().await;
    let id = trio.client().id.clone();
    let good = trio.query(&[]);
    trio.answer_all(&[
        (400, Request::get("/oauth2/auth").header("Cookie", COOKIE)),
        (400, authorize("")),
        (400, authorize("&&=&")),
        (400, authorize("response_type=code")),
        (400, authorize("response_type=code&client_id=")),
        (400, authorize("response_type=code&client_id=unknown")),
        (400, authorize("response_type=code&client_id=%ff")),
        (400, authorize("response_type=code&client_id=%00")),
        (400, authorize("response_type=code&client_id=%3Cscript%3E")),
        (400, authorize(format!("{good}&client_id={id}"))),
        (400, authorize(format!("{good}&client_id="))),
        (400, authorize(format!("{good}&scope=%zz"))),
        (400, authorize(format!("{good}&redirect_uri=https://evil.example/"))),
        (400, authorize(format!("{good}&redirect_uri=%ff"))),
        (400, authorize(format!("{good}&redirect_uri=javascript:alert(1)"))),
        (400, authorize(format!("{good}&redirect_uri=//app.example.com/cb"))),
        (400, authorize(format!("{good}&redirect_uri={REDIRECT_URI}%0d%0aX:y"))),
        (400, authorize(format!("{good}&redirect_uri={REDIRECT_URI}%23x"))),
        (400, authorize(format!("{good}&redirect_uri={REDIRECT_URI}&redirect_uri={REDIRECT_URI}"))),
        (400, authorize(format!("{good}&{}", "x=y&".repeat(101)))),
        (400, authorize(format!("{good}&x={}", "a".repeat(32_768)))),
    ])
    .await;
}

/// HTTP-02
#[tokio::test]
async fn a_fault_that_the_client_made_is_reported_to_it() {
    let trio = Trio::start().await;
    let with = |more: &str| authorize(format!("{}&{more}", trio.query(&[])));
    trio.answer_all(&[
        (302, with("scope=unknown")),
        (302, with("scope=repo-delete:rw")),
        (302, with("scope=account-profile:r&scope=account-profile:r")),
        (302, with("scope=%ff")),
        (302, with("scope=%22")),
        (302, with("scope=unknown&state=a%20b+c%26%3D%25")),
        (302, with("scope=unknown&state=%ff%fe")),
        (302, with("scope=unknown&state=%c3%a4")),
        (302, with("scope=unknown&state=a%0d%0aSet-Cookie:%20x=y")),
        (302, with("scope=unknown&state=%00")),
        (302, with("scope=unknown&state=%3Cscript%3E%22%27")),
        (302, with("code_challenge=short&code_challenge_method=S256&state=x")),
        (302, with(&format!("code_challenge={CHALLENGE}&code_challenge_method=plain&state=x"))),
        (302, with(&format!("code_challenge={CHALLENGE}&state=x"))),
        (302, with("code_challenge_method=S256&state=x")),
        (302, with(&format!("{}&code_challenge=", encode(&PKCE)))),
    ])
    .await;
}

/// HTTP-02
#[tokio::test]
async fn faults_in_the_parameters_of_the_service_go_where_the_profile_says() {
    for (trio, status) in [(Trio::start().await, 400), (Trio::of(World::strict).await, 303)] {
        let id = &trio.client().id;
        let uri = encode(&[("redirect_uri", REDIRECT_URI)]);
        let with = |more: &str| authorize(format!("client_id={id}&{uri}&{more}"));
        trio.answer_all(&[
            (status, with("")),
            (status, with("response_type=token&state=x")),
            (status, with("response_type=code%20token&state=%ff")),
            (status, with("response_type=%ff")),
            (status, with("response_type=code&state=one&state=two")),
            (status, with(&format!("response_type=code&state={}", "a".repeat(10_000)))),
            (status, with("response_type=code&response_type=code&state=x")),
        ])
        .await;
    }
}

/// HTTP-02
#[tokio::test]
async fn the_page_that_asks_is_the_same() {
    let trio = Trio::start().await;
    let good = trio.query(&[]);
    let with = |more: &str| authorize(format!("{good}&{more}"));
    let mut head = authorize(&good);
    head.method = "HEAD".into();
    let with_cookies = |values: &[&str]| {
        let name = COOKIE.split(['=', ' ']).nth(2).unwrap();
        let cookies = values.iter().map(|value| format!("{name}={value}"));
        cookies.fold(Request::get("/oauth2/auth").query(&good), |request, cookie| request.header("Cookie", cookie))
    };
    let many = (0..80).fold(authorize(&good), |request, _| request.header("X-Many", "x"));
    trio.answer_all(&[
        (200, authorize(&good)),
        (200, head),
        (200, many),
        (200, with("state=%ff")),
        (200, with("state=a%0d%0ab")),
        (200, with(&format!("state={}", "a".repeat(500)))),
        (200, with("scope=account-profile:r")),
        (200, with("scope=account-profile:r+repo-code:r")),
        (200, with("unknown=1&unknown=2&nonce=x&prompt=none")),
        (200, with(&format!("redirect_uri={REDIRECT_URI}"))),
        (200, with("redirect_uri=https%3A%2F%2Fapp.example.com%2Fother%3Fx=y")),
        (200, with(&encode(&PKCE))),
        (200, authorize(&good).body("response_type=token&client_id=other")),
        (200, authorize(&good).body(vec![b'a'; trio.body_limit() + 1])),
        (200, authorize(&good).header("Authorization", "Basic !!!")),
        (200, Request::get("/oauth2/auth").query(&good)),
        (200, with_cookies(&[""])),
        (200, with_cookies(&["\"><script>"])),
        (200, with_cookies(&["one;Domain=example.com"])),
        (200, with_cookies(&["one", "two"])),
        (200, authorize(&good).header("Accept-Language", "de-CH, en;q=0.5")),
    ])
    .await;
}
