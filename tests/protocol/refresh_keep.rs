//! `RefreshRotation::Keep`: a refresh gives a new access token, and the refresh token stays.

use std::collections::BTreeSet;
use std::time::Duration;

use grantor::client::{ApplicationType, ClientBuilder, ClientType, RefreshRotation};
use grantor::config::Profile;
use grantor::store::Stores;
use grantor::{Approval, ClientSecret, Config, RegistrarError, Subject};

use crate::interleaved::{CALLERS, reconfigured, side_by_side};
use crate::rfc6749_refresh::{native_form, records};
use support::directory::{Directory, client};
use support::world::{
    Credentials, Pair, Reviewer, World, config_of, e400, e401, empty, form, logo, ok, pair, public_form,
};

const ACCESS_TOKENS: usize = 64;

fn keep(config: &mut Config) {
    config.refresh.rotation = RefreshRotation::Keep;
}

fn rotate(config: &mut Config) {
    config.refresh.rotation = RefreshRotation::Rotate;
}

async fn keeping() -> World {
    World::with(Profile::Platform, keep).await
}

/// FAPI-KEEP-01
#[tokio::test]
async fn the_refresh_token_and_its_end_stay() {
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        let world = World::with(profile, keep).await;
        let first = world.pair().await;
        let mut seen = BTreeSet::from([first.access.clone()]);
        for seconds in [0, 0, 1000, 86_400, 15_551_999 - 87_400] {
            world.advance(seconds);
            let response = world.refresh(&first.refresh).await;
            let next = pair(&response);
            assert_eq!(ok(&response).expires_in, Some(28_800));
            assert_eq!((&next.refresh, &next.scope), (&first.refresh, &first.scope), "{profile:?}");
            assert!(seen.insert(next.access.clone()), "{profile:?}: a new access token each time");
            assert!(world.opens(&next.access).await);
        }
        assert!(!world.events.saw("RefreshedInGrace"));
        world.advance(1);
        e400(&world.refresh(&first.refresh).await, "invalid_grant");
        assert!(!world.events.saw("RefreshTokenReused"));
    }
}

/// FAPI-KEEP-02
#[tokio::test]
async fn parallel_refreshes_with_a_kept_token_all_succeed() {
    let mut world = keeping().await;
    let first = world.pair().await;
    let responses = side_by_side(&mut world, async |world: &World| world.refresh(&first.refresh).await).await;
    let pairs: Vec<_> = responses.iter().map(pair).collect();
    let accesses: BTreeSet<_> = pairs.iter().map(|own| own.access.clone()).collect();
    assert_eq!(accesses.len(), CALLERS);
    for own in &pairs {
        assert_eq!(own.refresh, first.refresh);
        assert!(world.opens(&own.access).await);
    }
    world.advance(3600);
    assert_eq!(pair(&world.refresh(&first.refresh).await).refresh, first.refresh);
    let events = world.events.take();
    assert_eq!(events.iter().filter(|event| event.starts_with("Refreshed {")).count(), CALLERS + 1);
    assert!(!events.iter().any(|event| event.contains("Reused") || event.contains("InGrace")));
}

/// FAPI-KEEP-03
#[tokio::test]
async fn earlier_access_tokens_live_to_their_own_end() {
    let world = keeping().await;
    let first = world.pair().await;
    world.advance(3600);
    let second = pair(&world.refresh(&first.refresh).await);
    world.advance(28_800 - 3600 - 1);
    assert!(world.opens(&first.access).await && world.opens(&second.access).await);
    world.advance(1);
    assert!(!world.opens(&first.access).await && world.opens(&second.access).await);
    let shown = world.introspect_as(&world.client, &second.access).await;
    assert_eq!(shown["exp"], 1_000_000_000 + 3600 + 28_800);
    world.advance(3600);
    assert!(!world.opens(&second.access).await);
}

/// FAPI-KEEP-03
#[tokio::test]
async fn the_oldest_of_64_access_tokens_ends_first() {
    let world = keeping().await;
    let first = world.pair().await;
    let mut accesses = vec![first.access.clone()];
    for _ in 1..ACCESS_TOKENS {
        world.advance(1);
        accesses.push(pair(&world.refresh(&first.refresh).await).access);
    }
    for access in &accesses {
        assert!(world.opens(access).await);
    }
    let size = records(&world).await[0].len();
    for ended in 0..200 {
        world.advance(1);
        accesses.push(pair(&world.refresh(&first.refresh).await).access);
        assert!(!world.opens(&accesses[ended]).await, "{ended}");
        assert!(world.opens(&accesses[ended + 1]).await, "{ended}");
    }
    assert!(records(&world).await[0].len() < size + 100, "the record stays small");
    // A revoked or expired access token makes room.
    empty(&world.revoke(&accesses[263]).await);
    accesses.push(pair(&world.refresh(&first.refresh).await).access);
    assert!(world.opens(&accesses[200]).await && !world.opens(&accesses[263]).await);
}

/// FAPI-KEEP-04
#[tokio::test]
async fn revocation_stops_a_kept_token_and_all_access() {
    for way in 0..4 {
        let world = keeping().await;
        let first = world.pair().await;
        let all =
            [first.clone(), pair(&world.refresh(&first.refresh).await), pair(&world.refresh(&first.refresh).await)];
        match way {
            0 => empty(&world.revoke(&first.refresh).await),
            1 => assert_eq!(world.server.revoke_subject(&world.alice).await.unwrap(), 1),
            2 => {
                let registrar = world.server.registrar().unwrap();
                registrar.revoke_grants(&world.client.client_id()).await.unwrap();
            }
            _ => {
                let registrar = world.server.registrar().unwrap();
                let id = world.client.client_id();
                let version = registrar.application(&id).await.unwrap().version();
                registrar.delete(&id, version).await.unwrap();
            }
        }
        for own in &all {
            assert!(!world.opens(&own.access).await, "{way}");
            let refused = world.refresh(&own.refresh).await;
            // A deleted client cannot authenticate.
            if way == 3 { e401(&refused, "invalid_client") } else { e400(&refused, "invalid_grant") }
        }
    }
    let world = World::with(Profile::Platform, |config| {
        keep(config);
        config.tokens.grant_lifetime = Some(Duration::from_secs(3600));
    })
    .await;
    let first = world.pair().await;
    world.advance(3599);
    let response = world.refresh(&first.refresh).await;
    assert_eq!(ok(&response).expires_in, Some(1));
    world.advance(1);
    assert!(!world.opens(&pair(&response).access).await);
    e400(&world.refresh(&first.refresh).await, "invalid_grant");
}

/// FAPI-KEEP-04, D-13
#[tokio::test]
async fn one_of_many_access_tokens_is_revoked_alone() {
    let world = keeping().await;
    let first = world.pair().await;
    let second = pair(&world.refresh(&first.refresh).await);
    let third = pair(&world.refresh(&first.refresh).await);
    for _ in 0..2 {
        empty(&world.revoke(&second.access).await);
        assert!(!world.opens(&second.access).await);
        assert!(world.opens(&first.access).await && world.opens(&third.access).await);
    }
    empty(&world.revoke(&first.access).await);
    assert!(!world.opens(&first.access).await && world.opens(&third.access).await);
    assert!(world.opens(&pair(&world.refresh(&first.refresh).await).access).await);
}

/// FAPI-KEEP-01, 6749-6-03
#[tokio::test]
async fn reducing_holds_for_one_access_token_of_many() {
    let world = keeping().await;
    let first = world.pair().await;
    let reduce = [("grant_type", "refresh_token"), ("refresh_token", &first.refresh), ("scope", "repo-code:r")];
    let reduce = pair(&world.token(&reduce).client(&world.client).send().await);
    assert_eq!((reduce.scope.as_str(), &reduce.refresh), ("repo-code:r", &first.refresh));
    let full = pair(&world.refresh(&first.refresh).await);
    for (token, scope) in [(&first, &first.scope), (&reduce, &reduce.scope), (&full, &first.scope)] {
        assert_eq!(world.introspect_as(&world.client, &token.access).await["scope"], **scope);
    }
}

/// FAPI-KEEP-04
#[tokio::test]
async fn moving_from_rotate_to_keep_breaks_no_token() {
    let mut world = World::platform().await;
    let first = world.pair().await;
    let second = pair(&world.refresh(&first.refresh).await);
    reconfigured(&mut world, keep);
    let third = pair(&world.refresh(&second.refresh).await);
    assert_eq!(third.refresh, second.refresh);
    // In grace, the older token still leads to the newest pair.
    assert_eq!(pair(&world.refresh(&first.refresh).await), second);
    empty(&world.revoke(&second.access).await);
    let fourth = pair(&world.refresh(&first.refresh).await);
    assert_eq!(fourth.refresh, second.refresh);
    for token in [&first, &third, &fourth] {
        assert!(world.opens(&token.access).await);
    }
    world.advance(299);
    assert_eq!(pair(&world.refresh(&first.refresh).await).refresh, second.refresh);
    world.advance(1);
    assert!(!world.opens(&first.access).await && world.opens(&third.access).await);
    // After its grace, a token that was superseded before still counts as reused.
    world.advance(60);
    assert_eq!(pair(&world.refresh(&second.refresh).await).refresh, second.refresh);
    world.events.take();
    e400(&world.refresh(&first.refresh).await, "invalid_grant");
    assert!(world.events.saw("RefreshTokenReused"));
}

/// FAPI-KEEP-04
#[tokio::test]
async fn moving_from_keep_to_rotate_breaks_no_token() {
    let mut world = keeping().await;
    let first = world.pair().await;
    let all = [first.clone(), pair(&world.refresh(&first.refresh).await), pair(&world.refresh(&first.refresh).await)];
    reconfigured(&mut world, rotate);
    let next = pair(&world.refresh(&first.refresh).await);
    assert_ne!(next.refresh, first.refresh);
    // Every holder of the kept token gets the same pair, and each earlier access token has its grace.
    world.advance(299);
    for own in &all {
        assert!(world.opens(&own.access).await);
        assert_eq!(pair(&world.refresh(&own.refresh).await), next);
    }
    world.advance(1);
    for own in &all {
        assert!(!world.opens(&own.access).await);
    }
    reconfigured(&mut world, keep);
    assert_eq!(pair(&world.refresh(&next.refresh).await).refresh, next.refresh);
    e400(&world.refresh(&first.refresh).await, "invalid_grant");
}

// A client's own setting.

const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// Returns the first pair and the next one, of a client with this description.
async fn two_pairs(of_server: RefreshRotation, describe: impl FnOnce(ClientBuilder) -> ClientBuilder) -> [Pair; 2] {
    let mut world = World::platform().await;
    let client = describe(client("own").secret(&ClientSecret::new(SECRET)).unwrap()).build();
    let is_public = client.form().client_type == ClientType::Public;
    let known = Credentials { id: "own".into(), secret: if is_public { String::new() } else { SECRET.into() } };
    let stores = Stores::new(world.store.clone()).with_clients(Directory::of([client]));
    let mut config = config_of(Profile::Platform);
    config.public_clients = true;
    config.refresh.rotation = of_server;
    world.server = world.builder(config, stores).build().unwrap();
    let first = world.pair_of(&known).await;
    let second = pair(&world.refresh_as(&known, &first.refresh).await);
    [first, second]
}

/// FAPI-KEEP-01, FAPI-KEEP-04, FAPI-KEEP-02
#[tokio::test]
async fn a_client_has_a_setting_of_its_own() {
    use RefreshRotation::{Keep, Rotate};
    for (server, own, keeps) in [
        (Rotate, None, false),
        (Keep, None, true),
        (Rotate, Some(Keep), true),
        (Keep, Some(Rotate), false),
        (Keep, Some(Keep), true),
    ] {
        let describe = |builder: ClientBuilder| match own {
            Some(own) => builder.refresh_rotation(own),
            None => builder,
        };
        let [first, second] = two_pairs(server, describe).await;
        assert_eq!(first.refresh == second.refresh, keeps, "{server:?}, {own:?}");
    }
    let public = |builder: ClientBuilder| builder.refresh_rotation(Keep).client_type(ClientType::Public);
    let native = |builder: ClientBuilder| builder.refresh_rotation(Keep).application_type(ApplicationType::Native);
    for [first, second] in [two_pairs(Keep, public).await, two_pairs(Keep, native).await] {
        assert_ne!(first.refresh, second.refresh);
    }
}

/// FAPI-KEEP-01, FAPI-KEEP-04
#[tokio::test]
async fn a_reviewer_sets_it_for_one_client_and_never_for_a_public_or_native_one() {
    let world = World::platform().await;
    let keeping = world.register_as(form(), Approval::default().refresh_rotation(RefreshRotation::Keep)).await;
    let first = world.pair_of(&keeping).await;
    assert_eq!(pair(&world.refresh_as(&keeping, &first.refresh).await).refresh, first.refresh);
    let first = world.pair().await;
    assert_ne!(pair(&world.refresh(&first.refresh).await).refresh, first.refresh);

    // A later approval can change the setting. An approval without it changes nothing.
    let registrar = world.server.registrar().unwrap();
    for (approval, kept) in
        [(Approval::default(), true), (Approval::default().refresh_rotation(RefreshRotation::Rotate), false)]
    {
        registrar.change_now(&keeping.client_id(), form(), None).await.unwrap();
        registrar.approve_now(&keeping.client_id(), approval).await.unwrap();
        let first = world.pair_of(&keeping).await;
        assert_eq!(pair(&world.refresh_as(&keeping, &first.refresh).await).refresh == first.refresh, kept);
    }

    for form in [public_form(), native_form()] {
        let id = registrar.submit(Subject::new("developer").unwrap(), form, Some(logo())).await.unwrap();
        let keep = Approval::default().refresh_rotation(RefreshRotation::Keep);
        let refused = registrar.approve_now(&id, keep).await;
        assert!(matches!(refused, Err(RegistrarError::PublicClient)), "{refused:?}");
        let rotate = Approval::default().refresh_rotation(RefreshRotation::Rotate);
        registrar.approve_now(&id, rotate).await.unwrap();
    }
}
