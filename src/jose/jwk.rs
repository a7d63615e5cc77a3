//! One public key [RFC 7517 section 4].

use std::collections::BTreeMap;

use crate::base::json::Json;
use crate::jose::material::Material;
use crate::jose::signature;
use crate::jose::{JwkError, JwkThumbprint, SigningAlgorithm};

/// The maximum length of a `kid` in bytes.
pub(super) const KEY_ID_BYTES: usize = 256;

/// The members that only private and symmetric keys have [RFC 7518 sections 6.2.2, 6.3.2 and 6.4.1].
const PRIVATE: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/// A public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Jwk {
    material: Material,
    key_id: Option<Box<str>>,
    algorithm: Option<SigningAlgorithm>,
}

impl Jwk {
    /// Returns whether it is a private or symmetric key, judged by `kty` and by the members that only such keys have.
    pub(crate) fn is_private(members: &BTreeMap<String, Json>) -> bool {
        let is_symmetric = members.get("kty").and_then(Json::as_text) == Some("oct");
        is_symmetric || PRIVATE.iter().any(|name| members.contains_key(*name))
    }

    /// Reads a public key for verifying signatures. Unknown members are ignored.
    ///
    /// It does not check whether a point is on its curve: [`is_on_curve`](Self::is_on_curve) and every verification do.
    pub(super) fn read(members: &BTreeMap<String, Json>) -> Result<Self, JwkError> {
        if Self::is_private(members) {
            return Err(JwkError::Private);
        }
        let kind = required(members, "kty")?;
        if !is_for_signatures(members)? {
            return Err(JwkError::NotUsed);
        }
        let algorithm = text(members, "alg")?;
        let algorithm = algorithm.map(|name| SigningAlgorithm::parse(name).ok_or(JwkError::NotUsed)).transpose()?;
        let key_id = text(members, "kid")?;
        if key_id.is_some_and(|key_id| key_id.len() > KEY_ID_BYTES) {
            return Err(JwkError::Member("kid"));
        }
        let curve = || required(members, "crv");
        let material = match kind {
            "EC" if curve()? == "P-256" => Material::p256(required(members, "x")?, required(members, "y")?)?,
            "RSA" => Material::rsa(required(members, "n")?, required(members, "e")?)?,
            "OKP" if curve()? == "Ed25519" => Material::ed25519(required(members, "x")?)?,
            _ => return Err(JwkError::NotUsed),
        };
        let key = Self { material, key_id: key_id.map(Box::from), algorithm };
        if algorithm.is_some_and(|algorithm| !key.material.fits(algorithm)) {
            return Err(JwkError::NotUsed);
        }
        Ok(key)
    }

    /// Reads a public key of the server, and names it by its thumbprint.
    ///
    /// # Errors
    ///
    /// [`JwkError`] if it cannot be used, or if it has no `alg`.
    pub(crate) fn read_own(members: &BTreeMap<String, Json>) -> Result<Self, JwkError> {
        let key = Self::read(members)?;
        let algorithm = key.algorithm.ok_or(JwkError::Member("alg"))?;
        if key.is_on_curve() { Ok(Self::named(key.material, algorithm)) } else { Err(JwkError::NotOnCurve) }
    }

    /// A key that is named by its thumbprint.
    pub(super) fn named(material: Material, algorithm: SigningAlgorithm) -> Self {
        let key = Self { material, key_id: None, algorithm: Some(algorithm) };
        let key_id = key.thumbprint().to_string().into();
        Self { key_id: Some(key_id), ..key }
    }

    /// Returns the `kid` of the key.
    pub(crate) fn key_id(&self) -> Option<&str> {
        self.key_id.as_deref()
    }

    /// Returns the `alg` of the key, or the default of its type: PS256 for RSA keys.
    pub(crate) fn algorithm(&self) -> SigningAlgorithm {
        self.algorithm.unwrap_or_else(|| self.material.algorithm())
    }

    /// Returns whether the type and the `alg` of the key allow it to verify signatures of that algorithm. An RSA key
    /// without `alg` fits PS256 and RS256.
    pub(crate) fn fits(&self, algorithm: SigningAlgorithm) -> bool {
        self.material.fits(algorithm) && self.algorithm.is_none_or(|own| own == algorithm)
    }

    /// Returns whether a signature of the key is cheap to verify: an RSA key has at most 4096 bits, and an exponent of
    /// at most 65537.
    pub(crate) fn is_cheap(&self) -> bool {
        self.material.is_cheap()
    }

    /// Returns the SHA-256 thumbprint of the required members [RFC 7638 section 3].
    pub(crate) fn thumbprint(&self) -> JwkThumbprint {
        // The map is in the order of the names, and serde_json adds no white space: the form of section 3.3.
        JwkThumbprint::of(&serde_json::to_vec(&self.material.members()).unwrap_or_default())
    }

    /// Returns whether the point of a P-256 key is on the curve; `true` for all other keys.
    pub(super) fn is_on_curve(&self) -> bool {
        match &self.material {
            Material::P256(point) => signature::is_on_p256(point),
            Material::Rsa { .. } | Material::Ed25519(_) => true,
        }
    }

    /// Returns the length of its signatures in bytes.
    pub(crate) fn signature_bytes(&self) -> usize {
        self.material.signature_bytes()
    }

    /// Returns whether the key has signed these bytes.
    pub(crate) fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        signature::is_valid(self.algorithm(), &self.material, message, signature)
    }

    pub(super) const fn material(&self) -> &Material {
        &self.material
    }

    /// Returns the members of the key: those of its type, `kid` and `alg`.
    pub(crate) fn members(&self) -> BTreeMap<&'static str, String> {
        let mut members = self.material.members();
        members.extend(self.key_id().map(|key_id| ("kid", key_id.to_owned())));
        members.extend(self.algorithm.map(|algorithm| ("alg", algorithm.to_string())));
        members
    }
}

/// Returns whether `use` and `key_ops` allow the key to verify signatures [RFC 7517 sections 4.2 and 4.3].
fn is_for_signatures(members: &BTreeMap<String, Json>) -> Result<bool, JwkError> {
    let operations =
        members.get("key_ops").map(|texts| texts.as_texts().ok_or(JwkError::Member("key_ops"))).transpose()?;
    let is_for_verifying = operations.is_none_or(|operations| operations.contains(&"verify"));
    Ok(is_for_verifying && text(members, "use")?.is_none_or(|usage| usage == "sig"))
}

fn required<'a>(members: &'a BTreeMap<String, Json>, name: &'static str) -> Result<&'a str, JwkError> {
    text(members, name)?.ok_or(JwkError::Member(name))
}

fn text<'a>(members: &'a BTreeMap<String, Json>, name: &'static str) -> Result<Option<&'a str>, JwkError> {
    members.get(name).map(|value| value.as_text().ok_or(JwkError::Member(name))).transpose()
}
