//! The rules of [`TokenStore`](crate::store::TokenStore#contract), one function each.

crate::testing::record_rules::record_rules! { TokenStore, Tokens }
