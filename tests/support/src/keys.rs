//! Keys of clients, and what clients sign with them: assertions and DPoP proofs.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use grantor::hooks::{SignerError, SigningKey};
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ED25519, EcdsaKeyPair, Ed25519KeyPair, KeyPair,
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, RSA_PSS_2048_8192_SHA256, RSA_PSS_SHA256, RsaKeyPair,
    UnparsedPublicKey, VerificationAlgorithm,
};
use serde_json::{Value, json};

use crate::intercepted::pending_once;

/// A private key, the algorithm that signs with it, and the `kid` that names it. A clone shares the key.
#[derive(Clone)]
pub struct Signer {
    algorithm: &'static str,
    key: Arc<Private>,
    key_id: Option<String>,
}

/// Signs after a wait.
struct Elsewhere(Signer);

impl fmt::Debug for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Elsewhere")
    }
}

#[async_trait]
impl grantor::hooks::Signer for Elsewhere {
    async fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SignerError> {
        pending_once().await;
        Ok(self.0.signature(message))
    }
}

enum Private {
    P256(EcdsaKeyPair),
    Rsa(RsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl Signer {
    /// Signs with ES256.
    pub fn es256() -> Self {
        Self::p256(include_bytes!("../../data/keys/p256-1.pk8"))
    }

    /// Signs with ES256, with a key that no other signer has.
    pub fn fresh() -> Self {
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new()).unwrap();
        Self::p256(key.as_ref())
    }

    /// Signs with PS256. The key is that of [`rs256`](Self::rs256).
    pub fn ps256() -> Self {
        Self::rsa("PS256", include_bytes!("../../data/keys/rsa-1.pk8"))
    }

    /// Signs with PS256, with a key of 4096 bits and the exponent 65537: proofs may have no larger one.
    pub fn largest_of_proofs() -> Self {
        Self::rsa("PS256", include_bytes!("../../data/keys/rsa-4096.pk8"))
    }

    /// Signs with RS256.
    pub fn rs256() -> Self {
        Self::rsa("RS256", include_bytes!("../../data/keys/rsa-1.pk8"))
    }

    /// Signs with Ed25519; the header says `EdDSA`.
    pub fn ed25519() -> Self {
        Self::edwards(include_bytes!("../../data/keys/ed25519-1.pk8"))
    }

    /// One of each algorithm.
    pub fn all() -> [Self; 4] {
        [Self::es256(), Self::ps256(), Self::ed25519(), Self::rs256()]
    }

    /// The second key of the same algorithm, without a `kid`.
    pub fn another(&self) -> Self {
        match &*self.key {
            Private::P256(_) => Self::p256(include_bytes!("../../data/keys/p256-2.pk8")),
            Private::Rsa(_) => Self::rsa(self.algorithm, include_bytes!("../../data/keys/rsa-2.pk8")),
            Private::Ed25519(_) => Self::edwards(include_bytes!("../../data/keys/ed25519-2.pk8")),
        }
    }

    /// The same key under a `kid`, which is in [`jwk`](Self::jwk) and in the headers of assertions.
    #[must_use]
    pub fn named(mut self, key_id: &str) -> Self {
        self.key_id = Some(key_id.to_owned());
        self
    }

    /// The `alg` of headers.
    pub fn algorithm(&self) -> &'static str {
        self.algorithm
    }

    /// The public key, with `kid` if it has one.
    pub fn jwk(&self) -> Value {
        let mut jwk = match &*self.key {
            Private::P256(key) => {
                let (x, y) = key.public_key().as_ref()[1..].split_at(32);
                json!({"kty": "EC", "crv": "P-256", "x": encode(x), "y": encode(y)})
            }
            Private::Rsa(key) => {
                let public = PublicKeyComponents::<Vec<u8>>::from(key.public());
                json!({"kty": "RSA", "n": encode(&public.n), "e": encode(&public.e)})
            }
            Private::Ed25519(key) => json!({"kty": "OKP", "crv": "Ed25519", "x": encode(key.public_key().as_ref())}),
        };
        if let Some(key_id) = &self.key_id {
            jwk["kid"] = key_id.as_str().into();
        }
        jwk
    }

    /// The same with `alg`.
    pub fn jwk_with_algorithm(&self) -> Value {
        let mut jwk = self.jwk();
        jwk["alg"] = self.algorithm.into();
        jwk
    }

    /// A key set of this key alone.
    pub fn key_set(&self) -> String {
        json!({"keys": [self.jwk()]}).to_string()
    }

    /// The signature of these bytes.
    pub fn signature(&self, signed: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match &*self.key {
            Private::P256(key) => key.sign(&random, signed).unwrap().as_ref().to_vec(),
            Private::Ed25519(key) => key.sign(signed).as_ref().to_vec(),
            Private::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                let padding: &dyn ring::signature::RsaEncoding =
                    if self.algorithm == "PS256" { &RSA_PSS_SHA256 } else { &RSA_PKCS1_SHA256 };
                key.sign(padding, &random, signed, &mut signature).unwrap();
                signature
            }
        }
    }

    /// A key of an authorization server, which is elsewhere: signing takes its time.
    pub fn signing_key(&self) -> SigningKey {
        SigningKey::with_signer(&self.jwk_with_algorithm().to_string(), Elsewhere(self.clone())).unwrap()
    }

    /// Whether ring finds that signature of these bytes valid.
    pub fn is_signature(&self, signed: &[u8], signature: &[u8]) -> bool {
        let (verifier, key): (&'static dyn VerificationAlgorithm, _) = match &*self.key {
            Private::P256(key) => (&ECDSA_P256_SHA256_FIXED, key.public_key().as_ref()),
            Private::Ed25519(key) => (&ED25519, key.public_key().as_ref()),
            Private::Rsa(key) if self.algorithm == "PS256" => (&RSA_PSS_2048_8192_SHA256, key.public_key().as_ref()),
            Private::Rsa(key) => (&RSA_PKCS1_2048_8192_SHA256, key.public_key().as_ref()),
        };
        UnparsedPublicKey::new(verifier, key).verify(signed, signature).is_ok()
    }

    /// A compact JWS of these texts, whatever they are.
    pub fn sign(&self, header: impl AsRef<[u8]>, claims: impl AsRef<[u8]>) -> String {
        let signed = format!("{}.{}", encode(header), encode(claims));
        let signature = self.signature(signed.as_bytes());
        format!("{signed}.{}", encode(signature))
    }

    /// An assertion that authenticates a client [RFC 7523 section 3], valid for a minute from `now` (seconds since
    /// 1970). The closure changes the header and the claims before they are signed.
    pub fn assertion(
        &self,
        client: &str,
        issuer: &str,
        now: u64,
        change: impl FnOnce(&mut Value, &mut Value),
    ) -> String {
        let mut header = json!({"alg": self.algorithm});
        if let Some(key_id) = &self.key_id {
            header["kid"] = key_id.as_str().into();
        }
        let mut claims =
            json!({"iss": client, "sub": client, "aud": issuer, "jti": new_id(), "exp": now + 60, "iat": now});
        change(&mut header, &mut claims);
        self.sign(header.to_string(), claims.to_string())
    }

    /// A DPoP proof [RFC 9449 section 4.2]. The closure changes the header and the claims before they are signed.
    pub fn proof(&self, method: &str, url: &str, now: u64, change: impl FnOnce(&mut Value, &mut Value)) -> String {
        let mut jwk = self.jwk();
        jwk.as_object_mut().unwrap().remove("kid");
        let mut header = json!({"typ": "dpop+jwt", "alg": self.algorithm, "jwk": jwk});
        let mut claims = json!({"jti": new_id(), "htm": method, "htu": url, "iat": now});
        change(&mut header, &mut claims);
        self.sign(header.to_string(), claims.to_string())
    }

    /// The thumbprint of the public key [RFC 7638], computed here.
    pub fn thumbprint(&self) -> String {
        let jwk = self.jwk();
        let names: &[&str] = match &*self.key {
            Private::P256(_) => &["crv", "kty", "x", "y"],
            Private::Rsa(_) => &["e", "kty", "n"],
            Private::Ed25519(_) => &["crv", "kty", "x"],
        };
        let members: Vec<_> = names.iter().map(|name| format!("\"{name}\":{}", jwk[name])).collect();
        digest(format!("{{{}}}", members.join(",")))
    }

    fn p256(key: &[u8]) -> Self {
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key, &SystemRandom::new()).unwrap();
        Self { algorithm: "ES256", key: Arc::new(Private::P256(key)), key_id: None }
    }

    fn rsa(algorithm: &'static str, key: &[u8]) -> Self {
        Self { algorithm, key: Arc::new(Private::Rsa(RsaKeyPair::from_pkcs8(key).unwrap())), key_id: None }
    }

    fn edwards(key: &[u8]) -> Self {
        let key = Ed25519KeyPair::from_pkcs8_maybe_unchecked(key).unwrap();
        Self { algorithm: "EdDSA", key: Arc::new(Private::Ed25519(key)), key_id: None }
    }
}

/// A `jti` that no other call returns.
pub fn new_id() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let random: [u8; 12] = ring::rand::generate(&SystemRandom::new()).unwrap().expose();
    format!("{}-{}", encode(random), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// The `ath` of an access token [RFC 9449 section 4.2].
pub fn token_hash(access_token: &str) -> String {
    digest(access_token)
}

/// A closure for assertions and proofs that stay as they are.
pub fn unchanged(_header: &mut Value, _claims: &mut Value) {}

/// base64url without padding.
pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn digest(text: impl AsRef<[u8]>) -> String {
    encode(ring::digest::digest(&ring::digest::SHA256, text.as_ref()))
}
