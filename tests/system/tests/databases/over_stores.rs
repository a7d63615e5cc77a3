//! The suites that hold for every store, run again over those that are not in memory.
//!
//! The environment selects the store of a suite, so another cargo runs it. To run one suite over one store:
//! `GRANTOR_TEST_STORE=sqlite cargo test --workspace --all-features --test faults races`. A store on a server also
//! needs `GRANTOR_TEST_SERVER`, such as `redis://127.0.0.1:6379`.

use std::process::Output;

use support_servers::servers::postgres::PostgresServer;
use support_servers::servers::redis::Server;
use support_servers::started::cargo::cargo;

/// The suites, and the modules of each that run over every store: those whose tests read back what they wrote, list it,
/// purge it, or write it twice at once. The other tests judge requests, and judge alike over every store.
const SUITES: [(&str, &[&str]); 3] = [
    ("faults", &[""]),
    (
        "model",
        &["properties::dpop_bound_tokens", "properties::open_clients", "properties::sequences", "properties::thefts"],
    ),
    (
        "protocol",
        &[
            "administration::",
            "cimd::places",
            "private_key_jwt::replays",
            "registration::store",
            "rfc6749_refresh",
            "rfc6749_token",
            "rfc7591::places",
            "rfc8628::redeeming",
            "rfc9126::decision",
            "silent_consent::users_of_a_client",
        ],
    ),
];

/// Over replicas that the tests make of stores in memory.
const SKIPPED: &str = "failing::fail_over";

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
    let output = run(store, None, "faults", &["cancellation::"]);
    let said = text(&output);
    assert!(!output.status.success(), "{said}");
    said
}

#[track_caller]
fn every_suite_holds_over(store: &str, server: Option<&str>) {
    for (suite, modules) in SUITES {
        let output = run(store, server, suite, modules);
        let said = text(&output);
        assert!(output.status.success(), "{said}");
        assert!(said.contains("test result: ok. ") && !said.contains("running 0 tests"), "{said}");
    }
}

/// Runs the tests of some modules of a suite.
fn run(store: &str, server: Option<&str>, suite: &str, modules: &[&str]) -> Output {
    let mut cargo = cargo("test");
    cargo.args(["--workspace", "--no-fail-fast", "--test", suite]);
    cargo.env("GRANTOR_TEST_STORE", store).env_remove("GRANTOR_TEST_SERVER");
    server.map(|server| cargo.env("GRANTOR_TEST_SERVER", server));
    cargo.arg("--").args(modules).args(["--skip", SKIPPED]).output().unwrap()
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
