//! The rules of [`PushedRequestStore`](crate::store::PushedRequestStore#contract), one function each.

crate::testing::record_rules::record_rules! { PushedRequestStore, PushedRequests }
