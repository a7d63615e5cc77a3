//! The `oauth2` crate. It sleeps as the test says, so no time passes.

use std::convert::Infallible;
use std::sync::Mutex;
use std::time::Duration;

use oauth2::basic::{BasicClient, BasicTokenResponse};
use oauth2::{
    AuthType, ClientId, ClientSecret, DeviceAuthorizationUrl, DeviceCodeErrorResponse, DeviceCodeErrorResponseType,
    EndpointNotSet, EndpointSet, RequestTokenError, Scope, StandardDeviceAuthorizationResponse, TokenResponse as _,
    TokenUrl,
};
use support_servers::http::Request;
use system::Thin;
use tokio::time::sleep;

use super::{Kind, SCOPE, Service, table};
use crate::plain::send;

type Client = BasicClient<EndpointNotSet, EndpointSet, EndpointNotSet, EndpointNotSet, EndpointSet>;
type Polled = Result<BasicTokenResponse, RequestTokenError<Infallible, DeviceCodeErrorResponse>>;

/// 8628-3.5-02
#[tokio::test]
async fn the_oauth2_crate_gets_tokens_on_a_device() {
    for thin in Thin::BOTH {
        let service = Service::start(thin, &[]).await;
        for (kind, authentication) in [
            (Kind::Public, AuthType::BasicAuth),
            (Kind::Public, AuthType::RequestBody),
            (Kind::Confidential, AuthType::BasicAuth),
            (Kind::Confidential, AuthType::RequestBody),
        ] {
            get_tokens(&service, kind, authentication).await;
        }
    }
}

/// The library polls again at once, slows down, and gets tokens that it refreshes.
async fn get_tokens(service: &Service, kind: Kind, authentication: AuthType) {
    let client = client(service, kind, authentication.clone());
    let asked = ask(&client).await;
    let (polled, intervals) = poll(&client, &asked, async |number| {
        if number == 2 {
            decide(service, &asked, "allow").await;
        }
    })
    .await;
    // The first answer was authorization_pending, the second one slow_down.
    assert_eq!(intervals, [5, 10]);
    let first = polled.expect("the user has allowed it");
    assert_eq!(first.scopes().unwrap().as_slice(), [Scope::new(SCOPE.into())]);
    assert_is_alices(service, &first).await;
    let refresh = client.exchange_refresh_token(first.refresh_token().unwrap()).request_async(&send).await;
    let second = refresh.expect("the refresh");
    assert_ne!(first.access_token().secret(), second.access_token().secret());
    assert_is_alices(service, &second).await;
    let is_in_header = kind == Kind::Confidential && matches!(authentication, AuthType::BasicAuth);
    let registered = format!("{kind:?}{}", if is_in_header { ", Basic" } else { "" });
    table::add(&table::locked("oauth2"), service.thin, &registered, "polled; slowed down; allowed; refreshed");
}

#[tokio::test]
async fn the_oauth2_crate_reports_a_denied_device() {
    for thin in Thin::BOTH {
        let service = Service::start(thin, &[]).await;
        let client = client(&service, Kind::Public, AuthType::BasicAuth);
        let asked = ask(&client).await;
        let (polled, intervals) = poll(&client, &asked, async |_| decide(&service, &asked, "deny").await).await;
        assert_eq!(intervals, [5]);
        assert_eq!(error_of(polled), DeviceCodeErrorResponseType::AccessDenied);
        table::add(&table::locked("oauth2"), thin, "Public", "polled; denied: access_denied");
    }
}

#[tokio::test]
async fn the_oauth2_crate_reports_an_expired_code() {
    let service = Service::start(Thin::Axum, &["--clock-speed", "1000"]).await;
    let client = client(&service, Kind::Public, AuthType::BasicAuth);
    let asked = ask(&client).await;
    // 600 s of the server's clock, and less than the library waits.
    let (polled, _) = poll(&client, &asked, async |_| sleep(Duration::from_secs(1)).await).await;
    assert_eq!(error_of(polled), DeviceCodeErrorResponseType::ExpiredToken);
    table::add(&table::locked("oauth2"), Thin::Axum, "Public", "polled; expired: expired_token");
}

fn client(service: &Service, kind: Kind, authentication: AuthType) -> Client {
    let (id, secret) = service.credentials(kind);
    let endpoint = service.endpoint("device_authorization_endpoint");
    let client = BasicClient::new(ClientId::new(id.to_owned()))
        .set_device_authorization_url(DeviceAuthorizationUrl::new(endpoint).unwrap())
        .set_token_uri(TokenUrl::new(service.endpoint("token_endpoint")).unwrap())
        .set_auth_type(authentication);
    match secret {
        Some(secret) => client.set_client_secret(ClientSecret::new(secret.to_owned())),
        None => client,
    }
}

async fn ask(client: &Client) -> StandardDeviceAuthorizationResponse {
    let request = client.exchange_device_code().add_scope(Scope::new(SCOPE.into()));
    request.request_async(&send).await.expect("both codes")
}

/// Polls to the end. In place of each pause, counted from 1, it does that. It also returns the pauses in seconds.
async fn poll(
    client: &Client,
    asked: &StandardDeviceAuthorizationResponse,
    pause: impl AsyncFn(usize),
) -> (Polled, Vec<u64>) {
    let intervals = Mutex::new(Vec::new());
    let sleeps = async |interval: Duration| {
        let number = {
            let mut intervals = intervals.lock().unwrap();
            intervals.push(interval.as_secs());
            intervals.len()
        };
        pause(number).await;
    };
    let polled = client.exchange_device_access_token(asked).request_async(&send, sleeps, None).await;
    (polled, intervals.into_inner().unwrap())
}

async fn decide(service: &Service, asked: &StandardDeviceAuthorizationResponse, button: &str) {
    service.decide(asked.verification_uri(), asked.user_code().secret(), button).await;
}

async fn assert_is_alices(service: &Service, tokens: &BasicTokenResponse) {
    let url = &service.application.resource_url;
    let answer = Request::to("GET", url).bearer(tokens.access_token().secret()).send().await;
    assert_eq!((answer.status, &answer.json()["user"]), (200, &"alice".into()));
}

fn error_of(polled: Polled) -> DeviceCodeErrorResponseType {
    match polled {
        Err(RequestTokenError::ServerResponse(answer)) => answer.error().clone(),
        other => panic!("{other:?}"),
    }
}
