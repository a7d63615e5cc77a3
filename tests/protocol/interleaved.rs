//! Races: a store that lets all other callers go first at each of its steps.

use grantor::Config;
use grantor::store::{Grant, RecordStore, Stores};

use support::intercepted::Intercepted;
use support::intercepted::scripts::Yielding;
use support::world::World;

/// The number of concurrent callers.
pub(crate) const CALLERS: usize = 50;

/// Returns the answers to the same call made by all callers at once on one thread, with their steps interleaved.
pub(crate) async fn side_by_side<T>(world: &mut World, call: impl AsyncFn(&World) -> T) -> Vec<T> {
    let interleaved = || Intercepted::new(world.store.clone(), Yielding);
    let stores = Stores::new(world.store.clone()).with_tokens(interleaved()).with_codes(interleaved());
    world.server = world.builder(world.server.config().clone(), stores).build().unwrap();
    let world = &*world;
    futures::future::join_all((0..CALLERS).map(|_| call(world))).await
}

/// Makes the world's server keep its grants in another store.
pub(crate) fn serve_from(world: &mut World, tokens: impl RecordStore<Grant>) {
    let stores = Stores::new(world.store.clone()).with_tokens(tokens);
    world.server = world.builder(world.server.config().clone(), stores).build().unwrap();
}

/// Replaces the world's server with one that has changed settings and the same store.
pub(crate) fn reconfigured(world: &mut World, change: impl FnOnce(&mut Config)) {
    let mut config = world.server.config().clone();
    change(&mut config);
    world.server = world.builder(config, world.store.clone()).build().unwrap();
}
