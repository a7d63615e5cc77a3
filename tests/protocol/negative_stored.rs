//! Faults of other authorization servers with stored values: how secrets are compared, and where a list
//! continues.

use std::marker::PhantomData;

use grantor::application::ApplicationFilter;
use grantor::client::ClientState;
use grantor::id::{AuthorizationId, GrantId};
use grantor::secret::{AccessToken, AuthorizationCode, ConsentTicket, RefreshToken};
use grantor::store::{Authorization, Grant, Page, RecordStore};
use grantor::{ClientId, ClientSecret, Subject};

use support::world::{PKCE, World, e401, form, ok};

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
        Probe::<AuthorizationCode>::IS_COMPARABLE,
        Probe::<AccessToken>::IS_COMPARABLE,
        Probe::<RefreshToken>::IS_COMPARABLE,
    ];
    assert_eq!(comparable, [true, false, false, false, false, false]);
    // Only digests are compared, and the comparison takes the same time wherever they differ.
    let source = include_str!("../../src/secret/digest.rs");
    for (item, compares_by) in [("impl PartialEq for Digest", "is_equal("), ("pub(crate) fn is_equal", ".ct_eq(")] {
        let (_, comparison) = source.split_once(item).unwrap();
        let (comparison, _) = comparison.split_once("\n}").unwrap();
        assert!(comparison.contains(compares_by) && !comparison.contains("=="), "{comparison}");
    }
}

/// CVE-2021-4294
#[tokio::test]
async fn a_secret_that_is_nearly_right_is_as_wrong_as_any() {
    let world = World::platform().await;
    let secret = world.client.secret.clone();
    let mut guesses = vec!["wrong".to_owned()];
    for right in 0..secret.len() {
        let other = if secret.as_bytes()[right] == b'A' { 'B' } else { 'A' };
        guesses.push(secret[..right].to_owned() + &other.to_string() + &secret[right + 1..]);
        guesses.push(secret[..right.max(1)].to_owned());
    }
    let form = [("grant_type", "refresh_token"), ("refresh_token", "none")];
    let mut bodies = Vec::new();
    for guess in guesses {
        let response = world.token(&form).basic(&world.client.id, &guess).send().await;
        e401(&response, "invalid_client");
        bodies.push(response.into_body());
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "the response does not reveal how close the secret was");
}

/// CVE-2026-33504
#[tokio::test]
async fn where_a_list_goes_on_is_a_value_and_never_a_command() {
    let world = World::platform().await;
    world.pair().await;
    let other = world.register(form()).await;
    let hostile = [
        "' OR '1'='1",
        "'; DROP TABLE clients; --",
        "\" OR 1=1 --",
        "0) UNION SELECT 1 --",
        "%' ESCAPE '\\",
        "]] redis.call('FLUSHALL') --[[",
        "\r\nFLUSHALL\r\n",
    ];
    for text in hostile {
        // Ids of records have sixteen bytes; any other cursor is rejected.
        assert!(text.parse::<GrantId>().is_err() && text.parse::<AuthorizationId>().is_err(), "{text}");
        let subject = Subject::new(text.replace(['\r', '\n'], " ")).unwrap();
        assert_eq!(
            RecordStore::<Grant>::list(&world.store, subject.as_str(), Page::first(10)).await.unwrap().len(),
            0,
            "{text}"
        );
        assert_eq!(
            RecordStore::<Authorization>::list(&world.store, subject.as_str(), Page::first(10)).await.unwrap().len(),
            0,
            "{text}"
        );
        // A client id may be imported, and contain any visible character.
        let Ok(id) = ClientId::new(text) else {
            assert!(text.contains('\r'), "{text}");
            continue;
        };
        let registrar = world.server.registrar().unwrap();
        let owned = ApplicationFilter::OwnedBy(subject);
        assert!(registrar.list(&owned, Page::first(10)).await.unwrap().is_empty(), "{text}");
        let approved = ApplicationFilter::InState(ClientState::Approved);
        let page = registrar.list(&approved, Page::after(id.clone(), 10)).await.unwrap();
        assert!(page.iter().all(|application| application.id() > &id), "{text}: {page:?}");
        assert!(registrar.application(&id).await.is_err(), "{text}");
    }
    ok(&world.exchange_as(&other, &world.code_for(&world.query_of(&other, &PKCE)).await).await);
    ok(&world.exchange(&world.code().await).await);
}
