//! How an error leaves: JSON, page, redirect or challenge, each with its status and headers.

use crate::config::Config;
use crate::error::{ErrorCode, Reason};
use crate::message::ErrorResponse;
use crate::wire::challenge::bearer_challenge;
use crate::wire::page::{PageKind, error_page};
use crate::wire::{Endpoint, Response};

/// Seconds after which a client may try again when the store is down.
const RETRY_AFTER_FAILURE: &str = "1";

/// Answers a client [RFC 6749 section 5.2]: 400, or 401 with a challenge, 405, 413, 429, 500 or 503.
pub(crate) fn to_client(reason: &Reason, endpoint: Endpoint, config: &Config) -> Response {
    let told = reason.told();
    let status = status(reason);
    let mut message = ErrorResponse::new(told.code.as_str());
    message.error_description = Some(told.description.into());
    message.error_uri.clone_from(&config.error_uri);
    let body = serde_json::to_vec(&message).unwrap_or_default();
    // The described service names the bare media type for this one answer.
    let bare = endpoint == Endpoint::Revocation && status == 401;
    let response = if bare { Response::plain_json(status, body) } else { Response::token_json(status, body) };
    if status == 401 && takes_bearer_tokens(endpoint) {
        return challenged(reason, status, Challenge::default(), config);
    }
    match status {
        401 => response.with_header("WWW-Authenticate", format!("Basic realm=\"{}\"", config.realm)),
        405 => response.with_header("Allow", endpoint.allow()),
        _ => with_retry_after(response, reason),
    }
}

/// Shows the user a fixed page; its cause is for the event sink alone. Where clients register themselves, applications
/// keep ids of clients that were removed.
pub(crate) fn to_user(reason: &Reason, clients_register: bool) -> Response {
    if matches!(reason, Reason::AlreadyDecided) {
        return error_page(400, PageKind::AlreadyAnswered);
    }
    if matches!(reason, Reason::ClientAwaitsReview) {
        return error_page(400, PageKind::AwaitsReview);
    }
    if clients_register && matches!(reason, Reason::UnknownClient) {
        return error_page(400, PageKind::UnknownClient);
    }
    match status(reason) {
        status @ (429 | 500 | 503) => with_retry_after(error_page(status, PageKind::Unavailable), reason),
        405 => error_page(405, PageKind::LinkCannotBeAccessed).with_header("Allow", Endpoint::Authorization.allow()),
        _ => error_page(400, PageKind::LinkCannotBeAccessed),
    }
}

/// The code that a redirect tells [RFC 6749 section 4.1.2.1], which knows fewer than JSON does.
pub(crate) fn code_in_redirect(reason: &Reason) -> ErrorCode {
    let code = reason.code();
    if code == ErrorCode::InvalidGrant { ErrorCode::AccessDenied } else { code }
}

/// What a challenge of a resource names beside the error.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Challenge<'a> {
    /// The scope that is needed [RFC 6750 section 3].
    pub(crate) scope: &'a str,
    /// The URL of the resource's metadata [RFC 9728 section 5.1].
    pub(crate) resource_metadata: &'a str,
}

/// Answers at a resource [RFC 6750 section 3]: 401, 403 or 400 with a challenge, 500 or 503 without, and 204 to a
/// preflight.
pub(crate) fn at_resource(reason: &Reason, with: Challenge<'_>, config: &Config) -> Response {
    if matches!(reason, Reason::Preflight) {
        return Response::new(204);
    }
    let status = status(reason);
    if status >= 429 {
        let response = Response::new(status).with_header("Cache-Control", "no-store");
        return config.cors.expose(with_retry_after(response, reason));
    }
    config.cors.expose(challenged(reason, status, with, config))
}

/// Whether requests to the endpoint authenticate with a bearer token instead of a client secret [RFC 7591 section 3,
/// RFC 7592 section 2].
const fn takes_bearer_tokens(endpoint: Endpoint) -> bool {
    matches!(endpoint, Endpoint::Registration | Endpoint::ClientConfiguration)
}

fn challenged(reason: &Reason, status: u16, with: Challenge<'_>, config: &Config) -> Response {
    let told = reason.told();
    // An error would make the client ask for more scopes, which cannot help where the scope is not what is missing.
    let is_silent = matches!(reason, Reason::NoAccessToken | Reason::ResourceNotReached);
    let (error, description) = if is_silent { ("", "") } else { (told.code.as_str(), told.description) };
    let challenge = bearer_challenge(&[
        ("realm", &config.realm),
        ("error", error),
        ("error_description", description),
        ("scope", with.scope),
        ("resource_metadata", with.resource_metadata),
    ]);
    Response::new(status).with_header("Cache-Control", "no-store").with_header("WWW-Authenticate", challenge)
}

fn status(reason: &Reason) -> u16 {
    if matches!(reason, Reason::MethodNotAllowed) {
        return 405;
    }
    if matches!(reason, Reason::TooLarge) {
        return 413;
    }
    if matches!(reason, Reason::ManagementNotAllowed) {
        return 403;
    }
    if reason.retry_after().is_some() {
        return 429;
    }
    match reason.code() {
        ErrorCode::InvalidClient | ErrorCode::InvalidToken => 401,
        ErrorCode::InsufficientScope => 403,
        ErrorCode::TemporarilyUnavailable => 503,
        ErrorCode::ServerError => 500,
        ErrorCode::InvalidRequest
        | ErrorCode::InvalidGrant
        | ErrorCode::UnauthorizedClient
        | ErrorCode::UnsupportedGrantType
        | ErrorCode::UnsupportedResponseType
        | ErrorCode::InvalidScope
        | ErrorCode::InvalidTarget
        | ErrorCode::AccessDenied
        | ErrorCode::InvalidRedirectUri
        | ErrorCode::InvalidClientMetadata => 400,
    }
}

fn with_retry_after(response: Response, reason: &Reason) -> Response {
    if let Some(retry_after) = reason.retry_after() {
        return response.with_header("Retry-After", retry_after.to_string());
    }
    if reason.code() == ErrorCode::TemporarilyUnavailable {
        return response.with_header("Retry-After", RETRY_AFTER_FAILURE);
    }
    response
}
