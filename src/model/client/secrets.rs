//! The secrets of a client.

use crate::base::debug_as_text;
use crate::secret::{CLIENT_SECRET_CHARACTERS, Digest};

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

/// Checks the characters of a secret that your service chose [RFC 6749 appendix A.2].
pub(super) fn check_secret(text: &[u8]) -> Result<(), ClientSecretError> {
    if let Some(position) = text.iter().position(|byte| !(0x20..=0x7e).contains(byte)) {
        return Err(ClientSecretError::Character { position });
    }
    if CLIENT_SECRET_CHARACTERS.contains(&text.len()) {
        Ok(())
    } else {
        Err(ClientSecretError::Length { characters: text.len() })
    }
}

/// A secret that a client cannot have. The text never shows it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ClientSecretError {
    /// A public client has no secret [RFC 6749 section 2.1].
    #[error("a public client has no secret; set ClientType::Confidential, or leave the secret out")]
    PublicClient,
    /// A client that authenticates with its key has no secret [RFC 7523 section 2.2].
    #[error("a client with keys has no secret; leave out the secret or the keys")]
    HasKeys,
    /// The secret is shorter than 32 characters, or longer than 255.
    #[error("the client secret has {characters} characters; 32 to 255 random ones are accepted")]
    Length {
        /// The number of its characters.
        characters: usize,
    },
    /// The secret has a character outside 20 to 7E hex [RFC 6749 appendix A.2].
    #[error("byte {} of the client secret is neither visible ASCII nor a space", .position + 1)]
    Character {
        /// The number of bytes before it.
        position: usize,
    },
}

debug_as_text!(ClientSecretError);
