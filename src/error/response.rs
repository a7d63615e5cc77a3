//! Turns an error into a response: JSON, page, redirect or challenge, with its status and headers.

use std::sync::Arc;

use crate::base::with_causes;
use crate::config::tokens::proof_algorithm_names;
use crate::config::{Config, DpopBoundTokens};
use crate::error::{ErrorCode, Reason};
use crate::model::client::{AuthenticationMethod, Client};
use crate::wire::message::ErrorResponse;
use crate::wire::page::{ErrorKind, error_page, page_with_link};
use crate::wire::refusal::Refusal;
use crate::wire::request::HeaderLine;
use crate::wire::response::{TokenScheme, challenge};
use crate::wire::{Endpoint, Request, Response};

/// Answers a client [RFC 6749 section 5.2]: 400, or 401 with a challenge, 405, 413, 429, 500 or 503.
pub(crate) fn to_client(reason: &Reason, request: &Request<'_>, endpoint: Endpoint, config: &Config) -> Response {
    let refusal = reason.refusal();
    let status = match refusal.status {
        401 if refusal.code == ErrorCode::InvalidClient && !is_challenged(request, config) => 400,
        status => status,
    };
    let mut message = ErrorResponse::new(refusal.code.as_str());
    message.error_description = Some(refusal.description.clone().into_owned());
    // The described service names the bare media type for this one response.
    let bare = endpoint == Endpoint::Revocation && status == 401;
    let response = if bare { Response::plain_json(status, &message) } else { Response::json(status, &message) };
    if status == 401 && takes_bearer_tokens(endpoint) {
        return empty(status).with_header("WWW-Authenticate", challenge_of(&refusal, Challenge::default(), config));
    }
    match status {
        401 => response.with_header("WWW-Authenticate", format!("Basic realm=\"{}\"", config.issuer)),
        405 => response.with_header("Allow", endpoint.allow()),
        _ => with_retry_after(response, &refusal),
    }
}

/// Whether a client that failed to authenticate gets a Basic challenge: if it sent the `Authorization` header, or if
/// the server accepts Basic. The other methods have no challenge, and a 401 needs one [RFC 6749 section 5.2].
fn is_challenged(request: &Request<'_>, config: &Config) -> bool {
    let is_offered = config.client_authentication.methods.contains(AuthenticationMethod::ClientSecretBasic);
    is_offered || !matches!(request.authorization, HeaderLine::Absent)
}

/// A fixed page for the user.
pub(crate) struct UserPage {
    status: u16,
    pub(crate) kind: ErrorKind,
    /// The client that the user answered before, if a person has reviewed it.
    pub(crate) client: Option<Arc<Client>>,
    /// Only the event sink gets the cause, and during development on one machine the page.
    pub(crate) cause: Option<String>,
}

impl UserPage {
    pub(crate) fn response(&self, reason: &Reason) -> Response {
        let client = self.client.as_deref().map(|client| (client.form.name.as_str(), client.web_address()));
        let page = error_page(self.status, self.kind, client, self.cause.as_deref());
        if self.status == 405 {
            return page.with_header("Allow", Endpoint::Authorization.allow());
        }
        with_retry_after(page, &reason.refusal())
    }
}

/// Returns the page that a user sees. If clients register themselves, an application may still have the id of a removed
/// client.
pub(crate) fn to_user(reason: &Reason, config: &Config) -> UserPage {
    let Refusal { status, page, .. } = reason.refusal();
    let page = page.filter(|page| *page != ErrorKind::UnknownClient || config.registration.is_dynamic());
    let (status, kind) = match (page, status) {
        (Some(page), _) => (400, page),
        (None, 429 | 500 | 503) => (status, ErrorKind::Unavailable),
        (None, 405) => (405, ErrorKind::LinkCannotBeAccessed),
        (None, _) => (400, ErrorKind::LinkCannotBeAccessed),
    };
    UserPage { status, kind, client: None, cause: config.is_development_on_loopback().then(|| shown(reason)) }
}

/// The text of a reason with its causes. Those of a fetch would reveal what answers inside the network.
fn shown(reason: &Reason) -> String {
    let is_of_fetch = matches!(reason, Reason::MetadataDocument(_) | Reason::KeysUnavailable(_));
    if is_of_fetch { reason.to_string() } else { with_causes(reason) }
}

/// Shows the user a page whose one link is the redirect to an unreviewed client.
pub(crate) fn before_redirect(reason: &Reason, host: &str, location: &str) -> Response {
    let (status, kind) = page_before_redirect(reason);
    with_retry_after(page_with_link(status, kind, host, location), &reason.refusal())
}

/// Returns the status and the content of that page: 200 if the user denied the request, 400, or the status of a
/// failure.
pub(crate) fn page_before_redirect(reason: &Reason) -> (u16, ErrorKind) {
    match (reason, reason.refusal().status) {
        (Reason::AccessDenied, _) => (200, ErrorKind::NotGranted),
        (_, status @ (429 | 500 | 503)) => (status, ErrorKind::Unavailable),
        _ => (400, ErrorKind::RequestRefused),
    }
}

/// Returns the error code for a redirect [RFC 6749 section 4.1.2.1]. Redirects have fewer codes than JSON responses.
pub(crate) fn code_in_redirect(reason: &Reason) -> ErrorCode {
    let code = reason.code();
    if code == ErrorCode::InvalidGrant { ErrorCode::AccessDenied } else { code }
}

/// What a challenge names besides the error.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Challenge<'a> {
    /// The scope that is needed [RFC 6750 section 3].
    pub(crate) scope: &'a str,
    /// The URL of the resource's metadata [RFC 9728 section 5.1].
    pub(crate) resource_metadata: &'a str,
    /// The scheme of the request's access token.
    pub(crate) scheme: TokenScheme,
}

/// Answers at a resource [RFC 6750 section 3, RFC 9449 section 7.1]: 401, 403 or 400 with a challenge, 500 or 503
/// without, and 204 for a preflight. `nonce` is for the next proof.
pub(crate) fn at_resource(reason: &Reason, with: Challenge<'_>, nonce: Option<String>, config: &Config) -> Response {
    let refusal = reason.refusal();
    let is_of_proof = matches!(refusal.code, ErrorCode::InvalidDpopProof | ErrorCode::UseDpopNonce);
    let status = if is_of_proof { 401 } else { refusal.status };
    if status == 204 {
        return Response::new(204);
    }
    if status >= 429 {
        return config.cors.expose(with_retry_after(empty(status), &refusal));
    }
    let (first, second) = schemes(with.scheme, status, config.dpop.tokens);
    let error = challenge_of(&refusal, Challenge { scheme: first, ..with }, config);
    let silent = refusal.without_error();
    let silent = second.map(|scheme| challenge_of(&silent, Challenge { scheme, ..with }, config));
    let response = empty(status).with_header("WWW-Authenticate", error);
    let response = silent.into_iter().fold(response, |response, own| response.with_header("WWW-Authenticate", own));
    config.cors.expose(nonce.into_iter().fold(response, |response, nonce| response.with_header("DPoP-Nonce", nonce)))
}

/// The schemes that a response names, each in its own header line. The error is in the first one.
///
/// > If the mechanism used to attempt authentication could be established unambiguously, then the corresponding
/// > challenge SHOULD be used to deliver error information
///
/// [RFC 9449 section 7.2]
///
/// Bearer comes first, because some clients read only the first challenge. Nothing precedes a DPoP error, because other
/// clients look for a required nonce only in a header that begins with `DPoP`.
const fn schemes(
    used: TokenScheme,
    status: u16,
    dpop_bound_tokens: DpopBoundTokens,
) -> (TokenScheme, Option<TokenScheme>) {
    match (dpop_bound_tokens, used) {
        (DpopBoundTokens::Off, _) => (TokenScheme::Bearer, None),
        (DpopBoundTokens::Optional, TokenScheme::Bearer) if status == 401 => {
            (TokenScheme::Bearer, Some(TokenScheme::Dpop))
        }
        (DpopBoundTokens::Optional, TokenScheme::Bearer) => (TokenScheme::Bearer, None),
        (DpopBoundTokens::Optional, TokenScheme::Dpop) | (DpopBoundTokens::Required, _) => (TokenScheme::Dpop, None),
    }
}

/// Whether requests to the endpoint authenticate with a bearer token instead of a client secret [RFC 7591 section 3,
/// RFC 7592 section 2].
const fn takes_bearer_tokens(endpoint: Endpoint) -> bool {
    matches!(endpoint, Endpoint::Registration | Endpoint::ClientConfiguration)
}

fn challenge_of(refusal: &Refusal, with: Challenge<'_>, config: &Config) -> String {
    let names_error = refusal.names_error;
    let (error, description) = if names_error { (refusal.code.as_str(), &*refusal.description) } else { ("", "") };
    let algorithms = match with.scheme {
        TokenScheme::Bearer => String::new(),
        TokenScheme::Dpop => proof_algorithm_names().join(" "),
    };
    let attributes = [
        ("realm", config.issuer.as_str()),
        ("error", error),
        ("error_description", description),
        ("algs", &algorithms),
        ("scope", with.scope),
        ("resource_metadata", with.resource_metadata),
    ];
    challenge(with.scheme, &attributes)
}

fn empty(status: u16) -> Response {
    Response::new(status).with_header("Cache-Control", "no-store")
}

fn with_retry_after(response: Response, refusal: &Refusal) -> Response {
    match refusal.retry_after {
        Some(seconds) => response.with_header("Retry-After", seconds.to_string()),
        None => response,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::client_metadata::DocumentError;
    use crate::scope::ScopeError;
    use crate::wire::fetch::{FetchError, FetchErrorKind};

    fn config(dpop_bound_tokens: DpopBoundTokens) -> Config {
        let mut config = Config::platform("https://auth.example");
        config.dpop.tokens = dpop_bound_tokens;
        config
    }

    fn challenges(response: &Response) -> Vec<&str> {
        let own = response.headers().filter(|(name, _)| *name == "WWW-Authenticate");
        own.map(|(_, value)| value).collect()
    }

    /// 9449-7.2-01
    #[test]
    fn an_error_stands_at_one_scheme() {
        use DpopBoundTokens::{Off, Optional, Required};
        use TokenScheme::{Bearer, Dpop};
        for (setting, scheme, reason, status, expected) in [
            (Off, Bearer, Reason::InvalidAccessToken, 401, &["Bearer invalid_token"][..]),
            (Off, Bearer, Reason::NoAccessToken, 401, &["Bearer"]),
            (Optional, Bearer, Reason::NoAccessToken, 401, &["Bearer", "DPoP"]),
            (Optional, Bearer, Reason::WrongTokenScheme, 401, &["Bearer invalid_token", "DPoP"]),
            (Optional, Bearer, Reason::MalformedBearer, 400, &["Bearer invalid_request"]),
            (Optional, Bearer, Reason::InsufficientScope, 403, &["Bearer insufficient_scope"]),
            (Optional, Dpop, Reason::MissingDpopProof, 401, &["DPoP invalid_dpop_proof"]),
            (Optional, Dpop, Reason::DpopNonceNeeded, 401, &["DPoP use_dpop_nonce"]),
            (Optional, Dpop, Reason::AccessTokenOfAnotherKey, 401, &["DPoP invalid_token"]),
            (Optional, Dpop, Reason::InsufficientScope, 403, &["DPoP insufficient_scope"]),
            (Optional, Dpop, Reason::ResourceNotReached, 403, &["DPoP"]),
            (Required, Bearer, Reason::NoAccessToken, 401, &["DPoP"]),
            (Required, Bearer, Reason::WrongTokenScheme, 401, &["DPoP invalid_token"]),
            (Required, Dpop, Reason::MissingRequestUrl, 500, &[]),
        ] {
            let with = Challenge { scheme, ..Challenge::default() };
            let response = at_resource(&reason, with, None, &config(setting));
            let seen = challenges(&response).into_iter().map(|challenge| {
                let (scheme, rest) = challenge.split_once(' ').unwrap();
                assert_eq!(rest.contains("algs=\"ES256 PS256 EdDSA Ed25519\""), scheme == "DPoP", "{challenge}");
                let error = rest.split_once("error=\"").and_then(|(_, rest)| rest.split_once('"'));
                error.map_or_else(|| scheme.to_owned(), |(error, _)| format!("{scheme} {error}"))
            });
            let seen = seen.collect::<Vec<_>>();
            assert_eq!(
                (response.status(), seen),
                (status, expected.iter().map(ToString::to_string).collect()),
                "{reason}"
            );
        }
    }

    /// A stranger learns no cause, and nobody learns what a fetch met.
    #[test]
    fn a_page_shows_the_cause_during_development_on_one_machine() {
        let fetch = || DocumentError::Fetch(FetchError::new(FetchErrorKind::SpecialUseAddress)).into();
        let unknown = || Reason::Scope(ScopeError::Unknown { token: Some("<a>".into()), nearest: None });
        let page = |issuer: &str, development, reason: &Reason| {
            let mut config = Config::strict(issuer);
            config.development = development;
            String::from_utf8(to_user(reason, &config).response(reason).into_body()).unwrap()
        };
        let (loopback, public) = ("http://127.0.0.1:8080", "https://auth.example");
        let fixed = page(public, false, &unknown());
        assert_eq!(page(public, true, &unknown()), fixed);
        assert_eq!(page(loopback, false, &unknown()), fixed);
        assert!(!fixed.contains("unknown scope"), "{fixed}");
        let shown = page(loopback, true, &unknown());
        assert!(
            shown.contains("development: the scope was refused: unknown scope &quot;&lt;a&gt;&quot;</p>"),
            "{shown}"
        );
        let shown = page(loopback, true, &fetch());
        assert!(shown.contains("development: the metadata document was refused</p>"), "{shown}");
    }

    /// 9449-7.2-01
    #[test]
    fn registrations_are_managed_with_bearer_tokens_alone() {
        for endpoint in [Endpoint::Registration, Endpoint::ClientConfiguration] {
            let response =
                to_client(&Reason::NoAccessToken, &Request::new("GET"), endpoint, &config(DpopBoundTokens::Required));
            assert_eq!(
                (response.status(), challenges(&response)),
                (401, vec!["Bearer realm=\"https://auth.example\""])
            );
        }
    }
}
