//! The authorization endpoint [RFC 6749 section 3.1]. It checks the whole request and stores nothing but the session
//! that presents a pushed request before its user has signed in.
//!
//! Until client and redirect URI are established, every error shows the page. After that, the configuration decides
//! which errors go to the client. None goes to one that awaits review.

use std::sync::Arc;

use crate::authorization::check_client;
use crate::authorization::document_client::{self, Visitor};
use crate::authorization::identity_request::{self, IdentityRequest, SIGNED_IN_SINCE};
use crate::authorization::pending::{AuthorizationError, PendingAuthorization, Presented};
use crate::authorization::pushed_request::{self, REQUEST_URI_PREFIX};
use crate::authorization::request::{self, Asked, Fault, NoDestination, names, wants_page};
use crate::base::id::ClientId;
use crate::config::AuthorizationErrors;
use crate::context::Context;
use crate::error::Reason;
use crate::model::client::{AskConsent, Client};
use crate::model::{Destination, PushedRequest, Redirection};
use crate::wire::params::{PARAMETERS, ParamLimits, Params, QUERY_BYTES, parameters_named};
use crate::wire::{Endpoint, Request};

/// Checks an authorization request.
pub(crate) async fn authorize(
    context: &Arc<Context>,
    request: &Request<'_>,
) -> Result<PendingAuthorization, AuthorizationError> {
    let page = |reason| AuthorizationError::page(context, reason);
    if !Endpoint::Authorization.allows(request.method) {
        return Err(page(Reason::MethodNotAllowed));
    }
    if let Some(reference) = reference(context, request) {
        return authorize_pushed(context, request, &reference).await;
    }
    let query = read(request.query, names(&context.config), &LIMITS).map_err(page)?;
    check_asked(context, request, &query, None).await
}

const REQUEST_URI: &str = "request_uri";
/// The only parameters that are read from a query with a `request_uri`.
const REFERENCE: [&str; 2] = [REQUEST_URI, "client_id"];

/// Returns the parameters that name a pushed request, if the query has one and clients may push.
///
/// > The authorization server MUST only use the parameters in the Request Object, even if the same parameter is
/// > provided in the query parameter.
///
/// [RFC 9101 section 6.3, to which RFC 9126 section 4 leads]
fn reference(context: &Context, request: &Request<'_>) -> Option<Vec<u8>> {
    if !context.config.pushed_requests.are_taken() || request.query.len() > QUERY_BYTES {
        return None;
    }
    let named = parameters_named(request.query, &REFERENCE);
    let query = read(&named, &REFERENCE, &LIMITS);
    // A repeated or malformed reference counts as one too.
    let is_reference = match &query {
        // One of another kind is refused by name, after the client is known.
        Ok(query) if context.config.has_identity() => is_issued(query),
        Ok(query) => query.bytes(REQUEST_URI).is_some(),
        Err(_) => !parameters_named(&named, &[REQUEST_URI]).is_empty(),
    };
    is_reference.then_some(named)
}

fn is_issued(query: &Params<'_>) -> bool {
    query.bytes(REQUEST_URI).is_some_and(|uri| uri.starts_with(REQUEST_URI_PREFIX.as_bytes()))
}

/// RFC 9126 section 4: the pushed parameters are checked like those of any request, against the current registration.
async fn authorize_pushed(
    context: &Arc<Context>,
    request: &Request<'_>,
    reference: &[u8],
) -> Result<PendingAuthorization, AuthorizationError> {
    let page = |reason| AuthorizationError::page(context, reason);
    let query = read(reference, &REFERENCE, &LIMITS).map_err(page)?;
    let client = query.bytes("client_id").ok_or(Reason::MissingParameter("client_id")).map_err(page)?;
    let uri = query.bytes(REQUEST_URI).ok_or(Reason::UnknownRequestUri).map_err(page)?;
    let request_uri = str::from_utf8(uri).map_err(|_| page(Reason::UnknownRequestUri))?.into();
    let pushed = pushed_request::visit(context, request, uri, client).await.map_err(page)?;
    let presented = Presented { from: pushed.reference(), request_uri, used_by: pushed.used_by };
    let unlimited = ParamLimits { bytes: usize::MAX, parameters: usize::MAX };
    let query = read(pushed.parameters.as_bytes(), names(&context.config), &unlimited).map_err(page)?;
    let pending = check_asked(context, request, &query, Some(&pushed)).await?;
    Ok(PendingAuthorization { pushed: Some(presented), ..pending })
}

/// Checks the size, the form encoding, and that no parameter that decides where the response goes is repeated.
fn read<'a>(bytes: &'a [u8], names: &[&'static str], limits: &ParamLimits) -> Result<Params<'a>, Reason> {
    let query = Params::parse(bytes, names, limits).map_err(|_| Reason::MalformedParameters)?;
    match ["client_id", "redirect_uri", REQUEST_URI].into_iter().find(|name| query.is_repeated(name)) {
        Some(name) => Err(Reason::RepeatedParameter(name)),
        None => Ok(query),
    }
}

const LIMITS: ParamLimits = ParamLimits { bytes: QUERY_BYTES, parameters: PARAMETERS };

/// Checks the request. If it permits no page, its error leads to no sign-in.
async fn check_asked(
    context: &Arc<Context>,
    request: &Request<'_>,
    query: &Params<'_>,
    pushed: Option<&PushedRequest>,
) -> Result<PendingAuthorization, AuthorizationError> {
    let is_silent = context.config.has_identity() && identity_request::is_silent(query);
    let checked = check(context, request, query, pushed).await;
    checked.map_err(|error| if is_silent { error.silently() } else { error })
}

/// Checks the client, the redirect URI, and then everything else.
async fn check(
    context: &Arc<Context>,
    request: &Request<'_>,
    query: &Params<'_>,
    pushed: Option<&PushedRequest>,
) -> Result<PendingAuthorization, AuthorizationError> {
    let page = |reason| AuthorizationError::page(context, reason);
    let found = match document_client::named(context, query.bytes("client_id")) {
        Some(id) => {
            let visitor = Visitor { subject: request.subject, peer: request.peer };
            document_client::find(context, visitor, id).await?
        }
        None => client(context, query).await.map(document_client::Found::stored).map_err(page)?,
    };
    let document_client::Found { client, document } = found;
    // Everything granted to the client was revoked after it pushed the request.
    if let Some(pushed) = pushed
        && client.has_revoked(pushed.epoch).map_err(|stale| page(stale.into()))?
    {
        return Err(page(Reason::UnknownRequestUri));
    }
    let redirect_uri =
        request::redirect_uri(context, &client, query).map_err(|refused| no_destination(context, &client, refused))?;
    let to = Redirection {
        redirect_uri,
        is_named: query.bytes("redirect_uri").is_some(),
        state: request::state(context, query).ok().flatten().map(Into::into),
    };
    if !to.is_named && request::asks_for_openid(context, query) {
        return Err(no_destination(context, &client, NoDestination::Missing));
    }
    let asked = judge(context, &client, query, request, pushed.is_some());
    let asked = asked.map_err(|fault| refused(context, &client, &to, fault))?;
    let Asked { challenge, key, terms, identity, has_dropped_scopes, protected_resources } = asked;
    let ask_consent = context.config.ask_consent(&client);
    let sent = pushed.map_or(request.query, |pushed| pushed.parameters.as_bytes());
    let identity = identity.map(|identity| first_judged(context, request, query, pushed, identity));
    let wants_page = identity.as_ref().map_or_else(|| wants_page(sent), IdentityRequest::asks);
    let is_navigation = request.is_navigation();
    Ok(PendingAuthorization {
        client,
        destination: Destination::Browser(to),
        challenge,
        terms,
        has_dropped_scopes,
        protected_resources,
        catalog: context.config.scopes.clone(),
        peer: request.peer,
        document,
        key: pushed.and_then(|pushed| pushed.key).or(key),
        pushed: None,
        ask_consent,
        needs_page: ask_consent == AskConsent::Always || !is_navigation || wants_page,
        is_navigation,
        identity: identity.map(Box::new),
    })
}

/// Adds when the request was first judged: when the return address says so, or when it was pushed.
fn first_judged(
    context: &Context,
    request: &Request<'_>,
    query: &Params<'_>,
    pushed: Option<&PushedRequest>,
    identity: IdentityRequest,
) -> IdentityRequest {
    let Some(pushed) = pushed else {
        return identity.since(query, context.now(), context.config.authorization.hold_lifetime);
    };
    // Beside a `request_uri`, the parameter says only that the user has been sent to choose an account.
    let has_selected = !parameters_named(request.query, &[SIGNED_IN_SINCE]).is_empty();
    IdentityRequest { since: Some(pushed.created), has_selected, ..identity }
}

/// § 3.1.2.4: only the user learns that a client is unknown or not approved.
async fn client(context: &Context, query: &Params<'_>) -> Result<Arc<Client>, Reason> {
    let id = query.bytes("client_id").ok_or(Reason::MissingParameter("client_id"))?;
    let id = str::from_utf8(id).map_err(|_| Reason::UnknownClient)?;
    let id = ClientId::new(id).map_err(|_| Reason::UnknownClient)?;
    let client = context.client(&id).await?.ok_or(Reason::UnknownClient)?;
    check_client(context, &client)?;
    Ok(client)
}

/// Checks whether the request must be pushed [RFC 9126 section 5], then what it asks for.
fn judge(
    context: &Context,
    client: &Client,
    query: &Params<'_>,
    request: &Request<'_>,
    is_pushed: bool,
) -> Result<Asked, Fault> {
    let is_by_reference = || !parameters_named(request.query, &[REQUEST_URI]).is_empty();
    if !is_pushed && context.config.has_identity() && is_by_reference() {
        return Err(Reason::ForeignRequestUri.into());
    }
    let must_be_pushed = context.config.pushed_requests.are_required() || client.form.options.requires_pushed_requests;
    if must_be_pushed && !is_pushed {
        return Err(Reason::NotPushed.into());
    }
    request::judge(context, client, query)
}

fn no_destination(context: &Context, client: &Client, refused: NoDestination<'_>) -> AuthorizationError {
    match refused {
        NoDestination::Missing => AuthorizationError::page_for(context, &client.id, Reason::MissingRedirectUri),
        NoDestination::Refused(uri, error) => {
            let reason = Reason::RedirectUri(error);
            AuthorizationError::page_for_uri(context, &client.id, uri, reason).naming_registered(client)
        }
    }
}

fn refused(context: &Context, client: &Client, to: &Redirection, fault: Fault) -> AuthorizationError {
    match (fault, context.config.authorization.errors) {
        (Fault::OfServiceParameter(reason) | Fault::Other(reason), _) if !client.is_approved() => {
            AuthorizationError::page_for(context, &client.id, reason)
        }
        (Fault::OfServiceParameter(reason), AuthorizationErrors::PageForServiceParameters) => {
            AuthorizationError::page_for(context, &client.id, reason)
        }
        (Fault::OfServiceParameter(reason), AuthorizationErrors::Rfc6749) | (Fault::Other(reason), _) => {
            AuthorizationError::redirect(context, client, to, reason)
        }
    }
}
