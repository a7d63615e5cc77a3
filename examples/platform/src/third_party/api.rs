//! The resource API of Platform, called with a connected user's access token.

use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{Method, Request};
use oauth2::url::Url;
use oauth2::{AccessToken, HttpResponse};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::failure::Failure;
use super::message::Refusal;
use super::oauth::Platform;
use super::session::Connected;
use super::transport;

#[derive(Deserialize)]
pub(super) struct Profile {
    pub(super) user: String,
    pub(super) name: String,
}

#[derive(Deserialize)]
pub(super) struct Email {
    pub(super) email: String,
}

#[derive(Deserialize)]
pub(super) struct Repositories {
    pub(super) repositories: Vec<Repository>,
}

#[derive(Deserialize)]
pub(super) struct Repository {
    /// The owner and the name, with a slash between them.
    pub(super) name: String,
    pub(super) description: String,
    pub(super) public: bool,
}

#[derive(Deserialize)]
pub(super) struct Issues {
    pub(super) issues: Vec<Issue>,
}

#[derive(Deserialize)]
pub(super) struct Issue {
    pub(super) number: u64,
    pub(super) title: String,
}

impl Connected {
    pub(super) async fn get<T: DeserializeOwned>(&mut self, path: &str) -> Result<T, Failure> {
        let answer = self.call(path, None).await?;
        Ok(transport::read(&answer)?)
    }

    pub(super) async fn post(&mut self, path: &str, body: &Value) -> Result<(), Failure> {
        self.call(path, Some(body)).await.map(drop)
    }

    /// Calls the API. An expired access token is refreshed once.
    async fn call(&mut self, path: &str, body: Option<&Value>) -> Result<HttpResponse, Failure> {
        let application = self.visit.application.clone();
        match application.platform.call(&self.connection.tokens.access, path, body).await {
            Err(Failure::Refused(refusal))
                if refusal.is("invalid_token") && self.connection.tokens.refresh.is_some() => {}
            answer => return answer,
        }
        self.refresh().await?;
        application.platform.call(&self.connection.tokens.access, path, body).await
    }

    /// Exchanges the refresh token for new tokens. If it is no longer valid, the connection is removed.
    pub(super) async fn refresh(&mut self) -> Result<(), Failure> {
        let application = self.visit.application.clone();
        let registration = application.registration().await?;
        let Some(token) = &self.connection.tokens.refresh else { return Err(Failure::NoRefreshToken) };
        match application.platform.refresh(&registration, token).await {
            Ok(tokens) => {
                self.connection.replace(tokens);
                application.store.update(&self.key, self.connection.clone()).await;
                Ok(())
            }
            Err(Failure::Refused(refusal)) if refusal.is("invalid_grant") => {
                self.visit.forget("Platform no longer accepts our connection. Please connect again.").await?;
                Err(Failure::NotConnected)
            }
            Err(failure) => Err(failure),
        }
    }
}

impl Platform {
    /// Sends a GET, or a POST with a body. A refusal contains Platform's own text.
    pub(super) async fn call(
        &self,
        token: &AccessToken,
        path: &str,
        body: Option<&Value>,
    ) -> Result<HttpResponse, Failure> {
        let mut url = Url::parse(&self.issuer).map_err(|_| Failure::Broken)?;
        // Segment by segment, so that a name from outside cannot change the path.
        url.path_segments_mut().map_err(|()| Failure::Broken)?.pop_if_empty().push("api").extend(path.split('/'));
        let request = Request::builder().uri(url.as_str()).header(AUTHORIZATION, format!("Bearer {}", token.secret()));
        let request = match body {
            None => request.body(Vec::new()),
            Some(body) => {
                request.method(Method::POST).header(CONTENT_TYPE, "application/json").body(body.to_string().into())
            }
        };
        let answer = transport::send(request.map_err(|_| Failure::Broken)?).await?;
        if answer.status().is_success() { Ok(answer) } else { Err(Failure::Refused(refusal(&answer))) }
    }
}

/// § RFC 6750, 3: the challenge says why.
fn refusal(answer: &HttpResponse) -> Refusal {
    let challenge = answer.headers().get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let attribute = |name: &str| {
        let (_, rest) = challenge.split_once(&format!("{name}=\""))?;
        Some(rest.split_once('"')?.0.to_owned())
    };
    Refusal { status: Some(answer.status()), error: attribute("error"), description: attribute("error_description") }
}
