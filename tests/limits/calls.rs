//! Which calls to the stores an operation makes. Each is one statement of an SQL database, as the tests of those stores
//! show.

use futures::executor::block_on;
use grantor::client::AskConsent;
use grantor::config::Profile;
use grantor::{Approval, Consent, Decision};

use support::devices;
use support::intercepted::over;
use support::intercepted::scripts::Calls;
use support::world::{PKCE, SESSION, World, empty, form, ok, pair};

fn observed() -> (World, Calls) {
    let log = Calls::recorded().with_settled_reads(true);
    let world = over(&block_on(World::platform()), log.clone());
    (world, log)
}

/// Each with a list, which enforces a limit.
#[test]
fn an_authorization_is_two_writes_an_exchange_one() {
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
        assert!(block_on(world.server.step(&pending, Some(&world.alice), SESSION)).unwrap().response().is_some());
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

/// 8628-3.5-03: until its user has decided, a device costs two reads a poll, and no write.
#[test]
fn a_device_asks_with_two_writes_and_polls_with_none() {
    let log = Calls::recorded().with_settled_reads(true);
    let world = over(&block_on(devices::world(Profile::Platform, |_| ())), log.clone());
    let device = block_on(devices::asked(&world));
    assert_eq!(log.take(), ["clients.find", "device_requests.find", "device_requests.insert", "user_codes.insert"]);
    let poll = || block_on(devices::poll(&world, &device.device_code));
    poll();
    assert_eq!(log.take(), ["clients.find", "device_requests.find"]);
    let ticket = block_on(devices::typed_by(&world, &device.user_code, &world.alice)).unwrap();
    let found = ["user_codes.find", "device_requests.find", "clients.current", "codes.list"];
    let held = ["device_requests.find", "device_requests.replace", "codes.insert"];
    assert_eq!(log.take(), [&found[..], &held].concat());
    poll();
    assert_eq!(log.take(), ["clients.find", "device_requests.find"]);
    let agree = Decision::Approve(Consent::to_everything());
    block_on(world.server.decide(&ticket, &world.alice, SESSION, &agree)).unwrap();
    let claimed = ["device_requests.find", "device_requests.replace", "codes.replace"];
    assert_eq!(log.take(), [&["codes.find", "clients.current"][..], &claimed].concat());
    ok(&poll());
    assert_eq!(log.take(), ["clients.find", "device_requests.find", "codes.find", "tokens.insert", "tokens.list"]);
    ok(&poll());
    // The insert shows that the code was redeemed. The grant is then read, and read again for its newest pair.
    let again = ["tokens.insert", "tokens.find", "tokens.find"];
    assert_eq!(log.take(), [&["clients.find", "device_requests.find", "codes.find"][..], &again].concat());
}

/// 8628-5.5-01
#[test]
fn a_code_is_given_back_with_two_writes() {
    let log = Calls::recorded().with_settled_reads(true);
    let world = over(&block_on(devices::world(Profile::Platform, |_| ())), log.clone());
    let device = block_on(devices::asked(&world));
    let ticket = block_on(devices::typed_by(&world, &device.user_code, &world.alice)).unwrap();
    log.take();
    block_on(world.server.release_user_code(&ticket, &world.alice, SESSION)).unwrap();
    assert_eq!(log.take(), ["codes.find", "codes.replace", "device_requests.find", "device_requests.replace"]);
    // What cannot be a code is not looked up.
    drop(block_on(devices::typed_by(&world, "WDJB", &world.alice)));
    assert_eq!(log.take(), [""; 0]);
}
