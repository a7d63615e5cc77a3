//! What the registration endpoint and the client configuration endpoint share [RFC 7591, RFC 7592].

use crate::client_auth;
use crate::config::Config;
use crate::context::Context;
use crate::endpoint::client_request;
use crate::error::Reason;
use crate::hooks::registration_policy::RegistrationRequest;
use crate::model::application::Application;
use crate::model::client::{AuthenticationMethod, Client, ClientKeys, GrantType};
use crate::model::client_metadata::{MetadataRules, RegistrationBounds};
use crate::secret::RegistrationAccessToken;
use crate::wire::message::ClientInformationResponse;
use crate::wire::{Endpoint, Request};

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
