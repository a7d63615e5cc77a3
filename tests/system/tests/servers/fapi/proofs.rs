//! Proofs at the resource, good and bad.

use serde_json::{Value, json};
use support::keys::{Signer, encode, new_id, token_hash};
use support_servers::http::Answer;

use crate::fapi::answers::{Tokens, served, wd};
use crate::fapi::call::RESOURCE;
use crate::fapi::fixture::{Fixture, ISSUER, ONE, all};
use crate::fapi::flow::{Flow, GRANTS};

/// A way to change a proof.
type Bend = fn(&mut Value, &mut Value);

fn remove(from: &mut Value, name: &str) {
    from.as_object_mut().unwrap().remove(name);
}

const REFUSED: [(&str, Bend); 18] = [
    ("typ missing", |header, _| remove(header, "typ")),
    ("alg missing", |header, _| remove(header, "alg")),
    ("jwk missing", |header, _| remove(header, "jwk")),
    ("jti missing", |_, claims| remove(claims, "jti")),
    ("htm missing", |_, claims| remove(claims, "htm")),
    ("htu missing", |_, claims| remove(claims, "htu")),
    ("iat missing", |_, claims| remove(claims, "iat")),
    ("ath missing", |_, claims| remove(claims, "ath")),
    ("typ", |header, _| header["typ"] = "JWT".into()),
    ("htm", |_, claims| claims["htm"] = "POST".into()),
    ("htu of another path", |_, claims| claims["htu"] = format!("{ISSUER}/api/you").into()),
    ("htu of another host", |_, claims| claims["htu"] = format!("https://other.test{RESOURCE}").into()),
    ("ath of another token", |_, claims| claims["ath"] = token_hash("another").into()),
    ("another jwk", |header, _| header["jwk"] = Signer::fresh().jwk()),
    ("RS256", |header, _| header["alg"] = "RS256".into()),
    ("none", |header, _| header["alg"] = "none".into()),
    ("private jwk", |header, _| header["jwk"]["d"] = encode([7; 32]).into()),
    ("jwk as text", |header, _| header["jwk"] = header["jwk"].to_string().into()),
];

const ACCEPTED: [(&str, Bend); 6] = [
    ("query and fragment", |_, claims| claims["htu"] = format!("{ISSUER}{RESOURCE}?a=b#c").into()),
    ("capitals", |_, claims| claims["htu"] = format!("HTTPS://ISSUER.TEST:8443{RESOURCE}").into()),
    ("escapes", |_, claims| claims["htu"] = format!("{ISSUER}/%61pi/me").into()),
    ("more claims", |_, claims| claims["foo"] = json!({"bar": [1]})),
    ("more in the header", |header, _| header["foo"] = "bar".into()),
    ("more in the key", |header, _| header["jwk"]["kid"] = "any".into()),
];

/// The flow and its tokens, to be used at the resource.
async fn ready(fixture: &Fixture, grant: usize) -> (Flow<'_>, Tokens) {
    let flow = Flow::new(fixture, ONE);
    let tokens = flow.tokens(GRANTS[grant]).await;
    // The nonce of the resource is known from here on.
    served(fixture, &flow.resource(&tokens.access).send().await);
    (flow, tokens)
}

fn refused(answer: &Answer, why: &str) {
    assert!([400, 401].contains(&answer.status), "{why}: {answer:?}");
}

/// FAPI-SUITE-33, FAPI-5.3.4-01
/// `dpop-negative-tests`
#[tokio::test]
async fn bad_proofs_are_refused_at_the_resource() {
    all(async |fixture| {
        for grant in 0..2 {
            let (flow, tokens) = ready(fixture, grant).await;
            for (why, bend) in REFUSED {
                let answer = flow.resource(&tokens.access).proof_with(&flow.key, bend).send_once().await;
                refused(&answer, why);
                wd(&answer, "invalid_dpop_proof");
            }
            for (_, bend) in ACCEPTED {
                served(fixture, &flow.resource(&tokens.access).proof_with(&flow.key, bend).send_once().await);
            }
        }
    })
    .await;
}

/// FAPI-SUITE-33
#[tokio::test]
async fn the_form_of_the_line_and_of_the_token_matters() {
    all(async |fixture| {
        let (flow, tokens) = ready(fixture, 0).await;
        let call = || flow.resource(&tokens.access);
        let proof = || call().made_proof().unwrap();
        // Two lines, a list, two parts, a broken signature, nothing.
        refused(&call().header("DPoP", proof()).send_once().await, "two lines");
        let bare = || call().without_proof();
        refused(&bare().header("DPoP", format!("{}, {}", proof(), proof())).send_once().await, "a list");
        let two_parts = proof().rsplit_once('.').unwrap().0.to_owned();
        refused(&bare().header("DPoP", two_parts).send_once().await, "two parts");
        let mut broken = proof();
        let first = broken.rfind('.').unwrap() + 1;
        let other = if broken[first..].starts_with('A') { "B" } else { "A" };
        broken.replace_range(first..=first, other);
        refused(&bare().header("DPoP", broken).send_once().await, "a broken signature");
        refused(&bare().send_once().await, "no proof");
        let bearer = call().without_header("Authorization");
        let answer = bearer.header("Authorization", format!("Bearer {}", tokens.access)).send_once().await;
        refused(&answer, "as Bearer");

        served(fixture, &bare().header("DPOP", proof()).send_once().await);
        let again = proof();
        served(fixture, &bare().header("DPoP", &again).send_once().await);
        wd(&bare().header("DPoP", &again).send_once().await, "invalid_dpop_proof");
        let id = new_id();
        let same = |_: &mut Value, claims: &mut Value| claims["jti"] = id.as_str().into();
        served(fixture, &call().proof_with(&flow.key, same).send_once().await);
        wd(&call().proof_with(&flow.key, same).send_once().await, "invalid_dpop_proof");
    })
    .await;
}

/// FAPI-SUITE-33, FAPI-5.3.2.1-10, FAPI-5.3.2.1-13
/// A nonce replaces the time of a proof.
#[tokio::test]
async fn the_time_of_a_proof_counts_without_nonces_alone() {
    all(async |fixture| {
        let (flow, tokens) = ready(fixture, 0).await;
        for seconds in [-3600, 3600, 61] {
            let moved = |_: &mut Value, claims: &mut Value| {
                claims["iat"] = fixture.now().checked_add_signed(seconds).into();
            };
            let answer = flow.resource(&tokens.access).proof_with(&flow.key, moved).send_once().await;
            if fixture.variant.has_nonces {
                served(fixture, &answer);
            } else {
                wd(&answer, "invalid_dpop_proof");
            }
        }
    })
    .await;
}

/// FAPI-SUITE-33, FAPI-5.3.2.1-10
#[tokio::test]
async fn a_nonce_is_demanded_where_nonces_are_on() {
    all(async |fixture| {
        let (flow, tokens) = ready(fixture, 0).await;
        for nonce in [Value::Null, json!("made-up")] {
            let bend = |_: &mut Value, claims: &mut Value| match &nonce {
                Value::Null => remove(claims, "nonce"),
                nonce => claims["nonce"] = nonce.clone(),
            };
            let resource = flow.resource(&tokens.access).proof_with(&flow.key, bend).send_once().await;
            let endpoint = flow.refresh(&tokens.refresh, &flow.key).proof_with(&flow.key, bend).send_once().await;
            if fixture.variant.has_nonces {
                wd(&resource, "use_dpop_nonce");
                assert_eq!(endpoint.json()["error"], "use_dpop_nonce");
                assert!(resource.header("dpop-nonce").is_some() && endpoint.header("dpop-nonce").is_some());
            } else {
                served(fixture, &resource);
                assert_eq!(endpoint.status, 200);
            }
        }
    })
    .await;
}
