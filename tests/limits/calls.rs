//! Which calls to the stores an operation makes. Each is one statement of an SQL database, as the tests of those stores
//! show.

use futures::executor::block_on;
use grantor::client::AskConsent;
use grantor::{Approval, Consent, Decision};

use support::intercepted::over;
use support::intercepted::scripts::Calls;
use support::world::{PKCE, SESSION, World, empty, form, ok, pair};

fn observed() -> (World, Calls) {
    let log = Calls::recorded().with_settled_reads(true);
    let world = over(&block_on(World::platform()), log.clone());
    (world, log)
}

#[test]
fn an_authorization_is_two_writes_and_an_exchange_one_each_with_a_list() {
    let (world, log) = observed();
    let pending = block_on(world.authorize(&world.query(&PKCE))).unwrap();
    assert_eq!(log.take(), ["clients.find"]);
    let handle = block_on(world.server.hold(&pending, &world.alice, SESSION)).unwrap();
    assert_eq!(log.take(), ["codes.list", "clients.current", "codes.insert"]);
    let agree = Decision::Approve(Consent::to_everything());
    let decided = block_on(world.server.decide(handle.expose(), &world.alice, SESSION, &agree)).unwrap();
    assert_eq!(log.take(), ["codes.find", "clients.current", "codes.replace"]);
    let code = support::world::text(&support::world::code(&decided), "code");
    ok(&block_on(world.exchange(&code)));
    // The list enforces the limit of live grants.
    assert_eq!(log.take(), ["clients.find", "codes.find", "tokens.insert", "tokens.list"]);
}

#[test]
fn a_decision_without_a_page_reads_nothing_twice() {
    let log = Calls::recorded().with_settled_reads(true);
    let world = over(&block_on(World::strict()), log.clone());
    let (before, after) = (["clients.current", "tokens.list", "codes.list", "codes.insert"], ["codes.replace"]);
    // The grant whose consent is remembered may have been revoked since the list was read.
    for (ask_consent, again) in [(AskConsent::Never, &[][..]), (AskConsent::Once, &["tokens.find"])] {
        let client = block_on(world.register_as(form(), Approval::default().ask_consent(ask_consent)));
        block_on(world.pair_of(&client));
        log.take();
        let pending = block_on(world.authorize(&world.query_of(&client, &PKCE))).unwrap();
        assert_eq!(log.take(), ["clients.find"]);
        assert!(block_on(world.server.decide_silently(&pending, Some(&world.alice), SESSION)).unwrap().is_some());
        assert_eq!(log.take(), [&before[..], again, &after].concat());
    }
}

#[test]
fn a_refresh_is_one_write_and_one_in_grace_only_reads() {
    let (world, log) = observed();
    let first = block_on(world.pair());
    log.take();
    ok(&block_on(world.refresh(&first.refresh)));
    assert_eq!(log.take(), ["clients.find", "tokens.find", "tokens.replace"]);
    ok(&block_on(world.refresh(&first.refresh)));
    assert_eq!(log.take(), ["clients.find", "tokens.find"]);
}

#[test]
fn a_check_of_an_access_token_only_reads() {
    let (world, log) = observed();
    let first = block_on(world.pair());
    log.take();
    assert!(block_on(world.opens(&first.access)));
    assert_eq!(log.take(), ["tokens.find", "clients.find"]);
    block_on(world.introspect_as(&world.client, &first.access));
    assert_eq!(log.take(), ["clients.find", "tokens.find", "clients.find"]);
}

#[test]
fn a_revocation_is_one_write() {
    let (world, log) = observed();
    let first = block_on(world.pair());
    let second = pair(&block_on(world.refresh(&first.refresh)));
    log.take();
    empty(&block_on(world.revoke(&second.access)));
    assert_eq!(log.take(), ["clients.find", "tokens.find", "tokens.replace"]);
    empty(&block_on(world.revoke(&second.refresh)));
    // Checked, then read again by the loop that retries lost writes.
    assert_eq!(log.take(), ["clients.find", "tokens.find", "tokens.find", "tokens.replace"]);
}

#[test]
fn a_token_that_cannot_be_one_costs_no_look_at_the_grants() {
    let (world, log) = observed();
    assert!(!block_on(world.opens("x")));
    assert_eq!(log.take(), [""; 0]);
    block_on(world.refresh("x"));
    assert_eq!(log.take(), ["clients.find"]);
}
