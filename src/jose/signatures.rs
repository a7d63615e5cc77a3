//! Signatures with ring: the private keys of the server, which make them, and their verification.

use std::fmt;

use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey as Peer, agree_ephemeral};
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ED25519, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, RSA_PSS_2048_8192_SHA256, RsaKeyPair, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
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

/// Returns whether the signature of these bytes is valid. It is invalid if the type of the key does not fit the
/// algorithm.
pub(super) fn is_valid(algorithm: SigningAlgorithm, key: &Material, signed: &[u8], signature: &[u8]) -> bool {
    let by_bytes = |verifier: &'static dyn VerificationAlgorithm, key: &[u8]| {
        UnparsedPublicKey::new(verifier, key).verify(signed, signature)
    };
    let verified = match (algorithm, key) {
        (SigningAlgorithm::Es256, Material::P256(point)) => by_bytes(&ECDSA_P256_SHA256_FIXED, point),
        (SigningAlgorithm::EdDsa, Material::Ed25519(key)) => by_bytes(&ED25519, key),
        (SigningAlgorithm::Ps256, Material::Rsa { modulus, exponent }) => {
            RsaPublicKeyComponents { n: modulus, e: exponent }.verify(&RSA_PSS_2048_8192_SHA256, signed, signature)
        }
        (SigningAlgorithm::Rs256, Material::Rsa { modulus, exponent }) => {
            RsaPublicKeyComponents { n: modulus, e: exponent }.verify(&RSA_PKCS1_2048_8192_SHA256, signed, signature)
        }
        (
            SigningAlgorithm::Es256 | SigningAlgorithm::EdDsa | SigningAlgorithm::Ps256 | SigningAlgorithm::Rs256,
            Material::P256(_) | Material::Ed25519(_) | Material::Rsa { .. },
        ) => return false,
    };
    verified.is_ok()
}

/// Returns whether an uncompressed point is on P-256. ring has no function for this check, but its key agreement does
/// it.
pub(super) fn is_on_p256(point: &[u8]) -> bool {
    let private = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new());
    private.is_ok_and(|private| agree_ephemeral(private, &Peer::new(&ECDH_P256, point), |_| ()).is_ok())
}
