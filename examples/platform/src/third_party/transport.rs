//! The HTTP client for all requests to Platform.

use std::pin::Pin;

use axum::http::StatusCode;
use axum::http::uri::{Scheme, Uri};
use oauth2::{AsyncHttpClient, HttpRequest, HttpResponse};
use serde::de::DeserializeOwned;
use thiserror::Error;

use super::failure::Failure;

/// Sends a request. A server error does not count as an answer.
pub(super) async fn send(request: HttpRequest) -> Result<HttpResponse, Unanswered> {
    let answer = plain_http::send(request).await?;
    let status = answer.status();
    if status.is_server_error() { Err(Unanswered::Status(status)) } else { Ok(answer) }
}

/// Reads the JSON of an answer.
pub(super) fn read<T: DeserializeOwned>(answer: &HttpResponse) -> Result<T, Unanswered> {
    // The details of the error may quote the answer, including tokens.
    serde_json::from_slice(answer.body()).map_err(|_| Unanswered::Unreadable)
}

/// What the crate `oauth2` sends its requests with.
pub(super) struct Transport {
    is_plain: bool,
}

impl Transport {
    pub(super) fn new(issuer: &str) -> Self {
        Self { is_plain: issuer.starts_with("http:") }
    }

    async fn relay(&self, mut request: HttpRequest) -> Result<HttpResponse, Unanswered> {
        if self.is_plain {
            // TLS is not used on the loopback.
            let mut parts = request.uri().clone().into_parts();
            parts.scheme = Some(Scheme::HTTP);
            *request.uri_mut() = Uri::from_parts(parts).expect("from one web scheme to another");
        }
        send(request).await
    }
}

impl<'c> AsyncHttpClient<'c> for Transport {
    type Error = Unanswered;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, Unanswered>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(self.relay(request))
    }
}

/// Why there is no usable answer. A retry may help.
#[derive(Debug, Error)]
pub(super) enum Unanswered {
    #[error("it answered {0}")]
    Status(StatusCode),
    #[error("it {0}")]
    Transport(#[from] plain_http::Unanswered),
    #[error("its answer cannot be read")]
    Unreadable,
}

impl From<Unanswered> for Failure {
    fn from(cause: Unanswered) -> Self {
        Self::Unreachable(cause.to_string())
    }
}
