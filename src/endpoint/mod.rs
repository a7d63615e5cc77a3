//! The endpoints. Each takes a [`Request`] and returns a [`Response`].
//!
//! The table says for each whether it is on, which pages of other origins may call it, and where the metadata publishes
//! its URL; below it is the function that answers. What the settings do not change is in `wire/endpoint.rs`.

pub(crate) mod authorize;
pub(crate) mod client_configuration;
pub(crate) mod client_request;
pub(crate) mod device_authorization;
pub(crate) mod introspect;
pub(crate) mod jwks;
pub(crate) mod metadata;
pub(crate) mod pushed_authorization;
pub(crate) mod registration;
pub(crate) mod registration_request;
pub(crate) mod revoke;
pub(crate) mod token;
pub(crate) mod userinfo;

use std::sync::Arc;

use crate::config::Config;
use crate::context::Context;
use crate::hooks::observed::observed;
use crate::wire::cors::Proofs;
use crate::wire::message::Metadata;
use crate::wire::{Cors, Endpoint, Request, Response};

/// What the server does with an endpoint.
struct Served {
    /// Whether [`Cors`] covers it. It covers only endpoints that a page calls without credentials that the browser adds
    /// by itself [RFC 9700 section 2.6, CORS-02, CORS-03].
    cors: bool,
    /// Whether the settings switch it on.
    is_on: fn(&Config) -> bool,
    /// The member of the metadata that has its URL.
    member: Option<fn(&mut Metadata) -> &mut Option<String>>,
}

impl Served {
    const fn new() -> Self {
        Self { cors: false, is_on: |_| true, member: None }
    }
}

impl Endpoint {
    /// Returns what the server does with the endpoint. `wire` has what does not depend on the settings.
    const fn served(self) -> Served {
        match self {
            Self::Authorization => {
                Served { member: Some(|metadata| &mut metadata.authorization_endpoint), ..Served::new() }
            }
            Self::Token => {
                Served { cors: true, member: Some(|metadata| &mut metadata.token_endpoint), ..Served::new() }
            }
            Self::PushedAuthorization => Served {
                cors: true,
                is_on: |config| config.pushed_requests.are_taken(),
                member: Some(|metadata| &mut metadata.pushed_authorization_request_endpoint),
            },
            Self::DeviceAuthorization => Served {
                cors: true,
                is_on: |config| config.devices.on,
                member: Some(|metadata| &mut metadata.device_authorization_endpoint),
            },
            Self::Revocation => {
                Served { cors: true, member: Some(|metadata| &mut metadata.revocation_endpoint), ..Served::new() }
            }
            Self::Introspection => {
                Served { member: Some(|metadata| &mut metadata.introspection_endpoint), ..Served::new() }
            }
            Self::Jwks => Served { cors: true, is_on: Config::signs, member: Some(|metadata| &mut metadata.jwks_uri) },
            Self::UserInfo => Served {
                cors: true,
                is_on: Config::has_identity,
                member: Some(|metadata| &mut metadata.userinfo_endpoint),
            },
            Self::Metadata | Self::ResourceMetadata => Served { cors: true, ..Served::new() },
            Self::Registration => Served {
                cors: true,
                is_on: |config| config.registration.is_dynamic(),
                member: Some(|metadata| &mut metadata.registration_endpoint),
            },
            Self::ClientConfiguration => Served { is_on: |config| config.registration.management, ..Served::new() },
        }
    }

    /// Returns whether the settings switch the endpoint on.
    pub(crate) fn is_on(self, config: &Config) -> bool {
        (self.served().is_on)(config)
    }

    /// Returns the member of the metadata that has the URL of the endpoint, if it is on and has one.
    pub(crate) fn member(self, config: &Config) -> Option<fn(&mut Metadata) -> &mut Option<String>> {
        self.served().member.filter(|_| self.is_on(config))
    }

    /// Returns which pages of other origins may call it, if any may.
    fn cors(self, config: &Config) -> Option<&Cors> {
        let cors = if self == Self::DeviceAuthorization { &config.devices.cors } else { &config.cors };
        Some(cors).filter(|cors| **cors != Cors::Off && self.served().cors)
    }
}

/// Returns every path under which an endpoint is served now, the published one first.
pub(crate) fn paths(context: &Context, endpoint: Endpoint) -> Vec<String> {
    let config = &context.config;
    if endpoint == Endpoint::ResourceMetadata {
        return context.resources.metadata_paths(&config.issuer);
    }
    if endpoint.is_on(config) { endpoint.paths(&config.issuer, config.has_identity()) } else { Vec::new() }
}

/// Answers a request, with the headers that [`Cors`] asks for.
pub(crate) async fn serve(context: &Arc<Context>, endpoint: Endpoint, request: &Request<'_>) -> Response {
    let config = &context.config;
    if !endpoint.is_on(config) {
        return Response::new(404);
    }
    let cors = endpoint.cors(config);
    let reads_proofs = config.dpop.reads_proofs() && endpoint.reads_proofs();
    let proofs = if reads_proofs { Proofs::Read } else { Proofs::Off };
    if let Some(answer) = cors.and_then(|cors| cors.preflight(request, endpoint.allow(), proofs)) {
        return answer;
    }
    let response = observed(endpoint.as_str(), answer(context, endpoint, request)).await;
    match cors {
        Some(cors) => cors.share(request, response, proofs),
        None => response,
    }
}

/// Calls the function of the endpoint. Function pointers in the table would cost a box for each request.
async fn answer(context: &Arc<Context>, endpoint: Endpoint, request: &Request<'_>) -> Response {
    match endpoint {
        // It needs a user: `AuthorizationServer::authorize` checks its requests.
        Endpoint::Authorization => Response::new(404),
        Endpoint::Token => token::serve(context, request).await,
        Endpoint::PushedAuthorization => pushed_authorization::serve(context, request).await,
        Endpoint::DeviceAuthorization => device_authorization::serve(context, request).await,
        Endpoint::Revocation => revoke::serve(context, request).await,
        Endpoint::Introspection => introspect::serve(context, request).await,
        Endpoint::Jwks => jwks::serve(context, request),
        Endpoint::UserInfo => userinfo::serve(context, request).await,
        Endpoint::Metadata => metadata::serve(context, request),
        Endpoint::ResourceMetadata => {
            let answer = context.resources.metadata(request, &context.config.issuer);
            answer.unwrap_or_else(|| Response::new(404))
        }
        Endpoint::Registration => registration::serve(context, request).await,
        Endpoint::ClientConfiguration => client_configuration::serve(context, request).await,
    }
}
