//! The authorization endpoint [RFC 6749 section 3.1]: checks everything, and stores nothing, except a client whose
//! metadata document has to await review.
//!
//! Until client and redirect URI are established, every fault shows the page. After that, the
//! configuration decides which faults go to the client.

use std::net::IpAddr;
use std::sync::Arc;

use crate::client::redirect_uri::{RedirectUri, RedirectUriError};
use crate::client::{Client, GrantType};
use crate::config::{AuthorizationErrors, StateCharacters};
use crate::context::Context;
use crate::endpoint::pending::{AuthorizationError, Destination, PendingAuthorization};
use crate::endpoint::{document, stored};
use crate::error::Reason;
use crate::id::ClientId;
use crate::pkce::CodeChallenge;
use crate::protected_resource::{Named, Target};
use crate::scope::{ScopeError, ScopeSet};
use crate::wire::params::{ParamLimits, Params, RESOURCE};
use crate::wire::{Endpoint, Request};

const NAMES: [&str; 8] = [
    "response_type",
    "client_id",
    "redirect_uri",
    "state",
    "scope",
    "code_challenge",
    "code_challenge_method",
    RESOURCE,
];

/// Checks an authorization request.
pub(crate) async fn authorize(
    context: &Arc<Context>,
    request: &Request<'_>,
) -> Result<PendingAuthorization, AuthorizationError> {
    let query = read(context, request).map_err(|reason| AuthorizationError::page(context, reason))?;
    let found = match document::named(context, query.octets("client_id")) {
        // Boxed, because it is rare and would make the future of every request larger.
        Some(id) => Box::pin(document::find(context, request, id)).await?,
        None => client(context, &query)
            .await
            .map(document::Found::stored)
            .map_err(|reason| AuthorizationError::page(context, reason))?,
    };
    let document::Found { client, document } = found;
    let redirect_uri =
        redirect_uri(context, &client, &query).map_err(|refused| refused.into_error(context, &client))?;
    let pending = judge(context, &client, &redirect_uri, &query, request.peer_address())?;
    Ok(PendingAuthorization { document, ..pending })
}

/// Method, size, form encoding, and repeats of what decides where an answer may go.
fn read<'a>(context: &Context, request: &Request<'a>) -> Result<Params<'a>, Reason> {
    let config = &context.config;
    if !Endpoint::Authorization.allows(request.method()) {
        return Err(Reason::MethodNotAllowed);
    }
    let limits = ParamLimits { octets: config.query_octets, parameters: config.parameters };
    let query =
        Params::parse(request.query_octets(), NAMES.into_iter(), &limits).map_err(|_| Reason::MalformedParameters)?;
    match ["client_id", "redirect_uri"].into_iter().find(|name| query.is_repeated(name)) {
        Some(name) => Err(Reason::RepeatedParameter(name)),
        None => Ok(query),
    }
}

/// § 3.1.2.4: an unknown or unapproved client is told to the user alone.
async fn client(context: &Context, query: &Params<'_>) -> Result<Arc<Client>, Reason> {
    let id = query.octets("client_id").ok_or(Reason::MissingParameter("client_id"))?;
    let id = str::from_utf8(id).map_err(|_| Reason::UnknownClient)?;
    let id = ClientId::new(id).map_err(|_| Reason::UnknownClient)?;
    let client = stored::find(context, &id).await?.ok_or(Reason::UnknownClient)?;
    stored::check(context, &client)?;
    Ok(client)
}

/// Why there is nowhere to send an answer to.
enum NoDestination<'a> {
    Missing,
    Refused(&'a [u8], RedirectUriError),
}

impl NoDestination<'_> {
    fn into_error(self, context: &Context, client: &Client) -> AuthorizationError {
        match self {
            Self::Missing => AuthorizationError::page_for(context, client, Reason::MissingRedirectUri),
            Self::Refused(uri, error) => {
                AuthorizationError::page_for_uri(context, &client.id, uri, Reason::RedirectUri(error))
            }
        }
    }
}

/// § 3.1.2.3: one of the registered ones; if only one is registered, it may be left out.
fn redirect_uri<'a>(
    context: &Context,
    client: &'a Client,
    query: &'a Params<'_>,
) -> Result<RedirectUri, NoDestination<'a>> {
    let policy = &*context.config.redirect_uris_of(client);
    let Some(requested) = query.octets("redirect_uri") else {
        return match client.redirect_uris.as_slice() {
            [only] => only.stand_in(policy).map_err(|error| NoDestination::Refused(only.as_str().as_bytes(), error)),
            _ => Err(NoDestination::Missing),
        };
    };
    let mut failure = RedirectUriError::Mismatch;
    for registered in &client.redirect_uris {
        match registered.matches(requested, policy) {
            Ok(accepted) => return Ok(accepted),
            Err(error) => failure = error,
        }
    }
    Err(NoDestination::Refused(requested, failure))
}

/// All else, in a fixed order.
fn judge(
    context: &Context,
    client: &Arc<Client>,
    redirect_uri: &RedirectUri,
    query: &Params<'_>,
    peer: Option<IpAddr>,
) -> Result<PendingAuthorization, AuthorizationError> {
    let state = state(context, query);
    let destination = Destination { redirect_uri, state: state.as_ref().ok().copied().flatten() };
    let to_client = |reason| AuthorizationError::redirect(context, client, destination, reason);
    let own_parameter = |reason| match context.config.authorization_errors {
        AuthorizationErrors::PageForServiceParameters => AuthorizationError::page_for(context, client, reason),
        AuthorizationErrors::Rfc6749 => to_client(reason),
    };
    let state = state.map_err(own_parameter)?;
    response_type(query).map_err(own_parameter)?;
    if let Some(name) = query.first_repeated() {
        return Err(to_client(Reason::RepeatedParameter(name)));
    }
    if !client.grant_types.contains(GrantType::AuthorizationCode) {
        return Err(to_client(Reason::GrantTypeNotRegistered));
    }
    let challenge = challenge(context, client, query).map_err(to_client)?;
    let target =
        context.resources.asked(Named::of(query), client, &client.scopes).map_err(|error| to_client(error.into()))?;
    let scopes = scopes(context, client, query, &target).map_err(to_client)?;
    Ok(PendingAuthorization {
        client: client.clone(),
        redirect_uri: redirect_uri.clone(),
        redirect_uri_named: query.octets("redirect_uri").is_some(),
        challenge,
        state: state.map(Into::into),
        scopes,
        audience: target.audience().clone(),
        protected_resources: target.entries().iter().map(|entry| entry.settings.clone()).collect(),
        catalog: context.config.scopes.clone(),
        peer,
        document: None,
    })
}

/// Appendix A.5 in strict mode, any octets otherwise; the octets are kept as they are.
fn state<'q>(context: &Context, query: &'q Params<'_>) -> Result<Option<&'q [u8]>, Reason> {
    if query.is_repeated("state") {
        return Err(Reason::RepeatedParameter("state"));
    }
    let Some(state) = query.octets("state") else { return Ok(None) };
    let visible = || state.iter().all(|octet| (0x20..=0x7e).contains(octet));
    let refused = context.config.state == StateCharacters::Visible && !visible();
    if refused || state.len() > context.config.state_octets { Err(Reason::State) } else { Ok(Some(state)) }
}

/// § 3.1.1: exactly `code`.
fn response_type(query: &Params<'_>) -> Result<(), Reason> {
    if query.is_repeated("response_type") {
        return Err(Reason::RepeatedParameter("response_type"));
    }
    match query.octets("response_type") {
        Some(b"code") => Ok(()),
        Some(_) => Err(Reason::UnknownResponseType),
        None => Err(Reason::MissingParameter("response_type")),
    }
}

/// RFC 7636 section 4.3: S256 alone; no method would mean `plain`.
fn challenge(context: &Context, client: &Client, query: &Params<'_>) -> Result<Option<CodeChallenge>, Reason> {
    let method = query.octets("code_challenge_method");
    let Some(challenge) = query.octets("code_challenge") else {
        return match method {
            Some(_) => Err(Reason::ChallengeMethod),
            None if context.config.needs_pkce(client) => Err(Reason::MissingChallenge),
            None => Ok(None),
        };
    };
    if method != Some(CodeChallenge::METHOD.as_bytes()) {
        return Err(Reason::ChallengeMethod);
    }
    CodeChallenge::parse(challenge).map(Some).map_err(|_| Reason::MalformedChallenge)
}

/// § 3.3: no more than was registered, and than the protected resources serve; nothing asked means all of it.
fn scopes(context: &Context, client: &Client, query: &Params<'_>, target: &Target<'_>) -> Result<ScopeSet, Reason> {
    if client.resource_scope.is_empty() {
        return Err(Reason::ExcessScope);
    }
    let Some(scope) = query.octets("scope") else {
        // What left the catalog since cannot be shown, so it is not asked for.
        let registered = target.served_of(context.config.scopes.known_part(&client.default_scopes()));
        return if registered.is_empty() { Err(Reason::Scope(ScopeError::Malformed)) } else { Ok(registered) };
    };
    let asked = context.config.scopes.read(scope).map_err(Reason::Scope)?;
    if asked.is_subset_of(&client.scopes) && target.serves(&asked) { Ok(asked) } else { Err(Reason::ExcessScope) }
}
