//! The rules of [`RecordStore`](crate::store::RecordStore#contract) for [`Grant`], one function each.

crate::testing::record_rules::list_rules! { Grant }
