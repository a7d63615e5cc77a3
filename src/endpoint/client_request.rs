//! What the endpoints for clients share: reading the form, and the response to a refused request.

use crate::client_auth;
use crate::client_auth::proof;
use crate::context::Context;
use crate::endpoint::form;
use crate::error::Reason;
use crate::error::response;
use crate::model::id::ClientId;
use crate::wire::params::Params;
use crate::wire::{Endpoint, Request, Response};

/// The parameters that an endpoint for clients knows: those that it reads itself, and those of client authentication.
pub(crate) struct Names(Vec<&'static str>);

impl Names {
    pub(crate) fn new(own: impl IntoIterator<Item = &'static str>) -> Self {
        Self(own.into_iter().chain(client_auth::PARAMETERS).collect())
    }
}

/// Reads the form of a request, before its client is authenticated.
pub(crate) fn read<'a>(
    context: &Context,
    request: &Request<'a>,
    endpoint: Endpoint,
    names: &Names,
) -> Result<Params<'a>, Reason> {
    form::read(request, endpoint, &names.0, &context.config)
}

/// Answers a refused request and raises the event for it.
pub(crate) fn refused(
    context: &Context,
    request: &Request<'_>,
    endpoint: Endpoint,
    client: Option<&ClientId>,
    reason: &Reason,
) -> Response {
    context.note_refusal(endpoint, client, reason);
    let response = response::to_client(reason, request, endpoint, &context.config);
    if matches!(reason, Reason::DpopNonceNeeded) { proof::with_nonce(context, response) } else { response }
}

/// The same as [`refused`], for a wrong redirect URI.
pub(crate) fn refused_for_uri(
    context: &Context,
    request: &Request<'_>,
    endpoint: Endpoint,
    client: &ClientId,
    uri: Option<&[u8]>,
    reason: &Reason,
) -> Response {
    context.note_refusal_of_uri(endpoint, Some(client), uri, reason);
    response::to_client(reason, request, endpoint, &context.config)
}
