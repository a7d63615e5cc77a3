//! OAuth 2.1, where it differs from RFC 6749.

use grantor::RegistrarError;
use grantor::application::{Field, Problem};
use grantor::config::Profile;
use grantor::redirect_uri::RedirectUriError;
use grantor::wire::Response;

use support::world::{
    CHALLENGE, PKCE, REDIRECT_URI, VERIFIER, World, code, e400, e401, form, logo, ok, pair, public_form, red, text,
};

async fn exchange(world: &World, code: &str, more: &[(&str, &str)]) -> Response {
    let form = [&[("grant_type", "authorization_code"), ("code", code)], more].concat();
    world.token(&form).client(&world.client).send().await
}

/// 21-2.4.1-01, 6749-2.3.1-07, D-17
#[tokio::test]
async fn a_secret_in_the_form_is_supported() {
    for world in [World::platform().await, World::strict().await, World::mcp().await] {
        let code = world.code().await;
        let form = [("grant_type", "authorization_code"), ("code", &code), ("code_verifier", VERIFIER)];
        let first = pair(&world.token(&form).form_secret(&world.client).send().await);
        let refresh = [("grant_type", "refresh_token"), ("refresh_token", &first.refresh)];
        let wrong = world.token(&refresh).field("client_id", &world.client.id).field("client_secret", "wrong");
        e401(&wrong.send().await, "invalid_client");
        ok(&world.token(&refresh).form_secret(&world.client).send().await);
    }
}

/// 21-4.1.1-01
#[tokio::test]
async fn every_client_uses_pkce_in_the_strict_and_mcp_profiles() {
    for world in [World::strict().await, World::mcp().await] {
        let public = world.register(public_form()).await;
        for client in [&world.client, &public] {
            let query = world.query_of(client, &[("state", "s")]);
            assert_eq!(text(&red(&world.refused(&query).await, "invalid_request"), "state"), "s");
            code(&world.approve(&world.query_of(client, &PKCE)).await);
        }
    }
    let platform = World::platform().await;
    code(&platform.approve(&platform.query(&[])).await);
}

/// 21-4.1.3-01
#[tokio::test]
async fn a_verifier_is_sent_exactly_when_there_was_a_challenge() {
    let world = World::platform().await;
    let [bound, free] = [world.code().await, world.code_for(&world.query(&[])).await];
    e400(&exchange(&world, &bound, &[]).await, "invalid_grant");
    e400(&exchange(&world, &free, &[("code_verifier", VERIFIER)]).await, "invalid_request");
    ok(&exchange(&world, &bound, &[("code_verifier", VERIFIER)]).await);
    ok(&exchange(&world, &free, &[]).await);
}

/// 21-4.1.3-02, 6749-4.1.2-02, D-07
#[tokio::test]
async fn a_replay_revokes_only_if_it_is_valid_but_for_being_one() {
    for profile in [Profile::Platform, Profile::Strict] {
        let world = World::with(profile, |_| {}).await;
        let other = world.register(form()).await;
        let code = world.code_for(&world.query(&[("redirect_uri", REDIRECT_URI), PKCE[0], PKCE[1]])).await;
        let first = pair(&world.exchange(&code).await);
        let wrong = format!("{}x", &VERIFIER[..42]);
        for more in [&[("code_verifier", wrong.as_str())] as &[_], &[], &[("code_verifier", CHALLENGE)]] {
            e400(&exchange(&world, &code, more).await, "invalid_grant");
        }
        let elsewhere = [("code_verifier", VERIFIER), ("redirect_uri", "https://app.example.com/other")];
        e400(&exchange(&world, &code, &elsewhere).await, "invalid_grant");
        e400(&world.exchange_as(&other, &code).await, "invalid_grant");
        let form = [("grant_type", "authorization_code"), ("code", &code), ("code_verifier", VERIFIER)];
        e401(&world.token(&form).basic(&world.client.id, "wrong").send().await, "invalid_client");
        e401(&world.token(&form).field("client_id", &world.client.id).send().await, "invalid_client");
        assert!(world.opens(&first.access).await, "{profile:?}");
        let second = pair(&world.refresh(&first.refresh).await);

        world.events.take();
        e400(&world.exchange(&code).await, "invalid_grant");
        assert!(world.events.saw("GrantRevoked"));
        assert!(!world.opens(&first.access).await && !world.opens(&second.access).await);
        e400(&world.refresh(&second.refresh).await, "invalid_grant");
    }
}

/// 21-10.2-01, D-06
#[tokio::test]
async fn with_pkce_the_redirect_uri_need_not_be_repeated() {
    for world in [World::platform().await, World::strict().await, World::mcp().await] {
        let code = world.code_for(&world.query(&[("redirect_uri", REDIRECT_URI), PKCE[0], PKCE[1]])).await;
        let wrong = [("code_verifier", VERIFIER), ("redirect_uri", "https://app.example.com/cb/")];
        e400(&exchange(&world, &code, &wrong).await, "invalid_grant");
        ok(&exchange(&world, &code, &[("code_verifier", VERIFIER)]).await);
        let code = world.code_for(&world.query(&[("redirect_uri", REDIRECT_URI), PKCE[0], PKCE[1]])).await;
        let repeated = [("code_verifier", VERIFIER), ("redirect_uri", REDIRECT_URI)];
        ok(&exchange(&world, &code, &repeated).await);
    }
}

/// 21-2.3.1-01
#[tokio::test]
async fn a_private_use_scheme_has_a_dot() {
    for world in [World::platform().await, World::strict().await] {
        let registrar = world.server.registrar().unwrap();
        let submit = |uri: &str| {
            let mut form = public_form();
            form.redirect_uris = vec![uri.into()];
            registrar.submit(world.alice.clone(), form, Some(logo()))
        };
        for dotless in ["myapp:/cb", "myapp://cb", "x-app:/cb", "app+1:/cb"] {
            let Err(RegistrarError::Invalid(errors)) = submit(dotless).await else {
                panic!("{dotless} was registered")
            };
            let problem = Problem::RedirectUri { number: 1, error: RedirectUriError::Scheme };
            assert_eq!((errors[0].field(), errors[0].problem()), (Field::RedirectUris, &problem));
        }
        submit("com.example.myapp:/cb").await.unwrap();
    }
}
