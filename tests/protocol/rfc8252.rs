//! RFC 8252: applications on their user's device.

use grantor::ApplicationForm;
use grantor::client::{ApplicationType, ClientType};
use grantor::config::Profile;
use grantor::redirect_uri::LoopbackHttp;

use support::world::{PKCE, World, e400, logo, ok, pair, public_form, red};

fn native_form(uri: &str) -> ApplicationForm {
    let mut form = public_form();
    form.application_type = ApplicationType::Native;
    form.redirect_uris = vec![uri.into()];
    form
}

/// 8252-7.3-01
#[tokio::test]
async fn a_code_is_bound_to_the_port_of_its_request() {
    let world = World::platform().await;
    let client = world.register(native_form("http://127.0.0.1/cb")).await;
    let uri = "http://127.0.0.1:51004/cb";
    let code = world.code_for(&world.query_of(&client, &[("redirect_uri", uri), PKCE[0], PKCE[1]])).await;
    let form = [("grant_type", "authorization_code"), ("code", &code), ("code_verifier", support::world::VERIFIER)];
    for other in ["http://127.0.0.1/cb", "http://127.0.0.1:51005/cb"] {
        e400(&world.token(&form).field("redirect_uri", other).client(&client).send().await, "invalid_grant");
    }
    ok(&world.token(&form).field("redirect_uri", uri).client(&client).send().await);
}

/// 8252-8.3-01
#[tokio::test]
async fn localhost_by_name_is_an_option() {
    for (loopback_http, is_accepted) in [(LoopbackHttp::default(), true), (LoopbackHttp::Addresses, false)] {
        let world = World::with(Profile::Strict, |config| config.redirect_uris.loopback_http = loopback_http).await;
        let registrar = world.server.registrar().unwrap();
        for (uri, is_accepted) in [("http://localhost/cb", is_accepted), ("http://127.0.0.1/cb", true)] {
            let outcome = registrar.submit(world.alice.clone(), native_form(uri), Some(logo())).await;
            assert_eq!(outcome.is_ok(), is_accepted, "{uri}: {outcome:?}");
        }
        assert_eq!(world.server.security_report().to_string().contains("localhost"), is_accepted);
    }
}

/// 8252-8.1-01, 8252-8.5-01
/// A secret that ships with every copy of an application is no proof.
#[tokio::test]
async fn native_applications_use_pkce_even_if_they_have_a_secret() {
    let world = World::platform().await;
    let mut with_secret = native_form("http://127.0.0.1/cb");
    with_secret.client_type = ClientType::Confidential;
    let with_secret = world.register(with_secret).await;
    assert!(!with_secret.secret.is_empty());
    for client in [&with_secret, &world.register(native_form("http://127.0.0.1/cb")).await] {
        red(&world.refused(&world.query_of(client, &[])).await, "invalid_request");
        let stored = world.server.client(&client.client_id()).await.unwrap().unwrap();
        assert!(stored.counts_as_public() && stored.requires_pkce());
        let code = world.code_for(&world.query_of(client, &PKCE)).await;
        e400(
            &world.token(&[("grant_type", "authorization_code"), ("code", &code)]).client(client).send().await,
            "invalid_grant",
        );
        let first = pair(&world.exchange_as(client, &code).await);
        assert_ne!(pair(&world.refresh_as(client, &first.refresh).await).refresh, first.refresh);
    }
    let strict = World::with(Profile::Strict, |config| config.refresh.grace = std::time::Duration::ZERO).await;
    let mut form = native_form("http://127.0.0.1/cb");
    form.client_type = ClientType::Confidential;
    let client = strict.register(form).await;
    let first = strict.pair_of(&client).await;
    ok(&strict.refresh_as(&client, &first.refresh).await);
    e400(&strict.refresh_as(&client, &first.refresh).await, "invalid_grant");
}
