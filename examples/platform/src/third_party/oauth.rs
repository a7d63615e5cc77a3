//! Requests to Platform's authorization server, with the `oauth2` crate.

use std::fmt;

use axum::http::Request;
use oauth2::basic::{BasicClient, BasicRequestTokenError, BasicTokenResponse};
use oauth2::url::Url;
use oauth2::{
    AuthUrl, AuthorizationCode, ClientId, ClientSecret, CsrfToken, EndpointNotSet, EndpointSet, ErrorResponseType,
    PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, RefreshToken, RequestTokenError, RevocationUrl, Scope,
    StandardErrorResponse, StandardRevocableToken, TokenUrl,
};
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

use super::connection::Tokens;
use super::failure::Failure;
use super::message::Refusal;
use super::transport::{self, Transport, Unanswered};
use super::{Registration, Settings};

pub(super) const PROFILE: &str = "account-profile:r";
pub(super) const EMAIL: &str = "account-email:r";
pub(super) const REPOSITORIES: &str = "repo-basic-info:r";
pub(super) const ISSUES: &str = "repo-issue:rw";
pub(super) const ISSUES_TO_READ: &str = "repo-issue:r";

/// The scopes to request, and why.
pub(super) const SCOPES: [(&str, &str); 4] = [
    (PROFILE, "your name, to greet you"),
    (EMAIL, "your e-mail address, to send you drafts"),
    (REPOSITORIES, "the names and descriptions of your repositories"),
    (ISSUES, "issues: to read what was done, and to open new ones for you"),
];

type Client = BasicClient<EndpointSet, EndpointNotSet, EndpointNotSet, EndpointSet, EndpointSet>;

/// The authorization server, found through its metadata.
pub(super) struct Platform {
    pub(super) issuer: String,
    pub(super) callback: String,
    transport: Transport,
    metadata: OnceCell<Metadata>,
}

/// A connection that was begun, until the browser comes back. It is valid only in its session.
#[derive(Deserialize, Serialize)]
pub(super) struct Attempt {
    pub(super) state: CsrfToken,
    verifier: PkceCodeVerifier,
}

impl Platform {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            issuer: settings.platform.clone(),
            callback: format!("{}/callback", settings.own),
            transport: Transport::new(&settings.platform),
            metadata: OnceCell::new(),
        }
    }

    /// Returns the address that asks the user, and what the answer will be checked against.
    pub(super) async fn authorization(&self, registration: &Registration) -> Result<(Url, Attempt), Failure> {
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let client = self.client(registration).await?;
        let scopes = SCOPES.map(|(token, _)| Scope::new(token.into()));
        let request = client.authorize_url(CsrfToken::new_random).add_scopes(scopes).set_pkce_challenge(challenge);
        let (url, state) = request.url();
        Ok((url, Attempt { state, verifier }))
    }

    /// § RFC 9207, 2.4: the answer names its issuer, always if the metadata says so.
    pub(super) async fn is_issuer(&self, iss: Option<&str>) -> Result<bool, Failure> {
        let announced = self.metadata().await?.authorization_response_iss_parameter_supported;
        Ok(iss.map_or(!announced, |iss| iss == self.issuer))
    }

    pub(super) async fn exchange(
        &self,
        registration: &Registration,
        code: String,
        attempt: Attempt,
    ) -> Result<Tokens, Failure> {
        let client = self.client(registration).await?;
        let exchange = client.exchange_code(AuthorizationCode::new(code)).set_pkce_verifier(attempt.verifier);
        tokens(exchange.request_async(&self.transport).await)
    }

    pub(super) async fn refresh(&self, registration: &Registration, token: &RefreshToken) -> Result<Tokens, Failure> {
        let client = self.client(registration).await?;
        tokens(client.exchange_refresh_token(token).request_async(&self.transport).await)
    }

    pub(super) async fn revoke(
        &self,
        registration: &Registration,
        token: StandardRevocableToken,
    ) -> Result<(), Failure> {
        let client = self.client(registration).await?;
        let request = client.revoke_token(token).map_err(|_| Failure::Broken)?;
        request.request_async(&self.transport).await.map_err(failure)
    }

    async fn client(&self, registration: &Registration) -> Result<Client, Failure> {
        let metadata = self.metadata().await?;
        let odd = |_| Failure::Unreachable("its metadata contains an invalid URL".into());
        // The crate revokes only over https. The transport changes the scheme back to http.
        let revocation = metadata.revocation_endpoint.replacen("http:", "https:", 1);
        Ok(BasicClient::new(ClientId::new(registration.client_id.clone()))
            .set_client_secret(ClientSecret::new(registration.client_secret.clone()))
            .set_auth_uri(AuthUrl::new(metadata.authorization_endpoint.clone()).map_err(odd)?)
            .set_token_uri(TokenUrl::new(metadata.token_endpoint.clone()).map_err(odd)?)
            .set_revocation_url(RevocationUrl::new(revocation).map_err(odd)?)
            .set_redirect_uri(RedirectUrl::new(self.callback.clone()).map_err(odd)?))
    }

    /// § RFC 8414, 3.3: metadata that names another issuer is not used.
    async fn metadata(&self) -> Result<&Metadata, Failure> {
        let fetch = async || {
            let url = format!("{}/.well-known/oauth-authorization-server", self.issuer);
            let request = Request::get(url).body(Vec::new()).map_err(|_| Failure::Broken)?;
            let answer = transport::send(request).await?;
            if !answer.status().is_success() {
                return Err(Unanswered::Status(answer.status()).into());
            }
            let metadata: Metadata = transport::read(&answer)?;
            if metadata.issuer == self.issuer {
                Ok(metadata)
            } else {
                Err(Failure::Unreachable("its metadata names another service".into()))
            }
        };
        self.metadata.get_or_try_init(fetch).await
    }
}

#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    revocation_endpoint: String,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

fn tokens(answer: Result<BasicTokenResponse, BasicRequestTokenError<Unanswered>>) -> Result<Tokens, Failure> {
    answer.map(|answer| Tokens::of(&answer)).map_err(failure)
}

fn failure<T>(error: RequestTokenError<Unanswered, StandardErrorResponse<T>>) -> Failure
where
    T: ErrorResponseType + fmt::Display + 'static,
{
    match error {
        RequestTokenError::ServerResponse(answer) => Failure::Refused(Refusal {
            status: None,
            error: Some(answer.error().to_string()),
            description: answer.error_description().cloned(),
        }),
        RequestTokenError::Request(cause) => cause.into(),
        // The details of these errors may quote the answer, including tokens.
        RequestTokenError::Parse(..) | RequestTokenError::Other(_) => Unanswered::Unreadable.into(),
    }
}
