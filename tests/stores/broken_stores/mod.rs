//! A store with one fault at a time, as real stores have them. Every rule of the kit must notice its own.
//!
//! A kit that a broken store passes proves nothing.

mod store;

use std::collections::BTreeSet;
use std::panic::{self, AssertUnwindSafe};
use std::time::Duration;
use std::{future, thread};

use futures::executor::block_on;
use grantor::Application;
use grantor::store::{Grant, RecordStore, Replay, Table};
use grantor::testing::{record_store, replay_store};

use crate::broken_stores::store::Broken;
use crate::broken_stores::store::Fault::{self, *};

/// Each rule, and the faults that it notices.
const NOTICED: &[(&str, &[Fault])] = &[
    ("record_store::insert_leaves_the_row_that_is_there", &[InsertSaysExistsAndOverwrites]),
    ("record_store::insert_leaves_what_was_revoked", &[InsertOverRevoked]),
    ("record_store::ids_are_distinguished", &[KeysOf15Bytes]),
    ("record_store::replace_of_a_missing_row_is_lost", &[ReplaceInsertsMissingRows]),
    ("record_store::replace_of_another_version_is_lost", &[OlderVersionsReplace]),
    ("record_store::large_versions_are_compared", &[VersionsHave31Bits]),
    ("record_store::a_confirm_leaves_the_row_as_it_is", &[ConfirmRaisesTheVersion]),
    ("record_store::a_confirm_of_another_row_is_lost", &[ConfirmComparesVersionsAlone]),
    ("record_store::every_field_comes_back", &[RevocationsAreForgotten]),
    ("record_store::the_largest_record_comes_back", &[RecordsEndAt(1 << 16)]),
    ("record_store::a_purge_waits_for_the_end", &[PurgeASecondEarly, PurgeASecondLate]),
    ("record_store::a_purge_follows_a_moved_end", &[PurgeByTheInsertedEnd]),
    ("record_store::a_purge_takes_rows_of_every_kind", &[PurgeSparesRevoked]),
    (
        "record_store::a_purge_is_bounded_and_finishes",
        &[PurgeIgnoresItsLimit, PurgeNeverFinishes, PurgeFinishesAtOnce, PurgeFinishesWhenItOnlyMovedRows],
    ),
    ("record_store::a_purge_steps_over_nothing_alive", &[PurgeWalksOverTheLiving]),
    ("record_store::insert_has_one_winner", &[InsertLooksThenWrites]),
    ("record_store::replace_has_one_winner", &[ReplaceLooksThenWrites]),
    ("record_store::no_update_is_lost", &[ReplaceLooksThenWrites]),
    ("record_store::confirms_at_once_all_succeed", &[ConfirmHasOneWinner]),
    ("record_store::a_confirm_undoes_no_write", &[ConfirmLooksThenWrites]),
    ("record_store::acknowledged_writes_are_found", &[FindLags]),
    ("record_store::losers_find_the_winner", &[FindLags]),
    ("record_store::readers_never_go_back", &[FindLagsNowAndThen]),
    ("record_store::a_purge_loses_no_write", &[PurgeIsUnconditional]),
    ("record_store::purges_share_the_work", &[PurgeCountsWhatOthersRemoved]),
    ("record_store::rows_of_every_kind_are_listed", &[ListLeavesOutRevoked]),
    (
        "record_store::a_list_is_of_one_subject",
        &[ListsInAnyCase, ListsWithoutTrailingBlanks, ListsEndAtNul, ListsAreWildcards, ListsOf254Bytes],
    ),
    ("record_store::a_list_is_in_the_order_of_ids", &[KeysSortAsSigned]),
    ("record_store::pages_hold_every_row_once", &[PageIsCutBeforeItIsFiltered]),
    ("record_store::a_page_of_the_largest_records_is_full", &[PageEndsAtAMebibyte]),
    ("record_store::a_page_starts_after_an_id_that_is_gone", &[PageNeedsItsStart]),
    ("record_store::pages_miss_nothing_that_stays", &[PageRepeatsItsStart]),
    ("record_store::a_purge_leaves_no_list_entry", &[PurgedEntriesFillPages]),
    ("record_store::a_purge_takes_rows_without_a_subject", &[PurgeSparesRowsOnNoList, NoListIsNull]),
    ("record_store::a_row_is_listed_at_once", &[ListLags]),
    ("application_store::similar_client_ids_are_distinguished", &[KeysInAnyCase, KeysWithoutTrailingBlanks]),
    ("application_store::lists_follow_every_move", &[ListsAreNotMoved]),
    ("client_store::client_answers_what_was_written", &[ClientMixesVersions]),
    ("client_store::an_unknown_id_has_no_client", &[UnknownIdsHaveAClient]),
    ("client_store::every_field_comes_back", &[FindLags]),
    ("client_store::current_client_answers_the_last_write", &[CurrentClientIsCached]),
    ("replay_store::identifiers_are_distinguished", &[KeysOf15Bytes]),
    (
        "replay_store::a_purge_waits_for_the_end_of_a_replay",
        &[PurgeASecondEarly, PurgeASecondLate, InsertSaysExistsAndOverwrites],
    ),
    (
        "replay_store::a_purge_of_replays_is_bounded_and_finishes",
        &[PurgeIgnoresItsLimit, PurgeNeverFinishes, PurgeFinishesAtOnce, PurgeWalksOverTheLiving],
    ),
    ("replay_store::one_identifier_has_one_winner", &[InsertLooksThenWrites]),
    ("whole_store::kinds_are_distinguished", &[KindsShareTheirKeys]),
    ("whole_store::logos_come_back", &[RecordsEndAt(1 << 16)]),
    ("whole_store::a_logo_that_stays_may_be_removed_later", &[PurgeByTheInsertedEnd]),
    ("whole_store::initial_tokens_come_back", &[FindForgets(Table::InitialTokens)]),
    ("whole_store::device_requests_come_back", &[RecordsEndAt(600)]),
    ("whole_store::user_codes_come_back", &[InsertOverwrites]),
    ("whole_store::a_purge_leaves_the_last_purge", &[PurgeRemovesWhatHasNoEnd]),
    ("record_store::a_row_does_not_expire_early", &[ExpiresEarly, PurgeByTheInsertedEnd]),
    ("replay_store::a_replay_does_not_expire_early", &[ExpiresEarly]),
    ("record_store::calls_cost_the_same", &[FindReadsEveryRow, ListReadsEveryRow, PurgeReadsEveryRow]),
    ("record_store::a_list_names_what_cannot_be_read", &[ListLeavesOutTheUnreadable]),
    ("record_store::a_purge_steps_over_what_cannot_be_read", &[PurgeFailsAtTheUnreadable]),
    ("record_store::a_purge_keeps_what_cannot_be_read", &[PurgeRemovesTheUnreadable, PurgeKeepsTheUnreadable]),
];

/// A rule by its module and name, run to its end or to its panic.
pub(crate) struct Rule {
    pub(crate) name: &'static str,
    run: fn(&Broken),
}

/// Some rules of one module of the kit.
macro_rules! rules {
    ([$kind:ty] $module:ident [$($alone:ident)*] [$($shared:ident)*]) => {
        [
            $(Rule {
                name: concat!(stringify!($module), "::", stringify!($alone)),
                run: |store| {
                    let store: &$kind = store;
                    block_on(grantor::testing::$module::$alone(store));
                },
            },)*
            $(Rule {
                name: concat!(stringify!($module), "::", stringify!($shared)),
                run: |store| {
                    let store: &$kind = store;
                    block_on(grantor::testing::$module::$shared(store, store));
                },
            },)*
        ]
    };
}

/// All rules: those of the macros, and those that need more than a store.
pub(crate) fn rules() -> Vec<Rule> {
    let mut rules = Vec::new();
    rules.extend(grantor::__rules! { records [rules] [dyn RecordStore<Grant>] });
    rules.extend(grantor::__rules! { lists [rules] [dyn RecordStore<Grant>] });
    rules.extend(grantor::__rules! { applications [rules] [dyn RecordStore<Application>] });
    rules.extend(grantor::__rules! { clients [rules] [_] });
    rules.extend(grantor::__rules! { replays [rules] [dyn RecordStore<Replay>] });
    rules.extend(grantor::__rules! { kinds [rules] [_] });
    rules.extend([
        Rule {
            name: "record_store::a_row_does_not_expire_early",
            run: |store| block_on(record_store::a_row_does_not_expire_early::<Grant, _>(store, sleep)),
        },
        Rule {
            name: "replay_store::a_replay_does_not_expire_early",
            run: |store| block_on(replay_store::a_replay_does_not_expire_early(store, sleep)),
        },
        Rule {
            name: "record_store::calls_cost_the_same",
            run: |store| {
                block_on(record_store::calls_cost_the_same::<Grant>(store, || store.rows_read()));
            },
        },
        Rule {
            name: "record_store::a_list_names_what_cannot_be_read",
            run: |store| {
                block_on(record_store::a_list_names_what_cannot_be_read::<Grant, _>(store, |id| store.spoil(id)));
            },
        },
        Rule {
            name: "record_store::a_purge_steps_over_what_cannot_be_read",
            run: |store| {
                block_on(record_store::a_purge_steps_over_what_cannot_be_read::<Grant, _>(store, |id| store.spoil(id)));
            },
        },
        Rule {
            name: "record_store::a_purge_keeps_what_cannot_be_read",
            run: |store| {
                block_on(record_store::a_purge_keeps_what_cannot_be_read::<Grant, _>(store, |id| store.spoil(id)));
            },
        },
    ]);
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
    let rule = || block_on(record_store::a_row_is_listed_at_once::<Grant>(&store, &store));
    let panicked = panic::catch_unwind(AssertUnwindSafe(rule)).unwrap_err();
    let message = panicked.downcast_ref::<String>().unwrap();
    assert!(message.contains("a list must not"), "{message}");
}

/// The macro makes every purge wait for the index.
mod lagging {
    use super::*;

    grantor::token_store_tests! {
        #[tokio::test]
        => store: Broken::with(PurgeIndexLags), another: store.clone(), settle: Broken::settle
    }

    #[tokio::test]
    #[should_panic(expected = "the row is due")]
    async fn without_the_wait_a_purge_that_lags_fails() {
        record_store::a_purge_waits_for_the_end::<Grant>(&Broken::with(PurgeIndexLags)).await;
    }
}

fn sleep(duration: Duration) -> future::Ready<()> {
    thread::sleep(duration);
    future::ready(())
}
