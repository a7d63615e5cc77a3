//! Values that a reduction would add.

use std::fmt;

use crate::model::application::Field;

/// A value in a [`Reduction`](crate::registration::Reduction) that the application does not have; displayed as
/// `scopes: "repo-delete:rw"`. [`RegistrarError::Extends`](crate::RegistrarError::Extends) lists them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Extension {
    /// The field of the reduction that has the value.
    pub field: Field,
    /// The value that the application lacks: a scope, a resource, a grant type or a redirect URI.
    pub added: String,
}

impl Extension {
    pub(super) fn new(field: Field, added: impl Into<String>) -> Self {
        Self { field, added: added.into() }
    }
}

impl fmt::Display for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", self.field, self.added)
    }
}
