//! The suites that hold for every store, run again over those that are not in memory.
//!
//! Which store a suite is over is said in its environment, so another cargo runs it. To run one suite over
//! one store: `GRANTOR_TEST_STORE=sqlite cargo test --all-features --test races`.

use std::path::Path;
use std::process::{Command, Output};

const SUITES: [&str; 5] = ["protocol", "races", "faults", "cancellation", "properties"];

#[test]
#[ignore = "runs five suites again, which takes minutes"]
fn every_suite_holds_over_sqlite() {
    every_suite_holds_over("sqlite");
}

#[test]
fn a_store_that_is_unknown_is_not_taken_for_another() {
    let output = run("tape", &["cancellation"], "a_dropped_hold_leaves_at_most_a_request_that_nobody_can_decide");
    let said = text(&output);
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("GRANTOR_TEST_STORE is \"tape\""), "{said}");
    assert!(said.contains("one of [\"memory\", \"sqlite\""), "{said}");
}

#[track_caller]
fn every_suite_holds_over(store: &str) {
    let output = run(store, &SUITES, "");
    let said = text(&output);
    assert!(output.status.success(), "{said}");
    // A line for each suite, and something ran in it.
    let passed = said.lines().filter_map(|line| line.strip_prefix("test result: ok. "));
    let ran = passed.filter(|result| !result.starts_with("0 passed"));
    assert_eq!(ran.count(), SUITES.len(), "{said}");
}

/// Runs those tests of the suites whose names hold `filter`.
fn run(store: &str, suites: &[&str], filter: &str) -> Output {
    // The same folder, where all of this is already built.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["test", "--all-features", "--no-fail-fast", "--target-dir"]).arg(target);
    for suite in suites {
        cargo.args(["--test", suite]);
    }
    cargo.arg(filter).current_dir(env!("CARGO_MANIFEST_DIR")).env("GRANTOR_TEST_STORE", store);
    cargo.output().unwrap()
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
