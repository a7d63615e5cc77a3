//! Hostile words that the rules allow, stored, and shown to every user who reads them.

use crate::hostile::families::platform::site::{ADMIN, ALICE, DEVON, Site};
use support_servers::http::{Request, value_after};

/// Texts of an application that are allowed, each with an escape in every page.
const TEXTS: [(&str, &str); 4] = [
    ("name", "</title><h0st1le onload=x> x\" h0st1le=\"1"),
    ("description", "</p><h0st1le>\n&quot;h0st1le x' h0st1le='1"),
    ("website", "https://h0st1le.example/?x=&y=(h0st1le)"),
    ("redirect_uris", "https://h0st1le.example/callback"),
];

/// Websites that no link may have.
const WEBSITES: [&str; 6] = [
    "javascript:h0st1le()",
    "JavaScript://h0st1le.example/%0ah0st1le()",
    "data:text/html,h0st1le",
    "https://h0st1le.example/\" h0st1le=\"1",
    " javascript:h0st1le()",
    "//h0st1le.example",
];

#[tokio::test]
async fn stored_words_are_escaped_on_every_page_that_shows_them() {
    let site = Site::start("stored-words");
    let (devon, admin, alice) = (site.sign_in(DEVON).await, site.sign_in(ADMIN).await, site.sign_in(ALICE).await);
    for website in WEBSITES {
        let texts = TEXTS.map(|(name, text)| (name, if name == "website" { website } else { text }));
        let answer = site.send(registration(&texts).header("Cookie", &devon)).await;
        assert_eq!(answer.status, 422, "the form comes back for {website}");
    }

    let answer = site.send(registration(&TEXTS).header("Cookie", &devon)).await;
    assert_eq!(answer.status, 303, "{}", answer.text());
    let id = answer.header("location").unwrap().rsplit('/').next().unwrap().to_owned();
    let shown = async |path: &str, cookies: &str| {
        let answer = site.get(path, cookies).await;
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.text().contains("h0st1le"), "{path} shows the application: {}", answer.text());
        answer.text()
    };
    for path in ["/applications".to_owned(), format!("/applications/{id}"), format!("/applications/{id}/change")] {
        shown(&path, &devon).await;
    }
    for path in ["/review".to_owned(), format!("/review/{id}")] {
        shown(&path, &admin).await;
    }
    let page = shown(&format!("/review/{id}"), &admin).await;
    let approval = [("version", value_after(&page, "name=\"version\"")), ("scope", "repo-issue:r")];
    let answer = site.post(&format!("/review/{id}/approve"), &approval, &admin).await;
    assert_eq!(answer.status, 303, "{}", answer.text());
    let page = shown(&format!("/applications/{id}"), &devon).await;
    let version = [("version", value_after(&page, "name=\"version\""))];
    let answer = site.post(&format!("/applications/{id}/secret"), &version, &devon).await;
    assert!(answer.status == 200 && answer.text().contains("client_secret"), "{}", answer.text());

    let question = format!("/oauth2/auth?response_type=code&client_id={id}&state=%22%3E%3Ch0st1le%3E");
    let page = shown(&question, &alice).await;
    assert!(page.contains("name=\"handle\""), "{page}");
    let answer = site.get(&format!("{question}&scope=%3Ch0st1le%3E"), "").await;
    assert_eq!(answer.status, 303, "first the sign-in");
}

/// The form of a whole application, with these texts.
fn registration(texts: &[(&str, &str)]) -> Request {
    let rest = [
        ("client_type", "confidential"),
        ("application_type", "web"),
        ("scope-repo-issue", "repo-issue:r"),
        ("resource_scope", "all"),
        ("action", "submit"),
    ];
    let mut body = b"--end\r\nContent-Disposition: form-data; name=\"logo\"; filename=\"<h0st1le>\"\r\n\r\n".to_vec();
    body.extend(include_bytes!("../../../../../../../examples/platform/assets/release_notes.png"));
    for (name, value) in texts.iter().chain(&rest) {
        body.extend(format!("\r\n--end\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}").as_bytes());
    }
    body.extend(b"\r\n--end--\r\n");
    Request::new("POST", "/applications/new").header("Content-Type", "multipart/form-data; boundary=end").body(body)
}
