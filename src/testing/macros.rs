//! Macros that define a test for every rule, under the name of the rule.

/// Defines a test for every rule of [`TokenStore`](crate::store::TokenStore), in a module `token_store`.
///
/// Each test gets the attributes. The expression, which may `.await`, creates a new store for each test. With `store:
/// …, another: …`, the second expression opens another handle on the same contents, as another process would: races and
/// look-ups then go through both. A third one, `settle: …`, is for a store whose purge index lags: a function of the
/// store that returns when the index has all that was written ([`Settled`](crate::testing::Settled)).
///
/// # Examples
///
/// ```
/// use grantor::MemoryStore;
///
/// grantor::token_store_tests!(#[tokio::test] => MemoryStore::new());
///
/// mod shared {
///     use super::MemoryStore;
///
///     grantor::token_store_tests! {
///         #[tokio::test(flavor = "multi_thread")]
///         #[ignore = "takes a while"]
///         => store: MemoryStore::new(), another: store.clone()
///     }
/// }
///
/// mod lagging {
///     use super::MemoryStore;
///
///     async fn settle(_store: MemoryStore) {
///         // Wait for the purge index, not for the lists.
///     }
///
///     grantor::token_store_tests! {
///         #[tokio::test] => store: MemoryStore::new(), another: store.clone(), settle: settle
///     }
/// }
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! token_store_tests {
    ($(#[$attribute:meta])* => $($made:tt)+) => {
        $crate::__store_tests! {
            token_store [records lists] [dyn $crate::store::RecordStore<$crate::store::Grant>] [$(#[$attribute])*] [$($made)+]
        }
    };
}

/// Defines a test for every rule of [`CodeStore`](crate::store::CodeStore), in a module `code_store`.
///
/// It takes what [`token_store_tests!`](crate::token_store_tests) takes.
#[macro_export]
macro_rules! code_store_tests {
    ($(#[$attribute:meta])* => $($made:tt)+) => {
        $crate::__store_tests! {
            code_store [records lists] [dyn $crate::store::RecordStore<$crate::store::Authorization>] [$(#[$attribute])*] [$($made)+]
        }
    };
}

/// Defines a test for every rule of a store of [`Application`](crate::Application)s, which are on several lists, in a module
/// `application_store`.
///
/// It takes what [`token_store_tests!`](crate::token_store_tests) takes.
#[macro_export]
macro_rules! application_store_tests {
    ($(#[$attribute:meta])* => $($made:tt)+) => {
        $crate::__store_tests! {
            application_store [records lists applications] [dyn $crate::store::RecordStore<$crate::Application>] [$(#[$attribute])*] [$($made)+]
        }
    };
}

/// Defines a test for every rule of [`ClientStore`](crate::store::ClientStore), in a module `client_store`.
///
/// It takes what [`token_store_tests!`](crate::token_store_tests) takes; the store must also keep
/// [`Application`](crate::Application)s, with which the rules fill it.
#[macro_export]
macro_rules! client_store_tests {
    ($(#[$attribute:meta])* => $($made:tt)+) => {
        $crate::__store_tests! {
            client_store [clients] [_] [$(#[$attribute])*] [$($made)+]
        }
    };
}

/// Defines a test for every rule of a store of pushed requests, which are on no list, in a module
/// `pushed_request_store`.
///
/// It takes what [`token_store_tests!`](crate::token_store_tests) takes.
#[macro_export]
macro_rules! pushed_request_store_tests {
    ($(#[$attribute:meta])* => $($made:tt)+) => {
        $crate::__store_tests! {
            pushed_request_store [records] [dyn $crate::store::RecordStore<$crate::store::PushedRequest>] [$(#[$attribute])*] [$($made)+]
        }
    };
}

/// Defines a test for every rule of a store of [`Replay`](crate::store::Replay)s, which are only inserted, in a module
/// `replay_store`.
///
/// It takes what [`token_store_tests!`](crate::token_store_tests) takes.
#[macro_export]
macro_rules! replay_store_tests {
    ($(#[$attribute:meta])* => $($made:tt)+) => {
        $crate::__store_tests! {
            replay_store [replays] [dyn $crate::store::RecordStore<$crate::store::Replay>] [$(#[$attribute])*] [$($made)+]
        }
    };
}

/// Defines tests that kinds are kept apart, and of the kinds that have no macro (logos, initial access tokens, the last
/// purge), in a module `whole_store`, for a store of all kinds.
///
/// It takes what [`token_store_tests!`](crate::token_store_tests) takes.
#[macro_export]
macro_rules! whole_store_tests {
    ($(#[$attribute:meta])* => $($made:tt)+) => {
        $crate::__store_tests! {
            whole_store [kinds] [_] [$(#[$attribute])*] [$($made)+]
        }
    };
}

/// Defines a test for every rule, for a store of clients and of all kinds of records, as every
/// [`Engine`](crate::store::Engine) is.
///
/// It takes what [`token_store_tests!`](crate::token_store_tests) takes.
#[macro_export]
macro_rules! store_tests {
    ($($given:tt)+) => {
        $crate::client_store_tests! { $($given)+ }
        $crate::application_store_tests! { $($given)+ }
        $crate::code_store_tests! { $($given)+ }
        $crate::token_store_tests! { $($given)+ }
        $crate::pushed_request_store_tests! { $($given)+ }
        $crate::replay_store_tests! { $($given)+ }
        $crate::whole_store_tests! { $($given)+ }
    };
}

/// Passes on the names of the rules of one set and their module in `testing`: those that take one handle, then those that
/// take two.
#[doc(hidden)]
#[macro_export]
macro_rules! __rules {
    (records [$($then:tt)+] $($given:tt)*) => {
        $($then)+! {
            $($given)* record_store
            [
                insert_leaves_the_row_that_is_there
                insert_leaves_what_was_revoked
                ids_are_distinguished
                replace_of_a_missing_row_is_lost
                replace_of_another_version_is_lost
                large_versions_are_compared
                a_confirm_leaves_the_row_as_it_is
                a_confirm_of_another_row_is_lost
                every_field_comes_back
                the_largest_record_comes_back
                a_purge_waits_for_the_end
                a_purge_follows_a_moved_end
                a_purge_takes_rows_of_every_kind
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
                a_purge_loses_no_write
                purges_share_the_work
            ]
        }
    };
    (lists [$($then:tt)+] $($given:tt)*) => {
        $($then)+! {
            $($given)* record_store
            [
                rows_of_every_kind_are_listed
                a_list_is_of_one_subject
                a_list_is_in_the_order_of_ids
                pages_hold_every_row_once
                a_page_of_the_largest_records_is_full
                a_page_starts_after_an_id_that_is_gone
                pages_miss_nothing_that_stays
                a_purge_leaves_no_list_entry
                a_purge_takes_rows_without_a_subject
            ]
            [a_row_is_listed_at_once]
        }
    };
    (applications [$($then:tt)+] $($given:tt)*) => {
        $($then)+! {
            $($given)* application_store
            [similar_client_ids_are_distinguished lists_follow_every_move]
            []
        }
    };
    (clients [$($then:tt)+] $($given:tt)*) => {
        $($then)+! {
            $($given)* client_store
            [client_answers_what_was_written an_unknown_id_has_no_client every_field_comes_back]
            [current_client_answers_the_last_write]
        }
    };
    (replays [$($then:tt)+] $($given:tt)*) => {
        $($then)+! {
            $($given)* replay_store
            [
                identifiers_are_distinguished
                a_purge_waits_for_the_end_of_a_replay
                a_purge_of_replays_is_bounded_and_finishes
            ]
            [one_identifier_has_one_winner]
        }
    };
    (kinds [$($then:tt)+] $($given:tt)*) => {
        $($then)+! {
            $($given)* whole_store
            [
                kinds_are_distinguished
                logos_come_back
                a_logo_that_stays_may_be_removed_later
                initial_tokens_come_back
                device_requests_come_back
                user_codes_come_back
                a_purge_leaves_the_last_purge
            ]
            []
        }
    };
}

/// Defines a module with a test for every rule of some sets, for a store that is used as a `$kind`.
#[doc(hidden)]
#[macro_export]
macro_rules! __store_tests {
    (
        $name:ident $sets:tt $kind:tt $attributes:tt
        [$store:ident: $made:expr, another: $another:expr, settle: $settle:expr $(,)?]
    ) => {
        $crate::__store_tests! {
            $name $sets $kind $attributes
            [
                settled: $crate::testing::Settled::new($made, $settle),
                another: {
                    let $store = settled.store();
                    $crate::testing::Settled::new($another, $settle)
                }
            ]
        }
    };
    (
        $name:ident [$($set:ident)+] $kind:tt $attributes:tt
        [$store:ident: $made:expr, another: $another:expr $(,)?]
    ) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            $($crate::__rules! { $set [$crate::__tests] $kind $attributes [$store: $made, $another] })+
        }
    };
    ($name:ident $sets:tt $kind:tt $attributes:tt [$made:expr]) => {
        $crate::__store_tests! { $name $sets $kind $attributes [store: $made, another: store] }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __tests {
    (
        [$kind:ty] $attributes:tt [$store:ident: $made:expr, $another:expr]
        $module:ident [$($alone:ident)*] [$($shared:ident)*]
    ) => {
        $($crate::__test! { $attributes $alone {
            let $store = $made;
            let store: &$kind = &$store;
            $crate::testing::$module::$alone(store).await;
        } })*
        $($crate::__test! { $attributes $shared {
            let $store = $made;
            let another = &$another;
            let (store, another): (&$kind, &$kind) = (&$store, another);
            $crate::testing::$module::$shared(store, another).await;
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
