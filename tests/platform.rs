//! What the pages and the resource API of the platform example refuse, over a real socket.

#[cfg(target_os = "linux")]
#[path = "platform/hung_up.rs"]
mod hung_up;
#[path = "platform/pages.rs"]
mod pages;
#[path = "platform/sessions.rs"]
mod sessions;
#[path = "platform/sign_in.rs"]
mod sign_in_limits;
#[expect(dead_code, reason = "the thin examples are started elsewhere")]
mod started;
#[path = "platform/third_party.rs"]
mod third_party;
#[path = "platform/throttle.rs"]
mod throttle;
#[path = "../examples/platform/verbs.rs"]
mod verbs;

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{CONTENT_TYPE, COOKIE, HOST, LOCATION, ORIGIN, RETRY_AFTER, SET_COOKIE};
use reqwest::redirect::Policy;
use reqwest::{RequestBuilder, Response, StatusCode, Url};
use serde_json::Value;

use crate::started::Example;

const DEVON: (&str, &str) = ("devon", "devon-likes-rust");
const ADMIN: (&str, &str) = ("admin", "ada-likes-order");
const ALICE: (&str, &str) = ("alice", "alice-likes-tea");

#[tokio::test]
async fn a_request_for_another_host_is_refused() {
    let platform = Example::platform("hosts");
    for (host, status) in [("localhost", 200), ("LOCALHOST:1", 200), ("evil.example", 421), ("127.0.0.1", 421)] {
        for path in ["/sign-in", "/.well-known/oauth-authorization-server"] {
            let answer = http().get(platform.url(path)).header(HOST, host).send().await.unwrap();
            assert_eq!(answer.status().as_u16(), status, "{host}{path}");
        }
    }
}

/// IMG-02
///
/// A logo that is opened directly stays a picture, whatever its bytes hold besides.
#[tokio::test]
async fn a_logo_is_sent_as_an_image_and_nothing_else() {
    let platform = Example::platform("logos");
    let path = format!("/logos/{}", platform.about("client_id"));
    let answer = http().get(platform.url(&path)).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    for (name, value) in [
        ("Content-Type", "image/png"),
        ("X-Content-Type-Options", "nosniff"),
        ("Content-Security-Policy", "default-src 'none'; sandbox"),
    ] {
        assert_eq!(answer.headers()[name], value, "{name}");
    }
}

#[tokio::test]
async fn a_form_that_may_come_from_another_origin_is_refused() {
    let platform = Example::platform("origins");
    let own = platform.about("issuer");
    for (headers, status) in [
        (vec![], 303),
        (vec![("Sec-Fetch-Site", "same-origin"), ("Origin", "null")], 303),
        (vec![("Sec-Fetch-Site", "none")], 303),
        (vec![("Sec-Fetch-Site", "same-site")], 403),
        (vec![("Sec-Fetch-Site", "cross-site")], 403),
        // Sent by a browser that is too old to tell more.
        (vec![(ORIGIN.as_str(), own)], 403),
        (vec![(ORIGIN.as_str(), "null")], 403),
        (vec![(ORIGIN.as_str(), "http://evil.example")], 403),
    ] {
        let request = sign_in(&platform, DEVON);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        assert_eq!(request.send().await.unwrap().status().as_u16(), status, "{headers:?}");
    }
}

#[tokio::test]
async fn a_browser_that_signed_in_before_is_not_held_back_by_a_strangers_guesses() {
    let platform = Example::platform("guesses");
    let known = cookies(&sign_in(&platform, DEVON).send().await.unwrap());
    for account in [DEVON, ALICE] {
        guess_until_refused(&platform, account.0, "").await;
        assert_eq!(sign_in(&platform, account).send().await.unwrap().status(), StatusCode::TOO_MANY_REQUESTS);
    }
    let answer = sign_in(&platform, DEVON).header(COOKIE, &known).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::SEE_OTHER);
    // It is known to that account alone, and its own guesses count.
    let answer = sign_in(&platform, ALICE).header(COOKIE, &known).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS);
    guess_until_refused(&platform, DEVON.0, &known).await;
}

/// Sends wrong passwords until the wait is long enough to be met by what follows.
async fn guess_until_refused(platform: &Example, account: &str, cookies: &str) {
    for _ in 0..1000 {
        let answer = sign_in(platform, (account, "wrong")).header(COOKIE, cookies).send().await.unwrap();
        let wait = answer.headers().get(RETRY_AFTER).map(|seconds| seconds.to_str().unwrap().parse::<u32>().unwrap());
        match wait {
            Some(4..) => return,
            Some(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            None => assert_eq!(answer.status(), StatusCode::OK),
        }
    }
    panic!("{account} can be guessed without end");
}

#[tokio::test]
async fn a_token_without_private_resources_cannot_tell_private_names_from_none() {
    let platform = Example::platform("oracle");
    let token = token_for_public_resources(&platform).await;
    let ask = async |name: &str| {
        let answer = http().get(platform.url(&format!("/api/repositories/{name}/issues"))).bearer_auth(&token);
        let answer = answer.send().await.unwrap();
        let challenge = answer.headers().get("WWW-Authenticate").cloned();
        (answer.status().as_u16(), challenge, answer.text().await.unwrap())
    };
    assert_eq!(ask("alice/garden").await.0, 200);
    let private = ask("alice/diary").await;
    assert_eq!(private.0, 403);
    for name in ["alice/none", "devon/none", "nobody/none"] {
        assert_eq!(ask(name).await, private, "{name}");
    }
}

/// Registers an application for public resources, has it approved, and lets Alice authorize it.
async fn token_for_public_resources(platform: &Example) -> String {
    let devon = cookies(&sign_in(platform, DEVON).send().await.unwrap());
    let logo = include_bytes!("../examples/platform/assets/release_notes.png");
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
    let request = http().post(platform.url("/applications/new")).header(COOKIE, &devon).body(body);
    let answer = request.header(CONTENT_TYPE, "multipart/form-data; boundary=end").send().await.unwrap();
    let id = location(&answer).path().rsplit('/').next().unwrap().to_owned();

    let admin = cookies(&sign_in(platform, ADMIN).send().await.unwrap());
    let approval = [("version", "1"), ("scope", "repo-issue:r")];
    let request = http().post(platform.url(&format!("/review/{id}/approve"))).header(COOKIE, admin);
    assert_eq!(request.form(&approval).send().await.unwrap().status(), 303);
    let request = http().post(platform.url(&format!("/applications/{id}/secret"))).header(COOKIE, devon);
    let page = request.form(&[("version", "2")]).send().await.unwrap().text().await.unwrap();
    let secret = value_after(&page, "id=\"client_secret\"");

    let alice = cookies(&sign_in(platform, ALICE).send().await.unwrap());
    let question = platform.url(&format!("/oauth2/auth?response_type=code&client_id={id}"));
    let page = http().get(question).header(COOKIE, &alice).send().await.unwrap().text().await.unwrap();
    let answer = [("handle", value_after(&page, "name=\"handle\"")), ("scope", "repo-issue:r"), ("decision", "allow")];
    let request = http().post(platform.url("/consent")).header(COOKIE, &alice).form(&answer);
    let callback = location(&request.send().await.unwrap());
    let code = callback.query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned();

    let basic = format!("Basic {}", STANDARD.encode(format!("{id}:{secret}")));
    let exchange = [("grant_type", "authorization_code"), ("code", &*code)];
    let request = http().post(platform.url("/oauth2/token")).header("Authorization", basic).form(&exchange);
    let answer = request.send().await.unwrap().bytes().await.unwrap();
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    answer["access_token"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn sign_in(platform: &Example, (username, password): (&str, &str)) -> RequestBuilder {
    http().post(platform.url("/sign-in")).form(&[("username", username), ("password", password)])
}

/// A browser that follows no redirect by itself.
fn http() -> reqwest::Client {
    reqwest::Client::builder().redirect(Policy::none()).build().unwrap()
}

fn location(answer: &Response) -> Url {
    answer.url().join(answer.headers()[LOCATION].to_str().unwrap()).unwrap()
}

/// All cookies of an answer, as they are sent back.
fn cookies(answer: &Response) -> String {
    let lines = answer.headers().get_all(SET_COOKIE).iter().map(|line| line.to_str().unwrap());
    lines.filter_map(|line| line.split(';').next()).collect::<Vec<_>>().join("; ")
}

/// The value of the control that has this attribute.
fn value_after<'a>(page: &'a str, attribute: &str) -> &'a str {
    let (_, rest) = page.split_once(attribute).unwrap_or_else(|| panic!("{page}"));
    let (_, rest) = rest.split_once("value=\"").unwrap();
    rest.split('"').next().unwrap()
}
