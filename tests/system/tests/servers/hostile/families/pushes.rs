//! Hostile pushed requests, and hostile references to them.

use crate::hostile::case::{Case, run_all};
use crate::hostile::families::all;
use crate::hostile::server::{HOME, Server};
use crate::hostile::values::{BYTES, CONTROLS, SCRIPTS, encode};
use support::world::CHALLENGE;
use support_servers::http::Request;

const PATH: &str = "/oauth2/par";
const PREFIX: &str = "urn:ietf:params:oauth:request_uri:";

/// What a good push of the server's client has.
fn good(server: &Server) -> [(&'static str, String); 6] {
    [
        ("response_type", "code".to_owned()),
        ("client_id", server.id.clone()),
        ("redirect_uri", HOME.to_owned()),
        ("scope", "account-profile:r".to_owned()),
        ("code_challenge", CHALLENGE.to_owned()),
        ("code_challenge_method", "S256".to_owned()),
    ]
}

#[tokio::test]
async fn no_push_is_believed_for_more_than_its_client() {
    all(Server::open(), async |server| {
        let fields = good(server);
        let fields = fields.each_ref().map(|(name, value)| (*name, value.as_str()));
        let request = Request::form(PATH, encode(&fields)).basic(&server.id, &server.secret);
        assert_eq!(server.send(request).await.status, 201, "what is altered below is good");
        let cases = cases(server);
        assert!(cases.len() >= 300, "{}", cases.len());
        run_all(server, &cases).await
    })
    .await;
}

/// Every value of the lists that are used everywhere.
fn values() -> impl Iterator<Item = &'static str> {
    BYTES.into_iter().chain(CONTROLS).chain(SCRIPTS)
}

fn cases(server: &Server) -> Vec<Case> {
    pushes(server).chain(references(server)).collect()
}

fn pushes(server: &Server) -> impl Iterator<Item = Case> {
    let without = |name: &str| {
        let kept: Vec<_> = good(server).into_iter().filter(|(own, _)| *own != name).collect();
        encode(&kept.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>())
    };
    let names = good(server).map(|(name, _)| name);
    let more = ["state", "resource", "request", "request_uri", "dpop_jkt", "client_secret", "h0st1le"];
    let bent: Vec<_> = names.into_iter().chain(more).map(|name| (name, without(name))).collect();
    let good_form = without("");
    let bent = bent.into_iter().flat_map(|(name, rest)| {
        let with_value = move |value| (format!("push {name}={value:.60}"), format!("{rest}&{name}={value}"));
        values().map(with_value)
    });
    let twice =
        names.into_iter().map(move |name| (format!("push {name} twice"), format!("{good_form}&{name}=h0st1le")));
    let credentials = (server.id.clone(), server.secret.clone());
    bent.chain(twice).map(move |(name, form)| {
        let request = Request::form(PATH, form).basic(&credentials.0, &credentials.1);
        // A state may be anything, and what is unknown is not read.
        Case::new(name, request, &[201, 400, 401])
    })
}

/// Links with references that were never issued.
fn references(server: &Server) -> impl Iterator<Item = Case> {
    let long = "A".repeat(65);
    let shaped = [
        format!("{PREFIX}{long}"),
        format!("{PREFIX}{long}A"),
        format!("{PREFIX}{}", &long[1..]),
        format!("{PREFIX}{PREFIX}"),
        PREFIX.to_owned(),
        format!("{PREFIX}{long}&request_uri={PREFIX}{long}"),
        "http://h0st1le.example/request".to_owned(),
        "http://127.0.0.1/h0st1le".to_owned(),
        "file:///etc/passwd".to_owned(),
        "javascript:h0st1le()".to_owned(),
        format!("{PREFIX}{}", "h0st1le".repeat(500)),
    ];
    let after_prefix = values().map(|value| format!("{PREFIX}{value}"));
    let all = values().map(str::to_owned).chain(after_prefix).chain(shaped);
    let client = encode(&[("client_id", &server.id)]);
    all.map(move |reference| {
        let request = Request::get("/oauth2/auth").query(format!("{client}&request_uri={reference}"));
        Case::new(format!("link {reference:.60}"), request, &[400])
    })
}
