//! The metadata of the server [RFC 8414]: only what is switched on.

use crate::client_auth;
use crate::config::tokens::proof_algorithm_names;
use crate::config::{Config, Identity};
use crate::context::Context;
use crate::error::{Reason, response};
use crate::scope::IdentityScope;
use crate::secret::pkce::CodeChallenge;
use crate::text::language_tag;
use crate::wire::message::Metadata;
use crate::wire::{Endpoint, Request, Response};

/// Answers with the document. The first request writes it.
pub(crate) fn serve(context: &Context, request: &Request<'_>) -> Response {
    if !Endpoint::Metadata.allows(request.method) {
        return response::to_client(&Reason::MethodNotAllowed, request, Endpoint::Metadata, &context.config);
    }
    let document = || serde_json::to_vec(&metadata(&context.config)).unwrap_or_default();
    let document = match &context.config.identity {
        None => context.metadata.get_or_init(|| document().into()).to_vec(),
        // The keys that may sign change with time.
        Some(identity) => {
            let mut metadata = metadata(&context.config);
            add_identity(&mut metadata, identity, context);
            serde_json::to_vec(&metadata).unwrap_or_default()
        }
    };
    Response::new(200).with_header("Content-Type", "application/json").with_body(document)
}

/// Adds what clients need to sign users in [OpenID Connect Discovery section 3].
fn add_identity(metadata: &mut Metadata, identity: &Identity, context: &Context) {
    let algorithms = context.signing_keys.id_token_algorithms(context.now());
    metadata.id_token_signing_alg_values_supported = algorithms.map(|own| own.as_str().to_owned()).collect();
    metadata.subject_types_supported = texts(&["public"]);
    let acr = if identity.acr_values.is_empty() { [].as_slice() } else { &["acr"] };
    let claims = identity.scopes.iter().flat_map(IdentityScope::claims);
    let claims: Vec<&str> = ["sub", "iss", "auth_time"].into_iter().chain(claims).chain(acr.iter().copied()).collect();
    metadata.claims_supported = texts(&claims);
    metadata.acr_values_supported = identity.acr_values.clone();
    metadata.ui_locales_supported = identity.ui_locales.iter().filter_map(|locale| language_tag(locale)).collect();
    metadata.prompt_values_supported = texts(&["none", "login", "consent"]);
    // > If omitted, the default value is true.
    metadata.request_uri_parameter_supported = Some(false);
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

fn metadata(config: &Config) -> Metadata {
    let methods = |endpoint| client_auth::offered(config, endpoint).map(|method| method.to_string()).collect();
    let algorithms = |endpoint| client_auth::algorithms(config, endpoint).map(str::to_owned).collect();
    let mut metadata = Metadata::new(config.issuer.as_str());
    for endpoint in Endpoint::MACHINE.iter().chain(&[Endpoint::Authorization]) {
        if let Some(member) = endpoint.member(config) {
            *member(&mut metadata) = Some(config.url_of(*endpoint));
        }
    }
    metadata.require_pushed_authorization_requests = config.pushed_requests.are_required();
    metadata.client_id_metadata_document_supported = config.registration.metadata_documents;
    metadata.response_types_supported = texts(&["code"]);
    metadata.response_modes_supported = texts(&["query"]);
    metadata.grant_types_supported =
        config.offered_grant_types().iter().map(|grant_type| grant_type.to_string()).collect();
    metadata.token_endpoint_auth_methods_supported = methods(Endpoint::Token);
    metadata.revocation_endpoint_auth_methods_supported = methods(Endpoint::Revocation);
    metadata.introspection_endpoint_auth_methods_supported = methods(Endpoint::Introspection);
    metadata.token_endpoint_auth_signing_alg_values_supported = algorithms(Endpoint::Token);
    metadata.revocation_endpoint_auth_signing_alg_values_supported = algorithms(Endpoint::Revocation);
    metadata.introspection_endpoint_auth_signing_alg_values_supported = algorithms(Endpoint::Introspection);
    metadata.scopes_supported = config.scopes.supported();
    metadata.code_challenge_methods_supported = texts(&[CodeChallenge::METHOD]);
    metadata.resource_indicators_supported = !config.resources.is_empty();
    metadata.protected_resources = config.resources.iter().map(|resource| resource.identifier.clone()).collect();
    if config.dpop.reads_proofs() {
        metadata.dpop_signing_alg_values_supported = texts(&proof_algorithm_names());
    }
    metadata.authorization_response_iss_parameter_supported = true;
    metadata
}
