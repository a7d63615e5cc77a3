//! The numbers of the description, and those in which the profiles differ.

use crate::properties::model::Client;

/// How long a page may wait for its user.
pub(crate) const PAGE_LIFE: u32 = 30 * 60;
/// "Usually 10 minutes."
pub(crate) const CODE_LIFE: u32 = 10 * 60;
/// "Valid for 8 hours."
pub(crate) const ACCESS_LIFE: u32 = 8 * 60 * 60;
/// "Valid for 180 days."
pub(crate) const REFRESH_LIFE: u32 = 180 * 24 * 60 * 60;
/// Expired records are kept for an hour, so that a replay is recognized for that long.
pub(crate) const KEPT: u32 = 60 * 60;
/// Two hours after a code's end, no exchange of it can arrive any more.
pub(crate) const PLACE_KEPT: u32 = 2 * 60 * 60;
/// How long the same answer gets the same response.
pub(crate) const SAME_ANSWER: u32 = 60;
/// Pages of one client that a user may have open, where so many are set.
pub(crate) const HELD: usize = 10;
/// What a clock that is further ahead issued is not valid before that time.
pub(crate) const SKEW: u32 = 60;
/// A token that expired within this time may be valid by the clock of another server.
pub(crate) const CLOCK_JUMP: u32 = 24 * 60 * 60;
/// What a clock that is further ahead by no more than this issued may be tried again later.
pub(crate) const SOON: u32 = 15 * 60;
/// Pairs in grace at once, and access tokens beside one refresh token, or beside the newest pair.
pub(crate) const MANY: usize = 64;

/// One column of the table of profiles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) access_grace: u32,
    confidential_grace: u32,
    public_grace: u32,
    /// A refresh ends the refresh grace of earlier pairs.
    pub(crate) cuts_grace: bool,
    /// A superseded refresh token that is revoked ends its family.
    pub(crate) superseded_token_ends_family: bool,
    /// Clients with a secret keep their refresh token.
    pub(crate) keeps: bool,
    pub(crate) everybody_needs_pkce: bool,
    pub(crate) redirect_status: u16,
}

impl Rules {
    pub(crate) const PLATFORM: Self = Self {
        access_grace: 300,
        confidential_grace: 300,
        public_grace: 300,
        cuts_grace: false,
        superseded_token_ends_family: false,
        keeps: false,
        everybody_needs_pkce: false,
        redirect_status: 302,
    };
    pub(crate) const STRICT: Self = Self {
        access_grace: 300,
        confidential_grace: 120,
        public_grace: 120,
        cuts_grace: true,
        superseded_token_ends_family: true,
        keeps: false,
        everybody_needs_pkce: true,
        redirect_status: 303,
    };
    pub(crate) const MCP: Self = Self {
        access_grace: 300,
        confidential_grace: 120,
        public_grace: 120,
        cuts_grace: false,
        superseded_token_ends_family: true,
        keeps: false,
        everybody_needs_pkce: true,
        redirect_status: 302,
    };

    /// The described service, whose confidential clients keep their refresh token.
    pub(crate) const KEEPING: Self = Self { keeps: true, ..Self::PLATFORM };

    pub(crate) fn refresh_grace(&self, client: &Client) -> u32 {
        if client.is_public { self.public_grace } else { self.confidential_grace }
    }
}
