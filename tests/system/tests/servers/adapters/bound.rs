//! Tokens that are bound to a key, at the resources behind both examples [RFC 9449 section 7].

use grantor::config::{DpopBoundTokens, Profile};
use grantor::protected_resource::ProtectedResource;
use grantor::secret::NonceKey;
use grantor::wire::Cors;
use serde_json::Value;
use support::keys::{Signer, token_hash};
use support::world::{ISSUER, START, World};
use support_servers::http::{Answer, Request};

use crate::adapters::trio::{COOKIE, Trio};

/// A world that binds tokens where a proof is sent, and asks for nonces.
async fn with_nonces() -> World {
    let change = |config: &mut grantor::Config| {
        config.dpop.tokens = DpopBoundTokens::Optional;
        config.dpop.nonce_keys = vec![NonceKey::new([7; 32])];
    };
    World::with(Profile::Platform, change).await
}

async fn without_nonces() -> World {
    World::with(Profile::Platform, |config| config.dpop.tokens = DpopBoundTokens::Optional).await
}

fn proof(key: &Signer, method: &str, url: &str, token: Option<&str>, nonce: Option<&str>) -> String {
    key.proof(method, url, START.into(), |_, claims| {
        if let Some(token) = token {
            claims["ath"] = token_hash(token).into();
        }
        if let Some(nonce) = nonce {
            claims["nonce"] = nonce.into();
        }
    })
}

/// An access token that is bound to the key.
async fn token(trio: &Trio, key: &Signer, nonce: Option<&str>) -> String {
    let code = trio.code(&trio.query(&[("scope", "account-profile:r")]), &["account-profile:r"]).await;
    let form = [("grant_type", "authorization_code"), ("code", &code)];
    let proof = proof(key, "POST", &format!("{ISSUER}/oauth2/token"), None, nonce);
    let client = trio.client();
    let request = Request::post("/oauth2/token", &form).basic(&client.id, &client.secret).header("DPoP", proof);
    let answer: Value = trio.answers(200, &request).await.json();
    assert_eq!(answer["token_type"], "DPoP");
    answer["access_token"].as_str().unwrap().to_owned()
}

fn get(token: &str) -> Request {
    Request::get("/api/me").header("Authorization", format!("DPoP {token}"))
}

fn count(answer: &Answer, name: &str) -> usize {
    answer.headers.iter().filter(|(own, _)| own == name).count()
}

/// NEG-DPOP-01, 9449-7.1-01, 9449-7.1-02
#[tokio::test]
async fn guards_need_a_proof_for_a_bound_token() {
    let trio = Trio::of(without_nonces).await;
    let key = Signer::es256();
    let token = token(&trio, &key, None).await;
    let url = format!("{ISSUER}/api/me");
    let own = |key: &Signer, method: &str, url: &str| proof(key, method, url, Some(&token), None);
    let good = own(&key, "GET", &url);
    trio.answer_all(&[
        (401, Request::get("/api/me").header("Authorization", format!("Bearer {token}"))),
        (401, Request::get("/api/me").header("Authorization", format!("Bearer {token}")).header("DPoP", &good)),
        (401, get(&token)),
        (401, get(&token).header("DPoP", own(&key.another(), "GET", &url))),
        (401, get(&token).header("DPoP", proof(&key, "GET", &url, None, None))),
        (401, get(&token).header("DPoP", own(&key, "POST", &url))),
        (401, get(&token).header("DPoP", own(&key, "GET", &format!("{ISSUER}/api")))),
        (401, get(&token).header("DPoP", own(&key, "GET", &url)).header("DPoP", own(&key, "GET", &url))),
        (200, get(&token).header("DPoP", &good)),
        (401, get(&token).header("DPoP", &good)),
        (200, get(&token).query("x=%zz").header("dpop", own(&key, "GET", &url))),
        (400, get(&token).header("Authorization", format!("Bearer {token}"))),
    ])
    .await;
    let none = trio.answers(401, &Request::get("/api/me")).await;
    let challenges: Vec<&str> =
        none.headers.iter().filter(|(name, _)| name == "www-authenticate").map(|(_, value)| &**value).collect();
    assert_eq!(
        challenges,
        [
            "Bearer realm=\"https://auth.example\"",
            "DPoP realm=\"https://auth.example\", algs=\"ES256 PS256 EdDSA Ed25519\""
        ]
    );
}

/// A world with a protected resource at another origin than the issuer's, whose tokens must be bound.
async fn with_notes() -> World {
    let change = |config: &mut grantor::Config| {
        config.dpop.tokens = DpopBoundTokens::Required;
        let mut notes = ProtectedResource::new("https://api.example/api/notes", "Notes");
        notes.basic_scopes = vec!["account-profile:r".into()];
        config.resources = vec![notes];
    };
    World::with(Profile::Platform, change).await
}

/// NEG-DPOP-01, FAPI-5.3.4-01
#[tokio::test]
async fn a_guard_of_a_named_resource_needs_a_proof_too() {
    let trio = Trio::of(with_notes).await;
    let key = Signer::es256();
    let token = token(&trio, &key, None).await;
    let notes = || Request::get("/api/notes").header("Authorization", format!("DPoP {token}"));
    let of = |origin: &str| proof(&key, "GET", &format!("{origin}/api/notes"), Some(&token), None);
    let none = trio.answers(401, &Request::get("/api/notes")).await;
    assert_eq!(count(&none, "www-authenticate"), 1);
    assert!(none.header("www-authenticate").unwrap().starts_with("DPoP realm=\"https://auth.example\", algs="));
    trio.answer_all(&[
        (401, notes()),
        (401, Request::get("/api/notes").header("Authorization", format!("Bearer {token}"))),
        (401, notes().header("DPoP", of(ISSUER))),
        (200, notes().header("DPoP", of("https://api.example"))),
    ])
    .await;
}

/// NEG-DPOP-02, 9449-4.3-04
#[tokio::test]
async fn the_host_has_no_part_in_what_a_proof_is_for() {
    let trio = Trio::of(without_nonces).await;
    let key = Signer::ed25519();
    let token = token(&trio, &key, None).await;
    let of = |url: &str| proof(&key, "GET", url, Some(&token), None);
    for change in [
        // The only foreign names that the examples answer to.
        |request: Request| request.host("127.0.0.1"),
        |request: Request| request.header("X-Forwarded-Host", "evil.example"),
        |request: Request| request.header("Forwarded", "host=evil.example;proto=https"),
    ] {
        for url in ["https://evil.example/api/me", "https://127.0.0.1/api/me"] {
            trio.answers(401, &change(get(&token).header("DPoP", of(url)))).await;
        }
        trio.answers(200, &change(get(&token).header("DPoP", of(&format!("{ISSUER}/api/me"))))).await;
    }
}

/// NEG-DPOP-02, 9449-9-01
#[tokio::test]
async fn one_nonce_leaves_with_a_demand() {
    let trio = Trio::of(with_nonces).await;
    let key = Signer::es256();
    let client = trio.client().clone();
    let form = [("grant_type", "authorization_code"), ("code", "unknown")];
    let first = proof(&key, "POST", &format!("{ISSUER}/oauth2/token"), None, None);
    let request = Request::post("/oauth2/token", &form).basic(&client.id, &client.secret).header("DPoP", first);
    let demand = trio.answers(400, &request).await;
    assert_eq!(count(&demand, "dpop-nonce"), 1);
    let token = token(&trio, &key, demand.header("dpop-nonce")).await;

    let url = format!("{ISSUER}/api/me");
    let demand = trio.answers(401, &get(&token).header("DPoP", proof(&key, "GET", &url, Some(&token), None))).await;
    assert_eq!(count(&demand, "dpop-nonce"), 1);
    assert!(
        demand
            .header("www-authenticate")
            .unwrap()
            .starts_with("DPoP realm=\"https://auth.example\", error=\"use_dpop_nonce\"")
    );
    let again = proof(&key, "GET", &url, Some(&token), demand.header("dpop-nonce"));
    trio.answers(200, &get(&token).header("DPoP", again)).await;
}

/// FAPI-5.2.3-01
#[tokio::test]
async fn the_authorization_endpoint_has_no_cors_answer() {
    let trio = Trio::of(async || World::with(Profile::Mcp, |config| config.cors = Cors::AnyOrigin).await).await;
    let from_page = |request: Request| request.header("Origin", "https://page.example").header("Cookie", COOKIE);
    let preflight = Request::new("OPTIONS", "/oauth2/auth").header("Access-Control-Request-Method", "GET");
    let good = Request::get("/oauth2/auth").query(trio.query(&support::world::PKCE));
    for (status, request) in [(405, preflight), (400, Request::get("/oauth2/auth")), (200, good)] {
        let answer = trio.answers(status, &from_page(request)).await;
        let named = answer.headers.iter().find(|(name, _)| name.starts_with("access-control-"));
        assert_eq!(named, None);
    }
}
