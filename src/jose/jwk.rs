//! Public keys and sets of them [RFC 7517].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::base::debug_as_text;
use crate::base::field::texts;
use crate::base::json::Json;
use crate::jose::material::Material;
use crate::jose::{DEPTH, IS_AVAILABLE, JwkError, JwkThumbprint, SigningAlgorithm, signature};

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

/// The public keys of a client, a JWK Set [RFC 7517 section 5]. A clone is cheap, since it shares the keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JwkSet(Arc<Contents>);

texts! { JwkSet: Self::from_record }

#[derive(Debug, PartialEq, Eq)]
struct Contents {
    keys: Box<[Jwk]>,
    /// The public members of the keys, as JSON.
    json: Box<str>,
}

/// The maximum size of a key set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JwkSetBounds {
    pub(crate) bytes: usize,
    pub(crate) keys: usize,
}

impl JwkSetBounds {
    /// The largest bounds that the settings may have.
    pub(crate) const MOST: Self = Self { bytes: 262_144, keys: 100 };
}

/// A fetched key set.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FetchedKeys {
    pub(crate) set: JwkSet,
    /// The number of keys that were left out: private keys, malformed keys, and keys that are not for signatures.
    pub(crate) left_out: usize,
}

impl JwkSet {
    /// Parses a set for a registration, of at most 262 144 bytes and 100 keys. Keys of unknown types, and keys for
    /// purposes other than signature, are left out.
    ///
    /// A registration must also keep smaller bounds: 65 536 bytes and 32 keys.
    ///
    /// # Errors
    ///
    /// [`JwkSetError`] if the set is malformed or too large, if a key is private or malformed, if two keys have the
    /// same `kid`, or if no key can be used. Without the feature `jose`, every set is refused.
    pub fn parse(json: impl AsRef<[u8]>) -> Result<Self, JwkSetError> {
        Self::parse_within(json, JwkSetBounds::MOST)
    }

    /// The same as [`parse`](Self::parse), within other bounds.
    pub(crate) fn parse_within(json: impl AsRef<[u8]>, bounds: JwkSetBounds) -> Result<Self, JwkSetError> {
        Self::of_members(&object(json.as_ref(), bounds)?, bounds)
    }

    /// Reads a set that is a member of the JSON of a registration. Its length in bytes is not checked here: that of the
    /// whole JSON was.
    pub(crate) fn of_members(set: &BTreeMap<String, Json>, bounds: JwkSetBounds) -> Result<Self, JwkSetError> {
        if !IS_AVAILABLE {
            return Err(JwkSetError::NotAvailable);
        }
        let mut used = Vec::new();
        for (place, key) in keys(set, bounds)?.iter().enumerate() {
            match read(key) {
                Ok(key) => used.push(key),
                Err(JwkError::NotUsed) => {}
                Err(error) => return Err(JwkSetError::Key(place + 1, error)),
            }
        }
        if used.is_empty() {
            return Err(JwkSetError::NoUsableKey);
        }
        let mut key_ids = BTreeSet::new();
        if !used.iter().filter_map(Jwk::key_id).all(|key_id| key_ids.insert(key_id)) {
            return Err(JwkSetError::KeyIdTwice);
        }
        Ok(Self::of(used))
    }

    /// Parses a fetched set. Keys that cannot be used are left out. The set may be empty. A registered set is refused
    /// for a private or malformed key, which its developer can correct. A fetched one may get new kinds of keys at any
    /// time, and the others must keep working.
    pub(crate) fn parse_fetched(json: impl AsRef<[u8]>, bounds: JwkSetBounds) -> Result<FetchedKeys, JwkSetError> {
        let set = object(json.as_ref(), bounds)?;
        let keys = keys(&set, bounds)?;
        let used: Vec<_> = keys.iter().filter_map(|key| read(key).ok()).collect();
        Ok(FetchedKeys { left_out: keys.len() - used.len(), set: Self::of(used) })
    }

    /// Parses the output of [`as_str`](Self::as_str) from a record. Bounds are not checked: they may have been larger
    /// when the record was written.
    pub(crate) fn from_record(json: &str) -> Option<Self> {
        let set = Json::read_object(json.as_bytes(), DEPTH)?;
        let keys = set.get("keys")?.as_list()?;
        let keys: Option<Vec<_>> = keys.iter().map(|key| Jwk::read(key.as_object()?).ok()).collect();
        keys.map(Self::of)
    }

    /// Returns the usable keys, in their order.
    pub(crate) fn keys(&self) -> &[Jwk] {
        &self.0.keys
    }

    /// Returns the set as JSON: the usable keys with their public members.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0.json
    }

    fn of(keys: Vec<Jwk>) -> Self {
        let members: Vec<_> = keys.iter().map(Jwk::members).collect();
        let json = serde_json::json!({ "keys": members }).to_string().into();
        Self(Arc::new(Contents { keys: keys.into(), json }))
    }
}

fn object(json: &[u8], bounds: JwkSetBounds) -> Result<BTreeMap<String, Json>, JwkSetError> {
    if json.len() > bounds.bytes {
        return Err(JwkSetError::TooLarge(bounds.bytes));
    }
    Json::read_object(json, DEPTH).ok_or(JwkSetError::NotASet)
}

fn keys(set: &BTreeMap<String, Json>, bounds: JwkSetBounds) -> Result<&[Json], JwkSetError> {
    let keys = set.get("keys").and_then(Json::as_list).ok_or(JwkSetError::NotASet)?;
    if keys.len() > bounds.keys { Err(JwkSetError::TooManyKeys(bounds.keys)) } else { Ok(keys) }
}

fn read(key: &Json) -> Result<Jwk, JwkError> {
    let key = Jwk::read(key.as_object().ok_or(JwkError::Member("kty"))?)?;
    if key.is_on_curve() { Ok(key) } else { Err(JwkError::NotOnCurve) }
}

/// Why a JWK Set is refused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum JwkSetError {
    /// It is not a JSON object with an array `keys`, has a member twice, or is nested more than eight levels deep.
    #[error("the key set is not a JSON object with a list of keys; {{\"keys\":[…]}} is accepted")]
    NotASet,
    /// It has more than this number of bytes.
    #[error("the key set has more than {0} bytes")]
    TooLarge(usize),
    /// It has more than this number of keys.
    #[error("the key set has more than {0} keys")]
    TooManyKeys(usize),
    /// The key with this number is refused; the first is 1.
    #[error("key {0} of the key set is refused: {1}")]
    Key(usize, #[source] JwkError),
    /// Two keys have the same `kid`.
    #[error("two keys of the key set have the same kid")]
    KeyIdTwice,
    /// It has no key that can verify signatures.
    #[error("the key set has no key for ES256 (P-256), PS256 or RS256 (RSA), or EdDSA (Ed25519)")]
    NoUsableKey,
    /// The library was built without the feature `jose`.
    #[error("key sets need the feature jose; the library was built without it")]
    NotAvailable,
}

debug_as_text!(JwkSetError);

#[cfg(all(test, not(feature = "jose")))]
mod tests {
    use super::*;

    /// Without the feature no signature can be verified, so no key is registered.
    #[test]
    fn without_the_feature_every_set_is_refused() {
        let key = r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
        let set = format!("{{\"keys\":[{key}]}}");
        assert_eq!(JwkSet::parse(&set), Err(JwkSetError::NotAvailable));
        assert!(JwkSet::from_record(&set).is_some(), "a record is read");
    }
}
