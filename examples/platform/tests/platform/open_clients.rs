//! The pages about applications that registered themselves.

use crate::{ADMIN, ALICE, location, sign_in, start, start_with};
use serde_json::{Value, json};
use support_servers::http::{Answer, Page, Request, value_after};
use support_servers::started::Started;
use url::Url;

const NAME: &str = "Notes of “Example”";

/// Registers a public client; returns its id.
async fn register(platform: &Started, more: Value) -> String {
    register_with_answer(platform, more).await["client_id"].as_str().unwrap().to_owned()
}

/// The metadata of a public client.
fn metadata(more: Value) -> Value {
    let mut metadata = json!({
        "client_name": NAME,
        "client_uri": "https://client.example/",
        "logo_uri": "https://client.example/logo.png",
        "contacts": ["ops@client.example"],
        "redirect_uris": ["http://127.0.0.1/callback"],
        "grant_types": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_method": "none",
    });
    metadata.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    metadata
}

async fn register_with_answer(platform: &Started, more: Value) -> Value {
    let request = Request::to("POST", platform.url("/oauth2/register")).header("Content-Type", "application/json");
    let answer = request.body(metadata(more).to_string()).send().await;
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()
}

fn question(platform: &Started, id: &str) -> Url {
    let challenge = "code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256";
    Url::parse(&platform.url(&format!("/oauth2/auth?response_type=code&client_id={id}&{challenge}"))).unwrap()
}

async fn get(platform: &Started, path: &str, cookies: &str) -> Answer {
    Request::to("GET", platform.url(path)).cookies(cookies).send().await
}

/// 7591-5-04, CIMD-8.5-01, MCP-1125-04, NEG-OC-05
#[tokio::test]
async fn the_consent_page_says_that_nobody_reviewed_it() {
    let platform = start_with("stranger", &["--open-clients", "approve"]);
    let alice = sign_in(&platform, ALICE).send().await.cookies();
    let id = register(&platform, json!({})).await;
    for _ in 0..2 {
        let answer = Request::to("GET", question(&platform, &id)).cookies(&alice).send().await;
        let policy = answer.header("content-security-policy").unwrap().to_owned();
        assert!(!policy.contains("client.example"), "{policy}");
        let page = answer.text();
        for words in [
            "Nobody at <strong><bdi>Platform</bdi></strong> has reviewed this application.",
            "Your answer goes to <strong><bdi>127.0.0.1</bdi></strong>",
            "It calls itself <strong><bdi>Notes of “Example”</bdi></strong>. That is its own claim.",
            "It was first seen here on <strong>",
            "any program can claim to be this application",
        ] {
            assert!(page.contains(words), "no {words:?} in {page}");
        }
        for loaded in ["/logo", "client.example", "Published by"] {
            assert!(!page.contains(loaded), "{loaded} in {page}");
        }
        assert_eq!(page.matches("<img").count(), 1, "that of the platform: {page}");
        let host = page.find("Your answer goes to").unwrap();
        assert!(host < page.find(NAME).unwrap(), "first where the answer goes, then its own claims");
        // The user is asked each time, even after an earlier consent.
        let page = Page::open(&question(&platform, &id), &alice).await;
        page.decide(&[("scope", "repo-issue:r"), ("decision", "allow")]).await;
    }
    let list = get(&platform, "/oauth2/auth/applications", &alice).await.text();
    assert!(list.contains("Unreviewed application that calls itself “Notes of “Example””"), "{list}");
    assert!(!list.contains("client.example") && list.matches("<img").count() == 1, "{list}");
}

/// MCP-1125-04
#[tokio::test]
async fn the_warning_of_the_device_is_for_clients_that_get_answers_there_alone() {
    let platform = start_with("devices", &["--open-clients", "approve"]);
    let alice = sign_in(&platform, ALICE).send().await.cookies();
    for (uris, name, [device, nameless]) in [
        (vec!["http://127.0.0.1/cb"], NAME, [true, false]),
        (vec!["http://localhost/cb"], "", [true, true]),
        (vec!["https://client.example/cb"], "", [false, true]),
    ] {
        let id = register(&platform, json!({ "redirect_uris": uris, "client_name": name })).await;
        let page = Request::to("GET", question(&platform, &id)).cookies(&alice).send().await.text();
        let found = ["It receives answers only on your own device", "It did not give a name."]
            .map(|words| page.contains(words));
        assert_eq!(found, [device, nameless], "{uris:?}: {page}");
    }
}

#[tokio::test]
async fn the_sign_in_does_not_vouch_for_the_name() {
    let platform = start_with("vouching", &["--open-clients", "approve"]);
    let id = register(&platform, json!({})).await;
    let answer = Request::to("GET", question(&platform, &id)).send().await;
    let page = Request::to("GET", location(&platform, &answer)).send().await.text();
    assert!(page.contains("An application that calls itself “Notes of “Example””"), "{page}");
}

/// 7591-3.2.1-02
#[tokio::test]
async fn the_review_shows_what_it_says_of_itself_and_takes_other_words() {
    let platform = start_with("open-review", &["--open-clients", "review"]);
    let admin = sign_in(&platform, ADMIN).send().await.cookies();
    let alice = sign_in(&platform, ALICE).send().await.cookies();
    let id = register(&platform, json!({})).await;
    let waiting = Request::to("GET", question(&platform, &id)).cookies(&alice).send().await;
    assert_eq!(waiting.status, 400, "{waiting:?}");
    let queue = get(&platform, "/review", &admin).await.text();
    assert!(queue.contains(NAME) && queue.contains("no owner: no developer submitted it"), "{queue}");
    let path = format!("/review/{id}");
    let page = get(&platform, &path, &admin).await.text();
    for words in [
        "None: no developer submitted it",
        "It registered itself",
        "Not reviewed",
        "ops@client.example",
        "https://client.example/logo.png",
    ] {
        assert!(page.contains(words), "no {words:?} in {page}");
    }
    assert_eq!(page.matches("<img").count(), 1, "that of the platform: {page}");

    let version = value_after(&page, "name=\"version\"");
    let own = [("version", version), ("scope", "repo-issue:r"), ("website", "https://client.example/")];
    let approve = Request::to("POST", platform.url(&format!("{path}/approve"))).cookies(&admin);
    let refused = approve.clone().fields(&[&own[..], &[("name", "")]].concat()).send().await;
    assert_eq!(refused.status, 409, "{refused:?}");
    let approved = approve.fields(&[&own[..], &[("name", "Example Notes")]].concat()).send().await;
    assert_eq!(approved.status, 303, "{approved:?}");
    let page = get(&platform, &path, &admin).await.text();
    assert!(
        page.contains("Users see the name and website that you entered.") && !page.contains("Not reviewed"),
        "{page}"
    );
    let page = Request::to("GET", question(&platform, &id)).cookies(&alice).send().await.text();
    assert!(page.contains("<bdi>Example Notes</bdi></strong> wants to access"), "{page}");
    assert!(!page.contains("has reviewed this application"), "{page}");
}

/// 7591-3.2.1-02
///
/// A change brings scopes and links that are no part of the form.
#[tokio::test]
async fn the_review_shows_all_members_of_a_change() {
    let platform = start_with("open-change", &["--open-clients", "review"]);
    let admin = sign_in(&platform, ADMIN).send().await.cookies();
    let registered = register_with_answer(&platform, json!({"scope": "repo-issue:r"})).await;
    let (id, token) = (registered["client_id"].as_str().unwrap(), &registered["registration_access_token"]);
    let path = format!("/review/{id}");
    let approve = async |name: &str, website: &str| {
        let page = get(&platform, &path, &admin).await.text();
        let version = value_after(&page, "name=\"version\"");
        let scopes = [("scope", "repo-issue:r"), ("scope", "account-email:r")];
        let fields = [&[("version", version), ("name", name), ("website", website)], &scopes[..]].concat();
        let request = Request::to("POST", platform.url(&format!("{path}/approve"))).cookies(&admin);
        let approved = request.fields(&fields).send().await;
        assert_eq!(approved.status, 303, "{approved:?}");
    };
    approve("Notes", "https://client.example/").await;

    let terms = "https://elsewhere.example/terms";
    let changed = json!({"client_id": id, "client_name": "Other", "scope": "account-email:r", "tos_uri": terms});
    let request = Request::to("PUT", registered["registration_client_uri"].as_str().unwrap());
    let request = request.header("Authorization", format!("Bearer {}", token.as_str().unwrap()));
    let answer = request.header("Content-Type", "application/json").body(metadata(changed).to_string()).send().await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let page = get(&platform, &path, &admin).await.text();
    let row = |label: &str| {
        let label = format!("<th scope=\"row\">{label}");
        let start = page.find(&label).unwrap_or_else(|| panic!("no {label:?} in {page}"));
        page[start..].split("</tr>").next().unwrap()
    };
    let defaults = row("Scopes of a request that names none");
    let side = |tag: &str| defaults.split(&format!("<{tag}>")).nth(1).unwrap().split('<').next().unwrap().to_owned();
    assert!(side("del").contains("(repo-issue:r)") && side("ins").contains("(account-email:r)"), "{defaults}");
    assert!(row("Terms of service").contains(&format!("<ins>{terms}</ins>")), "{page}");
    let resources = row("Protected resources");
    assert!(resources.contains("All") && !resources.contains("changed"), "{resources}");
    assert!(page.contains("id=\"foreign-links\"") && page.contains("name=\"name\" value=\"Other\""), "{page}");

    approve("Other Notes", "https://client.example/").await;
    let page = get(&platform, &path, &admin).await.text();
    assert!(page.contains("Other Notes") && page.contains(terms) && !page.contains("Proposed change"), "{page}");
}

/// A client that a policy approved can be reviewed later, but no longer rejected.
#[tokio::test]
async fn a_client_in_use_can_still_be_reviewed() {
    let platform = start_with("later-review", &["--open-clients", "approve"]);
    let admin = sign_in(&platform, ADMIN).send().await.cookies();
    let id = register(&platform, json!({})).await;
    let page = get(&platform, &format!("/review/{id}"), &admin).await.text();
    assert!(page.contains(&format!("action=\"/review/{id}/approve\"")), "{page}");
    assert!(!page.contains(&format!("action=\"/review/{id}/reject\"")), "{page}");
}

/// 7591-3-01
#[tokio::test]
async fn nobody_registers_unless_it_is_switched_on() {
    let platform = start("closed");
    let request = Request::to("POST", platform.url("/oauth2/register")).header("Content-Type", "application/json");
    assert_eq!(request.body("{}").send().await.status, 404);
}
