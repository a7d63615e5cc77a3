//! Random sequences in each profile: the server says what the model says.
//!
//! `GRANTOR_TEST_STORE` selects the store.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::env;

use grantor::config::Profile;

use crate::properties::action::{Action, sequence};
use crate::properties::cases::{block_on, check};
use crate::properties::model::Rules;
use crate::properties::play::Play;

/// In each profile.
const SEQUENCES: u32 = 500;
/// The same over a store that is slower than memory.
const SEQUENCES_OVER_OTHERS: u32 = 100;
/// With so many, everything is all but certain to happen.
const MANY: u32 = 500;
/// What must happen in many sequences; otherwise they show nothing.
const KINDS: [&str; 18] = [
    "CodeIssued",
    "Denied",
    "Exchanged",
    "CodeReplayed",
    "CodeSentTwice",
    "Refreshed",
    "RefreshedInGrace",
    "RefreshTokenReused",
    "AccessTokenRevoked",
    "SupersededTokenAtRevocation",
    "GrantRevoked",
    "a pair again",
    "a code again",
    "a record again",
    "a clock jump",
    "too many in grace",
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

#[test]
fn every_sequence_goes_as_described_where_refresh_tokens_are_kept() {
    play(Profile::Platform, Rules::KEEPING);
}

fn play(profile: Profile, rules: Rules) {
    let tally = RefCell::new(BTreeMap::<_, usize>::new());
    let sequences = match env::var("GRANTOR_TEST_STORE").as_deref() {
        Err(_) | Ok("memory") => SEQUENCES,
        Ok(_) => SEQUENCES_OVER_OTHERS,
    };
    let played = Cell::new(0_u32);
    check(sequences, &sequence(), |actions| {
        played.set(played.get() + 1);
        let outcome = block_on(one(profile, rules, &actions));
        for (what, count) in outcome.map_err(|difference| format!("sequence {}: {difference}", played.get()))? {
            *tally.borrow_mut().entry(what).or_default() += count;
        }
        Ok(())
    });
    let tally = tally.into_inner();
    println!("{profile:?}, {} sequences: {tally:?}", played.get());
    // A token that stays has no grace.
    let expected = KINDS.iter().filter(|kind| !(rules.keeps && **kind == "too many in grace"));
    // Where a superseded token takes its family along, the event for one that does not is never raised.
    let silent = rules.superseded_token_ends_family;
    assert!(!silent || !tally.contains_key("SupersededTokenAtRevocation"));
    let expected = expected.filter(|kind| !(silent && **kind == "SupersededTokenAtRevocation"));
    let missing: Vec<_> = expected.filter(|kind| !tally.contains_key(*kind)).collect();
    assert!(played.get() < MANY || missing.is_empty(), "{missing:?} never happened");
}

/// Plays one sequence to its end, and returns how often each thing happened.
async fn one(profile: Profile, rules: Rules, actions: &[Action]) -> Result<BTreeMap<&'static str, usize>, String> {
    let mut play = Play::new(profile, rules).await;
    for (number, action) in actions.iter().enumerate() {
        let agreed = play.act(action).await;
        agreed.map_err(|difference| format!("step {number}, {action:?}: {difference}"))?;
    }
    play.use_everything().await.map_err(|difference| format!("at the end: {difference}"))?;
    Ok(play.tally)
}
