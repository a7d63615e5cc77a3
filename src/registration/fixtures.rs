//! Sample registrations for tests.

use crate::base::clock::Timestamp;
use crate::model::client::{ClientOrigin, SelfRegistration};
use crate::scope::ScopeSet;

pub(super) const fn days(number: u32) -> Timestamp {
    Timestamp::from_seconds(number * 86_400)
}

/// A registration of day 100; times are in days.
pub(super) fn open(used_until: Option<u32>, end: Option<u32>, is_reviewed: bool) -> SelfRegistration {
    SelfRegistration {
        origin: ClientOrigin::DynamicRegistration,
        registered: days(100),
        is_reviewed,
        default_scopes: ScopeSet::empty(),
        resources: None,
        end: end.map(days),
        used_until: used_until.map(days),
        gone_at: None,
        has_foreign_links: false,
        looks_like_another: false,
        document: None,
    }
}
