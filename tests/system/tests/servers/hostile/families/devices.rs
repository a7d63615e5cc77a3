//! Hostile devices, hostile polls, and hostile codes on the page where users type them.

use crate::hostile::case::{Case, run_all};
use crate::hostile::families::all;
use crate::hostile::server::{CONSENT, Server};
use crate::hostile::values::{BROKEN, BYTES, CONTROLS, SCRIPTS, encode};
use support::devices::DEVICE_CODE;
use support_servers::http::{Request, value_after};

const PATH: &str = "/oauth2/device_authorization";
const PAGE: &str = "/device";

/// Every value of the lists that are used everywhere.
fn values() -> impl Iterator<Item = &'static str> {
    BROKEN.into_iter().chain(BYTES).chain(CONTROLS).chain(SCRIPTS)
}

/// A device of the server that its user knows.
struct Device {
    device_code: String,
    user_code: String,
    /// Shows that a form comes from the page.
    token: String,
}

impl Device {
    async fn asked(server: &Server) -> Self {
        let answer = server.send(ask(server, &[])).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let [device_code, user_code] =
            ["device_code", "user_code"].map(|name| answer.json()[name].as_str().unwrap().to_owned());
        let page = server.send(Request::get(PAGE).header("Cookie", &server.cookie)).await.text();
        Self { device_code, user_code, token: value_after(&page, "name=\"token\"").to_owned() }
    }
}

fn ask(server: &Server, more: &[(&str, &str)]) -> Request {
    Request::form(PATH, encode(&[&[("client_id", &*server.device)], more].concat()))
}

fn poll(server: &Server, device_code: &str) -> String {
    encode(&[("grant_type", DEVICE_CODE), ("client_id", &server.device), ("device_code", device_code)])
}

/// NEG-04
#[tokio::test]
async fn no_device_is_believed_and_no_code_is_guessed() {
    all(Server::with_devices(), async |server| {
        let device = Device::asked(server).await;
        let cases: Vec<_> = asking(server).chain(polling(server, &device)).chain(typing(server, &device)).collect();
        assert!(cases.len() >= 400, "{}", cases.len());
        run_all(server, &cases).await?;
        lives(server, &device).await
    })
    .await;
}

/// 8628-5.4-02: what a device says of itself is shown as text.
#[tokio::test]
async fn what_a_device_says_of_itself_is_text() {
    all(Server::with_devices(), async |server| {
        let agent = "<script>h0st1le()</script>\" onerror=\"h0st1le()";
        let answer = server.send(ask(server, &[]).header("User-Agent", agent)).await;
        let user_code = answer.json()["user_code"].as_str().unwrap().to_owned();
        let token = Device::asked(server).await.token;
        let form = encode(&[("token", &token), ("user_code", &user_code)]);
        let page = server.send(Request::form(PAGE, form).header("Cookie", &server.cookie)).await;
        let text = page.text();
        assert!(page.status == 200 && text.contains(&user_code) && !text.contains("h0st1le"), "{text}");
        assert!(!text.contains("<script>h0st") && !text.contains("onerror=\""), "{text}");
        Ok(())
    })
    .await;
}

/// After all of it, the device still gets its tokens, from the user who types its code.
async fn lives(server: &Server, device: &Device) -> Result<(), String> {
    let Device { device_code, user_code, token } = device;
    let with_cookie =
        |path: &str, form: &[(&str, &str)]| Request::form(path, encode(form)).header("Cookie", &server.cookie);
    let page = server.send(with_cookie(PAGE, &[("token", token), ("user_code", user_code)])).await;
    let text = page.text();
    // The account's guesses are counted: one more is allowed later.
    if page.status == 429 {
        return Ok(());
    }
    assert!(page.status == 200 && text.contains(user_code.as_str()) && !text.contains("h0st1le"), "{text}");
    let handle = value_after(&text, "name=\"handle\"").to_owned();
    let allow = [("handle", &*handle), ("decision", "allow"), ("scope", "account-profile:r"), ("user_code", user_code)];
    assert_eq!(server.send(with_cookie(CONSENT, &allow)).await.status, 303);
    let answer = server.send(Request::form("/oauth2/token", poll(server, device_code))).await;
    if answer.status == 200 { Ok(()) } else { Err(format!("{answer:?}")) }
}

fn asking(server: &Server) -> impl Iterator<Item = Case> {
    let id = server.device.clone();
    let client = encode(&[("client_id", &id)]);
    let names = ["scope", "resource", "client_id", "user_code", "device_code", "h0st1le", "client_secret"];
    let bent: Vec<_> = names.into_iter().flat_map(|name| values().map(move |value| (name, value))).collect();
    let form = client.clone();
    let bent = bent.into_iter().map(move |(name, value)| {
        let request = Request::form(PATH, format!("{form}&{name}={value}"));
        Case::new(format!("ask {name}={value:.60}"), request, &[200, 400, 401])
    });
    let twice = ["scope", "client_id", "client_secret"].map(|name| {
        let request = Request::form(PATH, format!("{client}&{name}=h0st1le&{name}=h0st1le"));
        Case::new(format!("ask {name} twice"), request, &[400, 401])
    });
    let methods = ["GET", "PUT", "PATCH", "DELETE", "BREW"]
        .map(|method| Case::new(format!("ask by {method}"), Request::new(method, PATH).query(client.clone()), &[405]));
    let mut json = Request::new("POST", PATH).header("Content-Type", "application/json");
    json = json.body(format!("{{\"client_id\":\"{id}\",\"scope\":\"h0st1le\"}}"));
    let long = "h0st1le".repeat(20_000);
    let others = [
        Case::new("ask in JSON", json, &[400]),
        Case::new("ask in the query", Request::form(PATH, "").query(client.clone()), &[400, 401]),
        Case::new("ask at length", Request::form(PATH, format!("{client}&scope={long}")), &[400, 413]),
        Case::new("ask as another client", Request::form(PATH, "").basic(&server.id, &server.secret), &[400]),
        Case::new("ask as nobody", Request::form(PATH, "client_id=h0st1le"), &[401]),
    ];
    let agents: [&[u8]; 6] = [
        b"h0st1le\x09<script>h0st1le()</script>",
        b"\xff\xfeh0st1le\x80",
        b"h0st1le\"'><img src=x onerror=h0st1le()>",
        b"",
        b"\xe2\x80\xaeh0st1le",
        &[b'h'; 4_000],
    ];
    let agents = agents.map(|agent| {
        let request = Request::form(PATH, client.clone()).header("User-Agent", agent);
        Case::new(
            format!("ask with {}", agent.escape_ascii().to_string().get(..20).unwrap_or_default()),
            request,
            &[200, 400],
        )
    });
    bent.chain(twice).chain(methods).chain(others).chain(agents)
}

fn polling(server: &Server, device: &Device) -> impl Iterator<Item = Case> {
    let good = poll(server, &device.device_code);
    let without = poll(server, "");
    let code = &device.device_code;
    let altered = |at: usize| {
        let mut bytes = code.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        String::from_utf8(bytes).unwrap()
    };
    let shaped = [
        altered(3),
        altered(24),
        altered(25),
        altered(code.len() - 2),
        code[..code.len() - 1].to_owned(),
        format!("{code}A"),
        code.to_lowercase(),
        code.replacen("dc_", "co_", 1),
        code.replacen("dc_", "rt_", 1),
        device.user_code.clone(),
        code.repeat(100),
    ];
    let values = values().map(str::to_owned).chain(shaped).map(move |value| {
        let request = Request::form("/oauth2/token", format!("{without}{value}"));
        Case::new(format!("poll {value:.60}"), request, &[400])
    });
    let foreign = encode(&[("grant_type", DEVICE_CODE), ("device_code", code)]);
    let as_code = |grant_type: &str, name: &str| {
        encode(&[("grant_type", grant_type), (name, code), ("client_id", &server.device)])
    };
    let others = [
        // Another client, with a secret of its own.
        Case::new("foreign poll", Request::form("/oauth2/token", foreign).basic(&server.id, &server.secret), &[400]),
        Case::new("poll twice", Request::form("/oauth2/token", format!("{good}&device_code={code}")), &[400]),
        Case::new("poll by GET", Request::get("/oauth2/token").query(good.clone()), &[405]),
        Case::new("poll in the query", Request::form("/oauth2/token", "").query(good.clone()), &[400, 401]),
        Case::new("as a code", Request::form("/oauth2/token", as_code("authorization_code", "code")), &[400]),
        Case::new("as a token", Request::form("/oauth2/token", as_code("refresh_token", "refresh_token")), &[400]),
        Case::new("poll of nobody", Request::form("/oauth2/token", good.replace(&server.device, "h0st1le")), &[401]),
    ];
    values.chain(others)
}

fn typing(server: &Server, device: &Device) -> impl Iterator<Item = Case> {
    let (cookie, token, known) = (server.cookie.clone(), device.token.clone(), device.user_code.clone());
    let own_cookie = cookie.clone();
    let opened = values().map(move |value| {
        let request = Request::get(PAGE).query(format!("user_code={value}&in_link=h0st1le"));
        Case::new(format!("open {value:.60}"), request.header("Cookie", &own_cookie), &[200])
    });
    let (own_cookie, own_token) = (cookie.clone(), token.clone());
    let typed = values().map(move |value| {
        let form = format!("{}&user_code={value}&in_link={value}", encode(&[("token", &own_token)]));
        Case::new(format!("type {value:.60}"), Request::form(PAGE, form).header("Cookie", &own_cookie), &[400, 429])
    });
    let form = encode(&[("token", &token), ("user_code", &known)]);
    let forged = values().map({
        let (cookie, known) = (cookie.clone(), known.clone());
        move |value| {
            let form = format!("{}&token={value}", encode(&[("user_code", &known)]));
            Case::new(format!("forged {value:.60}"), Request::form(PAGE, form).header("Cookie", &cookie), &[400])
        }
    });
    let ticket =
        [("handle", known.as_str()), ("decision", "allow"), ("scope", "account-profile:r"), ("user_code", &known)];
    let others = [
        Case::new("typed without a cookie", Request::form(PAGE, form.clone()), &[400]),
        Case::new("typed by GET", Request::get(PAGE).query(form).header("Cookie", &cookie), &[200]),
        Case::new("typed by PUT", Request::new("PUT", PAGE).header("Cookie", &cookie), &[405]),
        Case::new("a code as a handle", Request::form(CONSENT, encode(&ticket)).header("Cookie", &cookie), &[400]),
    ];
    opened.chain(typed).chain(forged).chain(others)
}
