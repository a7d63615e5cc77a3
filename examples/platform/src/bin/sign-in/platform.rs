//! The platform, as a device sees it.

use std::time::Duration;

use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use axum::http::request::Builder;
use axum::http::{Request, Response, StatusCode, Uri};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::failure::Failure;

/// The id that the platform has registered for this program. It is public, and there is no secret: anybody could read
/// it in the program.
const CLIENT_ID: &str = "terminal";
const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";

type Answer = Response<Vec<u8>>;

/// The platform, found through its metadata [RFC 8414].
pub(crate) struct Platform {
    pub(crate) issuer: String,
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
        let request = Request::get(format!("{issuer}/.well-known/oauth-authorization-server"));
        let answer = send(request, String::new()).await.and_then(successful);
        let answer = answer.map_err(|cause| Failure::NotFound { issuer: issuer.clone(), cause })?;
        let metadata: Metadata = read(&answer, "its metadata")?;
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
        Ok(Self { issuer, device_authorization_endpoint, token_endpoint })
    }

    /// Asks for access to everything that is registered for this program.
    pub(crate) async fn ask(&self) -> Result<Asked, Failure> {
        let answer = post(&self.device_authorization_endpoint, &[("client_id", CLIENT_ID)]).await;
        let answer = answer.map_err(Failure::Unanswered)?;
        if answer.status() != StatusCode::OK {
            return Err(refused(&answer));
        }
        let mut asked: Asked = read(&answer, "the codes")?;
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
        let Ok(answer) = post(&self.token_endpoint, &form).await else { return Ok(Polled::Lost) };
        let status = answer.status();
        if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
            let seconds = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
            return Ok(seconds.map_or(Polled::Lost, |seconds| Polled::Busy(Duration::from_secs(seconds))));
        }
        if status != StatusCode::OK {
            return match refused(&answer) {
                Failure::Refused { error, .. } if error == "authorization_pending" => Ok(Polled::Pending),
                Failure::Refused { error, .. } if error == "slow_down" => Ok(Polled::TooFast),
                Failure::Refused { error, .. } if error == "access_denied" => Err(Failure::Denied),
                Failure::Refused { error, .. } if error == "expired_token" => Err(Failure::Expired),
                other => Err(other),
            };
        }
        let tokens: Tokens = read(&answer, "the tokens cannot be read")?;
        if !tokens.token_type.eq_ignore_ascii_case("bearer") {
            return Err(Failure::Invalid("the token is not a bearer token"));
        }
        Ok(Polled::Allowed(Token(tokens.access_token)))
    }

    /// Calls the platform's API. `None` if the user has not allowed that.
    pub(crate) async fn profile(&self, token: &Token) -> Result<Option<Profile>, Failure> {
        let request = Request::get(format!("{}/api/me", self.issuer));
        let request = request.header(AUTHORIZATION, format!("Bearer {}", token.0));
        let answer = send(request, String::new()).await.map_err(Failure::Unanswered)?;
        if answer.status() == StatusCode::FORBIDDEN {
            return Ok(None);
        }
        let answer = successful(answer).map_err(Failure::Unanswered)?;
        let Profile { name, user, scope } = read(&answer, "the profile")?;
        let [name, user, scope] = [name, user, scope].map(|text| printable(&text));
        Ok(Some(Profile { name, user, scope }))
    }
}

async fn post(url: &str, form: &[(&str, &str)]) -> Result<Answer, String> {
    let request = Request::post(url).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
    send(request, serde_urlencoded::to_string(form).expect("every value is a text")).await
}

/// Returns why there is no answer, to go on after "the platform".
async fn send(request: Builder, body: String) -> Result<Answer, String> {
    let request = request.header(USER_AGENT, concat!("sign-in/", env!("CARGO_PKG_VERSION"))).body(body.into());
    let request = request.map_err(|_| "named a URL or a token that cannot be sent".to_owned())?;
    plain_http::send(request).await.map_err(|cause| cause.to_string())
}

fn successful(answer: Answer) -> Result<Answer, String> {
    if answer.status().is_success() { Ok(answer) } else { Err(format!("answered {}", answer.status())) }
}

/// Reads an error of the platform.
fn refused(answer: &Answer) -> Failure {
    match serde_json::from_slice::<Refusal>(answer.body()) {
        Ok(Refusal { error, error_description }) => {
            Failure::Refused { error: printable(&error), description: error_description }
        }
        Err(_) => Failure::Refused { error: answer.status().to_string(), description: String::new() },
    }
}

fn read<T: DeserializeOwned>(answer: &Answer, what: &'static str) -> Result<T, Failure> {
    serde_json::from_slice(answer.body()).map_err(|_| Failure::Invalid(what))
}

/// Returns whether a URL leads to this machine, over plain HTTP.
pub(crate) fn is_local(url: &str) -> bool {
    let is_own =
        |uri: Uri| matches!((uri.scheme_str(), uri.host()), (Some("http"), Some("localhost" | "127.0.0.1" | "[::1]")));
    url.parse().is_ok_and(is_own)
}

/// Replaces what a terminal would take as a command.
pub(crate) fn printable(text: &str) -> String {
    text.replace(char::is_control, "?")
}
