//! The rules of [`RecordStore`](crate::store::RecordStore#contract) for [`Grant`], one function each.

use crate::store::Grant;

crate::testing::record_rules::list_rules! { Grant }
