//! What is reviewed: the registration of an application, its decision, its logo.

mod encoding;
mod field;
mod form;
mod logo;
mod text;

pub use field::{Field, FieldError, Problem};
pub use form::{ApplicationForm, CheckedForm, RegistrationLimits};
pub use logo::{Logo, LogoSlot};
pub(crate) use text::plain_text;

use crate::client::ClientState;
use crate::clock::Timestamp;
use crate::id::ClientId;
use crate::subject::Subject;

/// Characters that the reason of a refusal may have at most.
pub(crate) const REASON_CHARACTERS: usize = 1000;

/// An application as its applicant and its reviewers see it.
///
/// Its [`Client`](crate::Client) is what requests see; both carry the same version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Application {
    pub(crate) id: ClientId,
    pub(crate) version: u32,
    pub(crate) state: ClientState,
    pub(crate) applicant: Subject,
    pub(crate) submitted: Timestamp,
    pub(crate) decided: Option<Timestamp>,
    pub(crate) form: CheckedForm,
    pub(crate) proposed: Option<CheckedForm>,
    pub(crate) rejection: Option<Box<str>>,
}

impl Application {
    /// Returns the id of the application's client [RFC 6749 section 2.2].
    #[must_use]
    pub const fn id(&self) -> &ClientId {
        &self.id
    }

    /// Returns the number of this state of the record, which grows by one with every change.
    #[must_use]
    pub const fn version(&self) -> u32 {
        self.version
    }

    /// Returns where the application stands.
    #[must_use]
    pub const fn state(&self) -> ClientState {
        self.state
    }

    /// Returns who submitted the application; nobody else's changes should be let through.
    #[must_use]
    pub const fn applicant(&self) -> &Subject {
        &self.applicant
    }

    /// Returns when the applicant last submitted a form.
    #[must_use]
    pub const fn submitted(&self) -> Timestamp {
        self.submitted
    }

    /// Returns when a form was last approved or rejected.
    #[must_use]
    pub const fn decided(&self) -> Option<Timestamp> {
        self.decided
    }

    /// Returns the form in force, or the form as submitted if none was ever approved.
    ///
    /// In force it holds the scopes that were approved, which may be fewer than those asked for.
    #[must_use]
    pub const fn form(&self) -> &CheckedForm {
        &self.form
    }

    /// Returns the form that is to replace the one in force, if a change awaits review.
    #[must_use]
    pub const fn proposed(&self) -> Option<&CheckedForm> {
        self.proposed.as_ref()
    }

    /// Returns why a form was last refused, at most 1000 characters; an approval removes it.
    #[must_use]
    pub fn rejection(&self) -> Option<&str> {
        self.rejection.as_deref()
    }

    /// Returns whether a reviewer has something to decide: a submission or a change.
    #[must_use]
    pub fn awaits_review(&self) -> bool {
        self.state == ClientState::Pending || self.proposed.is_some()
    }

    /// Returns everything that the application is listed under.
    pub fn filters(&self) -> impl Iterator<Item = ApplicationFilter> {
        let listed = [
            Some(ApplicationFilter::All),
            self.awaits_review().then_some(ApplicationFilter::AwaitingReview),
            Some(ApplicationFilter::InState(self.state)),
            Some(ApplicationFilter::OwnedBy(self.applicant.clone())),
        ];
        listed.into_iter().flatten()
    }
}

/// What applications are listed under.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ApplicationFilter {
    /// All of them.
    All,
    /// Those that a reviewer has to decide: new ones, and approved ones with a proposed change.
    AwaitingReview,
    /// Those in one state.
    InState(ClientState),
    /// Those of one applicant.
    OwnedBy(Subject),
}

impl ApplicationFilter {
    /// Returns a text that names the filter and no other, the same in every release: what an index of a
    /// store is kept under. At most 261 octets.
    ///
    /// # Examples
    ///
    /// ```
    /// use grantor::{ApplicationFilter, ClientState, Subject};
    ///
    /// # fn main() -> Result<(), grantor::SubjectError> {
    /// assert_eq!(ApplicationFilter::InState(ClientState::Approved).key(), "state:approved");
    /// assert_eq!(ApplicationFilter::OwnedBy(Subject::new("alice")?).key(), "owner:alice");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::All => "all".to_owned(),
            Self::AwaitingReview => "awaiting-review".to_owned(),
            Self::InState(ClientState::Pending) => "state:pending".to_owned(),
            Self::InState(ClientState::Approved) => "state:approved".to_owned(),
            Self::InState(ClientState::Rejected) => "state:rejected".to_owned(),
            Self::InState(ClientState::Suspended) => "state:suspended".to_owned(),
            Self::OwnedBy(applicant) => format!("owner:{}", applicant.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::redirect_uri::RedirectUriPolicy;
    use crate::scope::{ResourceScope, ScopeCatalog};

    pub(super) fn application(state: ClientState) -> Application {
        let mut form = ApplicationForm::new("Demo", "https://demo.example");
        form.redirect_uris = vec!["https://demo.example/cb".to_owned(), "com.example.demo:/cb".to_owned()];
        form.scopes = "repo-code:rw account-email".to_owned();
        form.resource_scope = Some(ResourceScope::Public);
        let form = form
            .check(&RegistrationLimits::default(), &ScopeCatalog::platform(), &RedirectUriPolicy::default())
            .unwrap();
        Application {
            id: ClientId::new("demo").unwrap(),
            version: 1,
            state,
            applicant: Subject::new("alice").unwrap(),
            submitted: Timestamp::from_seconds(1),
            decided: None,
            form,
            proposed: None,
            rejection: None,
        }
    }

    #[test]
    fn every_filter_has_a_key_of_its_own() {
        use ApplicationFilter::{All, AwaitingReview, InState, OwnedBy};
        use ClientState::{Approved, Pending, Rejected, Suspended};
        let owned = |name: &str| OwnedBy(Subject::new(name).unwrap());
        let states = [Pending, Approved, Rejected, Suspended].map(InState);
        let others = [All, AwaitingReview, owned("all"), owned("state:pending"), owned(&"x".repeat(255))];
        let keys: Vec<_> = states.iter().chain(&others).map(ApplicationFilter::key).collect();
        let distinct: std::collections::BTreeSet<_> = keys.iter().collect();
        assert_eq!(distinct.len(), keys.len());
        assert!(keys.iter().all(|key| key.len() <= 262));
    }

    #[test]
    fn is_listed_under_what_it_is() {
        use ApplicationFilter::{All, AwaitingReview, InState, OwnedBy};
        let alice = || OwnedBy(Subject::new("alice").unwrap());
        for state in [ClientState::Pending, ClientState::Approved, ClientState::Rejected, ClientState::Suspended] {
            let mut application = application(state);
            let mut expected = vec![All, InState(state), alice()];
            if state == ClientState::Pending {
                expected.insert(1, AwaitingReview);
            }
            assert_eq!(application.filters().collect::<Vec<_>>(), expected);
            application.proposed = Some(application.form.clone());
            let expected = vec![All, AwaitingReview, InState(state), alice()];
            assert_eq!(application.filters().collect::<Vec<_>>(), expected);
        }
    }
}
