//! The secrets of a client.

use crate::secret::Digest;

/// At most two valid secrets, so that one can be replaced without downtime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientSecrets {
    pub(crate) current: Option<Digest>,
    pub(crate) previous: Option<Digest>,
    pub(crate) current_is_of_previous_owner: bool,
    pub(crate) previous_is_of_previous_owner: bool,
}

impl ClientSecrets {
    pub(crate) const fn rotated(self, newest: Digest) -> Self {
        Self {
            current: Some(newest),
            previous: self.current,
            current_is_of_previous_owner: false,
            previous_is_of_previous_owner: self.current_is_of_previous_owner,
        }
    }

    pub(crate) const fn without_previous(self) -> Self {
        Self { previous: None, previous_is_of_previous_owner: false, ..self }
    }

    /// The same secrets under another owner of the application.
    pub(crate) const fn under_another_owner(self) -> Self {
        Self {
            current_is_of_previous_owner: self.current.is_some(),
            previous_is_of_previous_owner: self.previous.is_some(),
            ..self
        }
    }

    /// Compares with both secrets, even if they are missing, so that the time reveals nothing.
    pub(crate) fn prove(&self, presented: &Digest) -> bool {
        let missing = Digest::from_bytes([0; 32]);
        let current = self.current.as_ref().unwrap_or(&missing) == presented && self.current.is_some();
        let previous = self.previous.as_ref().unwrap_or(&missing) == presented && self.previous.is_some();
        current | previous
    }
}
