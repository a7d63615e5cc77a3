//! What clients learn about the server [RFC 8414]: only what is switched on.

use url::Url;

use crate::config::Config;
use crate::context::Context;
use crate::error::{Reason, delivery};
use crate::message::Metadata;
use crate::pkce::CodeChallenge;
use crate::wire::{Endpoint, Request, Response};

/// Answers with the document that was made when the server was built.
pub(crate) fn serve(context: &Context, request: &Request<'_>) -> Response {
    if !Endpoint::Metadata.allows(request.method()) {
        return delivery::to_client(&Reason::MethodNotAllowed, Endpoint::Metadata, &context.config);
    }
    let Some(document) = &context.metadata else { return Response::new(404) };
    Response::new(200).with_header("Content-Type", "application/json").with_body(document.to_vec())
}

/// Writes the document from the configuration.
pub(crate) fn document(issuer: &str, config: &Config) -> Box<[u8]> {
    serde_json::to_vec(&metadata(issuer, config)).unwrap_or_default().into()
}

/// The path of the issuer, without a slash at its end.
pub(crate) fn issuer_path(issuer: Option<&str>) -> String {
    let issuer = issuer.and_then(|issuer| Url::parse(issuer).ok());
    issuer.as_ref().map_or("", |issuer| issuer.path().trim_end_matches('/')).to_owned()
}

fn metadata(issuer: &str, config: &Config) -> Metadata {
    let base = issuer.trim_end_matches('/');
    let url = |endpoint: Endpoint| Some(format!("{base}{}", endpoint.path()));
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    let secret_methods = texts(&["client_secret_basic", "client_secret_post"]);
    let mut methods = secret_methods.clone();
    if config.public_clients {
        methods.push("none".to_owned());
    }
    let mut metadata = Metadata::new(issuer);
    metadata.authorization_endpoint = url(Endpoint::Authorization);
    metadata.token_endpoint = url(Endpoint::Token);
    metadata.revocation_endpoint = url(Endpoint::Revocation);
    metadata.introspection_endpoint = url(Endpoint::Introspection);
    metadata.response_types_supported = texts(&["code"]);
    metadata.response_modes_supported = texts(&["query"]);
    metadata.grant_types_supported = texts(&["authorization_code", "refresh_token"]);
    metadata.token_endpoint_auth_methods_supported.clone_from(&methods);
    metadata.revocation_endpoint_auth_methods_supported = methods;
    metadata.introspection_endpoint_auth_methods_supported = secret_methods;
    metadata.scopes_supported = config.scopes.supported();
    metadata.code_challenge_methods_supported = texts(&[CodeChallenge::METHOD]);
    metadata.authorization_response_iss_parameter_supported = config.response_issuer;
    metadata
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_issuers_path_has_no_slash_at_its_end() {
        for (issuer, expected) in [
            ("https://auth.example", ""),
            ("https://auth.example/", ""),
            ("https://auth.example/tenant", "/tenant"),
            ("https://auth.example/a/b/", "/a/b"),
        ] {
            assert_eq!(issuer_path(Some(issuer)), expected);
        }
        assert_eq!(issuer_path(None), "");
    }
}
