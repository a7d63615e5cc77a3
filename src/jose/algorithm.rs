//! The signature algorithms that are accepted.

use std::fmt;

use crate::base::codec::{DecodeError, Reader, Writer};
use crate::base::field::Field;

/// A signature algorithm [RFC 7518 section 3.1, RFC 8037 section 3.1]. No other algorithm is ever accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SigningAlgorithm {
    /// `ES256`: ECDSA on P-256 with SHA-256.
    Es256,
    /// `PS256`: RSASSA-PSS with SHA-256.
    Ps256,
    /// `EdDSA`: Ed25519. Its newer name, `Ed25519`, is accepted as well [RFC 9864 section 2.2].
    EdDsa,
    /// `RS256`: RSASSA-PKCS1-v1_5 with SHA-256. The server may sign access tokens with it [RFC 9068]. Clients may sign
    /// assertions with it if [`Config::client_authentication.rs256`](crate::Config::client_authentication) is on.
    Rs256,
}

impl SigningAlgorithm {
    pub(crate) const ALL: &'static [Self] = &[Self::Es256, Self::Ps256, Self::EdDsa, Self::Rs256];

    /// Returns the name in the IANA registry "JSON Web Signature and Encryption Algorithms"; `EdDSA` for Ed25519.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Ps256 => "PS256",
            Self::EdDsa => "EdDSA",
            Self::Rs256 => "RS256",
        }
    }

    /// Returns the accepted names, as metadata lists them.
    pub(crate) const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Es256 => &["ES256"],
            Self::Ps256 => &["PS256"],
            Self::EdDsa => &["EdDSA", "Ed25519"],
            Self::Rs256 => &["RS256"],
        }
    }

    /// Returns the algorithm of that name; `None` if it is not one of these. Names are compared byte for byte.
    #[must_use]
    pub fn parse(name: impl AsRef<[u8]>) -> Option<Self> {
        let name = name.as_ref();
        Self::ALL.iter().copied().find(|algorithm| algorithm.names().iter().any(|own| own.as_bytes() == name))
    }
}

impl Field for SigningAlgorithm {
    fn write(&self, writer: &mut Writer) {
        writer.text(self.as_str());
    }

    /// An unknown algorithm was written by another release.
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Self::parse(reader.text()?).ok_or(DecodeError::UnknownLayout)
    }
}

impl fmt::Display for SigningAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
