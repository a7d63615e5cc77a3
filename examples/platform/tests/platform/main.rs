//! What the pages and the resource API of the platform example refuse, over a real socket.

mod api_apart;
mod devices;
#[cfg(target_os = "linux")]
mod hung_up;
mod keys;
mod metrics;
mod open_clients;
mod pages;
mod pushed;
mod sessions;
mod sign_in_limits;
mod third_party;
mod throttle;

use std::time::Duration;

use support_servers::http::{Answer, Page, Request, value_after};
use support_servers::started::Started;
use url::Url;

const DEVON: (&str, &str) = ("devon", "devon-likes-rust");
const ADMIN: (&str, &str) = ("admin", "ada-likes-order");
const ALICE: (&str, &str) = ("alice", "alice-likes-tea");

#[tokio::test]
async fn a_request_for_another_host_is_refused() {
    let platform = start("hosts");
    for (host, status) in [("localhost", 200), ("LOCALHOST:1", 200), ("evil.example", 421), ("127.0.0.1", 421)] {
        for path in ["/sign-in", "/.well-known/oauth-authorization-server"] {
            let answer = Request::to("GET", platform.url(path)).host(host).send().await;
            assert_eq!(answer.status, status, "{host}{path}");
        }
    }
}

/// IMG-02
///
/// A logo that is opened directly is treated as an image, even if its bytes contain more.
#[tokio::test]
async fn a_logo_is_sent_as_an_image_and_nothing_else() {
    let platform = start("logos");
    let path = format!("/oauth2/auth/logo?client={}", platform.about("client_id"));
    let answer = Request::to("GET", platform.url(&path)).send().await;
    assert_eq!(answer.status, 200);
    for (name, value) in [
        ("content-type", "image/png"),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "default-src 'none'; sandbox"),
    ] {
        assert_eq!(answer.header(name), Some(value), "{name}");
    }
}

#[tokio::test]
async fn a_form_that_may_come_from_another_origin_is_refused() {
    let platform = start("origins");
    let own = platform.about("issuer");
    for (headers, status) in [
        (vec![], 303),
        (vec![("Sec-Fetch-Site", "same-origin"), ("Origin", "null")], 303),
        (vec![("Sec-Fetch-Site", "none")], 303),
        (vec![("Sec-Fetch-Site", "same-site")], 403),
        (vec![("Sec-Fetch-Site", "cross-site")], 403),
        // Sent by a browser that is too old for `Sec-Fetch-Site`.
        (vec![("Origin", own)], 403),
        (vec![("Origin", "null")], 403),
        (vec![("Origin", "http://evil.example")], 403),
    ] {
        let request = sign_in(&platform, DEVON);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(name, value));
        assert_eq!(request.send().await.status, status, "{headers:?}");
    }
}

#[tokio::test]
async fn a_browser_that_signed_in_before_is_not_held_back_by_a_strangers_guesses() {
    let platform = start("guesses");
    let known = sign_in(&platform, DEVON).send().await.cookies();
    for account in [DEVON, ALICE] {
        guess_until_refused(&platform, account.0, "").await;
        assert_eq!(sign_in(&platform, account).send().await.status, 429);
    }
    let answer = sign_in(&platform, DEVON).cookies(&known).send().await;
    assert_eq!(answer.status, 303);
    // It is known only for that account, and its own guesses count.
    let answer = sign_in(&platform, ALICE).cookies(&known).send().await;
    assert_eq!(answer.status, 429);
    guess_until_refused(&platform, DEVON.0, &known).await;
}

/// A sign-in without the cookie adds a browser, so the oldest is forgotten beyond twenty. The others stay.
#[tokio::test]
async fn an_account_knows_its_twenty_latest_browsers() {
    let platform = start("known-browsers");
    let mut known = Vec::new();
    for _ in 0..21 {
        known.push(sign_in(&platform, DEVON).send().await.cookies());
    }
    guess_until_refused(&platform, DEVON.0, "").await;
    for (browser, status) in [(0, 429), (1, 303), (20, 303)] {
        assert_eq!(sign_in(&platform, DEVON).cookies(&known[browser]).send().await.status, status, "{browser}");
    }
}

/// Sends wrong passwords until the wait is long enough for the following requests.
async fn guess_until_refused(platform: &Started, account: &str, cookies: &str) {
    for _ in 0..1000 {
        let answer = sign_in(platform, (account, "wrong")).cookies(cookies).send().await;
        let wait = answer.header("retry-after").map(|seconds| seconds.parse::<u32>().unwrap());
        match wait {
            Some(4..) => return,
            Some(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            None => assert_eq!(answer.status, 200),
        }
    }
    panic!("{account} can be guessed without limit");
}

#[tokio::test]
async fn a_token_without_private_resources_cannot_tell_private_names_from_none() {
    let platform = start("oracle");
    let token = token_for_public_resources(&platform).await;
    let ask = async |name: &str| {
        let answer = Request::to("GET", platform.url(&format!("/api/repositories/{name}/issues"))).bearer(&token);
        let answer = answer.send().await;
        (answer.status, answer.header("www-authenticate").map(str::to_owned), answer.text())
    };
    assert_eq!(ask("alice/garden").await.0, 200);
    let private = ask("alice/diary").await;
    assert_eq!(private.0, 403);
    for name in ["alice/none", "devon/none", "nobody/none"] {
        assert_eq!(ask(name).await, private, "{name}");
    }
}

/// Registers an application for public resources, has it approved, and lets Alice authorize it.
async fn token_for_public_resources(platform: &Started) -> String {
    let devon = sign_in(platform, DEVON).send().await.cookies();
    let logo = include_bytes!("../../assets/release_notes.png");
    let form = [
        ("name", "Changelog"),
        ("website", "https://changelog.example"),
        ("client_type", "confidential"),
        ("application_type", "web"),
        ("redirect_uris", "https://changelog.example/callback"),
        ("scope-repo-issue", "repo-issue:r"),
        ("resource_scope", "public"),
        ("action", "submit"),
    ];
    let mut body = b"--end\r\nContent-Disposition: form-data; name=\"logo\"; filename=\"logo\"\r\n\r\n".to_vec();
    body.extend(logo);
    for (name, value) in form {
        let field = format!("\r\n--end\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}");
        body.extend(field.as_bytes());
    }
    body.extend(b"\r\n--end--\r\n");
    let request = Request::to("POST", platform.url("/applications/new")).cookies(&devon).body(body);
    let answer = request.header("Content-Type", "multipart/form-data; boundary=end").send().await;
    let id = location(platform, &answer).path().rsplit('/').next().unwrap().to_owned();

    let admin = sign_in(platform, ADMIN).send().await.cookies();
    let shown = Request::to("GET", platform.url(&format!("/review/{id}"))).cookies(&admin).send().await.text();
    let approval = [("version", value_after(&shown, "name=\"version\"")), ("scope", "repo-issue:r")];
    let request = Request::to("POST", platform.url(&format!("/review/{id}/approve"))).cookies(&admin);
    assert_eq!(request.fields(&approval).send().await.status, 303);
    let shown = Request::to("GET", platform.url(&format!("/applications/{id}"))).cookies(&devon).send().await.text();
    let request = Request::to("POST", platform.url(&format!("/applications/{id}/secret"))).cookies(&devon);
    let page = request.fields(&[("version", value_after(&shown, "name=\"version\""))]).send().await.text();
    let secret = value_after(&page, "id=\"client_secret\"");

    let alice = sign_in(platform, ALICE).send().await.cookies();
    let question = platform.url(&format!("/oauth2/auth?response_type=code&client_id={id}"));
    let page = Page::open(&Url::parse(&question).unwrap(), &alice).await;
    let callback = page.decide(&[("scope", "repo-issue:r"), ("decision", "allow")]).await;
    let code = callback.query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned();

    let exchange = [("grant_type", "authorization_code"), ("code", &*code)];
    let request = Request::to("POST", platform.url("/oauth2/token")).basic(&id, secret).fields(&exchange);
    let answer = request.send().await.json();
    answer["access_token"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn sign_in(platform: &Started, (username, password): (&str, &str)) -> Request {
    Request::to("POST", platform.url("/sign-in")).fields(&[("username", username), ("password", password)])
}

fn start(test: &str) -> Started {
    start_with(test, &[])
}

fn start_with(test: &str, options: &[&str]) -> Started {
    Started::platform(env!("CARGO_BIN_EXE_platform"), test, options)
}

/// Where a redirect leads.
fn location(platform: &Started, answer: &Answer) -> Url {
    answer.location(platform.about("issuer"))
}
