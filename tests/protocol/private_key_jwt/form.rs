//! How the assertion is sent, and where.

use grantor::client::AuthenticationMethod;
use grantor::wire::{Endpoint, Response};
use serde_json::json;

use super::{ID, JWT_BEARER, OTHER, Scene, asserted};
use support::world::{Credentials, PKCE, VERIFIER, World, e400, e401, empty, ok, pair};

const ENDPOINTS: [Endpoint; 3] = [Endpoint::Token, Endpoint::Revocation, Endpoint::Introspection];

/// Returns whether the response to [`Scene::post`] at that endpoint shows that the client was authenticated.
fn is_authenticated(endpoint: Endpoint, response: &Response) -> bool {
    let body = String::from_utf8_lossy(response.body());
    match endpoint {
        Endpoint::Token => response.status() == 400 && body.contains("invalid_grant"),
        _ => response.status() == 200,
    }
}

/// 7523-2.2-01
#[tokio::test]
async fn assertion_and_type_come_together_and_alone() {
    let scene = Scene::new().await;
    let good = scene.good();
    let plain = || scene.world.post(Endpoint::Revocation, &[("token", "x")]);
    for bent in [
        plain().field("client_assertion", &good),
        plain().field("client_assertion_type", JWT_BEARER),
        plain().field("client_assertion", &good).field("client_assertion_type", ""),
        scene.post(Endpoint::Revocation, &good).field("client_assertion", &good),
        scene.post(Endpoint::Revocation, &good).field("client_assertion_type", JWT_BEARER),
        scene.post(Endpoint::Revocation, &good).basic(ID, "secret"),
        scene.post(Endpoint::Revocation, &good).field("client_secret", "secret"),
        scene.post(Endpoint::Revocation, &good).header("Authorization", b"Bearer x"),
    ] {
        e400(&bent.send().await, "invalid_request");
    }
    let saml = "urn:ietf:params:oauth:client-assertion-type:saml2-bearer";
    for wrong in [saml, "jwt-bearer", &JWT_BEARER.to_uppercase()] {
        let call = plain().field("client_assertion", &good).field("client_assertion_type", wrong);
        scene.refuses(&call.send().await);
    }
    let query = format!("client_assertion_type={JWT_BEARER}&client_assertion={good}");
    scene.refuses(&plain().query(&query).send().await);
    // None of these used it up, and parameters in the URL do not count as a second way to authenticate.
    empty(&scene.post(Endpoint::Revocation, &good).query(&query).send().await);
}

/// 7523-2.2-02
#[tokio::test]
async fn the_rules_are_the_same_at_every_endpoint() {
    for fapi in [false, true] {
        let scene = if fapi { Scene::fapi().await } else { Scene::new().await };
        for endpoint in ENDPOINTS {
            let response = scene.post(endpoint, &scene.good()).send().await;
            assert!(is_authenticated(endpoint, &response), "{endpoint:?} {response:?}");
            let bad = scene.post(endpoint, &scene.claiming(json!({"aud": "https://other.example"}))).send().await;
            if fapi {
                e400(&bad, "invalid_client");
                assert_eq!(bad.header("WWW-Authenticate"), None);
            } else if endpoint == Endpoint::Revocation {
                scene.refuses(&bad);
            } else {
                e401(&bad, "invalid_client");
            }
            for url in ["token", "revoke", "introspect", "par"] {
                let url = format!("https://auth.example/oauth2/{url}");
                let response = scene.post(endpoint, &scene.claiming(json!({"aud": url}))).send().await;
                assert!(!is_authenticated(endpoint, &response), "{url}");
            }
        }
    }
}

/// 7523-2.2-02
#[tokio::test]
async fn every_grant_type_takes_an_assertion() {
    let scene = Scene::with(|config| config.client_credentials.on = true).await;
    let world = &scene.world;
    let mut machine =
        super::builder("machine").grant_types([grantor::client::GrantType::ClientCredentials].into_iter().collect());
    machine = machine.client_scopes(grantor::scope::ScopeCatalog::platform().parse(b"repo-code:r").unwrap());
    machine = machine.client_resources(grantor::scope::ResourceScope::All);
    scene.directory.put(super::with_set(machine, &super::key_set(&[&scene.signer])));

    let code = world.code_for(&world.query(&PKCE)).await;
    let exchange = [("grant_type", "authorization_code"), ("code", &*code), ("code_verifier", VERIFIER)];
    let first = pair(&asserted(world.token(&exchange), &scene.good()).send().await);
    let refresh = [("grant_type", "refresh_token"), ("refresh_token", &*first.refresh)];
    ok(&asserted(world.token(&refresh), &scene.good()).send().await);
    let own = scene.signer.assertion("machine", support::world::ISSUER, scene.now(), |_, _| {});
    ok(&asserted(world.token(&[("grant_type", "client_credentials")]), &own).send().await);
}

/// 7521-4.2-01
#[tokio::test]
async fn the_form_may_name_the_client_of_the_assertion() {
    let scene = Scene::new().await;
    for endpoint in ENDPOINTS {
        let response = scene.post(endpoint, &scene.good()).field("client_id", ID).send().await;
        assert!(is_authenticated(endpoint, &response), "{endpoint:?}");
        for id in [OTHER, "unknown", "App", "app ", "\u{e4}"] {
            let response = scene.post(endpoint, &scene.good()).field("client_id", id).send().await;
            e400(&response, "invalid_request");
        }
    }
    // A `client_id` in the form does not turn another client's assertion into its own.
    let of_other = scene.signer.another().assertion(OTHER, support::world::ISSUER, scene.now(), |_, _| {});
    e400(&scene.post(Endpoint::Revocation, &of_other).field("client_id", ID).send().await, "invalid_request");
}

/// 7523-2.2-01
///
/// If the server does not offer the method, an assertion is refused like any other wrong credential.
#[tokio::test]
async fn an_assertion_is_refused_while_the_method_is_off() {
    let world = World::platform().await;
    assert!(!world.server.config().client_authentication.methods.contains(AuthenticationMethod::PrivateKeyJwt));
    let scene = Scene::new().await;
    let token = [("grant_type", "refresh_token"), ("refresh_token", "x")];
    e401(&asserted(world.token(&token), &scene.good()).send().await, "invalid_client");
    assert!(world.events.take().join(" ").contains("UnsupportedAuthentication"));
}

/// FAPI-5.3.2.1-06
#[tokio::test]
async fn a_server_for_keys_alone_takes_no_secret() {
    let scene = Scene::fapi().await;
    let secret = "a secret of thirty-two characters";
    let client = super::builder(OTHER).authentication_methods(grantor::client::AuthenticationMethods::SECRET);
    let client = client.secret(&grantor::ClientSecret::new(secret)).unwrap().build();
    scene.directory.put(client.clone());
    let token = [("grant_type", "refresh_token"), ("refresh_token", "x"), ("token", "x")];
    for endpoint in ENDPOINTS {
        let basic = scene.world.post(endpoint, &token).basic(OTHER, secret).send().await;
        assert_eq!(basic.status(), 401);
        assert_eq!(basic.header("WWW-Authenticate"), Some("Basic realm=\"https://auth.example\""));
        let in_form = Credentials { id: OTHER.into(), secret: secret.into() };
        e400(&scene.world.post(endpoint, &token).form_secret(&in_form).send().await, "invalid_client");
        e400(&scene.world.post(endpoint, &token).field("client_id", OTHER).send().await, "invalid_client");
        e400(&scene.world.post(endpoint, &token).send().await, "invalid_client");
    }
    // The same client with the same secret is served if the server offers secrets.
    let offered = Scene::new().await;
    offered.directory.put(client);
    let of_client = Credentials { id: OTHER.into(), secret: secret.into() };
    for endpoint in ENDPOINTS {
        for call in [
            offered.world.post(endpoint, &token).basic(OTHER, secret),
            offered.world.post(endpoint, &token).form_secret(&of_client),
        ] {
            let response = call.send().await;
            assert!(is_authenticated(endpoint, &response), "{endpoint:?} {response:?}");
        }
    }
}
