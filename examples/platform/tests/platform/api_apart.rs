//! The resource API in a process of its own.

use std::time::{Duration, Instant};

use support_servers::http::{Page, Request};
use support_servers::started::Started;
use support_servers::started::database::Database;
use tokio::time::sleep;
use url::Url;

use crate::{ALICE, sign_in};

/// The platform on that database. The last of the same options count.
fn platform(database: &Database, options: &[&str]) -> Started {
    let own = ["--third-party-listen", "127.0.0.1:0", "--database", database.path().to_str().unwrap()];
    Started::start(env!("CARGO_BIN_EXE_platform"), &[&own, options].concat())
}

/// The API of the platform at that address.
fn api(database: &Database, issuer: &str, options: &[&str]) -> Started {
    let own = ["--issuer", issuer, "--database", database.path().to_str().unwrap()];
    Started::start(env!("CARGO_BIN_EXE_platform"), &[&own, options].concat())
}

/// Lets Alice authorize the demo application, and returns the access token.
async fn token(platform: &Started) -> String {
    let (id, secret, uri) =
        (platform.about("client_id"), platform.about("client_secret"), platform.about("redirect_uri"));
    let alice = sign_in(platform, ALICE).send().await.cookies();
    let mut question = Url::parse(&platform.url("/oauth2/auth")).unwrap();
    let asked = [("response_type", "code"), ("client_id", id), ("redirect_uri", uri), ("scope", "account-profile:r")];
    question.query_pairs_mut().extend_pairs(asked);
    let page = Page::open(&question, &alice).await;
    let callback = page.decide(&[("scope", "account-profile:r"), ("decision", "allow")]).await;
    let code = callback.query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned();
    let exchange = [("grant_type", "authorization_code"), ("code", &*code), ("redirect_uri", uri)];
    let request = Request::to("POST", platform.url("/oauth2/token")).basic(id, secret).fields(&exchange);
    let answer = request.send().await.json();
    answer["access_token"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

async fn revoke(platform: &Started, token: &str) {
    let (id, secret) = (platform.about("client_id"), platform.about("client_secret"));
    let request = Request::to("POST", platform.url("/oauth2/revoke")).basic(id, secret).fields(&[("token", token)]);
    assert_eq!(request.send().await.status, 200);
}

type Described = (u16, Option<String>, String);

async fn ask(url: &str, token: &str) -> Described {
    let answer = Request::to("GET", url).bearer(token).send().await;
    (answer.status, answer.header("www-authenticate").map(str::to_owned), answer.text())
}

/// The answers of the platform and of the API alone.
async fn both(platform: &Started, apart: &Started, path: &str, token: &str) -> (Described, Described) {
    let apart = apart.about("resource_url").replace("/api/me", path);
    (ask(&platform.url(path), token).await, ask(&apart, token).await)
}

/// The status of the API alone.
async fn status(apart: &Started, token: &str) -> u16 {
    ask(apart.about("resource_url"), token).await.0
}

async fn compare(platform: &Started, apart: &Started, token: &str) {
    for (path, token, status) in [
        ("/api/me", token, 200),
        ("/api/email", token, 403),
        ("/api/repositories/alice/diary/issues", token, 403),
        ("/api/me", "unknown", 401),
        ("/api/none", token, 404),
    ] {
        let (here, apart) = both(platform, apart, path, token).await;
        assert_eq!(here, apart, "{path}");
        assert_eq!(here.0, status, "{path}");
    }
}

/// RSC-07, RSC-09, RSC-16
#[tokio::test]
async fn the_api_asks_the_platform_about_each_token() {
    let database = Database::new("api-apart");
    let here = platform(&database, &[]);
    let port = here.about("listen").to_owned();
    let apart = api(&database, here.about("issuer"), &["--api-apart"]);
    let token = token(&here).await;
    compare(&here, &apart, &token).await;

    // Without the platform nothing is known about a token.
    drop(here);
    assert_eq!(status(&apart, &token).await, 503);
    let here = platform(&database, &["--listen", &port]);
    assert_eq!(status(&apart, &token).await, 200);

    revoke(&here, &token).await;
    let (here, apart) = both(&here, &apart, "/api/me", &token).await;
    assert_eq!((here.0, &here), (401, &apart));
}

/// 9068-SVC-01
///
/// The API needs the platform for its keys alone.
#[tokio::test]
async fn the_api_verifies_jwts_without_the_platform() {
    let database = Database::new("api-apart-jwt");
    let here = platform(&database, &["--jwt"]);
    let (port, issuer) = (here.about("listen").to_owned(), here.about("issuer").to_owned());
    let apart = api(&database, &issuer, &["--api-apart=jwt"]);
    let (valid, revoked) = (token(&here).await, token(&here).await);
    assert_eq!(valid.split('.').count(), 3, "{valid}");
    compare(&here, &apart, &valid).await;

    revoke(&here, &revoked).await;
    let (at_the_platform, alone) = both(&here, &apart, "/api/me", &revoked).await;
    assert_eq!((at_the_platform.0, alone.0), (401, 200));
    for process in [&here, &apart] {
        let log = process.log();
        assert!(log.contains("leaves the described service") && log.contains("for up to 300 s"), "{log}");
    }

    // Without the platform, the keys are known to the API that has fetched them.
    drop(here);
    assert_eq!(status(&apart, &valid).await, 200);
    let another = api(&database, &issuer, &["--api-apart=jwt"]);
    assert_eq!(status(&another, &valid).await, 503);

    let here = platform(&database, &["--jwt", "--listen", &port]);
    compare(&here, &apart, &valid).await;
    assert_eq!(status(&apart, &token(&here).await).await, 200);
    // It waits before it tries again.
    let begun = now();
    while status(&another, &valid).await != 200 {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", another.log());
        sleep(Duration::from_millis(200)).await;
    }
}

/// 9068-SVC-01
///
/// With clocks that are 30 times as fast, 300 s are 10 s. That of the API begins earlier, so it is ahead.
#[tokio::test]
async fn a_revoked_jwt_is_accepted_until_it_expires() {
    let database = Database::new("api-apart-expiry");
    // Only the platform makes the database.
    let first = platform(&database, &["--jwt"]);
    let (listen, issuer) = (first.about("listen").to_owned(), first.about("issuer").to_owned());
    drop(first);
    let apart = api(&database, &issuer, &["--api-apart=jwt", "--clock-speed", "30"]);
    let here = platform(&database, &["--jwt", "--clock-speed", "30", "--listen", &listen]);
    let token = token(&here).await;
    let issued = now();
    revoke(&here, &token).await;
    assert_eq!(ask(&here.url("/api/me"), &token).await.0, 401);
    assert_eq!(status(&apart, &token).await, 200);
    loop {
        match status(&apart, &token).await {
            200 => assert!(issued.elapsed() < Duration::from_secs(11), "it has expired"),
            refused => break assert_eq!(refused, 401),
        }
        sleep(Duration::from_millis(100)).await;
    }
}

#[cfg(unix)]
#[test]
fn the_signing_key_is_for_the_platform_alone() {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    let database = Database::new("signing-key");
    let file = format!("{}-signing-key.pk8", database.path().display());
    drop(platform(&database, &["--jwt"]));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let key = fs::read(&file).unwrap();
    drop(platform(&database, &["--jwt"]));
    assert_eq!(fs::read(&file).unwrap(), key);
}

#[expect(clippy::disallowed_methods, reason = "it waits for other processes")]
fn now() -> Instant {
    Instant::now()
}
