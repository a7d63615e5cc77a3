//! An OAuth 2.0 authorization server to embed in a web service that already has users.
//!
//! ```
//! use grantor::wire::{Body, Endpoint, Request};
//! use grantor::{AuthorizationServer, Config, MemoryStore};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), grantor::ConfigError> {
//! let server = AuthorizationServer::new(Config::platform("https://auth.example"), MemoryStore::new())?;
//!
//! // In the handler of `POST /oauth2/token`, with the bytes as they arrived:
//! let form = b"grant_type=authorization_code&code=made-up&client_id=nobody&client_secret=guessed";
//! let request =
//!     Request::new("POST").header("Content-Type", b"application/x-www-form-urlencoded").body(Body::Bytes(form));
//! let response = server.serve(Endpoint::Token, &request).await;
//! assert_eq!(response.status(), 401);
//! # Ok(())
//! # }
//! ```
//!
//! # The flow
//!
//! 1. A developer submits an application, an administrator approves it, the developer makes its secret: [`Registrar`].
//! 2. The user's browser arrives with a request: [`AuthorizationServer::authorize`] checks it.
//! 3. The user, signed in by the embedder, sees a consent page: [`AuthorizationServer::hold`].
//! 4. The user decides and is sent back with a code: [`AuthorizationServer::decide`].
//! 5. The application exchanges the code, refreshes and revokes: [`AuthorizationServer::serve`].
//! 6. It calls resources with its access token: [`AuthorizationServer::authenticate`].
//!
//! # The nouns
//!
//! | noun | what it is |
//! |---|---|
//! | [`Application`] | a registration form and its review |
//! | [`Client`] | what an approved application may do, as every request sees it |
//! | [`Subject`] | the embedder's name for one of its users |
//! | [`PendingAuthorization`] | a valid request that waits for its user |
//! | [`Authorization`](store::Authorization) | a request that is held, then its code |
//! | [`Grant`](store::Grant) | all tokens of one consent, or a part of a client's own tokens |
//! | [`Scope`](scope::Scope), [`ResourceScope`](scope::ResourceScope) | what a token may do, and on which resources |
//! | [`Reason`], [`ErrorCode`] | why a request was refused, exactly, and as the error code of the response |
//!
//! # The layers
//!
//! ```text
//! facade      AuthorizationServer
//! protocol    endpoints → grants          Registrar
//! hooks       EventSink, Throttle, Subjects, RegistrationPolicy, Fetcher → Reason → store traits → records
//! settings    Config, Profile
//! model       Client, Application, redirect URIs
//! vocabulary  messages, secrets, ids, clock, entropy, scopes, wire
//! ```
//!
//! # What it does, and what it does not
//!
//! It does the authorization code grant with PKCE [RFC 6749, RFC 7636], refresh with rotation, grace and detection of
//! reuse [RFC 9700], client credentials [RFC 6749 section 4.4], revocation [RFC 7009], introspection [RFC 7662],
//! metadata [RFC 8414, RFC 9207], the check of bearer tokens [RFC 6750], tokens for one of several APIs [RFC 8707, RFC
//! 9728], registration with review, clients that register themselves [RFC 7591] and manage their registration [RFC
//! 7592], clients with a metadata document [draft-ietf-oauth-client-id-metadata-document], and the FAPI 2.0 Security
//! Profile: clients that authenticate with a key [RFC 7523], pushed authorization requests [RFC 9126], and tokens that
//! are bound to a key [RFC 9449].
//!
//! It does not sign users in, draw pages other than one fixed error page, speak HTTP, or keep a task
//! running: the embedder has sessions, templates, a framework and a timer that calls
//! [`AuthorizationServer::purge_expired`]. There is no implicit grant, no password grant, no OpenID
//! Connect.
//!
//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | `jose` | clients that authenticate with a key, and tokens that are bound to one |
//! | `postgres` | `PostgresStore`: everything in a PostgreSQL database, which servers share |
//! | `redis` | `RedisStore`: everything in a Redis server or cluster, as durable as its settings |
//! | `sqlite` | `SqliteStore`: everything in one durable file |
//! | `testing` | the module `testing`: a manual clock, repeatable randomness, the rules of stores as tests |
//! | `tracing` | `TracingEvents`: one log line per event, with fields; a span per request |
//!
//! # Where to go next
//!
//! [`guide::getting_started`] walks through a whole flow. [`guide::open_clients`] lets clients register themselves,
//! [`guide::protected_resources`] issues tokens for several APIs. [`guide::high_assurance`] explains the FAPI profile:
//! clients that authenticate with a key, and tokens that are bound to one. [`guide::writing_an_adapter`],
//! [`guide::choosing_a_store`], [`guide::writing_a_store`], [`guide::operating`], [`guide::several_servers`] and
//! [`guide::profiles_and_defaults`] cover what their names say. [`guide::design`] gives the reasons,
//! [`guide::security`] covers the threats, [`guide::performance`] explains the measurements, and [`guide::conformance`]
//! shows which test proves which rule. [`guide::contributing`] is for those who change the crate.
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

mod access_token;
mod claim;
mod client;
mod client_auth;
mod clock;
mod codec;
mod config;
mod context;
mod documents;
mod dpop;
mod endpoint;
mod entropy;
mod error;
mod fetch;
mod fetched;
mod grant;
#[cfg(any(doc, doctest))]
pub mod guide;
mod hooks;
mod id;
mod jose;
mod json;
mod key_sets;
pub mod message;
mod newest_time;
mod pkce;
mod policy;
mod protected_resource;
mod purge;
mod record;
mod registrar;
pub mod scope;
mod secret;
mod server;
mod slot;
mod span;
pub mod store;
mod subject;
#[cfg(feature = "testing")]
pub mod testing;
mod text;
mod throttle;
#[cfg(feature = "tracing")]
mod tracing_events;
pub mod wire;

pub use crate::client::application::{
    Application, ApplicationFilter, ApplicationForm, CheckedForm, Field, FieldError, Logo, LogoSlot, Problem,
    RegistrationLimits,
};
pub use crate::client::metadata::{
    ClientMetadata, DocumentError, DocumentUrlError, MetadataError, MoreMetadata, RegistrationBounds,
};
pub use crate::client::redirect_uri::{
    RedirectUri, RedirectUriComparison, RedirectUriError, RedirectUriPolicy, RegisteredRedirectUri,
};
pub use crate::client::{
    ApplicationType, AuthenticationMethod, AuthenticationMethods, Client, ClientBuilder, ClientKeys, ClientOrigin,
    ClientSecretError, ClientState, ClientType, GrantType, GrantTypes, KeyFetchError, OpenClient, Privileges,
    RefreshRotation,
};
pub use crate::clock::{Clock, SystemClock, Timestamp, TimestampError};
pub use crate::codec::DecodeError;
pub use crate::config::documents::MetadataDocuments;
pub use crate::config::error::ConfigError;
pub use crate::config::report::{Finding, SecurityReport};
pub use crate::config::{
    AccessTokenRevocation, AssertionAudience, AuthorizationErrors, BasicReading, BoundTokens, Config, DpopNonces,
    ExchangeRedirectUri, ForeignTokenAnswer, Grace, GraceEnd, KeySets, OpenClients, PkceRequirement, Profile,
    ReuseResponse, StateCharacters, SupersededTokenRevocation, TokenPrefixes,
};
pub use crate::endpoint::decide::{Consent, Decision};
pub use crate::endpoint::pending::{AuthorizationError, PendingAuthorization, RequestedScope};
pub use crate::endpoint::resource::{Authenticated, ResourceError, ResourceServer};
pub use crate::entropy::{Entropy, SystemEntropy};
pub use crate::error::{ErrorCode, Reason};
pub use crate::fetch::{FetchError, FetchErrorKind, FetchRequest, FetchResponse, Fetcher};
pub use crate::grant::client_credentials::MachineToken;
pub use crate::hooks::{
    ApplicationChange, Attempt, AttemptKind, Event, EventSink, Severity, SubjectStatus, Subjects, Throttle,
    ThrottleDecision,
};
pub use crate::id::{AuthorizationId, ClientId, ClientIdError, GrantId, IdError, PushedRequestId};
pub use crate::jose::{JwkError, JwkSet, JwkSetError, JwkThumbprint, JwkThumbprintError, SigningAlgorithm};
pub use crate::pkce::{CodeChallenge, CodeChallengeError, CodeVerifier, CodeVerifierError};
pub use crate::policy::{
    ApproveWithin, DocumentHosts, DocumentRequest, QueueAll, RegistrationDecision, RegistrationPolicy,
    RegistrationRequest,
};
pub use crate::protected_resource::ProtectedResource;
pub use crate::purge::PurgeError;
pub use crate::registrar::{
    Approval, Approved, InitialAccessTokenTerms, MadeInitialAccessToken, Narrowing, Registrar, RegistrarError, Widening,
};
pub use crate::secret::derive::DerivationKey;
pub use crate::secret::nonce::NonceKey;
pub use crate::secret::{
    AccessToken, AuthorizationCode, AuthorizationHandle, ClientSecret, InitialAccessToken, RefreshToken,
    RegistrationAccessToken,
};
pub use crate::server::{AuthorizationServer, Builder};
pub use crate::store::cached::CachedClients;
pub use crate::store::memory::MemoryStore;
#[cfg(feature = "postgres")]
pub use crate::store::postgres::{PostgresError, PostgresOptions, PostgresProblem, PostgresStore};
#[cfg(feature = "redis")]
pub use crate::store::redis::{RedisError, RedisOptions, RedisProblem, RedisStore};
#[cfg(feature = "sqlite")]
pub use crate::store::sqlite::{SqliteError, SqliteOptions, SqliteProblem, SqliteStore};
pub use crate::subject::{Subject, SubjectError};
pub use crate::text::{LookAlikeKey, TextError, TextFault};
pub use crate::throttle::{MemoryThrottle, Rate, ThrottleLimits};
#[cfg(feature = "tracing")]
pub use crate::tracing_events::TracingEvents;
pub use crate::wire::cors::Cors;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
