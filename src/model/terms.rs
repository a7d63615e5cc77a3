//! What a user agrees to, and where the answer goes.

use std::num::NonZeroU32;

use crate::base::clock::Timestamp;
use crate::base::field::{fields, variants};
use crate::base::id::DeviceRequestId;
use crate::model::client::{CONSENT_TERMS_BYTES, Client};
use crate::model::grant_data::GrantData;
use crate::model::protected_resource::Audience;
use crate::model::redirect_uri::RedirectUri;
use crate::scope::{ResourceScope, ScopeSet};
use crate::secret::Digest;

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Extra {
    /// The consent that may stand in for a later one.
    remembered: Option<RememberedConsent>,
    /// What your service keeps with the grant: none before the decision.
    data: Option<GrantData>,
    /// The [revision](crate::Config::revision) of the settings under which it was asked for.
    revision: Option<NonZeroU32>,
}

impl Extra {
    pub(crate) fn new(
        remembered: Option<RememberedConsent>,
        data: Option<GrantData>,
        revision: u32,
    ) -> Option<Box<Self>> {
        let extra = Self { remembered, data, revision: NonZeroU32::new(revision) };
        let has_any = extra.remembered.is_some() || extra.data.is_some() || extra.revision.is_some();
        has_any.then(|| Box::new(extra))
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
        Self { extra: Extra::new(self.remembered().copied(), data.cloned(), self.revision()), ..self }
    }

    /// Returns the revision of the settings under which it was asked for; 0 if they had none.
    pub(crate) fn revision(&self) -> u32 {
        self.extra.as_deref().and_then(|extra| extra.revision).map_or(0, NonZeroU32::get)
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

// The records that end with terms go on with the tags: the next free one is 7.
fields! { Terms { scopes, resources } tagged { 1 => audience, 2 => extra } }
fields! { Extra { remembered, data } tagged { 6 => revision } }
fields! { RememberedConsent { asked, terms } }

/// Where the answer to an authorization request goes.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Destination {
    /// The user's browser takes it to the client [RFC 6749 section 3.1.2].
    Browser(Redirection),
    /// A device polls for it [RFC 8628 section 3.4].
    Device(DeviceFrom),
}

/// A validated redirect URI, and what the client wants to get back there.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Redirection {
    pub(crate) redirect_uri: RedirectUri,
    /// Whether the request named the redirect URI. If not, the registered one is used.
    pub(crate) is_named: bool,
    pub(crate) state: Option<Box<[u8]>>,
}

/// The device request that an authorization belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeviceFrom {
    pub(crate) id: DeviceRequestId,
    pub(crate) secret: Digest,
    /// When both codes expire.
    pub(crate) end: Timestamp,
    /// Whether the code came in a link, so that the user must say that the device shows it.
    pub(crate) in_link: bool,
}

impl Destination {
    pub(crate) const fn browser(&self) -> Option<&Redirection> {
        match self {
            Self::Browser(redirection) => Some(redirection),
            Self::Device(_) => None,
        }
    }

    pub(crate) const fn device(&self) -> Option<&DeviceFrom> {
        match self {
            Self::Device(device) => Some(device),
            Self::Browser(_) => None,
        }
    }

    /// Returns what is stored of a request that ended without an answer. The `state` is left out: no response needs it.
    pub(crate) fn ended(&self) -> Self {
        match self {
            Self::Browser(Redirection { redirect_uri, is_named, .. }) => {
                Self::Browser(Redirection { redirect_uri: redirect_uri.clone(), is_named: *is_named, state: None })
            }
            Self::Device(device) => Self::Device(*device),
        }
    }
}

variants! { Destination { 0 => Browser(redirection), 1 => Device(device) } }
fields! { Redirection { redirect_uri, is_named, state } }
fields! { DeviceFrom { id, secret, end, in_link } }
