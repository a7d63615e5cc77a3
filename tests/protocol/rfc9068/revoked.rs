//! What a revocation ends: everything where the store is asked [RFC 9068 section 5, RFC 7009].

use super::*;
use support::world::{START, e400, empty};

/// 9068-SVC-01
#[tokio::test]
async fn a_revoked_token_ends_at_once_where_the_store_is_asked() {
    let world = world().await;
    let first = pair(&world.exchange(&world.code().await).await);
    empty(&world.revoke(&first.access).await);
    assert!(!opens(&world, A, &first.access).await);
    assert_eq!(introspected(&world, &world.client, &first.access).await, inactive());
    // Nothing in the token shows it: an API that reads it by itself accepts it until then.
    assert!(is_signed_by(&first.access, &Signer::es256()));
    assert_eq!(parts(&first.access)[1]["exp"], START + 300);
    // The refresh token lives on, as after the revocation of an opaque one.
    let second = pair(&world.refresh(&first.refresh).await);
    assert!(opens(&world, A, &second.access).await);
    empty(&world.revoke(&second.access).await);
    assert!(world.events.saw("AccessTokenRevoked"));
    // Again, and after the grant: no error.
    empty(&world.revoke(&second.access).await);
    empty(&world.revoke(&second.refresh).await);
    empty(&world.revoke(&second.access).await);
    e400(&world.refresh(&second.refresh).await, "invalid_grant");
}

/// 9068-SVC-01
#[tokio::test]
async fn a_foreign_client_revokes_nothing() {
    let world = world().await;
    let other = world.register(form()).await;
    let token = token(&world).await;
    e400(&world.revoke_as(&other, &token).await, "invalid_grant");
    assert_eq!(introspected(&world, &other, &token).await, inactive());
    assert!(opens(&world, A, &token).await);
}

/// 9068-SVC-01
#[tokio::test]
async fn a_token_of_a_client_itself_is_revoked_alone() {
    let world = world().await;
    let machine = machine(&world).await;
    let mut tokens = Vec::new();
    for _ in 0..20 {
        tokens.push(pair(&own_token(&world, &machine, &[]).await).access);
    }
    let ids: std::collections::BTreeSet<_> = tokens.iter().map(|token| parts(token)[1]["jti"].to_string()).collect();
    assert_eq!(ids.len(), 20, "tokens of one second in one place differ");
    empty(&world.revoke_as(&machine, &tokens[7]).await);
    for (number, token) in tokens.iter().enumerate() {
        assert_eq!(opens(&world, A, token).await, number != 7, "{number}");
    }
}

/// 9068-SVC-01
#[tokio::test]
async fn grace_and_suspension_hold_as_for_opaque_tokens() {
    let mut config = config();
    config.tokens.jwt_lifetime = std::time::Duration::from_secs(900);
    let world = built(config, |builder| builder.signing_keys([es256()])).await;
    let first = pair(&world.exchange(&world.code().await).await);
    world.advance(10);
    let second = pair(&world.refresh(&first.refresh).await);
    world.advance(299);
    assert!(opens(&world, A, &first.access).await && opens(&world, A, &second.access).await);
    world.advance(1);
    assert!(!opens(&world, A, &first.access).await && opens(&world, A, &second.access).await);
    assert_eq!(parts(&first.access)[1]["exp"], START + 900, "elsewhere it is valid for longer");
    let registrar = world.server.registrar().unwrap();
    registrar.suspend(&world.client.client_id()).await.unwrap();
    assert!(!opens(&world, A, &second.access).await);
    registrar.resume(&world.client.client_id()).await.unwrap();
    assert!(opens(&world, A, &second.access).await);
    assert!(world.server.revoke_subject(&world.alice).await.unwrap() > 0);
    assert!(!opens(&world, A, &second.access).await);
}
