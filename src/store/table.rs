//! The tables, the parts of their rows, and the columns that operators query.

use crate::clock::Timestamp;
use crate::model::id::ClientId;
use crate::model::subject::Subject;

/// A kind of record. Each table has its own keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Table {
    /// Authorization requests and their codes; keys of 16 bytes.
    Authorizations,
    /// Clients with their applications and logos; keys are client ids of up to 512 bytes.
    Clients,
    /// Grants with their tokens; keys of 16 bytes.
    Grants,
    /// The time of the last purge: one row, with a key of 4 bytes.
    LastPurge,
    /// Pushed authorization requests; keys of 16 bytes.
    PushedRequests,
    /// Identifiers that must not be used twice; keys of 32 bytes.
    Replays,
}

impl Table {
    /// Every table.
    pub const ALL: [Self; 6] =
        [Self::Authorizations, Self::Clients, Self::Grants, Self::LastPurge, Self::PushedRequests, Self::Replays];

    /// Returns the table's name: `authorizations`, `clients`, `grants`, `last_purge`, `pushed_requests` or `replays`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Authorizations => "authorizations",
            Self::Clients => "clients",
            Self::Grants => "grants",
            Self::LastPurge => "last_purge",
            Self::PushedRequests => "pushed_requests",
            Self::Replays => "replays",
        }
    }

    /// Returns the part that [`Engine::list`](crate::store::Engine::list) returns of each row.
    #[must_use]
    pub const fn listed_part(self) -> Part {
        if matches!(self, Self::Clients) { Part::Application } else { Part::Record }
    }

    /// Returns whether a row is on at most one list, which it never leaves: a column of the row then serves
    /// as the index.
    #[must_use]
    pub const fn has_fixed_list(self) -> bool {
        !matches!(self, Self::Clients)
    }
}

/// A part of a row that is read separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Part {
    /// What every row has.
    Record,
    /// The form and the review of a client.
    Application,
    /// The logo in force.
    Logo,
    /// The logo that awaits review.
    ProposedLogo,
}

impl Part {
    /// Every part.
    pub const ALL: [Self; 4] = [Self::Record, Self::Application, Self::Logo, Self::ProposedLogo];

    /// Returns the part's name: `record`, `application`, `logo` or `proposed_logo`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Record => "record",
            Self::Application => "application",
            Self::Logo => "logo",
            Self::ProposedLogo => "proposed_logo",
        }
    }
}

/// Values for additional columns of a row, which operators query. The core never reads them back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Columns {
    /// The client of the row.
    pub client: Option<ClientId>,
    /// The user of the row, or the owner of an application.
    pub subject: Option<Subject>,
    /// When the row was created, or an application was last submitted.
    pub created: Option<Timestamp>,
    /// The state of the row as a word: `held`, `code_issued` or `denied`; `granted` or `revoked`; `pending`,
    /// `approved`, `rejected`, `suspended` or `deleted`; `pushed` or `used`; `purged`.
    pub state: &'static str,
    /// When and why the row ended.
    pub ended: Option<Ended>,
}

/// When and why a row ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ended {
    /// The time.
    pub at: Timestamp,
    /// The reason as a word.
    pub why: &'static str,
}
