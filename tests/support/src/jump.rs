//! The clock of a service on a durable store jumps, and the service is restarted meanwhile.

use grantor::Timestamp;
use grantor::server::PurgeError;

use crate::world::{START, World, form, ok};

const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;

async fn refused(world: &World) {
    world.events.take();
    let error = world.server.purge_expired(100).await.unwrap_err();
    assert!(matches!(error, PurgeError::ClockAhead { .. }), "{error}");
    let events = world.events.take();
    assert!(events.len() == 1 && events[0].starts_with("PurgeRefused"), "{events:?}");
}

async fn purges(world: &World) -> usize {
    let purge = world.server.purge_expired(100).await.unwrap();
    assert!(purge.is_finished());
    purge.removed()
}

/// The triggers of CLK-01; `restart` replaces the server of the world by one on a store that it opens anew.
pub async fn survives_restarts(mut world: World, mut restart: impl AsyncFnMut(&mut World)) {
    let set = |world: &World, seconds: u64| {
        world.clock.set(Timestamp::from_seconds(START + u32::try_from(seconds).unwrap()));
    };
    restart(&mut world).await;
    world.client = world.register(form()).await;
    assert_eq!(purges(&world).await, 0);

    let mut start = 23 * HOUR;
    set(&world, start);
    purges(&world).await;
    let live = world.pair().await;
    for jump in [25 * HOUR, 3650 * DAY] {
        set(&world, start + jump);
        for _ in 0..2 {
            world.pair().await;
            refused(&world).await;
            restart(&mut world).await;
            refused(&world).await;
        }
    }
    set(&world, start + HOUR);
    purges(&world).await;
    assert!(world.opens(&live.access).await);
    ok(&world.refresh(&live.refresh).await);

    start += 3 * DAY;
    set(&world, start);
    restart(&mut world).await;
    refused(&world).await;
    world.server.confirm_clock().await.unwrap();
    restart(&mut world).await;
    assert!(purges(&world).await > 0, "the first code");
}
