//! The platform, as a device sees it.

use std::time::Duration;

use reqwest::header::RETRY_AFTER;
use reqwest::redirect::Policy;
use reqwest::{Response, StatusCode, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::failure::{Failure, unanswered};

/// The id that the platform has registered for this program. It is public, and there is no secret: anybody could read it
/// in the program.
const CLIENT_ID: &str = "terminal";
const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// The platform, found through its metadata [RFC 8414].
pub(crate) struct Platform {
    pub(crate) issuer: String,
    http: reqwest::Client,
    device_authorization_endpoint: String,
    token_endpoint: String,
}

#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    token_endpoint: String,
    device_authorization_endpoint: Option<String>,
}

/// The answer to a request of a device [RFC 8628 section 3.2].
#[derive(Deserialize)]
pub(crate) struct Asked {
    pub(crate) device_code: String,
    pub(crate) user_code: String,
    pub(crate) verification_uri: String,
    pub(crate) expires_in: u64,
    /// > If no value is provided, clients MUST use 5 as the default.
    #[serde(default = "five")]
    pub(crate) interval: u64,
}

const fn five() -> u64 {
    5
}

/// An access token. It is never printed.
pub(crate) struct Token(String);

#[derive(Deserialize)]
struct Tokens {
    access_token: String,
    token_type: String,
}

/// An error of either endpoint [RFC 6749 section 5.2].
#[derive(Deserialize)]
struct Refusal {
    error: String,
    #[serde(default)]
    error_description: String,
}

/// What a poll brought [RFC 8628 section 3.5].
pub(crate) enum Polled {
    Allowed(Token),
    Pending,
    /// Polls must be farther apart.
    TooFast,
    /// The platform is busy for that time.
    Busy(Duration),
    /// No answer.
    Lost,
}

/// Who is signed in, as the platform's API says.
#[derive(Deserialize)]
pub(crate) struct Profile {
    pub(crate) name: String,
    pub(crate) user: String,
    pub(crate) scope: String,
}

impl Platform {
    /// RFC 8414 section 3.3: metadata that names another issuer is not used.
    pub(crate) async fn find(issuer: String) -> Result<Self, Failure> {
        // Redirects would send the codes elsewhere, and so would a proxy.
        let http = reqwest::Client::builder().redirect(Policy::none()).no_proxy().user_agent("sign-in");
        let http = http.timeout(Duration::from_secs(10)).build().expect("no option that a system may lack");
        let url = format!("{issuer}/.well-known/oauth-authorization-server");
        let answer = http.get(url).send().await.and_then(Response::error_for_status);
        let answer = answer.map_err(|error| Failure::NotFound { issuer: issuer.clone(), cause: unanswered(&error) })?;
        let metadata: Metadata = read(answer, "its metadata").await?;
        if metadata.issuer != issuer {
            return Err(Failure::AnotherIssuer { asked: issuer, found: printable(&metadata.issuer) });
        }
        let Some(device_authorization_endpoint) = metadata.device_authorization_endpoint else {
            return Err(Failure::NotForDevices(issuer));
        };
        let token_endpoint = metadata.token_endpoint;
        if !is_local(&device_authorization_endpoint) || !is_local(&token_endpoint) {
            return Err(Failure::Invalid("an endpoint in its metadata is not on this machine"));
        }
        Ok(Self { issuer, http, device_authorization_endpoint, token_endpoint })
    }

    /// Asks for access to everything that is registered for this program.
    pub(crate) async fn ask(&self) -> Result<Asked, Failure> {
        let request = self.http.post(&self.device_authorization_endpoint).form(&[("client_id", CLIENT_ID)]);
        let answer = request.send().await.map_err(|error| Failure::Unanswered(unanswered(&error)))?;
        if answer.status() != StatusCode::OK {
            return Err(refused(answer).await);
        }
        let mut asked: Asked = read(answer, "the codes").await?;
        asked.user_code = printable(&asked.user_code);
        asked.verification_uri = printable(&asked.verification_uri);
        Ok(asked)
    }

    /// Asks whether the user has decided.
    ///
    /// # Errors
    ///
    /// For an answer after which no further poll can bring a token.
    pub(crate) async fn poll(&self, device_code: &str) -> Result<Polled, Failure> {
        let form = [("grant_type", DEVICE_CODE), ("client_id", CLIENT_ID), ("device_code", device_code)];
        let Ok(answer) = self.http.post(&self.token_endpoint).form(&form).send().await else {
            return Ok(Polled::Lost);
        };
        let status = answer.status();
        if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
            let seconds = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
            return Ok(seconds.map_or(Polled::Lost, |seconds| Polled::Busy(Duration::from_secs(seconds))));
        }
        if status != StatusCode::OK {
            return match refused(answer).await {
                Failure::Refused { error, .. } if error == "authorization_pending" => Ok(Polled::Pending),
                Failure::Refused { error, .. } if error == "slow_down" => Ok(Polled::TooFast),
                Failure::Refused { error, .. } if error == "access_denied" => Err(Failure::Denied),
                Failure::Refused { error, .. } if error == "expired_token" => Err(Failure::Expired),
                // The answer broke off. The next poll gets it again.
                Failure::Unanswered(_) => Ok(Polled::Lost),
                other => Err(other),
            };
        }
        let Ok(text) = answer.bytes().await else { return Ok(Polled::Lost) };
        match serde_json::from_slice::<Tokens>(&text) {
            Ok(tokens) if tokens.token_type.eq_ignore_ascii_case("bearer") => {
                Ok(Polled::Allowed(Token(tokens.access_token)))
            }
            Ok(_) => Err(Failure::Invalid("the token is not a bearer token")),
            Err(_) => Err(Failure::Invalid("the tokens cannot be read")),
        }
    }

    /// Calls the platform's API. `None` if the user has not allowed that.
    pub(crate) async fn profile(&self, token: &Token) -> Result<Option<Profile>, Failure> {
        let request = self.http.get(format!("{}/api/me", self.issuer)).bearer_auth(&token.0);
        let answer = request.send().await.map_err(|error| Failure::Unanswered(unanswered(&error)))?;
        if answer.status() == StatusCode::FORBIDDEN {
            return Ok(None);
        }
        let answer = answer.error_for_status().map_err(|error| Failure::Unanswered(unanswered(&error)))?;
        let Profile { name, user, scope } = read(answer, "the profile").await?;
        let [name, user, scope] = [name, user, scope].map(|text| printable(&text));
        Ok(Some(Profile { name, user, scope }))
    }
}

/// Reads an error of the platform.
async fn refused(answer: Response) -> Failure {
    let status = answer.status();
    let Ok(text) = answer.bytes().await else { return Failure::Unanswered("broke off its answer".into()) };
    match serde_json::from_slice::<Refusal>(&text) {
        Ok(Refusal { error, error_description }) => {
            Failure::Refused { error: printable(&error), description: error_description }
        }
        Err(_) => Failure::Refused { error: status.to_string(), description: String::new() },
    }
}

async fn read<T: DeserializeOwned>(answer: Response, what: &'static str) -> Result<T, Failure> {
    let text = answer.bytes().await.map_err(|error| Failure::Unanswered(unanswered(&error)))?;
    serde_json::from_slice(&text).map_err(|_| Failure::Invalid(what))
}

/// Returns whether a URL leads to this machine, over plain HTTP.
pub(crate) fn is_local(url: &str) -> bool {
    let is_own =
        |url: Url| matches!((url.scheme(), url.host_str()), ("http", Some("localhost" | "127.0.0.1" | "[::1]")));
    url.parse().is_ok_and(is_own)
}

/// Replaces what a terminal would take as a command.
pub(crate) fn printable(text: &str) -> String {
    text.replace(char::is_control, "?")
}
