//! The bearer token in the header of a request [RFC 6750 section 2.1].

use memchr::memchr2;

use crate::error::Reason;
use crate::wire::Request;
use crate::wire::request::{HeaderLine, split_scheme};

/// § 2.1: the scheme in any case, then exactly one token of the allowed characters.
pub(crate) fn in_header<'a>(request: &Request<'a>) -> Result<Option<&'a [u8]>, Reason> {
    let header = match request.authorization() {
        HeaderLine::Absent => return Ok(None),
        HeaderLine::One(header) => header,
        HeaderLine::Several => return Err(Reason::MalformedBearer),
    };
    let (scheme, rest) = split_scheme(header);
    if !scheme.eq_ignore_ascii_case(b"bearer") {
        return Ok(None);
    }
    let token = rest.trim_ascii_start();
    // No token of this server has characters that § 2.1 does not allow.
    let is_one = !token.is_empty() && memchr2(b' ', b'\t', token).is_none();
    if is_one { Ok(Some(token)) } else { Err(Reason::MalformedBearer) }
}
