//! Messages for users, with Platform's own text in small print for the operator of the application.

use std::fmt;

use axum::http::StatusCode;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, Serialize)]
pub(super) struct Message {
    pub(super) text: String,
    pub(super) technical: Option<String>,
}

impl Message {
    pub(super) fn with_technical(text: impl Into<String>, technical: impl Into<String>) -> Self {
        Self { text: text.into(), technical: Some(technical.into()) }
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self { text, technical: None }
    }
}

/// A refusal from Platform.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: Option<StatusCode>,
    pub(super) error: Option<String>,
    pub(super) description: Option<String>,
}

impl Refusal {
    pub(super) fn is(&self, error: &str) -> bool {
        self.error.as_deref() == Some(error)
    }

    /// § RFC 6750, 3.1.
    pub(super) fn is_of_scope(&self) -> bool {
        self.is("insufficient_scope") || self.status == Some(StatusCode::FORBIDDEN)
    }

    /// Why a call was refused, in words.
    pub(super) const fn words(&self) -> &'static str {
        match self.status {
            Some(StatusCode::UNAUTHORIZED) => {
                "Platform no longer accepts our access. Please disconnect, and connect again."
            }
            Some(StatusCode::FORBIDDEN) => "You did not let us do this.",
            Some(StatusCode::NOT_FOUND) => "Platform does not have it any more.",
            Some(StatusCode::TOO_MANY_REQUESTS) => "We have asked Platform too often. Please try again in a while.",
            _ => "Platform did not take it.",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Platform answered")?;
        if let Some(status) = self.status {
            write!(formatter, " {status}")?;
        }
        if let Some(error) = &self.error {
            write!(formatter, " {error}")?;
        }
        match &self.description {
            Some(description) => write!(formatter, " ({description})"),
            None => Ok(()),
        }
    }
}
