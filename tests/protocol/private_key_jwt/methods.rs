//! A client authenticates by the method registered for it.

use grantor::ClientSecret;
use grantor::client::{ApplicationType, AuthenticationMethod, AuthenticationMethods, ClientKeys, ClientType};
use grantor::jose::JwkSet;
use grantor::wire::Endpoint;

use super::{ID, OTHER, Scene, builder, by_value, key_set, with_set};
use support::world::{Credentials, e400, e401, empty};

const SECRET: &str = "a secret of thirty-two characters";

/// 7591-2-20
#[tokio::test]
async fn no_other_method_than_the_registered_one_works() {
    let scene = Scene::new().await;
    let world = &scene.world;
    let revoke = || world.post(Endpoint::Revocation, &[("token", "x")]);
    // The client had a secret before, and now has a key.
    let before = builder(ID).secret(&ClientSecret::new(SECRET)).unwrap();
    scene.directory.put(with_set(before, &key_set(&[&scene.signer])));
    scene.refuses(&revoke().basic(ID, SECRET).send().await);
    let secret = Credentials { id: ID.into(), secret: SECRET.into() };
    scene.refuses(&revoke().form_secret(&secret).send().await);
    scene.refuses(&revoke().field("client_id", ID).send().await);
    assert!(scene.accepts(&scene.good()).await);

    // A client that is registered for Basic has no use for keys.
    let basic = AuthenticationMethods::only(AuthenticationMethod::ClientSecretBasic);
    scene.directory.put(builder(ID).keys(keys(&scene)).authentication_methods(basic).build());
    world.events.take();
    assert!(!scene.accepts(&scene.good()).await);
    assert!(scene.reason().contains("UnregisteredAuthentication"));
    let client = builder(ID).authentication_methods(basic).secret(&ClientSecret::new(SECRET)).unwrap();
    scene.directory.put(client.build());
    assert!(!scene.accepts(&scene.good()).await);
    empty(&revoke().basic(ID, SECRET).send().await);
}

/// The key set of the scene's signer, by value.
fn keys(scene: &Scene) -> ClientKeys {
    ClientKeys::Set(JwkSet::parse(key_set(&[&scene.signer]).to_string()).unwrap())
}

/// 7591-2-20
#[tokio::test]
async fn a_client_without_keys_proves_nothing() {
    let scene = Scene::new().await;
    scene.directory.put(builder(ID).build());
    assert!(!scene.accepts(&scene.good()).await);
    assert!(scene.reason().contains("the client has no keys"));
    // Nor does a public client.
    scene.directory.put(builder(ID).keys(keys(&scene)).client_type(ClientType::Public).build());
    assert!(!scene.accepts(&scene.good()).await);
}

/// 7591-2-20
#[tokio::test]
async fn each_secret_method_can_be_switched_off() {
    for (kept, basic_status) in
        [(AuthenticationMethod::ClientSecretBasic, 200), (AuthenticationMethod::ClientSecretPost, 401)]
    {
        let scene =
            Scene::with(|config| config.client_authentication.methods = AuthenticationMethods::only(kept)).await;
        let client = builder(ID).authentication_methods(AuthenticationMethods::SECRET);
        scene.directory.put(client.secret(&ClientSecret::new(SECRET)).unwrap().build());
        scene.directory.put(by_value(OTHER, &[&scene.signer]));
        let revoke = || scene.world.post(Endpoint::Revocation, &[("token", "x")]);
        let secret = Credentials { id: ID.into(), secret: SECRET.into() };
        assert_eq!(revoke().basic(ID, SECRET).send().await.status(), basic_status);
        let in_form = revoke().form_secret(&secret).send().await;
        if basic_status == 200 {
            scene.refuses(&in_form);
            let token = [("grant_type", "refresh_token"), ("refresh_token", "x")];
            e401(&scene.world.token(&token).form_secret(&secret).send().await, "invalid_client");
        } else {
            empty(&in_form);
            e400(&revoke().field("client_id", ID).send().await, "invalid_client");
        }
        assert!(!scene.accepts(&scene.good()).await);
    }
}

/// 7591-2-20, FAPI-5.3.2.1-06
#[tokio::test]
async fn a_native_client_with_a_key_proves_itself_at_introspection() {
    let scene = Scene::new().await;
    let native = |methods| builder(ID).application_type(ApplicationType::Native).authentication_methods(methods);
    scene.directory.put(native(AuthenticationMethods::KEY).keys(keys(&scene)).build());
    let response = scene.post(Endpoint::Introspection, &scene.good()).send().await;
    assert_eq!((response.status(), response.body()), (200, &br#"{"active":false}"#[..]));
    // Its secret would be in every copy of it.
    let secret = native(AuthenticationMethods::SECRET).secret(&ClientSecret::new(SECRET)).unwrap();
    scene.directory.put(secret.build());
    let introspect = scene.world.post(Endpoint::Introspection, &[("token", "x")]);
    assert_eq!(introspect.basic(ID, SECRET).send().await.status(), 401);
}
