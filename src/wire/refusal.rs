//! How a refusal is reported: the error codes of the wire, and the row that each refusal has.

use std::borrow::Cow;
use std::fmt;

use crate::wire::page::ErrorKind;

/// Seconds after which a client may retry when the service is temporarily unavailable.
const RETRY_AFTER_FAILURE: u32 = 1;

/// One row a code: its name on the wire, and the status of a response with it.
macro_rules! error_codes {
    ($($(#[$about:meta])* $code:ident = $text:literal, $status:literal;)+) => {
        /// The error codes of the wire [RFC 6749 sections 4.1.2.1 and 5.2, RFC 6750 section 3.1].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorCode {
            $(#[doc = concat!("`", $text, "`")] $(#[$about])* $code,)+
        }

        impl ErrorCode {
            /// Returns the code as it is written.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$code => $text,)+
                }
            }

            const fn status(self) -> u16 {
                match self {
                    $(Self::$code => $status,)+
                }
            }
        }
    };
}

error_codes! {
    InvalidRequest = "invalid_request", 400;
    InvalidClient = "invalid_client", 401;
    InvalidGrant = "invalid_grant", 400;
    UnauthorizedClient = "unauthorized_client", 400;
    UnsupportedGrantType = "unsupported_grant_type", 400;
    UnsupportedResponseType = "unsupported_response_type", 400;
    InvalidScope = "invalid_scope", 400;
    /// [RFC 8707 section 2]
    InvalidTarget = "invalid_target", 400;
    AccessDenied = "access_denied", 400;
    /// [RFC 8628 section 3.5]
    AuthorizationPending = "authorization_pending", 400;
    /// [RFC 8628 section 3.5]
    SlowDown = "slow_down", 400;
    /// [RFC 8628 section 3.5]
    ExpiredToken = "expired_token", 400;
    ServerError = "server_error", 500;
    TemporarilyUnavailable = "temporarily_unavailable", 503;
    InvalidToken = "invalid_token", 401;
    InsufficientScope = "insufficient_scope", 403;
    /// [RFC 9449 section 12.2]
    InvalidDpopProof = "invalid_dpop_proof", 400;
    /// [RFC 9449 section 12.2]
    UseDpopNonce = "use_dpop_nonce", 400;
    /// [OpenID Connect Core section 3.1.2.6]
    LoginRequired = "login_required", 400;
    /// [OpenID Connect Core section 3.1.2.6]
    AccountSelectionRequired = "account_selection_required", 400;
    /// [OpenID Connect Core section 3.1.2.6]
    InteractionRequired = "interaction_required", 400;
    /// [OpenID Connect Core section 3.1.2.6]
    ConsentRequired = "consent_required", 400;
    /// [OpenID Connect Core section 3.1.2.6]
    RequestNotSupported = "request_not_supported", 400;
    /// [OpenID Connect Core section 3.1.2.6]
    RequestUriNotSupported = "request_uri_not_supported", 400;
    /// [OpenID Connect Core section 3.1.2.6]
    RegistrationNotSupported = "registration_not_supported", 400;
    /// [RFC 7591 section 3.2.2]
    InvalidRedirectUri = "invalid_redirect_uri", 400;
    /// [RFC 7591 section 3.2.2]
    InvalidClientMetadata = "invalid_client_metadata", 400;
}

impl ErrorCode {
    /// Begins the row of a refusal. The client sees the text, so it reveals no secret and nothing of another client,
    /// and has only the characters that RFC 6749 allows.
    pub(crate) fn says(self, description: impl Into<Cow<'static, str>>) -> Refusal {
        Refusal {
            code: self,
            description: description.into(),
            status: self.status(),
            retry_after: (self == Self::TemporarilyUnavailable).then_some(RETRY_AFTER_FAILURE),
            page: None,
            severity: Severity::Info,
            names_error: true,
            knows_client: false,
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How much attention an [`Event`](crate::Event) needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Severity {
    /// It is part of normal operation, and may happen with every request.
    Debug,
    /// It is part of normal operation.
    Info,
    /// Someone should read it: a possible attack, or a store failure that may pass.
    Warning,
    /// Someone must act: a store that stays broken or lost acknowledged writes, a key that is missing, a purge that is
    /// refused.
    Error,
}

impl Severity {
    /// Returns its name, such as `warning`.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// The row of a refusal: everything about it that differs from one to another.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) code: ErrorCode,
    pub(crate) description: Cow<'static, str>,
    pub(crate) status: u16,
    /// Seconds to wait.
    pub(crate) retry_after: Option<u32>,
    /// What the page for the user says, if it is not what the status suggests.
    pub(crate) page: Option<ErrorKind>,
    pub(crate) severity: Severity,
    /// Whether a challenge names the error. One that does makes the client request more scopes, or another token.
    pub(crate) names_error: bool,
    /// Whether the client that failed to authenticate exists.
    pub(crate) knows_client: bool,
}

impl Refusal {
    pub(crate) const fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// A limit of rate or number was exceeded.
    pub(crate) const fn after(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self.with_status(429)
    }

    pub(crate) const fn on_page(mut self, page: ErrorKind) -> Self {
        self.page = Some(page);
        self
    }

    pub(crate) const fn logged_as(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    pub(crate) const fn without_error(mut self) -> Self {
        self.names_error = false;
        self
    }

    pub(crate) const fn of_known_client(mut self) -> Self {
        self.knows_client = true;
        self
    }
}

/// Defines an enum of refusals, each variant with its row: `variant => code.says("what the client sees")`, and what
/// else differs. The text for logs is the `error` attribute.
macro_rules! refusals {
    (
        $(#[$attribute:meta])*
        pub enum $name:ident {
            $(
                $(#[$about:meta])*
                $variant:ident
                $(( $(#[$source:meta])? $value:ident: $type:ty ))?
                $({ $(#[$about_field:meta])* $field:ident: $field_type:ty $(,)? })?
                => $row:expr,
            )+
        }
    ) => {
        $(#[$attribute])*
        pub enum $name {
            $(
                $(#[$about])*
                $variant $(( $(#[$source])? $type ))? $({ $(#[$about_field])* $field: $field_type })?,
            )+
        }

        impl $name {
            /// Returns the name of the variant, which may be the label of a metric.
            pub(crate) const fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => stringify!($variant),)+
                }
            }

            pub(crate) fn refusal(&self) -> $crate::wire::refusal::Refusal {
                use $crate::wire::refusal::ErrorCode::*;
                match self {
                    $(Self::$variant $(($value))? $({ $field })? => $row,)+
                }
            }
        }
    };
}

pub(crate) use refusals;
