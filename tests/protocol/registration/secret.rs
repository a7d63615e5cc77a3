//! Ids and secrets: shown once, kept as digests, replaced without a moment of failure.

use std::marker::PhantomData;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use grantor::application::ApplicationFilter;
use grantor::client::CheckedForm;
use grantor::registration::Approved;
use grantor::secret::{AccessToken, ConsentTicket, RefreshToken};
use grantor::store::Page;
use grantor::wire::Request;
use grantor::{Application, Approval, Client, ClientSecret, RegistrarError};
use sha2::{Digest, Sha256};

use crate::registration::{developer, registrar, submitted};
use support::world::{Credentials, Reviewer as _, World, e401, empty, ok, public_form, r401};

/// Returns whether the client is authenticated with that secret at both the token and the revocation endpoint.
async fn proves(world: &World, client: &Credentials, secret: &str) -> bool {
    let with_secret = Credentials { id: client.id.clone(), secret: secret.into() };
    let code = world.code_for(&world.query_of(client, &support::world::PKCE)).await;
    let exchanged = world.exchange_as(&with_secret, &code).await;
    let revoked = world.revoke_as(&with_secret, "no-token").await;
    if exchanged.status() == 200 {
        ok(&exchanged);
        empty(&revoked);
        true
    } else {
        e401(&exchanged, "invalid_client");
        r401(&revoked);
        false
    }
}

/// D-26
#[tokio::test]
async fn two_secrets_live_while_one_is_replaced() {
    let world = World::platform().await;
    let registrar = registrar(&world);
    let client = &world.client;
    let id = client.client_id();
    let rotate = async || registrar.rotate_now(&id).await.unwrap().expose().to_owned();
    let live = async |secrets: [&str; 3]| {
        let mut proven = [false; 3];
        for (proven, secret) in proven.iter_mut().zip(secrets) {
            *proven = proves(&world, client, secret).await;
        }
        proven
    };
    let first = client.secret.clone();
    let second = rotate().await;
    assert_eq!(live([&first, &second, "neither"]).await, [true, true, false]);
    let third = rotate().await;
    assert_eq!(live([&first, &second, &third]).await, [false, true, true]);
    registrar.retire_now(&id).await.unwrap();
    assert_eq!(live([&first, &second, &third]).await, [false, false, true]);
    // There is no secret left to retire, and the current one stays.
    registrar.retire_now(&id).await.unwrap();
    assert_eq!(live([&first, &second, &third]).await, [false, false, true]);
}

/// D-26
#[tokio::test]
async fn a_form_that_is_sent_twice_makes_one_secret_and_ends_none() {
    let world = World::platform().await;
    let registrar = registrar(&world);
    let id = world.client.client_id();
    let version = registrar.application(&id).await.unwrap().version();
    let owner = developer();
    let rotate = || registrar.rotate_secret(&id, &owner, version);
    let (one, other) = futures::join!(rotate(), rotate());
    let ((Ok(made), Err(refused)) | (Err(refused), Ok(made))) = (one, other) else {
        panic!("one of the two is refused")
    };
    assert!(matches!(refused, RegistrarError::ChangedMeanwhile), "{refused:?}");
    assert!(proves(&world, &world.client, &world.client.secret).await);
    assert!(proves(&world, &world.client, made.expose()).await);
    assert!(matches!(
        registrar.revoke_previous_secret(&id, &owner, version).await,
        Err(RegistrarError::ChangedMeanwhile)
    ));
    assert!(proves(&world, &world.client, &world.client.secret).await);
}

/// D-26, CVE-2026-44476
#[tokio::test]
async fn a_public_client_has_no_secret() {
    let world = World::platform().await;
    let client = world.register(public_form()).await;
    assert!(client.secret.is_empty());
    for outcome in [
        registrar(&world).claim_now(&client.client_id()).await.map(drop),
        registrar(&world).rotate_now(&client.client_id()).await.map(drop),
        registrar(&world).retire_now(&client.client_id()).await,
    ] {
        assert!(matches!(outcome, Err(RegistrarError::PublicClient)));
    }
    for secret in ["a-secret-that-was-never-made", "[redacted]"] {
        assert!(!proves(&world, &client, secret).await);
    }
    assert!(proves(&world, &client, "").await);
}

/// D-26, HTTP-04, CVE-2020-10187, ADM-13, CVE-2023-37260, django-oauth-toolkit #1736
#[tokio::test]
async fn nothing_that_is_shown_of_a_client_holds_its_secret_or_digest() {
    let world = World::platform().await;
    let registrar = registrar(&world);
    let id = submitted(&world).await;
    let approved = registrar.approve_now(&id, Approval::default()).await.unwrap();
    let claimed = registrar.claim_now(&id).await.unwrap();
    let rotated = registrar.rotate_now(&id).await.unwrap();
    let client = registrar.client(&id).await.unwrap();
    let shown = format!(
        "{approved:?} {claimed:?} {rotated:?} {client:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        registrar.application(&id).await.unwrap(),
        registrar.list(&ApplicationFilter::All, Page::first(10)).await.unwrap(),
        world.server.client(&id).await.unwrap(),
        world.store,
        registrar,
        world.events.take(),
    );
    let live = world.pair().await;
    let request = Request::new("POST").header("Authorization", live.access.as_bytes());
    let failed = world.access("at_x").await.unwrap_err();
    let shown = format!(
        "{shown} {request:?} {failed:?} {failed} {:?} {:?} {:?} {:?}",
        world.server.grants_of(&world.alice).await.unwrap(),
        world.access(&live.access).await.unwrap(),
        world.server,
        world.refresh(&live.refresh).await,
    );
    for token in [&live.access, &live.refresh] {
        let digest = Sha256::digest(&token[25..]);
        assert!(!shown.contains(&token[25..]) && !shown.contains(&STANDARD.encode(digest)));
    }
    for secret in [&claimed, &rotated] {
        let digest = Sha256::digest(secret.expose());
        let hexadecimal: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let decimal = digest.iter().map(u8::to_string).collect::<Vec<_>>().join(", ");
        let base64 = [STANDARD.encode(digest), URL_SAFE_NO_PAD.encode(digest)];
        for hidden in [secret.expose(), &hexadecimal, &decimal, &base64[0], &base64[1]] {
            assert!(!shown.contains(hidden));
        }
        // A stored record contains the digest, and no secret in plain text.
        let stored = client.encode();
        assert!(stored.windows(32).any(|bytes| bytes == digest.as_slice()));
        assert!(!stored.windows(43).any(|bytes| bytes == secret.expose().as_bytes()));
    }
}

/// CVE-2020-10187
///
/// If one of these could be serialized, two implementations would apply, and this would not compile.
#[test]
fn no_list_of_applications_can_be_serialized_by_accident() {
    trait NotSerialize<Marker> {
        fn holds() {}
    }
    impl<T: ?Sized> NotSerialize<()> for T {}
    impl<T: ?Sized + serde::Serialize> NotSerialize<u8> for T {}
    <Application as NotSerialize<_>>::holds();
    <Approved as NotSerialize<_>>::holds();
    <CheckedForm as NotSerialize<_>>::holds();
    <Client as NotSerialize<_>>::holds();
    <ClientSecret as NotSerialize<_>>::holds();
}

/// Reports whether a type implements `==`: the inherent constant is used where its bound is satisfied.
struct Probe<T>(PhantomData<T>);

impl<T: PartialEq> Probe<T> {
    const IS_COMPARABLE: bool = true;
}

trait Otherwise {
    const IS_COMPARABLE: bool = false;
}

impl<T> Otherwise for Probe<T> {}

/// CVE-2021-4294
#[test]
fn no_secret_can_be_compared_but_as_a_digest() {
    let comparable = [
        // The probe detects an existing `==`.
        Probe::<String>::IS_COMPARABLE,
        Probe::<ClientSecret>::IS_COMPARABLE,
        Probe::<ConsentTicket>::IS_COMPARABLE,
        Probe::<AccessToken>::IS_COMPARABLE,
        Probe::<RefreshToken>::IS_COMPARABLE,
    ];
    assert_eq!(comparable, [true, false, false, false, false]);
    // Only digests are compared, and the comparison takes the same time wherever they differ.
    let source = include_str!("../../../src/secret/mod.rs");
    for (item, compares_by) in [("impl PartialEq for Digest", "is_equal("), ("pub(crate) fn is_equal", ".ct_eq(")] {
        let (_, comparison) = source.split_once(item).unwrap();
        let (comparison, _) = comparison.split_once("\n}").unwrap();
        assert!(comparison.contains(compares_by) && !comparison.contains("=="), "{comparison}");
    }
}
