//! Members of wrong types, and members that a client must not send.

use serde_json::json;

use super::{registration, sound, with};
use crate::hostile::case::Case;

/// Members that are a string, and members that are a list of strings.
const TEXTS: [&str; 10] = [
    "application_type",
    "token_endpoint_auth_method",
    "client_name",
    "client_uri",
    "logo_uri",
    "tos_uri",
    "policy_uri",
    "scope",
    "software_id",
    "software_version",
];
/// Members that only people read: a value that cannot be used is left out.
const READ_BY_PEOPLE: [&str; 8] =
    ["client_name", "client_uri", "logo_uri", "tos_uri", "policy_uri", "software_id", "software_version", "contacts"];
const LISTS: [&str; 4] = ["redirect_uris", "grant_types", "response_types", "contacts"];

/// Members of wrong types, members that the server ignores, and members that only the server may set.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![registration(&sound(), &[201])];
    let of = |name: &str| if READ_BY_PEOPLE.contains(&name) { 201 } else { 400 };
    let others = [json!(0), json!(-1.5), json!(true), json!(false), json!({}), json!({"h0st1le": "h0st1le"})];
    for name in TEXTS {
        let lists = [json!([]), json!(["h0st1le"]), json!([["h0st1le"]]), json!([null])];
        let wrong = others.iter().chain(&lists);
        cases.extend(wrong.map(|value| registration(&with(name, value.clone()), &[of(name)])));
    }
    for name in LISTS {
        let texts =
            ["h0st1le", "https://h0st1le.example/", "authorization_code", "code", "[\"code\"]"].map(|own| json!(own));
        let lists = others.iter().map(|own| json!([own])).chain([json!([["code"]]), json!(["code", null])]);
        let wrong = others.iter().cloned().chain(texts).chain(lists);
        // One text counts as a list of contacts, and comes back.
        let wrong = wrong.filter(|value| name != "contacts" || !value.is_string());
        cases.extend(wrong.map(|value| registration(&with(name, value), &[of(name)])));
    }
    for name in TEXTS.into_iter().chain(LISTS) {
        for absent in [json!(null), json!("")] {
            let status = if name == "redirect_uris" { 400 } else { 201 };
            cases.push(registration(&with(name, absent), &[status]));
        }
    }
    for name in [
        "client_id",
        "client_secret",
        "client_secret_expires_at",
        "client_id_issued_at",
        "registration_access_token",
        "registration_client_uri",
        "software_statement",
        "jwks_uri",
        "initiate_login_uri",
        "request_uris",
        "sector_identifier_uri",
        "backchannel_logout_uri",
        "client_name#h0st1le",
        "redirect_uris[]",
        "__proto__",
        "constructor",
        "h0st1le",
        "h0st1le\u{0}",
        "h0st1le\r\nX-Hostile: h0st1le",
    ] {
        for value in [json!("https://h0st1le.example/"), json!(["h0st1le"]), json!({"h0st1le": ["h0st1le"]}), json!(1)]
        {
            cases.push(registration(&with(name, value), &[201]));
        }
    }
    cases.push(registration(&with("jwks", json!({"keys": [{"kty": "RSA", "n": "h0st1le"}]})), &[201, 400]));
    let mut two = with("jwks", json!({"keys": []}));
    two["jwks_uri"] = json!("https://h0st1le.example/");
    cases.push(registration(&two, &[400]));
    for (name, value) in [
        ("token_endpoint_auth_method", json!("h0st1le")),
        ("token_endpoint_auth_method", json!("NONE")),
        ("token_endpoint_auth_method", json!("private_key_jwt")),
        ("grant_types", json!(["client_credentials"])),
        ("grant_types", json!(["password", "implicit", "h0st1le"])),
        ("grant_types", json!([])),
        ("response_types", json!(["token"])),
        ("response_types", json!(["code token"])),
        ("scope", json!("h0st1le")),
        ("scope", json!("\"\\")),
        ("scope", json!("admin root *")),
    ] {
        cases.push(registration(&with(name, value), &[400]));
    }
    cases
}
