//! The registration endpoint [RFC 7591 section 3]: the order of checks, the policy, the answer.

use std::sync::Arc;

use crate::client::metadata::{Admitted, MetadataRules, MoreMetadata};
use crate::client::{AuthenticationMethod, ClientOrigin, GrantType};
use crate::client_auth;
use crate::context::Context;
use crate::endpoint::submitted;
use crate::error::Reason;
use crate::grant;
use crate::hooks::{Attempt, AttemptKind};
use crate::message::ClientInformationResponse;
use crate::policy::{RegistrationDecision, RegistrationRequest};
use crate::registrar::{Admission, Registered, Registrar};
use crate::store::StoreError;
use crate::wire::{Body, Endpoint, Request, Response};

pub(crate) async fn serve(context: &Arc<Context>, request: &Request<'_>) -> Response {
    match answer(context, request).await {
        Ok(message) => Response::token_json(201, serde_json::to_vec(&message).unwrap_or_default()),
        Err(reason) => submitted::refused(context, Endpoint::Registration, None, &reason),
    }
}

async fn answer(context: &Arc<Context>, request: &Request<'_>) -> Result<ClientInformationResponse, Reason> {
    if !Endpoint::Registration.allows(request.method()) {
        return Err(Reason::MethodNotAllowed);
    }
    let begun = Attempt::new(AttemptKind::Registration, Endpoint::Registration);
    context.check_throttle(&Attempt { peer: request.peer_address(), ..begun }).await?;
    let body = body(context, request)?;
    let metadata = rules(context).judge(body).map_err(Reason::ClientMetadata)?;
    let origin = ClientOrigin::DynamicRegistration;
    let asked = RegistrationRequest { peer: request.peer_address(), ..RegistrationRequest::new(origin, &metadata) };
    let (bounds, awaits_review) = match decide(context, &asked).await {
        RegistrationDecision::Approve(bounds) => (bounds, false),
        RegistrationDecision::Queue(bounds) => (bounds, true),
        RegistrationDecision::Refuse => return Err(Reason::RegistrationRefused),
    };
    let admitted = bounds.admit(metadata, &context.config.scopes).map_err(Reason::ClientMetadata)?;
    let admission = Admission { origin, admitted, awaits_review };
    let registrar = Registrar::new(Arc::clone(context), grant::offered(&context.config).collect());
    // The server is not built without a registry.
    let registrar = registrar.ok_or_else(|| StoreError::permanent("there is no registry"))?;
    let registered = registrar.register(&admission).await?;
    Ok(information(context, &registered, admission.admitted))
}

/// The body, if it is JSON by its type and not too large [RFC 7591 section 3.1].
fn body<'a>(context: &Context, request: &Request<'a>) -> Result<&'a [u8], Reason> {
    let body = match request.body_octets() {
        Body::Octets(octets) if octets.len() <= context.config.body_octets => octets,
        Body::Octets(_) | Body::TooLarge => return Err(Reason::TooLarge),
        Body::Empty => &[],
    };
    if request.is_json() { Ok(body) } else { Err(Reason::RegistrationMediaType) }
}

fn rules(context: &Context) -> MetadataRules {
    let config = &context.config;
    MetadataRules {
        catalog: config.scopes.clone(),
        limits: config.registration.clone(),
        redirect_uris: config.redirect_uris.clone(),
        methods: client_auth::offered(config, Endpoint::Token).collect(),
        omitted_method: config.open_clients.omitted_method,
    }
}

async fn decide(context: &Context, asked: &RegistrationRequest<'_>) -> RegistrationDecision {
    match &context.registration_policy {
        Some(policy) => policy.decide(asked).await,
        None => RegistrationDecision::Refuse,
    }
}

/// > Additionally, the authorization server MUST return all registered metadata about this client.
///
/// [RFC 7591 section 3.2.1]
fn information(context: &Context, registered: &Registered, admitted: Admitted) -> ClientInformationResponse {
    let Admitted { form, default_scopes, more, .. } = admitted;
    let MoreMetadata { logo_uri, tos_uri, policy_uri, contacts, software_id, software_version } = more;
    let text = |text: Box<str>| Some(String::from(text)).filter(|text| !text.is_empty());
    let mut message = ClientInformationResponse::new(registered.id.as_str());
    message.client_id_issued_at = Some(registered.at.seconds().into());
    message.client_secret = registered.secret.clone();
    // It never expires.
    message.client_secret_expires_at = registered.secret.as_ref().map(|_| 0);
    message.redirect_uris = form.redirect_uris.iter().map(|uri| uri.as_str().to_owned()).collect();
    let method = form.authentication_methods.iter().next().unwrap_or(AuthenticationMethod::None);
    message.token_endpoint_auth_method = Some(method.to_string());
    message.grant_types = form.grant_types.iter().map(|grant_type: GrantType| grant_type.to_string()).collect();
    message.response_types = vec!["code".to_owned()];
    message.application_type = Some(form.application_type.as_str().to_owned());
    message.scope = Some(context.config.scopes.to_wire(&default_scopes).into_owned());
    message.client_name = text(form.name);
    message.client_uri = text(form.website);
    message.logo_uri = logo_uri.and_then(text);
    message.tos_uri = tos_uri.and_then(text);
    message.policy_uri = policy_uri.and_then(text);
    message.contacts = contacts.into_iter().map(String::from).collect();
    message.software_id = software_id.and_then(text);
    message.software_version = software_version.and_then(text);
    message
}
