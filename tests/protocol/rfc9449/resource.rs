//! Tokens and proofs at a resource [RFC 9449 sections 4.3, 7, 9 and 11.1].

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::future::join_all;
use grantor::config::{DpopBoundTokens, Profile};
use grantor::protected_resource::ProtectedResource;
use grantor::scope::Permission;
use grantor::secret::NonceKey;
use grantor::store::Stores;
use grantor::wire::Cors;
use grantor::wire::{Body, Endpoint, Request};
use grantor::{AuthorizationServer, Config, Reason, ResourceError};
use serde_json::Value;

use crate::rfc9449::at_resource::{PATH, challenges, get, proof, proof_for, show, url, wd};
use crate::rfc9449::{bound, bound_pair_of, broken, now, proven, refresh_form, world, world_with};
use support::keys::{Signer, token_hash, unchanged};
use support::world::{FORM, ISSUER, World, config_of, e400, encode, wa};

/// 9449-7.1-02, 9449-4.1-01
#[tokio::test]
async fn a_bound_token_needs_one_proof_of_its_key() {
    let world = world().await;
    for key in [Signer::es256(), Signer::ps256(), Signer::ed25519()] {
        let token = bound_pair_of(&world, &world.client, &key).await.access;
        let own = || proof(&world, &key, &token);
        for scheme in ["DPoP", "dPOp", "DPOP", "dpop", "DPoP "] {
            let shown = get(&world, &format!("{scheme} {token}"), &[&own()]).await.expect(scheme);
            assert_eq!(shown.key().map(ToString::to_string), Some(key.thumbprint()), "{scheme}");
            assert_eq!(shown.subject(), Some(&world.alice));
        }
        let dpop = format!("DPoP {token}");
        wd(get(&world, &dpop, &[]).await, "invalid_dpop_proof");
        wd(get(&world, &dpop, &[""]).await, "invalid_dpop_proof");
        wd(get(&world, &dpop, &[&own(), &own()]).await, "invalid_dpop_proof");
        wd(get(&world, &dpop, &[&format!("{}, {}", own(), own())]).await, "invalid_dpop_proof");
        wd(show(&world, &token, &proof(&world, &key.another(), &token)).await, "invalid_token");
        wd(show(&world, "unknown", &proof(&world, &key, "unknown")).await, "invalid_token");
        for credentials in ["", "  ", "a b", "a\tb"] {
            let refused = get(&world, &format!("DPoP {credentials}"), &[&own()]).await.expect_err("no token");
            let response = refused.into_response();
            assert_eq!(response.status(), 400, "{credentials}");
            let [challenge] = challenges(&response)[..] else { panic!("{:?}", challenges(&response)) };
            assert!(
                challenge.starts_with("DPoP realm=\"https://auth.example\", error=\"invalid_request\""),
                "{challenge}"
            );
        }
        let name_in_any_case = Request::new("GET").path(PATH).header("authorization", dpop.as_bytes());
        let own = own();
        assert!(world.server.resource().authenticate(&name_in_any_case.header("dPoP", own.as_bytes())).await.is_ok());
    }
}

/// 9449-7.1-02, 9449-4.3-06, NEG-DPOP-01
#[tokio::test]
async fn a_proof_is_for_one_request_with_one_token() {
    let world = world().await;
    let key = Signer::es256();
    let (token, other) = (
        bound_pair_of(&world, &world.client, &key).await.access,
        bound_pair_of(&world, &world.client, &key).await.access,
    );
    let now = now(&world);
    let of = |method: &str, url: &str| proof_for(&world, &key, &token, method, url);
    let changed = |change: fn(&mut Value)| {
        let own = token_hash(&token);
        key.proof("GET", &url(), now, |_, claims| {
            claims["ath"] = own.into();
            change(claims);
        })
    };
    for (case, proof) in [
        ("for another token", proof(&world, &key, &other)),
        ("without ath", key.proof("GET", &url(), now, unchanged)),
        (
            "ath in another encoding",
            changed(|claims| claims["ath"] = format!("{}=", claims["ath"].as_str().unwrap()).into()),
        ),
        ("ath as a list", changed(|claims| claims["ath"] = vec![claims["ath"].clone()].into())),
        ("for another method", of("POST", &url())),
        ("for a method in lower case", of("get", &url())),
        ("for another path", of("GET", &format!("{ISSUER}/api/me/"))),
        ("for another host", of("GET", "https://api.example/api/me")),
        ("over plain http", of("GET", &url().replace("https", "http"))),
        ("for the token endpoint", of("POST", &format!("{ISSUER}/oauth2/token"))),
        ("too old", changed(|claims| claims["iat"] = (claims["iat"].as_u64().unwrap() - 60).into())),
        ("of the future", changed(|claims| claims["iat"] = (claims["iat"].as_u64().unwrap() + 31).into())),
        ("no proof", "a.b.c".to_owned()),
    ] {
        let response = wd(show(&world, &token, &proof).await, "invalid_dpop_proof");
        assert_eq!(response.header("DPoP-Nonce"), None, "{case}");
    }
    for good in [
        of("GET", &format!("{}?x=1#y", url())),
        of("GET", "HTTPS://AUTH.example:443/api/%6de"),
        changed(|claims| claims["iat"] = (claims["iat"].as_u64().unwrap() - 59).into()),
        changed(|claims| claims["iat"] = (claims["iat"].as_u64().unwrap() + 8).into()),
    ] {
        show(&world, &token, &good).await.expect(&good);
    }
}

/// 9449-7.1-01, 9449-7.2-01, NEG-DPOP-01
#[tokio::test]
async fn a_bound_token_is_no_bearer_token() {
    let world = world_with(|config| config.bearer_in_body = true).await;
    let key = Signer::es256();
    let bound = bound_pair_of(&world, &world.client, &key).await.access;
    let unbound = world.pair().await.access;
    let own = proof(&world, &key, &bound);
    for proofs in [&[][..], &[own.as_str()]] {
        let refused = get(&world, &format!("Bearer {bound}"), proofs).await.expect_err("a bearer token");
        assert!(matches!(refused.reason(), Reason::WrongTokenScheme));
        let response = refused.into_response();
        assert_eq!(response.status(), 401);
        let [bearer, dpop] = challenges(&response)[..] else { panic!("{:?}", challenges(&response)) };
        assert!(bearer.starts_with("Bearer realm=\"https://auth.example\", error=\"invalid_token\""), "{bearer}");
        assert_eq!(dpop, "DPoP realm=\"https://auth.example\", algs=\"ES256 PS256 EdDSA Ed25519\"");
    }
    let (form, query) = (encode(&[("access_token", &bound)]), encode(&[("access_token", &bound)]));
    let in_body = Request::new("POST").path(PATH).header("Content-Type", FORM.as_bytes());
    let in_body = in_body.header("DPoP", own.as_bytes()).body(Body::Bytes(form.as_bytes()));
    wa(world.server.resource().authenticate(&in_body).await.expect_err("in the body"), 401, "invalid_token");
    let in_query = Request::new("GET").path(PATH).query(query.as_bytes()).header("DPoP", own.as_bytes());
    let refused = world.server.resource().authenticate(&in_query).await.expect_err("in the query");
    // A token in a query is not read [RFC 6750 section 2.3], so this is a request without a token: 401, no error.
    assert!(matches!(refused.reason(), Reason::NoAccessToken));
    let response = refused.into_response();
    assert_eq!(response.status(), 401);
    let [bearer, dpop] = challenges(&response)[..] else { panic!("{:?}", challenges(&response)) };
    assert_eq!(bearer, "Bearer realm=\"https://auth.example\"");
    assert_eq!(dpop, "DPoP realm=\"https://auth.example\", algs=\"ES256 PS256 EdDSA Ed25519\"");

    // The proof is used up by none of these.
    wd(show(&world, &unbound, &proof(&world, &key, &unbound)).await, "invalid_token");
    assert!(show(&world, &bound, &own).await.is_ok());
    let by_bearer = get(&world, &format!("Bearer {unbound}"), &["no proof"]).await.expect("not read");
    assert_eq!(by_bearer.key(), None);

    // Switching DPoP-bound tokens off does not unbind existing ones.
    let server = server_on(&world, |config| config.dpop.tokens = DpopBoundTokens::Off);
    let header = format!("Bearer {bound}");
    let request = Request::new("GET").path(PATH).header("Authorization", header.as_bytes());
    let refused = server.resource().authenticate(&request).await.expect_err("still bound");
    assert!(matches!(refused.reason(), Reason::WrongTokenScheme));
}

/// 9449-7.2-01, 9449-7.1-02
#[tokio::test]
async fn challenges_name_what_is_accepted() {
    let bearer = "Bearer realm=\"https://auth.example\"";
    let dpop = "DPoP realm=\"https://auth.example\", algs=\"ES256 PS256 EdDSA Ed25519\"";
    for (setting, expected) in [
        (DpopBoundTokens::Off, &[bearer][..]),
        (DpopBoundTokens::Optional, &[bearer, dpop]),
        (DpopBoundTokens::Required, &[dpop]),
    ] {
        let world = world_with(|config| config.dpop.tokens = setting).await;
        for headers in [&[][..], &["Basic YTpi"], &["DPo x"]] {
            let request = Request::new("GET").path(PATH);
            let request = headers.iter().fold(request, |request, own| request.header("Authorization", own.as_bytes()));
            let refused = world.server.resource().authenticate(&request).await.expect_err("no credentials");
            assert_eq!(challenges(&refused.into_response()), expected, "{setting:?} {headers:?}");
        }
        let two =
            Request::new("GET").path(PATH).header("Authorization", b"Bearer x").header("Authorization", b"DPoP x");
        let response = world.server.resource().authenticate(&two).await.expect_err("two lines").into_response();
        assert_eq!(response.status(), 400, "{setting:?}");
        let [challenge] = challenges(&response)[..] else { panic!("{:?}", challenges(&response)) };
        assert!(challenge.contains("error=\"invalid_request\""), "{challenge}");
        assert_eq!(challenge.starts_with("DPoP "), setting == DpopBoundTokens::Required, "{setting:?}");

        let unknown = get(&world, "Bearer unknown", &[]).await.expect_err("unknown").into_response();
        assert_eq!((unknown.status(), challenges(&unknown).len()), (401, expected.len()), "{setting:?}");
        let errors = challenges(&unknown).iter().filter(|own| own.contains("error=")).count();
        assert_eq!(errors, 1, "{setting:?}");
        let off = get(&world, "DPoP unknown", &[]).await.expect_err("unknown");
        assert_eq!(matches!(off.reason(), Reason::NoAccessToken), setting == DpopBoundTokens::Off);
    }
}

/// 9449-7.2-01
/// At a protected resource both challenges name its scopes and its metadata.
#[tokio::test]
async fn both_challenges_name_scopes_and_metadata() {
    let world = world_with(|config| {
        let mut notes = ProtectedResource::new("https://api.example/notes", "Notes");
        notes.basic_scopes = vec!["repo-code:r".into()];
        config.resources = vec![notes];
    })
    .await;
    let resource = world.server.protected_resource("https://api.example/notes").unwrap();
    let response = resource.authenticate(&Request::new("GET")).await.expect_err("no token").into_response();
    let more =
        "scope=\"repo-code:r\", resource_metadata=\"https://api.example/.well-known/oauth-protected-resource/notes\"";
    let expected = [
        format!("Bearer realm=\"https://auth.example\", {more}"),
        format!("DPoP realm=\"https://auth.example\", algs=\"ES256 PS256 EdDSA Ed25519\", {more}"),
    ];
    assert_eq!(challenges(&response), expected);
}

/// FAPI-5.3.4-01
#[tokio::test]
async fn where_proofs_are_required_nothing_else_is_accepted() {
    let optional = world().await;
    let key = Signer::es256();
    let (pair, unbound) = (bound_pair_of(&optional, &optional.client, &key).await, optional.pair().await);
    let server = server_on(&optional, |config| config.dpop.tokens = DpopBoundTokens::Required);
    let ask = async |authorization: String, proof: String| {
        let request = Request::new("GET").path(PATH).header("Authorization", authorization.as_bytes());
        server.resource().authenticate(&request.header("DPoP", proof.as_bytes())).await
    };
    let own = |token: &str| proof(&optional, &key, token);
    wd(ask(format!("Bearer {}", unbound.access), own(&unbound.access)).await, "invalid_token");
    wd(ask(format!("DPoP {}", unbound.access), own(&unbound.access)).await, "invalid_token");
    wd(ask(format!("Bearer {}", pair.access), own(&pair.access)).await, "invalid_token");
    wd(ask(format!("DPoP {}", pair.refresh), own(&pair.refresh)).await, "invalid_token");
    let query = encode(&[("access_token", &pair.access)]);
    let form = Request::new("POST").path(PATH).header("Content-Type", FORM.as_bytes());
    for request in [Request::new("GET").path(PATH).query(query.as_bytes()), form.body(Body::Bytes(query.as_bytes()))] {
        let refused = server.resource().authenticate(&request).await.expect_err("not in the header");
        assert!(matches!(refused.reason(), Reason::NoAccessToken));
        assert_eq!(refused.into_response().status(), 401);
    }

    let token = ask(format!("DPoP {}", pair.access), own(&pair.access)).await.expect("bound");
    let refused = server
        .resource()
        .require_scope(&token, "repo-code")
        .expect_err("not a scope without a permission")
        .into_response();
    assert_eq!(refused.status(), 403);
    let [challenge] = challenges(&refused)[..] else { panic!("{:?}", challenges(&refused)) };
    assert!(challenge.starts_with("DPoP realm=\"https://auth.example\", error=\"insufficient_scope\""), "{challenge}");

    optional.advance(28_799);
    assert!(ask(format!("DPoP {}", pair.access), own(&pair.access)).await.is_ok());
    optional.advance(1);
    wd(ask(format!("DPoP {}", pair.access), own(&pair.access)).await, "invalid_token");
    let newer = bound(&proven(&optional, &optional.client, &refresh_form(&pair.refresh), &key).await);
    assert!(ask(format!("DPoP {}", newer.access), own(&newer.access)).await.is_ok());
    optional.revoke(&newer.refresh).await;
    wd(ask(format!("DPoP {}", newer.access), own(&newer.access)).await, "invalid_token");
}

/// 9449-11.1-01, 9449-11.1-02
#[tokio::test]
async fn a_proof_is_accepted_once_for_as_long_as_it_lives() {
    let world = world().await;
    let key = Signer::es256();
    let token = bound_pair_of(&world, &world.client, &key).await.access;
    let own = proof(&world, &key, &token);
    assert!(show(&world, &token, &own).await.is_ok());
    let is_used = |error: &ResourceError| matches!(error.reason(), Reason::DpopProof("it was used before"));
    for _ in 0..2 {
        world.advance(29);
        let refused = show(&world, &token, &own).await;
        assert!(refused.as_ref().is_err_and(is_used), "{refused:?}");
        wd(refused, "invalid_dpop_proof");
    }
    world.advance(1);
    let _ = world.purge(100).await;
    assert!(show(&world, &token, &own).await.is_err_and(|error| is_used(&error)), "the last second");
    world.advance(1);
    wd(show(&world, &token, &own).await, "invalid_dpop_proof");

    let once = proof(&world, &key, &token);
    let outcomes = join_all((0..50).map(|_| show(&world, &token, &once))).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    assert!(outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).all(is_used));
    // A `jti` is used up only for one method and URL.
    let same = |method: &str| {
        let now = now(&world);
        key.proof(method, &url(), now, |_, claims| {
            (claims["ath"], claims["jti"]) = (token_hash(&token).into(), "one".into());
        })
    };
    assert!(show(&world, &token, &same("GET")).await.is_ok());
    wd(show(&world, &token, &same("GET")).await, "invalid_dpop_proof");
    let header = format!("DPoP {token}");
    let by_post = same("POST");
    let request = Request::new("POST").path(PATH).header("Authorization", header.as_bytes());
    assert!(world.server.resource().authenticate(&request.header("DPoP", by_post.as_bytes())).await.is_ok());
}

/// 9449-11.1-01
///
/// The guard requires a scope that the token does not have.
#[tokio::test]
async fn a_missing_scope_uses_up_no_proof() {
    const API: &str = "https://api.example/v1";
    let plain = world().await;
    let named = world_with(|config| config.resources = vec![ProtectedResource::new(API, "API")]).await;
    for world in [&plain, &named] {
        let key = Signer::es256();
        let token = bound_pair_of(world, &world.client, &key).await.access;
        let at = if world.server.config().resources.is_empty() { ISSUER } else { "https://api.example" };
        let proof = proof_for(world, &key, &token, "GET", &format!("{at}{PATH}"));
        let header = format!("DPoP {token}");
        let request = Request::new("GET").path(PATH).header("Authorization", header.as_bytes());
        let request = request.header("DPoP", proof.as_bytes());
        let missing = world
            .server
            .resource()
            .authenticate_for_account(&request, "repo-delete", Some(Permission::ReadWrite))
            .await;
        assert_eq!(missing.unwrap_err().into_response().status(), 403);
        if let Ok(resource) = world.server.protected_resource(API) {
            let needed = resource.scopes(["repo-delete:rw"]).unwrap();
            let missing = resource.authenticate_for(&request, &needed).await;
            assert_eq!(missing.unwrap_err().into_response().status(), 403);
        }
        let read = || world.server.resource().authenticate_for_account(&request, "repo-code", Some(Permission::Read));
        assert!(read().await.is_ok());
        wd(read().await, "invalid_dpop_proof");
    }
}

/// 9449-11.1-02
#[tokio::test]
async fn a_store_that_fails_lets_no_proof_in() {
    let world = world().await;
    let key = Signer::es256();
    let token = bound_pair_of(&world, &world.client, &key).await.access;
    let config = settings(|_| {});
    let stores = Stores::from(Arc::new(world.store.clone())).with_replays(broken(&world));
    let server = world.builder(config, stores).build().unwrap();
    let (header, own) = (format!("DPoP {token}"), proof(&world, &key, &token));
    let request = Request::new("GET").path(PATH).header("Authorization", header.as_bytes());
    let refused =
        server.resource().authenticate(&request.header("DPoP", own.as_bytes())).await.expect_err("a failing store");
    assert!(matches!(refused.reason(), Reason::Store(_)));
    let response = refused.into_response();
    assert_eq!((response.status(), response.header("Retry-After")), (503, Some("1")));
    assert_eq!(challenges(&response), <[&str; 0]>::default());
    assert!(show(&world, &token, &own).await.is_ok(), "nothing was recorded");
}

/// 9449-4.3-04, NEG-DPOP-02
#[tokio::test]
async fn no_header_steers_the_url_of_a_proof() {
    let world = world().await;
    let key = Signer::es256();
    let token = bound_pair_of(&world, &world.client, &key).await.access;
    let header = format!("DPoP {token}");
    let own = Request::new("GET").path(PATH).header("Authorization", header.as_bytes());
    let evil = || proof_for(&world, &key, &token, "GET", "https://evil.example/api/me");
    for (name, value) in [
        ("Host", "evil.example"),
        ("Forwarded", "host=evil.example;proto=https"),
        ("X-Forwarded-Host", "evil.example"),
        ("X-Original-URL", "https://evil.example/api/me"),
    ] {
        let (evil, good) = (evil(), proof(&world, &key, &token));
        let request = own.header(name, value.as_bytes());
        wd(world.server.resource().authenticate(&request.header("DPoP", evil.as_bytes())).await, "invalid_dpop_proof");
        assert!(world.server.resource().authenticate(&request.header("DPoP", good.as_bytes())).await.is_ok(), "{name}");
    }
}

/// 9449-4.3-04
#[tokio::test]
async fn the_url_of_a_request_comes_from_the_embedder() {
    let world =
        world_with(|config| config.resources = vec![ProtectedResource::new("https://api.example:8443/v1", "API")])
            .await;
    let key = Signer::es256();
    let token = bound_pair_of(&world, &world.client, &key).await.access;
    let header = format!("DPoP {token}");
    let base = Request::new("GET").header("Authorization", header.as_bytes());
    let ask = async |request: Request<'_>, url: &str| {
        let proof = proof_for(&world, &key, &token, "GET", url);
        world.server.resource().authenticate(&request.header("DPoP", proof.as_bytes())).await
    };
    // The path is resolved at the origin of the resource; the path of its identifier does not matter.
    assert!(ask(base.path("/v1/items"), "https://api.example:8443/v1/items").await.is_ok());
    wd(ask(base.path("/v1/items"), "https://api.example/v1/items").await, "invalid_dpop_proof");
    wd(ask(base.path("/v1/items"), &format!("{ISSUER}/v1/items")).await, "invalid_dpop_proof");
    // A URL takes precedence.
    let mapped = base.path("/items").url("https://www.example/public/items");
    assert!(ask(mapped, "https://www.example/public/items").await.is_ok());
    wd(ask(mapped, "https://api.example:8443/items").await, "invalid_dpop_proof");
    // An invalid path is the client's fault.
    for path in ["/%zz", "/a b"] {
        wd(ask(base.path(path), "https://api.example:8443/").await, "invalid_dpop_proof");
    }
    // No path changes the host.
    wd(ask(base.path("evil.example/"), "https://api.example:8443evil.example/").await, "invalid_dpop_proof");
    // A missing URL is your service's fault, and reported as such.
    for request in [base, base.url("/api/items"), base.url("")] {
        let refused = ask(request, "https://api.example:8443/").await.expect_err("no URL");
        assert!(matches!(refused.reason(), Reason::MissingRequestUrl));
        let response = refused.into_response();
        assert_eq!((response.status(), challenges(&response).len()), (500, 0));
    }
    let unbound = world.pair().await.access;
    assert!(world.opens(&unbound).await, "a bearer token needs no path");
}

/// 9449-4.3-04
#[tokio::test]
async fn an_issuer_under_a_path_changes_nothing_at_a_resource() {
    let world = world().await;
    let server = server_on(&world, |config| config.issuer = format!("{ISSUER}/tenant"));
    let key = Signer::es256();
    let token = bound_pair_of(&world, &world.client, &key).await.access;
    let header = format!("DPoP {token}");
    for (path, url, is_accepted) in [
        ("/tenant/api/me", "https://auth.example/tenant/api/me", true),
        ("/api/me", "https://auth.example/api/me", true),
        ("/api/me", "https://auth.example/tenant/api/me", false),
    ] {
        let proof = proof_for(&world, &key, &token, "GET", url);
        let request = Request::new("GET").path(path).header("Authorization", header.as_bytes());
        let outcome = server.resource().authenticate(&request.header("DPoP", proof.as_bytes())).await;
        assert_eq!(outcome.is_ok(), is_accepted, "{path} {url}");
    }
}

/// 9449-9-01, 9449-8-01
#[tokio::test]
async fn a_demand_for_a_nonce_has_one() {
    let nonces = |config: &mut Config| {
        config.dpop.nonce_keys = vec![NonceKey::new([7; 32])];
        config.cors = Cors::AnyOrigin;
    };
    let plain = world().await;
    let key = Signer::es256();
    let token = bound_pair_of(&plain, &plain.client, &key).await.access;
    let server = server_on(&plain, nonces);
    let (header, now) = (format!("DPoP {token}"), now(&plain));
    let ask = async |nonce: Option<&str>| {
        let proof = key.proof("GET", &url(), now, |_, claims| {
            claims["ath"] = token_hash(&token).into();
            if let Some(nonce) = nonce {
                claims["nonce"] = nonce.into();
            }
        });
        let request = Request::new("GET").path(PATH).header("Authorization", header.as_bytes());
        server.resource().authenticate(&request.header("DPoP", proof.as_bytes())).await
    };
    let demand = wd(ask(None).await, "use_dpop_nonce");
    assert_eq!(demand.headers().filter(|(name, _)| name.eq_ignore_ascii_case("DPoP-Nonce")).count(), 1);
    assert_eq!(demand.header("Access-Control-Expose-Headers"), Some("WWW-Authenticate, DPoP-Nonce"));
    let nonce = demand.header("DPoP-Nonce").unwrap().to_owned();
    assert!(nonce.bytes().all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e)), "{nonce}");
    wd(ask(Some("made up")).await, "use_dpop_nonce");
    wd(ask(Some(&format!("{nonce}A"))).await, "use_dpop_nonce");
    for _ in 0..2 {
        assert!(ask(Some(&nonce)).await.is_ok(), "one nonce serves many proofs");
    }

    // The token endpoint has other nonces.
    let form = [("grant_type", "client_credentials")];
    let at_token = async |nonce: &str| {
        let url = format!("{ISSUER}/oauth2/token");
        let proof = key.proof("POST", &url, now, |_, claims| claims["nonce"] = nonce.into());
        let body = encode(&form);
        let basic = format!("Basic {}", STANDARD.encode(format!("{}:{}", plain.client.id, plain.client.secret)));
        let request = Request::new("POST").header("Content-Type", FORM.as_bytes()).body(Body::Bytes(body.as_bytes()));
        let request = request.header("Authorization", basic.as_bytes()).header("DPoP", proof.as_bytes());
        server.serve(Endpoint::Token, &request).await
    };
    let refused = at_token(&nonce).await;
    e400(&refused, "use_dpop_nonce");
    wd(ask(Some(refused.header("DPoP-Nonce").unwrap())).await, "use_dpop_nonce");

    // A nonce is valid for one to two periods, and an old proof with it is valid too.
    plain.advance(239);
    wd(ask(Some(&nonce)).await, "use_dpop_nonce");
    let fresh = wd(ask(None).await, "use_dpop_nonce").header("DPoP-Nonce").unwrap().to_owned();
    assert_ne!(fresh, nonce);
    assert!(ask(Some(&fresh)).await.is_ok());
    // A resource may also send a nonce before a proof demands one.
    assert_eq!(server.resource().dpop_nonce().as_deref(), Some(&*fresh));
    assert_eq!(plain.server.resource().dpop_nonce(), None);
}

fn settings(change: impl FnOnce(&mut Config)) -> Config {
    let mut config = config_of(Profile::Platform);
    config.public_clients = true;
    config.dpop.tokens = DpopBoundTokens::Optional;
    change(&mut config);
    config
}

/// Another server on the store of that world, with changed settings.
fn server_on(world: &World, change: impl FnOnce(&mut Config)) -> AuthorizationServer {
    world.builder(settings(change), world.store.clone()).build().unwrap()
}
