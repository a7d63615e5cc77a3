//! The list of all kinds of records.

/// Calls a macro with every kind of record: its table, the table's name, how many lists a row is on, and the field of
/// [`Stores`](crate::store::Stores) that has its store.
macro_rules! kinds {
    ($then:ident) => {
        $then! {
            /// Applications with their clients; keys are client ids of up to 512 bytes.
            Applications = "applications", Many, applications: Application;
            /// Logos of applications; keys of 16 bytes.
            ApplicationLogos = "application_logos", None, application_logos: ApplicationLogo;
            /// Authorization requests and their codes; keys of 16 bytes.
            Authorizations = "authorizations", One, codes: Authorization;
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
        }
    };
}

pub(crate) use kinds;
