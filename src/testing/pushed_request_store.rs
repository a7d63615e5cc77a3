//! The rules of [`RecordStore`](crate::store::RecordStore#contract) for [`PushedRequest`], one function each.

use crate::store::PushedRequest;

crate::testing::record_rules::record_rules! { PushedRequest }
