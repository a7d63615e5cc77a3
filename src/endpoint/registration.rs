//! The registration endpoint [RFC 7591 section 3]: the order of checks, the policy, the response.

use std::sync::Arc;

use crate::config::DynamicRegistration;
use crate::context::{Context, is_failed_authentication};
use crate::endpoint::client_request;
use crate::endpoint::registration_request;
use crate::error::Reason;
use crate::hooks::registration_policy::RegistrationRequest;
use crate::hooks::{Attempt, AttemptKind};
use crate::model::client::ClientOrigin;
use crate::registration::{Admission, InitialAccess, Registered, Registrar};
use crate::resource::access_token;
use crate::wire::message::ClientInformationResponse;
use crate::wire::{Endpoint, Request, Response};

pub(crate) async fn serve(context: &Arc<Context>, request: &Request<'_>) -> Response {
    let begun = Attempt::new(AttemptKind::Registration, Endpoint::Registration);
    let attempt = Attempt { peer: request.peer, from_page: request.is_of_page(), ..begun };
    match answer(context, request, &attempt).await {
        Ok(message) => Response::json(201, &message),
        Err(reason) => {
            if is_failed_authentication(&reason) {
                context.note_failed_authentication(&attempt, &reason).await;
            }
            client_request::refused(context, request, Endpoint::Registration, None, None, &reason)
        }
    }
}

async fn answer(
    context: &Arc<Context>,
    request: &Request<'_>,
    attempt: &Attempt<'_>,
) -> Result<ClientInformationResponse, Reason> {
    if !Endpoint::Registration.allows(request.method) {
        return Err(Reason::MethodNotAllowed);
    }
    context.check_throttle(attempt).await?;
    let registrar = Registrar::required(context)?;
    let initial = initial_access(context, request, &registrar).await?;
    let body = registration_request::body(context, request)?;
    let metadata = registration_request::rules(context).judge(body).map_err(Reason::ClientMetadata)?;
    let origin = ClientOrigin::DynamicRegistration;
    let asked = RegistrationRequest {
        peer: request.peer,
        initial_access_token: initial.as_ref().map(|initial| &initial.id),
        ..RegistrationRequest::new(origin, &metadata)
    };
    let (bounds, awaits_review) = registration_request::decide(context, &asked).await?;
    let bounds = match initial.as_ref().and_then(|initial| initial.bounds.as_ref()) {
        Some(own) => bounds.within(own),
        None => bounds,
    };
    let admitted = bounds.admit(metadata, &context.config.scopes).map_err(Reason::ClientMetadata)?;
    let admission = Admission { origin, admitted, bounds, awaits_review, initial };
    let Registered { application, secret, token } = registrar.register(&admission).await?;
    let mut message = registration_request::information(&context.config, &application, token);
    // RFC 7591 section 3.2.1: 0 if the secret never expires.
    message.client_secret_expires_at = secret.as_ref().map(|_| 0);
    message.client_secret = secret;
    Ok(message)
}

/// The initial access token of the request, if one is needed.
async fn initial_access(
    context: &Context,
    request: &Request<'_>,
    registrar: &Registrar,
) -> Result<Option<InitialAccess>, Reason> {
    if context.config.registration.dynamic != DynamicRegistration::WithToken {
        return Ok(None);
    }
    let token = access_token::in_header(request)?.ok_or(Reason::NoAccessToken)?;
    registrar.initial_access(token).await.map(Some)
}
