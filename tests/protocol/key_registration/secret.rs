//! A client with keys has no secret.

use grantor::client::{AuthenticationMethods, ClientKeys, ClientSecretError};
use grantor::jose::JwkSet;
use grantor::{Approval, Client, ClientId, ClientSecret, RegistrarError, Subject};

use super::{exchanged, key_form, world};
use support::keys::Signer;
use support::world::{Credentials, PKCE, Reviewer as _, World, e401, form, ok};

async fn with_secret(world: &World, client: &Credentials) -> grantor::wire::Response {
    let code = world.code_for(&world.query_of(client, &PKCE)).await;
    world.exchange_as(client, &code).await
}

/// 7591-2-20
#[tokio::test]
async fn approval_makes_no_secret_and_none_can_be_made() {
    let world = world().await;
    let registrar = world.server.registrar().unwrap();
    let client = world.register(key_form(&Signer::es256())).await;
    let id = client.client_id();
    assert!(client.secret.is_empty() && !registrar.client(&id).await.unwrap().has_secret());
    for refused in [
        registrar.claim_now(&id).await.map(drop),
        registrar.rotate_now(&id).await.map(drop),
        registrar.retire_now(&id).await,
        registrar.end_secrets(&id).await,
    ] {
        let error = refused.unwrap_err();
        assert!(matches!(error, RegistrarError::NoSecret), "{error:?}");
        assert_eq!(
            error.to_string(),
            "the client authenticates with its key and has no secret: replace its keys instead"
        );
    }
    ok(&exchanged(&world, &client, &Signer::es256()).await);
}

/// 7591-2-20
#[tokio::test]
async fn a_change_to_keys_ends_the_secrets() {
    let world = world().await;
    let registrar = world.server.registrar().unwrap();
    let client = world.client.clone();
    let id = client.client_id();
    registrar.change_now(&id, key_form(&Signer::es256()), None).await.unwrap();
    ok(&with_secret(&world, &client).await);
    e401(&exchanged(&world, &client, &Signer::es256()).await, "invalid_client");
    registrar.approve_now(&id, Approval::default()).await.unwrap();
    assert!(!registrar.client(&id).await.unwrap().has_secret());
    e401(&with_secret(&world, &client).await, "invalid_client");
    ok(&exchanged(&world, &client, &Signer::es256()).await);

    registrar.change_now(&id, form(), None).await.unwrap();
    registrar.approve_now(&id, Approval::default()).await.unwrap();
    assert!(registrar.client(&id).await.unwrap().form().keys.is_none());
    e401(&exchanged(&world, &client, &Signer::es256()).await, "invalid_client");
    e401(&with_secret(&world, &client).await, "invalid_client");
    let secret = registrar.claim_now(&id).await.unwrap().expose().to_owned();
    ok(&with_secret(&world, &Credentials { secret, ..client }).await);
}

fn keys(signer: &Signer) -> ClientKeys {
    ClientKeys::Set(JwkSet::parse(signer.key_set()).unwrap())
}

/// 7591-2-20
#[test]
fn a_description_has_keys_or_a_secret() {
    let secret = ClientSecret::new("thirty-two characters or more of it");
    let builder = || Client::builder(ClientId::new("own").unwrap());
    let client = builder().secret(&secret).unwrap().keys(keys(&Signer::es256())).build();
    assert!(!client.has_secret() && client.form().keys.is_some());
    assert_eq!(client.form().authentication_methods, AuthenticationMethods::KEY);
    let error = builder().keys(keys(&Signer::es256())).secret(&secret).unwrap_err();
    assert_eq!(error, ClientSecretError::HasKeys);
    assert_eq!(error.to_string(), "a client with keys has no secret; leave out the secret or the keys");
    let public = builder().keys(keys(&Signer::es256())).client_type(grantor::client::ClientType::Public).build();
    assert_eq!((&public.form().keys, public.form().authentication_methods), (&None, AuthenticationMethods::PUBLIC));
    for client in [client, public] {
        assert_eq!(Client::decode(&client.encode()), Ok(client));
    }
}

/// 7591-2-20
#[tokio::test]
async fn a_client_of_the_embedder_brings_its_keys() {
    let world = world().await;
    let registrar = world.server.registrar().unwrap();
    let described = |signer: &Signer| {
        let config = world.server.config();
        Client::builder(ClientId::new("own").unwrap())
            .name("Own")
            .redirect_uri(
                grantor::redirect_uri::RegisteredRedirectUri::parse(
                    support::world::REDIRECT_URI,
                    &config.redirect_uris,
                )
                .unwrap(),
            )
            .scopes(config.scopes.parse(b"repo-code:r").unwrap())
            .resource_scope(grantor::scope::ResourceScope::All)
            .keys(keys(signer))
            .build()
    };
    let (one, other) = (Signer::es256(), Signer::es256().another());
    let client = Credentials { id: "own".into(), secret: String::new() };
    registrar.ensure_client(&described(&one)).await.unwrap();
    ok(&exchanged(&world, &client, &one).await);
    registrar.ensure_client(&described(&other)).await.unwrap();
    e401(&exchanged(&world, &client, &one).await, "invalid_client");
    ok(&exchanged(&world, &client, &other).await);
    let version = registrar.client(&client.client_id()).await.unwrap().version();
    let refused = registrar.replace_keys(&client.client_id(), version, keys(&one)).await;
    assert!(matches!(refused, Err(RegistrarError::FirstParty)));
    let keyless = Client::builder(ClientId::new("keyless").unwrap())
        .name("Own")
        .authentication_methods(AuthenticationMethods::KEY)
        .grant_types(grantor::client::GrantTypes::NONE)
        .build();
    let text = registrar.ensure_client(&keyless).await.unwrap_err().to_string();
    assert!(text.starts_with("refused: jwks: is missing; "), "{text}");
    assert!(registrar.submit(Subject::new("a").unwrap(), form(), None).await.is_err());
}
