//! What a form may contain about keys.

use grantor::client::{ApplicationType, AuthenticationMethod, AuthenticationMethods, ClientKeys, ClientType};
use grantor::config::PushedRequests;
use grantor::config::{DpopBoundTokens, Profile};
use grantor::jose::SigningAlgorithm;
use grantor::{ApplicationForm, Approval, Client, RegistrarError, Subject};
use serde_json::{Value, json};

use super::{key_form, refusal, with_keys, world};
use support::keys::Signer;
use support::world::{Reviewer as _, World, form, logo};

async fn submit(world: &World, form: ApplicationForm) -> String {
    let registrar = world.server.registrar().unwrap();
    refusal(registrar.submit(Subject::new("developer").unwrap(), form, Some(logo())).await)
}

fn with(form: ApplicationForm, change: impl FnOnce(&mut ApplicationForm)) -> ApplicationForm {
    let mut form = form;
    change(&mut form);
    form
}

fn with_set(keys: Value) -> ApplicationForm {
    with(key_form(&Signer::es256()), |form| form.jwks = Some(json!({ "keys": keys }).to_string()))
}

/// 7591-2-20
#[tokio::test]
async fn keys_and_their_method_go_together() {
    let world = world().await;
    let key = || key_form(&Signer::es256());
    let unused = "is used by private_key_jwt alone; leave it out, or choose private_key_jwt as the method of \
                  authentication";
    for (form, expected) in [
        (key(), "accepted".to_owned()),
        (
            with(key(), |form| form.jwks = None),
            "jwks: is missing; private_key_jwt needs a JWK Set here, or its https address in jwks_uri".to_owned(),
        ),
        (
            with(key(), |form| form.jwks = Some(String::new())),
            "jwks: is missing; private_key_jwt needs a JWK Set here, or its https address in jwks_uri".to_owned(),
        ),
        (
            with(key(), |form| {
                form.authentication_methods = AuthenticationMethods::SECRET.with(AuthenticationMethod::PrivateKeyJwt);
            }),
            "authentication_methods: has private_key_jwt together with a secret; use only one of the two".to_owned(),
        ),
        (with(key(), |form| form.authentication_methods = AuthenticationMethods::SECRET), format!("jwks: {unused}")),
        (with(key(), |form| form.client_type = ClientType::Public), format!("jwks: {unused}")),
        (with(form(), |form| form.jwks_uri = Some("https://app.example.com/k".into())), format!("jwks_uri: {unused}")),
        (
            with(form(), |form| form.options.signing_algorithm = Some(SigningAlgorithm::Es256)),
            format!("signing_algorithm: {unused}"),
        ),
        (
            with(key(), |form| form.jwks_uri = Some("https://app.example.com/jwks.json".into())),
            "jwks_uri: is given together with jwks; use only one of the two".to_owned(),
        ),
    ] {
        let expected = if expected == "accepted" { expected } else { format!("refused: {expected}") };
        assert_eq!(submit(&world, form).await, expected);
    }
}

/// 7517-4-01, 7517-5-11, FAPI-5.4.2-01
#[tokio::test]
async fn a_set_by_value_has_public_keys_within_bounds() {
    let world = world().await;
    let good = Signer::es256().jwk();
    let with_member = |name: &str, value: Value| {
        let mut key = good.clone();
        key[name] = value;
        key
    };
    let unknown = json!({"kty": "EC", "crv": "P-384", "x": "AA", "y": "AA"});
    let of_kid = |signer: Signer| signer.named("one").jwk();
    for keys in [json!([unknown, good]), json!(vec![&good; 32])] {
        assert_eq!(submit(&world, with_set(keys.clone())).await, "accepted", "{keys}");
    }
    let refused = [
        (json!([with_member("d", json!("AA"))]), "key 1"),
        (json!([good, {"kty": "oct", "k": "AAAA"}]), "key 2"),
        (json!([with_member("use", json!("enc"))]), "no key for"),
        (json!("x"), "is not a JSON object with a list of keys"),
        (json!(vec![&good; 33]), "more than 32 keys"),
        (json!([of_kid(Signer::es256()), of_kid(Signer::ed25519())]), "the same kid"),
        (json!([with_member("x-pad", json!("x".repeat(65_536)))]), "more than 65536 bytes"),
    ];
    for (keys, expected) in refused {
        let text = submit(&world, with_set(keys.clone())).await;
        assert!(text.starts_with("refused: jwks: ") && text.contains(expected), "{text}");
    }
}

/// 7517-5-12
#[tokio::test]
async fn an_address_of_keys_is_https_and_needs_a_fetcher() {
    let world = world().await;
    let at = |address: &str| {
        with(key_form(&Signer::es256()), |form| {
            form.jwks = None;
            form.jwks_uri = Some(address.to_owned());
        })
    };
    for address in ["http://app.example.com/jwks.json", "app.example.com/jwks.json", "https://u@app.example.com/k"] {
        let expected =
            "refused: jwks_uri: is not a plain https address; one such as https://app.example/jwks.json is accepted";
        assert_eq!(submit(&world, at(address)).await, expected, "{address}");
    }
    let expected = "refused: jwks_uri: cannot be fetched, since the server has no fetcher; the keys themselves are \
                    accepted in jwks";
    assert_eq!(submit(&world, at("https://app.example.com/jwks.json")).await, expected);
}

/// 7591-2-20
#[tokio::test]
async fn an_algorithm_is_accepted_and_fits_a_key() {
    let world = world().await;
    let of =
        |signer: &Signer, algorithm| with(key_form(signer), |form| form.options.signing_algorithm = Some(algorithm));
    let es256 = Signer::es256();
    assert_eq!(submit(&world, of(&es256, SigningAlgorithm::Es256)).await, "accepted");
    let expected = "refused: signing_algorithm: is PS256, and jwks has no key for it; leave it out, or add such a key";
    assert_eq!(submit(&world, of(&es256, SigningAlgorithm::Ps256)).await, expected);
    let expected = "refused: signing_algorithm: is RS256; ES256, PS256, EdDSA are accepted";
    assert_eq!(submit(&world, of(&Signer::rs256(), SigningAlgorithm::Rs256)).await, expected);
    let only_rs256 = with(key_form(&es256), |form| {
        form.jwks = Some(json!({"keys": [Signer::rs256().jwk_with_algorithm()]}).to_string());
    });
    let expected = "refused: jwks: has no key for an algorithm that is accepted; ES256, PS256, EdDSA are accepted";
    assert_eq!(submit(&world, only_rs256.clone()).await, expected);
    let legacy = World::with(Profile::Strict, |config| {
        with_keys(config);
        config.client_authentication.rs256 = true;
    });
    assert_eq!(submit(&legacy.await, only_rs256).await, "accepted");
}

/// 7591-2-20
#[tokio::test]
async fn a_method_has_to_be_offered() {
    let secrets = World::strict().await;
    let expected = "refused: authentication_methods: has no method that is offered; the server offers \
                    client_secret_basic, client_secret_post";
    assert_eq!(submit(&secrets, key_form(&Signer::es256())).await, expected);
    let basic = World::with(Profile::Strict, |config| {
        config.client_authentication.methods = AuthenticationMethods::only(AuthenticationMethod::ClientSecretBasic);
    });
    assert_eq!(submit(&basic.await, form()).await, "accepted", "one of its methods is offered");
}

/// 9126-5-01, 9449-5.1-01
#[tokio::test]
async fn demands_on_requests_and_tokens_are_kept_where_they_can_be_met() {
    let demanding = with(key_form(&Signer::es256()), |form| {
        form.options.requires_pushed_requests = true;
        form.options.requires_dpop_bound_tokens = true;
    });
    let expected = "refused: require_pushed_authorization_requests: is on, and the server setting pushed_requests is \
                    off; leave it off; dpop_bound_access_tokens: is on, and the server's setting dpop.tokens is Off; \
                    leave it off";
    assert_eq!(submit(&world().await, demanding.clone()).await, expected);
    let world = World::with(Profile::Strict, |config| {
        with_keys(config);
        config.pushed_requests.mode = PushedRequests::Optional;
        config.dpop.tokens = DpopBoundTokens::Optional;
    })
    .await;
    let client = world.register(demanding).await;
    let stored = world.server.client(&client.client_id()).await.unwrap().unwrap();
    assert!(stored.form().options.requires_pushed_requests && stored.form().options.requires_dpop_bound_tokens);
    let plain = world.server.client(&world.client.client_id()).await.unwrap().unwrap();
    assert!(!plain.form().options.requires_pushed_requests && !plain.form().options.requires_dpop_bound_tokens);
}

/// 7591-2-20
#[tokio::test]
async fn what_is_shown_can_be_submitted() {
    let world = world().await;
    let registrar = world.server.registrar().unwrap();
    let submitted = with(key_form(&Signer::es256().named("one")), |form| {
        form.options.signing_algorithm = Some(SigningAlgorithm::Es256);
    });
    let client = world.register(submitted).await;
    let application = registrar.application(&client.client_id()).await.unwrap();
    let shown = application.form();
    let Some(ClientKeys::Set(set)) = &shown.keys else { panic!("{shown:?}") };
    let json: Value = serde_json::from_str(set.as_str()).unwrap();
    assert_eq!(json, json!({"keys": [Signer::es256().named("one").jwk()]}));
    assert_eq!(shown.options.signing_algorithm, Some(SigningAlgorithm::Es256));
    let again = shown.to_form(&world.server.config().scopes);
    registrar.change_now(&client.client_id(), again, None).await.unwrap();
    registrar.approve_now(&client.client_id(), Approval::default()).await.unwrap();
    let now = registrar.application(&client.client_id()).await.unwrap();
    assert_eq!(now.form(), shown);
}

/// 7591-2-20
///
/// As with a secret, each copy of a native application may have the key [RFC 8252 section 8.5].
#[tokio::test]
async fn a_native_application_with_a_key_counts_as_public() {
    let world = world().await;
    let native = || with(key_form(&Signer::es256()), |form| form.application_type = ApplicationType::Native);
    let client = world.register(native()).await;
    let stored = world.server.client(&client.client_id()).await.unwrap().unwrap();
    assert!(stored.counts_as_public() && stored.requires_pkce());
    assert_eq!(stored.form().authentication_methods, AuthenticationMethods::KEY);
    // So it is no resource server.
    let registrar = world.server.registrar().unwrap();
    let id = registrar.submit(Subject::new("developer").unwrap(), native(), Some(logo())).await.unwrap();
    let refused = registrar.approve_now(&id, Approval::default().may_introspect()).await;
    assert!(matches!(refused, Err(RegistrarError::PublicClient)), "{refused:?}");
    let client = Client::builder(id).application_type(ApplicationType::Native).may_introspect();
    assert!(!client.authentication_methods(AuthenticationMethods::KEY).build().may_introspect());
}
