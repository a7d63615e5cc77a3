//! Records as a server would write them, for tests of stores.
//!
//! Every call draws a new id, and unique names and digests, so that tests can share a database. Rows are created now;
//! the test chooses when they may be purged.

mod application;
mod authorization;
mod device_request;
mod grant;
mod hostile;
mod pushed_request;

pub use crate::testing::draw::subject;
pub use application::{application, application_under, approved, initial_token, logo};
pub(super) use application::{
    applications_of_every_kind, changed, huge_application, huge_logo, id_of, in_state, numbered, registered_itself,
    states, under,
};
pub use authorization::{authorization, with_code};
pub(super) use authorization::{authorizations_of_every_kind, huge_authorization};
pub use device_request::{device_request, user_code};
pub(super) use device_request::{device_requests_of_every_kind, huge_device_request};
pub use grant::{grant, refreshed, revoked};
pub(super) use grant::{grants_of_every_kind, huge_grant, revoked_until};
pub(super) use hostile::{long_subject, similar_client_ids, similar_subjects};
pub(super) use pushed_request::{huge_pushed_request, pushed_requests_of_every_kind};
pub use pushed_request::{pushed_request, used, visited};
#[cfg(test)]
mod tests {
    use crate::base::clock::Timestamp;
    use crate::model::application::ApplicationFilter;
    use crate::store::Record;

    #[test]
    fn the_guide_tells_how_large_records_get() {
        let end = Timestamp::from_seconds(4_000_000_000);
        let subject = super::long_subject();
        let application = super::huge_application(&subject);
        let filter = ApplicationFilter::OwnedBy(subject.clone());
        let guide = include_str!("../../guide/writing_a_store.md");
        for (what, bytes) in [
            ("a grant", super::huge_grant(&subject, end).encode().len()),
            ("an authorization", super::huge_authorization(&subject, end).encode().len()),
            ("a pushed request", super::huge_pushed_request(end).encode().len()),
            ("a device request", super::huge_device_request(&subject, end).encode().len()),
            ("an application", application.encode().len()),
            ("of it, the client", application.client.encode().len()),
            ("a logo", super::huge_logo(None).encode().len()),
            ("a subject", subject.as_str().len()),
            ("a client id", application.id().as_str().len()),
            ("the name of a list", filter.key().len()),
        ] {
            let row = guide.lines().find_map(|line| line.strip_prefix(&format!("| {what} | ")));
            let said: String = row.unwrap().chars().filter(char::is_ascii_digit).collect();
            assert_eq!(said, bytes.to_string(), "{what}");
        }
    }
}
