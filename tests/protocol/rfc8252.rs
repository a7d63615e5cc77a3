//! RFC 8252: applications on their user's device.

use grantor::RegistrarError;
use grantor::application::{Field, Problem};
use grantor::client::{ApplicationType, ClientType};
use grantor::config::Profile;
use grantor::redirect_uri::{LoopbackHttp, PrivateUseSchemes, RedirectUriError};
use grantor::{ApplicationForm, PendingAuthorization};

use support::world::{Credentials, PKCE, With as _, World, code, e400, form, logo, ok, page, pair, public_form, red};

fn native_form(uri: &str) -> ApplicationForm {
    let mut form = public_form();
    form.application_type = ApplicationType::Native;
    form.redirect_uris = vec![uri.into()];
    form
}

async fn ask(world: &World, client: &Credentials, uri: &str) -> Option<PendingAuthorization> {
    let query = world.query_of(client, &[("redirect_uri", uri), PKCE[0], PKCE[1]]);
    match world.authorize(&query).await {
        Ok(pending) => Some(pending),
        Err(error) => {
            page(&error.response(Some(&world.alice)));
            None
        }
    }
}

/// 8252-7.1-01
#[tokio::test]
async fn private_use_schemes_are_compared_as_strings() {
    for world in [World::platform().await, World::strict().await] {
        let client = world.register(native_form("com.example.app:/oauth2redirect")).await;
        for (uri, accepted) in [
            ("com.example.app:/oauth2redirect", true),
            ("com.example.app:/oauth2redirect/", false),
            ("com.example.app:/oauth2redirect?x=1", false),
            ("com.example.app:/Oauth2redirect", false),
            ("COM.example.app:/oauth2redirect", false),
            ("com.example.app://oauth2redirect", false),
            ("com.example.app.evil:/oauth2redirect", false),
            ("https://com.example.app/oauth2redirect", false),
        ] {
            assert_eq!(ask(&world, &client, uri).await.is_some(), accepted, "{uri}");
        }
        let query = world.query_of(&client, &[("redirect_uri", "com.example.app:/oauth2redirect"), PKCE[0], PKCE[1]]);
        let response = world.approve(&query).await;
        code(&response);
        assert!(response.header("Location").unwrap().starts_with("com.example.app:/oauth2redirect?code="));
    }
}

/// 7591-2-10, 21-2.3.1-01
#[tokio::test]
async fn a_scheme_without_a_dot_or_with_two_slashes_is_named_by_the_embedder() {
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        let named = vec!["cursor".to_owned(), "com.example.named".to_owned()];
        let naming = World::with(profile, |config| match &mut config.redirect_uris.private_use_schemes {
            PrivateUseSchemes::ReverseDomain(schemes) | PrivateUseSchemes::Named(schemes) => *schemes = named,
            _ => unreachable!("there are two kinds"),
        })
        .await;
        let bare = World::with(profile, |_| {}).await;
        let registrar = bare.server.registrar().unwrap();
        for uri in ["cursor://x/cb", "cursor:/cb", "com.example.named://cb"] {
            let outcome = registrar.submit(bare.alice.clone(), native_form(uri), Some(logo())).await;
            let Err(RegistrarError::Invalid(errors)) = outcome else { panic!("{uri} was registered") };
            let error =
                if uri.starts_with("cursor") { RedirectUriError::Scheme } else { RedirectUriError::PrivateUseSlash };
            assert_eq!(errors[0].problem(), &Problem::RedirectUri { number: 1, error }, "{uri}");

            let client = naming.register(native_form(uri)).await;
            let pending = ask(&naming, &client, uri).await.unwrap();
            assert!(pending.redirect_uri().is_private_use() && !pending.is_client_identity_assured());
            for other in [format!("{uri}/"), format!("{uri}?x=1"), uri.to_uppercase(), "cursor://y/cb".into()] {
                assert!(ask(&naming, &client, &other).await.is_none(), "{other}");
            }
        }
    }
}

/// 8252-7.3-01, CVE-2020-15233
#[tokio::test]
async fn the_port_of_a_loopback_address_is_chosen_at_request_time() {
    for world in [World::platform().await, World::strict().await, World::mcp().await] {
        for host in ["127.0.0.1", "[::1]"] {
            for registered in ["", ":3000"] {
                let client = world.register(native_form(&format!("http://{host}{registered}/cb?x=1"))).await;
                for (rest, accepted) in [
                    ("/cb?x=1", true),
                    (":1/cb?x=1", true),
                    (":51004/cb?x=1", true),
                    (":65535/cb?x=1", true),
                    (":0/cb?x=1", false),
                    (":65536/cb?x=1", false),
                    (":51004/cb", false),
                    (":51004/cb?x=2", false),
                    (":51004/cb?x=1&y=2", false),
                    (":51004/evil?x=1", false),
                    (":51004/CB?x=1", false),
                    (":51004/cb/?x=1", false),
                ] {
                    let uri = format!("http://{host}{rest}");
                    assert_eq!(ask(&world, &client, &uri).await.is_some(), accepted, "{uri}");
                }
                for other in ["http://localhost:51004/cb?x=1", "http://127.0.0.2/cb?x=1", "https://127.0.0.1/cb?x=1"] {
                    assert!(ask(&world, &client, other).await.is_none(), "{other}");
                }
            }
        }
    }
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
    for profile in [Profile::Platform, Profile::Strict] {
        let on = World::with(profile, |_| {}).await;
        let client = on.register(native_form("http://localhost/cb")).await;
        assert!(ask(&on, &client, "http://localhost:3000/cb").await.is_some());
        for other in ["http://localhost:3000/other", "http://127.0.0.1/cb", "http://sub.localhost/cb"] {
            assert!(ask(&on, &client, other).await.is_none(), "{other}");
        }
        assert!(on.server.security_report().to_string().contains("localhost"));

        let off = World::with(profile, |config| config.redirect_uris.loopback_http = LoopbackHttp::Addresses).await;
        let submit = |uri| {
            let registrar = off.server.registrar().unwrap();
            async move {
                registrar.submit(grantor::Subject::new("developer").unwrap(), native_form(uri), Some(logo())).await
            }
        };
        let Err(RegistrarError::Invalid(errors)) = submit("http://localhost/cb").await else {
            panic!("localhost was registered")
        };
        let problem = Problem::RedirectUri { number: 1, error: RedirectUriError::PlainHttp };
        assert_eq!((errors[0].field(), errors[0].problem()), (Field::RedirectUris, &problem));
        submit("http://127.0.0.1/cb").await.unwrap();
        assert!(!off.server.security_report().to_string().contains("localhost"));
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

/// 8252-8.6-01, CVE-2023-34246
/// Your service decides whether a page is shown again; the library reports that it must be.
#[tokio::test]
async fn no_consent_of_before_stands_in_for_a_client_without_a_key() {
    let world = World::platform().await;
    let loopback = form().with(|form| form.redirect_uris = vec!["http://localhost/cb".into()]);
    let scheme = form().with(|form| form.redirect_uris = vec!["com.example.app:/cb".into()]);
    let native = form().with(|form| form.application_type = ApplicationType::Native);
    for (form, assured) in [(form(), true), (loopback, false), (scheme, false), (native, false), (public_form(), false)]
    {
        let uri = form.redirect_uris[0].clone();
        let client = world.register(form).await;
        for time in ["first", "second"] {
            let pending = ask(&world, &client, &uri).await.unwrap();
            assert_eq!(pending.is_client_identity_assured(), assured, "{uri}, {time} time");
            assert_eq!(pending.redirect_uri().as_str(), uri);
            code(&world.approve(&world.query_of(&client, &PKCE)).await);
        }
    }
}
