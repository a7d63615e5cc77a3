//! Protected resources: which API a token is for, as the settings list them and as records keep them [RFC 8707].
//!
//! A protected resource is an API. The [`ResourceScope`](crate::scope::ResourceScope) of a token is another bound: which of
//! a user's own resources it reaches there.

mod audience;
mod identifier;
mod settings;
mod table;

pub(crate) use audience::{Audience, NO_AUDIENCE, read_audience, write_audience};
pub(crate) use identifier::{Identifier, origin_of};
pub(crate) use settings::OFFLINE_ACCESS;
pub use settings::ProtectedResource;
pub(crate) use table::{Named, ResourceTable, Target, TargetError};
