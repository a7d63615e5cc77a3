//! Verifies signatures with ring.

use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey as Peer, agree_ephemeral};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};

use crate::jose::SigningAlgorithm;
use crate::jose::material::Material;

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
