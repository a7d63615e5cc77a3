//! The settings of pushed authorization requests [RFC 9126].

use std::time::Duration;

/// The settings of pushed authorization requests [RFC 9126].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PushedRequestSettings {
    /// Whether clients may push their authorization requests, or must [RFC 9126]; off, in the FAPI profile required.
    ///
    /// Unless it is [`PushedRequests::Off`], the metadata has `pushed_authorization_request_endpoint`. Where it is
    /// [`PushedRequests::Required`], a request that was not pushed is refused [RFC 9126 section 5], and a pushed one must
    /// name its `redirect_uri`.
    pub mode: PushedRequests,
    /// How long a `request_uri` is valid; 300 s. 30 to 599 s are accepted.
    ///
    /// A browser session that presents it in this time may present it again within
    /// [`authorization.hold_lifetime`](crate::Config::authorization), so that the user has more time to sign in.
    pub lifetime: Duration,
}

impl Default for PushedRequestSettings {
    fn default() -> Self {
        Self { mode: PushedRequests::Off, lifetime: Duration::from_secs(300) }
    }
}

/// Whether clients may push their authorization requests, or must [RFC 9126].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PushedRequests {
    /// There is no endpoint for them.
    Off,
    /// Clients may push their requests.
    Optional,
    /// All clients must push their requests [RFC 9126 section 5].
    Required,
}

impl PushedRequestSettings {
    /// Returns whether clients may push their requests.
    pub(crate) fn are_taken(&self) -> bool {
        self.mode != PushedRequests::Off
    }

    /// Returns whether all clients must push their requests.
    pub(crate) fn are_required(&self) -> bool {
        self.mode == PushedRequests::Required
    }
}
