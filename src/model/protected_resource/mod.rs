//! Protected resources: the APIs that tokens are for, in the settings and in records [RFC 8707].
//!
//! A protected resource is an API. The [`ResourceScope`](crate::scope::ResourceScope) of a token is a separate limit:
//! which of the user's resources it reaches there.

mod audience;
mod identifier;
mod settings;
mod table;

pub(crate) use audience::Audience;
pub(crate) use identifier::{Identifier, origin_of};
pub(crate) use settings::OFFLINE_ACCESS;
pub use settings::{AccessTokenFormat, ProtectedResource};
pub(crate) use table::{Entry, Named, ResourceTable, Target, TargetError};
