//! The additional part of the application of a client that registered itself.

use std::collections::BTreeSet;
use std::fmt;

use crate::base::field::fields;
use crate::base::id::{AuthorizationId, Subject};
use crate::model::client::SelfRegistration;
use crate::model::client_metadata::{MoreMetadata, RegistrationBounds};
use crate::scope::ScopeSet;
use crate::secret::Digest;

/// The part of an application whose client registered itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OpenApplication {
    /// Its place among the unreviewed clients; `None` once it is reviewed.
    pub(crate) place: Option<ClientPlace>,
    /// The user who was the first to approve it, while it is unreviewed.
    pub(crate) approver: Option<Subject>,
    /// Whether another user approved it as well.
    pub(crate) is_shared: bool,
    /// Consent requests for it, the oldest first. While one of them waits for its user, the client keeps its place.
    pub(crate) asked: Vec<Asked>,
    pub(crate) more: MoreMetadata,
    /// Set while the client may manage its registration.
    pub(crate) management: Option<Box<Management>>,
    /// The members of a change that awaits review, except those of its form. They are in force from the approval on.
    pub(crate) proposed: Option<Box<ProposedUpdate>>,
    /// The digest of the metadata document that was last rejected as a change. It is not proposed again.
    pub(crate) rejected: Option<Digest>,
}

/// The place of an unreviewed client: one of the numbers of its room ([`Limits::unreviewed_clients`]).
///
/// [`Limits::unreviewed_clients`]: crate::config::Limits::unreviewed_clients
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientPlace {
    pub(crate) room: ClientRoom,
    pub(crate) number: u32,
}

/// Which unreviewed clients share a bound: those of one origin, with or without the approval of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ClientRoom {
    pub(crate) has_document: bool,
    pub(crate) is_approved: bool,
}

/// A consent request for an unreviewed client, and the user who is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) request: AuthorizationId,
    pub(crate) subject: Subject,
}

/// Consent requests that a client names at most, and those of one user.
const ASKED: usize = 8;
const ASKED_OF_ONE_USER: usize = 2;

impl OpenApplication {
    /// Adds a consent request. If there are too many, the oldest of its user goes, or the oldest of all.
    pub(crate) fn note_request(&mut self, asked: &Asked) {
        let of_user = |other: &Asked| other.subject == asked.subject;
        if self.asked.iter().filter(|other| of_user(other)).count() >= ASKED_OF_ONE_USER {
            let oldest = self.asked.iter().position(of_user);
            oldest.map(|oldest| self.asked.remove(oldest));
        } else if self.asked.len() >= ASKED {
            self.asked.remove(0);
        }
        self.asked.push(asked.clone());
    }
}

impl fmt::Display for ClientPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = if self.room.has_document { "document" } else { "registration" };
        let state = if self.room.is_approved { "approved" } else { "new" };
        write!(f, "{origin}:{state}:{}", self.number)
    }
}

/// The part of a client that may manage its registration [RFC 7592].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Management {
    /// The digest of its registration access token.
    pub(crate) token: Digest,
    /// The bounds of its registration, which no update extends.
    pub(crate) bounds: RegistrationBounds,
    /// Whether a person has approved or reduced the client: every update then awaits review, even if the policy
    /// approves it.
    pub(crate) updates_await_review: bool,
}

/// The members of an update, or of a changed metadata document, that are not part of an application's form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProposedUpdate {
    pub(crate) default_scopes: ScopeSet,
    pub(crate) resources: Option<BTreeSet<Box<str>>>,
    pub(crate) has_foreign_links: bool,
    pub(crate) looks_like_another: bool,
    pub(crate) more: MoreMetadata,
    /// The digest of the changed document; `None` for an update.
    pub(crate) document: Option<Digest>,
}

impl ProposedUpdate {
    /// Returns the data of the client with this change.
    pub(crate) fn applied_to(&self, open: &SelfRegistration) -> SelfRegistration {
        let Self { default_scopes, resources, has_foreign_links, looks_like_another, more: _, document } = self;
        SelfRegistration {
            default_scopes: default_scopes.clone(),
            resources: resources.clone(),
            has_foreign_links: *has_foreign_links,
            looks_like_another: *looks_like_another,
            document: document.or(open.document),
            ..open.clone()
        }
    }
}

/// The tags of the optional fields: the part for management, a proposed change, and a rejected document.
const MANAGEMENT: u8 = b'M';
const PROPOSED: u8 = b'P';
const REJECTED: u8 = b'R';

fields! {
    OpenApplication {
        place, approver, is_shared, asked, more,
    } tagged {
        MANAGEMENT => management,
        PROPOSED => proposed,
        REJECTED => rejected,
    }
}
fields! { Asked { request, subject } }
fields! { ClientPlace { room, number } }
fields! { ClientRoom { has_document, is_approved } }
fields! { Management { token, bounds, updates_await_review } }
fields! { ProposedUpdate { default_scopes, resources, has_foreign_links, looks_like_another, more, document } }
