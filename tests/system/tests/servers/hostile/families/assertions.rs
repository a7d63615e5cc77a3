//! Forged and malformed assertions of clients.

use grantor::{Clock as _, SystemClock};
use serde_json::{Value, json};

use crate::hostile::case::{Case, run_all};
use crate::hostile::families::{ENDPOINTS, all};
use crate::hostile::server::{ISSUER, KEY_ID, Server};
use crate::hostile::values::{BYTES, CONTROLS, SCRIPTS, encode};
use support::keys::{Signer, encode as base64url, new_id};
use support_servers::http::Request;

const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

#[tokio::test]
async fn no_forged_assertion_authenticates() {
    all(Server::open(), async |server| run_all(server, &cases()).await).await;
}

/// The time of day.
fn now() -> u64 {
    u64::from(SystemClock.now().seconds())
}

/// The claims of a good assertion of the client with keys.
fn claims() -> Value {
    json!({"iss": KEY_ID, "sub": KEY_ID, "aud": ISSUER, "jti": new_id(), "exp": now() + 60, "iat": now()})
}

/// Members that take the place of those of the header.
fn headers() -> Vec<Value> {
    let texts =
        ["none", "NONE", "HS256", "ES384", "RS256", "h0st1le", "<script>h0st1le()</script>", "h0st1le\r\nX: y", ""];
    let mut headers: Vec<_> = texts.map(|alg| json!({"alg": alg})).into();
    headers.extend(texts.map(|kid| json!({"kid": kid})));
    headers.extend(texts.map(|typ| json!({"typ": format!("{typ}+jwt")})));
    headers.extend([
        json!({"alg": null}),
        json!({"alg": ["ES256"]}),
        json!({"kid": 7}),
        json!({"kid": "h0st1le".repeat(40)}),
        json!({"typ": {"h0st1le": 1}}),
        json!({"crit": ["h0st1le"], "h0st1le": true}),
        json!({"crit": []}),
        json!({"b64": false}),
        json!({"jku": "https://h0st1le.example/keys", "kid": "h0st1le"}),
        json!({"x5u": "http://127.0.0.1/h0st1le", "kid": "h0st1le"}),
        json!({"jwk": Signer::es256().another().jwk(), "kid": "h0st1le"}),
        json!({"zip": "DEF", "alg": "none"}),
    ]);
    headers
}

/// Members that take the place of claims.
fn claim_sets() -> Vec<Value> {
    let texts =
        ["h0st1le", "<script>h0st1le()</script>", "h0st1le\r\nX: y", "", "h0st1le\0", "\u{202e}h0st1le", "' or 1=1"];
    let names = ["iss", "sub", "aud"];
    let mut sets: Vec<_> = names.iter().flat_map(|name| texts.map(|text| json!({ *name: text }))).collect();
    let others = [json!(null), json!(7), json!(true), json!([]), json!({"h0st1le": 1}), json!("h0st1le".repeat(300))];
    for name in ["iss", "sub", "aud", "jti", "exp"] {
        sets.extend(
            others.iter().filter(|other| name != "exp" || **other != json!(7)).map(|other| json!({ name: other })),
        );
    }
    sets.extend([
        json!({"exp": 1}),
        json!({"exp": now() + 86_400}),
        json!({"exp": -1}),
        json!({"exp": 9_007_199_254_740_993_u64}),
        json!({"nbf": now() + 3600}),
        json!({"iat": now() + 3600}),
        json!({"iat": "h0st1le"}),
        json!({"aud": ["h0st1le"]}),
    ]);
    sets
}

fn with(mut object: Value, members: &Value) -> Value {
    object.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    object
}

/// The assertions, as they stand in a form.
fn assertions() -> Vec<String> {
    let signer = Signer::es256();
    let header = json!({"alg": "ES256"});
    let sign = |header: &Value, claims: &Value| signer.sign(header.to_string(), claims.to_string());
    let mut assertions: Vec<_> =
        headers().iter().map(|members| sign(&with(header.clone(), members), &claims())).collect();
    assertions.extend(claim_sets().iter().map(|members| sign(&header, &with(claims(), members))));
    let by_another = signer.another().sign(header.to_string(), claims().to_string());
    let good = sign(&header, &claims());
    let (signed, _) = good.rsplit_once('.').unwrap();
    assertions.extend([
        by_another,
        format!("{signed}.AA"),
        format!("{signed}.{}", base64url([0; 64])),
        format!("{signed}."),
        format!("{good}="),
        format!("{good}.h0st1le"),
        format!("{}.{}.", base64url(r#"{"alg":"none"}"#), base64url(claims().to_string())),
        signed.to_owned(),
        ".".repeat(8000),
        "h0st1le.".repeat(500),
        "h0st1le".to_owned(),
        base64url("{".repeat(5000)),
        signer.sign(format!("{{\"alg\":\"ES256\",\"x\":{}1{}}}", "[".repeat(500), "]".repeat(500)), "{}"),
        signer.sign(r#"{"alg":"ES256","alg":"none"}"#, claims().to_string()),
        signer.sign(header.to_string(), b"\xff\xfeh0st1le"),
        signer.sign(header.to_string(), "[1]h0st1le"),
    ]);
    let mut encoded: Vec<_> = assertions.iter().map(|text| encode(&[("client_assertion", text)])).collect();
    let raw = BYTES.iter().chain(&CONTROLS).chain(&SCRIPTS).map(|value| format!("client_assertion={value}"));
    encoded.extend(raw);
    encoded
}

fn cases() -> Vec<Case> {
    let own = encode(&[("client_assertion_type", JWT_BEARER)]);
    let rest = "grant_type=refresh_token&refresh_token=h0st1le&token=h0st1le";
    let assertions = assertions();
    let of_assertions =
        ENDPOINTS.into_iter().flat_map(|path| assertions.iter().map(|assertion| (path, assertion)).collect::<Vec<_>>());
    let of_assertions = of_assertions.map(|(path, assertion)| {
        let name = format!("{path} {assertion:.90}");
        // What is not UTF-8 is no form, and what names another client is not that client's.
        Case::new(name, Request::form(path, format!("{own}&{assertion}&{rest}")), &[400, 401])
    });
    let good = || {
        let header = json!({"alg": "ES256"}).to_string();
        encode(&[("client_assertion", &Signer::es256().sign(header, claims().to_string()))])
    };
    let bent = ENDPOINTS.into_iter().flat_map(|path| {
        let types = ["h0st1le", "", "urn:ietf:params:oauth:client-assertion-type:saml2-bearer"];
        let types = types.map(|text| format!("{}&{}", encode(&[("client_assertion_type", text)]), good()));
        let forms = [
            good(),
            own.clone(),
            format!("{own}&{own}&{}", good()),
            format!("{own}&{}&{}", good(), good()),
            format!("{own}&{}&client_secret=h0st1le", good()),
            format!("{own}&{}&client_id=h0st1le", good()),
        ];
        types.into_iter().chain(forms).map(move |form| {
            let name = format!("{path} {form:.90}");
            Case::new(name, Request::form(path, format!("{form}&{rest}")), &[400, 401])
        })
    });
    of_assertions.chain(bent).collect()
}
