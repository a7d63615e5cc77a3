//! The contents of the pages, read without style sheets.

use crate::{ADMIN, ALICE, DEVON, location, sign_in, start};
use support_servers::http::{Answer, Page, Request, value_after};
use support_servers::started::Started;
use url::Url;

/// The list of authorized applications.
const AUTHORIZED: &str = "/oauth2/auth/applications";

#[tokio::test]
async fn the_consent_page_says_who_asks_for_what() {
    let platform = start("consent-page");
    let alice = sign_in(&platform, ALICE).send().await.cookies();
    let page = question(&platform, &alice).await.text();
    let switch = "<a href=\"/sign-in?return_to=%2Foauth2%2Fauth%3Fresponse%5Ftype%3Dcode";
    for words in [
        "<bdi>Release Notes</bdi></strong> wants to access your <strong><bdi>Platform</bdi></strong> account",
        "Read, open and edit issues",
        "See your verified e-mail address",
        "Published by <strong><bdi>Devon Developer</bdi></strong>",
        "Signed in as <strong><bdi>Alice Archer (alice@platform.example)</bdi></strong>",
        "The program on your device cannot be verified.",
        switch,
    ] {
        assert!(page.contains(words), "no {words:?} in {page}");
    }
}

/// The pages of the crate and the platform's own have one accent colour, in the light theme and in the dark one.
#[tokio::test]
async fn all_pages_have_one_blue() {
    let platform = start("one-blue");
    let own = Request::to("GET", platform.url("/style.css")).send().await.text();
    let page = Request::to("GET", platform.url("/oauth2/auth")).send().await.text();
    let accents = page.match_indices("--accent:").filter_map(|(place, name)| page.get(place + name.len()..)?.get(..7));
    let [light, dark] = accents.collect::<Vec<_>>()[..] else { panic!("{page}") };
    let expected = format!("--accent: light-dark({light}, {dark});");
    assert!(own.contains(&expected), "{expected}");
}

/// A page warns of the place that its answer goes to, of an application without a secret, or of nothing.
#[tokio::test]
async fn the_consent_page_has_the_warning_that_applies() {
    let platform = start("warnings");
    let devon = sign_in(&platform, DEVON).send().await.cookies();
    let admin = sign_in(&platform, ADMIN).send().await.cookies();
    let alice = sign_in(&platform, ALICE).send().await.cookies();
    let (device, secret) = ("The program on your device cannot be verified", "cannot prove who it is");
    for (client_type, application_type, uri, warnings) in [
        ("confidential", "web", "https://changelog.example/cb", [false, false]),
        ("confidential", "web", "http://127.0.0.1/cb", [true, false]),
        ("confidential", "web", "com.example.changelog:/cb", [true, false]),
        ("confidential", "native", "https://changelog.example/cb", [false, true]),
        ("public", "web", "https://changelog.example/cb", [false, true]),
        ("public", "native", "http://[::1]/cb", [true, false]),
    ] {
        let kind = [("client_type", client_type), ("application_type", application_type), ("redirect_uris", uri)];
        let form = [&kind[..], &[("sample_logo", "on"), ("action", "submit")]].concat();
        let id = register_and_approve(&platform, [&devon, &admin], &form).await;
        let challenge = "code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256";
        let ask = platform.url(&format!("/oauth2/auth?response_type=code&client_id={id}&{challenge}"));
        let page = Request::to("GET", ask).cookies(&alice).send().await.text();
        assert!(page.contains("name=\"handle\""), "{page}");
        let found = [page.contains(device), page.contains(secret)];
        assert_eq!(found, warnings, "{client_type} {application_type} {uri}");
    }
}

#[tokio::test]
async fn consent_to_nothing_is_no_denial() {
    let platform = start("nothing");
    let alice = sign_in(&platform, ALICE).send().await.cookies();
    let page = Page::open(&ask(&platform), &alice).await;
    let answer = allow(&platform, &page, &[]).await;
    assert_eq!(answer.status, 422);
    let again = Page { html: answer.text(), ..page.clone() };
    assert!(again.html.contains("Nothing is chosen.") && !again.html.contains(" checked>"), "{}", again.html);
    // Without the address of the page, no form is shown, and no answer is sent to the application either.
    let answer = allow(&platform, &page, &[("return_to", "/")]).await;
    assert_eq!(answer.status, 400);
    // Both questions are still open.
    for page in [page, again] {
        let callback = page.decide(&[("scope", "repo-issue:rw"), ("decision", "allow")]).await;
        assert!(callback.query_pairs().any(|(name, _)| name == "code"), "{callback}");
    }
}

#[tokio::test]
async fn none_of_the_listed_repositories_is_no_denial() {
    let platform = start("no-repository");
    let devon = sign_in(&platform, DEVON).send().await.cookies();
    let admin = sign_in(&platform, ADMIN).send().await.cookies();
    let alice = sign_in(&platform, ALICE).send().await.cookies();
    let kind = [("client_type", "confidential"), ("application_type", "web"), ("sample_logo", "on")];
    let place = [("redirect_uris", "https://changelog.example/cb"), ("resource_scope", "specified")];
    let rest = [("resources", "alice/garden\r\nalice/diary"), ("action", "submit")];
    let id = register_and_approve(&platform, [&devon, &admin], &[&kind[..], &place, &rest].concat()).await;

    let question = platform.url(&format!("/oauth2/auth?response_type=code&client_id={id}"));
    let page = Page::open(&Url::parse(&question).unwrap(), &alice).await;
    let chosen = |page: &Page| page.html.matches("\" checked>").count();
    assert_eq!(chosen(&page), 2, "the repositories: {}", page.html);
    let answer = allow(&platform, &page, &[("scope", "repo-issue:r"), ("lists", "resources")]).await;
    assert_eq!(answer.status, 422);
    let again = Page { html: answer.text(), ..page.clone() };
    assert!(again.html.contains("No resource is chosen.") && chosen(&again) == 0, "{}", again.html);
    let callback = again.decide(&[("resource", "alice/garden"), ("decision", "allow")]).await;
    assert!(callback.query_pairs().any(|(name, _)| name == "code"), "{callback}");
}

#[tokio::test]
async fn the_sign_in_says_what_it_is_for() {
    let platform = start("purpose");
    let page = Request::to("GET", ask(&platform)).send().await;
    let page = Request::to("GET", location(&platform, &page)).send().await.text();
    assert!(page.contains("<strong>Release Notes</strong> would like to use your account."), "{page}");
    let page = Request::to("GET", platform.url("/sign-in?return_to=/oauth2/auth/applications")).send().await.text();
    assert!(!page.contains("would like to use"), "{page}");
}

#[tokio::test]
async fn a_page_that_is_not_there_keeps_its_navigation() {
    let platform = start("navigation");
    let alice = sign_in(&platform, ALICE).send().await.cookies();
    for path in ["/nowhere", "/applications/nowhere"] {
        let answer = Request::to("GET", platform.url(path)).cookies(&alice).send().await;
        assert_eq!(answer.status, 404, "{path}");
        let page = answer.text();
        assert!(page.contains("Alice Archer") && page.contains(&format!("href=\"{AUTHORIZED}\"")), "{path}: {page}");
    }
    let page = Request::to("GET", platform.url("/nowhere")).send().await.text();
    assert!(page.contains("href=\"/sign-in\""), "{page}");
}

/// All grants, and an approval that the application has not used yet.
#[tokio::test]
async fn one_answer_revokes_all_that_an_application_may_do() {
    let platform = start("revocation");
    let alice = sign_in(&platform, ALICE).send().await.cookies();
    let list = async || Page::open(&Url::parse(&platform.url(AUTHORIZED)).unwrap(), &alice).await;
    assert!(list().await.html.contains("No application can use your account"));
    let (waiting, browser) = start_connecting(&platform).await;
    let callback = approve(&alice, &waiting).await;
    let page = list().await.html;
    assert!(page.contains("Read, open and edit issues") && page.contains("Access not used yet"), "{page}");
    for _ in 0..2 {
        connect(&platform, &alice).await;
    }
    let page = list().await;
    assert_eq!(page.html.matches("<section").count(), 1, "{}", page.html);
    assert!(page.html.contains("Access last renewed just now"), "{}", page.html);

    let client = platform.about("client_id");
    let devon = Page { cookies: sign_in(&platform, DEVON).send().await.cookies(), ..page.clone() };
    for refused in
        [page.submit(&[("client_id", client), ("token", "x")]).await, devon.submit(&[("client_id", client)]).await]
    {
        assert_eq!(refused.status, 400, "its token is that of the user and the browser");
    }
    assert!(list().await.html.contains("Release Notes"));
    let revoked = page.submit(&[("client_id", client)]).await;
    let page = Page::open(&location(&platform, &revoked), &page.cookies).await.html;
    assert!(page.contains("The access was revoked.") && page.contains("No application can use"), "{page}");
    let refused = Request::to("GET", callback).cookies(&browser).send().await;
    assert!(!(300..400).contains(&refused.status), "{refused:?}");
    assert!(list().await.html.contains("No application can use"));
}

/// A form without a file, submitted from the preview: its logo is the sample.
#[tokio::test]
async fn a_sample_logo_stands_in_for_a_file() {
    let platform = start("sample-logo");
    let devon = sign_in(&platform, DEVON).send().await.cookies();
    let rest = [("client_type", "confidential"), ("application_type", "web")];
    let form = [&rest[..], &[("redirect_uris", "https://changelog.example/callback"), ("action", "preview")]].concat();
    let refused = register(&platform, &devon, &form).await;
    assert_eq!(refused.status, 422, "a logo is required");
    let answer = register(&platform, &devon, &[&form[..], &[("sample_logo", "on")]].concat()).await;
    assert_eq!(answer.status, 200);
    let preview = answer.text();
    assert!(preview.contains("<button form=\"application\" name=\"action\" value=\"submit\">"), "{preview}");
    assert!(preview.contains("id=\"application\""), "{preview}");
    // The frame has the consent page itself, which can send nothing.
    let (_, frame) = preview.split_once("<iframe ").unwrap();
    let frame = frame.split_once('>').unwrap().0;
    for words in ["sandbox=\"allow-same-origin\"", "wants to access your", "Read issues", "Published by", "/logo&#34;"]
    {
        assert!(frame.contains(words), "no {words} in {frame}");
    }
    let draft = value_after(&preview, "name=\"draft\"");
    let form = [&form[..3], &[("draft", draft), ("action", "submit")]].concat();
    let submitted = location(&platform, &register(&platform, &devon, &form).await);
    let logo = get(&platform, &format!("{}/logo", submitted.path()), &devon).await.body;
    assert_eq!(&logo[..], include_bytes!("../../assets/sample_logo.png"));
}

/// The pages with something to copy run one script of this service. No page has an inline script or style.
#[tokio::test]
async fn scripts_run_from_their_file_alone_and_where_they_are_needed() {
    let platform = start("scripts");
    let devon = sign_in(&platform, DEVON).send().await.cookies();
    let own = format!("/applications/{}", platform.about("client_id"));
    let ask = ask(&platform);
    let consent = ask.as_str().strip_prefix(platform.about("issuer")).unwrap();
    for (path, has_script) in
        [(&*own, true), ("/", false), (consent, false), (AUTHORIZED, false), ("/applications/new", false)]
    {
        let answer = get(&platform, path, &devon).await;
        let policy = answer.header("content-security-policy").unwrap().to_owned();
        let page = answer.text();
        assert_eq!(policy.contains("; script-src 'self';"), has_script, "{path}: {policy}");
        assert!(policy.contains("default-src 'none';") && !policy.contains("unsafe"), "{path}: {policy}");
        let scripts = page.matches("<script").count();
        let files = page.matches("<script src=\"/copy.js\" defer></script>").count();
        assert_eq!((scripts, files), (usize::from(has_script), usize::from(has_script)), "{path}");
        assert!(!page.contains(" style=") && !page.contains(" onclick="), "{path}");
    }
}

/// Where Release Notes asks for everything that it may ask for.
fn ask(platform: &Started) -> Url {
    let client = platform.about("client_id");
    Url::parse(&platform.url(&format!("/oauth2/auth?response_type=code&client_id={client}&state=x"))).unwrap()
}

async fn question(platform: &Started, cookies: &str) -> Answer {
    Request::to("GET", ask(platform)).cookies(cookies).send().await
}

pub(crate) async fn get(platform: &Started, path: &str, cookies: &str) -> Answer {
    Request::to("GET", platform.url(path)).cookies(cookies).send().await
}

/// Presses "Allow" with only these fields besides those of the request.
async fn allow(platform: &Started, page: &Page, fields: &[(&str, &str)]) -> Answer {
    let own = |name: &str| value_after(&page.html, &format!("name=\"{name}\"")).replace("&#38;", "&");
    let (handle, return_to) = (own("handle"), own("return_to"));
    let request = [("handle", &*handle), ("decision", "allow"), ("return_to", &*return_to)];
    let is_replaced = |name: &str| fields.iter().any(|(own, _)| *own == name);
    let kept = request.into_iter().filter(|(name, _)| !is_replaced(name));
    let form: Vec<_> = kept.chain(fields.iter().copied()).collect();
    Request::to("POST", platform.url("/oauth2/auth/consent")).cookies(&page.cookies).fields(&form).send().await
}

/// Has the third-party application connected to this account, as its user would.
async fn connect(platform: &Started, cookies: &str) {
    let (question, browser) = start_connecting(platform).await;
    let callback = approve(cookies, &question).await;
    let connected = Request::to("GET", callback).cookies(&browser).send().await;
    assert!(connected.header("location").is_some(), "{connected:?}");
}

/// The question that the third-party application sends a new browser to, and that browser's cookies there.
async fn start_connecting(platform: &Started) -> (Url, String) {
    let start = Request::to("GET", format!("{}/connect", platform.about("third_party"))).send().await;
    (location(platform, &start), start.cookies())
}

/// Allows only the scope for issues, and returns the callback with the code.
async fn approve(cookies: &str, question: &Url) -> Url {
    let page = Page::open(question, cookies).await;
    page.decide(&[("scope", "repo-issue:rw"), ("decision", "allow")]).await
}

/// Registers an application as its developer, approves it as an administrator, and returns its client id.
pub(crate) async fn register_and_approve(
    platform: &Started,
    [devon, admin]: [&str; 2],
    fields: &[(&str, &str)],
) -> String {
    let answer = register(platform, devon, fields).await;
    let id = location(platform, &answer).path().rsplit('/').next().unwrap().to_owned();
    let shown = Request::to("GET", platform.url(&format!("/review/{id}"))).cookies(admin).send().await.text();
    let approval = [("version", value_after(&shown, "name=\"version\"")), ("scope", "repo-issue:r")];
    let approve = Request::to("POST", platform.url(&format!("/review/{id}/approve"))).cookies(admin);
    let approved = approve.fields(&approval).send().await;
    assert!(approved.status < 400, "{approved:?}");
    id
}

/// Sends the registration form of an application that reads issues, with these additional fields and no file.
pub(crate) async fn register(platform: &Started, cookies: &str, fields: &[(&str, &str)]) -> Answer {
    let common = [
        ("name", "Changelog"),
        ("website", "https://changelog.example"),
        ("scope-repo-issue", "repo-issue:r"),
        ("resource_scope", "all"),
    ];
    let field = |(name, value): &(&str, &str)| {
        format!("--end\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let body: String = common.iter().chain(fields).map(field).chain(["--end--\r\n".to_owned()]).collect();
    let request: Request = Request::to("POST", platform.url("/applications/new")).cookies(cookies).body(body);
    request.header("Content-Type", "multipart/form-data; boundary=end").send().await
}
