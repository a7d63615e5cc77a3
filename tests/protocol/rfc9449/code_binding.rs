//! Codes that are bound to a key, `dpop_jkt` [RFC 9449 section 10].

use grantor::config::{DpopBoundTokens, Profile};
use support::keys::Signer;
use support::world::{PKCE, World, e400, red};

use super::{bound, edp, exchange_form, exchange_with, proof, proven, unbound, world};
use crate::interleaved::reconfigured;

fn query(world: &World, key: &str) -> String {
    world.query(&[PKCE[0], PKCE[1], ("dpop_jkt", key)])
}

/// 9449-10-01, FAPI-5.3.2.1-12
#[tokio::test]
async fn a_bound_code_is_exchanged_by_its_key_alone() {
    let world = world().await;
    let own = Signer::es256();
    let code = world.code_for(&query(&world, &own.thumbprint())).await;
    e400(&exchange_with(&world, &code, &proof(&world, &own.another())).await, "invalid_grant");
    assert!(world.events.saw("AnotherDpopKey"));
    edp(&world.exchange(&code).await);
    edp(&exchange_with(&world, &code, "a.b.c").await);
    let first = bound(&exchange_with(&world, &code, &proof(&world, &own)).await);
    assert_ne!(first.refresh, "");
    e400(&exchange_with(&world, &code, &proof(&world, &own)).await, "invalid_grant");
    assert!(world.events.saw("CodeReplayed"));
}

/// 9449-10-01
#[tokio::test]
async fn a_malformed_thumbprint_is_refused() {
    let world = world().await;
    let good = Signer::es256().thumbprint();
    for malformed in [&good[1..], &format!("{good}A"), &format!("{}=", &good[1..]), &format!("{}+", &good[1..]), "x"] {
        red(&world.refused(&query(&world, malformed)).await, "invalid_request");
    }
    // The last character has two unused bits.
    let unused = format!("{}B", "A".repeat(42));
    red(&world.refused(&query(&world, &unused)).await, "invalid_request");
    let twice = format!("{}&dpop_jkt={good}", query(&world, &good));
    red(&world.refused(&twice).await, "invalid_request");
    // An empty parameter counts as absent.
    unbound(&world.exchange(&world.code_for(&query(&world, "")).await).await);
}

/// 9449-4.1-01
#[tokio::test]
async fn without_the_setting_the_parameter_is_unknown() {
    let mut world = World::with(Profile::Platform, |_| {}).await;
    let own = Signer::es256();
    for ignored in [own.thumbprint().as_str(), "malformed"] {
        unbound(&world.exchange(&world.code_for(&query(&world, ignored)).await).await);
    }
    let twice = format!("{}&dpop_jkt=b", query(&world, "a"));
    unbound(&world.exchange(&world.code_for(&twice).await).await);
    let code = world.code_for(&query(&world, &own.thumbprint())).await;
    reconfigured(&mut world, |config| config.dpop.tokens = DpopBoundTokens::Optional);
    unbound(&world.exchange(&code).await);
}

/// 9449-10-01
#[tokio::test]
async fn a_bound_code_stays_bound_when_the_setting_is_off() {
    let mut world = world().await;
    let own = Signer::es256();
    let code = world.code_for(&query(&world, &own.thumbprint())).await;
    reconfigured(&mut world, |config| config.dpop.tokens = DpopBoundTokens::Off);
    edp(&proven(&world, &world.client, &exchange_form(&code), &own).await);
    reconfigured(&mut world, |config| config.dpop.tokens = DpopBoundTokens::Required);
    bound(&proven(&world, &world.client, &exchange_form(&code), &own).await);
}
