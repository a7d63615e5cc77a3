//! Devices without a browser: the endpoint where they ask, their polls, and the page for their codes.

use grantor::config::Profile;
use support::attempts::Attempts;
use support::devices::{DEVICE_CODE, config, on_devices};
use support::world::{FORM, World, encode, form};
use support_servers::http::{Request, value_after};

use crate::adapters::trio::{CONSENT, COOKIE, Trio};

const PATH: &str = "/oauth2/device_authorization";
const PAGE: &str = "/device";

/// A world whose client has a secret, and works on devices.
async fn world() -> World {
    let mut config = config(Profile::Platform);
    config.devices.complete_uri = true;
    let mut world = World::built(config, |builder| builder.throttle(Attempts::default())).await;
    world.client = world.register(on_devices(form())).await;
    world
}

/// The two codes of a new device.
async fn asked(trio: &Trio, agent: &[u8]) -> [String; 2] {
    let client = trio.client();
    let request = Request::post(PATH, &[]).basic(&client.id, &client.secret).header("User-Agent", agent);
    let answer = trio.answers(200, &request).await.json();
    ["device_code", "user_code"].map(|name| answer[name].as_str().unwrap().to_owned())
}

fn poll(trio: &Trio, code: &str) -> Request {
    let client = trio.client();
    let form = [("grant_type", DEVICE_CODE), ("device_code", code)];
    Request::post("/oauth2/token", &form).basic(&client.id, &client.secret)
}

fn post(path: &str, form: &[(&str, &str)]) -> Request {
    Request::post(path, form).header("Cookie", COOKIE)
}

/// HTTP-02, 8628-3.1-01
#[tokio::test]
async fn every_request_of_a_device_is_read_as_it_came() {
    let trio = Trio::of(world).await;
    let (id, secret) = (trio.client().id.as_str(), trio.client().secret.as_str());
    let of = |form: &[(&str, &str)]| Request::post(PATH, form).basic(id, secret);
    let typed = |media_type: &str| {
        let mut request = of(&[]);
        request.headers.retain(|(name, _)| name != "Content-Type");
        request.header("Content-Type", media_type)
    };
    trio.answer_all(&[
        (200, of(&[])),
        (200, of(&[("scope", "repo-code:r account-profile:r")])),
        (200, of(&[("unknown", "\u{1f4fa}")])),
        (200, Request::post(PATH, &[("client_id", id), ("client_secret", secret)])),
        (200, of(&[]).header("User-Agent", [b'a'; 4_000])),
        (200, of(&[]).header("User-Agent", "one").header("User-Agent", "two")),
        (200, of(&[]).header("User-Agent", b"\xff\xfe <script>")),
        (200, of(&[]).query("scope=nothing")),
        (400, of(&[("scope", "account-email:r")])),
        (400, of(&[("scope", "\"")])),
        (400, of(&[("scope", "a"), ("scope", "b")])),
        (200, of(&[("resource", "https://elsewhere.example")])),
        (200, of(&[("resource", "#")])),
        (400, typed("application/json").body("{}")),
        (200, typed(&format!("{FORM};charset=UTF-8"))),
        (401, Request::post(PATH, &[("client_id", id)])),
        (401, Request::post(PATH, &[("client_id", id), ("client_secret", "wrong")])),
        (401, Request::post(PATH, &[])),
        (413, of(&[]).body(vec![b'a'; trio.body_limit() + 1])),
        (405, Request::get(PATH).basic(id, secret)),
        (405, Request::new("PUT", PATH).basic(id, secret)),
        (405, Request::new("HEAD", PATH)),
    ])
    .await;
}

/// HTTP-02, 8628-3.3.1-01: opening the page, with a code or without, changes nothing.
#[tokio::test]
async fn a_device_lives_the_same_life() {
    let trio = Trio::of(world).await;
    let [device_code, user_code] = asked(&trio, b"Settop/1.0 (h0st1le <b>)").await;
    let link = Request::get(PAGE).query(format!("user_code={user_code}"));
    trio.answer_all(&[
        (400, poll(&trio, &device_code)),
        (400, poll(&trio, &device_code)),
        (400, poll(&trio, "unknown")),
        (400, poll(&trio, &user_code)),
        (200, Request::get(PAGE).header("Cookie", COOKIE)),
        (200, link.clone().header("Cookie", COOKIE)),
        (200, Request::new("HEAD", PAGE).query(format!("user_code={user_code}")).header("Cookie", COOKIE)),
        (200, Request::get(PAGE).query("user_code=%ff%3Cb%3E&user_code=x").header("Cookie", COOKIE)),
        (405, Request::new("PUT", PAGE).header("Cookie", COOKIE)),
        (400, post(PAGE, &[("user_code", &user_code)])),
        (400, post(PAGE, &[("user_code", &user_code), ("token", "x")])),
    ])
    .await;
    let page = trio.answers(200, &link.header("Cookie", COOKIE)).await.text();
    let token = value_after(&page, "name=\"token\"").to_owned();
    trio.answer_all(&[
        (400, post(PAGE, &[("token", &token), ("user_code", "BBBB-BBBB")])),
        (400, post(PAGE, &[("token", &token), ("user_code", "")])),
        (400, Request::post(PAGE, &[("token", &token), ("user_code", &user_code)])),
    ])
    .await;
    let typed = [("token", token.as_str()), ("user_code", &user_code), ("in_link", "yes")];
    let page = trio.answers(200, &post(PAGE, &typed)).await.text();
    assert!(page.contains("Settop/1.0") && !page.contains("h0st1le"), "{page}");
    let handle = value_after(&page, "name=\"handle\"").to_owned();
    let allowed = [
        ("handle", handle.as_str()),
        ("decision", "allow"),
        ("scope", "repo-code:r"),
        ("user_code", &user_code),
        ("in_link", "yes"),
    ];
    // The user has not confirmed that the device shows the code. The page that comes back has a new ticket.
    let again = trio.answers(422, &post(CONSENT, &allowed)).await.text();
    let handle = value_after(&again, "name=\"handle\"").to_owned();
    trio.answers(400, &poll(&trio, &device_code)).await;
    let mut confirmed = allowed.to_vec();
    confirmed[0].1 = &handle;
    confirmed.push(("device_shows_code", "yes"));
    let answer = trio.answers(303, &post(CONSENT, &confirmed)).await;
    let target = answer.header("location").unwrap().to_owned();
    let (path, query) = target.split_once('?').unwrap();
    assert_eq!(path, PAGE);
    trio.answers(200, &Request::get(PAGE).query(query).header("Cookie", COOKIE)).await;
    trio.answers(303, &post(CONSENT, &confirmed)).await;
    trio.answers(400, &post(CONSENT, &[("handle", &handle), ("decision", "deny")])).await;
    let first = trio.answers(200, &poll(&trio, &device_code)).await.json();
    assert_eq!(first["scope"], "repo-code:r");
    let second = trio.answers(200, &poll(&trio, &device_code)).await.json();
    assert_eq!(second["access_token"], first["access_token"]);
    trio.advance(700);
    trio.answers(400, &poll(&trio, &device_code)).await;

    let [denied, user_code] = asked(&trio, b"").await;
    let page = trio.answers(200, &post(PAGE, &[("token", &token), ("user_code", &user_code)])).await.text();
    let handle = value_after(&page, "name=\"handle\"").to_owned();
    trio.answers(303, &post(CONSENT, &[("handle", &handle), ("decision", "deny"), ("user_code", &user_code)])).await;
    trio.answers(400, &poll(&trio, &denied)).await;
}

/// HTTP-02: without devices, neither the endpoint nor the page is there.
#[tokio::test]
async fn neither_is_there_while_devices_are_off() {
    let trio = Trio::start().await;
    let (id, secret) = (trio.client().id.as_str(), trio.client().secret.as_str());
    trio.answer_all(&[
        (404, Request::post(PATH, &[]).basic(id, secret)),
        (400, poll(&trio, "unknown")),
        (404, post(PAGE, &[("user_code", "BBBB-BBBB")])),
        (404, Request::get(PAGE).query(encode(&[("user_code", "BBBB-BBBB")])).header("Cookie", COOKIE)),
    ])
    .await;
}
