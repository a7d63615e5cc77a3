//! Applications: their registration, review and logo.

mod encoding;
mod field;
pub(crate) mod form;
pub(crate) mod logo;
mod open;
mod text;

pub use field::{Field, FieldError, Problem};
pub(crate) use form::ApplicationForm;
pub use logo::{Logo, LogoSlot};
pub use open::ClientPlace;
pub(crate) use open::{Asked, ClientRoom, Management, OpenApplication, ProposedUpdate};
pub use text::LookAlikeKey;
pub(crate) use text::plain_text;

pub use crate::model::client::form::RegistrationLimits;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::base::id::{ClientId, LogoId, Subject};
use crate::model::client::{CheckedForm, Client, ClientState, SelfRegistration};
use crate::model::client_metadata::{DocumentUrl, MoreMetadata};

/// The most characters of the reason for a rejection.
pub(crate) const REASON_CHARACTERS: usize = 1000;

/// An application as its owner and its reviewers see it, with the [`Client`] that requests use. Both are one record.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Application {
    pub(crate) client: Arc<Client>,
    /// The user who submitted the application, or to whom it was [transferred](crate::Registrar::transfer). `None` for
    /// a client that [`Registrar::ensure_client`](crate::Registrar::ensure_client) wrote, for one that registered
    /// itself, until it is transferred, and after a deletion.
    pub owner: Option<Subject>,
    /// When a form was last submitted; for a first-party client, when it was first written; for a client that
    /// registered itself, when it registered or last changed.
    pub submitted: Timestamp,
    /// When a form was last approved or rejected by a person; `None` if only a policy decided.
    pub decided: Option<Timestamp>,
    /// The form that is to replace the one in force, if a change awaits review.
    pub proposed: Option<CheckedForm>,
    /// Why a form was last rejected, at most 1000 characters; an approval removes it, a new submission keeps it.
    pub rejection: Option<String>,
    /// The time until which the id of a deleted application is not assigned again: the latest end that a token of the
    /// application could have, plus an hour. `None` for any other application.
    pub reserved_until: Option<Timestamp>,
    /// The logo that belongs to the form.
    pub(crate) logo: Option<LogoId>,
    /// The logo that belongs to the proposed form, if it has a new one.
    pub(crate) proposed_logo: Option<LogoId>,
    /// Set for a client that registered itself.
    pub(crate) open: Option<Box<OpenApplication>>,
}

impl Application {
    /// Creates an application without an owner.
    pub(crate) const fn new(client: Arc<Client>, submitted: Timestamp) -> Self {
        Self {
            client,
            owner: None,
            submitted,
            decided: None,
            proposed: None,
            rejection: None,
            reserved_until: None,
            logo: None,
            proposed_logo: None,
            open: None,
        }
    }

    /// Returns the client, which requests use [RFC 6749 section 2].
    #[must_use]
    pub const fn client(&self) -> &Arc<Client> {
        &self.client
    }

    pub(crate) fn client_mut(&mut self) -> &mut Client {
        Arc::make_mut(&mut self.client)
    }

    /// Returns the id of the application's client [RFC 6749 section 2.2].
    #[must_use]
    pub fn id(&self) -> &ClientId {
        self.client.id()
    }

    /// Returns the version of the record: a random number, which every write draws anew.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.client.version()
    }

    /// Returns the state of the application.
    #[must_use]
    pub fn state(&self) -> ClientState {
        self.client.state()
    }

    /// Returns the form in force, or the form as submitted if none was ever approved.
    ///
    /// The form in force has the scopes that were approved, which may be fewer than those asked for.
    #[must_use]
    pub fn form(&self) -> &CheckedForm {
        &self.client.form
    }

    /// Returns whether the client is suspended and its id is the URL of its metadata document. If its record were
    /// removed, it could return as a new client.
    pub(crate) fn is_suspended_document(&self) -> bool {
        self.state() == ClientState::Suspended && self.id().as_str().starts_with(DocumentUrl::START)
    }

    /// Returns whether the client registered itself and no person approved it yet [RFC 7591 section 5].
    #[must_use]
    pub fn is_unreviewed(&self) -> bool {
        self.place().is_some()
    }

    /// Returns the further metadata of a client that registered itself [RFC 7591 section 2]; `None` for any other.
    #[must_use]
    pub fn more_metadata(&self) -> Option<&MoreMetadata> {
        self.open.as_ref().map(|open| &open.more)
    }

    /// Returns the part of a client that registered itself with the change under review: other
    /// [`default_scopes`](SelfRegistration::default_scopes) and [`resources`](SelfRegistration::resources), and what is
    /// noted about its links and its name. `None` if no change awaits review, or if the owner submitted it.
    ///
    /// A reviewer must see it beside [`proposed`](Self::proposed). The approval sets the other fields itself.
    #[must_use]
    pub fn proposed_registration(&self) -> Option<SelfRegistration> {
        Some(self.proposed_update()?.applied_to(self.client.open()?))
    }

    /// Returns the further metadata that the client is to have once the change under review is approved; `None` as
    /// [`proposed_registration`](Self::proposed_registration).
    #[must_use]
    pub fn proposed_more_metadata(&self) -> Option<&MoreMetadata> {
        self.proposed_update().map(|update| &update.more)
    }

    pub(crate) fn proposed_update(&self) -> Option<&ProposedUpdate> {
        self.open.as_ref().and_then(|open| open.proposed.as_deref())
    }

    pub(crate) fn management(&self) -> Option<&Management> {
        self.open.as_ref().and_then(|open| open.management.as_deref())
    }

    pub(crate) fn place(&self) -> Option<ClientPlace> {
        self.open.as_ref().and_then(|open| open.place)
    }

    /// Drops a change that awaits review.
    pub(crate) fn drop_proposed(&mut self) {
        (self.proposed, self.proposed_logo) = (None, None);
        if let Some(open) = &mut self.open {
            open.proposed = None;
        }
    }

    /// Returns the user who was the first to approve the client, while that is unreviewed.
    pub(crate) fn approver(&self) -> Option<&Subject> {
        self.open.as_ref().and_then(|open| open.approver.as_ref())
    }

    /// Returns whether your service describes the client itself.
    pub(crate) const fn is_first_party(&self) -> bool {
        self.owner.is_none() && self.open.is_none()
    }

    /// Returns whether a reviewer has something to decide: a submission or a change.
    #[must_use]
    pub fn awaits_review(&self) -> bool {
        self.state() == ClientState::Pending || self.proposed.is_some()
    }

    /// Returns the name that users see, or are to see once the change under review is approved.
    pub(crate) fn newest_name(&self) -> &str {
        &self.proposed.as_ref().unwrap_or_else(|| self.form()).name
    }

    /// Returns the look-alike keys of every name that the application has or proposes, each once; none if no user will
    /// see it.
    fn look_alike_keys(&self) -> impl Iterator<Item = LookAlikeKey> {
        let is_seen = match self.state() {
            // Unreviewed clients can have any name, and would hide those that a reviewer must compare with.
            ClientState::Pending | ClientState::Approved | ClientState::Suspended => !self.is_unreviewed(),
            ClientState::Rejected | ClientState::Deleted => false,
        };
        let forms = [Some(self.form()), self.proposed.as_ref()].into_iter().flatten().filter(|_| is_seen);
        let keys = forms.flat_map(|form| LookAlikeKey::of(&form.name));
        keys.collect::<BTreeSet<_>>().into_iter()
    }

    /// Returns the logos that the application names.
    pub(crate) fn logos(&self) -> impl Iterator<Item = LogoId> {
        self.logo.into_iter().chain(self.proposed_logo)
    }

    /// Returns all filters that match the application. A deleted one matches none.
    pub fn filters(&self) -> impl Iterator<Item = ApplicationFilter> {
        let listed = [
            Some(ApplicationFilter::All),
            self.awaits_review().then_some(ApplicationFilter::AwaitingReview),
            Some(ApplicationFilter::InState(self.state())),
            self.owner.clone().map(ApplicationFilter::OwnedBy),
            self.place().map(ApplicationFilter::Place),
            self.approver().cloned().map(ApplicationFilter::FirstApprovedBy),
        ];
        let alike = std::iter::once_with(|| self.look_alike_keys()).flatten();
        let filters = listed.into_iter().flatten().chain(alike.map(ApplicationFilter::LooksLike));
        filters.filter(|_| self.state() != ClientState::Deleted)
    }
}

/// A filter for lists of applications.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ApplicationFilter {
    /// All of them.
    All,
    /// Those that await a reviewer's decision: new ones, and approved ones with a proposed change.
    AwaitingReview,
    /// Those in one state; deleted ones are not listed.
    InState(ClientState),
    /// Those of one owner.
    OwnedBy(Subject),
    /// Those whose name, in force or proposed, has this key; without rejected ones, and without unreviewed clients that
    /// registered themselves.
    LooksLike(LookAlikeKey),
    /// Those of unreviewed clients that registered themselves and have this place: one or a few.
    Place(ClientPlace),
    /// Those of unreviewed clients that this user was the first to approve.
    FirstApprovedBy(Subject),
}

impl ApplicationFilter {
    /// Returns a text that identifies the filter, the same in every release. A store keeps an index under it. It has at
    /// most 261 bytes.
    ///
    /// # Examples
    ///
    /// ```
    /// use grantor::Subject;
    /// use grantor::application::ApplicationFilter;
    /// use grantor::client::ClientState;
    ///
    /// # fn main() -> Result<(), grantor::error::ValueError> {
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
            Self::InState(ClientState::Deleted) => "state:deleted".to_owned(),
            Self::OwnedBy(owner) => format!("owner:{}", owner.as_str()),
            Self::LooksLike(key) => format!("name:{key}"),
            Self::Place(place) => format!("place:{place}"),
            Self::FirstApprovedBy(subject) => format!("user:{}", subject.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::client::ClientOrigin;
    use crate::model::record::Record;
    use crate::model::redirect_uri::RedirectUriPolicy;
    use crate::scope::{ResourceScope, ScopeCatalog, ScopeSet};

    pub(crate) fn application(state: ClientState) -> Application {
        let mut form = ApplicationForm::new("Demo", "https://demo.example");
        form.redirect_uris = vec!["https://demo.example/cb".to_owned(), "com.example.demo:/cb".to_owned()];
        form.scopes = "repo-code:rw account-email".to_owned();
        form.resource_scope = Some(ResourceScope::Public);
        let form = form
            .check(&RegistrationLimits::default(), &ScopeCatalog::platform(), &RedirectUriPolicy::default())
            .unwrap();
        let client = Client { state, form, ..Client::blank(ClientId::new("demo").unwrap()) };
        let owner = Some(Subject::new("alice").unwrap());
        Application { owner, ..Application::new(Arc::new(client), Timestamp::from_seconds(1)) }
    }

    #[test]
    fn every_filter_has_a_key_of_its_own() {
        use ApplicationFilter::{All, AwaitingReview, FirstApprovedBy, InState, LooksLike, OwnedBy, Place};
        use ClientState::{Approved, Deleted, Pending, Rejected, Suspended};
        let owned = |name: &str| OwnedBy(Subject::new(name).unwrap());
        let states = [Pending, Approved, Rejected, Suspended, Deleted].map(InState);
        let others = [All, AwaitingReview, owned("all"), owned("state:pending"), owned(&"x".repeat(255))];
        let rooms = [(false, false), (false, true), (true, false), (true, true)];
        let rooms = rooms.map(|(has_document, is_approved)| ClientRoom { has_document, is_approved });
        let places = rooms.into_iter().flat_map(|room| [0, u32::MAX].map(|number| Place(ClientPlace { room, number })));
        let users = ["all", &"x".repeat(255)].map(|user| FirstApprovedBy(Subject::new(user).unwrap()));
        let others = others.into_iter().chain(places).chain(users).chain([owned("place:0")]).collect::<Vec<_>>();
        let names: Vec<_> = ["Demo", "Other"].into_iter().flat_map(LookAlikeKey::of).map(LooksLike).collect();
        let keys: Vec<_> = states.iter().chain(&others).chain(&names).map(ApplicationFilter::key).collect();
        let distinct: BTreeSet<_> = keys.iter().collect();
        assert_eq!(distinct.len(), keys.len());
        assert!(keys.iter().all(|key| key.len() <= 262));
    }

    #[test]
    fn is_listed_under_what_it_is() {
        use ApplicationFilter::{All, AwaitingReview, InState, LooksLike, OwnedBy};
        let alice = || OwnedBy(Subject::new("alice").unwrap());
        let named = |name: &str| LookAlikeKey::of(name).map(LooksLike).collect::<Vec<_>>();
        for state in [ClientState::Pending, ClientState::Approved, ClientState::Rejected, ClientState::Suspended] {
            let mut application = application(state);
            let mut expected = vec![All, InState(state), alice()];
            if state == ClientState::Pending {
                expected.insert(1, AwaitingReview);
            }
            let is_seen = state != ClientState::Rejected;
            expected.extend(named("Demo").into_iter().filter(|_| is_seen));
            assert_eq!(application.filters().collect::<Vec<_>>(), expected);
            application.proposed = Some(application.form().clone());
            let expected = [vec![All, AwaitingReview, InState(state), alice()], named("Demo")].concat();
            let expected: Vec<_> = expected.into_iter().filter(|own| is_seen || !named("Demo").contains(own)).collect();
            assert_eq!(application.filters().collect::<Vec<_>>(), expected);
            application.proposed.as_mut().unwrap().name = "Other".into();
            let filters: Vec<_> = application.filters().collect();
            for filter in [named("Demo"), named("Other")].concat() {
                assert_eq!(filters.contains(&filter), is_seen);
            }
            application.owner = None;
            assert!(!application.filters().any(|filter| filter == alice()));
        }
        assert_eq!(application(ClientState::Deleted).filters().count(), 0);
    }

    #[test]
    fn a_client_that_registered_itself_is_listed_by_its_place_until_it_is_reviewed() {
        use ApplicationFilter::{All, AwaitingReview, FirstApprovedBy, InState, Place};
        let room = ClientRoom { has_document: false, is_approved: true };
        let place = ClientPlace { room, number: 7 };
        let bob = || Subject::new("bob").unwrap();
        for state in [ClientState::Pending, ClientState::Approved] {
            let in_place = OpenApplication { place: Some(place), approver: Some(bob()), ..OpenApplication::default() };
            let open = Some(Box::new(in_place));
            let mut application = Application { owner: None, open, ..application(state) };
            assert!(application.is_unreviewed() && !application.is_first_party());
            let mut expected = vec![All, InState(state), Place(place), FirstApprovedBy(bob())];
            if state == ClientState::Pending {
                expected.insert(1, AwaitingReview);
            }
            assert_eq!(application.filters().collect::<Vec<_>>(), expected);
            application.open = Some(Box::default());
            assert!(!application.is_unreviewed() && !application.is_first_party());
            expected.retain(|filter| !matches!(filter, Place(_) | FirstApprovedBy(_)));
            let filters: Vec<_> = application.filters().collect();
            assert_eq!(filters.get(..expected.len()), Some(&*expected));
            assert!(filters.len() > expected.len(), "its name is one to compare with");
        }
    }

    #[test]
    fn what_is_not_used_may_be_purged() {
        let at = Timestamp::from_seconds;
        for (reserved_until, gone_at, expected) in [
            (None, None, None),
            (Some(at(7)), None, Some(at(7))),
            (None, Some(Some(at(8))), Some(at(8))),
            (None, Some(None), None),
        ] {
            let mut application = Application { reserved_until, ..application(ClientState::Approved) };
            application.client_mut().open = gone_at.map(|gone_at| {
                Arc::new(SelfRegistration {
                    origin: ClientOrigin::DynamicRegistration,
                    registered: at(1),
                    is_reviewed: false,
                    default_scopes: ScopeSet::empty(),
                    resources: None,
                    end: None,
                    used_until: None,
                    gone_at,
                    has_foreign_links: false,
                    looks_like_another: false,
                    document: None,
                })
            });
            assert_eq!(application.purge_after(), expected);
        }
    }
}
