//! The token endpoint [RFC 6749 section 3.2]: the order of checks, then the grant type.

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use crate::base::id::IdText;
use crate::client_auth::{Caller, proof};
use crate::context::Context;
use crate::context::uses::Uses;
use crate::endpoint::client_request;
use crate::endpoint::client_request::Names;
use crate::error::Reason;
use crate::grant;
use crate::grant::issue::{ACCESS_TOKEN, Issued, SignedMember};
use crate::grant::request::{TokenRequest, parameters};
use crate::jose::JwkThumbprint;
use crate::model::client::{Client, GrantType};
use crate::registration::usage;
use crate::wire::message::TokenType;
use crate::wire::params::Params;
use crate::wire::{Endpoint, Request, Response};

static NAMES: LazyLock<Names> = LazyLock::new(|| Names::new(parameters()));

pub(crate) async fn serve(context: &Arc<Context>, request: &Request<'_>) -> Response {
    const ENDPOINT: Endpoint = Endpoint::Token;
    let (form, Caller { client, key, uses }) = match client_request::read(context, request, ENDPOINT, &NAMES).await {
        Ok(read) => read,
        Err(response) => return response,
    };
    match answer(context, &client, key.as_ref(), &uses, &form).await {
        Ok(issued) => {
            if client.is_unreviewed() {
                note_use(context, &client).await;
            }
            match key {
                None => token_response(context, &issued, TokenType::Bearer),
                Some(_) => proof::with_nonce(context, token_response(context, &issued, TokenType::Dpop)),
            }
        }
        Err(reason) => client_request::refused(context, request, ENDPOINT, Some(&client.id), Some(&form), &reason),
    }
}

/// Checks that the grant type is offered and registered, then answers the request.
async fn answer(
    context: &Context,
    client: &Client,
    key: Option<&JwkThumbprint>,
    uses: &Uses,
    form: &Params<'_>,
) -> Result<Issued, Reason> {
    let name = form.bytes("grant_type").ok_or(Reason::MissingParameter("grant_type"))?;
    let grant_type = GrantType::parse(name).filter(|own| context.config.offered_grant_types().contains(*own));
    let grant_type = grant_type.ok_or(Reason::UnknownGrantType)?;
    if !client.form.grant_types.contains(grant_type) {
        return Err(Reason::GrantTypeNotRegistered);
    }
    grant::answer(context, grant_type, &TokenRequest::read(client, key, uses, form)).await
}

/// Records that the client is used. A separate future keeps the futures of other requests small.
async fn note_use(context: &Arc<Context>, client: &Client) {
    let tokens = &context.config.tokens;
    let until = context.now().plus(tokens.refresh_lifetime.max(tokens.access_lifetime));
    // If this fails, one of the next refreshes records the use.
    let _ = usage::note_use(context, client, until).await;
}

/// § 5.1
///
/// The JSON is written without a serialiser, which would take a tenth of an exchange to look for characters to escape.
/// There are none: prefixes, ids and tokens have only unreserved characters, a JWT has base64url and periods, and a
/// scope has no quotes and backslashes [RFC 6749 section 3.3].
fn token_response(context: &Context, issued: &Issued, token_type: TokenType) -> Response {
    let Issued { grant, access_token, refresh_token, expires_in, scopes, signed } = issued;
    let (prefixes, id) = (&context.prefixes, IdText::of(grant.as_bytes()));
    let mut json = String::with_capacity(512);
    json.push_str(r#"{"access_token":""#);
    match signed.iter().find(|member| member.name == ACCESS_TOKEN) {
        Some(SignedMember { jwt, .. }) => json.push_str(jwt),
        None => json.extend(access_token.parts(&prefixes.access_token, &id)),
    }
    json.extend([r#"","token_type":""#, token_type.as_str(), r#"","expires_in":"#]);
    // Writing to a text cannot fail.
    let _ = write!(json, "{expires_in}");
    if let Some(refresh_token) = refresh_token {
        json.push_str(r#","refresh_token":""#);
        json.extend(refresh_token.parts(&prefixes.refresh_token, &id));
        json.push('"');
    }
    json.extend([r#","scope":""#, &context.config.scopes.to_wire(scopes), "\""]);
    for SignedMember { name, jwt } in signed.iter().filter(|member| member.name != ACCESS_TOKEN) {
        json.extend([r#",""#, name, r#"":""#, jwt, "\""]);
    }
    json.push('}');
    Response::tokens(json)
}
