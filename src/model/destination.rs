//! Where the answer to an authorization request goes.

use crate::base::clock::Timestamp;
use crate::base::field::{fields, variants};
use crate::base::id::DeviceRequestId;
use crate::model::redirect_uri::RedirectUri;
use crate::secret::Digest;

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
