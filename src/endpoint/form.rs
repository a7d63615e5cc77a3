//! The first checks of every endpoint that takes a form, in their fixed order [RFC 6749 section 3.2].

use crate::config::Config;
use crate::error::Reason;
use crate::wire::params::{PARAMETERS, ParamLimits, Params};
use crate::wire::{Body, Endpoint, Request};

/// Reads the form of a request: method, size, media type, form encoding, UTF-8, repeats.
pub(crate) fn read<'a>(
    request: &Request<'a>,
    endpoint: Endpoint,
    known: &[&'static str],
    config: &Config,
) -> Result<Params<'a>, Reason> {
    if !endpoint.allows(request.method()) {
        return Err(Reason::MethodNotAllowed);
    }
    let bytes = match request.body_bytes() {
        Body::Bytes(bytes) if bytes.len() <= config.limits.body_bytes => bytes,
        Body::Bytes(_) | Body::TooLarge => return Err(Reason::TooLarge),
        Body::Empty => &[],
    };
    if !request.is_form() {
        return Err(Reason::MediaType);
    }
    let limits = ParamLimits { bytes: config.limits.body_bytes, parameters: PARAMETERS };
    let params = Params::parse(bytes, known, &limits).map_err(|_| Reason::MalformedParameters)?;
    if !params.all_utf8() {
        return Err(Reason::MalformedParameters);
    }
    match params.first_repeated() {
        Some(name) => Err(Reason::RepeatedParameter(name)),
        None => Ok(params),
    }
}
