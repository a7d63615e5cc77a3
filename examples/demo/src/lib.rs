//! What the platform and the thin servers share: the purge, the throttle, options about times. Also all that the thin
//! servers have in common, and the routes of each.

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
