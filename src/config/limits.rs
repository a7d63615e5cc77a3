//! How much the server keeps for one user or client, and how much it reads.

/// How much the server keeps for one user or client, and how much it reads.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// How many pushed requests of one client may wait for their users at once; 1000. 1 to 1000 are accepted. A further
    /// push is answered with 429. This can also happen shortly before the limit is reached, because a push reads at
    /// most 32 places.
    ///
    /// Anyone can push for a public client. Such a push replaces the oldest request that it finds instead, unless all
    /// of them are held for signed-in users.
    pub pushed_requests: usize,
    /// How many requests may wait for one user's decision at once; 50. A further request ends the oldest one, whose
    /// form then leads to an error page. 1 to 800, which fit on one page of a list, are accepted, and `usize::MAX` for
    /// no limit.
    pub consent_requests: usize,
    /// How many requests of one client may wait for one user's decision at once; 10. 1 to 800 and `usize::MAX` are
    /// accepted. If neither this nor [`limits.consent_requests`](crate::Config::limits) is limited, no list is read.
    pub consent_requests_per_client: usize,
    /// How many live grants one user may have given to one client; 50. A further exchange revokes the grants that were
    /// refreshed longest ago, with [`TooManyGrants`](crate::store::RevocationReason::TooManyGrants) as the reason.
    /// `usize::MAX` sets no limit; then no list is read.
    pub grants: usize,
    /// How many live access tokens without a user a client may have; 1024. 1 to 4096 are accepted.
    ///
    /// A further request is answered with 429 and `Retry-After`, until the first of the tokens expires.
    pub client_credentials_tokens: usize,
    /// The maximum size of a request body in bytes; 16 384.
    pub body_bytes: usize,
    /// How many unreviewed clients there may be; 100 000. 1 to 16 777 216 are accepted.
    ///
    /// A registration tries eight places. If none of them is free, it removes the oldest client there that no user ever
    /// approved. If all eight clients are in use, it is answered with 503. Both can happen before the limit is reached.
    pub unreviewed_clients: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            pushed_requests: 1000,
            consent_requests: 50,
            consent_requests_per_client: 10,
            grants: 50,
            client_credentials_tokens: 1024,
            body_bytes: 16_384,
            unreviewed_clients: 100_000,
        }
    }
}
