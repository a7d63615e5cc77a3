//! The rules of [`RecordStore`](crate::store::RecordStore#contract) for [`Authorization`], one function each.

use crate::store::Authorization;

crate::testing::record_rules::list_rules! { Authorization }
