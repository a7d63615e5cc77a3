//! Who the user is, for a client with an access token [OpenID Connect Core section 5.3].

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::context::Context;
use crate::error::response::Challenge;
use crate::error::{Reason, response};
use crate::hooks::{Event, UserClaims, UserContext};
use crate::model::Replay;
use crate::resource::access_token::{self, UsableToken};
use crate::resource::{form_token, possession};
use crate::scope::OPENID;
use crate::wire::response::TokenScheme;
use crate::wire::{Endpoint, Request, Response};

const ENDPOINT: Endpoint = Endpoint::UserInfo;

/// Answers with the claims that the token covers. Its audience does not matter: a client has one token, for an API.
pub(crate) async fn serve(context: &Arc<Context>, request: &Request<'_>) -> Response {
    if !ENDPOINT.allows(request.method) {
        return response::to_client(&Reason::MethodNotAllowed, request, ENDPOINT, &context.config);
    }
    match answer(context, request).await {
        Ok(claims) => Response::plain_json(200, &claims),
        Err(reason) => refused(context, request, &reason),
    }
}

fn refused(context: &Context, request: &Request<'_>, reason: &Reason) -> Response {
    context.events.note_clock(reason, || context.now());
    // A request without a token has used no scheme.
    let is_silent = matches!(reason, Reason::NoAccessToken);
    let scheme = if is_silent { TokenScheme::Bearer } else { access_token::scheme(request) };
    let scope = if matches!(reason, Reason::InsufficientScope) { OPENID } else { "" };
    let is_nonce = matches!(reason, Reason::DpopNonceNeeded);
    let nonce = if is_nonce { possession::nonce(&context.config, context.now()) } else { None };
    response::at_resource(reason, Challenge { scope, resource_metadata: "", scheme }, nonce, &context.config)
}

async fn answer(context: &Context, request: &Request<'_>) -> Result<Map<String, Value>, Reason> {
    let (token, proof) = token(context, request).await?;
    let scopes = context.config.scopes.known_part(&token.scopes());
    let subject = token.subject().filter(|_| scopes.contains_name(OPENID)).ok_or(Reason::InsufficientScope)?;
    match context.check_subject(Some(subject), &token.client).await {
        Err(Reason::SubjectRefused) => return Err(Reason::InvalidAccessToken),
        checked => checked?,
    }
    if let Some(proof) = proof {
        context.use_proof(proof).await?;
    }
    let offered = context.config.identity.iter().flat_map(|identity| &identity.scopes);
    let granted = offered.filter(|scope| scopes.contains_name(scope.name()));
    let wanted: Vec<&str> = granted.flat_map(|scope| scope.claims()).collect();
    let (grant, client) = (token.grant.id, &*token.client);
    let mut claims = Map::new();
    if let Some(hook) = &context.claims {
        let user = UserContext { grant, subject, client, wanted: &wanted };
        let (client, subject) = (client.id(), Some(subject));
        let profile = match hook.of_user(&user).await {
            UserClaims::Known(profile) => profile,
            UserClaims::Gone => {
                context.raise_about_user(grant, &Event::SubjectGone { grant, client, subject });
                return Err(Reason::InvalidAccessToken);
            }
            UserClaims::Unavailable => {
                context.raise_about_user(grant, &Event::ClaimsUnavailable { grant, client, subject });
                return Err(Reason::SubjectUnknown);
            }
        };
        claims = profile.released(&wanted, context.now()).map_err(|error| {
            context.raise_about_user(grant, &Event::ProfileRefused { client, error: &error });
            Reason::Profile(error)
        })?;
        let names: Vec<&str> = claims.keys().map(String::as_str).collect();
        context.raise_about_user(grant, &Event::ClaimsReleased { grant, client, subject, claims: &names });
    }
    claims.insert("sub".to_owned(), subject.as_str().into());
    Ok(claims)
}

/// Looks up the token of a request as an API in this process does, and verifies the proof of one that is bound to a
/// key. The caller must still record the proof.
async fn token(context: &Context, request: &Request<'_>) -> Result<(UsableToken, Option<Replay>), Reason> {
    let config = &context.config;
    let form = form_token(config, request)?;
    let (scheme, sent) = access_token::presented(config, request, form.as_ref())?;
    let token = access_token::find(context, sent).await?.ok_or(Reason::InvalidAccessToken)?;
    let proof = possession::check(scheme, token.key(), |key| {
        let url = context.proof_url(ENDPOINT).ok_or(Reason::MissingRequestUrl)?;
        possession::prove_at(config, url, request, sent, key, context.now())
    })?;
    Ok((token, proof))
}
