//! The same work over HTTP: a server on one core, a load of keep-alive connections on another.
//!
//! Two jobs. *Refresh*: each connection refreshes its own grants in turn, each time with the tokens of the last answer.
//! *Authenticate*: each connection calls a resource behind the check of a token.

mod actix_servers;
mod axum_servers;
mod bare;
mod connection;
mod examples;
mod greeting;
mod load;
mod machine;
mod oidc_provider;
mod oxide_auth;
mod report;
mod rounds;
mod server;

pub use self::report::report;
pub use self::rounds::{Effort, Figures};
pub use self::server::{Options, serve};

/// The requests of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Job {
    Refresh,
    Authenticate,
}

impl Job {
    pub(crate) const ALL: [Self; 2] = [Self::Refresh, Self::Authenticate];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Refresh => "refresh",
            Self::Authenticate => "authenticate",
        }
    }
}

/// The server that answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    GrantorAxum,
    BareAxum,
    OxideAuthAxum,
    GrantorActix,
    BareActix,
    OxideAuthActix,
    OidcProvider,
}

impl Server {
    /// grantor first: the bare servers answer with its bytes.
    pub(crate) const ALL: [Self; 7] = [
        Self::GrantorAxum,
        Self::GrantorActix,
        Self::BareAxum,
        Self::BareActix,
        Self::OxideAuthAxum,
        Self::OxideAuthActix,
        Self::OidcProvider,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::GrantorAxum => "grantor, axum",
            Self::BareAxum => "bare axum",
            Self::OxideAuthAxum => "oxide-auth-axum",
            Self::GrantorActix => "grantor, actix-web",
            Self::BareActix => "bare actix-web",
            Self::OxideAuthActix => "oxide-auth-actix",
            Self::OidcProvider => "node oidc-provider",
        }
    }

    /// Whether each refresh returns new tokens. A bare server always sends the same answer.
    pub(crate) const fn rotates(self) -> bool {
        !matches!(self, Self::BareAxum | Self::BareActix)
    }
}

/// Grants that the load goes through; each connection has its share.
pub(crate) const CHAINS: usize = 4096;
pub(crate) const TOKEN_PATH: &str = "/oauth2/token";
pub(crate) const RESOURCE_PATH: &str = "/api/me";
/// The scope that the resource asks for.
pub(crate) const RESOURCE_SCOPE: &str = "account-profile:r";
