//! What was wrong, and the one mapping from that to the wire.

pub(crate) mod delivery;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::client::metadata::{DocumentError, MetadataError};
use crate::client::redirect_uri::RedirectUriError;
use crate::client::{KeyFetchError, StaleClient};
use crate::protected_resource::TargetError;
use crate::scope::ScopeError;
use crate::store::StoreError;

/// Exactly what was wrong with a request: for logs, metrics and tests.
///
/// Clients see the [`ErrorCode`] and a fixed text, which tell less. New reasons may come in any
/// release: do not make behaviour depend on one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The method is not one that the endpoint answers.
    #[error("the method is not allowed")]
    MethodNotAllowed,
    /// The body or query is larger than the configured limit.
    #[error("the request is too large")]
    TooLarge,
    /// The body is not `application/x-www-form-urlencoded`.
    #[error("the body has the wrong media type")]
    MediaType,
    /// The parameters are not form-encoded UTF-8, or too many.
    #[error("the parameters are malformed")]
    MalformedParameters,
    /// A parameter that the endpoint knows was sent twice.
    #[error("the parameter {0} was sent twice")]
    RepeatedParameter(&'static str),
    /// The request proves its client in more than one way.
    #[error("more than one client credential was sent")]
    SeveralCredentials,
    /// The form names another client than the credential.
    #[error("the form names another client than the credential")]
    ClientIdMismatch,
    /// A parameter is missing or empty.
    #[error("the parameter {0} is missing")]
    MissingParameter(&'static str),
    /// The embedder's throttle refused.
    #[error("too many attempts, to be tried again after {retry_after} s")]
    Throttled {
        /// Seconds to wait.
        retry_after: u32,
    },

    /// The request names no client.
    #[error("no client credentials were sent")]
    NoCredentials,
    /// The server does not offer the method of authentication, or the `Authorization` header has another scheme than Basic.
    #[error("the authentication method is not supported")]
    UnsupportedAuthentication,
    /// The Basic credentials cannot be read.
    #[error("the Basic credentials are malformed")]
    MalformedCredentials,
    /// There is no such client.
    #[error("the client is unknown")]
    UnknownClient,
    /// The client is pending, rejected or suspended.
    #[error("the client is not approved")]
    ClientNotApproved,
    /// The client is public, and the server serves no public clients.
    #[error("the client is public, and Config::public_clients is off")]
    PublicClientsOff,
    /// The client is confidential and sent no secret.
    #[error("the client secret is missing")]
    MissingSecret,
    /// The secret is not one of the client's.
    #[error("the client secret is wrong")]
    WrongSecret,
    /// The client is registered for another method of authentication.
    #[error("the client is registered for another authentication method")]
    UnregisteredAuthentication,

    /// The redirect URI is unsound or not registered.
    #[error("the redirect URI was refused")]
    RedirectUri(#[source] RedirectUriError),
    /// The request names no redirect URI, and not exactly one is registered.
    #[error("the redirect URI is missing and not exactly one is registered")]
    MissingRedirectUri,
    /// The response type is not `code`.
    #[error("the response type is unknown")]
    UnknownResponseType,
    /// The state is too long, or has characters that the configuration refuses.
    #[error("the state was refused")]
    State,
    /// The client may not use this grant type.
    #[error("the client may not use this grant type")]
    GrantTypeNotRegistered,
    /// The client has to use PKCE and sent no challenge.
    #[error("the code challenge is missing")]
    MissingChallenge,
    /// The challenge is no S256 challenge.
    #[error("the code challenge is malformed")]
    MalformedChallenge,
    /// The challenge method is not S256, or stands alone.
    #[error("the code challenge method is not supported")]
    ChallengeMethod,
    /// The scope cannot be read.
    #[error("the scope was refused")]
    Scope(#[source] ScopeError),
    /// The scope is more than the application or the grant has, or than the protected resources serve.
    #[error("the scope is more than was registered or granted")]
    ExcessScope,
    /// A protected resource is not configured, not open to the client, or not of the grant, or there are more than 8
    /// [RFC 8707 section 2].
    #[error("the protected resource is unknown, or not open to the client")]
    UnknownProtectedResource,
    /// No protected resource is named, and none is the default.
    #[error("no protected resource is named, and none stands in")]
    MissingProtectedResource,
    /// The server has none of the grant's protected resources any more.
    #[error("the grant is for no protected resource of the server any more")]
    NoProtectedResourceLeft,

    /// The embedder gave no session to bind the request to.
    #[error("the session is empty")]
    MissingSession,
    /// The form's handle names no request of this user and session.
    #[error("the handle of the decision is unknown")]
    UnknownHandle,
    /// The request was held in the future, by a clock that had leapt forward.
    #[error("the request was held in the future")]
    HeldInTheFuture,
    /// The user looked at the page for too long.
    #[error("the request was held for too long")]
    HoldExpired,
    /// The user had decided before.
    #[error("the request was decided before")]
    AlreadyDecided,
    /// The decision grants more than the page showed.
    #[error("the decision grants more than was asked")]
    ExcessDecision,
    /// The user refused, or granted nothing.
    #[error("the user refused")]
    AccessDenied,
    /// The user may not be given tokens.
    #[error("the subject may not be given tokens")]
    SubjectRefused,
    /// Whether the user may be given tokens could not be told.
    #[error("the status of the subject is unknown right now")]
    SubjectUnknown,

    /// There is no such grant type.
    #[error("the grant type is unknown")]
    UnknownGrantType,
    /// The code was never issued.
    #[error("the code is unknown")]
    UnknownCode,
    /// The code belongs to another client.
    #[error("the code belongs to another client")]
    CodeOfAnotherClient,
    /// The code was issued in the future, by a clock that had leapt forward.
    #[error("the code was issued in the future")]
    CodeNotYetValid,
    /// The code is past its end.
    #[error("the code is expired")]
    CodeExpired,
    /// The code was used before, or what it stood for was withdrawn.
    #[error("the code is spent")]
    CodeSpent,
    /// The code was used before, and what it gave is now revoked.
    #[error("the code was replayed")]
    CodeReplayed,
    /// The redirect URI is not the one the code is bound to.
    #[error("the redirect URI is not that of the authorization request")]
    RedirectUriMismatch,
    /// The verifier is missing though the code is bound to a challenge.
    #[error("the code verifier is missing")]
    MissingVerifier,
    /// The verifier does not meet the challenge.
    #[error("the code verifier is wrong")]
    WrongVerifier,
    /// A verifier was sent for a code without challenge.
    #[error("the code verifier has no challenge")]
    UnexpectedVerifier,

    /// The refresh token was never issued, or not whole.
    #[error("the refresh token is unknown")]
    UnknownRefreshToken,
    /// The refresh token belongs to another client.
    #[error("the refresh token belongs to another client")]
    RefreshTokenOfAnotherClient,
    /// The refresh token was issued in the future, by a clock that had leapt forward.
    #[error("the refresh token was issued in the future")]
    RefreshTokenNotYetValid,
    /// The refresh token is past its own end.
    #[error("the refresh token is expired")]
    RefreshTokenExpired,
    /// The refresh token is superseded and out of its grace, but within the margin.
    #[error("the refresh token is superseded")]
    RefreshTokenSuperseded,
    /// The refresh token is superseded and past grace and margin.
    #[error("the refresh token was reused")]
    RefreshTokenReused,
    /// The refresh token is newer than the store.
    #[error("the store does not know of this refresh token yet")]
    StoreWentBack,
    /// The newest pair was derived with a key that the server does not have.
    #[error("a derivation key is missing")]
    MissingDerivationKey,
    /// The grant was revoked, or all grants of its client or subject were withdrawn.
    #[error("the grant is revoked")]
    GrantRevoked,
    /// So many pairs of the grant are in grace, or in the margin behind it, that one more has to wait.
    #[error("too many pairs are in grace, to be tried again after {retry_after} s")]
    TooManyInGrace {
        /// Seconds to wait.
        retry_after: u32,
    },
    /// The client has as many live tokens of its own as it may have.
    #[error("the client has too many live tokens, to be tried again after {retry_after} s")]
    TooManyMachineTokens {
        /// Seconds until the first of them ends.
        retry_after: u32,
    },
    /// The token to revoke is a live one of another client.
    #[error("the token belongs to another client")]
    TokenOfAnotherClient,

    /// The request is a CORS preflight: a browser asks whether a page of another origin may call the resource. It never
    /// has an access token.
    #[error("the request is a preflight, which has no access token")]
    Preflight,
    /// The request to the resource carries no access token.
    #[error("no access token was sent")]
    NoAccessToken,
    /// The request to the resource carries a malformed or a second access token.
    #[error("the access token was not sent in one proper way")]
    MalformedBearer,
    /// The access token is unknown, expired or revoked.
    #[error("the access token is not valid")]
    InvalidAccessToken,
    /// The proof is by another key than the one that the access token is bound to [RFC 9449 section 7.1].
    #[error("the DPoP proof is by another key than the access token is bound to")]
    AccessTokenOfAnotherKey,
    /// The embedder set neither the URL nor the path of a request to a resource, so its DPoP proof cannot be checked.
    #[error("the request has neither a URL nor a path; set Request::path or Request::url")]
    MissingRequestUrl,
    /// The access token is for other protected resources than the one that was asked [RFC 8707].
    #[error("the access token is for another protected resource")]
    AnotherAudience,
    /// The access token does not cover what was asked.
    #[error("the access token does not cover this")]
    InsufficientScope,
    /// The access token has the scope, but not for this one of the user's resources. More scopes would not help.
    #[error("the access token does not reach this resource")]
    ResourceNotReached,

    /// The metadata of a client that registers itself was refused.
    #[error("the metadata of the client was refused")]
    ClientMetadata(#[source] MetadataError),
    /// The embedder's policy refused a client that registers itself.
    #[error("the registration policy refused the client")]
    RegistrationRefused,
    /// The body of a registration is not JSON by its media type.
    #[error("the body of the registration has the wrong media type")]
    RegistrationMediaType,
    /// The client id is the URL of a metadata document, and the URL or the document was refused.
    #[error("the metadata document was refused")]
    MetadataDocument(#[source] Arc<DocumentError>),
    /// The client id is the URL of a metadata document, which is fetched only for a signed-in user.
    #[error("the user has to sign in before the metadata document is fetched")]
    SignInNeeded,
    /// The client registered itself or has a metadata document, and awaits review.
    #[error("the client awaits review")]
    ClientAwaitsReview,
    /// The initial access token is not one of this server, or it was purged after it had expired.
    #[error("the initial access token is unknown")]
    WrongInitialAccessToken,
    /// The initial access token has expired.
    #[error("the initial access token has expired")]
    InitialAccessTokenExpired,
    /// The initial access token has no uses left, or was ended.
    #[error("the initial access token has no uses left")]
    InitialAccessTokenUsedUp,
    /// The registration access token is not the client's, or the client is gone.
    #[error("the registration access token is not the client's")]
    WrongRegistrationAccessToken,
    /// The client was rejected or suspended, and may not manage its registration.
    #[error("the client may not manage its registration")]
    ManagementNotAllowed,
    /// All places of clients that register themselves are in use.
    #[error("too many clients have registered themselves")]
    TooManyClients,

    /// The assertion of the client cannot be read [RFC 7523 section 3].
    #[error("the client assertion cannot be read: {0}")]
    MalformedAssertion(Cow<'static, str>),
    /// The assertion of the client was refused [RFC 7523 section 3].
    #[error("the client assertion was refused: {0}")]
    ClientAssertion(Cow<'static, str>),
    /// The keys of the client cannot be fetched, and none are cached. It is answered with 503.
    #[error("the keys of the client cannot be fetched")]
    KeysUnavailable(#[source] Arc<KeyFetchError>),
    /// The DPoP proof was refused [RFC 9449 section 4.3].
    #[error("the DPoP proof was refused: {0}")]
    DpopProof(&'static str),
    /// No DPoP proof was sent, and the tokens have to be bound to a key, or are [RFC 9449 sections 5 and 7.1].
    #[error("the DPoP proof is missing")]
    MissingDpopProof,
    /// The DPoP proof has no nonce of this server, or an old one [RFC 9449 section 8].
    #[error("the DPoP proof needs the nonce of this server")]
    DpopNonceNeeded,
    /// The proof is by another key than the one that the code or refresh token is bound to [RFC 9449 sections 5 and
    /// 10].
    #[error("the DPoP proof is by another key than the code or token is bound to")]
    AnotherDpopKey,
    /// A token that is bound to a key was sent as a bearer token, or a token that is not bound to one under the DPoP scheme
    /// [RFC 9449 section 7.1].
    #[error("the access token was sent under the wrong scheme")]
    WrongTokenScheme,
    /// `dpop_jkt` is not a thumbprint, or is that of another key than the proof of the same request [RFC 9449 section
    /// 10].
    #[error("dpop_jkt is malformed or differs from the DPoP proof")]
    DpopKey,

    /// The authorization request was not pushed, and has to be [RFC 9126 section 5].
    #[error("the authorization request was not pushed")]
    NotPushed,
    /// A pushed request has `request_uri` among its parameters [RFC 9126 section 2.1].
    #[error("the pushed request has a request_uri")]
    PushedRequestUri,
    /// The request has a request object, which this server does not read [RFC 9101].
    #[error("the request has a request object")]
    RequestObject,
    /// The `request_uri` is unknown, expired, used, or another client's [RFC 9126 section 4].
    #[error("the request_uri is not valid")]
    UnknownRequestUri,
    /// The client has as many undecided pushed requests as it may have: see
    /// [`Config::pushed_requests_per_client`](crate::Config::pushed_requests_per_client). It is answered with 429.
    #[error("the client has too many open pushed requests, to be tried again after {retry_after} s")]
    TooManyPushedRequests {
        /// Seconds until the first of them expires.
        retry_after: u32,
    },

    /// The store failed.
    #[error("the store failed")]
    Store(#[from] StoreError),
}

/// The error codes of the wire [RFC 6749 sections 4.1.2.1 and 5.2, RFC 6750 section 3.1].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorCode {
    /// `invalid_request`
    InvalidRequest,
    /// `invalid_client`
    InvalidClient,
    /// `invalid_grant`
    InvalidGrant,
    /// `unauthorized_client`
    UnauthorizedClient,
    /// `unsupported_grant_type`
    UnsupportedGrantType,
    /// `unsupported_response_type`
    UnsupportedResponseType,
    /// `invalid_scope`
    InvalidScope,
    /// `invalid_target` [RFC 8707 section 2]
    InvalidTarget,
    /// `access_denied`
    AccessDenied,
    /// `server_error`
    ServerError,
    /// `temporarily_unavailable`
    TemporarilyUnavailable,
    /// `invalid_token`
    InvalidToken,
    /// `insufficient_scope`
    InsufficientScope,
    /// `invalid_dpop_proof` [RFC 9449 section 12.2]
    InvalidDpopProof,
    /// `use_dpop_nonce` [RFC 9449 section 12.2]
    UseDpopNonce,
    /// `request_not_supported` [OpenID Connect Core section 3.1.2.6]
    RequestNotSupported,
    /// `invalid_redirect_uri` [RFC 7591 section 3.2.2]
    InvalidRedirectUri,
    /// `invalid_client_metadata` [RFC 7591 section 3.2.2]
    InvalidClientMetadata,
}

impl ErrorCode {
    /// Returns the code as it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::InvalidClient => "invalid_client",
            Self::InvalidGrant => "invalid_grant",
            Self::UnauthorizedClient => "unauthorized_client",
            Self::UnsupportedGrantType => "unsupported_grant_type",
            Self::UnsupportedResponseType => "unsupported_response_type",
            Self::InvalidScope => "invalid_scope",
            Self::InvalidTarget => "invalid_target",
            Self::AccessDenied => "access_denied",
            Self::ServerError => "server_error",
            Self::TemporarilyUnavailable => "temporarily_unavailable",
            Self::InvalidToken => "invalid_token",
            Self::InsufficientScope => "insufficient_scope",
            Self::InvalidDpopProof => "invalid_dpop_proof",
            Self::UseDpopNonce => "use_dpop_nonce",
            Self::RequestNotSupported => "request_not_supported",
            Self::InvalidRedirectUri => "invalid_redirect_uri",
            Self::InvalidClientMetadata => "invalid_client_metadata",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a client is told: a code and a fixed text in the characters that RFC 6749 allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) code: ErrorCode,
    pub(crate) description: &'static str,
}

impl From<StaleClient> for Reason {
    fn from(stale: StaleClient) -> Self {
        Self::Store(StoreError::transient(stale))
    }
}

impl From<DocumentError> for Reason {
    fn from(error: DocumentError) -> Self {
        Self::MetadataDocument(Arc::new(error))
    }
}

impl From<Arc<KeyFetchError>> for Reason {
    fn from(error: Arc<KeyFetchError>) -> Self {
        Self::KeysUnavailable(error)
    }
}

impl From<TargetError> for Reason {
    fn from(error: TargetError) -> Self {
        match error {
            TargetError::Unknown => Self::UnknownProtectedResource,
            TargetError::Missing => Self::MissingProtectedResource,
            TargetError::Gone => Self::NoProtectedResourceLeft,
        }
    }
}

impl Reason {
    /// Returns the code that a client is told.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.told().code
    }

    /// Seconds to wait, if the request was refused for its rate or its number.
    pub(crate) const fn retry_after(&self) -> Option<u32> {
        if let Self::Throttled { retry_after }
        | Self::TooManyInGrace { retry_after }
        | Self::TooManyPushedRequests { retry_after }
        | Self::TooManyMachineTokens { retry_after } = self
        {
            return Some(*retry_after);
        }
        None
    }

    /// The one mapping to the wire. What a stranger could learn from is told in the same words.
    pub(crate) fn told(&self) -> Told {
        let (code, description) = match self {
            Self::MethodNotAllowed => (ErrorCode::InvalidRequest, "the method is not allowed"),
            Self::TooLarge => (ErrorCode::InvalidRequest, "the request is too large"),
            Self::MediaType => (ErrorCode::InvalidRequest, "the body has to be application/x-www-form-urlencoded"),
            Self::MalformedParameters => (ErrorCode::InvalidRequest, "the parameters are malformed"),
            Self::RepeatedParameter(_) => (ErrorCode::InvalidRequest, "a parameter was sent twice"),
            Self::SeveralCredentials => (ErrorCode::InvalidRequest, "more than one client credential was sent"),
            Self::ClientIdMismatch => (ErrorCode::InvalidRequest, "client_id differs from the credentials"),
            Self::MissingParameter(name) => (ErrorCode::InvalidRequest, missing(name)),
            Self::Throttled { .. } => (ErrorCode::TemporarilyUnavailable, "too many attempts"),

            Self::NoCredentials
            | Self::UnsupportedAuthentication
            | Self::MalformedCredentials
            | Self::UnknownClient
            | Self::ClientNotApproved
            | Self::ClientAwaitsReview
            | Self::MetadataDocument(_)
            | Self::SignInNeeded
            | Self::PublicClientsOff
            | Self::MissingSecret
            | Self::WrongSecret
            | Self::MalformedAssertion(_)
            | Self::ClientAssertion(_)
            | Self::UnregisteredAuthentication => (ErrorCode::InvalidClient, "client authentication failed"),

            Self::RedirectUri(_) => (ErrorCode::InvalidRequest, "the redirect URI is not registered"),
            Self::MissingRedirectUri => (ErrorCode::InvalidRequest, "the redirect URI is missing"),
            Self::UnknownResponseType => (ErrorCode::UnsupportedResponseType, "response_type has to be code"),
            Self::State => (ErrorCode::InvalidRequest, "state is too long or has characters that are not allowed"),
            Self::GrantTypeNotRegistered => {
                (ErrorCode::UnauthorizedClient, "the client is not registered for this grant type")
            }
            Self::MissingChallenge => (ErrorCode::InvalidRequest, "code_challenge is required"),
            Self::MalformedChallenge => {
                (ErrorCode::InvalidRequest, "code_challenge has to be 43 characters of base64url")
            }
            Self::ChallengeMethod => (ErrorCode::InvalidRequest, "code_challenge_method has to be S256"),
            Self::Scope(_) => (ErrorCode::InvalidScope, "the scope is malformed or unknown"),
            Self::ExcessScope => (ErrorCode::InvalidScope, "the scope is more than was registered or granted"),

            Self::UnknownProtectedResource => {
                (ErrorCode::InvalidTarget, "the resource is unknown, or not open to the client or the grant")
            }
            Self::MissingProtectedResource => (ErrorCode::InvalidTarget, "resource is missing"),
            Self::NoProtectedResourceLeft => {
                (ErrorCode::InvalidGrant, "the grant is for no resource of this server any more")
            }

            Self::MissingSession => (ErrorCode::ServerError, "the service failed"),
            Self::UnknownHandle
            | Self::HeldInTheFuture
            | Self::HoldExpired
            | Self::AlreadyDecided
            | Self::ExcessDecision => (ErrorCode::InvalidRequest, "the decision was refused"),
            Self::AccessDenied => (ErrorCode::AccessDenied, "the user refused"),
            Self::SubjectRefused => (ErrorCode::InvalidGrant, "the user may not be given tokens"),
            Self::SubjectUnknown | Self::MissingDerivationKey | Self::KeysUnavailable(_) => {
                (ErrorCode::TemporarilyUnavailable, "the service is temporarily unavailable")
            }

            Self::UnknownGrantType => (ErrorCode::UnsupportedGrantType, "the grant type is not supported"),
            Self::UnknownCode
            | Self::CodeOfAnotherClient
            | Self::CodeNotYetValid
            | Self::CodeExpired
            | Self::CodeSpent
            | Self::CodeReplayed => (ErrorCode::InvalidGrant, "the code is not valid"),
            Self::RedirectUriMismatch => {
                (ErrorCode::InvalidGrant, "redirect_uri is not that of the authorization request")
            }
            Self::MissingVerifier | Self::WrongVerifier => {
                (ErrorCode::InvalidGrant, "code_verifier does not meet the challenge")
            }
            Self::UnexpectedVerifier => {
                (ErrorCode::InvalidRequest, "code_verifier was sent for a request without code_challenge")
            }

            Self::UnknownRefreshToken
            | Self::RefreshTokenOfAnotherClient
            | Self::RefreshTokenNotYetValid
            | Self::RefreshTokenExpired
            | Self::RefreshTokenSuperseded
            | Self::RefreshTokenReused
            | Self::StoreWentBack
            | Self::GrantRevoked => (ErrorCode::InvalidGrant, "the refresh token is not valid"),
            Self::TooManyInGrace { .. } => (ErrorCode::TemporarilyUnavailable, "too many refreshes"),
            Self::TooManyMachineTokens { .. } => (ErrorCode::TemporarilyUnavailable, "too many live tokens"),
            Self::TokenOfAnotherClient => (ErrorCode::InvalidGrant, "the token was issued to another client"),

            Self::Preflight | Self::NoAccessToken => (ErrorCode::InvalidToken, "no access token was sent"),
            Self::MalformedBearer => (ErrorCode::InvalidRequest, "the access token was not sent in one proper way"),
            Self::InvalidAccessToken
            | Self::AccessTokenOfAnotherKey
            | Self::AnotherAudience
            | Self::WrongTokenScheme
            | Self::WrongInitialAccessToken
            | Self::InitialAccessTokenExpired
            | Self::InitialAccessTokenUsedUp
            | Self::WrongRegistrationAccessToken => (ErrorCode::InvalidToken, "the access token is not valid"),
            Self::DpopProof(_) | Self::MissingDpopProof => {
                (ErrorCode::InvalidDpopProof, "a valid DPoP proof is required")
            }
            Self::DpopNonceNeeded => (ErrorCode::UseDpopNonce, "the DPoP proof needs the nonce of this server"),
            Self::AnotherDpopKey => (ErrorCode::InvalidGrant, "the DPoP proof is by another key"),
            Self::DpopKey => (ErrorCode::InvalidRequest, "dpop_jkt is malformed or differs from the DPoP proof"),

            Self::NotPushed => (ErrorCode::InvalidRequest, "the authorization request has to be pushed"),
            Self::PushedRequestUri => (ErrorCode::InvalidRequest, "request_uri is not accepted here"),
            Self::RequestObject => (ErrorCode::RequestNotSupported, "request is not supported"),
            Self::UnknownRequestUri => (ErrorCode::InvalidRequest, "the request_uri is not valid"),
            Self::TooManyPushedRequests { .. } => (ErrorCode::TemporarilyUnavailable, "too many open requests"),

            Self::InsufficientScope | Self::ResourceNotReached => {
                (ErrorCode::InsufficientScope, "the access token does not cover this")
            }

            Self::ClientMetadata(error) => return told_of_metadata(*error),
            Self::RegistrationRefused => (ErrorCode::InvalidClientMetadata, "the client is not accepted here"),
            Self::RegistrationMediaType => (ErrorCode::InvalidClientMetadata, "the body has to be application/json"),
            Self::ManagementNotAllowed => (ErrorCode::AccessDenied, "the client may not manage its registration"),
            Self::TooManyClients => (ErrorCode::TemporarilyUnavailable, "no more clients can register themselves now"),

            Self::Store(error) if error.is_transient() => {
                (ErrorCode::TemporarilyUnavailable, "the service is temporarily unavailable")
            }
            Self::Store(_) | Self::MissingRequestUrl => (ErrorCode::ServerError, "the service failed"),
        };
        Told { code, description }
    }
}

/// What a client is told of its metadata [RFC 7591 section 3.2.2]; nothing of it is repeated.
const fn told_of_metadata(error: MetadataError) -> Told {
    let (code, description) = match error {
        MetadataError::OtherClient => (ErrorCode::InvalidRequest, "client_id has to name the client of the address"),
        MetadataError::ServerMade(_) => (ErrorCode::InvalidRequest, "a member was sent that only the server makes"),
        MetadataError::WrongSecret => (ErrorCode::InvalidRequest, "client_secret is not that of the client"),
        MetadataError::Fixed(_) => (
            ErrorCode::InvalidClientMetadata,
            "token_endpoint_auth_method or application_type differs, and cannot change",
        ),
        MetadataError::NotAnObject => (ErrorCode::InvalidClientMetadata, "the body has to be one JSON object"),
        MetadataError::WrongType(_) => (ErrorCode::InvalidClientMetadata, "a member has another JSON type"),
        MetadataError::Text(_) => {
            (ErrorCode::InvalidClientMetadata, "a text is blank, too long, or has characters that are not accepted")
        }
        MetadataError::Link(_) => (ErrorCode::InvalidClientMetadata, "a link is no plain https address"),
        MetadataError::PrivateKey => {
            (ErrorCode::InvalidClientMetadata, "jwks has a private or symmetric key; only public keys are accepted")
        }
        MetadataError::NoKeys => (ErrorCode::InvalidClientMetadata, "private_key_jwt needs jwks or jwks_uri"),
        MetadataError::KeySet(_) => (
            ErrorCode::InvalidClientMetadata,
            "jwks is malformed, too large, has a kid twice, or has no key that can be used",
        ),
        MetadataError::NoAcceptedKey => (
            ErrorCode::InvalidClientMetadata,
            "jwks has no key for an algorithm that is supported, or none for token_endpoint_auth_signing_alg",
        ),
        MetadataError::NoFetcher => {
            (ErrorCode::InvalidClientMetadata, "jwks_uri is not supported; jwks is accepted in its place")
        }
        MetadataError::SigningAlgorithm => {
            (ErrorCode::InvalidClientMetadata, "token_endpoint_auth_signing_alg has a value that is not supported")
        }
        MetadataError::TwoKeySets => (ErrorCode::InvalidClientMetadata, "jwks and jwks_uri exclude each other"),
        MetadataError::Method => {
            (ErrorCode::InvalidClientMetadata, "token_endpoint_auth_method has a value that is not supported")
        }
        MetadataError::NoGrantType => (ErrorCode::InvalidClientMetadata, "grant_types needs authorization_code"),
        MetadataError::NoResponseType => (ErrorCode::InvalidClientMetadata, "response_types needs code"),
        MetadataError::NoScope => (ErrorCode::InvalidClientMetadata, "scope has no value that is supported"),
        MetadataError::TooManyRedirectUris => (ErrorCode::InvalidRedirectUri, "redirect_uris has too many values"),
        MetadataError::RedirectUri(_) => {
            (ErrorCode::InvalidRedirectUri, "redirect_uris has a value that is not accepted")
        }
        MetadataError::NoRedirectUri => {
            (ErrorCode::InvalidRedirectUri, "redirect_uris needs a value of a kind that is supported")
        }
    };
    Told { code, description }
}

/// Names the missing parameter; the names are a closed set.
fn missing(name: &str) -> &'static str {
    match name {
        "grant_type" => "grant_type is missing",
        "code" => "code is missing",
        "refresh_token" => "refresh_token is missing",
        "token" => "token is missing",
        "response_type" => "response_type is missing",
        "client_id" => "client_id is missing",
        _ => "a parameter is missing",
    }
}
