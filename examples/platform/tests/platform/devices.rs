//! Devices without a browser [RFC 8628]: the pages, the program `sign-in`, and applications of developers for devices.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;
use serde_json::Value;
use support_servers::http::{Answer, Page, Request};
use support_servers::started::Started;
use support_servers::started::database::Database;
use tokio::time::sleep;
use url::Url;

use crate::pages::{get, register, register_and_approve};
use crate::{ADMIN, ALICE, DEVON, location, sign_in, start, start_with};

const TERMINAL: &str = "terminal";

/// What a device shows and polls with.
struct Codes {
    client: String,
    device_code: String,
    user_code: String,
}

async fn ask(platform: &Started, client: &str) -> Answer {
    Request::to("POST", platform.url("/oauth2/device_authorization")).fields(&[("client_id", client)]).send().await
}

async fn codes(platform: &Started, client: &str) -> Codes {
    let answer = ask(platform, client).await.json();
    let text = |name: &str| answer[name].as_str().unwrap_or_else(|| panic!("{name} in {answer}")).to_owned();
    assert_eq!(text("verification_uri"), platform.url("/device"));
    Codes { client: client.to_owned(), device_code: text("device_code"), user_code: text("user_code") }
}

async fn poll(platform: &Started, codes: &Codes) -> Value {
    let form = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
        ("client_id", &*codes.client),
        ("device_code", &*codes.device_code),
    ];
    Request::to("POST", platform.url("/oauth2/token")).fields(&form).send().await.json()
}

/// The page for the code, in a browser that is signed in.
async fn device_page(platform: &Started, account: (&str, &str)) -> Page {
    let cookies = sign_in(platform, account).send().await.cookies();
    Page::open(&Url::parse(&platform.url("/device")).unwrap(), &cookies).await
}

/// Types the code, and returns the consent page.
async fn enter(page: &Page, user_code: &str) -> Page {
    let answer = page.submit(&[("user_code", user_code)]).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    Page { html: answer.text(), cookies: answer.cookies_after(&page.cookies), ..page.clone() }
}

/// Presses a button of the consent page, and returns the page after that.
async fn decide(platform: &Started, consent: &Page, decision: &str) -> String {
    let answer = consent.submit(&[("decision", decision)]).await;
    assert_eq!(answer.status, 303, "{answer:?}");
    Page::open(&location(platform, &answer), &consent.cookies).await.html
}

/// Sends the form of a change with these fields besides those that every change has.
async fn change(platform: &Started, path: &str, cookies: &str, fields: &[(&str, &str)]) -> Answer {
    let common = [
        ("name", "Changelog"),
        ("website", "https://changelog.example"),
        ("scope-repo-issue", "repo-issue:r"),
        ("resource_scope", "all"),
        ("action", "submit"),
    ];
    let field = |(name, value): &(&str, &str)| {
        format!("--end\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let body: String = common.iter().chain(fields).map(field).chain(["--end--\r\n".to_owned()]).collect();
    let request: Request = Request::to("POST", platform.url(&format!("{path}/change"))).cookies(cookies).body(body);
    request.header("Content-Type", "multipart/form-data; boundary=end").send().await
}

/// 8628-3.3-01
#[tokio::test]
async fn a_user_connects_a_device_in_the_browser() {
    let platform = start("device");
    let home = get(&platform, "/", "").await.text();
    assert!(home.contains("<a href=\"/device\">Connect a device</a>"), "{home}");
    let codes = codes(&platform, TERMINAL).await;
    assert_eq!(poll(&platform, &codes).await["error"], "authorization_pending");

    // The page leads to the sign-in first, and back.
    let page = Page::open(&Url::parse(&platform.url("/device")).unwrap(), "").await;
    assert_eq!(page.url.path(), "/sign-in");
    let page = page.sign_in(ALICE.0, ALICE.1).await;
    let wrong = page.submit(&[("user_code", "BBBB-BBBB")]).await;
    assert_eq!(wrong.status, 400);
    assert!(wrong.text().contains("This code is not valid."), "{}", wrong.text());
    let consent = enter(&page, &codes.user_code.to_lowercase().replace('-', " ")).await;
    for words in [&*codes.user_code, "<bdi>Terminal</bdi>", "Alice Archer", "See your verified e-mail address"] {
        assert!(consent.html.contains(words), "no {words:?} in {}", consent.html);
    }
    let done = decide(&platform, &consent, "allow").await;
    assert!(done.contains("Your device is connected"), "{done}");

    let tokens = poll(&platform, &codes).await;
    let token = tokens["access_token"].as_str().unwrap_or_else(|| panic!("{tokens}"));
    let me = Request::to("GET", platform.url("/api/me")).bearer(token).send().await;
    assert_eq!((me.status, &me.json()["user"]), (200, &Value::from(ALICE.0)));
    let list = get(&platform, "/oauth2/auth/applications", &page.cookies).await.text();
    assert!(list.contains("Terminal"), "{list}");
}

#[tokio::test]
async fn a_user_denies_a_device() {
    let platform = start("device-denied");
    let codes = codes(&platform, TERMINAL).await;
    let consent = enter(&device_page(&platform, ALICE).await, &codes.user_code).await;
    let done = decide(&platform, &consent, "deny").await;
    assert!(done.contains("Your device was not connected"), "{done}");
    assert_eq!(poll(&platform, &codes).await["error"], "access_denied");
}

/// A device needs no redirect URI, and reviewers see that it is one.
#[tokio::test]
async fn a_developer_registers_an_application_for_devices() {
    const KIND: [(&str, &str); 3] = [("client_type", "public"), ("application_type", "device"), ("sample_logo", "on")];
    let platform = start("device-application");
    let devon = sign_in(&platform, DEVON).send().await.cookies();
    let admin = sign_in(&platform, ADMIN).send().await.cookies();
    let form = get(&platform, "/applications/new", &devon).await.text();
    assert!(form.contains("On a device without a browser"), "{form}");
    let preview = register(&platform, &devon, &[&KIND[..], &[("action", "preview")]].concat()).await;
    assert_eq!(preview.status, 200);
    let preview = preview.text();
    assert!(preview.contains("The form is correct") && preview.contains("value=\"device\" checked"), "{preview}");
    let web = [("client_type", "public"), ("application_type", "web"), ("sample_logo", "on"), ("action", "submit")];
    let refused = register(&platform, &devon, &web).await.text();
    assert!(refused.contains("Enter at least one redirect URI."), "{refused}");

    let id = register_and_approve(&platform, [&devon, &admin], &[&KIND[..], &[("action", "submit")]].concat()).await;
    let facts = ["Runs on devices without a browser (device authorization)", "<dt>Redirect URIs</dt><dd>None</dd>"];
    for (path, cookies) in [(format!("/review/{id}"), &admin), (format!("/applications/{id}"), &devon)] {
        let page = get(&platform, &path, cookies).await.text();
        for fact in facts {
            assert!(page.contains(fact), "no {fact:?} in {page}");
        }
    }
    let codes = codes(&platform, &id).await;
    let consent = enter(&device_page(&platform, ALICE).await, &codes.user_code).await;
    assert!(consent.html.contains("<bdi>Changelog</bdi>"), "{}", consent.html);
    decide(&platform, &consent, "allow").await;
    assert_eq!(poll(&platform, &codes).await["scope"], "repo-issue:r");

    // A change keeps the kind, and a redirect URI adds the code flow.
    let shown = get(&platform, &format!("/applications/{id}/change"), &devon).await.text();
    assert!(shown.contains("runs on a device without a browser (device authorization)"), "{shown}");
    for (uri, kind) in [
        ("", "Runs on devices without a browser (device authorization)"),
        ("http://127.0.0.1/cb", "Runs on devices with and without a browser (device authorization)"),
    ] {
        let path = format!("/applications/{id}");
        assert_eq!(change(&platform, &path, &devon, &[("redirect_uris", uri)]).await.status, 303);
        let page = get(&platform, &format!("/review/{id}"), &admin).await.text();
        let (_, proposed) = page.split_once("Proposed change").unwrap();
        assert!(proposed.split("</section>").next().unwrap().contains(kind), "{uri}: {page}");
    }
}

/// Another answer on the form, before the approval, makes it an application with a browser again.
#[tokio::test]
async fn an_application_is_no_longer_for_devices() {
    let platform = start("device-no-longer");
    let devon = sign_in(&platform, DEVON).send().await.cookies();
    let kind = [("client_type", "public"), ("application_type", "device"), ("sample_logo", "on")];
    let answer = register(&platform, &devon, &[&kind[..], &[("action", "submit")]].concat()).await;
    let path = location(&platform, &answer).path().to_owned();
    let page = get(&platform, &format!("{path}/change"), &devon).await.text();
    assert!(page.contains("value=\"device\" checked"), "{page}");
    for (uri, status) in [("", 422), ("https://changelog.example/cb", 303)] {
        let fields = [("client_type", "public"), ("application_type", "web"), ("redirect_uris", uri)];
        assert_eq!(change(&platform, &path, &devon, &fields).await.status, status, "{uri}");
    }
    let page = get(&platform, &path, &devon).await.text();
    assert!(page.contains("Runs on a server or in the browser (web)"), "{page}");
}

/// The program `sign-in`, which waits for its user.
struct Program {
    process: Child,
    output: BufReader<ChildStdout>,
    printed: String,
}

/// How the program ended.
struct Ended {
    code: Option<i32>,
    printed: String,
    error: String,
}

impl Program {
    fn start(issuer: &str) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_sign-in"))
            .args(["--issuer", issuer])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        Self { process, output, printed: String::new() }
    }

    /// Reads until it waits, and returns the code.
    fn user_code(&mut self) -> String {
        while !self.printed.contains("Waiting for your answer") {
            assert_ne!(self.output.read_line(&mut self.printed).unwrap(), 0, "{}", self.printed);
        }
        let (_, rest) = self.printed.split_once("Type this code there:").unwrap();
        rest.split_whitespace().next().unwrap().to_owned()
    }

    fn end(mut self) -> Ended {
        self.output.read_to_string(&mut self.printed).unwrap();
        let mut error = String::new();
        self.process.stderr.take().unwrap().read_to_string(&mut error).unwrap();
        Ended { code: self.process.wait().unwrap().code(), printed: std::mem::take(&mut self.printed), error }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// 8628-3.3.1-01: the QR code contains the address alone.
#[tokio::test]
async fn the_program_says_who_is_signed_in() {
    let platform = start("sign-in");
    let mut program = Program::start(platform.about("issuer"));
    let user_code = program.user_code();
    let address = platform.url("/device");
    let picture =
        QrCode::new(&address).unwrap().render().dark_color(Dense1x2::Light).light_color(Dense1x2::Dark).build();
    assert!(program.printed.contains(&address) && program.printed.contains(&picture), "{}", program.printed);

    let consent = enter(&device_page(&platform, ALICE).await, &user_code).await;
    assert!(consent.html.contains("It calls itself sign-in/"), "{}", consent.html);
    decide(&platform, &consent, "allow").await;
    let Ended { code, printed, error } = program.end();
    assert_eq!((code, &*error), (Some(0), ""));
    let said = "You are signed in as Alice Archer (alice). You allowed: repo-basic-info:r, account-profile:r, account-email:r.";
    assert!(printed.contains(said), "{printed}");
    assert!(!printed.contains("\r") && !printed.contains("_"), "a token, or a rewritten line: {printed}");
}

/// The user may choose what the program gets.
#[tokio::test]
async fn the_program_may_not_learn_who_is_signed_in() {
    let platform = start("sign-in-partly");
    let mut program = Program::start(platform.about("issuer"));
    let consent = enter(&device_page(&platform, ALICE).await, &program.user_code()).await;
    let answer = consent.submit(&[("scope", "repo-basic-info:r"), ("decision", "allow")]).await;
    assert_eq!(answer.status, 303);
    let Ended { code, printed, .. } = program.end();
    assert!(code == Some(0) && printed.contains("you did not allow this program to see who you are"), "{printed}");
}

/// 8628-3.5-01
#[tokio::test]
async fn the_program_ends_when_nothing_was_granted() {
    let platform = start("sign-in-denied");
    // 600 s are 6 s.
    let fast = start_with("sign-in-expired", &["--clock-speed", "100"]);
    let mut denied = Program::start(platform.about("issuer"));
    let mut expired = Program::start(fast.about("issuer"));
    expired.user_code();
    let consent = enter(&device_page(&platform, ALICE).await, &denied.user_code()).await;
    decide(&platform, &consent, "deny").await;
    for (program, text) in [(denied, "you denied the access"), (expired, "the code has expired")] {
        let Ended { code, error, .. } = program.end();
        assert!(code == Some(1) && error.contains(text), "{error}");
        assert!(error.contains("Run this program again"), "{error}");
    }
}

#[tokio::test]
async fn the_program_says_why_it_cannot_begin() {
    let platform = start("sign-in-elsewhere");
    let elsewhere = platform.about("issuer").replace("localhost", "127.0.0.1");
    // A port that nothing listens on.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nowhere = format!("http://{free}");
    for (issuer, text) in [
        (&*nowhere, "cannot be reached. Start it with `cargo run -p platform`"),
        (&elsewhere, "answered 421 Misdirected Request."),
        ("https://localhost:8443", "is not a URL of this machine like http://localhost:8080"),
        ("http://platform.example", "is not a URL of this machine like http://localhost:8080"),
        ("http://localhost.example", "is not a URL of this machine like http://localhost:8080"),
    ] {
        let Ended { code, error, .. } = Program::start(issuer).end();
        assert!(code == Some(1) && error.contains(text), "{issuer}: {error}");
    }
}

/// The codes outlast the process of the platform, since its key does.
#[tokio::test]
async fn the_program_waits_for_a_platform_that_restarts() {
    let database = Database::new("sign-in-restart");
    let own = ["--third-party-listen", "127.0.0.1:0", "--database", database.path().to_str().unwrap()];
    let platform = Started::start(env!("CARGO_BIN_EXE_platform"), &own);
    let listen = platform.about("listen").to_owned();
    let mut program = Program::start(platform.about("issuer"));
    let user_code = program.user_code();
    let file = format!("{}-derivation-key", database.path().display());
    let key = std::fs::read(&file).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    drop(platform);
    // The first poll, after 5 s, gets no answer.
    sleep(Duration::from_secs(6)).await;
    let platform = Started::start(env!("CARGO_BIN_EXE_platform"), &[&own[..], &["--listen", &listen]].concat());
    assert_eq!(std::fs::read(&file).unwrap(), key);
    let consent = enter(&device_page(&platform, ALICE).await, &user_code).await;
    decide(&platform, &consent, "allow").await;
    let Ended { code, printed, error } = program.end();
    assert!(code == Some(0) && printed.contains("You are signed in as Alice Archer"), "{printed}{error}");
}
