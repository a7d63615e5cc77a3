//! What the platform and the thin servers share: the purge, the throttle, options about times. Also all that the thin
//! servers have in common, and the routes of each.
//!
//! The thin servers sign every browser in as one user. Client libraries and conformance suites open the link of a
//! client and press a button of the consent page; a sign-in page would be one more form that each must know. Since
//! every visitor is that user, such a server refuses requests for other host names and listens on the loopback only.
//! With the FAPI profile it also listens elsewhere, because the conformance suite often runs in a container.

#[cfg(feature = "actix")]
pub mod actix;
#[cfg(feature = "server")]
mod application;
#[cfg(feature = "axum")]
pub mod axum;
#[cfg(feature = "server")]
mod clients;
#[cfg(feature = "server")]
mod devices;
#[cfg(feature = "server")]
mod options;
pub mod purge;
#[cfg(feature = "server")]
mod server;
#[cfg(any(feature = "actix", feature = "axum"))]
mod service;
pub mod throttle;
pub mod times;
#[cfg(feature = "server")]
pub mod tls;

#[cfg(any(feature = "actix", feature = "axum"))]
pub use self::service::{Alice, Me, pages, protected_resources};
#[cfg(feature = "server")]
pub use self::{
    application::{Application, LOGO},
    clients::from_metadata,
    devices::DeviceClients,
    options::Options,
    server::{authorization_server, builder, random_id, start, with_application},
};

/// The names of this machine that no attacker can let point elsewhere. The thin servers answer under any of them.
pub const LOOPBACK_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];
