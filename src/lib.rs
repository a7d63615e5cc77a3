//! TEMP
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

mod client;
mod clock;
mod codec;
mod config;
mod context;
mod endpoint;
mod entropy;
mod error;
mod grant;
mod hooks;
mod id;
pub mod message;
mod pkce;
mod registrar;
pub mod scope;
mod secret;
mod server;
pub mod store;
mod subject;
#[cfg(feature = "testing")]
pub mod testing;
pub mod wire;

pub use crate::client::application::{
    Application, ApplicationFilter, ApplicationForm, CheckedForm, Field, FieldError, Logo, LogoSlot, Problem,
    RegistrationLimits,
};
pub use crate::client::redirect_uri::{
    RedirectUri, RedirectUriComparison, RedirectUriError, RedirectUriPolicy, RegisteredRedirectUri,
};
pub use crate::client::{
    ApplicationType, Client, ClientAuthentication, ClientBuilder, ClientSecretError, ClientState, ClientType,
    GrantTypes,
};
pub use crate::clock::{Clock, SystemClock, Timestamp, TimestampError};
pub use crate::codec::DecodeError;
pub use crate::config::check::ConfigError;
pub use crate::config::report::{Finding, SecurityReport};
pub use crate::config::{
    AccessTokenRevocation, AuthorizationErrors, BasicReading, Config, ExchangeRedirectUri, ForeignTokenAnswer, Grace,
    GraceEnd, PkceRequirement, Profile, ReuseResponse, StateCharacters, TokenPrefixes,
};
pub use crate::endpoint::decide::{Consent, Decision};
pub use crate::endpoint::pending::{AuthorizationError, PendingAuthorization, RequestedScope};
pub use crate::endpoint::resource::{Authenticated, ResourceError};
pub use crate::entropy::{Entropy, SystemEntropy};
pub use crate::error::{ErrorCode, Reason};
pub use crate::hooks::{
    ApplicationChange, Attempt, Event, EventSink, SubjectStatus, Subjects, Throttle, ThrottleDecision,
};
pub use crate::id::{AuthorizationId, ClientId, ClientIdError, GrantId, IdError};
pub use crate::pkce::{CodeChallenge, CodeChallengeError, CodeVerifier, CodeVerifierError};
pub use crate::registrar::{Approval, Approved, Registrar, RegistrarError};
pub use crate::secret::{AccessToken, AuthorizationCode, AuthorizationHandle, ClientSecret, RefreshToken};
pub use crate::server::{AuthorizationServer, Builder};
pub use crate::store::memory::MemoryStore;
pub use crate::subject::{Subject, SubjectError};
