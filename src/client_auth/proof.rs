//! The DPoP proof of a request at an endpoint [RFC 9449 section 5].

use crate::client_auth::dpop::nonce;
use crate::client_auth::dpop::{self, Expected, Proof, Role};
use crate::config::DpopBoundTokens;
use crate::context::Context;
use crate::error::Reason;
use crate::model::client::Client;
use crate::wire::request::HeaderLine;
use crate::wire::{Endpoint, Request, Response};

/// Returns the value of the `DPoP` header, if it was sent.
///
/// > There is not more than one DPoP HTTP request header field.
///
/// [RFC 9449 section 4.3]
pub(crate) fn dpop_header<'a>(request: &Request<'a>) -> Result<Option<&'a [u8]>, Reason> {
    match request.dpop {
        HeaderLine::Absent => Ok(None),
        HeaderLine::One(value) => Ok(Some(value)),
        HeaderLine::Several => Err(Reason::DpopProof("there is more than one DPoP header")),
    }
}

/// Returns the value of the `DPoP` header, if the endpoint reads it and it was sent.
pub(crate) fn header<'a>(
    context: &Context,
    request: &Request<'a>,
    endpoint: Endpoint,
) -> Result<Option<&'a [u8]>, Reason> {
    if context.config.dpop.reads_proofs() && endpoint.reads_proofs() { dpop_header(request) } else { Ok(None) }
}

/// Verifies the proof, but not whether it was used before: [`Context::use_proof`] checks that.
pub(crate) fn verify(
    context: &Context,
    request: &Request<'_>,
    endpoint: Endpoint,
    header: &[u8],
) -> Result<Proof, Reason> {
    let url = context.proof_url(endpoint);
    let url = url.ok_or(Reason::DpopProof("the issuer is not a URL that a proof can name"))?;
    let role = Role::AuthorizationServer;
    let expected = Expected { method: request.method, url, access_token: None, role };
    dpop::verify(header, &expected, &context.config, context.now())
}

/// Checks that a request may have no proof.
///
/// > If the value is true, the authorization server MUST reject token requests from the client that do not contain the
/// > DPoP header.
///
/// [RFC 9449 section 5.2]
pub(crate) fn check_absence(context: &Context, endpoint: Endpoint, client: &Client) -> Result<(), Reason> {
    let is_needed =
        context.config.dpop.tokens == DpopBoundTokens::Required || client.form.options.requires_dpop_bound_tokens;
    if is_needed && endpoint == Endpoint::Token { Err(Reason::MissingDpopProof) } else { Ok(()) }
}

/// Adds the current nonce to a response, if nonces are on.
///
/// > The authorization server MAY supply the new nonce in the same way that the initial one was supplied: by using a
/// > DPoP-Nonce HTTP header in the response.
///
/// [RFC 9449 section 8.2]
pub(crate) fn with_nonce(context: &Context, response: Response) -> Response {
    match nonce::current(&context.config, Role::AuthorizationServer, context.now()) {
        Some(nonce) => response.with_header(nonce::HEADER, nonce),
        None => response,
    }
}
