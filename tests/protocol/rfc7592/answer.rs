//! Who may manage a registration, and the responses.

use grantor::config::Profile;
use grantor::store::{InitialToken, Record, RecordStore};
use grantor::wire::Cors;
use grantor::wire::{Endpoint, Request};
use grantor::{Application, MemoryThrottle, Subject};
use serde_json::{Value, json};

use super::{
    call, confidential, get, information, managed, own, put, queueing, registered, token, unauthorized, update_of,
    world,
};
use crate::rfc7591::{bounds, credentials, id, open, public, query, refused, register};
use support::world::{PKCE, Reviewer, World, e401, page};

const METHODS: [&str; 3] = ["GET", "PUT", "DELETE"];

/// 7592-2-01
#[tokio::test]
async fn management_is_there_while_it_is_on() {
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        let off = crate::rfc7591::world_with(open(profile), bounds()).await;
        assert!(!off.server.config().registration.management);
        let client = register(&off, public()).await;
        assert!(client.get("registration_client_uri").is_none() && client.get("registration_access_token").is_none());
        let path = format!("/oauth2/register/{}", client["client_id"].as_str().unwrap());
        for method in [&METHODS[..], &["OPTIONS", "POST"]].concat() {
            let request = Request::new(method).path(&path);
            assert_eq!(off.server.serve(Endpoint::ClientConfiguration, &request).await.status(), 404);
        }
        assert!(off.server.paths(Endpoint::ClientConfiguration).is_empty());
    }
    let world = world().await;
    assert_eq!(world.server.paths(Endpoint::ClientConfiguration), ["/oauth2/register/{client_id}"]);
    let client = registered(&world, json!({})).await;
    let address = format!("https://auth.example/oauth2/register/{}", client["client_id"].as_str().unwrap());
    assert_eq!(client["registration_client_uri"], address);
    assert_eq!(token(&client).len(), 3 + 43);
    for method in ["POST", "PATCH", "HEAD", "OPTIONS", "get"] {
        let response = own(&world, method, &client, &Value::Null).await;
        assert_eq!((response.status(), response.header("Allow")), (405, Some("GET, PUT, DELETE")), "{method}");
    }
}

/// 7592-2-01
#[tokio::test]
async fn a_client_reads_its_registration() {
    let world = world().await;
    let more =
        json!({"client_uri": "https://app.example.com/", "contacts": ["ops@app.example.com"], "scope": "repo-code:r"});
    let client = registered(&world, more).await;
    assert_eq!(get(&world, &client).await, client);
    // Only a digest of the secret is stored, so it is not repeated.
    let confidential = confidential(&world).await;
    let read = get(&world, &confidential).await;
    assert!(confidential["client_secret"].is_string());
    assert!(read.get("client_secret").is_none() && read.get("client_secret_expires_at").is_none());
    assert_eq!(read["token_endpoint_auth_method"], "client_secret_basic");
}

/// 7592-2-01
/// If the issuer has a path, the management address is below it.
#[tokio::test]
async fn the_address_is_below_the_issuer() {
    let mut config = managed(Profile::Mcp);
    config.issuer = "https://auth.example/tenant/".into();
    let world =
        World::built(config, |builder| builder.registration_policy(grantor::hooks::ApproveWithin::new(bounds()))).await;
    let client = registered(&world, json!({})).await;
    let address = client["registration_client_uri"].as_str().unwrap();
    assert!(address.starts_with("https://auth.example/tenant/oauth2/register/"), "{address}");
    assert_eq!(world.server.paths(Endpoint::ClientConfiguration), ["/tenant/oauth2/register/{client_id}"]);
    let path = address.strip_prefix("https://auth.example").unwrap();
    let header = format!("Bearer {}", token(&client));
    let request = Request::new("GET").path(path).header("Authorization", header.as_bytes());
    information(&world.server.serve(Endpoint::ClientConfiguration, &request).await);
}

/// 7592-2-02, NEG-OC-12
#[tokio::test]
async fn a_token_opens_the_registration_of_its_client_alone() {
    let world = world().await;
    let (a, b) =
        (registered(&world, json!({"client_name": "A"})).await, registered(&world, json!({"client_name": "B"})).await);
    let before = world.server.registrar().unwrap().application(&id(&b)).await.unwrap();
    let update = update_of(&b, json!({"client_name": "Taken"})).to_string();
    let secret = b["client_id"].as_str().unwrap();
    let altered = token(&b).replace(&token(&b)[10..12], "zz");
    let none = "";
    for wrong in [token(&a), &altered, secret, &token(&b)[1..], &format!("{}x", token(&b)), none] {
        for method in METHODS {
            let response = call(&world, method, &b["registration_client_uri"], wrong, update.as_bytes()).await;
            if wrong.is_empty() {
                assert_eq!(response.status(), 400, "two words are no bearer token");
                continue;
            }
            unauthorized(&response, Some("invalid_token"));
        }
    }
    assert_eq!(*world.server.registrar().unwrap().application(&id(&b)).await.unwrap(), *before);
    assert_eq!(get(&world, &b).await, b);
}

/// 7592-2-02, 7591-3-02
#[tokio::test]
async fn a_record_has_the_digest_of_a_token_alone() {
    let world = world().await;
    let client = registered(&world, json!({})).await;
    let terms = grantor::registration::InitialAccessTokenTerms::new(std::time::Duration::from_secs(60));
    let initial = world.server.registrar().unwrap().make_initial_access_token(terms).await.unwrap();
    let application = RecordStore::<Application>::find(&world.store, &id(&client)).await.unwrap().unwrap();
    let kept = RecordStore::<InitialToken>::find(&world.store, &initial.id).await.unwrap().unwrap();
    for (bytes, shown, text) in [
        (application.encode(), format!("{application:?}"), token(&client)),
        (kept.encode(), format!("{kept:?}"), initial.token.expose()),
    ] {
        let secret = &text.as_bytes()[text.len() - 43..];
        assert!(!bytes.windows(16).any(|part| secret.starts_with(part)), "the start of the token is stored");
        assert!(!bytes.windows(16).any(|part| secret.ends_with(part)), "the end of the token is stored");
        assert!(!shown.contains(&text[text.len() - 43..]));
    }
}

/// 7592-2-02
#[tokio::test]
async fn a_token_is_in_the_header_alone() {
    let world = world().await;
    let client = registered(&world, json!({})).await;
    let path = format!("/oauth2/register/{}", client["client_id"].as_str().unwrap());
    let query = format!("access_token={}", token(&client));
    for method in METHODS {
        let request = Request::new(method).path(&path).query(query.as_bytes());
        unauthorized(&world.server.serve(Endpoint::ClientConfiguration, &request).await, None);
        let basic = request.header("Authorization", b"Basic YTpi");
        unauthorized(&world.server.serve(Endpoint::ClientConfiguration, &basic).await, None);
    }
    assert_eq!(get(&world, &client).await, client);
    // Without a path, the request names no client.
    assert_eq!(world.server.serve(Endpoint::ClientConfiguration, &Request::new("GET")).await.status(), 404);
}

/// 7592-2-02
#[tokio::test]
async fn the_token_of_a_client_that_is_gone_is_refused() {
    let world = world().await;
    let deleted = registered(&world, json!({})).await;
    let registrar = world.server.registrar().unwrap();
    registrar.delete(&id(&deleted), registrar.version_now(&id(&deleted)).await).await.unwrap();
    let expired = registered(&world, json!({})).await;
    for method in METHODS {
        unauthorized(&own(&world, method, &deleted, &update_of(&deleted, json!({}))).await, Some("invalid_token"));
    }
    world.advance(7 * 86_400);
    for is_purged in [false, true] {
        if is_purged {
            crate::rfc7591::purge(&world).await;
        }
        for method in METHODS {
            unauthorized(&own(&world, method, &expired, &update_of(&expired, json!({}))).await, Some("invalid_token"));
        }
    }
}

/// 7592-2-02
#[tokio::test]
async fn a_client_that_may_not_manage_itself_is_told_so() {
    let world = world().await;
    let client = registered(&world, json!({})).await;
    let registrar = world.server.registrar().unwrap();
    registrar.suspend(&id(&client)).await.unwrap();
    for method in METHODS {
        let response = own(&world, method, &client, &update_of(&client, json!({"client_name": "New"}))).await;
        refused(&response, 403, "access_denied");
    }
    registrar.resume(&id(&client)).await.unwrap();
    assert_eq!(get(&world, &client).await["client_name"], "App");

    let queueing = queueing().await;
    let client = registered(&queueing, json!({})).await;
    queueing.server.registrar().unwrap().reject_now(&id(&client), "unknown company").await.unwrap();
    refused(&own(&queueing, "GET", &client, &Value::Null).await, 403, "access_denied");
}

/// 7592-2-02
/// The new owner manages the application; the token no longer works.
#[tokio::test]
async fn a_transferred_client_is_managed_by_its_owner() {
    let world = world().await;
    let client = registered(&world, json!({})).await;
    let registrar = world.server.registrar().unwrap();
    let version = registrar.version_now(&id(&client)).await;
    registrar.transfer(&id(&client), version, Subject::new("developer").unwrap()).await.unwrap();
    for method in METHODS {
        unauthorized(&own(&world, method, &client, &update_of(&client, json!({}))).await, Some("invalid_token"));
    }
}

/// 7592-2.3-01, 7592-2-01
#[tokio::test]
async fn a_client_that_deletes_itself_takes_its_tokens_along() {
    let world = world().await;
    let answer = registered(&world, json!({})).await;
    let client = credentials(&answer);
    let first = world.pair_of(&client).await;
    let code = world.code_for(&world.query_of(&client, &PKCE)).await;
    world.events.take();
    let response = own(&world, "DELETE", &answer, &Value::Null).await;
    assert_eq!((response.status(), response.body().len()), (204, 0));
    assert_eq!(response.header("Cache-Control"), Some("no-store"));
    assert!(world.events.take().iter().any(|event| event.contains("Deleted")));
    assert!(!world.opens(&first.access).await);
    e401(&world.refresh_as(&client, &first.refresh).await, "invalid_client");
    e401(&world.exchange_as(&client, &code).await, "invalid_client");
    page(&world.refused(&query(&world, &answer, "https://app.example.com/cb", &[])).await);
    for method in METHODS {
        unauthorized(&own(&world, method, &answer, &update_of(&answer, json!({}))).await, Some("invalid_token"));
    }
}

/// 7592-2-02
#[tokio::test]
async fn failures_are_counted_and_reported() {
    let throttle = MemoryThrottle::new();
    let world = World::built(managed(Profile::Mcp), |builder| {
        builder.registration_policy(grantor::hooks::ApproveWithin::new(bounds())).throttle(throttle)
    })
    .await;
    let client = registered(&world, json!({})).await;
    world.events.take();
    let mut statuses = Vec::new();
    for _ in 0..20 {
        statuses.push(call(&world, "GET", &client["registration_client_uri"], "wrong", b"").await.status());
    }
    assert_eq!((statuses[0], statuses[19]), (401, 429));
    let events = world.events.take();
    assert!(
        events.iter().any(|event| event.starts_with("AuthenticationFailed") && event.contains("ClientConfiguration"))
    );
    assert!(
        !events.iter().any(|event| event.starts_with("Refused") && event.contains("WrongRegistration")),
        "{events:?}"
    );
}

/// CORS-02
#[tokio::test]
async fn pages_of_other_origins_may_not_manage_registrations() {
    let world = world().await;
    assert_eq!(world.server.config().cors, Cors::AnyOrigin);
    let client = registered(&world, json!({})).await;
    let path = format!("/oauth2/register/{}", client["client_id"].as_str().unwrap());
    let header = format!("Bearer {}", token(&client));
    let preflight = Request::new("OPTIONS").path(&path).header("Origin", b"https://page.example");
    let preflight = preflight.header("Access-Control-Request-Method", b"GET");
    let asked = [
        (405, preflight),
        (401, Request::new("GET").path(&path).header("Origin", b"https://page.example")),
        (
            200,
            Request::new("GET")
                .path(&path)
                .header("Origin", b"https://page.example")
                .header("Authorization", header.as_bytes()),
        ),
    ];
    for (status, request) in asked {
        let response = world.server.serve(Endpoint::ClientConfiguration, &request).await;
        assert_eq!(response.status(), status);
        let names: Vec<_> = response.headers().map(|(name, _)| name.to_ascii_lowercase()).collect();
        assert!(!names.iter().any(|name| name.starts_with("access-control")), "{names:?}");
    }
}

/// 7592-2-01
#[tokio::test]
async fn settings_that_make_no_sense_are_refused() {
    let mut config = support::world::config_of(Profile::Mcp);
    config.registration.management = true;
    let error = grantor::AuthorizationServer::new(config, grantor::MemoryStore::new()).unwrap_err();
    assert_eq!((error.field(), error.value()), ("registration.management", "true"));
    assert!(error.remedy().contains("registration.dynamic"), "{error}");
}

/// 7592-2-01
#[tokio::test]
async fn a_client_registered_without_management_has_no_token() {
    let world = crate::rfc7591::world().await;
    let client = register(&world, public()).await;
    let builder = world.builder(managed(Profile::Mcp), world.store.clone());
    let server = builder.registration_policy(grantor::hooks::ApproveWithin::new(bounds())).build().unwrap();
    let path = format!("/oauth2/register/{}", client["client_id"].as_str().unwrap());
    let request = Request::new("GET").path(&path).header("Authorization", b"Bearer ra_x");
    unauthorized(&server.serve(Endpoint::ClientConfiguration, &request).await, Some("invalid_token"));
    let uri = format!("https://auth.example{path}");
    let own = json!({"registration_client_uri": uri, "registration_access_token": "ra_x"});
    assert_eq!(put(&world, &own, &Value::Null).await.status(), 404);
}
