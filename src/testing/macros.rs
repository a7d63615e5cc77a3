//! The macro that defines a test for every rule, under the name of the rule.

/// Defines a test for every rule of [`Engine`](crate::store::Engine) that needs only a store.
///
/// Each test gets the attributes. The expression, which may `.await`, creates a new store for each test. With `store:
/// …, another: …`, the second expression opens another handle on the same contents, as another process would: races and
/// look-ups then go through both. A third one, `settle: …`, is for a store whose purge index lags: a function of the
/// store that returns when the index has all that was written ([`Settled`](crate::testing::Settled)). To test two
/// stores in one file, use two modules.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "sqlite")]
/// mod tests {
///     use grantor::SqliteStore;
///
///     grantor::store_tests!(#[tokio::test] => SqliteStore::temporary().unwrap());
///
///     mod shared {
///         use super::SqliteStore;
///
///         grantor::store_tests! {
///             #[tokio::test(flavor = "multi_thread")]
///             #[ignore = "takes a while"]
///             => store: SqliteStore::temporary().unwrap(), another: store.clone()
///         }
///     }
///
///     mod lagging {
///         use super::SqliteStore;
///
///         async fn settle(_store: SqliteStore) {
///             // Wait for the purge index, not for the lists.
///         }
///
///         grantor::store_tests! {
///             #[tokio::test]
///             => store: SqliteStore::temporary().unwrap(), another: store.clone(), settle: settle
///         }
///     }
/// }
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! store_tests {
    ($(#[$attribute:meta])* => $store:ident: $made:expr, another: $another:expr, settle: $settle:expr $(,)?) => {
        $crate::store_tests! {
            $(#[$attribute])*
            => settled: $crate::testing::Settled::new($made, $settle),
            another: {
                let $store = settled.engine();
                $crate::testing::Settled::new($another, $settle)
            }
        }
    };
    ($(#[$attribute:meta])* => $store:ident: $made:expr, another: $another:expr $(,)?) => {
        $crate::__rules! { [$crate::__tests] [$(#[$attribute])*] [$store: $made, $another] }
    };
    ($(#[$attribute:meta])* => $made:expr) => {
        $crate::store_tests! { $(#[$attribute])* => store: $made, another: store }
    };
}

/// Passes on the names of the rules: those that take one handle, then those that take two.
#[doc(hidden)]
#[macro_export]
macro_rules! __rules {
    ([$($then:tt)+] $($given:tt)*) => {
        $($then)+! {
            $($given)*
            [
                insert_leaves_the_row_that_is_there
                insert_leaves_what_was_revoked
                keys_are_distinguished
                tables_are_distinguished
                replace_of_a_missing_row_is_lost
                replace_of_another_version_is_lost
                large_versions_are_compared
                a_confirm_leaves_the_row_as_it_is
                a_confirm_of_another_row_is_lost
                every_record_comes_back
                the_largest_record_comes_back
                rows_in_every_state_are_listed
                a_list_has_its_own_rows
                a_list_is_in_the_order_of_keys
                pages_hold_every_row_once
                a_page_of_the_largest_records_is_full
                a_page_starts_after_a_key_that_is_gone
                pages_miss_nothing_that_stays
                lists_follow_every_write
                a_purge_leaves_no_list_entry
                a_purge_waits_for_the_end
                a_purge_follows_a_moved_end
                a_purge_takes_rows_in_every_state
                a_purge_leaves_what_has_no_end
                a_purge_is_bounded_and_finishes
                a_purge_steps_over_nothing_alive
            ]
            [
                insert_has_one_winner
                replace_has_one_winner
                no_update_is_lost
                confirms_at_once_all_succeed
                a_confirm_undoes_no_write
                acknowledged_writes_are_found
                losers_find_the_winner
                readers_never_go_back
                a_row_is_listed_at_once
                a_purge_loses_no_write
                purges_share_the_work
            ]
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __tests {
    ($attributes:tt [$store:ident: $made:expr, $another:expr] [$($alone:ident)*] [$($shared:ident)*]) => {
        $($crate::__test! { $attributes $alone {
            let $store = $made;
            $crate::testing::engine::$alone(&$store).await;
        } })*
        $($crate::__test! { $attributes $shared {
            let $store = $made;
            let another = &$another;
            $crate::testing::engine::$shared(&$store, another).await;
        } })*
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __test {
    ([$($attribute:tt)*] $rule:ident $body:block) => {
        $($attribute)*
        async fn $rule() $body
    };
}
