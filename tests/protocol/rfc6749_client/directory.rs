//! Imported clients, whose ids and secrets are not plain letters and digits.

use grantor::config::Profile;
use grantor::redirect_uri::{RedirectUriPolicy, RegisteredRedirectUri};
use grantor::scope::{ResourceScope, ScopeCatalog};
use grantor::store::Stores;
use grantor::testing::SeededEntropy;
use grantor::{Client, ClientId, ClientSecret};

use support::directory::Directory;
use support::world::{Credentials, PKCE, REDIRECT_URI, SCOPES, World, config_of, e400, e401, ok, page};

/// A world with only these clients.
async fn world_of(profile: Profile, clients: Vec<Client>) -> World {
    let mut world = World::with(profile, |_| {}).await;
    let stores = Stores::new(world.store.clone()).with_clients(Directory::of(clients));
    world.server = world.builder(config_of(profile), stores).entropy(SeededEntropy::new(8)).build().unwrap();
    world
}

fn client(id: &str, secret: &str, redirect_uris: &[&str]) -> Client {
    let scopes = ScopeCatalog::platform().parse(SCOPES.as_bytes()).unwrap();
    let builder = Client::builder(ClientId::new(id).unwrap()).scopes(scopes).resource_scope(ResourceScope::All);
    let builder = builder.secret(&ClientSecret::new(secret)).unwrap();
    let parse = |uri| RegisteredRedirectUri::parse(uri, &RedirectUriPolicy::default()).unwrap();
    redirect_uris.iter().fold(builder, |builder, uri| builder.redirect_uri(parse(uri))).build()
}

/// Form encoding with `+` for a space, as clients that follow the RFC write it.
fn encoded(text: &str) -> String {
    serde_urlencoded::to_string([("", text)]).unwrap()[1..].to_owned()
}

const ID: &str = "id with:colon, + and % and %41";
const SECRET: &str = "p%41ss:word with + and %2B, %25, %zz and ~ in it";

/// 6749-2.3.1-01
///
/// Appendix A of the RFC limits ids and secrets to visible ASCII, so UTF-8 is read but matches no client.
#[tokio::test]
async fn basic_is_split_at_the_first_colon_and_form_decoded() {
    for profile in [Profile::Platform, Profile::Strict] {
        let world = world_of(profile, vec![client(ID, SECRET, &[REDIRECT_URI])]).await;
        let known = Credentials { id: ID.into(), secret: SECRET.into() };
        let query = world.query_of(&known, &PKCE);
        let escaped = |text: &str| text.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
        for (case, id, secret) in [
            ("form-encoded", encoded(ID), encoded(SECRET)),
            ("every byte escaped", escaped(ID), escaped(SECRET)),
            ("spaces as %20", encoded(ID).replace('+', "%20"), encoded(SECRET).replace('+', "%20")),
            ("colon of the secret left", encoded(ID), encoded(SECRET).replace("%3A", ":")),
        ] {
            println!("{profile:?}: {case}: {id}:{secret}");
            let code = world.code_for(&query).await;
            let call = super::exchange(&world, &code);
            ok(&call.basic(&id, &secret).send().await);
        }
        for (case, id, secret) in [
            ("raw colon in the id", encoded(ID).replace("%3A", ":"), encoded(SECRET)),
            ("encoded twice", encoded(&encoded(ID)), encoded(&encoded(SECRET))),
            ("UTF-8", encoded("\u{e4}\u{20ac}"), encoded("\u{e4}")),
            ("UTF-8 secret", encoded(ID), encoded("\u{e4}")),
            ("raw UTF-8 secret", encoded(ID), "\u{e4}\u{20ac}".into()),
        ] {
            println!("{profile:?}: {case}: {id}:{secret}");
            let call = super::exchange(&world, "x");
            e401(&call.basic(&id, &secret).send().await, "invalid_client");
        }
    }
}

/// 6749-2.3.1-02, D-05
///
/// D-05: both readings are accepted; the strict profile only accepts the form-decoded one.
#[tokio::test]
async fn basic_with_the_plain_values_works_too() {
    for (id, secret) in [
        ("a+b", "a+secret%with:characters-that-differ"),
        ("plain", "a secret with 100% and more of it"),
        ("plain", "a+secret+with+plus+signs+in+itself"),
        ("plain", "a secret with %41 and %2B as they are"),
        ("i+d", "a-secret-of-letters-and-hyphens-alone"),
        ("50%", "a+secret+with+plus+signs+in+itself"),
    ] {
        println!("{id}:{secret}");
        let known = Credentials { id: id.into(), secret: secret.into() };
        let world = world_of(Profile::Platform, vec![client(id, secret, &[REDIRECT_URI])]).await;
        let code = world.code_for(&world.query_of(&known, &PKCE)).await;
        let call = super::exchange(&world, &code);
        ok(&call.basic(id, secret).field("client_id", id).send().await);
        let code = world.code_for(&world.query_of(&known, &PKCE)).await;
        let call = super::exchange(&world, &code);
        ok(&call.basic(&encoded(id), &encoded(secret)).field("client_id", id).send().await);

        let strict = world_of(Profile::Strict, vec![client(id, secret, &[REDIRECT_URI])]).await;
        let code = strict.code_for(&strict.query_of(&known, &PKCE)).await;
        e401(&super::exchange(&strict, &code).basic(id, secret).send().await, "invalid_client");
        ok(&super::exchange(&strict, &code).basic(&encoded(id), &encoded(secret)).send().await);
    }
}

/// 6749-2.3-02, 6749-2.3.1-02
#[tokio::test]
async fn two_readings_never_mix_two_clients() {
    // Decoded, the second id is the first one.
    let (one, two) = ("a b", "a+b");
    let (secret, other) = ("the-secret-of-the-first-client-of-two", "the-secret-of-the-second-client-of-two");
    let clients = || vec![client(one, secret, &[REDIRECT_URI]), client(two, other, &[REDIRECT_URI])];
    let world = world_of(Profile::Platform, clients()).await;
    for (id, secret, owner) in [(two, secret, one), (two, other, two), ("a%20b", secret, one), ("a%2Bb", other, two)] {
        println!("{id}:{secret}");
        let known = Credentials { id: owner.into(), secret: String::new() };
        let code = world.code_for(&world.query_of(&known, &PKCE)).await;
        ok(&super::exchange(&world, &code).basic(id, secret).send().await);
    }
    e401(&super::exchange(&world, "x").basic("a%2Bb", secret).send().await, "invalid_client");
    e401(&super::exchange(&world, "x").basic("a%20b", other).send().await, "invalid_client");
    e400(&super::exchange(&world, "x").basic("a%20b", secret).field("client_id", two).send().await, "invalid_request");
}

/// 6749-3.1.2.3-01
#[tokio::test]
async fn without_a_registered_redirect_uri_there_is_nowhere_to_go() {
    let secret = "a-secret-of-letters-and-hyphens-alone";
    for profile in [Profile::Platform, Profile::Strict] {
        let clients = vec![client("with", secret, &[REDIRECT_URI]), client("without", secret, &[])];
        let world = world_of(profile, clients).await;
        let of = |id: &str| Credentials { id: id.into(), secret: secret.into() };
        assert!(world.authorize(&world.query_of(&of("with"), &PKCE)).await.is_ok());
        let query = world.query_of(&of("without"), &PKCE);
        page(&world.refused(&query).await);
        page(&world.refused(&format!("{query}&redirect_uri=https%3A%2F%2Fapp.example.com%2Fcb")).await);
    }
}
