//! The list of all kinds of records with their tables, and what a store needs to know about each.

use std::borrow::Cow;
use std::fmt;
use std::hash::Hash;

use crate::base::clock::Timestamp;
use crate::base::codec::DecodeError;
use crate::base::id::{ClientId, Subject};

/// A kind of record, as a [`RecordStore`](crate::store::RecordStore) sees it: bytes under a key, with a version.
///
/// The server defines all kinds: [`Application`](crate::Application),
/// [`ApplicationLogo`](crate::store::ApplicationLogo), [`Authorization`](crate::store::Authorization),
/// [`Grant`](crate::store::Grant), [`InitialToken`](crate::store::InitialToken),
/// [`LastPurge`](crate::store::LastPurge), [`PushedRequest`](crate::store::PushedRequest),
/// [`DeviceRequest`](crate::store::DeviceRequest), [`UserCodeRecord`](crate::store::UserCodeRecord) and
/// [`Replay`](crate::store::Replay). A store implements [`RecordStore`](crate::store::RecordStore) once for `R:
/// Record`.
pub trait Record: Sealed + Clone + fmt::Debug + PartialEq + Send + Sync + 'static {
    /// The primary key. Keys are compared, and lists are sorted, by their bytes.
    type Key: AsRef<[u8]> + Clone + fmt::Debug + Hash + Ord + Send + Sync + 'static;

    /// The table for this kind, whose keys are its own.
    const TABLE: Table;

    /// Returns the primary key.
    fn key(&self) -> &Self::Key;

    /// Returns the version, which the next write of the record must name: a random number, which every write draws
    /// anew.
    fn version(&self) -> u32;

    /// Sets the version for the next write. Only the server and the kit call it.
    fn set_version(&mut self, version: u32);

    /// Returns the names of the lists that the record is on, each at most 261 bytes. [`Table::lists`] says how many
    /// there may be.
    fn lists(&self) -> Vec<Cow<'_, str>> {
        Vec::new()
    }

    /// Returns the time from which a purge may remove the record; `None` if it stays.
    fn purge_after(&self) -> Option<Timestamp>;

    /// Returns whether the record is due much sooner than its previous version was, or is due while that one never was.
    /// A store then moves the row in its purge index.
    fn is_due_sooner(&self) -> bool {
        false
    }

    /// Returns the values of the columns that operators query.
    fn columns(&self) -> Columns;

    /// Encodes the record as bytes. They contain digests, no secrets.
    fn encode(&self) -> Vec<u8>;

    /// Decodes a record that [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] if the bytes are not such a record, or were written by an unknown release.
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError>;
}

/// The key and the version of a kind that keeps them in the fields `id` and `version`.
macro_rules! key_and_version {
    ($key:ty) => {
        type Key = $key;

        fn key(&self) -> &$key {
            &self.id
        }

        fn version(&self) -> u32 {
            self.version
        }

        fn set_version(&mut self, version: u32) {
            self.version = version;
        }
    };
}

pub(crate) use key_and_version;

/// The encoding of a kind whose stored form is its [`Codec`](crate::base::field::Codec), and nothing else.
macro_rules! encoded_as {
    ($kind:expr) => {
        fn encode(&self) -> Vec<u8> {
            $crate::base::field::encode($kind, self)
        }

        fn decode(bytes: &[u8]) -> Result<Self, $crate::base::codec::DecodeError> {
            $crate::base::field::decode($kind, bytes)
        }
    };
}

pub(crate) use encoded_as;

/// Marks the kinds of this crate.
#[expect(unnameable_types, reason = "it keeps other crates from adding kinds")]
pub trait Sealed {}

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
    /// `approved`, `rejected`, `suspended` or `deleted`; `named` or `unnamed`; `pushed` or `used`; `shown`, `typed`,
    /// `approved` or `denied`; `usable` or `used_up`; `purged`.
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

/// Calls a macro with every kind of record: its table, the table's name, how many lists a row is on, the field of
/// [`Stores`](crate::store::Stores) that has its store, and its type.
macro_rules! kinds {
    ($then:ident) => {
        $then! {
            /// Applications with their clients; keys are client ids of up to 512 bytes.
            Applications = "applications", Many, applications: Application;
            /// Logos of applications; keys of 16 bytes.
            ApplicationLogos = "application_logos", None, application_logos: ApplicationLogo;
            /// Authorization requests and their codes; keys of 16 bytes.
            Authorizations = "authorizations", One, codes: Authorization;
            /// Requests of devices that wait for a user; keys of 16 bytes.
            DeviceRequests = "device_requests", None, device_requests: DeviceRequest;
            /// Grants with their tokens; keys of 16 bytes.
            Grants = "grants", One, tokens: Grant;
            /// Initial access tokens; keys of 22 bytes.
            InitialTokens = "initial_tokens", None, initial_tokens: InitialToken;
            /// The time of the last purge: one row, with a key of 4 bytes.
            LastPurge = "last_purge", None, last_purge: LastPurge;
            /// Pushed authorization requests; keys of 16 bytes.
            PushedRequests = "pushed_requests", None, pushed_requests: PushedRequest;
            /// Identifiers that must not be used twice; keys of 32 bytes.
            Replays = "replays", None, replays: Replay;
            /// The codes that users type for devices; keys of 32 bytes.
            UserCodes = "user_codes", None, user_codes: UserCodeRecord;
        }
    };
}

pub(crate) use kinds;

/// Defines [`Table`] with a variant for every kind of record.
macro_rules! define_table {
    ($($(#[$docs:meta])* $table:ident = $name:literal, $lists:ident, $field:ident: $record:ident;)*) => {
        /// A kind of record. Each table has its own keys.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Table {
            $($(#[$docs])* $table,)*
        }

        impl Table {
            /// Every table.
            pub const ALL: [Self; [$(Self::$table),*].len()] = [$(Self::$table),*];

            /// Returns the table's name, such as `grants`.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$table => $name,)*
                }
            }

            /// Returns how many lists the rows of the table are on.
            #[must_use]
            pub const fn lists(self) -> Lists {
                match self {
                    $(Self::$table => Lists::$lists,)*
                }
            }
        }
    };
}

kinds!(define_table);

/// How many lists the rows of a table are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a row is on no list, on one, or on several")]
pub enum Lists {
    /// None.
    None,
    /// At most one, which a row never leaves. A column of the row can serve as the index.
    One,
    /// Several, and each write of a row may change them.
    Many,
}
