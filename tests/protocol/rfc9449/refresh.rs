//! The keys of a grant's tokens through its refreshes [RFC 9449 section 5].

use grantor::client::{ApplicationType, RefreshRotation};
use support::keys::Signer;
use support::world::{Credentials, With as _, World, e400, form, public_form};

use super::{bound, bound_pair_of, edp, proven, refresh_form, unbound, world, world_with};

async fn public(world: &World) -> Credentials {
    world.register(public_form()).await
}

/// 9449-5-02
#[tokio::test]
async fn the_refresh_token_of_a_public_client_is_bound_to_its_first_key() {
    let world = world().await;
    let native = form().with(|form| form.application_type = ApplicationType::Native);
    for client in [public(&world).await, world.register(native).await] {
        let (own, other) = (Signer::es256(), Signer::ed25519());
        let mut refresh = bound_pair_of(&world, &client, &own).await.refresh;
        for _ in 0..3 {
            e400(&proven(&world, &client, &refresh_form(&refresh), &other).await, "invalid_grant");
            assert!(world.events.saw("AnotherDpopKey"));
            edp(&world.refresh_as(&client, &refresh).await);
            refresh = bound(&proven(&world, &client, &refresh_form(&refresh), &own).await).refresh;
        }
    }
}

/// 9449-5-02
#[tokio::test]
async fn the_first_proof_of_a_public_client_may_come_with_a_refresh() {
    let world = world().await;
    let client = public(&world).await;
    let first = world.pair_of(&client).await;
    let next = unbound(&world.refresh_as(&client, &first.refresh).await);
    let own = Signer::es256();
    let last = bound(&proven(&world, &client, &refresh_form(&next.refresh), &own).await);
    // The tokens before it were not bound: with the key, they are in their grace.
    for token in [&first, &next] {
        assert_eq!(bound(&proven(&world, &client, &refresh_form(&token.refresh), &own).await), last);
    }
    e400(&proven(&world, &client, &refresh_form(&last.refresh), &own.another()).await, "invalid_grant");
    edp(&world.refresh_as(&client, &last.refresh).await);
    bound(&proven(&world, &client, &refresh_form(&last.refresh), &own).await);
}

/// 9449-5-02
#[tokio::test]
async fn a_confidential_client_may_bring_another_key_each_time() {
    let world = world().await;
    let mut refresh = bound_pair_of(&world, &world.client, &Signer::es256()).await.refresh;
    for signer in [Signer::ps256(), Signer::ed25519(), Signer::es256().another()] {
        refresh = bound(&proven(&world, &world.client, &refresh_form(&refresh), &signer).await).refresh;
    }
    assert!(!world.events.saw("AnotherDpopKey"));
}

/// 9449-5-04
#[tokio::test]
async fn a_wrong_key_is_refused_before_reuse_is_judged() {
    let world = world().await;
    let client = public(&world).await;
    let own = Signer::es256();
    let first = bound_pair_of(&world, &client, &own).await;
    let next = bound(&proven(&world, &client, &refresh_form(&first.refresh), &own).await);
    // Past its grace.
    world.advance(86_400);
    world.events.take();
    e400(&proven(&world, &client, &refresh_form(&first.refresh), &own.another()).await, "invalid_grant");
    edp(&world.refresh_as(&client, &first.refresh).await);
    let events = world.events.take();
    assert!(events.iter().any(|event| event.starts_with("AnotherDpopKey")), "{events:?}");
    assert!(!events.iter().any(|event| event.contains("Reused") || event.contains("Revoked")), "{events:?}");
    let last = bound(&proven(&world, &client, &refresh_form(&next.refresh), &own).await);
    // With the right key it is reported as reuse.
    e400(&proven(&world, &client, &refresh_form(&first.refresh), &own).await, "invalid_grant");
    assert!(world.events.saw("GrantRevoked"), "the grant of a public client is revoked");
    e400(&proven(&world, &client, &refresh_form(&last.refresh), &own).await, "invalid_grant");
}

/// 9449-5-04, 9700-4.14.2-01
#[tokio::test]
async fn a_thief_who_binds_the_grant_hides_no_reuse() {
    for refreshes_of_the_thief in [1, 3] {
        let world = world().await;
        let client = public(&world).await;
        let first = world.pair_of(&client).await;
        let theirs = Signer::es256();
        let mut stolen = bound(&proven(&world, &client, &refresh_form(&first.refresh), &theirs).await);
        for _ in 1..refreshes_of_the_thief {
            // The first pair leaves the record.
            world.advance(86_400);
            stolen = bound(&proven(&world, &client, &refresh_form(&stolen.refresh), &theirs).await);
        }
        world.advance(86_400);
        world.events.take();
        e400(&world.refresh_as(&client, &first.refresh).await, "invalid_grant");
        let events = world.events.take();
        assert!(events.iter().any(|event| event.starts_with("RefreshTokenReused")), "{events:?}");
        assert!(events.iter().any(|event| event.starts_with("GrantRevoked")), "{events:?}");
        e400(&proven(&world, &client, &refresh_form(&stolen.refresh), &theirs).await, "invalid_grant");
    }
}

/// 9449-5-02, 9449-5-04
#[tokio::test]
async fn a_retry_with_the_same_key_gets_the_same_pair() {
    let world = world().await;
    let (own, other) = (Signer::es256(), Signer::ed25519());
    let first = bound_pair_of(&world, &world.client, &own).await;
    let form = refresh_form(&first.refresh);
    let next = bound(&proven(&world, &world.client, &form, &own).await);
    assert_eq!(bound(&proven(&world, &world.client, &form, &own).await), next);
    // With another key, the newest pair does not fit the request. It gets one more access token.
    let further = bound(&proven(&world, &world.client, &form, &other).await);
    assert!(further.access != next.access && further.refresh == next.refresh);
    assert_eq!(bound(&proven(&world, &world.client, &form, &own).await), next);
    edp(&world.refresh(&first.refresh).await);
}

/// 9449-5-04
/// The superseded token was never bound; the line is, since a tab that proves a key has refreshed it.
#[tokio::test]
async fn an_old_tab_without_proof_loses_the_grant_of_a_public_client_alone() {
    for (is_public, with_other_key) in [(true, false), (true, true), (false, false), (false, true)] {
        let world = world().await;
        let client = if is_public { public(&world).await } else { world.client.clone() };
        let first = world.pair_of(&client).await;
        let (own, other) = (Signer::es256(), Signer::ed25519());
        let next = bound(&proven(&world, &client, &refresh_form(&first.refresh), &own).await);
        // A retry with the key of the line is an ordinary use in grace.
        assert_eq!(bound(&proven(&world, &client, &refresh_form(&first.refresh), &own).await), next);
        world.events.take();
        if is_public {
            let response = if with_other_key {
                proven(&world, &client, &refresh_form(&first.refresh), &other).await
            } else {
                world.refresh_as(&client, &first.refresh).await
            };
            e400(&response, "invalid_grant");
            let events = world.events.take();
            assert!(events.iter().any(|event| event.starts_with("RefreshTokenReused")), "{events:?}");
            e400(&proven(&world, &client, &refresh_form(&next.refresh), &own).await, "invalid_grant");
        } else if with_other_key {
            let further = bound(&proven(&world, &client, &refresh_form(&first.refresh), &other).await);
            assert_eq!(further.refresh, next.refresh);
        } else {
            edp(&world.refresh_as(&client, &first.refresh).await);
            assert!(world.events.saw("AnotherDpopKey"));
            bound(&proven(&world, &client, &refresh_form(&next.refresh), &own).await);
        }
    }
}

/// 9449-5-04
#[tokio::test]
async fn a_proof_with_a_superseded_token_binds_its_access_token_alone() {
    let world = world().await;
    for client in [public(&world).await, world.client.clone()] {
        let first = world.pair_of(&client).await;
        let next = unbound(&world.refresh_as(&client, &first.refresh).await);
        let further = bound(&proven(&world, &client, &refresh_form(&first.refresh), &Signer::es256()).await);
        assert_eq!(further.refresh, next.refresh);
        // The line is not bound: the newest token works without a proof, and binds the line with any key.
        assert_eq!(unbound(&world.refresh_as(&client, &first.refresh).await), next);
        let last = bound(&proven(&world, &client, &refresh_form(&next.refresh), &Signer::ed25519()).await);
        edp(&world.refresh_as(&client, &last.refresh).await);
    }
}

/// 9449-5-02, FAPI-KEEP-01
#[tokio::test]
async fn a_kept_refresh_token_gives_access_tokens_with_their_own_keys() {
    let world = world_with(|config| config.refresh.rotation = RefreshRotation::Keep).await;
    let first = bound_pair_of(&world, &world.client, &Signer::es256()).await;
    for signer in [Signer::ed25519(), Signer::es256().another(), Signer::es256()] {
        let next = bound(&proven(&world, &world.client, &refresh_form(&first.refresh), &signer).await);
        assert_eq!(next.refresh, first.refresh);
        edp(&world.refresh(&first.refresh).await);
    }
    let unbound_first = unbound(&world.exchange(&world.code().await).await);
    unbound(&world.refresh(&unbound_first.refresh).await);
    bound(&proven(&world, &world.client, &refresh_form(&unbound_first.refresh), &Signer::es256()).await);
    edp(&world.refresh(&unbound_first.refresh).await);
}
