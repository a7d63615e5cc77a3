//! Hostile requests to the address at which a client manages its registration.

use serde_json::{Value, json};

use super::{LIMIT, PATH, post, sound};
use crate::hostile::case::{CLOSED, Case};
use crate::hostile::families::{framing, methods};
use crate::hostile::server::Server;
use support_servers::http::Request;

const UNKNOWN: &[u16] = &[401, 404];

/// A client that registered itself, as it knows itself.
pub(super) struct Own {
    path: String,
    id: String,
    token: String,
}

impl Own {
    pub(super) async fn register(server: &Server) -> Self {
        let answer = server.send(post(sound().to_string())).await;
        assert_eq!(answer.status, 201);
        let answer = answer.json();
        let text = |name: &str| answer[name].as_str().unwrap().to_owned();
        let id = text("client_id");
        Self { path: format!("{PATH}/{id}"), id, token: text("registration_access_token") }
    }

    fn request(&self, method: &str) -> Request {
        Request::new(method, &self.path).bearer(&self.token).header("Content-Type", "application/json")
    }

    fn update(&self, members: Value) -> String {
        let mut metadata = sound();
        metadata["client_id"] = self.id.clone().into();
        metadata.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        metadata.to_string()
    }
}

/// Paths, tokens and methods of a caller without the token.
pub(super) fn without_the_token(own: &Own) -> Vec<Case> {
    let mut cases = Vec::new();
    for id in [
        "h0st1le",
        "..",
        "%2e%2e",
        "%2e%2e%2ftoken",
        ".",
        "%00",
        "%ff",
        "%",
        "%zz",
        "%3Cscript%3E",
        "a%2fb",
        "a%5cb",
        "a;b=c",
        "*",
        "{client_id}",
        "%7bclient_id%7d",
        "-1",
        "null",
        "https:%2f%2fh0st1le.example%2fclient.json",
    ] {
        for method in ["GET", "PUT", "DELETE"] {
            let request = Request::new(method, format!("{PATH}/{id}")).bearer(&own.token);
            cases.push(Case::new(format!("{method} {id}"), request, &[400, 401, 404, 405]));
        }
    }
    for length in [513, 2_000] {
        let request = Request::new("GET", format!("{PATH}/{}", "x".repeat(length))).bearer(&own.token);
        cases.push(Case::new(format!("an id of {length} bytes"), request, &[400, 401, 404, 414, 431]));
    }
    for path in [format!("{PATH}/"), format!("{}/", own.path), format!("{}/h0st1le", own.path)] {
        cases.push(Case::new(path.clone(), Request::new("GET", path).bearer(&own.token), UNKNOWN));
    }
    for value in [
        "Bearer",
        "Bearer ",
        "Bearer h0st1le",
        "Basic aDBzdDFsZTpoMHN0MWxl",
        "Bearer \u{0}",
        "bearer,",
        "Bearer a b",
        "DPoP h0st1le",
    ] {
        for method in ["GET", "PUT", "DELETE"] {
            let request = Request::new(method, &own.path).header("Authorization", value);
            cases.push(Case::new(format!("{method} {}", value.escape_debug()), request, &[400, 401]));
        }
    }
    let longer = format!("Bearer {}x", own.token);
    cases.push(Case::new("a longer token", Request::new("GET", &own.path).header("Authorization", longer), &[401]));
    let twice = Request::new("GET", &own.path).bearer(&own.token).bearer(&own.token);
    cases.push(Case::new("two tokens", twice, &[200, 400, 401]));
    let query = Request::new("GET", &own.path).query(format!("access_token={}", own.token));
    cases.push(Case::new("a token in the query", query, &[401]));
    for method in methods::METHODS.into_iter().filter(|method| !["GET", "PUT", "DELETE", "OPTIONS"].contains(method)) {
        cases.push(Case::new(format!("{method} with its own token"), own.request(method), &[405]));
    }
    cases
}

/// Replacements that the client itself sends.
pub(super) fn of_itself(own: &Own) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut put = |name: String, body: Vec<u8>, statuses: &[u16]| {
        cases.push(Case::new(name, own.request("PUT").body(body), statuses));
    };
    for body in ["", "null", "[]", "{", "{}", "{}{}", "\u{feff}{}", "{\"client_id\":1}", "{\"client_id\":\"h0st1le\"}"]
    {
        put(body.to_owned(), body.into(), &[400]);
    }
    for members in [
        json!({"client_id": "h0st1le"}),
        json!({"client_id": [own.id]}),
        json!({"client_secret": "h0st1le-h0st1le-h0st1le-h0st1le-h0st1le"}),
        json!({"registration_access_token": "h0st1le"}),
        json!({"registration_client_uri": "https://h0st1le.example/"}),
        json!({"client_secret_expires_at": 0}),
        json!({"client_id_issued_at": 1}),
        json!({"token_endpoint_auth_method": "client_secret_basic"}),
        json!({"token_endpoint_auth_method": "h0st1le"}),
        json!({"redirect_uris": []}),
        json!({"redirect_uris": ["javascript:h0st1le()"]}),
        json!({"redirect_uris": ["https://h0st1le.example/#x"]}),
        json!({"redirect_uris": {"0": "https://h0st1le.example/"}}),
        json!({"redirect_uris": vec!["https://h0st1le.example/"; 100]}),
        json!({"grant_types": ["client_credentials"]}),
        json!({"grant_types": ["password"]}),
        json!({"response_types": ["token"]}),
        json!({"scope": "h0st1le"}),
        json!({"scope": ["repo-code:r"]}),
        json!({"client_name": "a\u{202e}h0st1le"}),
        json!({"client_uri": "javascript:h0st1le()"}),
        json!({"jwks": {}, "jwks_uri": "https://h0st1le.example/"}),
    ] {
        put(members.to_string(), own.update(members).into(), &[400]);
    }
    // What only people read is cut or left out.
    for members in
        [json!({"client_name": "x".repeat(51)}), json!({"logo_uri": "data:h0st1le"}), json!({"contacts": "x"})]
    {
        put(members.to_string(), own.update(members).into(), &[200]);
    }
    let twice = own.update(json!({})).replacen('{', "{\"client_name\":\"h0st1le\",", 1);
    put("a member twice".to_owned(), twice.into(), &[400]);
    let deep =
        own.update(json!({})).replacen('{', &format!("{{\"h0st1le\":{}{},", "[".repeat(200), "]".repeat(200)), 1);
    put("a depth of 200".to_owned(), deep.into(), &[400]);
    for length in [LIMIT + 1, 1 << 20] {
        put(format!("{length} bytes"), vec![b' '; length], &[413, CLOSED]);
    }
    let form = Request::new("PUT", &own.path)
        .bearer(&own.token)
        .header("Content-Type", "text/plain")
        .body(own.update(json!({})));
    cases.push(Case::new("no JSON by its type", form, &[400]));
    cases.extend(framing::bodies(&own.path, &own.request("PUT").head()));
    // It is still there, and as it was.
    cases.push(Case::new("a read", own.request("GET"), &[200]));
    cases
}
