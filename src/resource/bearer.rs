//! The access token in the header of a request [RFC 6750 section 2.1, RFC 9449 section 7.1].

use memchr::memchr2;

use crate::error::Reason;
use crate::wire::Request;
use crate::wire::challenge::TokenScheme;
use crate::wire::request::{HeaderLine, split_scheme};

/// Returns the bearer token, if there is one.
pub(crate) fn in_header<'a>(request: &Request<'a>) -> Result<Option<&'a [u8]>, Reason> {
    token(request, |scheme| scheme == TokenScheme::Bearer).map(|token| token.map(|(_, token)| token))
}

/// § 2.1: the scheme in any letter case, then exactly one token of the allowed characters. A header with a scheme that
/// is not accepted counts as none.
pub(crate) fn token<'a>(
    request: &Request<'a>,
    is_accepted: impl Fn(TokenScheme) -> bool,
) -> Result<Option<(TokenScheme, &'a [u8])>, Reason> {
    let header = match request.authorization {
        HeaderLine::Absent => return Ok(None),
        HeaderLine::One(header) => header,
        HeaderLine::Several => return Err(Reason::MalformedBearer),
    };
    let (scheme, rest) = split_scheme(header);
    let Some(scheme) = TokenScheme::named(scheme).filter(|scheme| is_accepted(*scheme)) else { return Ok(None) };
    let token = rest.trim_ascii();
    // No token of this server has characters that § 2.1 does not allow.
    let is_one = !token.is_empty() && memchr2(b' ', b'\t', token).is_none();
    if is_one { Ok(Some((scheme, token))) } else { Err(Reason::MalformedBearer) }
}

/// Returns the scheme whose challenge gets the error: the scheme of the header, even if the header is malformed. A
/// token in the body is a bearer token.
pub(crate) fn scheme(request: &Request<'_>) -> TokenScheme {
    let HeaderLine::One(header) = request.authorization else { return TokenScheme::Bearer };
    TokenScheme::named(split_scheme(header).0).unwrap_or_default()
}
