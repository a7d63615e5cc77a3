//! The suites that hold for every store, run again over those that are not in memory.
//!
//! The environment selects the store of a suite, so another cargo runs it. To run one suite over one store:
//! `GRANTOR_TEST_STORE=sqlite cargo test --workspace --all-features --test faults races`. A store on a server also
//! needs `GRANTOR_TEST_SERVER`, such as `redis://127.0.0.1:6379`.

use std::process::Output;

use support_servers::servers::postgres::PostgresServer;
use support_servers::servers::redis::Server;
use support_servers::started::cargo::cargo;

const SUITES: [&str; 3] = ["protocol", "faults", "model"];

/// The prefixes of tests that are not run here: they do not depend on the selected store, or take too long on a server.
const SKIPPED: [&str; 16] = [
    // These are explored over the store in memory alone.
    "interleavings::",
    // Over replicas that the tests make of stores in memory.
    "failing::a_write_that_arrives_late_undoes_nothing_that_was_acknowledged",
    "failing::what_is_gone_when_it_is_made_sure_of_is_not_acknowledged",
    "failing::what_no_replica_has_is_not_acknowledged",
    // The throttle has its own memory.
    "memory_throttle::a_flood_of_names_frees_no_one",
    // Pure functions.
    "properties::redirect_uris::",
    "properties::scope_algebra::",
    // About randomness, with ten thousand values.
    "rfc6749_authorize::codes_are_unguessable",
    "rfc9126::push::no_request_uri_repeats",
    // About what is in a request: thousands of them, each with the calls of other tests.
    "grant_states::no_altered_access_token_is_accepted_or_revokes",
    "grant_states::no_altered_refresh_token_brings_or_revokes_anything",
    "http::hostile_requests_are_never_a_failure_of_the_server",
    "properties::form_codec::",
    "rfc7591::answer::bytes_of_any_kind_are_refused_or_make_a_client_that_works",
    // Ten thousand calls; `rfc7591::places::one_account_that_opens_many_pages_keeps_fifty_places` and
    // `refresh_line::a_chain_in_grace_leads_to_the_newest_pair` make fewer.
    "bounds::any_number_of_requests_leaves_few_and_small_records",
    "refresh_line::two_hundred_workers_on_one_token_report_no_reuse",
];

#[test]
#[ignore = "runs three suites again, which takes minutes"]
fn every_suite_holds_over_sqlite() {
    every_suite_holds_over("sqlite", None);
}

/// Nothing reads the disk once the server has ended, so nothing waits for it.
#[test]
#[ignore = "starts a PostgreSQL server and runs the suites again"]
fn every_suite_holds_over_postgres() {
    let server = PostgresServer::start(&["fsync=off", "full_page_writes=off", "max_connections=400"]);
    every_suite_holds_over("postgres", Some(&server.connection()));
}

#[test]
#[ignore = "starts a Redis server and runs the suites again"]
fn every_suite_holds_over_redis() {
    let server = Server::start();
    every_suite_holds_over("redis", Some(&server.address()));
}

#[test]
fn a_store_that_is_unknown_is_not_taken_for_another() {
    let said = refusal("tape");
    assert!(said.contains("GRANTOR_TEST_STORE is \"tape\""), "{said}");
    assert!(said.contains("one of [\"memory\", \"sqlite\""), "{said}");
}

#[test]
fn a_store_on_a_server_is_not_guessed() {
    for store in ["postgres", "redis"] {
        let said = refusal(store);
        assert!(said.contains("GRANTOR_TEST_SERVER must name a server"), "{said}");
    }
}

/// Returns the output of a test that cannot open its store.
#[track_caller]
fn refusal(store: &str) -> String {
    let output = run(store, None, &["faults"], "a_dropped_hold_leaves_at_most_a_request_that_nobody_can_decide");
    let said = text(&output);
    assert!(!output.status.success(), "{said}");
    said
}

#[track_caller]
fn every_suite_holds_over(store: &str, server: Option<&str>) {
    let output = run(store, server, &SUITES, "");
    let said = text(&output);
    assert!(output.status.success(), "{said}");
    // A line for each suite, and something ran in it.
    let passed = said.lines().filter_map(|line| line.strip_prefix("test result: ok. "));
    let ran = passed.filter(|result| !result.starts_with("0 passed"));
    assert_eq!(ran.count(), SUITES.len(), "{said}");
}

/// Runs those tests of the suites whose names hold `filter`.
fn run(store: &str, server: Option<&str>, suites: &[&str], filter: &str) -> Output {
    let mut cargo = cargo("test");
    cargo.arg("--workspace");
    cargo.arg("--no-fail-fast");
    for suite in suites {
        cargo.args(["--test", suite]);
    }
    cargo.env("GRANTOR_TEST_STORE", store).env_remove("GRANTOR_TEST_SERVER");
    server.map(|server| cargo.env("GRANTOR_TEST_SERVER", server));
    let skipped = SKIPPED.iter().flat_map(|name| ["--skip", *name]);
    cargo.arg(filter).arg("--").args(skipped).output().unwrap()
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
