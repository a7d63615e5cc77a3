//! The errors of signed tokens and keys.

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
