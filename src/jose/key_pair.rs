//! Private keys of the server, which sign with ring.

use std::fmt;

use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
};

use crate::jose::material::Material;
use crate::jose::{Jwk, JwkError, SigningAlgorithm};

/// A private key.
pub(crate) enum KeyPair {
    Es256(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
    Rs256(Box<RsaKeyPair>),
}

impl KeyPair {
    /// Reads a private key in the form of PKCS#8 [RFC 5958]. `None` if it is not a key for the algorithm: an RSA key
    /// needs 2048, 3072 or 4096 bits.
    pub(crate) fn from_pkcs8(algorithm: SigningAlgorithm, pkcs8: &[u8]) -> Option<Self> {
        let random = SystemRandom::new();
        match algorithm {
            SigningAlgorithm::Es256 => {
                EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8, &random).ok().map(Self::Es256)
            }
            // OpenSSL writes no public key beside the private one.
            SigningAlgorithm::EdDsa => Ed25519KeyPair::from_pkcs8_maybe_unchecked(pkcs8).ok().map(Self::EdDsa),
            SigningAlgorithm::Rs256 => RsaKeyPair::from_pkcs8(pkcs8).ok().map(Box::new).map(Self::Rs256),
            SigningAlgorithm::Ps256 => None,
        }
    }

    /// Returns the public key, named by its thumbprint.
    ///
    /// # Errors
    ///
    /// [`JwkError`] if no verifier should accept it.
    pub(crate) fn public(&self) -> Result<Jwk, JwkError> {
        match self {
            Self::Es256(pair) => {
                Ok(Jwk::named(Material::p256_point(pair.public_key().as_ref())?, SigningAlgorithm::Es256))
            }
            Self::EdDsa(pair) => {
                Ok(Jwk::named(Material::ed25519_bytes(pair.public_key().as_ref())?, SigningAlgorithm::EdDsa))
            }
            Self::Rs256(pair) => {
                let parts = PublicKeyComponents::<Vec<u8>>::from(pair.public());
                Ok(Jwk::named(Material::rsa_numbers(parts.n.into(), parts.e.into())?, SigningAlgorithm::Rs256))
            }
        }
    }

    /// Signs; `None` if the operating system has no random numbers.
    pub(crate) fn sign(&self, message: &[u8]) -> Option<Vec<u8>> {
        let random = SystemRandom::new();
        match self {
            Self::Es256(pair) => pair.sign(&random, message).ok().map(|signature| signature.as_ref().to_vec()),
            Self::EdDsa(pair) => Some(pair.sign(message).as_ref().to_vec()),
            Self::Rs256(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).ok()?;
                Some(signature)
            }
        }
    }
}

/// Without the key.
impl fmt::Debug for KeyPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyPair([redacted])")
    }
}
