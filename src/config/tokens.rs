//! The settings of tokens and of the requests that use them: lifetimes, refresh, revocation, DPoP-bound tokens.

use std::time::Duration;

use crate::jose::SigningAlgorithm;
use crate::model::client::RefreshRotation;
use crate::secret::NonceKey;
use crate::secret::derive::DerivationKey;

/// The lifetimes and the prefix of tokens.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TokenSettings {
    /// How long an access token on behalf of a user is valid; 28 800 s, which is 8 hours; in the FAPI profile 3600 s.
    pub access_lifetime: Duration,
    /// How long an access token in the form of a JWT is valid; 300 s [RFC 9068]. 60 to 900 s are accepted. If other
    /// access tokens of the same grant type are valid for less, that time counts.
    ///
    /// An API that verifies JWTs itself accepts a revoked token for that long.
    pub jwt_lifetime: Duration,
    /// How long a refresh token is valid, counted from its issue; 15 552 000 s, which is 180 days.
    pub refresh_lifetime: Duration,
    /// The maximum lifetime of all tokens of a grant, counted from the exchange of its code; no limit.
    pub grant_lifetime: Option<Duration>,
    /// What every code, token and secret of this server begins with, by which scanners and people recognize it;
    /// nothing. At most 16 letters, digits, `-`, `_`, `.` or `~`.
    ///
    /// The kind follows: `at_` for access tokens, `rt_` for refresh tokens, `ac_` for codes, `dc_` for the codes of
    /// devices, `ah_` for the handle in the consent form, `ia_` and `ra_` for initial and registration access tokens.
    pub prefix: String,
}

impl Default for TokenSettings {
    fn default() -> Self {
        Self {
            access_lifetime: Duration::from_secs(28_800),
            jwt_lifetime: Duration::from_secs(300),
            refresh_lifetime: Duration::from_secs(15_552_000),
            grant_lifetime: None,
            prefix: String::new(),
        }
    }
}

/// The settings of the client credentials grant [RFC 6749 section 4.4].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientCredentialsSettings {
    /// Whether clients may get access tokens for themselves, without a user [RFC 6749 section 4.4]; off.
    ///
    /// Each client must also be registered for
    /// [`GrantType::ClientCredentials`](crate::client::GrantType::ClientCredentials), with
    /// [`client_scopes`](crate::ApplicationForm::client_scopes) and
    /// [`client_resources`](crate::ApplicationForm::client_resources).
    pub on: bool,
    /// How long an access token without a user is valid; 900 s. 60 to 3600 s are accepted.
    pub lifetime: Duration,
}

impl Default for ClientCredentialsSettings {
    fn default() -> Self {
        Self { on: false, lifetime: Duration::from_secs(900) }
    }
}

/// The settings of refresh tokens, and of tokens that a refresh replaced [RFC 6749 section 6].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RefreshSettings {
    /// Whether a refresh replaces the refresh token [RFC 9700 section 4.14.2]; it does, except in the FAPI profile.
    ///
    /// This is the default for confidential clients. [`Approval::refresh_rotation`](crate::Approval::refresh_rotation)
    /// and [`ClientBuilder::refresh_rotation`](crate::client::ClientBuilder::refresh_rotation) set it for one client.
    /// Public and native clients and those of devices always get a new refresh token, because nothing else protects
    /// them against a stolen one. Native clients that authenticate only with a key, as all do in the FAPI profile,
    /// count as confidential here.
    pub rotation: RefreshRotation,
    /// Keys outside the database, from which the successors of refresh tokens are derived; none.
    ///
    /// Without a key, a copy of the database and one superseded refresh token are enough to derive every later pair,
    /// access tokens included, as long as the row still has the token's link. All servers of one store need the same
    /// keys. New pairs are derived with the first key, and all keys are accepted.
    ///
    /// To replace a key, add the new one after the old one on every server. Then move it to the front on every server.
    /// Remove the old one after twice the longest grace of refresh tokens; with [`devices`](crate::Config::devices) on,
    /// not before two minutes and [`devices.lifetime`](crate::config::DeviceSettings::lifetime) have passed. The first
    /// key ever set is used at once. Until every server has it, a server without it may answer as described below.
    ///
    /// If a record names a key that is missing here, the request is answered with 503 and `Retry-After`, and
    /// [`Event::DerivationKeyMissing`](crate::Event::DerivationKeyMissing) is raised. Nothing is changed.
    ///
    /// The user codes of devices are stored under keyed digests, so that the store does not reveal them. A user code
    /// whose key is missing is unknown.
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

/// The settings of revocation [RFC 7009].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RevocationSettings {
    /// How long the record of a revoked grant is kept after its revocation, so that support can see when and why it
    /// ended; 0 s.
    ///
    /// The record is kept for at least two hours after its code expires, because a late exchange must not find its
    /// place free. If the store's reads are not settled, it is kept for at least two hours after the revocation, so
    /// that a repeated revocation finds the record even if a fail-over undid the first one.
    pub retention: Duration,
    /// What the revocation of an access token revokes [RFC 7009 section 2.1]; that token only.
    pub access_token: AccessTokenRevocation,
    /// What the revocation of a superseded refresh token after its grace revokes; its grant, in the platform profile
    /// nothing.
    pub superseded_token: SupersededTokenRevocation,
}

impl Default for RevocationSettings {
    fn default() -> Self {
        Self {
            retention: Duration::ZERO,
            access_token: AccessTokenRevocation::TokenOnly,
            superseded_token: SupersededTokenRevocation::Nothing,
        }
    }
}

/// What the revocation of an access token revokes. A token without a user is always revoked alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AccessTokenRevocation {
    /// That token only.
    TokenOnly,
    /// The whole grant.
    WholeGrant,
}

/// What the revocation of a superseded refresh token revokes if the token is past its grace and has not expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SupersededTokenRevocation {
    /// Nothing, as for any invalid token. [`Event::SupersededTokenAtRevocation`](crate::Event) is raised.
    Nothing,
    /// The whole grant, because a client that signs out with an old token means its grant.
    ///
    /// Nothing is revoked if the token was bound to a key and the client proves itself in no other way: a copy of the
    /// token without the key could otherwise sign the user out.
    WholeGrant,
}

/// How much the server keeps for one user or client, and how much it reads.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// How many pushed requests of one client may wait for their users at once; 1000. 1 to 1 000 000 are accepted. A
    /// further push replaces the oldest one that it finds, unless all of them are held for signed-in users; then it is
    /// answered with 429. A push reads at most 32 places.
    ///
    /// A visitor has as long to sign in as this many pushes of the client take. One user holds at most a fifth of
    /// [`consent_requests`](Self::consent_requests) of one client.
    pub pushed_requests: u32,
    /// How many device requests of one client may wait at once [RFC 8628]; 1000. 1 to 1 000 000 are accepted, more than
    /// 1000 only with longer [user codes](crate::Config::devices). A further one replaces the oldest that it finds and
    /// whose code nobody has typed, or else is answered with 429. It reads at most 32 places.
    ///
    /// Set it to the requests of the busiest client in one `devices.lifetime`. With 1000 and 600 s, codes of a client
    /// that gets more than 1.7 requests a second end early.
    pub device_requests: u32,
    /// How many requests may wait for one user's decision at once; 50. A fifth of them may be of one client. A further
    /// request ends the oldest one, whose form then leads to an error page. 1 to 800, which fit on one page of a list,
    /// are accepted, and `usize::MAX` for no limit.
    pub consent_requests: usize,
    /// How many grants of one user and client may be live; 50. At least 1 is accepted. A further exchange revokes the
    /// grants that were refreshed longest ago, with [`TooManyGrants`](crate::store::RevocationReason::TooManyGrants) as
    /// the reason.
    /// `usize::MAX` sets no limit: the server then does not read the user's grants after an exchange.
    pub grants: usize,
    /// How many live access tokens without a user a client may have; 1024. 1 to 4096 are accepted.
    ///
    /// A further request is answered with 429 and `Retry-After`, until the first of the tokens expires.
    pub client_credentials_tokens: u32,
    /// The maximum size of a request body in bytes; 16 384. At least 4096 is accepted, and more than 8192 if clients
    /// sign assertions.
    pub body_bytes: usize,
    /// How many unreviewed clients there may be; 100 000. 10 to 16 777 216 are accepted.
    ///
    /// Half of the places are for clients with a metadata document, half for those that register themselves. In each
    /// half:
    ///
    /// - A fifth is for clients that no user has approved. A further one replaces the oldest that it finds and that
    ///   awaits no decision.
    /// - The rest is for approved clients. A further one replaces the one longest without a live grant.
    ///
    /// If none may be replaced, the answer is 503. One user is the first to approve at most 50 of them: a further one
    /// replaces the one used longest ago that no other user has approved, and is refused if all of them must stay.
    /// Below 500, one user can fill a half.
    pub unreviewed_clients: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            pushed_requests: 1000,
            device_requests: 1000,
            consent_requests: 50,
            grants: 50,
            client_credentials_tokens: 1024,
            body_bytes: 16_384,
            unreviewed_clients: 100_000,
        }
    }
}

impl Limits {
    /// Returns the number of places for unreviewed clients of one origin, approved by a user or not: four tenths and
    /// one tenth of all.
    pub(crate) const fn client_places(&self, is_approved: bool) -> u32 {
        let tenth = self.unreviewed_clients / 10;
        if is_approved { 4 * tenth } else { tenth }
    }
}

/// The settings of DPoP-bound tokens [RFC 9449].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DpopSettings {
    /// Whether access tokens are bound to a key of the client [RFC 9449]: off; in the FAPI profile required, and in the
    /// MCP profile optional if the feature `jose` is enabled.
    ///
    /// Every value except [`DpopBoundTokens::Off`] needs the feature `jose`.
    pub tokens: DpopBoundTokens,
    /// The keys of the nonces that DPoP proofs must contain [RFC 9449 sections 8 and 9]; none: proofs need no nonce.
    /// One to three keys are accepted.
    ///
    /// A nonce is derived from the time and a key, and is not stored. New nonces are made with the first key, and
    /// nonces of all of them are accepted. All servers of one issuer need the same keys.
    pub nonce_keys: Vec<NonceKey>,
}

impl Default for DpopSettings {
    fn default() -> Self {
        Self { tokens: DpopBoundTokens::Off, nonce_keys: Vec::new() }
    }
}

/// Which access tokens are bound to a key of the client. The client proves with DPoP that it has the key [RFC 9449].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DpopBoundTokens {
    /// None: new access tokens are bearer tokens, and the `DPoP` header of token requests is not read. Grants and
    /// tokens that are already bound stay bound, so they cannot be used while this is set.
    Off,
    /// Those of requests with a proof. Clients with
    /// [`requires_dpop_bound_tokens`](field@crate::client::ClientOptions::requires_dpop_bound_tokens) must send one.
    Optional,
    /// All: a token request without a proof is refused.
    Required,
}

/// The maximum size of a DPoP proof in bytes. A proof with an RSA key of 4096 bits has about 2000.
pub(crate) const PROOF_BYTES: usize = 4096;
/// How long a DPoP proof is valid, counted from its `iat`. A proof is made for a single request, which is sent at once
/// [RFC 9449 section 11.1].
pub(crate) const PROOF_LIFETIME: Duration = Duration::from_secs(60);
/// How long a nonce is handed out, in seconds. It is accepted for one more period. The clocks of servers that share a
/// store may differ by a minute. That is at most one period, so each server accepts the new nonces of the others.
pub(crate) const NONCE_PERIOD: u32 = 120;

/// The algorithms that proofs may be signed with.
pub(crate) const PROOF_ALGORITHMS: [SigningAlgorithm; 3] =
    [SigningAlgorithm::Es256, SigningAlgorithm::Ps256, SigningAlgorithm::EdDsa];

/// The names of [`PROOF_ALGORITHMS`], as metadata and challenges list them.
pub(crate) fn proof_algorithm_names() -> Vec<&'static str> {
    PROOF_ALGORITHMS.into_iter().flat_map(SigningAlgorithm::names).copied().collect()
}

impl DpopSettings {
    /// Returns whether DPoP proofs are read.
    pub(crate) const fn reads_proofs(&self) -> bool {
        match self.tokens {
            DpopBoundTokens::Off => false,
            DpopBoundTokens::Optional | DpopBoundTokens::Required => true,
        }
    }
}
