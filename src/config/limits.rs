//! How much the server keeps for one user or client, and how much it reads.

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
