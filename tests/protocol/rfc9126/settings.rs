//! Section 5: pushing as the only way, and the metadata about it.

use grantor::config::{Profile, PushedRequests};
use grantor::wire::Cors;
use grantor::wire::{Endpoint, Request};
use serde_json::Value;

use super::{approved, held, world_with};
use support::world::{ISSUER, PKCE, REDIRECT_URI, World, code, created, error_body, page, red};

async fn metadata(world: &World) -> Value {
    let response = world.server.serve(Endpoint::Metadata, &Request::new("GET")).await;
    serde_json::from_slice(response.body()).unwrap()
}

/// 9126-5-01, FAPI-5.3.2.2-03
/// In every profile the error goes to the client, since none of the described service's parameters is wrong.
#[tokio::test]
async fn a_plain_request_is_refused_where_pushing_is_the_only_way() {
    for profile in [Profile::Strict, Profile::Platform, Profile::Mcp] {
        let world = World::with(profile, |config| {
            config.pushed_requests.mode = PushedRequests::Required;
        })
        .await;
        let query = world.query(&[PKCE[0], PKCE[1], ("state", "s")]);
        let error = world.authorize(&query).await.unwrap_err();
        assert!(error.redirects());
        let parameters = red(&error.response(Some(&world.alice)), "invalid_request");
        assert_eq!(support::world::text(&parameters, "state"), "s");
        let elsewhere = world.query(&[PKCE[0], PKCE[1], ("redirect_uri", "https://evil.example/cb")]);
        page(&world.refused(&elsewhere).await);
        // Where every request is pushed, it names its redirect URI.
        let pushed = world.par(&world.client, &PKCE).send().await;
        error_body(&pushed, "invalid_request");
        let pushed = world.par(&world.client, &[PKCE[0], PKCE[1], ("redirect_uri", REDIRECT_URI)]).send().await;
        code(&approved(&world, &held(&world, &created(&pushed)).await).await);
    }
}

/// 9126-5-01
/// A single client may be registered to always push.
#[tokio::test]
async fn a_client_may_have_to_push_alone() {
    let mut world = world_with(|_| ()).await;
    let plain = world.client.clone();
    let mut demanding = support::world::form();
    demanding.name = "Pushing App".into();
    demanding.options.requires_pushed_requests = true;
    world.client = world.register(demanding).await;
    let query = world.query(&[PKCE[0], PKCE[1], ("state", "s")]);
    let parameters = red(&world.refused(&query).await, "invalid_request");
    assert_eq!(support::world::text(&parameters, "state"), "s");
    let elsewhere = world.query(&[PKCE[0], PKCE[1], ("redirect_uri", "https://evil.example/cb")]);
    page(&world.refused(&elsewhere).await);
    let uri = world.push().await;
    code(&approved(&world, &held(&world, &uri).await).await);
    // Other clients need not push.
    code(&world.approve(&world.query_of(&plain, &PKCE)).await);
    assert!(metadata(&world).await["require_pushed_authorization_requests"].is_null());
}

/// 9126-5-01
#[tokio::test]
async fn the_metadata_says_whether_and_who_has_to_push() {
    for (mode, offered, demanded) in [
        (PushedRequests::Off, false, false),
        (PushedRequests::Optional, true, false),
        (PushedRequests::Required, true, true),
    ] {
        let world = world_with(|config| config.pushed_requests.mode = mode).await;
        let document = metadata(&world).await;
        let endpoint = offered.then(|| format!("{ISSUER}/oauth2/par"));
        assert_eq!(document["pushed_authorization_request_endpoint"].as_str(), endpoint.as_deref());
        assert_eq!(document["require_pushed_authorization_requests"].as_bool(), demanded.then_some(true));
        assert!(document["request_parameter_supported"].is_null());
        let paths: Vec<_> = offered.then(|| "/oauth2/par".to_owned()).into_iter().collect();
        assert_eq!(world.server.paths(Endpoint::PushedAuthorization), paths);
    }
}

/// CORS-02: a page may push with its own credentials, as it may exchange a code.
#[tokio::test]
async fn pages_of_other_origins_may_push() {
    let world = world_with(|config| config.cors = Cors::AnyOrigin).await;
    for (client, status) in
        [(world.client.clone(), 201), (support::world::Credentials { id: "x".into(), secret: "y".into() }, 401)]
    {
        let response = world.par(&client, &PKCE).header("Origin", b"https://page.example").send().await;
        assert_eq!((response.status(), response.header("Access-Control-Allow-Origin")), (status, Some("*")));
    }
    let preflight = world.par(&world.client, &[]).method("OPTIONS").header("Access-Control-Request-Method", b"POST");
    let preflight = preflight.header("Origin", b"https://page.example").send().await;
    assert_eq!((preflight.status(), preflight.header("Access-Control-Allow-Methods")), (204, Some("POST")));
}
