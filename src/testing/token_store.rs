//! The rules of [`TokenStore`](crate::store::TokenStore#contract), one function each.

crate::testing::record_rules::list_rules! { TokenStore, Tokens }
