//! What a client sees of a refusal: one error code and one text for each reason.

use std::borrow::Cow;
use std::fmt;

use crate::error::Reason;
use crate::model::client_metadata::MetadataError;
use crate::scope::ScopeError;

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
    /// `authorization_pending` [RFC 8628 section 3.5]
    AuthorizationPending,
    /// `slow_down` [RFC 8628 section 3.5]
    SlowDown,
    /// `expired_token` [RFC 8628 section 3.5]
    ExpiredToken,
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
            Self::AuthorizationPending => "authorization_pending",
            Self::SlowDown => "slow_down",
            Self::ExpiredToken => "expired_token",
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

/// What a client sees of an error: a code and a fixed text in the characters that RFC 6749 allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WireError {
    pub(crate) code: ErrorCode,
    pub(crate) description: Cow<'static, str>,
}

impl Reason {
    /// Returns the error code that a client sees.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.wire_error().code
    }

    /// Returns the seconds to wait, if the request exceeded a limit of rate or number.
    pub(crate) const fn retry_after(&self) -> Option<u32> {
        if let Self::Throttled { retry_after }
        | Self::TooManyInGrace { retry_after }
        | Self::TooManyPushedRequests { retry_after }
        | Self::TooManyDeviceRequests { retry_after }
        | Self::TooManyClientCredentialsTokens { retry_after } = self
        {
            return Some(*retry_after);
        }
        None
    }

    /// Returns what the client sees of the error. Reasons that would help an attacker share one text.
    pub(crate) fn wire_error(&self) -> WireError {
        use ErrorCode::{
            AccessDenied, AuthorizationPending, ExpiredToken, InsufficientScope, InvalidClient, InvalidClientMetadata,
            InvalidDpopProof, InvalidGrant, InvalidRequest, InvalidScope, InvalidTarget, InvalidToken,
            RequestNotSupported, ServerError, SlowDown, TemporarilyUnavailable, UnauthorizedClient,
            UnsupportedGrantType, UnsupportedResponseType, UseDpopNonce,
        };

        let (code, description) = match self {
            Self::MethodNotAllowed => (InvalidRequest, "the method is not allowed"),
            Self::TooLarge => (InvalidRequest, "the request is too large"),
            Self::MediaType => (InvalidRequest, "the body must be application/x-www-form-urlencoded"),
            Self::MalformedParameters => (InvalidRequest, "the parameters are malformed"),
            // The names are a closed set, and none has a character that must not be in a description.
            Self::RepeatedParameter(name) => return described(InvalidRequest, format!("{name} was sent twice")),
            Self::SeveralCredentials => (InvalidRequest, "more than one client credential was sent"),
            Self::ClientIdMismatch => (InvalidRequest, "client_id differs from the credentials"),
            Self::MissingParameter(name) => return described(InvalidRequest, format!("{name} is missing")),
            Self::Throttled { .. } => (TemporarilyUnavailable, "too many attempts"),

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
            | Self::UnregisteredAuthentication => (InvalidClient, "client authentication failed"),

            Self::RedirectUri(_) => (InvalidRequest, "the redirect URI is not registered"),
            Self::MissingRedirectUri => (InvalidRequest, "the redirect URI is missing"),
            Self::UnknownResponseType => (UnsupportedResponseType, "response_type must be code"),
            Self::State => (InvalidRequest, "state is too long or has characters that are not allowed"),
            Self::GrantTypeNotRegistered => (UnauthorizedClient, "the client is not registered for this grant type"),
            Self::MissingChallenge => (InvalidRequest, "code_challenge is required"),
            Self::MalformedChallenge => (InvalidRequest, "code_challenge must be 43 characters of base64url"),
            Self::ChallengeMethod => (InvalidRequest, "code_challenge_method must be S256"),
            Self::Scope(ScopeError::Malformed) => (InvalidScope, "the scope is malformed"),
            Self::Scope(ScopeError::Unknown { .. }) => (InvalidScope, "the scope has a token that is unknown"),
            Self::Scope(ScopeError::PermissionNotAllowed { .. }) => {
                (InvalidScope, "the scope has a token with a permission that cannot be granted")
            }
            Self::ExcessScope => (InvalidScope, "the scope is more than was registered or granted"),
            Self::ScopeNotForDevices => (InvalidScope, "the scope is not for devices"),

            Self::UnknownProtectedResource => {
                (InvalidTarget, "the resource is unknown, or not available to the client or the grant")
            }
            Self::MissingProtectedResource => (InvalidTarget, "resource is missing"),
            Self::SeveralProtectedResources => (InvalidTarget, "name one resource"),
            Self::NoProtectedResourceLeft => (InvalidGrant, "this server no longer has any resource of the grant"),

            Self::MissingSession | Self::ReservedSubject => (ServerError, "the service failed"),
            Self::UnknownConsentTicket
            | Self::HeldInTheFuture
            | Self::HoldExpired
            | Self::AlreadyDecided
            | Self::UnknownUserCode
            | Self::DeviceCodeNotCompared
            | Self::ExcessDecision => (InvalidRequest, "the decision was refused"),
            Self::AccessDenied => (AccessDenied, "the user refused"),
            Self::SubjectRefused => (InvalidGrant, "the user may not be given tokens"),
            Self::SubjectUnknown
            | Self::MissingDerivationKey
            | Self::KeysUnavailable(_)
            | Self::Introspection(_)
            | Self::AccessTokenKeys(_)
            | Self::Signing(_)
            | Self::RequiredScope(_) => (TemporarilyUnavailable, "the service is temporarily unavailable"),

            Self::UnknownGrantType => (UnsupportedGrantType, "the grant type is not supported"),
            Self::UnknownCode
            | Self::CodeOfAnotherClient
            | Self::CodeNotYetValid
            | Self::CodeExpired
            | Self::CodeSpent
            | Self::CodeReplayed => (InvalidGrant, "the code is not valid"),
            Self::RedirectUriMismatch => (InvalidGrant, "redirect_uri is not that of the authorization request"),
            Self::MissingVerifier => (InvalidGrant, "code_verifier is missing"),
            Self::MalformedVerifier(_) => {
                (InvalidGrant, "code_verifier must be 43 to 128 letters, digits or characters of - . _ ~")
            }
            Self::WrongVerifier => (InvalidGrant, "code_verifier does not match the challenge"),
            Self::UnexpectedVerifier => (InvalidRequest, "code_verifier was sent for a request without code_challenge"),

            Self::UnknownDeviceCode | Self::DeviceCodeSpent => (InvalidGrant, "the device code is not valid"),
            Self::DeviceCodeExpired => (ExpiredToken, "the device code has expired"),
            Self::DeviceUndecided => (AuthorizationPending, "the user has not decided yet"),
            Self::DevicePollsTooOften => (SlowDown, "the device polls too often"),
            Self::TooManyDeviceRequests { .. } => (TemporarilyUnavailable, "too many open requests"),

            Self::UnknownRefreshToken
            | Self::RefreshTokenOfAnotherClient
            | Self::RefreshTokenNotYetValid
            | Self::RefreshTokenExpired
            | Self::RefreshTokenSuperseded
            | Self::RefreshTokenReused
            | Self::StoreWentBack
            | Self::GrantRevoked => (InvalidGrant, "the refresh token is not valid"),
            Self::TooManyInGrace { .. } => (TemporarilyUnavailable, "too many refreshes"),
            Self::TooManyClientCredentialsTokens { .. } => (TemporarilyUnavailable, "too many live tokens"),
            Self::TokenOfAnotherClient => (InvalidGrant, "the token was issued to another client"),

            Self::Preflight | Self::NoAccessToken => (InvalidToken, "no access token was sent"),
            Self::MalformedBearer => (InvalidRequest, "the access token is malformed or was sent more than once"),
            Self::InvalidAccessToken
            | Self::AccessTokenOfAnotherKey
            | Self::AnotherAudience
            | Self::WrongTokenScheme
            | Self::WrongInitialAccessToken
            | Self::InitialAccessTokenExpired
            | Self::InitialAccessTokenUsedUp
            | Self::WrongRegistrationAccessToken => (InvalidToken, "the access token is not valid"),
            Self::DpopProof(_) | Self::MissingDpopProof => (InvalidDpopProof, "a valid DPoP proof is required"),
            Self::DpopNonceNeeded => (UseDpopNonce, "the DPoP proof needs the nonce of this server"),
            Self::AnotherDpopKey => (InvalidGrant, "the DPoP proof was signed with another key"),
            Self::DpopKey => (InvalidRequest, "dpop_jkt is malformed or differs from the DPoP proof"),

            Self::NotPushed => (InvalidRequest, "the authorization request must be pushed"),
            Self::PushedRequestUri => (InvalidRequest, "request_uri is not accepted here"),
            Self::RequestObject => (RequestNotSupported, "request is not supported"),
            Self::UnknownRequestUri => (InvalidRequest, "the request_uri is not valid"),
            Self::TooManyPushedRequests { .. } => (TemporarilyUnavailable, "too many open requests"),

            Self::InsufficientScope | Self::ResourceNotReached => {
                (InsufficientScope, "the access token does not cover this")
            }

            Self::ClientMetadata(error) => return metadata_error(*error),
            Self::RegistrationRefused => (InvalidClientMetadata, "the client is not accepted here"),
            Self::RegistrationMediaType => (InvalidClientMetadata, "the body must be application/json"),
            Self::ManagementNotAllowed => (AccessDenied, "the client may not manage its registration"),
            Self::TooManyClients => (TemporarilyUnavailable, "no more clients can register themselves now"),

            Self::Store(error) if error.is_transient() => {
                (TemporarilyUnavailable, "the service is temporarily unavailable")
            }
            Self::Store(_) | Self::MissingRequestUrl => (ServerError, "the service failed"),
        };
        described(code, description)
    }
}

fn described(code: ErrorCode, description: impl Into<Cow<'static, str>>) -> WireError {
    WireError { code, description: description.into() }
}

/// Returns what a client sees of an error in its metadata [RFC 7591 section 3.2.2]. The text repeats none of the
/// metadata.
fn metadata_error(error: MetadataError) -> WireError {
    use ErrorCode::{InvalidClientMetadata, InvalidRedirectUri, InvalidRequest};

    let (code, description) = match error {
        MetadataError::OtherClient => (InvalidRequest, "client_id must be that of the client in the URL"),
        MetadataError::ServerMade(_) => (InvalidRequest, "a member was sent that only the server makes"),
        MetadataError::WrongSecret => (InvalidRequest, "client_secret is not that of the client"),
        MetadataError::Fixed(_) => {
            (InvalidClientMetadata, "token_endpoint_auth_method or application_type differs, and cannot change")
        }
        MetadataError::NotAnObject => (InvalidClientMetadata, "the body must be one JSON object"),
        MetadataError::WrongType(_) => (InvalidClientMetadata, "a member has another JSON type"),
        MetadataError::Text(_) => {
            (InvalidClientMetadata, "a text is blank, too long, or has characters that are not accepted")
        }
        MetadataError::Link(_) => (InvalidClientMetadata, "a link is not a plain https address"),
        MetadataError::PrivateKey => {
            (InvalidClientMetadata, "jwks has a private or symmetric key; only public keys are accepted")
        }
        MetadataError::NoKeys => (InvalidClientMetadata, "private_key_jwt needs jwks or jwks_uri"),
        MetadataError::KeySet(_) => {
            (InvalidClientMetadata, "jwks is malformed, too large, has a kid twice, or has no key that can be used")
        }
        MetadataError::NoAcceptedKey => (
            InvalidClientMetadata,
            "jwks has no key for an algorithm that is supported, or none for token_endpoint_auth_signing_alg",
        ),
        MetadataError::NoFetcher => (InvalidClientMetadata, "jwks_uri is not supported; jwks is accepted in its place"),
        MetadataError::SigningAlgorithm => {
            (InvalidClientMetadata, "token_endpoint_auth_signing_alg has a value that is not supported")
        }
        MetadataError::TwoKeySets => (InvalidClientMetadata, "jwks and jwks_uri cannot be combined"),
        MetadataError::Method => {
            (InvalidClientMetadata, "token_endpoint_auth_method has a value that is not supported")
        }
        MetadataError::NoGrantType => (
            InvalidClientMetadata,
            "grant_types needs authorization_code or, if the metadata lists it, urn:ietf:params:oauth:grant-type:device_code",
        ),
        MetadataError::NoResponseType => (InvalidClientMetadata, "response_types needs code"),
        MetadataError::NoScope => (InvalidClientMetadata, "scope has no value that is supported"),
        MetadataError::TooLarge => (
            InvalidClientMetadata,
            "redirect_uris, jwks and texts are too large in all; jwks_uri and fewer URIs are smaller",
        ),
        MetadataError::TooManyRedirectUris => (InvalidRedirectUri, "redirect_uris has too many values"),
        MetadataError::RedirectUri(_) => (InvalidRedirectUri, "redirect_uris has a value that is not accepted"),
        MetadataError::NoRedirectUri => (InvalidRedirectUri, "redirect_uris needs a value of a kind that is supported"),
    };
    described(code, description)
}
