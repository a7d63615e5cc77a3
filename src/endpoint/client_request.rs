//! What the endpoints for clients share: reading the form, and the response to a refused request.

use crate::base::id::ClientId;
use crate::client_auth::{self, Caller, proof};
use crate::context::Context;
use crate::error::Reason;
use crate::error::response;
use crate::wire::params::{PARAMETERS, ParamLimits, Params};
use crate::wire::{Body, Endpoint, Request, Response};

/// The parameters that an endpoint for clients knows: those that it reads itself, and those of client authentication.
pub(crate) struct Names(Vec<&'static str>);

impl Names {
    pub(crate) fn new(own: impl IntoIterator<Item = &'static str>) -> Self {
        Self(own.into_iter().chain(client_auth::PARAMETERS).collect())
    }
}

/// Reads the form of a request, then authenticates its client.
///
/// # Errors
///
/// The response to a refused request.
pub(crate) async fn read<'a>(
    context: &Context,
    request: &Request<'a>,
    endpoint: Endpoint,
    names: &Names,
) -> Result<(Params<'a>, Caller), Response> {
    let refuse = |reason| refused(context, request, endpoint, None, None, &reason);
    let form = form(context, request, endpoint, names).map_err(refuse)?;
    let caller = client_auth::identify(context, request, endpoint, &form).await.map_err(refuse)?;
    Ok((form, caller))
}

/// The first checks of every endpoint that takes a form, in their fixed order [RFC 6749 section 3.2]: method, size,
/// media type, form encoding, UTF-8, repeats.
fn form<'a>(context: &Context, request: &Request<'a>, endpoint: Endpoint, names: &Names) -> Result<Params<'a>, Reason> {
    if !endpoint.allows(request.method) {
        return Err(Reason::MethodNotAllowed);
    }
    let bytes = body(context, request)?;
    if !request.is_form() {
        return Err(Reason::MediaType);
    }
    let limits = ParamLimits { bytes: context.config.limits.body_bytes, parameters: PARAMETERS };
    let params = Params::parse_body(bytes, &names.0, &limits).map_err(|_| Reason::MalformedParameters)?;
    if !params.all_utf8() {
        return Err(Reason::MalformedParameters);
    }
    match params.first_repeated() {
        Some(name) => Err(Reason::RepeatedParameter(name)),
        None => Ok(params),
    }
}

/// The body, if it is not too large.
pub(crate) fn body<'a>(context: &Context, request: &Request<'a>) -> Result<&'a [u8], Reason> {
    match request.body {
        Body::Bytes(bytes) if bytes.len() <= context.config.limits.body_bytes => Ok(bytes),
        Body::Bytes(_) | Body::TooLarge => Err(Reason::TooLarge),
        Body::Empty => Ok(&[]),
    }
}

/// Answers a refused request and raises the event for it, with the redirect URI of the form if that is wrong.
pub(crate) fn refused(
    context: &Context,
    request: &Request<'_>,
    endpoint: Endpoint,
    client: Option<&ClientId>,
    form: Option<&Params<'_>>,
    reason: &Reason,
) -> Response {
    let is_of_uri = matches!(reason, Reason::RedirectUri(_) | Reason::RedirectUriMismatch);
    let uri = form.filter(|_| is_of_uri).and_then(|form| form.bytes("redirect_uri"));
    context.note_refusal(endpoint, client, uri, reason);
    let response = response::to_client(reason, request, endpoint, &context.config);
    if matches!(reason, Reason::DpopNonceNeeded) { proof::with_nonce(context, response) } else { response }
}
