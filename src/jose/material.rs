//! The parameters of a public key [RFC 7518 section 6, RFC 8037 section 2], why a key is refused, the algorithms that
//! are accepted, and the digest that identifies a key [RFC 7638].

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::base::codec::{DecodeError, Reader, Writer};
use crate::base::field::{Codec, arrays};
use crate::base::{ValueError, base64url};

/// Whether signatures can be verified. This needs the feature `jose`.
pub(crate) const IS_AVAILABLE: bool = cfg!(feature = "jose");

/// The maximum nesting depth of the JSON of headers, claims and keys.
pub(crate) const DEPTH: usize = 8;

/// The length of a coordinate of P-256, and of an Ed25519 key, in bytes.
const COORDINATE_BYTES: usize = 32;
/// The length of an uncompressed point in bytes: a prefix byte, `x`, `y`.
const POINT_BYTES: usize = 1 + 2 * COORDINATE_BYTES;
/// The prefix byte of an uncompressed point [SEC 1 section 2.3.3].
const UNCOMPRESSED: u8 = 4;
/// The length of an RSA modulus in bytes: 2048 bits or more [RFC 7518 section 3.5], and at most the 8192 bits that ring
/// verifies.
const MODULUS_BYTES: RangeInclusive<usize> = 256..=1024;
/// The longest modulus of a key in a proof, in bytes, and its largest exponent. Whoever sends a proof chooses its key,
/// so the server does the work before it knows anybody.
const PROOF_MODULUS_BYTES: usize = 512;
const PROOF_EXPONENT: &[u8] = &[1, 0, 1];
/// The sign bit of the `x` coordinate in an Ed25519 key [RFC 8032 section 5.1.2].
const SIGN: u8 = 0x80;

/// The encodings of the points of small order, without the sign bit. They are the `y` coordinates of the points of
/// order 1, 2, 4 and 8, and the two encodings above the prime that are reduced to 0 and 1.
const SMALL_ORDER: [[u8; COORDINATE_BYTES]; 7] = [
    repeated(0x00, 0x00, 0x00),
    repeated(0x01, 0x00, 0x00),
    repeated(0xec, 0xff, 0x7f),
    repeated(0xed, 0xff, 0x7f),
    repeated(0xee, 0xff, 0x7f),
    [
        0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0, 0xd5, 0xdf,
        0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05,
    ],
    [
        0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f, 0x2a, 0x20,
        0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a,
    ],
];

/// The parameters of a public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Material {
    /// An uncompressed point of P-256.
    P256([u8; POINT_BYTES]),
    Rsa {
        modulus: Box<[u8]>,
        exponent: Box<[u8]>,
    },
    Ed25519([u8; COORDINATE_BYTES]),
}

impl Material {
    pub(super) fn p256(x: &str, y: &str) -> Result<Self, JwkError> {
        let (x, y) = (coordinate(x, "x")?, coordinate(y, "y")?);
        let mut point = [UNCOMPRESSED; POINT_BYTES];
        for (to, from) in point.iter_mut().skip(1).zip(x.into_iter().chain(y)) {
            *to = from;
        }
        Ok(Self::P256(point))
    }

    /// A point as ring writes it, uncompressed.
    #[cfg(feature = "jose")]
    pub(super) fn p256_point(point: &[u8]) -> Result<Self, JwkError> {
        point.try_into().map(Self::P256).map_err(|_| JwkError::NotOnCurve)
    }

    pub(super) fn rsa(modulus: &str, exponent: &str) -> Result<Self, JwkError> {
        Self::rsa_numbers(number(modulus, "n")?, number(exponent, "e")?)
    }

    /// Both numbers are without leading zeros.
    pub(super) fn rsa_numbers(modulus: Box<[u8]>, exponent: Box<[u8]>) -> Result<Self, JwkError> {
        let is_odd = |number: &[u8]| number.last().is_some_and(|last| last % 2 == 1);
        let is_shorter = modulus.len() == *MODULUS_BYTES.start() && modulus.first().is_some_and(|first| *first < 0x80);
        if is_shorter || !MODULUS_BYTES.contains(&modulus.len()) || !is_odd(&modulus) {
            return Err(JwkError::Modulus);
        }
        if exponent.len() > 4 || !is_odd(&exponent) || *exponent == [1] {
            return Err(JwkError::Exponent);
        }
        Ok(Self::Rsa { modulus, exponent })
    }

    /// Returns whether a signature by the key is cheap to verify: an RSA modulus has at most 4096 bits, its exponent is
    /// at most 65537.
    pub(super) fn is_cheap(&self) -> bool {
        match self {
            Self::Rsa { modulus, exponent } => {
                // Numbers without leading zeros: the longer one is larger.
                let is_small = (exponent.len(), &**exponent) <= (PROOF_EXPONENT.len(), PROOF_EXPONENT);
                modulus.len() <= PROOF_MODULUS_BYTES && is_small
            }
            Self::P256(_) | Self::Ed25519(_) => true,
        }
    }

    pub(super) fn ed25519(x: &str) -> Result<Self, JwkError> {
        Self::of_ed25519(coordinate(x, "x")?)
    }

    #[cfg(feature = "jose")]
    pub(super) fn ed25519_bytes(key: &[u8]) -> Result<Self, JwkError> {
        Self::of_ed25519(key.try_into().map_err(|_| JwkError::Member("x"))?)
    }

    fn of_ed25519(key: [u8; COORDINATE_BYTES]) -> Result<Self, JwkError> {
        let mut unsigned = key;
        if let Some(last) = unsigned.last_mut() {
            *last &= !SIGN;
        }
        if SMALL_ORDER.contains(&unsigned) { Err(JwkError::SmallOrder) } else { Ok(Self::Ed25519(key)) }
    }

    /// Returns the algorithm of a key without `alg`.
    pub(super) const fn algorithm(&self) -> SigningAlgorithm {
        match self {
            Self::P256(_) => SigningAlgorithm::Es256,
            Self::Rsa { .. } => SigningAlgorithm::Ps256,
            Self::Ed25519(_) => SigningAlgorithm::EdDsa,
        }
    }

    /// Returns the length of a signature in bytes [RFC 7518 sections 3.3 and 3.4, RFC 8032 section 5.1.6].
    pub(super) fn signature_bytes(&self) -> usize {
        match self {
            Self::P256(_) | Self::Ed25519(_) => 2 * COORDINATE_BYTES,
            Self::Rsa { modulus, .. } => modulus.len(),
        }
    }

    /// Returns whether keys of this type can verify signatures of the algorithm.
    pub(super) const fn fits(&self, algorithm: SigningAlgorithm) -> bool {
        match algorithm {
            SigningAlgorithm::Es256 => matches!(self, Self::P256(_)),
            SigningAlgorithm::Ps256 | SigningAlgorithm::Rs256 => matches!(self, Self::Rsa { .. }),
            SigningAlgorithm::EdDsa => matches!(self, Self::Ed25519(_)),
        }
    }

    /// Returns the required members of the key type [RFC 7638 section 3.2].
    pub(super) fn members(&self) -> BTreeMap<&'static str, String> {
        let text = String::from;
        match self {
            Self::P256(point) => {
                let (_, coordinates) = point.split_at(1);
                let (x, y) = coordinates.split_at(COORDINATE_BYTES);
                let (x, y) = (base64url::encode(x), base64url::encode(y));
                BTreeMap::from([("crv", text("P-256")), ("kty", text("EC")), ("x", x), ("y", y)])
            }
            Self::Rsa { modulus, exponent } => {
                let (n, e) = (base64url::encode(modulus), base64url::encode(exponent));
                BTreeMap::from([("e", e), ("kty", text("RSA")), ("n", n)])
            }
            Self::Ed25519(key) => {
                BTreeMap::from([("crv", text("Ed25519")), ("kty", text("OKP")), ("x", base64url::encode(key))])
            }
        }
    }
}

/// Why a key is refused [RFC 7517 section 4].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum JwkError {
    /// It has a member of a private key, or is a symmetric key.
    #[error("it is a private or symmetric key; only public keys are accepted")]
    Private,
    /// Its type, use or algorithm is not supported.
    #[error(
        "its kty, crv, use, key_ops or alg is not used here; keys for ES256 (P-256), PS256 and RS256 (RSA) and EdDSA \
         (Ed25519) are accepted"
    )]
    NotUsed,
    /// A member is missing or malformed.
    #[error("the member {0} is missing, has another type, or is malformed")]
    Member(&'static str),
    /// Its coordinates are not a point on P-256.
    #[error("x and y are not a point on the curve P-256")]
    NotOnCurve,
    /// The modulus `n` is even, or does not have 2048 to 8192 bits [RFC 7518 section 3.3].
    #[error("n has another length; odd numbers of 2048 to 8192 bits are accepted")]
    Modulus,
    /// The exponent `e` is even, or not from 3 to 4 294 967 295, the largest that is accepted.
    #[error("e is out of range; odd numbers from 3 to 4294967295 are accepted")]
    Exponent,
    /// It is an Ed25519 key of small order, for which anyone can create signatures.
    #[error("it is an Ed25519 key of small order, which is insecure")]
    SmallOrder,
}

fn coordinate(text: &str, name: &'static str) -> Result<[u8; COORDINATE_BYTES], JwkError> {
    base64url::decode(text).and_then(|bytes| bytes.try_into().ok()).ok_or(JwkError::Member(name))
}

/// Reads a positive number without leading zeros [RFC 7518 section 2, Base64urlUInt].
fn number(text: &str, name: &'static str) -> Result<Box<[u8]>, JwkError> {
    let bytes = base64url::decode(text).ok_or(JwkError::Member(name))?;
    if bytes.first().is_none_or(|first| *first == 0) { Err(JwkError::Member(name)) } else { Ok(bytes.into()) }
}

/// Returns `first`, thirty times `middle`, then `last`.
const fn repeated(first: u8, middle: u8, last: u8) -> [u8; COORDINATE_BYTES] {
    let mut bytes = [middle; COORDINATE_BYTES];
    bytes[0] = first;
    bytes[COORDINATE_BYTES - 1] = last;
    bytes
}

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

impl Codec for SigningAlgorithm {
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

/// The length of a thumbprint in bytes: that of SHA-256.
const BYTES: usize = 32;

/// The SHA-256 thumbprint of a public key, `jkt` [RFC 7638, RFC 9449 section 6.1].
///
/// As text it has 43 characters of base64url; other encodings of the same bytes are refused. A comparison takes the
/// same time for all values.
#[derive(Clone, Copy)]
pub struct JwkThumbprint([u8; BYTES]);

impl JwkThumbprint {
    /// Hashes the required members of a key, in the form of [RFC 7638 section 3].
    pub(super) fn of(members: &[u8]) -> Self {
        Self(Sha256::digest(members).into())
    }

    pub(crate) const fn from_bytes(bytes: [u8; BYTES]) -> Self {
        Self(bytes)
    }

    pub(crate) const fn bytes(&self) -> &[u8; BYTES] {
        &self.0
    }
}

arrays! { JwkThumbprint: bytes }

impl PartialEq for JwkThumbprint {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for JwkThumbprint {}

impl fmt::Display for JwkThumbprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&base64url::encode(&self.0))
    }
}

impl fmt::Debug for JwkThumbprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for JwkThumbprint {
    type Err = ValueError;

    /// Parses the 43 characters that [`Display`](fmt::Display) writes.
    ///
    /// # Errors
    ///
    /// [`ValueError`] for any other text.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        base64url::decode(text).and_then(|bytes| bytes.try_into().ok()).map(Self).ok_or(NO_THUMBPRINT)
    }
}

const NO_THUMBPRINT: ValueError = ValueError("a thumbprint must have 43 characters of canonical base64url");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_compared() {
        let own = JwkThumbprint::from_bytes([7; BYTES]);
        assert_eq!(own, JwkThumbprint::from_bytes([7; BYTES]));
        for place in 0..BYTES {
            let mut other = [7; BYTES];
            other[place] = 8;
            assert_ne!(own, JwkThumbprint::from_bytes(other), "{place}");
        }
    }
}
