//! When a stolen refresh token is noticed: at the owner's next refresh, unless the thief was nearer to it than the
//! grace.

use std::ops::Range;

use grantor::Timestamp;
use grantor::config::Profile;
use proptest::prelude::*;

use crate::properties::cases::{block_on, check, holds};
use support::world::{START, World};

const CASES: u32 = 300;
/// Seconds by which the clocks of two servers may differ.
const APART: u32 = 60;

/// A thief copies a refresh token and uses it once, before the owner does. The owner calls a resource until its access
/// token is refused, and refreshes then.
#[derive(Clone, Debug)]
struct Theft {
    profile: Profile,
    /// When the thief refreshes, in seconds before the owner's access token would expire.
    before_expiry: u32,
    /// How far each server's clock is ahead: the one that issues the pair, the thief's, the resource's, and the one at
    /// which the owner refreshes.
    ahead: [u32; 4],
}

fn theft() -> impl Strategy<Value = Theft> {
    let one_clock = prop::sample::select(vec![Profile::Platform, Profile::Strict, Profile::Mcp]);
    let one_clock = one_clock.prop_map(|profile| (profile, [0; 4]));
    // In the platform profile, both graces are five minutes: servers whose clocks differ may miss a theft.
    let clocks = (prop::sample::select(vec![Profile::Strict, Profile::Mcp]), prop::array::uniform4(0..=APART));
    // Most thefts are near the ends of the graces.
    let before_expiry = prop_oneof![0..600_u32, 0..28_800_u32];
    (prop_oneof![one_clock, clocks], before_expiry).prop_map(|((profile, ahead), before_expiry)| Theft {
        profile,
        before_expiry,
        ahead,
    })
}

/// Sets the clock of the server that answers next.
fn at(world: &World, seconds: u32, ahead: u32) {
    world.clock.set(Timestamp::from_seconds(START + 100 + seconds + ahead));
}

/// The first of these seconds at which the resource refuses the token. It refuses it at the last one.
async fn refused_at(world: &World, token: &str, ahead: u32, mut seconds: Range<u32>) -> u32 {
    while !seconds.is_empty() {
        let middle = seconds.start.midpoint(seconds.end);
        at(world, middle, ahead);
        if world.opens(token).await {
            seconds.start = middle + 1;
        } else {
            seconds.end = middle;
        }
    }
    seconds.end
}

async fn play(theft: Theft) -> Result<(), String> {
    let Theft { profile, before_expiry, ahead: [issuing, thiefs, resource, owners] } = theft;
    let world = World::with(profile, |_| {}).await;
    let config = world.server.config();
    let seconds = |span: std::time::Duration| u32::try_from(span.as_secs()).unwrap();
    let (life, grace) = (seconds(config.tokens.access_lifetime), seconds(config.refresh.grace));
    at(&world, 0, issuing);
    let owner = world.pair().await;
    let stolen = life - before_expiry;
    at(&world, stolen, thiefs);
    holds(world.refresh(&owner.refresh).await.status() == 200, || "the thief is refused".to_owned())?;
    let refused = refused_at(&world, &owner.access, resource, stolen..life + APART).await;
    world.events.take();
    at(&world, refused, owners);
    let status = world.refresh(&owner.refresh).await.status();
    let events = world.events.take();
    let saw = |name: &str| events.iter().any(|event| event.starts_with(name));
    let (is_noticed, is_shared) = (saw("RefreshTokenReused"), saw("RefreshedInGrace"));
    holds(is_noticed != is_shared && (status == 200) == is_shared, || format!("{status} without its event"))?;
    // The pair and the theft may be dated by clocks that differ, and so may the refused call and the refresh after it.
    let is_one_clock = [issuing, thiefs, resource, owners] == [0; 4];
    let apart = if is_one_clock { 0 } else { 2 * APART };
    if before_expiry >= grace + apart {
        holds(is_noticed, || "the theft is missed".to_owned())
    } else if before_expiry + apart < grace {
        holds(is_shared, || "the owner is accused though the thief was in the grace".to_owned())
    } else {
        Ok(())
    }
}

/// D-12, 9700-4.14.2-02
#[test]
fn a_theft_is_noticed_unless_the_access_token_expired_within_the_grace() {
    check(CASES, &theft(), |theft| block_on(play(theft)));
}
