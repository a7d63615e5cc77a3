//! The introspection endpoint [RFC 7662]: what an access token may do, for resource servers elsewhere.

use crate::client::Client;
use crate::context::Context;
use crate::endpoint::client_auth::{self, Submitted};
use crate::error::Reason;
use crate::id::{ClientId, GrantId};
use crate::message::{IntrospectionResponse, TokenType};
use crate::scope::ResourceScope;
use crate::secret::opaque::Presented;
use crate::store::record::{Grant, TokenPair};
use crate::wire::{Endpoint, Request, Response};

const NAMES: [&str; 4] = ["token", "token_type_hint", "client_id", "client_secret"];

pub(crate) async fn serve(context: &Context, request: &Request<'_>) -> Response {
    let refuse =
        |client: Option<&ClientId>, reason| client_auth::refused(context, Endpoint::Introspection, client, &reason);
    let submitted = match client_auth::submitted(context, request, Endpoint::Introspection, &NAMES).await {
        Ok(submitted) => submitted,
        Err(reason) => return refuse(None, reason),
    };
    match answer(context, &submitted).await {
        Ok(message) => Response::token_json(200, serde_json::to_vec(&message).unwrap_or_default()),
        Err(reason) => refuse(Some(&submitted.client.id), reason),
    }
}

async fn answer(context: &Context, submitted: &Submitted<'_, 4>) -> Result<IntrospectionResponse, Reason> {
    let token = submitted.form.octets("token").ok_or(Reason::MissingParameter("token"))?;
    let described = describe(context, &submitted.client, token).await?;
    Ok(described.unwrap_or_else(IntrospectionResponse::inactive))
}

/// § 2.2: a live access token that the caller may see; of all else nothing is told.
async fn describe(context: &Context, caller: &Client, token: &[u8]) -> Result<Option<IntrospectionResponse>, Reason> {
    let Some(presented) = Presented::parse(&context.config.prefixes.access_token, token) else { return Ok(None) };
    let Some(grant) = context.stores.tokens.find(&GrantId::from_octets(presented.id)).await? else {
        return Ok(None);
    };
    if grant.client != caller.id && !caller.may_introspect {
        return Ok(None);
    }
    let Some(owner) = context.stores.clients.find(&grant.client).await? else { return Ok(None) };
    let usable = grant.revoked.is_none() && owner.is_approved() && owner.epoch == grant.epoch;
    let pair = grant.pairs.with_access(&presented.digest);
    let pair = pair.filter(|pair| usable && pair.access_is_live(context.now()));
    Ok(pair.map(|pair| message(context, &owner, &grant, pair)))
}

fn message(context: &Context, owner: &Client, grant: &Grant, pair: &TokenPair) -> IntrospectionResponse {
    let scopes = pair.narrowed().unwrap_or(&grant.scopes).intersection(&owner.scopes);
    let resources = grant.resource_scope.narrowed_to(&owner.resource_scope);
    let mut message = IntrospectionResponse::active();
    message.scope = Some(context.config.scopes.to_wire(&scopes).into_owned());
    message.client_id = Some(grant.client.to_string());
    message.token_type = Some(TokenType::Bearer);
    message.exp = Some(pair.access_end.seconds().into());
    message.iat = Some(pair.issued().seconds().into());
    message.sub = Some(grant.subject.to_string());
    message.aud = context.audience().map(str::to_owned).into_iter().collect();
    message.iss.clone_from(&context.issuer);
    message.resource_scope = Some(resources.as_str().to_owned());
    if let ResourceScope::Specified(list) = &resources {
        message.resources = Some(list.iter().map(str::to_owned).collect());
    }
    message
}
