//! The rules of [`CodeStore`](crate::store::CodeStore#contract), one function each.

crate::testing::record_rules::list_rules! { CodeStore, Codes }
