//! `derivation_keys`: successors of refresh tokens derived with a key that is not in the database.

use grantor::config::Profile;
use grantor::secret::DerivationKey;
use grantor::{AuthorizationServer, Config, MemoryStore};

use crate::interleaved::reconfigured;
use crate::rfc6749_refresh::records;
use support::world::{Pair, World, config_of, error_body, ok, pair};

fn keys(bytes: &[u8]) -> impl FnOnce(&mut Config) {
    let keys: Vec<_> = bytes.iter().map(|byte| DerivationKey::new([*byte; 32])).collect();
    move |config| config.refresh.derivation_keys = keys
}

/// Asserts a 503 response and the event, and that nothing changes.
async fn key_is_missing(world: &World, token: &Pair) {
    let before = records(world).await;
    world.events.take();
    let response = world.refresh(&token.refresh).await;
    assert_eq!(response.status(), 503);
    assert!(response.header("Retry-After").is_some());
    error_body(&response, "temporarily_unavailable");
    let events = world.events.take();
    assert_eq!(events.iter().filter(|event| event.starts_with("DerivationKeyMissing")).count(), 1, "{events:?}");
    assert!(!events.iter().any(|event| event.starts_with("Refreshed") || event.contains("Reused")), "{events:?}");
    assert_eq!(records(world).await, before);
}

/// D-11
#[tokio::test]
async fn servers_with_the_same_keys_give_the_same_pair() {
    for own in [[].as_slice(), &[1], &[1, 2]] {
        let mut world = World::with(Profile::Platform, keys(own)).await;
        let first = world.pair().await;
        let second = pair(&world.refresh(&first.refresh).await);
        reconfigured(&mut world, keys(own));
        assert_eq!(pair(&world.refresh(&first.refresh).await), second);
        let third = pair(&world.refresh(&second.refresh).await);
        for old in [&first, &second] {
            assert_eq!(pair(&world.refresh(&old.refresh).await), third);
        }
    }
}

/// D-11
#[tokio::test]
async fn a_key_is_introduced_and_rotated_without_a_break() {
    let mut world = World::platform().await;
    let mut line = vec![world.pair().await];
    // No key, one, the next one added second, the next one first, the old one removed; each refreshes once.
    for own in [[].as_slice(), &[1], &[1, 2], &[2, 1], &[2, 1]] {
        reconfigured(&mut world, keys(own));
        world.advance(10);
        line.push(pair(&world.refresh(&line[line.len() - 1].refresh).await));
        let (newest, older) = line.split_last().unwrap();
        for old in older {
            assert_eq!(pair(&world.refresh(&old.refresh).await), *newest);
        }
    }
    // Once the graces under the old key have expired, the key can be removed.
    world.advance(290);
    reconfigured(&mut world, keys(&[2]));
    let newest = &line[5];
    assert_eq!(pair(&world.refresh(&line[4].refresh).await), *newest);
    ok(&world.refresh(&newest.refresh).await);
}

/// D-11
#[tokio::test]
async fn a_missing_key_is_503_and_changes_nothing() {
    let mut world = World::with(Profile::Platform, keys(&[1])).await;
    let first = world.pair().await;
    let second = pair(&world.refresh(&first.refresh).await);
    for own in [[].as_slice(), &[2]] {
        reconfigured(&mut world, keys(own));
        key_is_missing(&world, &first).await;
        assert!(world.opens(&first.access).await && world.opens(&second.access).await);
    }
    // The newest token needs no link; the chain from the first one uses both keys.
    let third = pair(&world.refresh(&second.refresh).await);
    assert_eq!(pair(&world.refresh(&second.refresh).await), third);
    key_is_missing(&world, &first).await;
    reconfigured(&mut world, keys(&[2, 1]));
    assert_eq!(pair(&world.refresh(&first.refresh).await), third);
    // Other reasons to refuse a request come first.
    reconfigured(&mut world, keys(&[]));
    world.advance(300);
    assert_eq!(world.refresh(&first.refresh).await.status(), 400);
}

/// D-11
#[test]
fn two_equal_keys_are_refused() {
    let build = |own: &[u8]| {
        let mut config = config_of(Profile::Platform);
        keys(own)(&mut config);
        AuthorizationServer::new(config, MemoryStore::new())
    };
    for (own, place) in [([1, 1].as_slice(), 2), (&[1, 2, 1], 3)] {
        let expected =
            format!("refresh.derivation_keys is a list with a repeated key at place {place}; each key may occur once");
        assert_eq!(build(own).unwrap_err().to_string(), expected);
    }
    assert!(build(&[1, 2, 3]).is_ok());
}
