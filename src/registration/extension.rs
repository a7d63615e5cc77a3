//! Values that a reduction would add.

use std::fmt;

use crate::model::application::Field;

/// A value that a reduction would add; displayed as `scopes: "repo-delete:rw"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extension {
    field: Field,
    added: String,
}

impl Extension {
    pub(super) fn new(field: Field, added: impl Into<String>) -> Self {
        Self { field, added: added.into() }
    }

    /// Returns the field.
    #[must_use]
    pub const fn field(&self) -> Field {
        self.field
    }

    /// Returns the added value: a scope, a resource, a grant type or a redirect URI.
    #[must_use]
    pub fn added(&self) -> &str {
        &self.added
    }
}

impl fmt::Display for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", self.field, self.added)
    }
}
