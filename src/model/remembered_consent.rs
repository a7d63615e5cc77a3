//! What a later request needs to know of an earlier consent.

use crate::base::clock::Timestamp;
use crate::base::field::fields;

/// Bytes of the digest of what a consent was given for.
pub(crate) const CONSENT_TERMS_BYTES: usize = 16;

/// A consent that may stand in for a later one, kept with codes and grants of clients whose users are asked once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RememberedConsent {
    /// When the user was last shown a page.
    pub(crate) asked: Timestamp,
    /// The digest of the registration and of the redirect URI.
    pub(crate) terms: [u8; CONSENT_TERMS_BYTES],
}

fields! { RememberedConsent { asked, terms } }
