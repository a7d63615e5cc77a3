//! Random sequences in each profile: the server says what the model says.
//!
//! A run draws the same sequences as the last one. `GRANTOR_SEQUENCES=100000` plays that many in each profile,
//! drawn anew; `GRANTOR_TEST_STORE` says over which store. A sequence that fails is shortened and shown.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::env;

use grantor::Profile;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use tokio::runtime::Builder;

use crate::action::{Action, sequence};
use crate::model::Rules;
use crate::play::Play;

const VARIABLE: &str = "GRANTOR_SEQUENCES";
/// In each profile, unless another number is asked for.
const SEQUENCES: u32 = 1000;
/// So many make it all but sure that everything happens.
const MANY: u32 = 500;
/// What has to happen in many sequences, or they show nothing.
const KINDS: [&str; 12] = [
    "CodeIssued",
    "Denied",
    "Exchanged",
    "CodeReplayed",
    "Refreshed",
    "RefreshedInGrace",
    "RefreshTokenReused",
    "AccessTokenRevoked",
    "SupersededTokenAtRevocation",
    "GrantRevoked",
    "a good answer",
    "a refusal",
];

#[test]
fn every_sequence_in_the_platform_profile_goes_as_the_description_says() {
    play(Profile::Platform, Rules::PLATFORM);
}

#[test]
fn every_sequence_in_the_strict_profile_goes_as_the_description_says() {
    play(Profile::Strict, Rules::STRICT);
}

#[test]
fn every_sequence_in_the_mcp_profile_goes_as_the_description_says() {
    play(Profile::Mcp, Rules::MCP);
}

fn play(profile: Profile, rules: Rules) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let tally = RefCell::new(BTreeMap::<_, usize>::new());
    let (mut runner, sequences) = runner();
    let (played, failed) = (Cell::new(0_u32), Cell::new(None));
    let outcome = runner.run(&sequence(), |actions| {
        played.set(played.get() + 1);
        let outcome = runtime.block_on(one(profile, rules, &actions));
        for (what, count) in outcome.map_err(|difference| {
            // What comes after it are shorter ones.
            failed.set(failed.get().or_else(|| Some(played.get())));
            TestCaseError::fail(difference)
        })? {
            *tally.borrow_mut().entry(what).or_default() += count;
        }
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{profile:?}, sequence {}: {failure}", failed.get().unwrap_or_default());
    }
    let tally = tally.into_inner();
    println!("{profile:?}, {sequences} sequences: {tally:?}");
    let missing: Vec<_> = KINDS.iter().filter(|kind| !tally.contains_key(*kind)).collect();
    assert!(sequences < MANY || missing.is_empty(), "{missing:?} never happened");
}

/// Plays one sequence to its end, and gives how often what happened.
async fn one(profile: Profile, rules: Rules, actions: &[Action]) -> Result<BTreeMap<&'static str, usize>, String> {
    let mut play = Play::new(profile, rules).await;
    for (number, action) in actions.iter().enumerate() {
        let agreed = play.act(action).await;
        agreed.map_err(|difference| format!("step {number}, {action:?}: {difference}"))?;
    }
    play.use_everything().await.map_err(|difference| format!("at the end: {difference}"))?;
    Ok(play.tally)
}

/// A runner, and how many sequences it plays.
fn runner() -> (TestRunner, u32) {
    let asked = env::var(VARIABLE).ok().map(|asked| asked.parse().unwrap());
    let cases = asked.unwrap_or(SEQUENCES);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 20_000, ..Config::default() };
    let runner = match asked {
        Some(_) => TestRunner::new(config),
        None => TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32])),
    };
    (runner, cases)
}
