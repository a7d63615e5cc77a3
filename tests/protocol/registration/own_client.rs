//! Your own clients, described by texts.

use grantor::client::{ClientState, ClientType, GrantType, GrantTypes};
use grantor::config::Profile;
use grantor::store::Stores;
use grantor::{AuthorizationServer, MemoryStore, RegistrarError};

use crate::registration::first_party::described;
use crate::registration::registrar;
use support::world::{Credentials, REDIRECT_URI, SCOPES, World, ok};

const SECRET: &str = "thirty-two characters and no less";

/// ADM-09: texts describe the client that types describe.
#[tokio::test]
async fn an_own_client_is_the_first_party_client_of_its_description() {
    let world = World::platform().await;
    let wiki = || world.server.own_client("wiki").name("Wiki").secret(SECRET).scopes(SCOPES).redirect_uri(REDIRECT_URI);
    let first = wiki().ensure().await.unwrap();
    assert_eq!(first.state(), ClientState::Approved);
    assert_eq!(wiki().ensure().await.unwrap(), first);
    assert_eq!(registrar(&world).ensure_client(&described(&world, "wiki")).await.unwrap(), first);
    let client = Credentials { id: "wiki".into(), secret: SECRET.into() };
    assert!(world.opens(&world.pair_of(&client).await.access).await);
}

/// 6749-4.4-01, ADM-09: the scopes decide which grant types the client has.
#[tokio::test]
async fn an_own_client_may_act_for_itself() {
    let world = World::with(Profile::Platform, |config| config.client_credentials.on = true).await;
    let export = || world.server.own_client("export").name("Export").secret(SECRET).client_scopes("repo-code:r");
    let client = export().ensure().await.unwrap();
    assert_eq!(client.form().grant_types, GrantTypes::NONE.with(GrantType::ClientCredentials));
    let credentials = Credentials { id: "export".into(), secret: SECRET.into() };
    ok(&world.token(&[("grant_type", "client_credentials")]).client(&credentials).send().await);
    let both = export().scopes("repo-code:r").redirect_uri(REDIRECT_URI).ensure().await.unwrap();
    assert_eq!(both.form().grant_types, GrantTypes::default().with(GrantType::ClientCredentials));
}

/// ADM-09
#[tokio::test]
async fn an_own_client_may_be_public() {
    let world = World::with(Profile::Platform, |config| config.public_clients = true).await;
    let page = world.server.own_client("page").name("Page").scopes(SCOPES).redirect_uri(REDIRECT_URI);
    let client = page.with(|client| client.client_type(ClientType::Public)).ensure().await.unwrap();
    assert_eq!((client.form().client_type, client.has_secret()), (ClientType::Public, false));
}

/// ADM-10
#[tokio::test]
async fn all_that_is_wrong_with_an_own_client_is_reported_at_once() {
    let world = World::platform().await;
    let described = world.server.own_client("a\n").secret("short").scopes("repo-cod:r");
    let refused = described.redirect_uri(REDIRECT_URI).redirect_uri("app.example").ensure().await.unwrap_err();
    let text = refused.to_string();
    let parts: Vec<_> = text.strip_prefix("the client \"a\\n\": refused: ").unwrap().split("; ").collect();
    for part in [
        "name: is missing (name(…) sets it)",
        "scopes: unknown scope \"repo-cod:r\"",
        "did you mean \"repo-code:r\"?",
        "client_id: a client id must have 1 to 512 characters, each a visible one of ASCII or a space",
        "client_secret: the client secret has 5 characters",
    ] {
        assert!(parts.contains(&part), "{part} in {text}");
    }
    assert!(parts.iter().any(|part| part.starts_with("redirect_uris: value 2: ")), "{text}");
    let empty = world.server.own_client("wiki").ensure().await.unwrap_err().to_string();
    assert!(empty.contains("scopes: is missing (scopes(…) sets it)"), "{empty}");
}

#[tokio::test]
async fn an_own_client_needs_a_registry() {
    let world = World::platform().await;
    let stores = Stores::new(MemoryStore::new()).with_clients(world.store.clone());
    let server = AuthorizationServer::new(world.server.config().clone(), stores).unwrap();
    let refused = server.own_client("wiki").name("Wiki").ensure().await;
    let Err(RegistrarError::OwnClient { client, error }) = refused else { panic!("{refused:?}") };
    assert!(client == "wiki" && matches!(*error, RegistrarError::Store(_)), "{client}: {error:?}");
}
