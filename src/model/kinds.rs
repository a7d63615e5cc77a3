//! The list of all kinds of records, and their tables.

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
