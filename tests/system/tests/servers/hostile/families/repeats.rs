//! Parameters that are there twice, or empty, or nearly there.

use crate::hostile::case::Case;
use crate::hostile::families::{form, on_both};
use crate::hostile::server::{HOME, Server};
use support_servers::http::Request;

#[tokio::test]
async fn a_parameter_that_repeats_is_never_chosen_from() {
    on_both(cases).await;
}

/// Every parameter that the authorization endpoint knows, and the status if it is there twice.
const AUTHORIZATION: [(&str, u16); 7] = [
    ("response_type", 400),
    ("client_id", 400),
    ("redirect_uri", 400),
    ("state", 400),
    ("scope", 302),
    ("code_challenge", 302),
    ("code_challenge_method", 302),
];

const FORMS: [(&str, &[&str]); 3] = [
    (
        "/oauth2/token",
        &[
            "grant_type",
            "code",
            "redirect_uri",
            "code_verifier",
            "refresh_token",
            "scope",
            "client_id",
            "client_secret",
        ],
    ),
    ("/oauth2/revoke", &["token", "token_type_hint", "client_id", "client_secret"]),
    ("/oauth2/introspect", &["token", "token_type_hint", "client_id", "client_secret"]),
];

/// What is said of a parameter twice; `*` is its name.
const TWICE: [&str; 8] = [
    "*=h0st1le&*=h0st1le",
    "*=h0st1le&*=other",
    "*=&*=h0st1le",
    "*=h0st1le&*=",
    "*&*",
    "*=&*=",
    "*=a&x=b&*=c",
    "*=h0st1le&&&*",
];

/// What is said of it once, or not at all.
const ONCE: [&str; 10] = [
    "*=",
    "*",
    "*=&",
    "*[]=h0st1le&*[]=h0st1le",
    "*[0]=h0st1le",
    "%00*=h0st1le",
    "*%00=h0st1le&*%00=h0st1le",
    "%20*=h0st1le&%20*=h0st1le",
    "=*&=*",
    "*;*=h0st1le;*=h0st1le",
];

pub(crate) fn cases(server: &Server) -> Vec<Case> {
    let queries = AUTHORIZATION.into_iter().flat_map(|(name, repeated)| {
        let good = [("response_type", "code"), ("client_id", &*server.id), ("redirect_uri", HOME)];
        let good = good.into_iter().filter(move |(own, _)| *own != name);
        let good: String = good.map(|(name, value)| format!("{name}={value}&")).collect();
        // Without the one parameter that makes a request, a page is the answer as well.
        let once = vec![200, 302, 400];
        let twice = TWICE.into_iter().map(move |pattern| (pattern, vec![repeated]));
        twice.chain(ONCE.into_iter().map(move |pattern| (pattern, once.clone()))).map(move |(pattern, statuses)| {
            let query = format!("{good}{}", pattern.replace('*', name));
            Case::new(format!("{name}: {pattern}"), Request::get("/oauth2/auth").query(query), &statuses)
        })
    });
    let forms = FORMS.into_iter().flat_map(|(path, names)| {
        names.iter().flat_map(move |name| {
            let twice = TWICE.into_iter().map(|pattern| (pattern, vec![400]));
            let once = ONCE.into_iter().map(|pattern| (pattern, vec![400]));
            twice.chain(once).map(move |(pattern, statuses)| {
                let request = form(server, path, pattern.replace('*', name));
                Case::new(format!("{path} {name}: {pattern}"), request, &statuses)
            })
        })
    });
    queries.chain(forms).collect()
}
