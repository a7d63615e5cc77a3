//! A whole service over a file, across restarts.

use futures::executor::block_on;
use grantor::store::{Grant, RecordStore};
use grantor::testing::SeededEntropy;
use grantor::{AuthorizationServer, Config, Consent, Decision, SqliteStore};

use support::folder::Folder;
use support::jump;
use support::world::{ISSUER, PKCE, Recorder, SESSION, World, code, e400, empty, form, logo, pair, text};

/// Moves the world's server to this store. The store that the world was built with is no longer used.
pub(crate) fn move_to(world: &mut World, store: SqliteStore) {
    let builder = AuthorizationServer::builder(Config::platform(ISSUER), store).clock(world.clock.clone());
    world.events = Recorder::default();
    world.server = builder.entropy(SeededEntropy::new(11)).events(world.events.clone()).build().unwrap();
}

#[test]
fn every_step_of_a_flow_may_be_followed_by_a_restart() {
    let folder = Folder::new("flow");
    let mut world = block_on(World::platform());
    let restart = |world: &mut World| {
        // The old server ends before the new one starts.
        move_to(world, SqliteStore::temporary().unwrap());
        move_to(world, SqliteStore::open(folder.file()).unwrap());
    };
    restart(&mut world);

    let client = block_on(world.register(form()));
    restart(&mut world);
    let shown =
        block_on(world.server.registrar().unwrap().logo(&client.client_id(), grantor::application::LogoSlot::InForce));
    assert_eq!(shown.unwrap().as_deref(), Some(&logo()));
    let query = world.query_of(&client, &PKCE);
    let pending = block_on(world.authorize(&query)).unwrap();
    let handle = block_on(world.server.hold(&pending, &world.alice, SESSION)).unwrap();

    restart(&mut world);
    let agree = Decision::Approve(Consent::to_everything());
    let decided = block_on(world.server.decide(handle.expose(), &world.alice, SESSION, &agree)).unwrap();
    let code = text(&code(&decided), "code");

    restart(&mut world);
    let first = pair(&block_on(world.exchange_as(&client, &code)));

    restart(&mut world);
    assert!(block_on(world.opens(&first.access)));
    let second = pair(&block_on(world.refresh_as(&client, &first.refresh)));
    assert_ne!(second, first);

    restart(&mut world);
    assert!(block_on(world.opens(&first.access)), "the old pair is in grace");
    assert!(block_on(world.opens(&second.access)));
    assert_eq!(block_on(world.server.grants_of(&world.alice)).unwrap().len(), 1);
    empty(&block_on(world.revoke_as(&client, &second.refresh)));

    restart(&mut world);
    assert!(!block_on(world.opens(&first.access)) && !block_on(world.opens(&second.access)));
    e400(&block_on(world.refresh_as(&client, &second.refresh)), "invalid_grant");
    assert!(block_on(world.server.grants_of(&world.alice)).unwrap().is_empty());

    restart(&mut world);
    world.advance(400 * 24 * 3600);
    assert_eq!(block_on(world.purge(100)).removed(), 2, "the authorization and its grant");
    drop(world);
    let store = SqliteStore::open(folder.file()).unwrap();
    let page = grantor::store::Page::first(10);
    assert!(block_on(RecordStore::<Grant>::list(&store, "alice", page)).unwrap().is_empty());
}

/// CLK-01
#[test]
fn a_clock_jump_deletes_nothing_across_restarts() {
    let folder = Folder::new("jump");
    let world = block_on(World::platform());
    let mut seed = 100;
    block_on(jump::survives_restarts(world, async |world: &mut World| {
        seed += 1;
        move_to(world, SqliteStore::temporary().unwrap());
        let store = SqliteStore::open(folder.file()).unwrap();
        let builder = AuthorizationServer::builder(Config::platform(ISSUER), store).clock(world.clock.clone());
        world.server = builder.entropy(SeededEntropy::new(seed)).events(world.events.clone()).build().unwrap();
    }));
}
