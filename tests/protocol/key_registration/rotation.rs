//! How the keys of a client are replaced.

use grantor::client::ClientKeys;
use grantor::config::Profile;
use grantor::jose::{JwkSet, SigningAlgorithm};
use grantor::registration::Reduction;
use grantor::{Approval, RegistrarError, Subject};
use serde_json::json;

use super::{exchanged, key_form, refusal, with_keys, world};
use crate::cimd::web::Web;
use support::keys::Signer;
use support::world::{Reviewer as _, World, config_of, e401, form, logo, ok};

fn developer() -> Subject {
    Subject::new("developer").unwrap()
}

const KEYS_URL: &str = "https://app.example.com/keys.json";

/// A world that can fetch the keys at an address.
async fn fetching_world() -> (World, Web) {
    let mut config = config_of(Profile::Strict);
    with_keys(&mut config);
    let web = Web::default();
    let world = World::built(config, |builder| builder.fetcher(web.clone())).await;
    (world, web)
}

fn keys(signers: &[&Signer]) -> ClientKeys {
    let keys: Vec<_> = signers.iter().map(|signer| signer.jwk()).collect();
    ClientKeys::Set(JwkSet::parse(json!({ "keys": keys }).to_string()).unwrap())
}

async fn version(world: &World, id: &grantor::ClientId) -> u32 {
    world.server.registrar().unwrap().application(id).await.unwrap().version()
}

/// 7591-2-20
#[tokio::test]
async fn the_owner_replaces_keys_without_a_moment_of_failure() {
    let world = world().await;
    let registrar = world.server.registrar().unwrap();
    let (old, new) = (Signer::es256(), Signer::es256().another());
    let client = world.register(key_form(&old)).await;
    let id = client.client_id();
    world.events.take();
    let seen = version(&world, &id).await;
    registrar.replace_own_keys(&id, &developer(), seen, keys(&[&old, &new])).await.unwrap();
    let events = world.events.take().join("\n");
    assert!(events.contains("KeysReplaced"), "{events}");
    let live = support::world::pair(&exchanged(&world, &client, &old).await);
    ok(&exchanged(&world, &client, &new).await);
    let again = registrar.replace_own_keys(&id, &developer(), seen, keys(&[&new])).await;
    assert!(matches!(again, Err(RegistrarError::ChangedMeanwhile)), "it was sent twice");
    let other = Subject::new("other").unwrap();
    let foreign = registrar.replace_own_keys(&id, &other, version(&world, &id).await, keys(&[&new])).await;
    assert!(matches!(foreign, Err(RegistrarError::NotFound)));
    registrar.replace_keys(&id, version(&world, &id).await, keys(&[&new])).await.unwrap();
    e401(&exchanged(&world, &client, &old).await, "invalid_client");
    assert!(world.opens(&live.access).await, "tokens outlive the key");
    ok(&exchanged(&world, &client, &new).await);
    // A later step of an administrator keeps them.
    let reducing = Reduction::default().scopes("repo-code:r");
    registrar.reduce(&id, version(&world, &id).await, reducing).await.unwrap();
    ok(&exchanged(&world, &client, &new).await);
}

/// 7591-2-20
#[tokio::test]
async fn a_proposed_change_does_not_bring_replaced_keys_back() {
    let world = world().await;
    let registrar = world.server.registrar().unwrap();
    let (old, new, proposed) = (Signer::es256(), Signer::es256().another(), Signer::ed25519());
    let client = world.register(key_form(&old)).await;
    let id = client.client_id();
    let mut renamed = key_form(&old);
    renamed.name = "Renamed".into();
    registrar.change_now(&id, renamed, None).await.unwrap();
    registrar.replace_keys(&id, version(&world, &id).await, keys(&[&new])).await.unwrap();
    registrar.approve_now(&id, Approval::default()).await.unwrap();
    assert_eq!(registrar.client(&id).await.unwrap().form().name, "Renamed");
    e401(&exchanged(&world, &client, &old).await, "invalid_client");
    ok(&exchanged(&world, &client, &new).await);
    // A change of the keys themselves is applied as it was proposed.
    registrar.change_now(&id, key_form(&proposed), None).await.unwrap();
    registrar.replace_keys(&id, version(&world, &id).await, keys(&[&old])).await.unwrap();
    registrar.approve_now(&id, Approval::default()).await.unwrap();
    ok(&exchanged(&world, &client, &proposed).await);
}

/// 7591-2-20, 7517-5-12
#[tokio::test]
async fn new_keys_are_checked_as_at_registration() {
    let world = world().await;
    let registrar = world.server.registrar().unwrap();
    let mut form_of_one_algorithm = key_form(&Signer::es256());
    form_of_one_algorithm.options.signing_algorithm = Some(SigningAlgorithm::Es256);
    let id = world.register(form_of_one_algorithm).await.client_id();
    let url = |address: &str| ClientKeys::Url(address.into());
    let rs256 = json!({"keys": [Signer::rs256().jwk_with_algorithm()]}).to_string();
    for (keys, expected) in [
        (url("http://app.example.com/k"), "jwks_uri: is not a plain https address"),
        (url("https://app.example.com/k"), "jwks_uri: cannot be fetched"),
        (ClientKeys::Set(JwkSet::parse(rs256).unwrap()), "jwks: has no key for an algorithm that is accepted"),
        (keys(&[&Signer::ed25519()]), "jwks: is ES256, and jwks has no key for it"),
    ] {
        let text = refusal(registrar.replace_keys(&id, version(&world, &id).await, keys).await);
        assert!(text.starts_with(&format!("refused: {expected}")), "{text}");
    }
    let of_secret = world.client.client_id();
    let text =
        refusal(registrar.replace_keys(&of_secret, version(&world, &of_secret).await, keys(&[&Signer::es256()])).await);
    assert!(text.starts_with("refused: jwks: is used by private_key_jwt alone"), "{text}");
    let pending = registrar.submit(developer(), key_form(&Signer::es256()), Some(logo())).await.unwrap();
    let refused = registrar.replace_keys(&pending, version(&world, &pending).await, keys(&[&Signer::es256()])).await;
    assert!(matches!(refused, Err(RegistrarError::WrongState(_))));
}

/// 7591-2-20
#[tokio::test]
async fn keys_of_a_previous_owner_are_marked_until_they_are_replaced() {
    let world = world().await;
    let registrar = world.server.registrar().unwrap();
    let client = world.register(key_form(&Signer::es256())).await;
    let id = client.client_id();
    let marked = async || registrar.client(&id).await.unwrap().has_keys_of_previous_owner();
    let next = Subject::new("next").unwrap();
    assert!(!marked().await);
    registrar.transfer(&id, version(&world, &id).await, next.clone()).await.unwrap();
    assert!(marked().await);
    // The same keys in another form are still the previous owner's.
    let mut renamed = key_form(&Signer::es256());
    renamed.name = "Renamed".into();
    registrar.change_now(&id, renamed, None).await.unwrap();
    registrar.approve_now(&id, Approval::default()).await.unwrap();
    assert!(marked().await);
    ok(&exchanged(&world, &client, &Signer::es256()).await);
    let new = Signer::es256().another();
    // So they are while one of them remains next to a new one.
    let both = keys(&[&Signer::es256().named("renamed"), &new]);
    registrar.replace_own_keys(&id, &next, version(&world, &id).await, both.clone()).await.unwrap();
    assert!(marked().await);
    let mut reordered = key_form(&Signer::es256());
    reordered.jwks = Some(json!({"keys": [new.jwk(), Signer::es256().jwk()]}).to_string());
    registrar.change_now(&id, reordered, None).await.unwrap();
    registrar.approve_now(&id, Approval::default()).await.unwrap();
    assert!(marked().await);
    registrar.replace_own_keys(&id, &next, version(&world, &id).await, keys(&[&new])).await.unwrap();
    assert!(!marked().await);
    // A change that was proposed before brings one of them back.
    let mut with_both = key_form(&Signer::es256());
    with_both.jwks = Some(json!({"keys": [new.jwk(), Signer::es256().jwk()]}).to_string());
    registrar.change_now(&id, with_both, None).await.unwrap();
    registrar.replace_own_keys(&id, &next, version(&world, &id).await, keys(&[&new.another()])).await.unwrap();
    assert!(!marked().await);
    registrar.approve_now(&id, Approval::default()).await.unwrap();
    assert!(marked().await);
    registrar.transfer(&id, version(&world, &id).await, developer()).await.unwrap();
    let of_secret = world.client.client_id();
    registrar.transfer(&of_secret, version(&world, &of_secret).await, next).await.unwrap();
    assert!(!registrar.client(&of_secret).await.unwrap().has_keys_of_previous_owner());
    assert_eq!(form().jwks, None);
}

/// 7591-2-20
#[tokio::test]
async fn keys_at_an_address_are_a_previous_owner_s_until_the_address_is_another() {
    let (world, web) = fetching_world().await;
    let registrar = world.server.registrar().unwrap();
    let id = world.register(key_form(&Signer::es256())).await.client_id();
    let at = |address: &str| ClientKeys::Url(address.into());
    let replaced = async |owner: &Subject, keys| {
        registrar.replace_own_keys(&id, owner, version(&world, &id).await, keys).await.unwrap();
        registrar.client(&id).await.unwrap().has_keys_of_previous_owner()
    };
    assert!(!replaced(&developer(), at(KEYS_URL)).await);
    let next = Subject::new("next").unwrap();
    registrar.transfer(&id, version(&world, &id).await, next.clone()).await.unwrap();
    assert!(replaced(&next, at(KEYS_URL)).await);
    assert!(!replaced(&next, at("https://app.example.com/others.json")).await);
    assert_eq!(web.count(), 0);
}

/// 7591-2-20
/// A replacement discards the set that was fetched before, even from the same address and within the pause.
#[tokio::test]
async fn keys_at_an_address_are_fetched_anew_after_a_replacement() {
    let (world, web) = fetching_world().await;
    let registrar = world.server.registrar().unwrap();
    let (old, new) = (Signer::es256(), Signer::es256().another());
    let client = world.register(key_form(&old)).await;
    let id = client.client_id();
    let publish = |signer: &Signer| web.publish(KEYS_URL, json!({"keys": [signer.jwk()]}));
    for signer in [&old, &new] {
        publish(signer);
        let at = ClientKeys::Url(KEYS_URL.into());
        registrar.replace_own_keys(&id, &developer(), version(&world, &id).await, at).await.unwrap();
        ok(&exchanged(&world, &client, signer).await);
        assert_eq!(web.count(), 1);
    }
    e401(&exchanged(&world, &client, &old).await, "invalid_client");
}
