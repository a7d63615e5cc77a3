//! The settings of refresh tokens, and of tokens that a refresh replaced [RFC 6749 section 6].

use std::time::Duration;

use crate::model::client::RefreshRotation;
use crate::secret::derive::DerivationKey;

/// The settings of refresh tokens, and of tokens that a refresh replaced [RFC 6749 section 6].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RefreshSettings {
    /// Whether a refresh replaces the refresh token [RFC 9700 section 4.14.2]; it does, except in the FAPI profile.
    ///
    /// This is the default for confidential clients. [`Approval::refresh_rotation`](crate::Approval::refresh_rotation)
    /// and [`ClientBuilder::refresh_rotation`](crate::client::ClientBuilder::refresh_rotation) set it for one client. Public
    /// and native clients and those of devices always get a new refresh token, because nothing else protects them against a
    /// stolen one.
    /// Native clients that authenticate only with a key, as all do in the FAPI profile, count as confidential here.
    pub rotation: RefreshRotation,
    /// Keys outside the database, from which the successors of refresh tokens are derived; none.
    ///
    /// Without a key, a copy of the database and one superseded refresh token are enough to derive every later pair, access
    /// tokens included, as long as the row still has the token's link. All servers of one store need the same keys. New
    /// pairs are derived with the first key, and all keys are accepted.
    ///
    /// To replace a key, add the new one after the old one on every server. Then move it to the front on every server.
    /// Remove the old one after twice the longest grace of refresh tokens; with [`devices`](crate::Config::devices) on, not
    /// before two minutes and [`devices.lifetime`](crate::config::DeviceSettings::lifetime) have passed. The first key ever
    /// set is used at once. Until every server has it, a server without it may answer as described below.
    ///
    /// If a record names a key that is missing here, the request is answered with 503 and `Retry-After`, and
    /// [`Event::DerivationKeyMissing`](crate::Event::DerivationKeyMissing) is raised. Nothing is changed.
    ///
    /// The user codes of devices are stored under keyed digests, so that the store does not reveal them. A user code whose key is
    /// missing is unknown.
    pub derivation_keys: Vec<DerivationKey>,
    /// How long an access token stays usable after a refresh replaced it, at most until it expires; 300 s.
    ///
    /// It cannot be less than [`grace`](Self::grace). If it is less than 60 s longer, the
    /// [security report](crate::AuthorizationServer::security_report) says so, except in the platform profile.
    pub access_token_grace: Duration,
    /// How long a refresh token stays usable after a refresh replaced it; 120 s, in the platform profile 300 s.
    pub grace: Duration,
    /// What ends the grace of a refresh token: the clock, in the strict and FAPI profiles also the next refresh.
    pub grace_end: GraceEnd,
}

impl Default for RefreshSettings {
    fn default() -> Self {
        Self {
            rotation: RefreshRotation::Rotate,
            derivation_keys: Vec::new(),
            access_token_grace: Duration::from_secs(300),
            grace: Duration::from_secs(300),
            grace_end: GraceEnd::Clock,
        }
    }
}

/// What ends the grace of a superseded refresh token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GraceEnd {
    /// The clock only.
    Clock,
    /// The clock, or the first refresh with a newer refresh token, whichever comes first.
    NextRefresh,
}
