//! An OAuth 2.0 authorization server to embed in a web service that already has users.
//!
//! ```
//! use grantor::wire::{Body, Endpoint, Request};
//! use grantor::{AuthorizationServer, Config, MemoryStore};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), grantor::ConfigError> {
//! let server = AuthorizationServer::new(Config::strict("https://auth.example"), MemoryStore::new())?;
//!
//! // In the handler of `POST /oauth2/token`, with the unchanged body of the request:
//! let form = b"grant_type=authorization_code&code=made-up&client_id=nobody&client_secret=guessed";
//! let request =
//!     Request::new("POST").header("Content-Type", b"application/x-www-form-urlencoded").body(Body::Bytes(form));
//! let response = server.serve(Endpoint::Token, &request).await;
//! assert_eq!(response.status(), 401);
//! # Ok(())
//! # }
//! ```
//!
//! On axum or actix-web, begin with `grantor-axum` or `grantor-actix`: they mount all endpoints and pages in one call.
//!
//! # The flow
//!
//! 1. A client is registered. Your own clients: [`AuthorizationServer::own_client`]. Third-party applications: a
//!    developer submits a form, an administrator approves it, and the developer creates the client secret, all with
//!    [`Registrar`].
//! 2. The user's browser arrives with a request: [`AuthorizationServer::authorize`] checks it.
//! 3. The user, signed in by your service, sees a consent page: [`AuthorizationServer::hold`].
//! 4. The user decides and is sent back with a code: [`AuthorizationServer::decide`].
//! 5. The application exchanges the code, refreshes and revokes: [`AuthorizationServer::serve`].
//! 6. It calls resources with its access token: [`ResourceServer::authenticate`].
//!
//! # The nouns
//!
//! | noun | what it is |
//! |---|---|
//! | [`Application`] | a registration form and its review |
//! | [`Client`] | what an approved application may do, as every request sees it |
//! | [`Subject`] | your service's name for one of its users |
//! | [`PendingAuthorization`] | a checked authorization request, before it is stored for the user's decision |
//! | [`Authorization`](store::Authorization) | an authorization request that waits for the user's decision, and then its code |
//! | [`Grant`](store::Grant) | the tokens that come from one consent. A client's own tokens (client credentials) are spread over up to eight grants |
//! | [`Scope`](scope::Scope), [`ResourceScope`](scope::ResourceScope) | what a token may do, and on which resources |
//! | [`Reason`], [`ErrorCode`](error::ErrorCode) | why a request was refused: the exact reason for your logs, and the error code that the client sees |
//!
//! # The modules
//!
//! The root has the types that the first guides use. All others are in modules named after what they describe:
//! [`application`], [`authorization`], [`client`], [`client_metadata`], [`config`], [`error`], [`fetch`], [`hooks`],
//! [`id`], [`interaction`], [`jose`], [`protected_resource`], [`redirect_uri`], [`registration`], [`resource`],
//! [`scope`], [`secret`], [`server`], [`store`], [`text`], [`wire`], and with its feature `testing`.
//!
//! The folders of the source, from the top down. Each uses only those below it, and nothing uses the last two:
//!
//! ```text
//! interaction    what a user sees: the pages, and the flow between them
//! server         what you call; removal of expired records
//! endpoint       one file for each URL
//! authorization  what a browser does: the request, the consent, the decision
//! registration   applications and their review; clients that register themselves
//! resource       the check of access tokens at resources
//! grant          one file for each grant type; revocation
//! client_auth    one file for each method of client authentication; DPoP proofs
//! claim          changes one record at a time, and finds out after an error whether it did; bounds on their number
//! context        what every request uses: stores, settings, clock, hooks
//! fetch          documents and key sets of clients: caches, shared fetches
//! hooks          what you implement: events, throttle, subjects, policy, the fetcher
//! error          why a request is refused, and how that is reported
//! store          the store traits, and the four stores
//! config         the settings, their ranges, the security report
//! model          what is stored: clients, applications, authorizations, grants, with their encoding
//! wire           requests, responses, parameters, typed messages
//! jose           signed tokens and their keys
//! scope          scopes and resource scopes
//! secret         tokens, codes, digests, PKCE
//! text           the rule for texts that people read
//! base           what all the rest uses: ids, subjects, time, randomness, the encodings of records and JSON
//!
//! testing        a manual clock, repeatable randomness, the rules of stores as tests
//! guide          the guides
//! ```
//!
//! # What it does, and what it does not
//!
//! It does the authorization code grant with PKCE [RFC 6749, RFC 7636], refresh with rotation, grace and detection of
//! reuse [RFC 9700], client credentials [RFC 6749 section 4.4], devices without a browser [RFC
//! 8628], revocation [RFC 7009], introspection [RFC 7662],
//! metadata [RFC 8414, RFC 9207], the check of bearer tokens [RFC 6750], tokens for one of several APIs [RFC 8707, RFC
//! 9728], JWT access tokens [RFC 9068] with published keys [RFC 7517], registration with review, clients that register
//! themselves [RFC 7591] and manage their registration [RFC 7592], clients with a metadata document
//! [draft-ietf-oauth-client-id-metadata-document], and the FAPI 2.0 Security Profile: clients that authenticate with a
//! key [RFC 7523], pushed authorization requests [RFC 9126], and tokens that are bound to a key [RFC 9449].
//!
//! It does not sign users in, render pages (except one plain error page) or speak HTTP. Your service has the users and
//! the sessions, and an adapter speaks HTTP. It starts no background task, except those of a database store: the
//! adapters have one that calls [`AuthorizationServer::purge_expired`]. The pages are your own, or those of the package
//! `grantor-pages`: see [`interaction`]. There is no implicit grant and no password grant. As an option
//! ([`Config::identity`]), it tells clients who signed in: ID tokens, userinfo and discovery of OpenID Connect.
//!
//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | `jose` | clients that authenticate with a key, tokens that are bound to one, and JWT access tokens |
//! | `metrics` | figures of requests, stores, the purge and the throttle, for the recorder of the crate `metrics` |
//! | `postgres` | `PostgresStore`: keeps everything in a PostgreSQL database, which several servers can share |
//! | `redis` | `RedisStore`: keeps everything in a Redis server or cluster; how durable it is depends on the settings of Redis |
//! | `sqlite` | `SqliteStore`: everything in one durable file |
//! | `testing` | the module `testing`: a manual clock, repeatable randomness, the rules of stores as tests |
//! | `tracing` | `TracingEvents`: one log line per event, with fields; a span per request, check and call of a store |
//!
//! # Where to go next
//!
//! [`guide`] has the guides, in the order in which a service needs them. [`guide::getting_started`] walks through a
//! whole flow, [`guide::sign_in`] shows the sign-in with your sessions, and [`guide::mcp`] has an MCP server.
//! [`guide::questions`] answers single questions, and [`guide::behind_a_proxy`] has configurations of nginx and Caddy.
//! Before you run a service, read [`guide::security`] and [`guide::operating`].
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
#![deny(
    missing_docs,
    clippy::allow_attributes,
    clippy::as_conversions,
    clippy::await_holding_lock,
    clippy::dbg_macro,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::future_not_send,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::self_named_module_files,
    clippy::todo,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm
)]

pub mod authorization;
mod base;
mod claim;
mod client_auth;
pub mod config;
mod context;
mod endpoint;
pub mod error;
pub mod fetch;
mod grant;
#[cfg(any(doc, doctest))]
pub mod guide;
pub mod hooks;
pub mod interaction;
pub mod jose;
mod model;
pub mod registration;
pub mod resource;
pub mod scope;
pub mod secret;
pub mod server;
pub mod store;
#[cfg(feature = "testing")]
pub mod testing;
pub mod text;
pub mod wire;

pub use crate::authorization::decide::{Consent, Decision};
pub use crate::authorization::pending::{AuthorizationError, PendingAuthorization};
pub use crate::base::clock::{Clock, SystemClock, Timestamp};
pub use crate::base::id::{ClientId, Subject};
#[cfg(feature = "metrics")]
pub use crate::base::measure::describe_metrics;
pub use crate::config::Config;
pub use crate::config::rule::ConfigError;
pub use crate::error::Reason;
pub use crate::hooks::event::{Event, EventSink};
pub use crate::hooks::throttle::MemoryThrottle;
#[cfg(feature = "tracing")]
pub use crate::hooks::tracing_events::TracingEvents;
pub use crate::model::application::Application;
pub use crate::model::application::form::ApplicationForm;
pub use crate::model::client::Client;
pub use crate::model::grant_data::GrantData;
pub use crate::model::{application, client, client_metadata, protected_resource, redirect_uri};
pub use crate::registration::Registrar;
pub use crate::registration::approval::Approval;
pub use crate::registration::error::RegistrarError;
pub use crate::resource::ResourceServer;
pub use crate::resource::authenticated::Authenticated;
pub use crate::resource::error::ResourceError;
pub use crate::secret::ClientSecret;
pub use crate::server::AuthorizationServer;
pub use crate::store::cached::CachedClients;
pub use crate::store::memory::MemoryStore;
#[cfg(feature = "postgres")]
pub use crate::store::postgres::PostgresStore;
#[cfg(feature = "redis")]
pub use crate::store::redis::RedisStore;
#[cfg(feature = "sqlite")]
pub use crate::store::sqlite::SqliteStore;

/// The ids of records. Those of authorizations, of the grants of users and of logos begin with the time at which they
/// were created, in steps of 64 seconds.
pub mod id {
    pub use crate::base::id::{AuthorizationId, DeviceRequestId, GrantId, LogoId, PushedRequestId};
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
