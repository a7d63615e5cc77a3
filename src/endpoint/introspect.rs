//! The introspection endpoint [RFC 7662]: reports what an access token allows, for resource servers in other processes.
//!
//! Refresh tokens are not active here: a resource server must not take one for an access token.

use std::sync::LazyLock;

use crate::client_auth::Caller;
use crate::context::Context;
use crate::endpoint::client_request;
use crate::endpoint::client_request::Names;
use crate::error::Reason;
use crate::grant::issue::DescribedToken;
use crate::hooks::{Event, TokenContext};
use crate::model::client::Client;
use crate::model::protected_resource::Target;
use crate::resource::access_token::{self, UsableToken};
use crate::wire::message::{Confirmation, IntrospectionResponse, TokenType};
use crate::wire::params::{Params, RESOURCE};
use crate::wire::{Endpoint, Request, Response};

static NAMES: LazyLock<Names> = LazyLock::new(|| Names::new(["token", "token_type_hint", RESOURCE]));

pub(crate) async fn serve(context: &Context, request: &Request<'_>) -> Response {
    const ENDPOINT: Endpoint = Endpoint::Introspection;
    let (form, caller) = match client_request::read(context, request, ENDPOINT, &NAMES).await {
        Ok(read) => read,
        Err(response) => return response,
    };
    match answer(context, &caller, &form).await {
        Ok(message) => Response::json(200, &message),
        Err(reason) => {
            client_request::refused(context, request, ENDPOINT, Some(&caller.client.id), Some(&form), &reason)
        }
    }
}

async fn answer(context: &Context, caller: &Caller, form: &Params<'_>) -> Result<IntrospectionResponse, Reason> {
    let Caller { client, uses, .. } = caller;
    let token = form.bytes("token").ok_or(Reason::MissingParameter("token"))?;
    let described = describe(context, client, token).await?;
    // Any client may ask about any text. Only one that may see others' tokens uses its assertion up with that.
    if described.is_some() || client.may_introspect() || is_resource_server(context, client) {
        uses.record(context).await?;
    }
    Ok(described.unwrap_or_else(IntrospectionResponse::inactive))
}

/// § 2.2: "If the introspection call is properly authorized but the token is not active, does not exist on this
/// server, or the protected resource is not allowed to introspect this particular token, then the authorization
/// server MUST return an introspection response with the "active" field set to "false"."
async fn describe(context: &Context, caller: &Client, token: &[u8]) -> Result<Option<IntrospectionResponse>, Reason> {
    let Some(token) = access_token::find(context, token).await? else { return Ok(None) };
    // § 4: a resource server sees only tokens for its own resources.
    if is_resource_server(context, caller) {
        let seen = context.resources.seen(token.audience(), &token.client, |entry| entry.is_served_by(&caller.id));
        if seen.entries().is_empty() {
            report_refusal(context, &token, caller);
            return Ok(None);
        }
        return message(context, &token, &seen);
    }
    if token.client.id != caller.id && !caller.may_introspect() {
        report_refusal(context, &token, caller);
        return Ok(None);
    }
    let seen = context.resources.seen(token.audience(), &token.client, |_| true);
    message(context, &token, &seen)
}

fn is_resource_server(context: &Context, client: &Client) -> bool {
    !client.counts_as_public() && context.resources.is_resource_server(&client.id)
}

/// Reports a client that asks about a token without the right to, at most once a minute: a client that asks about one
/// token a thousand times fills no log.
fn report_refusal(context: &Context, token: &UsableToken, caller: &Client) {
    let event = Event::IntrospectionRefused { grant: token.grant.id, client: &caller.id };
    context.raise_once_a_minute(&context.refused_introspections, caller.id.as_str(), &event);
}

/// Returns the response for a live token; `None` if nothing of its scopes is left.
fn message(context: &Context, token: &UsableToken, seen: &Target<'_>) -> Result<Option<IntrospectionResponse>, Reason> {
    let UsableToken { grant, client, access } = token;
    let Some(described) = DescribedToken::of(context, grant, client, access, seen) else { return Ok(None) };
    let audience: Vec<&str> = match seen.entries() {
        [] => vec![&context.config.issuer],
        entries => entries.iter().map(|entry| &*entry.settings.identifier).collect(),
    };
    let own = TokenContext {
        grant: grant.id,
        data: grant.data_of(client),
        client,
        subject: token.subject(),
        audience: &audience,
        scopes: &described.scopes,
    };
    let mut message = IntrospectionResponse::active();
    (message.members, _) = context.own_claims(&own)?;
    message.scope = described.scope(context);
    message.client_id = Some(client.id.to_string());
    message.token_type = Some(if token.key().is_some() { TokenType::Dpop } else { TokenType::Bearer });
    message.cnf = token.key().copied().map(Confirmation::by_key);
    message.exp = Some(token.end().seconds().into());
    message.iat = Some(token.issued().seconds().into());
    message.sub = token.subject().map(ToString::to_string);
    message.aud = audience.into_iter().map(str::to_owned).collect();
    message.iss = Some(context.config.issuer.clone());
    message.resource_scope = Some(described.resources.as_str().to_owned());
    message.resources = described.resource_names();
    Ok(Some(message))
}
