//! Why a request is refused, and how that is reported on the wire.
//!
//! Each [`Reason`] is one row: what it is, its text for logs, and what the client sees. A new one is one more row.

pub(crate) mod failure;
pub(crate) mod response;

pub use crate::base::ValueError;
pub use crate::wire::refusal::ErrorCode;

use std::borrow::Cow;
use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::config::Config;
use crate::config::rule::ConfigError;
use crate::error::failure::{ClaimsError, IntrospectionError, KeySetError, ProfileError, SignerError};
use crate::model::client::StaleClient;
use crate::model::client_metadata::{DocumentError, MetadataError};
use crate::model::protected_resource::TargetError;
use crate::model::redirect_uri::RedirectUriError;
use crate::model::terms::Terms;
use crate::scope::ScopeError;
use crate::store::StoreError;
use crate::wire::page::ErrorKind;
use crate::wire::refusal::{Refusal, Severity, refusals};

refusals! {
    /// The exact reason why a request is refused, for logs, metrics and tests.
    ///
    /// Clients see the [`ErrorCode`] and a text that reveals less. Any release may add reasons: do not make
    /// behaviour depend on one.
    #[derive(Debug, thiserror::Error)]
    #[non_exhaustive]
    pub enum Reason {
        /// The endpoint does not accept the method.
        #[error("the method is not allowed")]
        MethodNotAllowed => InvalidRequest.says("the method is not allowed").with_status(405),
        /// The body or query is larger than the configured limit.
        #[error("the request is too large")]
        TooLarge => InvalidRequest.says("the request is too large").with_status(413),
        /// The body is not `application/x-www-form-urlencoded`.
        #[error("the body has the wrong media type")]
        MediaType => InvalidRequest.says("the body must be application/x-www-form-urlencoded"),
        /// The parameters are not form-encoded UTF-8, or too many.
        #[error("the parameters are malformed")]
        MalformedParameters => InvalidRequest.says("the parameters are malformed"),
        /// A parameter that the endpoint knows was sent twice.
        #[error("the parameter {0} was sent twice")]
        RepeatedParameter(name: &'static str) => InvalidRequest.says(format!("{name} was sent twice")),
        /// The request authenticates its client in more than one way.
        #[error("more than one client credential was sent")]
        SeveralCredentials => InvalidRequest.says("more than one client credential was sent"),
        /// The form and the credential name different clients.
        #[error("the form and the credential name different clients")]
        ClientIdMismatch => InvalidRequest.says("client_id differs from the credentials"),
        /// A parameter is missing or empty.
        #[error("the parameter {0} is missing")]
        MissingParameter(name: &'static str) => InvalidRequest.says(format!("{name} is missing")),
        /// Your service's throttle refused.
        #[error("too many attempts; retry after {retry_after} s")]
        Throttled {
            /// Seconds to wait.
            retry_after: u32,
        } => TemporarilyUnavailable.says("too many attempts").after(*retry_after),

        /// The request names no client.
        #[error("no client credentials were sent")]
        NoCredentials => InvalidClient.says(CLIENT_REFUSED),
        /// The server does not offer the authentication method, or the `Authorization` header has a scheme other than
        /// Basic.
        #[error("the authentication method is not supported")]
        UnsupportedAuthentication => InvalidClient.says(CLIENT_REFUSED),
        /// The Basic credentials cannot be read.
        #[error("the Basic credentials are malformed")]
        MalformedCredentials => InvalidClient.says(CLIENT_REFUSED),
        /// There is no such client.
        #[error("the client is unknown")]
        UnknownClient => InvalidClient.says(CLIENT_REFUSED).on_page(ErrorKind::UnknownClient),
        /// The client is pending, rejected or suspended.
        #[error("the client is not approved")]
        ClientNotApproved => InvalidClient.says(CLIENT_REFUSED).of_known_client(),
        /// The client is public, and the server serves no public clients.
        #[error("the client is public, and Config::public_clients is off")]
        PublicClientsOff => InvalidClient.says(CLIENT_REFUSED).of_known_client(),
        /// The client is confidential and sent no secret.
        #[error("the client secret is missing")]
        MissingSecret => InvalidClient.says(CLIENT_REFUSED).of_known_client(),
        /// The secret is not one of the client's.
        #[error("the client secret is wrong")]
        WrongSecret => InvalidClient.says(CLIENT_REFUSED).of_known_client(),
        /// The client is registered for another method of authentication.
        #[error("the client is registered for another authentication method")]
        UnregisteredAuthentication => InvalidClient.says(CLIENT_REFUSED).of_known_client(),

        /// The redirect URI is not acceptable or not registered.
        #[error("the redirect URI was refused")]
        RedirectUri(#[source] _error: RedirectUriError) => InvalidRequest.says("the redirect URI is not registered"),
        /// The request names no redirect URI, and not exactly one is registered.
        #[error("the redirect URI is missing, and the client has not registered exactly one")]
        MissingRedirectUri => InvalidRequest.says("the redirect URI is missing"),
        /// The response type is not `code`.
        #[error("the response type is unknown")]
        UnknownResponseType => UnsupportedResponseType.says("response_type must be code"),
        /// The state is too long, or has characters that the configuration refuses.
        #[error("the state was refused")]
        State => InvalidRequest.says("state is too long or has characters that are not allowed"),
        /// `prompt` has `none` beside another value [OpenID Connect Core section 3.1.2.1].
        #[error("the parameter prompt has none beside another value")]
        Prompt => InvalidRequest.says("prompt must not have none beside another value"),
        /// `id_token_hint` is no ID token that this server has issued to the client.
        #[error("the parameter id_token_hint is no ID token of this server for the client")]
        IdTokenHint => InvalidRequest.says("id_token_hint must be an ID token of this server for the client"),
        /// `max_age` is not a number of seconds.
        #[error("the parameter max_age is not a number of seconds")]
        MaxAge => InvalidRequest.says("max_age must be a number of seconds"),
        /// The response mode is not `query`.
        #[error("the response mode is unknown")]
        ResponseMode => InvalidRequest.says("response_mode must be query"),
        /// The nonce is too long, or no text without control characters.
        #[error("the nonce was refused")]
        Nonce => InvalidRequest.says("nonce must have at most 512 bytes of UTF-8 without control characters"),
        /// The client may not use this grant type.
        #[error("the client may not use this grant type")]
        GrantTypeNotRegistered => UnauthorizedClient.says("the client is not registered for this grant type"),
        /// The client must use PKCE and sent no challenge.
        #[error("the code challenge is missing")]
        MissingChallenge => InvalidRequest.says("code_challenge is required"),
        /// The challenge is not an S256 challenge.
        #[error("the code challenge is malformed")]
        MalformedChallenge => InvalidRequest.says("code_challenge must be 43 characters of base64url"),
        /// The challenge method is not S256, or was sent without a challenge.
        #[error("the code challenge method is not supported")]
        ChallengeMethod => InvalidRequest.says("code_challenge_method must be S256"),
        /// The scope cannot be read.
        #[error("the scope was refused")]
        Scope(#[source] error: ScopeError) => InvalidScope.says(of_scope(error)),
        /// The scope is more than the application or the grant has, or than the protected resources serve.
        #[error("the scope is more than was registered or granted")]
        ExcessScope => InvalidScope.says("the scope is more than was registered or granted"),
        /// The scope is not for devices: see [`not_for_devices`](crate::scope::ScopeDefinition::not_for_devices).
        #[error("the scope is not for devices")]
        ScopeNotForDevices => InvalidScope.says("the scope is not for devices"),
        /// A page of an origin that [`devices.cors`](crate::Config::devices) does not list asks for a device.
        #[error("a page asks for a device, and devices.cors does not list its origin")]
        PageNotForDevices => InvalidRequest.says("pages of this origin cannot ask for devices"),
        /// A protected resource is not configured, not available to the client, or not part of the grant, or more than
        /// 8 are named [RFC 8707 section 2].
        #[error("the protected resource is unknown, or not available to the client")]
        UnknownProtectedResource =>
            InvalidTarget.says("the resource is unknown, or not available to the client or the grant"),
        /// No protected resource is named, and none is the default.
        #[error("no protected resource is named, and none is the default")]
        MissingProtectedResource => InvalidTarget.says("resource is missing"),
        /// The server no longer has any of the grant's protected resources.
        #[error("the server no longer has any protected resource of the grant")]
        NoProtectedResourceLeft => InvalidGrant.says("this server no longer has any resource of the grant"),

        /// A token is requested for several protected resources, and at least one of them has JWT access tokens, which
        /// are for one resource [RFC 9068 section 3].
        #[error("a JWT access token is for one protected resource, and several are requested")]
        SeveralProtectedResources => InvalidTarget.says("name one resource"),

        /// Your service gave no session to bind the request to.
        #[error("the session is empty")]
        MissingSession => ServerError.says(FAILED),
        /// The form's ticket names no request of this user and session.
        #[error("the ticket of the decision is unknown")]
        UnknownConsentTicket => InvalidRequest.says(DECISION_REFUSED),
        /// The request was held more than 15 minutes in the future, by a clock that had jumped forward.
        #[error("the request was held in the future")]
        HeldInTheFuture => InvalidRequest.says(DECISION_REFUSED),
        /// The user took too long to decide.
        #[error("the request was held for too long")]
        HoldExpired => InvalidRequest.says(DECISION_REFUSED),
        /// The user had decided before.
        #[error("the request was decided before")]
        AlreadyDecided => InvalidRequest.says(DECISION_REFUSED).on_page(ErrorKind::AlreadyAnswered),
        /// The user code leads to no request: it is mistyped, has expired, or was typed by another user first [RFC 8628
        /// section 5.1].
        #[error("the user code is unknown")]
        UnknownUserCode => InvalidRequest.says(DECISION_REFUSED),
        /// The user code came in a link, and the user did not say that the device shows it [RFC 8628 section 5.4].
        #[error("the user did not confirm that the device shows the code")]
        DeviceCodeNotCompared => InvalidRequest.says(DECISION_REFUSED),
        /// The decision grants more than the page showed.
        #[error("the decision grants more than was asked")]
        ExcessDecision => InvalidRequest.says(DECISION_REFUSED),
        /// The user refused, or granted nothing.
        #[error("the user refused")]
        AccessDenied => AccessDenied.says("the user refused"),
        /// The name of the user begins with `client:`, as `sub` does in JWT access tokens of a client that acts for
        /// itself [RFC 9068 section 5].
        #[error(
            "the subject begins with \"client:\", which is reserved while a protected resource has JWT access tokens"
        )]
        ReservedSubject => ServerError.says(FAILED),
        /// Your service says that the user signed in more than a minute from now.
        #[error("the time of the sign-in is more than 60 s in the future")]
        SignInInTheFuture => ServerError.says(FAILED),
        /// The request depends on when the user signed in, and your service has not said so.
        #[error("the time of the sign-in is not known, and prompt or max_age depends on it")]
        SignInTimeUnknown => ServerError.says(FAILED),
        /// No user is signed in, or the sign-in is too old for the request.
        #[error("the user is not signed in, or not recently enough")]
        LoginRequired => LoginRequired.says("the user must sign in"),
        /// The user has several accounts, and the request permits no page to choose one.
        #[error("the user must choose an account, and the request permits no page")]
        AccountSelectionRequired => AccountSelectionRequired.says("the user must choose an account"),
        /// The client's identity is not assured, or no user navigates to the address; the request permits no page.
        #[error("a page is needed because of the client or the browser, and the request permits none")]
        InteractionRequired => InteractionRequired.says("the user must see a page"),
        /// No earlier consent covers the request, which permits no page.
        #[error("the user must be asked for consent, and the request permits no page")]
        ConsentRequired => ConsentRequired.says("the user must be asked for consent"),
        /// The user may not be given tokens.
        #[error("the subject may not be given tokens")]
        SubjectRefused => InvalidGrant.says("the user may not be given tokens"),
        /// It could not be determined whether the user may be given tokens.
        #[error("the status of the subject is unknown right now")]
        SubjectUnknown => TemporarilyUnavailable.says(UNAVAILABLE),

        /// There is no such grant type.
        #[error("the grant type is unknown")]
        UnknownGrantType => UnsupportedGrantType.says("the grant type is not supported"),
        /// The code was never issued.
        #[error("the code is unknown")]
        UnknownCode => InvalidGrant.says(CODE_REFUSED),
        /// The code belongs to another client.
        #[error("the code belongs to another client")]
        CodeOfAnotherClient => InvalidGrant.says(CODE_REFUSED),
        /// It was issued in the future, by up to 15 minutes: the clock of this server is behind, or the clock of the
        /// server that issued it is ahead. The value is the seconds. It is answered with 503, since it is genuine:
        /// another server may accept it, and all do once the clocks agree.
        #[error("it was issued {0} s in the future: the clocks of the servers differ")]
        ClockDiffers(_ahead: u32) => TemporarilyUnavailable.says(UNAVAILABLE),
        /// It was granted under settings with a higher [`Config::revision`](crate::Config::revision) than those of this
        /// process, which lack what it needs. It is answered with 503: a process with those settings accepts it.
        #[error("it was granted under newer settings than those of this process")]
        NewerSettings => TemporarilyUnavailable.says(UNAVAILABLE).logged_as(Severity::Warning),
        /// The code was issued more than 15 minutes in the future, by a clock that had jumped forward.
        #[error("the code was issued in the future")]
        CodeNotYetValid => InvalidGrant.says(CODE_REFUSED),
        /// The code has expired.
        #[error("the code has expired")]
        CodeExpired => InvalidGrant.says(CODE_REFUSED),
        /// The code was used before, or what it granted was revoked.
        #[error("the code is spent")]
        CodeSpent => InvalidGrant.says(CODE_REFUSED),
        /// The code was used before, and its grant is now revoked.
        #[error("the code was replayed")]
        CodeReplayed => InvalidGrant.says(CODE_REFUSED),
        /// The redirect URI is not the one the code is bound to.
        #[error("the redirect URI is not that of the authorization request")]
        RedirectUriMismatch => InvalidGrant.says("redirect_uri is not that of the authorization request"),
        /// The verifier is missing although the code is bound to a challenge.
        #[error("the code verifier is missing")]
        MissingVerifier => InvalidGrant.says("code_verifier is missing"),
        /// The verifier is too short or too long, or has a character that is not allowed [RFC 7636 section 4.1].
        #[error("the code verifier is malformed")]
        MalformedVerifier(#[source] _error: ValueError) =>
            InvalidGrant.says("code_verifier must be 43 to 128 letters, digits or characters of - . _ ~"),
        /// The verifier does not match the challenge.
        #[error("the code verifier is wrong")]
        WrongVerifier => InvalidGrant.says("code_verifier does not match the challenge"),
        /// A verifier was sent for a code without a challenge.
        #[error("the code verifier has no challenge")]
        UnexpectedVerifier => InvalidRequest.says("code_verifier was sent for a request without code_challenge"),

        /// The device code was never issued, or belongs to another client [RFC 8628 section 3.4].
        #[error("the device code is unknown, or belongs to another client")]
        UnknownDeviceCode => InvalidGrant.says(DEVICE_CODE_REFUSED),
        /// The device code was used, or what its user granted was revoked.
        #[error("the device code is spent")]
        DeviceCodeSpent => InvalidGrant.says(DEVICE_CODE_REFUSED),
        /// The device code has expired [RFC 8628 section 3.5].
        #[error("the device code has expired")]
        DeviceCodeExpired => ExpiredToken.says("the device code has expired"),
        /// The user has not decided yet [RFC 8628 section 3.5].
        #[error("the user has not decided yet")]
        DeviceUndecided => AuthorizationPending.says("the user has not decided yet"),
        /// The device polls more often than its interval allows [RFC 8628 section 3.5].
        #[error("the device polls too often")]
        DevicePollsTooOften => SlowDown.says("the device polls too often"),
        /// The client has reached its limit of device requests: see
        /// [`Config::limits.device_requests`](crate::Config::limits). It is answered with 429.
        #[error("the client has too many device requests; retry after {retry_after} s")]
        TooManyDeviceRequests {
            /// Seconds until the first of them expires.
            retry_after: u32,
        } => TemporarilyUnavailable.says("too many open requests").after(*retry_after),

        /// The refresh token was never issued, or is incomplete.
        #[error("the refresh token is unknown")]
        UnknownRefreshToken => InvalidGrant.says(REFRESH_TOKEN_REFUSED),
        /// The refresh token belongs to another client.
        #[error("the refresh token belongs to another client")]
        RefreshTokenOfAnotherClient => InvalidGrant.says(REFRESH_TOKEN_REFUSED),
        /// The refresh token was issued more than 15 minutes in the future, by a clock that had jumped forward.
        #[error("the refresh token was issued in the future")]
        RefreshTokenNotYetValid => InvalidGrant.says(REFRESH_TOKEN_REFUSED),
        /// The refresh token has expired.
        #[error("the refresh token has expired")]
        RefreshTokenExpired => InvalidGrant.says(REFRESH_TOKEN_REFUSED),
        /// The refresh token is superseded and in its grace, but nothing in the record leads from it to the newest
        /// pair.
        #[error("the refresh token is superseded")]
        RefreshTokenSuperseded => InvalidGrant.says(REFRESH_TOKEN_REFUSED),
        /// The refresh token is superseded and past its grace.
        #[error("the refresh token was reused")]
        RefreshTokenReused => InvalidGrant.says(REFRESH_TOKEN_REFUSED),
        /// The store has lost the write that issued this refresh token.
        #[error("the store has lost the write that issued this refresh token")]
        StoreWentBack => InvalidGrant.says(REFRESH_TOKEN_REFUSED),
        /// The newest pair was derived with a key that the server does not have.
        #[error("a derivation key is missing")]
        MissingDerivationKey => TemporarilyUnavailable.says(UNAVAILABLE),
        /// The grant was revoked, or all grants of its client or subject were revoked.
        #[error("the grant is revoked")]
        GrantRevoked => InvalidGrant.says(REFRESH_TOKEN_REFUSED),
        /// Too many pairs of the grant are in grace, or retained after it, for another one.
        #[error("too many pairs are in grace; retry after {retry_after} s")]
        TooManyInGrace {
            /// Seconds to wait.
            retry_after: u32,
        } => TemporarilyUnavailable.says("too many refreshes").after(*retry_after),
        /// The client has reached its limit of live tokens without a user.
        #[error("the client has too many live tokens; retry after {retry_after} s")]
        TooManyClientCredentialsTokens {
            /// Seconds until the first of them expires.
            retry_after: u32,
        } => TemporarilyUnavailable.says("too many live tokens").after(*retry_after),
        /// The token to revoke is a live token of another client.
        #[error("the token belongs to another client")]
        TokenOfAnotherClient => InvalidGrant.says("the token was issued to another client"),

        /// The request is a CORS preflight: a browser asks whether a page of another origin may call the resource. It
        /// never has an access token.
        #[error("the request is a preflight, which has no access token")]
        Preflight => InvalidToken.says("no access token was sent").with_status(204),
        /// The request to the resource contains no access token.
        #[error("no access token was sent")]
        NoAccessToken => InvalidToken.says("no access token was sent").without_error(),
        /// The request to the resource contains a malformed or a second access token.
        #[error("the access token is malformed or was sent more than once")]
        MalformedBearer => InvalidRequest.says("the access token is malformed or was sent more than once"),
        /// The access token is unknown, expired or revoked.
        #[error("the access token is not valid")]
        InvalidAccessToken => InvalidToken.says(ACCESS_TOKEN_REFUSED),
        /// The authorization server, which is in another process, did not say whether the access token is valid [RFC
        /// 7662]. It is answered with 503.
        #[error("the access token could not be looked up")]
        Introspection(#[source] _error: Arc<IntrospectionError>) => TemporarilyUnavailable.says(UNAVAILABLE),
        /// The keys that JWT access tokens are signed with are not known [RFC 9068 section 4]. It is answered with 503.
        #[error("the keys of the authorization server could not be fetched")]
        AccessTokenKeys(#[source] _error: Arc<KeySetError>) => TemporarilyUnavailable.says(UNAVAILABLE),
        /// The proof was signed with a key other than the one that the access token is bound to [RFC 9449 section 7.1].
        #[error("the DPoP proof was signed with a key other than that of the access token")]
        AccessTokenOfAnotherKey => InvalidToken.says(ACCESS_TOKEN_REFUSED),
        /// Your service set neither the URL nor the path of a request to a resource, so its DPoP proof cannot be
        /// checked.
        #[error("the request has neither a URL nor a path; set Request::path or Request::url")]
        MissingRequestUrl => ServerError.says(FAILED),
        /// The access token is for protected resources other than the requested one [RFC 8707].
        #[error("the access token is for another protected resource")]
        AnotherAudience => InvalidToken.says(ACCESS_TOKEN_REFUSED),
        /// Your service requires a scope that no token can have, for example a mistyped one. It is answered with 503.
        /// See [`check_scope`](crate::ResourceServer::check_scope).
        #[error("no token can have the scope that this route requires")]
        RequiredScope(#[source] _error: ConfigError) => TemporarilyUnavailable.says(UNAVAILABLE),
        /// The access token does not cover what was requested.
        #[error("the access token does not cover this")]
        InsufficientScope => InsufficientScope.says("the access token does not cover this"),
        /// The access token has the scope, but not for this one of the user's resources. More scopes would not help.
        #[error("the access token does not reach this resource")]
        ResourceNotReached => InsufficientScope.says("the access token does not cover this").without_error(),

        /// The metadata of a client that registers itself was refused.
        #[error("the metadata of the client was refused")]
        ClientMetadata(#[source] error: MetadataError) => error.refusal(),
        /// Your service's policy refused a client that registers itself.
        #[error("the registration policy refused the client")]
        RegistrationRefused => InvalidClientMetadata.says("the client is not accepted here"),
        /// The body of a registration does not have the media type of JSON.
        #[error("the body of the registration has the wrong media type")]
        RegistrationMediaType => InvalidClientMetadata.says("the body must be application/json"),
        /// The client id is the URL of a metadata document, and the URL or the document was refused.
        #[error("the metadata document was refused")]
        MetadataDocument(#[source] _error: Arc<DocumentError>) => InvalidClient.says(CLIENT_REFUSED),
        /// The client id is the URL of a metadata document, which is fetched only for a signed-in user.
        #[error("the user must sign in before the metadata document is fetched")]
        SignInNeeded => InvalidClient.says(CLIENT_REFUSED),
        /// The client registered itself or has a metadata document, and awaits review.
        #[error("the client awaits review")]
        ClientAwaitsReview => InvalidClient.says(CLIENT_REFUSED).on_page(ErrorKind::AwaitsReview),
        /// The initial access token is not one of this server, or it was purged after it had expired.
        #[error("the initial access token is unknown")]
        WrongInitialAccessToken => InvalidToken.says(ACCESS_TOKEN_REFUSED),
        /// The initial access token has expired.
        #[error("the initial access token has expired")]
        InitialAccessTokenExpired => InvalidToken.says(ACCESS_TOKEN_REFUSED),
        /// The initial access token has no uses left, or was ended.
        #[error("the initial access token has no uses left")]
        InitialAccessTokenUsedUp => InvalidToken.says(ACCESS_TOKEN_REFUSED),
        /// The registration access token is not the client's, or the client no longer exists.
        #[error("the registration access token is not the client's")]
        WrongRegistrationAccessToken => InvalidToken.says(ACCESS_TOKEN_REFUSED),
        /// The client was rejected or suspended, and may not manage its registration.
        #[error("the client may not manage its registration")]
        ManagementNotAllowed => AccessDenied.says("the client may not manage its registration").with_status(403),
        /// All places for clients that register themselves are in use.
        #[error("too many clients have registered themselves")]
        TooManyClients => TemporarilyUnavailable.says("no more clients can register themselves now"),

        /// The assertion of the client cannot be read [RFC 7523 section 3].
        #[error("the client assertion cannot be read: {0}")]
        MalformedAssertion(_what: Cow<'static, str>) => InvalidClient.says(CLIENT_REFUSED),
        /// The assertion of the client was refused [RFC 7523 section 3].
        #[error("the client assertion was refused: {0}")]
        ClientAssertion(_what: Cow<'static, str>) => InvalidClient.says(CLIENT_REFUSED).of_known_client(),
        /// The keys of the client cannot be fetched, and none are cached. It is answered with 503.
        #[error("the keys of the client cannot be fetched")]
        KeysUnavailable(#[source] _error: Arc<KeySetError>) => TemporarilyUnavailable.says(UNAVAILABLE),
        /// The DPoP proof was refused [RFC 9449 section 4.3].
        #[error("the DPoP proof was refused: {0}")]
        DpopProof(what: &'static str) => InvalidDpopProof.says(format!("the DPoP proof was refused: {what}")),
        /// No DPoP proof was sent, but the tokens are or must be bound to a key [RFC 9449 sections 5 and 7.1].
        #[error("the DPoP proof is missing")]
        MissingDpopProof => InvalidDpopProof.says("a DPoP proof is required"),
        /// The DPoP proof has no nonce of this server, or an old one [RFC 9449 section 8].
        #[error("the DPoP proof needs the nonce of this server")]
        DpopNonceNeeded => UseDpopNonce.says("the DPoP proof needs the nonce of this server"),
        /// The proof was signed with a key other than the one that the code or refresh token is bound to [RFC 9449
        /// sections 5 and 10].
        #[error("the DPoP proof was signed with a key other than that of the code or token")]
        AnotherDpopKey => InvalidGrant.says("the DPoP proof was signed with another key"),
        /// A DPoP-bound token was sent as a bearer token, or an unbound token under the DPoP scheme [RFC 9449 section
        /// 7.1].
        #[error("the access token was sent under the wrong scheme")]
        WrongTokenScheme => InvalidToken.says(ACCESS_TOKEN_REFUSED),
        /// `dpop_jkt` is not a thumbprint, or not that of the key that signed the proof of the same request [RFC 9449
        /// section 10].
        #[error("dpop_jkt is malformed or differs from the DPoP proof")]
        DpopKey => InvalidRequest.says("dpop_jkt is malformed or differs from the DPoP proof"),

        /// The authorization request was not pushed, but must be [RFC 9126 section 5].
        #[error("the authorization request was not pushed")]
        NotPushed => InvalidRequest.says("the authorization request must be pushed"),
        /// A pushed request has `request_uri` among its parameters [RFC 9126 section 2.1].
        #[error("the pushed request has a request_uri")]
        PushedRequestUri => InvalidRequest.says("request_uri is not accepted here"),
        /// The request has a request object, which this server does not read [RFC 9101].
        #[error("the request has a request object")]
        RequestObject => RequestNotSupported.says("request is not supported"),
        /// The request has the metadata of a client [OpenID Connect Core section 7.2.1].
        #[error("the request has the parameter registration")]
        RegistrationParameter => RegistrationNotSupported.says("registration is not supported"),
        /// The request names a `request_uri` that this server has not issued.
        #[error("the request_uri was not issued by this server")]
        ForeignRequestUri => RequestUriNotSupported.says("request_uri must come from a pushed request"),
        /// The `request_uri` is unknown, expired, used, or belongs to another client [RFC 9126 section 4].
        #[error("the request_uri is not valid")]
        UnknownRequestUri => InvalidRequest.says("the request_uri is not valid"),
        /// The client has reached its limit of undecided pushed requests: see
        /// [`Config::limits.pushed_requests`](crate::Config::limits). It is answered with 429.
        #[error("the client has too many open pushed requests; retry after {retry_after} s")]
        TooManyPushedRequests {
            /// Seconds until the first of them expires.
            retry_after: u32,
        } => TemporarilyUnavailable.says("too many open requests").after(*retry_after),

        /// The access token could not be signed. It is answered with 503, and nothing was changed.
        #[error("the access token could not be signed")]
        Signing(#[source] _error: SignerError) => TemporarilyUnavailable.says(UNAVAILABLE),
        /// The access token cannot have the claims of your service. It is answered with 503, and nothing was changed.
        #[error("the claims of the access token were refused")]
        Claims(#[source] _error: ClaimsError) => TemporarilyUnavailable.says(UNAVAILABLE),
        /// What your service says about a user cannot be sent.
        #[error("the claims about the user were refused")]
        Profile(#[source] _error: ProfileError) => ServerError.says(FAILED),
        /// The store failed.
        #[error("the store failed")]
        Store(#[from] error: StoreError) => of_store(error),
    }
}

// Reasons that would help an attacker share one text.
const CLIENT_REFUSED: &str = "client authentication failed";
const DECISION_REFUSED: &str = "the decision was refused";
const CODE_REFUSED: &str = "the code is not valid";
const DEVICE_CODE_REFUSED: &str = "the device code is not valid";
const REFRESH_TOKEN_REFUSED: &str = "the refresh token is not valid";
const ACCESS_TOKEN_REFUSED: &str = "the access token is not valid";
// The client can do nothing about these.
const FAILED: &str = "the service failed";
const UNAVAILABLE: &str = "the service is temporarily unavailable";

const fn of_scope(error: &ScopeError) -> &'static str {
    match error {
        ScopeError::Malformed => "the scope is malformed",
        ScopeError::Unknown { .. } => "the scope has a token that is unknown",
        ScopeError::PermissionNotAllowed { .. } => "the scope has a token with a permission that cannot be granted",
    }
}

fn of_store(error: &StoreError) -> Refusal {
    let refusal = match error.is_transient() {
        true => ErrorCode::TemporarilyUnavailable.says(UNAVAILABLE),
        false => ErrorCode::ServerError.says(FAILED),
    };
    refusal.logged_as(error.severity())
}

impl Reason {
    /// Returns its name as the label of a metric, which is one of a few fixed words.
    pub(crate) const fn label(&self) -> &'static str {
        if let Self::ClientMetadata(error) = self { error.name() } else { self.name() }
    }

    /// Returns the error code that a client sees.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.refusal().code
    }

    /// Returns [`NewerSettings`](Self::NewerSettings) for a refusal that other settings might have prevented, if the
    /// terms were agreed under newer settings than these.
    pub(crate) fn or_newer_settings(self, config: &Config, terms: &Terms) -> Self {
        let is_of_settings = matches!(
            self,
            Self::ExcessScope
                | Self::MissingProtectedResource
                | Self::NoProtectedResourceLeft
                | Self::Scope(_)
                | Self::SeveralProtectedResources
                | Self::UnknownProtectedResource
        );
        if is_of_settings && terms.revision() > config.revision { Self::NewerSettings } else { self }
    }

    /// Returns [`ClockDiffers`](Self::ClockDiffers) for something that was issued up to 15 minutes in the future.
    pub(crate) fn clock_differs(issued: Timestamp, now: Timestamp) -> Option<Self> {
        issued.ahead_of(now).map(Self::ClockDiffers)
    }

    /// Returns why something that was issued in the future is refused: with [`ClockDiffers`](Self::ClockDiffers), or
    /// with `refused` if it is more than 15 minutes ahead.
    pub(crate) fn not_yet_valid(issued: Timestamp, now: Timestamp, refused: Self) -> Self {
        Self::clock_differs(issued, now).unwrap_or(refused)
    }
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

/// At an API; the keys of a client are [`Reason::KeysUnavailable`].
impl From<Arc<KeySetError>> for Reason {
    fn from(error: Arc<KeySetError>) -> Self {
        Self::AccessTokenKeys(error)
    }
}

impl From<Arc<IntrospectionError>> for Reason {
    fn from(error: Arc<IntrospectionError>) -> Self {
        Self::Introspection(error)
    }
}

impl From<TargetError> for Reason {
    fn from(error: TargetError) -> Self {
        match error {
            TargetError::Unknown => Self::UnknownProtectedResource,
            TargetError::Missing => Self::MissingProtectedResource,
            TargetError::Gone => Self::NoProtectedResourceLeft,
            TargetError::SeveralOfJwts => Self::SeveralProtectedResources,
        }
    }
}
