//! Stores that each break one rule, as real stores do, and the rules of the kit that notice it.
//!
//! A kit that every broken store passes proves nothing: every rule must notice at least one of these.

mod applications;
mod grants;
mod replays;
mod whole;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::future;
use std::panic::{self, AssertUnwindSafe};
use std::task::Poll;
use std::thread;

use futures::executor::block_on;
use grantor::Application;
use grantor::store::{Grant, RecordStore, Replay};
use grantor::testing::record_store;
use grantor::testing::replay_store;

use crate::broken_stores::applications::Applications;
use crate::broken_stores::grants::Grants;
use crate::broken_stores::replays::Replays;
use crate::broken_stores::whole::Whole;

/// A rule by its name, run to its end or to its panic.
struct Rule<S> {
    name: &'static str,
    run: fn(&S),
}

/// Some rules of one module of the kit.
macro_rules! rules {
    ([$kind:ty] $module:ident [$($alone:ident)*] [$($shared:ident)*]) => {
        vec![
            $(Rule {
                name: stringify!($alone),
                run: |store| {
                    let store: &$kind = store;
                    block_on(grantor::testing::$module::$alone(store));
                },
            },)*
            $(Rule {
                name: stringify!($shared),
                run: |store| {
                    let store: &$kind = store;
                    block_on(grantor::testing::$module::$shared(store, store));
                },
            },)*
        ]
    };
}

fn grant_rules() -> Vec<Rule<Grants>> {
    let mut rules = grantor::__rules! { records [rules] [dyn RecordStore<Grant>] };
    rules.extend(grantor::__rules! { lists [rules] [dyn RecordStore<Grant>] });
    rules
}

fn application_rules() -> Vec<Rule<Applications>> {
    let mut rules = grantor::__rules! { applications [rules] [dyn RecordStore<Application>] };
    rules.extend(grantor::__rules! { clients [rules] [_] });
    rules
}

fn replay_rules() -> Vec<Rule<Replays>> {
    grantor::__rules! { replays [rules] [dyn RecordStore<Replay>] }
}

fn whole_rules() -> Vec<Rule<Whole>> {
    grantor::__rules! { kinds [rules] [_] }
}

#[test]
fn a_store_of_grants_without_a_fault_keeps_every_rule() {
    assert_eq!(broken_by(&grant_rules(), || Grants::with(grants::Fault::None)), [""; 0]);
}

#[test]
fn a_store_of_applications_without_a_fault_keeps_every_rule() {
    assert_eq!(broken_by(&application_rules(), || Applications::with(applications::Fault::None)), [""; 0]);
}

#[test]
fn a_store_of_replays_without_a_fault_keeps_every_rule() {
    assert_eq!(broken_by(&replay_rules(), || Replays::with(replays::Fault::None)), [""; 0]);
}

#[test]
fn a_store_of_all_kinds_without_a_fault_keeps_every_rule() {
    assert_eq!(broken_by(&whole_rules(), || Whole::with(whole::Fault::None)), [""; 0]);
}

#[test]
fn every_fault_of_a_store_of_grants_is_noticed_by_the_rules_that_name_it() {
    check(Tried::Named, &grant_rules(), &grants::FAULTS, Grants::with);
}

#[test]
#[ignore = "tries every rule with every fault"]
fn a_fault_of_a_store_of_grants_is_noticed_by_no_other_rule() {
    check(Tried::All, &grant_rules(), &grants::FAULTS, Grants::with);
}

#[test]
fn every_fault_of_a_store_of_applications_is_noticed_by_the_rules_that_name_it() {
    check(Tried::Named, &application_rules(), &applications::FAULTS, Applications::with);
}

#[test]
#[ignore = "tries every rule with every fault"]
fn a_fault_of_a_store_of_applications_is_noticed_by_no_other_rule() {
    check(Tried::All, &application_rules(), &applications::FAULTS, Applications::with);
}

#[test]
fn every_fault_of_a_store_of_replays_is_noticed_by_the_rules_that_name_it() {
    check(Tried::All, &replay_rules(), &replays::FAULTS, Replays::with);
}

#[test]
fn every_fault_of_a_store_of_all_kinds_is_noticed_by_the_rules_that_name_it() {
    check(Tried::All, &whole_rules(), &whole::FAULTS, Whole::with);
}

#[test]
fn a_list_that_lags_is_named_as_one() {
    let store = Grants::with(grants::Fault::ListLags);
    let rule = || block_on(record_store::a_row_is_listed_at_once::<Grant>(&store, &store));
    let panicked = panic::catch_unwind(AssertUnwindSafe(rule)).unwrap_err();
    let message = panicked.downcast_ref::<String>().unwrap();
    assert!(message.contains("a list must not"), "{message}");
}

#[test]
fn a_row_that_expires_early_is_noticed() {
    let sleep = |duration| {
        thread::sleep(duration);
        future::ready(())
    };
    let is_kept = |fault| {
        succeeds(|| block_on(record_store::a_row_does_not_expire_early::<Grant, _>(&Grants::with(fault), sleep)))
    };
    let is_known =
        |fault| succeeds(|| block_on(replay_store::a_replay_does_not_expire_early(&Replays::with(fault), sleep)));
    thread::scope(|scope| {
        let rows = [
            (grants::Fault::None, true),
            (grants::Fault::ExpiresEarly, false),
            (grants::Fault::ExpiresByTheInsertedEnd, false),
        ];
        for (fault, kept) in rows {
            scope.spawn(move || assert_eq!(is_kept(fault), kept, "{fault:?}"));
        }
        for (fault, known) in [(replays::Fault::None, true), (replays::Fault::ExpiresEarly, false)] {
            scope.spawn(move || assert_eq!(is_known(fault), known, "{fault:?}"));
        }
    });
}

#[test]
fn a_call_that_walks_through_the_table_is_noticed_by_what_it_costs() {
    let costs_the_same = |fault| {
        let store = Grants::with(fault);
        succeeds(|| block_on(record_store::calls_cost_the_same::<Grant>(&store, || store.rows_read())))
    };
    assert!(costs_the_same(grants::Fault::None));
    assert!(!costs_the_same(grants::Fault::FindReadsEveryRow));
    assert!(!costs_the_same(grants::Fault::ListReadsEveryRow));
    assert!(!costs_the_same(grants::Fault::PurgeReadsEveryRow));
}

#[test]
fn what_a_store_does_about_records_that_cannot_be_read_is_noticed() {
    let list = |fault| {
        let store = Grants::with(fault);
        let spoil = |id| {
            store.spoil(id);
            future::ready(())
        };
        succeeds(|| block_on(record_store::a_list_names_what_cannot_be_read::<Grant, _>(&store, spoil)))
    };
    assert!(list(grants::Fault::None));
    assert!(!list(grants::Fault::ListLeavesOutTheUnreadable));
    assert!(!list(grants::Fault::ListNamesNothing));
    let purge = |fault| {
        let store = Grants::with(fault);
        let spoil = |id| {
            store.spoil(id);
            future::ready(())
        };
        succeeds(|| block_on(record_store::a_purge_steps_over_what_cannot_be_read::<Grant, _>(&store, spoil)))
    };
    assert!(purge(grants::Fault::None));
    assert!(!purge(grants::Fault::PurgeFailsAtTheUnreadable));
    assert!(!purge(grants::Fault::PurgeStaysAtTheUnreadable));
    let kept = |fault| {
        let store = Grants::with(fault);
        let spoil = |id| {
            store.spoil(id);
            future::ready(())
        };
        succeeds(|| block_on(record_store::a_purge_keeps_what_cannot_be_read::<Grant, _>(&store, spoil)))
    };
    assert!(kept(grants::Fault::None));
    assert!(!kept(grants::Fault::PurgeRemovesTheUnreadable));
    assert!(!kept(grants::Fault::PurgeKeepsTheUnreadable));
}

fn succeeds(rule: impl FnOnce()) -> bool {
    panic::catch_unwind(AssertUnwindSafe(rule)).is_ok()
}

/// What notices a fault.
#[derive(Clone, Copy, Debug)]
enum Noticed {
    /// These rules and no other.
    By(&'static [&'static str]),
    /// These rules, and others that use the broken part.
    AmongOthersBy(&'static [&'static str]),
}

/// The rules that are tried with a fault.
#[derive(Clone, Copy, PartialEq)]
enum Tried {
    /// Those that are named with it.
    Named,
    /// All, except where other rules may notice the fault too.
    All,
}

/// Every fault breaks the rules that are named with it, and every rule notices a fault.
fn check<S, F: Copy + Debug>(tried: Tried, rules: &[Rule<S>], faults: &[(F, Noticed)], with: impl Fn(F) -> S) {
    let mut wrong = BTreeMap::new();
    let mut idle: BTreeSet<_> = rules.iter().map(|rule| rule.name).collect();
    for (fault, noticed) in faults {
        let (Noticed::By(named) | Noticed::AmongOthersBy(named)) = noticed;
        let all = tried == Tried::All && matches!(noticed, Noticed::By(_));
        let rules = rules.iter().filter(|rule| all || named.contains(&rule.name));
        let broken: BTreeSet<_> = broken_by(rules, || with(*fault)).into_iter().collect();
        let missing: Vec<_> = named.iter().filter(|name| !broken.contains(*name)).collect();
        let others: Vec<_> = broken.iter().filter(|name| !named.contains(name)).collect();
        if !missing.is_empty() || !others.is_empty() {
            wrong.insert(format!("{fault:?}"), format!("not noticed by {missing:?}, but by {others:?}"));
        }
        idle.retain(|name| !named.contains(name));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(idle.is_empty(), "rules that no fault is named with: {idle:?}");
}

/// Returns the names of the rules that fail, each on its own store.
fn broken_by<'r, S: 'r>(rules: impl IntoIterator<Item = &'r Rule<S>>, make: impl Fn() -> S) -> Vec<&'static str> {
    let fails = |rule: &&Rule<S>| panic::catch_unwind(AssertUnwindSafe(|| (rule.run)(&make()))).is_err();
    rules.into_iter().filter(fails).map(|rule| rule.name).collect()
}

/// Yields, like a store that waits for its database between two statements.
async fn wait() {
    let mut waited = false;
    future::poll_fn(|context| {
        context.waker().wake_by_ref();
        if std::mem::replace(&mut waited, true) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
