//! What a user agrees to.

use crate::base::clock::Timestamp;
use crate::base::field::fields;
use crate::model::client::{CONSENT_TERMS_BYTES, Client};
use crate::model::protected_resource::Audience;
use crate::scope::{ResourceScope, ScopeSet};

/// What is agreed: one value from the request to the code, the grant and its tokens.
///
/// The key of `dpop_jkt` is not part of it. It binds the code, and each token has a key of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    pub(crate) scopes: ScopeSet,
    /// Before the decision, the resources that the client requested.
    pub(crate) resources: ResourceScope,
    /// The protected resources that the client requested and the user was shown.
    pub(crate) audience: Audience,
    /// The consent that may stand in for a later one. Few have one, so it is in a box.
    pub(crate) remembered: Option<Box<RememberedConsent>>,
}

impl Terms {
    /// Nothing: of a request that was denied, or of a grant that was revoked.
    pub(crate) fn none() -> Self {
        Self {
            scopes: ScopeSet::empty(),
            resources: ResourceScope::none(),
            audience: Audience::UNSET,
            remembered: None,
        }
    }

    /// Returns what the client may still have of it; `None` if no scope or no resource is left.
    pub(crate) fn left_for(&self, client: &Client) -> Option<Self> {
        let scopes = self.scopes.intersection(&client.form.scopes);
        let resources = self.resources.reduced_to(&client.form.resource_scope);
        let (audience, remembered) = (self.audience.clone(), self.remembered.clone());
        (!scopes.is_empty() && !resources.is_empty()).then_some(Self { scopes, resources, audience, remembered })
    }

    /// Returns whether a consent to this includes one to the other.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        other.scopes.is_subset_of(&self.scopes)
            && self.resources.covers(&other.resources)
            && self.audience.covers(&other.audience)
    }
}

/// A consent that may stand in for a later one, kept with codes and grants of clients whose users are asked once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RememberedConsent {
    /// When the user was last shown a page.
    pub(crate) asked: Timestamp,
    /// The digest of the registration and of the redirect URI.
    pub(crate) terms: [u8; CONSENT_TERMS_BYTES],
}

// The records that end with terms go on with the tags: the next free one is 5.
fields! { Terms { scopes, resources } tagged { 1 => audience, 2 => remembered } }
fields! { RememberedConsent { asked, terms } }
