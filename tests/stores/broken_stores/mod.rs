//! A store with one fault at a time, as real stores have them. Every rule of the kit must notice its own.
//!
//! A kit that a broken store passes proves nothing.

mod store;

use std::collections::BTreeSet;
use std::panic::{self, AssertUnwindSafe};
use std::time::Duration;
use std::{future, thread};

use futures::executor::block_on;
use grantor::store::Table;
use grantor::testing::{client_store, engine};

use crate::broken_stores::store::Fault::{self, *};
use crate::broken_stores::store::{Broken, Directory, DirectoryFault};

/// Each rule of engines, and the faults that it notices.
const NOTICED: &[(&str, &[Fault])] = &[
    ("insert_leaves_the_row_that_is_there", &[InsertSaysExistsAndOverwrites, InsertOverwrites]),
    ("insert_leaves_what_was_revoked", &[InsertOverRevoked]),
    ("keys_are_distinguished", &[KeysOf15Bytes, KeysInAnyCase, KeysWithoutTrailingBlanks]),
    ("tables_are_distinguished", &[KindsShareTheirKeys]),
    ("replace_of_a_missing_row_is_lost", &[ReplaceInsertsMissingRows]),
    ("replace_of_another_version_is_lost", &[OlderVersionsReplace]),
    ("large_versions_are_compared", &[VersionsHave31Bits]),
    ("a_confirm_leaves_the_row_as_it_is", &[ConfirmRaisesTheVersion]),
    ("a_confirm_of_another_row_is_lost", &[ConfirmComparesVersionsAlone]),
    (
        "every_record_comes_back",
        &[RevocationsAreForgotten, RecordsEndAtNul, FindForgets(Table::InitialTokens), FindLags],
    ),
    ("the_largest_record_comes_back", &[RecordsEndAt(600), RecordsEndAt(1 << 16)]),
    ("a_purge_waits_for_the_end", &[PurgeASecondEarly, PurgeASecondLate, InsertSaysExistsAndOverwrites]),
    ("a_purge_follows_a_moved_end", &[PurgeByTheInsertedEnd, PurgeRemovesTheUnreadable]),
    (
        "a_purge_takes_rows_in_every_state",
        &[PurgeSparesRevoked, PurgeSparesRowsOnNoList, PurgeFailsAtTheUnreadable, PurgeKeepsTheUnreadable],
    ),
    ("a_purge_leaves_what_has_no_end", &[PurgeRemovesWhatHasNoEnd, PurgeByTheInsertedEnd]),
    (
        "a_purge_is_bounded_and_finishes",
        &[PurgeIgnoresItsLimit, PurgeNeverFinishes, PurgeFinishesAtOnce, PurgeFinishesWhenItOnlyMovedRows],
    ),
    ("a_purge_steps_over_nothing_alive", &[PurgeWalksOverTheLiving]),
    ("insert_has_one_winner", &[InsertLooksThenWrites]),
    ("replace_has_one_winner", &[ReplaceLooksThenWrites]),
    ("no_update_is_lost", &[ReplaceLooksThenWrites]),
    ("confirms_at_once_all_succeed", &[ConfirmHasOneWinner]),
    ("a_confirm_undoes_no_write", &[ConfirmLooksThenWrites]),
    ("acknowledged_writes_are_found", &[FindLags]),
    ("losers_find_the_winner", &[FindLags]),
    ("readers_never_go_back", &[FindLagsNowAndThen]),
    ("a_purge_loses_no_write", &[PurgeIsUnconditional]),
    ("purges_share_the_work", &[PurgeCountsWhatOthersRemoved]),
    ("rows_in_every_state_are_listed", &[ListLeavesOutRevoked, ListLeavesOutTheUnreadable]),
    (
        "a_list_has_its_own_rows",
        &[ListsInAnyCase, ListsWithoutTrailingBlanks, ListsEndAtNul, ListsAreWildcards, ListsOf254Bytes, NoListIsNull],
    ),
    ("a_list_is_in_the_order_of_keys", &[KeysSortAsSigned]),
    ("pages_hold_every_row_once", &[PageIsCutBeforeItIsFiltered]),
    ("a_page_of_the_largest_records_is_full", &[PageEndsAtAMebibyte]),
    ("a_page_starts_after_a_key_that_is_gone", &[PageNeedsItsStart]),
    ("pages_miss_nothing_that_stays", &[PageRepeatsItsStart]),
    ("lists_follow_every_write", &[ListsAreNotMoved]),
    ("a_purge_leaves_no_list_entry", &[PurgedEntriesFillPages]),
    ("a_row_is_listed_at_once", &[ListLags]),
    ("a_row_does_not_expire_early", &[ExpiresEarly, PurgeByTheInsertedEnd]),
    ("calls_cost_the_same", &[FindReadsEveryRow, ListReadsEveryRow, PurgeReadsEveryRow]),
];

/// A rule by its name, run to its end or to its panic.
pub(crate) struct Rule {
    pub(crate) name: &'static str,
    run: fn(&Broken),
}

/// The rules of the macro.
macro_rules! rules {
    ([$($alone:ident)*] [$($shared:ident)*]) => {
        vec![
            $(Rule { name: stringify!($alone), run: |store| block_on(engine::$alone(store)) },)*
            $(Rule { name: stringify!($shared), run: |store| block_on(engine::$shared(store, store)) },)*
        ]
    };
}

/// All rules of engines: those of the macro, and those that need more than a store.
pub(crate) fn rules() -> Vec<Rule> {
    let mut rules = grantor::__rules! { [rules] };
    rules.push(Rule {
        name: "a_row_does_not_expire_early",
        run: |store| block_on(engine::a_row_does_not_expire_early(store, sleep)),
    });
    rules.push(Rule {
        name: "calls_cost_the_same",
        run: |store| block_on(engine::calls_cost_the_same(store, || store.rows_read())),
    });
    rules
}

#[test]
fn every_rule_notices_its_faults_and_passes_a_sound_store() {
    let rules = rules();
    let named: BTreeSet<_> = NOTICED.iter().map(|(rule, _)| *rule).collect();
    assert_eq!(named, rules.iter().map(|rule| rule.name).collect());
    let faults_of = |rule: &Rule| NOTICED.iter().find(|(name, _)| *name == rule.name).unwrap().1;
    let tries = rules.iter().flat_map(|rule| faults_of(rule).iter().chain([&Sound]).map(move |fault| (rule, *fault)));
    let wrong: Vec<_> = thread::scope(|scope| {
        let passes = |(rule, fault): (&'_ Rule, Fault)| {
            let passed = panic::catch_unwind(AssertUnwindSafe(|| (rule.run)(&Broken::with(fault)))).is_ok();
            (passed != (fault == Sound)).then(|| format!("{}: {fault:?}", rule.name))
        };
        let tries: Vec<_> = tries.map(|tried| scope.spawn(move || passes(tried))).collect();
        tries.into_iter().filter_map(|tried| tried.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "rules that miss a fault, or fail without one: {wrong:#?}");
}

#[test]
fn a_list_that_lags_is_named_as_one() {
    let store = Broken::with(ListLags);
    let rule = || block_on(engine::a_row_is_listed_at_once(&store, &store));
    let panicked = panic::catch_unwind(AssertUnwindSafe(rule)).unwrap_err();
    let message = panicked.downcast_ref::<String>().unwrap();
    assert!(message.contains("a list must not"), "{message}");
}

/// The macro makes every purge wait for the index.
mod lagging {
    use super::*;

    grantor::store_tests! {
        #[tokio::test]
        => store: Broken::with(PurgeIndexLags), another: store.clone(), settle: Broken::settle
    }

    #[tokio::test]
    #[should_panic(expected = "the row is due")]
    async fn without_the_wait_a_purge_that_lags_fails() {
        engine::a_purge_waits_for_the_end(&Broken::with(PurgeIndexLags)).await;
    }
}

fn sleep(duration: Duration) -> future::Ready<()> {
    thread::sleep(duration);
    future::ready(())
}

/// The rules of a directory, with the fault that each notices.
#[test]
fn every_rule_of_directories_notices_its_fault_and_passes_a_sound_one() {
    type Rule = (DirectoryFault, fn(&Directory));
    let rules: [Rule; 3] = [
        (DirectoryFault::ClientMixesVersions, |directory| {
            block_on(client_store::client_answers_what_was_written(directory, |client| directory.write(client)));
        }),
        (DirectoryFault::CurrentClientIsCached, |directory| {
            let write = |client| directory.write(client);
            block_on(client_store::current_client_answers_the_last_write(directory, directory, write));
        }),
        (DirectoryFault::UnknownIdsHaveAClient, |directory| {
            block_on(client_store::an_unknown_id_has_no_client(directory));
        }),
    ];
    for (fault, rule) in rules {
        for fault in [fault, DirectoryFault::Sound] {
            let passed = panic::catch_unwind(AssertUnwindSafe(|| rule(&Directory::with(fault)))).is_ok();
            assert_eq!(passed, fault == DirectoryFault::Sound, "{fault:?}");
        }
    }
}
