//! A compact JWS [RFC 7515 section 3.1] whose payload is a claims set [RFC 7519 section 4].

use std::collections::BTreeMap;
use std::fmt;

use crate::base::base64url;
use crate::base::json::Json;
use crate::jose::jwk::KEY_ID_BYTES;
use crate::jose::{DEPTH, Jwk, JwkError, SigningAlgorithm, signature};

/// The prefix of a media type, which `typ` may leave out [RFC 7515 section 4.1.9].
const MEDIA_TYPE: &str = "application/";

/// A signed token that is parsed but not verified.
pub(crate) struct Jws<'a> {
    /// The bytes that are signed: the encoded header, a period, and the encoded payload.
    signed: &'a [u8],
    signature: Vec<u8>,
    header: BTreeMap<String, Json>,
    algorithm: SigningAlgorithm,
    typ: Option<String>,
    claims: Claims,
}

impl fmt::Debug for Jws<'_> {
    /// Shows no part that could be reused as a credential.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { algorithm, typ, .. } = self;
        f.debug_struct("Jws").field("alg", algorithm).field("typ", typ).finish_non_exhaustive()
    }
}

impl<'a> Jws<'a> {
    /// Parses a token of at most `max` bytes.
    ///
    /// # Errors
    ///
    /// [`JoseError`] for the first rule that the token breaks.
    pub(crate) fn parse(text: &'a [u8], max: usize) -> Result<Self, JoseError> {
        if text.len() > max {
            return Err(JoseError::TooLong(max));
        }
        let mut parts = text.split(|byte| *byte == b'.');
        let (Some(header), Some(payload), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(JoseError::Form);
        };
        let signed = text.get(..=header.len() + payload.len()).ok_or(JoseError::Form)?;
        if header.is_empty() || payload.is_empty() || signature.is_empty() {
            return Err(JoseError::Form);
        }
        let header = object(header)?;
        // [RFC 7515 section 4.1.11]: "If any of the listed extension Header Parameters are not understood and supported
        // by the recipient, then the JWS is invalid." None is supported.
        if header.contains_key("crit") || header.contains_key("b64") {
            return Err(JoseError::Critical);
        }
        let algorithm = text_of(&header, "alg")?.and_then(SigningAlgorithm::parse).ok_or(JoseError::Algorithm)?;
        if text_of(&header, "kid")?.is_some_and(|key_id| key_id.len() > KEY_ID_BYTES) {
            return Err(JoseError::Header("kid"));
        }
        let typ = text_of(&header, "typ")?.map(|typ| {
            let typ = typ.to_ascii_lowercase();
            typ.strip_prefix(MEDIA_TYPE).map(str::to_owned).unwrap_or(typ)
        });
        let claims = Claims(object(payload)?);
        let signature = base64url::decode(signature).ok_or(JoseError::Base64Url)?;
        Ok(Self { signed, signature, header, algorithm, typ, claims })
    }

    /// Returns the `alg` of the header.
    pub(crate) const fn algorithm(&self) -> SigningAlgorithm {
        self.algorithm
    }

    /// Returns the `kid` of the header, of at most 256 bytes.
    pub(crate) fn key_id(&self) -> Option<&str> {
        self.header.get("kid").and_then(Json::as_text)
    }

    /// Returns the names of the members of the header.
    pub(crate) fn header_names(&self) -> impl Iterator<Item = &str> {
        self.header.keys().map(String::as_str)
    }

    /// Returns the `typ` of the header, in lower case and without `application/`.
    pub(crate) fn typ(&self) -> Option<&str> {
        self.typ.as_deref()
    }

    /// Returns the public key in the header. Use it only for DPoP proofs, because the sender of the token chooses it.
    ///
    /// # Errors
    ///
    /// [`JoseError`] if there is none, or if it is not a public key for the algorithm of the header.
    pub(crate) fn embedded_key(&self) -> Result<Jwk, JoseError> {
        let members = self.header.get("jwk").and_then(Json::as_object).ok_or(JoseError::Header("jwk"))?;
        let key = Jwk::read(members).map_err(JoseError::Key)?;
        if key.fits(self.algorithm) { Ok(key) } else { Err(JoseError::Key(JwkError::NotUsed)) }
    }

    /// Returns the claims. They prove nothing until the signature is verified.
    pub(crate) const fn claims(&self) -> &Claims {
        &self.claims
    }

    /// Verifies the signature with `algorithm`. The header must name the same algorithm, and the key must fit it.
    pub(crate) fn is_signed_by(&self, key: &Jwk, algorithm: SigningAlgorithm) -> bool {
        self.algorithm == algorithm
            && key.fits(algorithm)
            && signature::is_valid(algorithm, key.material(), self.signed, &self.signature)
    }
}

/// The claims of a token [RFC 7519 section 4]. They cannot be printed: together with the rest of the token they are a
/// credential.
pub(crate) struct Claims(BTreeMap<String, Json>);

impl Claims {
    /// Returns all of them.
    pub(crate) const fn members(&self) -> &BTreeMap<String, Json> {
        &self.0
    }

    /// Returns the claim of that name as a string; `None` if it is missing.
    ///
    /// # Errors
    ///
    /// [`JoseError`] if it is not a string.
    pub(crate) fn text(&self, name: &'static str) -> Result<Option<&str>, JoseError> {
        self.read(name, Json::as_text)
    }

    /// Returns the claim of that name as a time, in seconds since 1970; `None` if it is missing. A fraction is dropped.
    ///
    /// # Errors
    ///
    /// [`JoseError`] if it is not a number from 0 to 2^53.
    pub(crate) fn time(&self, name: &'static str) -> Result<Option<u64>, JoseError> {
        self.read(name, Json::as_number)
    }

    /// Returns the values of `aud`, and whether they were in an array; `None` if it is missing.
    ///
    /// # Errors
    ///
    /// [`JoseError`] if it is neither a string nor an array of strings.
    pub(crate) fn audience(&self) -> Result<Option<(Vec<&str>, bool)>, JoseError> {
        self.read("aud", |audience| match audience.as_text() {
            Some(text) => Some((vec![text], false)),
            None => audience.as_texts().map(|texts| (texts, true)),
        })
    }

    fn read<'a, T>(&'a self, name: &'static str, read: impl Fn(&'a Json) -> Option<T>) -> Result<Option<T>, JoseError> {
        self.0.get(name).map(|value| read(value).ok_or(JoseError::Claim(name))).transpose()
    }
}

/// Why a signed token is refused, for events. All of these errors have the same response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub(crate) enum JoseError {
    #[error("it has more than {0} bytes")]
    TooLong(usize),
    #[error("it does not consist of three parts separated by periods")]
    Form,
    #[error("a part is not canonical base64url")]
    Base64Url,
    #[error("the header or the claims are not a JSON object")]
    Json,
    #[error("the header has crit or b64, but no extension is supported")]
    Critical,
    #[error("the alg of the header is not accepted")]
    Algorithm,
    #[error("the {0} of the header has another type, or is too long")]
    Header(&'static str),
    #[error("the jwk of the header is refused: {0}")]
    Key(#[source] JwkError),
    #[error("the claim {0} has another type, or is out of range")]
    Claim(&'static str),
}

fn object(part: &[u8]) -> Result<BTreeMap<String, Json>, JoseError> {
    let json = base64url::decode(part).ok_or(JoseError::Base64Url)?;
    Json::read_object(&json, DEPTH).ok_or(JoseError::Json)
}

fn text_of<'a>(header: &'a BTreeMap<String, Json>, name: &'static str) -> Result<Option<&'a str>, JoseError> {
    header.get(name).map(|value| value.as_text().ok_or(JoseError::Header(name))).transpose()
}
