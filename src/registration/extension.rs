//! Values that a reduction would add.

use std::fmt;

use crate::model::application::Field;

/// A value that a reduction would add; displayed as `scopes: "repo-delete:rw"`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Extension {
    /// The field.
    pub field: Field,
    /// The added value: a scope, a resource, a grant type or a redirect URI.
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
