//! The HTTP client for all requests to Platform.

use std::pin::Pin;
use std::time::Duration;

use oauth2::{AsyncHttpClient, HttpRequest, HttpResponse};
use reqwest::redirect::Policy;
use reqwest::{RequestBuilder, Response, StatusCode};
use thiserror::Error;

use super::failure::Failure;

pub(super) struct Transport {
    pub(super) http: reqwest::Client,
    is_plain: bool,
}

impl Transport {
    pub(super) fn new(issuer: &str) -> Self {
        // A redirect would send secrets to its target.
        let http = reqwest::Client::builder().redirect(Policy::none()).timeout(Duration::from_secs(10));
        let http = http.build().expect("no option that a system may lack");
        Self { http, is_plain: issuer.starts_with("http:") }
    }

    /// Sends a request. A server error does not count as an answer.
    pub(super) async fn execute(&self, request: RequestBuilder) -> Result<Response, Unanswered> {
        let answer = request.send().await?;
        let status = answer.status();
        if status.is_server_error() { Err(Unanswered::Status(status)) } else { Ok(answer) }
    }

    async fn relay(&self, request: HttpRequest) -> Result<HttpResponse, Unanswered> {
        let mut request = reqwest::Request::try_from(request)?;
        if self.is_plain {
            // TLS is not used on the loopback.
            request.url_mut().set_scheme("http").expect("from one web scheme to another");
        }
        let answer = self.execute(RequestBuilder::from_parts(self.http.clone(), request)).await?;
        let mut response = HttpResponse::new(Vec::new());
        *response.status_mut() = answer.status();
        *response.headers_mut() = answer.headers().clone();
        *response.body_mut() = answer.bytes().await?.to_vec();
        Ok(response)
    }
}

/// Implemented here, because the crate's own implementation uses another version of reqwest.
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
    #[error("{}", words(.0))]
    Transport(#[from] reqwest::Error),
}

impl From<Unanswered> for Failure {
    fn from(cause: Unanswered) -> Self {
        Self::Unreachable(cause.to_string())
    }
}

fn words(error: &reqwest::Error) -> String {
    match error.status() {
        Some(status) => format!("it answered {status}"),
        None if error.is_timeout() => "it took too long to answer".into(),
        None if error.is_connect() => "it cannot be reached".into(),
        None => "its answer cannot be read".into(),
    }
}
