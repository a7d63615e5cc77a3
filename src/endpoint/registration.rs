//! The registration endpoint [RFC 7591 section 3]: the order of checks, the policy, the response; and what the client
//! configuration endpoint shares with it.

use std::sync::Arc;

use crate::client_auth;
use crate::config::{Config, DynamicRegistration};
use crate::context::{Context, is_failed_authentication};
use crate::endpoint::client_request;
use crate::error::Reason;
use crate::hooks::registration_policy::RegistrationRequest;
use crate::hooks::{Attempt, AttemptKind};
use crate::model::application::Application;
use crate::model::client::{AuthenticationMethod, Client, ClientKeys, ClientOrigin, GrantType};
use crate::model::client_metadata::{MetadataRules, RegistrationBounds};
use crate::registration::{Admission, InitialAccess, Registered, Registrar};
use crate::resource::access_token;
use crate::secret::RegistrationAccessToken;
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
    let body = body(context, request)?;
    let metadata = rules(context).judge(body).map_err(Reason::ClientMetadata)?;
    let origin = ClientOrigin::DynamicRegistration;
    let asked = RegistrationRequest {
        peer: request.peer,
        initial_access_token: initial.as_ref().map(|initial| &initial.id),
        ..RegistrationRequest::new(origin, &metadata)
    };
    let (bounds, awaits_review) = decide(context, &asked).await?;
    let bounds = match initial.as_ref().and_then(|initial| initial.bounds.as_ref()) {
        Some(own) => bounds.within(own),
        None => bounds,
    };
    let admitted = bounds.admit(metadata, &context.config.scopes).map_err(Reason::ClientMetadata)?;
    let admission = Admission { origin, admitted, bounds, awaits_review, initial };
    let Registered { application, secret, token } = registrar.register(&admission).await?;
    let mut message = information(&context.config, &application, token);
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

/// The body, if its media type is JSON and it is not too large [RFC 7591 section 3.1].
pub(crate) fn body<'a>(context: &Context, request: &Request<'a>) -> Result<&'a [u8], Reason> {
    let body = client_request::body(context, request)?;
    if request.is_json() { Ok(body) } else { Err(Reason::RegistrationMediaType) }
}

pub(crate) fn rules(context: &Context) -> MetadataRules {
    let config = &context.config;
    let methods = client_auth::offered(config, Endpoint::Token).collect();
    config.metadata_rules(methods, config.client_authentication.omitted_method(), context.key_sets.is_some())
}

/// Asks the policy. Returns what the client may have at most, and whether it awaits review.
pub(crate) async fn decide(
    context: &Context,
    asked: &RegistrationRequest<'_>,
) -> Result<(RegistrationBounds, bool), Reason> {
    let policy = context.registration_policy.as_ref().ok_or(Reason::RegistrationRefused)?;
    policy.decide(asked).await.into_bounds().ok_or(Reason::RegistrationRefused)
}

/// > Additionally, the authorization server MUST return all registered metadata about this client.
///
/// [RFC 7591 section 3.2.1]
///
/// While an update awaits review, this is the metadata in force.
pub(crate) fn information(
    config: &Config,
    application: &Application,
    token: Option<RegistrationAccessToken>,
) -> ClientInformationResponse {
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let client = application.client();
    let (form, mut message) = (application.form(), ClientInformationResponse::new(client.id().as_str()));
    message.client_id_issued_at = client.open().map(|open| open.registered.seconds().into());
    message.registration_client_uri = token.is_some().then(|| configuration_uri(config, client));
    message.registration_access_token = token;
    message.redirect_uris = form.redirect_uris.iter().map(|uri| uri.as_str().to_owned()).collect();
    let method = form.authentication_methods.iter().next().unwrap_or(AuthenticationMethod::None);
    message.token_endpoint_auth_method = Some(method.to_string());
    match &form.keys {
        Some(ClientKeys::Set(set)) => message.jwks = serde_json::from_str(set.as_str()).ok(),
        Some(ClientKeys::Url(url)) => message.jwks_uri = Some(url.to_string()),
        None => {}
    }
    form.options.show(&mut message.members);
    message.grant_types = form.grant_types.iter().map(|grant_type: GrantType| grant_type.to_string()).collect();
    let has_code = form.grant_types.redirect();
    message.response_types = has_code.then(|| "code".to_owned()).into_iter().collect();
    message.application_type = Some(form.application_type.as_str().to_owned());
    message.scope = text(&config.scopes.to_wire(&client.default_scopes()));
    message.client_name = text(&form.name);
    message.client_uri = text(&form.website);
    if let Some(more) = application.more_metadata() {
        more.show(&mut message.members);
    }
    message
}

/// The address at which the client manages its registration. It is made from the settings, never from a header.
fn configuration_uri(config: &Config, client: &Client) -> String {
    format!("{}/{}", config.url_of(Endpoint::Registration), client.id())
}
