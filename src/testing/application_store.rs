//! The rules of [`RecordStore`](crate::store::RecordStore#contract) for [`Application`], which is on several lists, one
//! function each.

use crate::model::application::Application;
use crate::testing::rules::moves;

crate::testing::record_rules::list_rules! { Application }

/// Rule 1: client ids that differ in case or in blanks are different ids.
pub async fn similar_client_ids_are_distinguished(store: &impl RecordStore<Application>) {
    moves::of_similar_ids_are_distinguished(store).await;
}

/// Rule 6: after every move, an application is listed as it is under its own filters and no other.
pub async fn lists_follow_every_move(store: &impl RecordStore<Application>) {
    moves::are_followed(store).await;
}
