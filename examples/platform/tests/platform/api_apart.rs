//! The resource API in a process of its own.

use support::http::{Page, Request};
use support::started::Started;
use support::started::database::Database;
use url::Url;

use crate::{ALICE, sign_in};

fn platform(database: &Database, listen: &str) -> Started {
    let file = database.path().to_str().unwrap();
    let options = ["--third-party-listen", "127.0.0.1:0", "--listen", listen, "--database", file];
    Started::start(env!("CARGO_BIN_EXE_platform"), &options)
}

/// Lets Alice authorize the demo application, and returns its answer from the token endpoint.
async fn tokens(platform: &Started) -> serde_json::Value {
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
    request.send().await.json()
}

/// RSC-07, RSC-09, RSC-16
#[tokio::test]
async fn the_api_asks_the_platform_about_each_token() {
    let database = Database::new("api-apart");
    let here = platform(&database, "127.0.0.1:0");
    let port = here.about("listen").to_owned();
    let file = database.path().to_str().unwrap();
    let options = ["--api-apart", "--issuer", here.about("issuer"), "--database", file];
    let apart = Started::start(env!("CARGO_BIN_EXE_platform"), &options);
    let ask = async |url: &str, token: &str| {
        let answer = Request::to("GET", url).bearer(token).send().await;
        (answer.status, answer.header("www-authenticate").map(str::to_owned), answer.text())
    };
    let both = async |here: &Started, path: &str, token: &str| {
        let apart = apart.about("resource_url").replace("/api/me", path);
        (ask(&here.url(path), token).await, ask(&apart, token).await)
    };

    let found = tokens(&here).await;
    let token = found["access_token"].as_str().unwrap();
    for (path, token, status) in [
        ("/api/me", token, 200),
        ("/api/email", token, 403),
        ("/api/repositories/alice/diary/issues", token, 403),
        ("/api/me", "unknown", 401),
        ("/api/none", token, 404),
    ] {
        let (here, apart) = both(&here, path, token).await;
        assert_eq!(here, apart, "{path}");
        assert_eq!(here.0, status, "{path}");
    }

    // Without the platform nothing is known about a token.
    drop(here);
    let me = apart.about("resource_url").to_owned();
    assert_eq!(ask(&me, token).await.0, 503);
    let here = platform(&database, &port);
    assert_eq!(ask(&me, token).await.0, 200);

    let revoked = [("token", token)];
    let (id, secret) = (here.about("client_id"), here.about("client_secret"));
    let request = Request::to("POST", here.url("/oauth2/revoke")).basic(id, secret).fields(&revoked);
    assert_eq!(request.send().await.status, 200);
    let (here, apart) = both(&here, "/api/me", token).await;
    assert_eq!((here.0, &here), (401, &apart));
}
