//! The rules that the stores of records keep, written once.

/// Defines one public function per rule, for stores of one kind of record.
macro_rules! record_rules {
    ($record:ident) => {
        use std::future::Future;
        use std::time::Duration;

        use crate::store::RecordStore;
        use crate::testing::rows::Rows;
        use crate::testing::rules::confirm;
        use crate::testing::rules::expiry;
        use crate::testing::rules::fields;
        use crate::testing::rules::found;
        use crate::testing::rules::insert;
        use crate::testing::rules::purge;
        use crate::testing::rules::purge_race;
        use crate::testing::rules::replace;
        use crate::testing::rules::unreadable;

        /// Rule 1: of many callers that insert one id, one gets `Inserted`, and the stored row is its own.
        pub async fn insert_has_one_winner<S: RecordStore<$record>>(store: &S, another: &S) {
            insert::has_one_winner(&Rows::<$record>(store), &Rows::<$record>(another)).await;
        }

        /// Rule 1: an insert of an existing id returns `Exists` and changes nothing, not even a list.
        pub async fn insert_leaves_the_row_that_is_there(store: &impl RecordStore<$record>) {
            insert::leaves_the_row_that_is_there(&Rows::<$record>(store)).await;
        }

        /// Rule 1: a revoked or denied row exists like any other: an insert of its id changes nothing.
        pub async fn insert_leaves_what_was_revoked(store: &impl RecordStore<$record>) {
            insert::leaves_what_was_revoked(&Rows::<$record>(store)).await;
        }

        /// Rule 1: ids that differ in a single bit are different ids.
        pub async fn ids_are_distinguished(store: &impl RecordStore<$record>) {
            insert::tells_ids_apart(&Rows::<$record>(store)).await;
        }

        /// Rule 2: of many callers that replace one version, one gets `Replaced`, and the stored row is its own.
        pub async fn replace_has_one_winner<S: RecordStore<$record>>(store: &S, another: &S) {
            replace::has_one_winner(&Rows::<$record>(store), &Rows::<$record>(another)).await;
        }

        /// Rule 2: a replace of a missing row is `Lost` and creates none.
        pub async fn replace_of_a_missing_row_is_lost(store: &impl RecordStore<$record>) {
            replace::of_a_missing_row_is_lost(&Rows::<$record>(store)).await;
        }

        /// Rule 2: a replace of any version but the row's own is `Lost` and changes nothing.
        pub async fn replace_of_another_version_is_lost(store: &impl RecordStore<$record>) {
            replace::of_another_version_is_lost(&Rows::<$record>(store)).await;
        }

        /// Rule 2: versions are compared up to the largest of 32 bits, without sign.
        pub async fn large_versions_are_compared(store: &impl RecordStore<$record>) {
            replace::compares_large_versions(&Rows::<$record>(store)).await;
        }

        /// Rule 2: callers that read again after every loss win every version exactly once.
        pub async fn no_update_is_lost<S: RecordStore<$record>>(store: &S, another: &S) {
            replace::loses_no_update(&Rows::<$record>(store), &Rows::<$record>(another)).await;
        }

        /// Rule 3: a row that equals the stored one is confirmed, any number of times, and stays as it is.
        pub async fn a_confirm_leaves_the_row_as_it_is(store: &impl RecordStore<$record>) {
            confirm::leaves_the_row_as_it_is(&Rows::<$record>(store)).await;
        }

        /// Rule 3: a confirm of a missing row, of another version or of other bytes is `Lost` and changes nothing.
        pub async fn a_confirm_of_another_row_is_lost(store: &impl RecordStore<$record>) {
            confirm::of_another_row_is_lost(&Rows::<$record>(store)).await;
        }

        /// Rule 3: any number of callers confirm one row at once, and none of them raises its version.
        pub async fn confirms_at_once_all_succeed<S: RecordStore<$record>>(store: &S, another: &S) {
            confirm::all_succeed_at_once(&Rows::<$record>(store), &Rows::<$record>(another)).await;
        }

        /// Rule 3: a confirm during a replace neither restores the old version nor stops the replace.
        pub async fn a_confirm_undoes_no_write<S: RecordStore<$record>>(store: &S, another: &S) {
            confirm::undoes_no_write(&Rows::<$record>(store), &Rows::<$record>(another)).await;
        }

        /// Rule 4: an acknowledged write is found by all callers at once.
        pub async fn acknowledged_writes_are_found<S: RecordStore<$record>>(store: &S, another: &S) {
            found::everywhere(&Rows::<$record>(store), &Rows::<$record>(another)).await;
        }

        /// Rule 4: a caller that gets `Lost` finds the version that won.
        pub async fn losers_find_the_winner<S: RecordStore<$record>>(store: &S, another: &S) {
            found::by_those_who_lost(&Rows::<$record>(store), &Rows::<$record>(another)).await;
        }

        /// Rule 4: while versions are written, no reader finds one older than the last that was acknowledged or seen.
        pub async fn readers_never_go_back<S: RecordStore<$record>>(store: &S, another: &S) {
            found::and_never_an_older_version(&Rows::<$record>(store), &Rows::<$record>(another)).await;
        }

        /// Rule 5: every field is read back equal in every state, with any bytes.
        pub async fn every_field_comes_back(store: &impl RecordStore<$record>) {
            fields::of_every_kind_come_back(&Rows::<$record>(store)).await;
        }

        /// Rule 5: the largest record is read back equal.
        pub async fn the_largest_record_comes_back(store: &impl RecordStore<$record>) {
            fields::of_the_largest_size_come_back(&Rows::<$record>(store)).await;
        }

        /// Rule 7: a row exists until a second before its `purge_after`, and a purge at that time removes it from all
        /// lists.
        pub async fn a_purge_waits_for_the_end(store: &impl RecordStore<$record>) {
            purge::waits_for_the_end(&Rows::<$record>(store)).await;
        }

        /// Rule 7: a row whose end was postponed stays until the new end, and is removed then.
        pub async fn a_purge_follows_a_moved_end(store: &impl RecordStore<$record>) {
            purge::follows_a_moved_end(&Rows::<$record>(store)).await;
        }

        /// Rule 7: rows in every state are removed at their time.
        pub async fn a_purge_takes_rows_of_every_kind(store: &impl RecordStore<$record>) {
            purge::takes_rows_of_every_kind(&Rows::<$record>(store)).await;
        }

        /// Rule 7: a step removes no more than its limit, and repeated steps remove all that is due.
        pub async fn a_purge_is_bounded_and_finishes(store: &impl RecordStore<$record>) {
            purge::is_bounded_and_finishes(&Rows::<$record>(store)).await;
        }

        /// Rule 7: a few steps find the one row that is due among many that are not.
        pub async fn a_purge_steps_over_nothing_alive(store: &impl RecordStore<$record>) {
            purge::steps_over_nothing_alive(&Rows::<$record>(store)).await;
        }

        /// Rule 7: an unreadable record does not keep a purge from due rows behind it.
        ///
        /// `spoil` replaces the record with that id by bytes that are not a record, and changes nothing else. Only the
        /// author of a store can write it, so the macro does not include this rule.
        pub async fn a_purge_steps_over_what_cannot_be_read<F: Future<Output = ()> + Send>(
            store: &impl RecordStore<$record>,
            spoil: impl Fn([u8; 16]) -> F + Send + Sync,
        ) {
            unreadable::is_stepped_over_by_a_purge(&Rows::<$record>(store), spoil).await;
        }

        /// Rule 7: an unreadable record stays until the `purge_after` that was written last, and is removed then.
        ///
        /// `spoil` is that of [`a_purge_steps_over_what_cannot_be_read`].
        pub async fn a_purge_keeps_what_cannot_be_read<F: Future<Output = ()> + Send>(
            store: &impl RecordStore<$record>,
            spoil: impl Fn([u8; 16]) -> F + Send + Sync,
        ) {
            unreadable::is_kept_until_its_end(&Rows::<$record>(store), spoil).await;
        }

        /// Rule 7: if the engine removes rows by its own clock, it removes none before its `purge_after`, even if that
        /// was moved.
        ///
        /// It takes four seconds and calls `sleep` of the runtime, so the macro does not include this rule.
        pub async fn a_row_does_not_expire_early<F: Future<Output = ()> + Send>(
            store: &impl RecordStore<$record>,
            sleep: impl Fn(Duration) -> F + Send + Sync,
        ) {
            expiry::is_not_early(&Rows::<$record>(store), sleep).await;
        }

        /// Rule 7: of a write and a purge that race for a row, one wins, and an acknowledged write stays.
        pub async fn a_purge_loses_no_write<S: RecordStore<$record>>(store: &S, another: &S) {
            purge_race::loses_no_write(&Rows::<$record>(store), &Rows::<$record>(another)).await;
        }

        /// Rule 7: concurrent purges remove each row once, and count it once.
        pub async fn purges_share_the_work<S: RecordStore<$record>>(store: &S, another: &S) {
            purge_race::share_the_work(&Rows::<$record>(store), &Rows::<$record>(another)).await;
        }
    };
}

/// Defines the rules on lists as well.
macro_rules! list_rules {
    ($record:ident) => {
        crate::testing::record_rules::record_rules! { $record }

        /// Rule 6: an acknowledged row is listed at once, as it is, among many callers.
        pub async fn a_row_is_listed_at_once<S: RecordStore<$record>>(store: &S, another: &S) {
            crate::testing::rules::list::shows_a_row_at_once(&Rows::<$record>(store), &Rows::<$record>(another)).await;
        }

        /// Rule 6: records in every state are listed, including expired and revoked ones.
        pub async fn rows_of_every_kind_are_listed(store: &impl RecordStore<$record>) {
            crate::testing::rules::fields::of_every_kind_are_listed(&Rows::<$record>(store)).await;
        }

        /// Rule 6: subjects that differ in case, blanks, normalization or length are different subjects.
        pub async fn a_list_is_of_one_subject(store: &impl RecordStore<$record>) {
            crate::testing::rules::list::is_of_one_subject(&Rows::<$record>(store)).await;
        }

        /// Rule 6: a list is in the ascending order of ids, compared as bytes.
        pub async fn a_list_is_in_the_order_of_ids(store: &impl RecordStore<$record>) {
            crate::testing::rules::list::is_in_the_order_of_ids(&Rows::<$record>(store)).await;
        }

        /// Rule 6: pages of any size hold every row once, and all but the last one are full.
        pub async fn pages_hold_every_row_once(store: &impl RecordStore<$record>) {
            crate::testing::rules::page::holds_every_row_once(&Rows::<$record>(store)).await;
        }

        /// Rule 6: a page of the largest records, more than a mebibyte together, is complete.
        pub async fn a_page_of_the_largest_records_is_full(store: &impl RecordStore<$record>) {
            crate::testing::rules::page::of_the_largest_is_full(&Rows::<$record>(store)).await;
        }

        /// Rule 6: a page may start after a row that was removed.
        pub async fn a_page_starts_after_an_id_that_is_gone(store: &impl RecordStore<$record>) {
            crate::testing::rules::page::starts_after_an_id_that_is_gone(&Rows::<$record>(store)).await;
        }

        /// Rule 6: while rows are added and removed, a reader of pages finds each row that stays once.
        pub async fn pages_miss_nothing_that_stays(store: &impl RecordStore<$record>) {
            crate::testing::rules::page::misses_nothing_that_stays(&Rows::<$record>(store)).await;
        }

        /// Rule 6: a page with an unreadable record is an error that names it, and the list continues after it.
        ///
        /// `spoil` is that of [`a_purge_steps_over_what_cannot_be_read`].
        pub async fn a_list_names_what_cannot_be_read<F: Future<Output = ()> + Send>(
            store: &impl RecordStore<$record>,
            spoil: impl Fn([u8; 16]) -> F + Send + Sync,
        ) {
            crate::testing::rules::unreadable::is_named_by_a_list(&Rows::<$record>(store), spoil).await;
        }

        /// Rule 6: a purged row leaves no entry behind that cuts a page short or lists another row under its id.
        pub async fn a_purge_leaves_no_list_entry(store: &impl RecordStore<$record>) {
            crate::testing::rules::purge::leaves_no_list_entry(&Rows::<$record>(store)).await;
        }

        /// Rule 7: a record without a subject is found, is on no list, and is removed at its time.
        pub async fn a_purge_takes_rows_without_a_subject(store: &impl RecordStore<$record>) {
            crate::testing::rules::purge::takes_rows_without_a_subject(&Rows::<$record>(store)).await;
        }

        /// Rule 8: each call costs the same, however much is stored.
        ///
        /// `count` returns the cost so far: examined rows, statements or round trips. A table scan is a single
        /// statement too, so only a count of rows shows that there is none. Not every store can count, so the macro
        /// does not include this rule.
        pub async fn calls_cost_the_same(store: &impl RecordStore<$record>, count: impl Fn() -> u64 + Send + Sync) {
            crate::testing::rules::cost::of_calls_stays_the_same(&Rows::<$record>(store), count).await;
        }
    };
}

pub(super) use {list_rules, record_rules};
