//! What a user agrees to.

use std::num::NonZeroU32;

use crate::base::clock::Timestamp;
use crate::base::field::fields;
use crate::model::client::{CONSENT_TERMS_BYTES, Client};
use crate::model::grant_data::GrantData;
use crate::model::protected_resource::Audience;
use crate::model::sign_in::SignIn;
use crate::scope::{OPENID, ResourceScope, ScopeSet};

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
    /// Few have any of it, so it is in a box.
    pub(crate) extra: Option<Box<Extra>>,
}

/// What few consents have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extra {
    /// The consent that may stand in for a later one.
    pub(crate) remembered: Option<RememberedConsent>,
    /// What your service keeps with the grant: none before the decision.
    pub(crate) data: Option<GrantData>,
    /// The highest [revision](crate::Config::revision) of the settings under which the row was written.
    pub(crate) revision: Option<NonZeroU32>,
    /// How the user had signed in when the page was shown; only of requests of OpenID Connect.
    pub(crate) sign_in: Option<SignIn>,
    /// What the client wants to find in its ID token. No grant has it: only the exchange of the code returns it.
    pub(crate) nonce: Option<Box<str>>,
}

impl Extra {
    /// Boxes what there is; `None` if there is nothing.
    pub(crate) fn boxed(self) -> Option<Box<Self>> {
        (self != Self::default()).then(|| Box::new(self))
    }
}

impl Terms {
    /// Nothing: of a request that was denied, or of a grant that was revoked.
    pub(crate) fn none() -> Self {
        Self { scopes: ScopeSet::empty(), resources: ResourceScope::none(), audience: Audience::UNSET, extra: None }
    }

    pub(crate) fn remembered(&self) -> Option<&RememberedConsent> {
        self.extra.as_deref()?.remembered.as_ref()
    }

    pub(crate) fn data(&self) -> Option<&GrantData> {
        self.extra.as_deref()?.data.as_ref()
    }

    pub(crate) fn with_data(self, data: Option<&GrantData>) -> Self {
        self.with(|extra| extra.data = data.cloned())
    }

    /// Returns how the user had signed in; `None` unless the request was one of OpenID Connect, and your service said
    /// so.
    pub(crate) fn sign_in(&self) -> Option<&SignIn> {
        self.extra.as_deref()?.sign_in.as_ref()
    }

    /// Returns what the client wants to find in its ID token.
    pub(crate) fn nonce(&self) -> Option<&str> {
        self.extra.as_deref()?.nonce.as_deref()
    }

    /// Returns whether the client asks who has signed in.
    ///
    /// > OpenID Connect requests MUST contain the openid scope value.
    ///
    /// [OpenID Connect Core section 3.1.2.1]
    pub(crate) fn are_openid(&self) -> bool {
        self.scopes.contains_name(OPENID)
    }

    /// Returns these terms with a change of what few consents have.
    pub(crate) fn with(self, change: impl FnOnce(&mut Extra)) -> Self {
        let mut extra = self.extra.map(|extra| *extra).unwrap_or_default();
        change(&mut extra);
        Self { extra: extra.boxed(), ..self }
    }

    /// Returns the highest revision of the settings under which the row was written; 0 if they had none.
    pub(crate) fn revision(&self) -> u32 {
        self.extra.as_deref().and_then(|extra| extra.revision).map_or(0, NonZeroU32::get)
    }

    /// Returns the same for a row that is written under settings of that revision.
    pub(crate) fn written_under(self, revision: u32) -> Self {
        if revision <= self.revision() {
            return self;
        }
        self.with(|extra| extra.revision = NonZeroU32::new(revision))
    }

    /// Returns what the client may still have of it; `None` if no scope or no resource is left.
    pub(crate) fn left_for(&self, client: &Client) -> Option<Self> {
        let scopes = self.scopes.intersection(&client.form.scopes);
        let resources = self.resources.reduced_to(&client.form.resource_scope);
        let (audience, extra) = (self.audience.clone(), self.extra.clone());
        (!scopes.is_empty() && !resources.is_empty()).then_some(Self { scopes, resources, audience, extra })
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

// Authorizations and grants end with their terms, so the tags of the record follow these directly: all are one series.
//
// | tag | terms      | authorization | grant        |
// |-----|------------|---------------|--------------|
// | 1   | `audience` |               |              |
// | 2   | `extra`    |               |              |
// | 3   |            | `key`         | `bound_from` |
// | 4   |            | `pushed`      |              |
// | 5   |            | `answer`      |              |
// | 6   | `revision` |               |              |
// | 7   | `sign_in`  |               |              |
// | 8   | `nonce`    |               |              |
fields! { Terms { scopes, resources } tagged { 1 => audience, 2 => extra } }
fields! { Extra { remembered, data } tagged { 6 => revision, 7 => sign_in, 8 => nonce } }
fields! { RememberedConsent { asked, terms } }
