//! RFC 9207: the issuer in the authorization response.

use grantor::Decision;
use grantor::config::Profile;
use grantor::wire::Response;

use crate::rfc8414::metadata;
use support::world::{ISSUER, PKCE, REDIRECT_URI, With as _, World, config_at, form, logo, page, parameters, text};

/// The locations of a grant, a refusal of the user and a bad scope.
async fn locations(world: &World) -> [String; 3] {
    let query = world.query(&[("state", "s"), PKCE[0], PKCE[1]]);
    let bad = world.query(&[("scope", "nothing"), PKCE[0], PKCE[1]]);
    let responses =
        [world.approve(&query).await, world.decide(&query, Decision::Deny).await, world.refused(&bad).await];
    responses.map(|response: Response| response.header("Location").unwrap().to_owned())
}

/// 9207-2-01, MCP-0728-01, D-21, 9207-2.3-01
#[tokio::test]
async fn the_issuer_is_sent_as_it_is_on_success_and_on_errors() {
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        for issuer in [ISSUER, "https://auth.example/", "https://auth.example:8443/T/1"] {
            let mut world = World::with(profile, |_| {}).await;
            world.server = world.builder(config_at(profile, issuer), world.store.clone()).build().unwrap();
            for location in locations(&world).await {
                assert_eq!(text(&parameters(&location), "iss"), issuer, "{location}");
            }
            assert_eq!(metadata(&world).await["authorization_response_iss_parameter_supported"], true);
        }
    }
}

/// 9207-2-02
#[tokio::test]
async fn it_is_form_encoded_and_stands_there_once() {
    let world = World::platform().await;
    let own_query = format!("{REDIRECT_URI}?x=1&is=s&Iss=2");
    let query = world.query(&[("redirect_uri", &own_query)]);
    for location in [
        world.approve(&query).await.header("Location").unwrap().to_owned(),
        world.decide(&query, Decision::Deny).await.header("Location").unwrap().to_owned(),
    ] {
        assert!(location.starts_with(&format!("{own_query}&")), "{location}");
        assert!(location.contains("&iss=https%3A%2F%2Fauth.example"), "{location}");
        assert_eq!(location.matches("&iss=").count(), 1, "{location}");
    }

    for own in ["?iss=https://evil.example", "?x=1&iss=", "?%69ss=x", "?iss"] {
        let requested = format!("{REDIRECT_URI}{own}");
        page(&world.refused(&world.query(&[("redirect_uri", &requested)])).await);
        let form = form().with(|form| form.redirect_uris = vec![requested]);
        let registrar = world.server.registrar().unwrap();
        assert!(registrar.submit(world.alice.clone(), form, Some(logo())).await.is_err(), "{own}");
    }
}
