//! Failures, and their texts.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};

use super::message::{Message, Refusal};
use super::pages::{MessagePage, page};

/// Why the requested page is not shown.
#[derive(Debug)]
pub(super) enum Failure {
    /// An internal error.
    Broken,
    Declined,
    /// The form is not from a page of this session.
    ForeignForm,
    IncompleteRegistration,
    NoRefreshToken,
    /// There is no connection. A notice on the start page may say why.
    NotConnected,
    NotFound,
    /// The request was for another host. Contains the address of this application.
    OtherHost(String),
    Refused(Refusal),
    /// An answer that this browser did not request, or that is not from Platform.
    StrayAnswer,
    /// Platform did not send a usable answer.
    Unreachable(String),
}

impl Failure {
    /// Details for the operator of the application.
    pub(super) fn technical(&self) -> Option<String> {
        match self {
            Self::Refused(refusal) => Some(refusal.to_string()),
            Self::Unreachable(why) => Some(format!("We asked Platform, but {why}")),
            _ => None,
        }
    }

    /// The status, the title, the text, and whether connecting again helps.
    const fn words(&self) -> (StatusCode, &'static str, &'static str, bool) {
        match self {
            Self::Broken => {
                (StatusCode::INTERNAL_SERVER_ERROR, "Something broke", "That is our fault. Please try again.", false)
            }
            Self::Declined => (
                StatusCode::OK,
                "You declined",
                "Nothing was connected, and we have seen nothing of your account. You can connect whenever you like.",
                true,
            ),
            Self::ForeignForm => (
                StatusCode::FORBIDDEN,
                "We did not take that form",
                "It came from a page that is too old, or not ours. Go back, reload the page and try again.",
                false,
            ),
            Self::IncompleteRegistration => (
                StatusCode::BAD_REQUEST,
                "Something is missing",
                "Both are needed, the client id and the client secret. Please go back.",
                false,
            ),
            Self::NoRefreshToken => (
                StatusCode::CONFLICT,
                "There is nothing to refresh with",
                "Platform gave us no refresh token. When the access token expires, connect again.",
                false,
            ),
            Self::NotConnected => (StatusCode::UNAUTHORIZED, "You are not connected", "Please connect first.", true),
            Self::NotFound => (StatusCode::NOT_FOUND, "Nothing here", "There is no page at this address.", false),
            Self::OtherHost(_) => (
                StatusCode::MISDIRECTED_REQUEST,
                "We are at another address",
                "You opened Release Notes at an address that is not its own. Please use its own address.",
                false,
            ),
            Self::Refused(_) => (
                StatusCode::BAD_GATEWAY,
                "Platform did not connect us",
                "It refused what we asked for, and did not say more. Nothing was connected.",
                true,
            ),
            Self::StrayAnswer => (
                StatusCode::BAD_REQUEST,
                "We did not expect this answer",
                "It does not belong to the connection that this browser began last; too much time may have passed. \
                 We did not use it. If you want to connect, please begin again.",
                true,
            ),
            Self::Unreachable(_) => (
                StatusCode::BAD_GATEWAY,
                "Platform is not available",
                "We asked, and got no answer that we could use. Nothing is lost: please try again in a while.",
                false,
            ),
        }
    }
}

/// What the errors of authorization and token endpoints mean to a person [RFC 6749 sections 4.1.2.1 and 5.2].
fn refused(error: &str) -> Option<(&'static str, &'static str, bool)> {
    Some(match error {
        "invalid_client" | "unauthorized_client" | "invalid_scope" => (
            "Platform does not accept Release Notes at the moment",
            "That is between Platform and us, and nothing that you did. Please try again later.",
            false,
        ),
        "invalid_grant" => (
            "That took too long",
            "Platform lets us use your answer for a short time only, and once. Please begin again.",
            true,
        ),
        "server_error" | "temporarily_unavailable" => {
            ("Platform is not available", "It could not do what we asked. Please try again in a while.", true)
        }
        _ => return None,
    })
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        if matches!(self, Self::NotConnected) {
            return Redirect::to("/").into_response();
        }
        let (status, mut title, mut text, mut connects) = self.words();
        if let Self::Refused(refusal) = &self
            && let Some(words) = refusal.error.as_deref().and_then(refused)
        {
            (title, text, connects) = words;
        }
        let message = Message { text: text.to_owned(), technical: self.technical() };
        let start = if let Self::OtherHost(own) = self { own } else { "/".into() };
        match page(&MessagePage { title, message, connects, start }) {
            Ok(response) => (status, response).into_response(),
            Err(_) => status.into_response(),
        }
    }
}
