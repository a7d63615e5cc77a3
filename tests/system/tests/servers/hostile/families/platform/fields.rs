//! One hostile word at a time, in every field, path and query.

use url::Url;

use crate::hostile::families::platform::WORDS;
use crate::hostile::families::platform::site::{ADMIN, ALICE, DEVON, Site};
use crate::hostile::values::{BROKEN, BYTES};
use crate::hostile::values::{encode, escape};
use support_servers::http::Request;

const REGISTRATION: [&str; 15] = [
    "name",
    "description",
    "website",
    "client_type",
    "application_type",
    "redirect_uris",
    "scope-repo-issue",
    "scope-h0st1le",
    "resource_scope",
    "resources",
    "draft",
    "logo",
    "sample_logo",
    "action",
    "h0st1le",
];

#[tokio::test]
async fn a_registration_form_comes_back_with_its_words_escaped() {
    let site = Site::start("registration-words");
    let cookies = site.sign_in(DEVON).await;
    let cases = REGISTRATION.iter().flat_map(|field| WORDS.iter().map(move |word| (field, word)));
    let requests = cases.map(|(field, word)| {
        let name = word.replace(['"', '\r', '\n'], "_");
        let field = format!("Content-Disposition: form-data; name=\"{field}\"\r\n\r\n{word}");
        let file = format!("Content-Disposition: form-data; name=\"logo\"; filename=\"{name}\"\r\n\r\n{word}");
        let body = format!("--end\r\n{field}\r\n--end\r\n{file}\r\n--end--\r\n");
        let request = Request::new("POST", "/applications/new").header("Cookie", &cookies).body(body);
        request.header("Content-Type", "multipart/form-data; boundary=end")
    });
    let statuses = site.send_all(requests.collect()).await;
    assert!(statuses.iter().all(|status| [400, 422].contains(status)), "{statuses:?}");
}

/// A form and its fields.
const FORMS: [(&str, &[&str]); 9] = [
    ("/oauth2/auth/consent", &["handle", "return_to", "decision", "scope", "resource", "lists"]),
    ("/sign-out", &["h0st1le"]),
    ("/oauth2/auth/applications", &["token", "client_id"]),
    ("/review/h0st1le/approve", &["version", "scope", "trusted"]),
    ("/review/h0st1le/reject", &["version", "reason"]),
    ("/review/h0st1le/privileges", &["version", "trusted"]),
    ("/review/h0st1le/reduce", &["version", "scope"]),
    ("/review/h0st1le/transfer", &["version", "owner"]),
    ("/applications/h0st1le/secret", &["version"]),
];

#[tokio::test]
async fn no_other_form_shows_a_word_without_its_escapes() {
    let site = Site::start("form-words");
    let cookies = [site.sign_in(ALICE).await, site.sign_in(ADMIN).await];
    let mut requests = Vec::new();
    for (path, fields) in FORMS {
        let cookies = &cookies[usize::from(path.starts_with("/review"))];
        for field in fields {
            let raw = BROKEN.iter().chain(&BYTES).map(|word| format!("{field}={word}"));
            let words = raw.chain(WORDS.iter().map(|word| encode(&[(field, word)])));
            // The other fields come second: the first of a name counts.
            let bodies = words.map(|word| format!("{word}&handle=x&decision=allow&version=1&reason=x"));
            requests.extend(bodies.map(|body| Request::form(path, body).header("Cookie", cookies)));
        }
    }
    let statuses = site.send_all(requests).await;
    assert!(statuses.iter().all(|status| [303, 400, 404].contains(status)), "{statuses:?}");
}

/// `*` is the word.
const TARGETS: [&str; 14] = [
    "/*",
    "/?*=*",
    "/sign-in?return_to=*",
    "/sign-in?return_to=/*",
    "/sign-in?return_to=/oauth2/auth?client_id=*",
    "/sign-in?lost=*",
    "/oauth2/auth?response_type=code&client_id=*&state=*",
    "/applications/*",
    "/applications/drafts/*/logo",
    "/review/*",
    "/review?state=*&after=*",
    "/oauth2/auth/logo?client=*&v=*",
    "/oauth2/auth/applications?*",
    "/api/repositories/*/*/issues",
];

#[tokio::test]
async fn no_address_shows_a_word_without_its_escapes() {
    let site = Site::start("address-words");
    let cookies = ["theme=dark".to_owned(), site.sign_in(ADMIN).await];
    let words = WORDS.iter().map(|word| escape(word.as_bytes())).chain(BYTES.iter().map(ToString::to_string));
    let targets: Vec<_> = words.flat_map(|word| TARGETS.map(|target| target.replace('*', &word))).collect();
    for cookies in cookies {
        let get = |target: &String| Request::new("GET", target).header("Cookie", &cookies);
        let statuses = site.send_all(targets.iter().map(get).collect()).await;
        assert!(statuses.iter().all(|status| [200, 303, 400, 401, 404].contains(status)), "{statuses:?}");
    }
}

/// Where a sign-in is asked to lead.
const ELSEWHERE: [&str; 16] = [
    "https://h0st1le.example/",
    "//h0st1le.example/",
    "///h0st1le.example/",
    "/\\h0st1le.example/",
    "\\\\h0st1le.example/",
    "/\t/h0st1le.example/",
    "\t//h0st1le.example/",
    "/\r/h0st1le.example/",
    " //h0st1le.example/",
    "/\u{2028}/h0st1le.example",
    "https:h0st1le.example",
    "javascript:h0st1le()",
    "@h0st1le.example",
    ".h0st1le.example",
    ":80@h0st1le.example",
    "",
];

#[tokio::test]
async fn a_sign_in_and_a_sign_out_lead_nowhere_else() {
    let site = Site::start("sign-in-words");
    for next in ELSEWHERE {
        let form = [("username", DEVON.0), ("password", DEVON.1), ("return_to", next)];
        for (path, form) in [("/sign-in", &form[..]), ("/sign-out", &form[2..])] {
            let answer = site.post(path, form, "").await;
            assert_eq!((answer.status, answer.header("location")), (303, Some("/")), "{path} {next:?}");
        }
    }
}

#[tokio::test]
async fn the_third_party_shows_an_answer_of_the_platform_with_its_words_escaped() {
    let site = Site::start("callback-words");
    let there = Url::parse(site.example.about("third_party")).unwrap();
    let address = there.socket_addrs(|| None).unwrap()[0];
    let get = |path: &str, query: &str| Request::get(path).query(query).host(&address.to_string());
    for word in WORDS {
        // To a question that it asked.
        let question = site.send_to(address, get("/connect", "")).await;
        let cookie = question.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        let question = Url::parse(question.header("location").unwrap()).unwrap();
        let state = question.query_pairs().find(|(name, _)| name == "state").unwrap().1.into_owned();
        let answer = [("state", &*state), ("iss", site.example.about("issuer")), ("error", word)];
        let answer = encode(&[&answer[..], &[("error_description", word)]].concat());
        let page = site.send_to(address, get("/callback", &answer).header("Cookie", cookie)).await;
        assert!(page.status == 502 && page.text().contains("h0st1le"), "{} {}", page.status, page.text());

        // And to none.
        for name in ["state", "code", "error", "error_description", "iss"] {
            for path in ["/callback", "/", "/settings", "/connect"] {
                let answer = site.send_to(address, get(path, &encode(&[(name, word), ("unknown", word)]))).await;
                assert!([200, 303, 400].contains(&answer.status), "{path} {name} {word}: {}", answer.status);
            }
        }
    }
}
