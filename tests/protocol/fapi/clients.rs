//! Which clients the profile accepts, and what other parties learn.

use grantor::ApplicationForm;
use grantor::client::ApplicationType;
use grantor::config::DynamicRegistration;
use grantor::config::Profile;
use grantor::hooks::ApproveWithin;
use grantor::testing::SeededEntropy;
use serde_json::{Value, json};

use crate::key_registration::{key_form, refusal};
use crate::rfc7591::{bounds, created, post, refused};
use crate::rfc9449::{call, exchange_form, proof};
use support::keys::Signer;
use support::world::{PKCE, REDIRECT_URI, World, config_of, e400, logo, page, public_form, red};

/// A world that was switched from the strict profile to this one. Clients can register themselves too.
async fn world() -> World {
    switched(World::with(Profile::Strict, |_| ()).await)
}

fn switched(mut world: World) -> World {
    let mut config = config_of(Profile::Fapi);
    config.registration.dynamic = DynamicRegistration::Open;
    let builder = world.builder(config, world.store.clone()).entropy(SeededEntropy::new(9));
    world.server = builder.registration_policy(ApproveWithin::new(bounds())).build().unwrap();
    world
}

async fn submit(world: &World, form: ApplicationForm) -> String {
    let registrar = world.server.registrar().unwrap();
    refusal(registrar.submit(world.alice.clone(), form, Some(logo())).await)
}

/// What a client with a key sends to register itself.
fn metadata(redirect_uri: &str) -> Value {
    let set: Value = serde_json::from_str(&Signer::es256().key_set()).unwrap();
    json!({
        "redirect_uris": [redirect_uri],
        "client_name": "App",
        "token_endpoint_auth_method": "private_key_jwt",
        "jwks": set,
    })
}

/// FAPI-5.3.2.1-03, 9126-2.1-04
#[tokio::test]
async fn there_are_no_public_clients() {
    let before = World::with(Profile::Strict, |_| ()).await;
    let public = before.register(public_form()).await;
    let code = before.code_for(&before.query_of(&public, &PKCE)).await;
    let world = switched(before);
    // A public client from before the switch is no longer accepted.
    let own = Signer::es256();
    let exchange = call(&world, &public, &exchange_form(&code), &proof(&world, &own));
    e400(&exchange.send().await, "invalid_client");
    e400(&world.par(&public, &PKCE).send().await, "invalid_client");

    let text = submit(&world, public_form()).await;
    assert!(text.starts_with("refused: "), "{text}");
    let mut form = key_form(&own);
    form.client_type = grantor::client::ClientType::Public;
    let text = submit(&world, form).await;
    assert!(text.starts_with("refused: ") && text.contains("client_type"), "{text}");
    let mut open = metadata(REDIRECT_URI);
    open["token_endpoint_auth_method"] = "none".into();
    refused(&post(&world, open.to_string()).await, 400, "invalid_client_metadata");
    assert_eq!(submit(&world, key_form(&own)).await, "accepted");
    created(&post(&world, metadata(REDIRECT_URI).to_string()).await);
}

/// FAPI-5.3.2.2-08
#[tokio::test]
async fn redirect_uris_are_https() {
    let world = world().await;
    for uri in [
        "http://127.0.0.1/cb",
        "http://127.0.0.1:8080/cb",
        "http://[::1]/cb",
        "http://localhost/cb",
        "http://app.example.com/cb",
        "com.example.app:/cb",
        "com.example.app://cb",
        "cursor://cb",
    ] {
        for application_type in [ApplicationType::Web, ApplicationType::Native] {
            let mut form = key_form(&Signer::es256());
            form.redirect_uris = vec![uri.to_owned()];
            form.application_type = application_type;
            let text = submit(&world, form).await;
            assert!(text.starts_with("refused: redirect_uris: value 1: "), "{uri}: {text}");
        }
        refused(&post(&world, metadata(uri).to_string()).await, 400, "invalid_redirect_uri");
    }
    created(&post(&world, metadata(REDIRECT_URI).to_string()).await);
}

/// FAPI-5.3.2.1-07
/// An error goes only to a registered URI, and only after sign-in.
#[tokio::test]
async fn a_strangers_link_leads_to_the_sign_in_first() {
    let mut world = world().await;
    world.client = world.register(key_form(&Signer::es256())).await;
    for (uri, is_registered) in [(REDIRECT_URI, true), ("https://evil.example/cb", false)] {
        let query = world.query(&[PKCE[0], PKCE[1], ("redirect_uri", uri)]);
        let error = world.authorize(&query).await.unwrap_err();
        assert_eq!((error.needs_sign_in(), error.redirects()), (is_registered, is_registered), "{uri}");
        page(&error.response(None));
        let answer = world.refused(&query).await;
        if is_registered {
            red(&answer, "invalid_request");
        } else {
            page(&answer);
        }
    }
}
