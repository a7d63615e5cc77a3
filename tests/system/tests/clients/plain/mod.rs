//! A third-party client, the `oauth2` crate, against the examples over a real socket. Other ones on devices.

mod devices;
mod getting_started;

use std::convert::Infallible;

use demo::Application;
use oauth2::basic::{BasicClient, BasicErrorResponseType, BasicTokenType};
use oauth2::{
    AccessToken, AuthType, AuthUrl, AuthorizationCode, ClientId, ClientSecret, CsrfToken, EndpointNotSet, EndpointSet,
    HttpRequest, HttpResponse, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, RefreshToken, RequestTokenError,
    RevocationUrl, Scope, TokenResponse, TokenUrl,
};
use support_servers::http::{Answer, Page, Request};
use support_servers::started::{Started, cargo};
use system::Thin;
use url::Url;

/// A running server, and how its user signs in where that is needed.
struct Service {
    issuer: String,
    client_id: String,
    client_secret: String,
    resource_url: String,
    account: Option<[String; 2]>,
    _platform: Option<Started>,
}

/// What a client and its user do with it.
impl Service {
    fn thin(thin: Thin) -> Self {
        let Application { issuer, client_id, client_secret, resource_url, .. } = thin.start(&[]);
        Self { issuer, client_id, client_secret, resource_url, account: None, _platform: None }
    }

    fn platform(test: &str) -> Self {
        let started = Started::platform(cargo::platform(), test, &[]);
        let about = |name| started.about(name).to_owned();
        Self {
            issuer: about("issuer"),
            client_id: about("client_id"),
            client_secret: about("client_secret"),
            resource_url: about("resource_url"),
            account: Some(["username", "password"].map(about)),
            _platform: Some(started),
        }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.issuer)
    }

    fn client(&self, authentication: AuthType) -> Client {
        BasicClient::new(ClientId::new(self.client_id.clone()))
            .set_client_secret(ClientSecret::new(self.client_secret.clone()))
            .set_auth_uri(AuthUrl::new(self.url("/oauth2/auth")).unwrap())
            .set_token_uri(TokenUrl::new(self.url("/oauth2/token")).unwrap())
            .set_revocation_url(RevocationUrl::new(self.url("/oauth2/revoke").replacen("http:", "https:", 1)).unwrap())
            .set_redirect_uri(RedirectUrl::new("http://127.0.0.1:43210/callback".into()).unwrap())
            .set_auth_type(authentication)
    }

    /// What a browser and its user do: open the link, press a button, follow the redirect.
    async fn walk(&self, link: &Url, button: &str) -> Url {
        let mut page = Page::open(link, "").await;
        if let Some([username, password]) = &self.account {
            page = page.sign_in(username, password).await;
        }
        assert!(page.html.contains("id=\"consent\"") && page.html.contains("127.0.0.1"), "{}", page.html);
        page.decide(&[("decision", button)]).await
    }

    /// Authorizes with PKCE and returns the code with its verifier.
    async fn code(&self, client: &Client) -> (AuthorizationCode, PkceCodeVerifier) {
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let request = client.authorize_url(CsrfToken::new_random).set_pkce_challenge(challenge);
        let (link, state) = request.add_scope(Scope::new("account-profile:r".into())).url();
        let callback = self.walk(&link, "allow").await;
        assert_eq!(parameter(&callback, "state").as_deref(), Some(state.secret().as_str()));
        assert_eq!(parameter(&callback, "iss").as_deref(), Some(self.issuer.as_str()));
        (AuthorizationCode::new(parameter(&callback, "code").unwrap()), verifier)
    }

    async fn exchange(&self, client: &Client) -> oauth2::basic::BasicTokenResponse {
        let (code, verifier) = self.code(client).await;
        let exchange = client.exchange_code(code).set_pkce_verifier(verifier);
        exchange.request_async(&send).await.expect("the exchange")
    }

    async fn resource(&self, token: &AccessToken) -> Answer {
        Request::to("GET", &self.resource_url).bearer(token.secret()).send().await
    }
}

type Client = BasicClient<EndpointSet, EndpointNotSet, EndpointNotSet, EndpointSet, EndpointSet>;

#[tokio::test]
async fn the_oauth2_crate_completes_the_whole_flow_with_axum() {
    complete_the_whole_flow(&Service::thin(Thin::Axum)).await;
}

#[tokio::test]
async fn the_oauth2_crate_completes_the_whole_flow_with_actix() {
    complete_the_whole_flow(&Service::thin(Thin::Actix)).await;
}

#[tokio::test]
async fn the_oauth2_crate_meets_the_errors_that_it_knows_with_axum() {
    meet_the_errors(&Service::thin(Thin::Axum)).await;
}

#[tokio::test]
async fn the_oauth2_crate_meets_the_errors_that_it_knows_with_actix() {
    meet_the_errors(&Service::thin(Thin::Actix)).await;
}

#[tokio::test]
async fn the_thin_servers_slow_down_the_loopback_only_if_told() {
    for thin in Thin::BOTH {
        for (options, expected) in [(&["--throttle"][..], 429), (&[][..], 401)] {
            let Application { issuer, client_id, .. } = thin.start(options);
            let form = [("client_id", &*client_id), ("client_secret", "wrong"), ("token", "x")];
            let mut status = 0;
            for _ in 0..50 {
                status = Request::to("POST", format!("{issuer}/oauth2/introspect")).fields(&form).send().await.status;
            }
            assert_eq!(status, expected, "{thin:?} {options:?}");
        }
    }
}

#[tokio::test]
async fn the_oauth2_crate_completes_the_whole_flow_with_the_platform() {
    complete_the_whole_flow(&Service::platform("client-flow")).await;
}

#[tokio::test]
async fn the_oauth2_crate_meets_the_errors_that_it_knows_with_the_platform() {
    meet_the_errors(&Service::platform("client-errors")).await;
}

async fn complete_the_whole_flow(service: &Service) {
    for authentication in [AuthType::BasicAuth, AuthType::RequestBody] {
        complete_one_flow(service, authentication).await;
    }
}

async fn complete_one_flow(service: &Service, authentication: AuthType) {
    let client = service.client(authentication);
    let first = service.exchange(&client).await;
    assert_eq!(*first.token_type(), BasicTokenType::Bearer);
    assert_eq!(first.expires_in().unwrap().as_secs(), 28_800);
    assert_eq!(first.scopes().unwrap().as_slice(), [Scope::new("account-profile:r".into())]);

    let answer = service.resource(first.access_token()).await;
    assert_eq!(answer.status, 200);
    let answer = answer.json();
    assert_eq!((answer["user"].as_str(), answer["scope"].as_str()), (Some("alice"), Some("account-profile:r")));

    let second = refresh(&client, first.refresh_token().unwrap()).await.expect("the refresh");
    let sibling = refresh(&client, first.refresh_token().unwrap()).await.expect("the old token in its grace");
    for token in [&first, &second, &sibling] {
        assert_eq!(service.resource(token.access_token()).await.status, 200);
    }

    let revocable = oauth2::StandardRevocableToken::RefreshToken(second.refresh_token().unwrap().clone());
    client.revoke_token(revocable).unwrap().request_async(&send).await.expect("the revocation");
    for token in [&first, &second, &sibling] {
        let answer = service.resource(token.access_token()).await;
        assert_eq!(answer.status, 401);
        assert!(answer.header("www-authenticate").unwrap().contains("error=\"invalid_token\""));
    }
    let refused = refresh(&client, sibling.refresh_token().unwrap()).await.unwrap_err();
    assert_eq!(error_code(&refused), BasicErrorResponseType::InvalidGrant);
}

async fn meet_the_errors(service: &Service) {
    let client = service.client(AuthType::BasicAuth);

    let (code, verifier) = service.code(&client).await;
    let (verifier, again) = (PkceCodeVerifier::new(verifier.secret().clone()), verifier);
    let impostor = service.client(AuthType::BasicAuth).set_client_secret(ClientSecret::new("wrong".into()));
    let wrong = PkceCodeVerifier::new(verifier.secret().clone());
    let refused = impostor.exchange_code(code.clone()).set_pkce_verifier(wrong).request_async(&send).await.unwrap_err();
    assert_eq!(error_code(&refused), BasicErrorResponseType::InvalidClient);

    let first = client.exchange_code(code.clone()).set_pkce_verifier(verifier).request_async(&send).await;
    let first = first.expect("the wrong secret did not spend the code");
    let replay = client.exchange_code(code).set_pkce_verifier(again).request_async(&send).await.unwrap_err();
    assert_eq!(error_code(&replay), BasicErrorResponseType::InvalidGrant);
    assert_eq!(service.resource(first.access_token()).await.status, 401);

    let (link, _) = client.authorize_url(CsrfToken::new_random).url();
    let callback = service.walk(&link, "deny").await;
    assert_eq!(parameter(&callback, "error").as_deref(), Some("access_denied"));
    assert_eq!(parameter(&callback, "code"), None);

    let answer = Request::to("GET", &service.resource_url).send().await;
    assert_eq!(answer.status, 401);
    assert_eq!(answer.header("www-authenticate"), Some(&*format!("Bearer realm=\"{}\"", service.issuer)));
    let metadata = Request::to("GET", service.url("/.well-known/oauth-authorization-server")).send().await.json();
    assert_eq!(metadata["token_endpoint"], service.url("/oauth2/token"));
}

async fn refresh(
    client: &Client,
    token: &RefreshToken,
) -> Result<oauth2::basic::BasicTokenResponse, oauth2::basic::BasicRequestTokenError<Infallible>> {
    client.exchange_refresh_token(token).request_async(&send).await
}

fn error_code(error: &oauth2::basic::BasicRequestTokenError<Infallible>) -> BasicErrorResponseType {
    match error {
        RequestTokenError::ServerResponse(answer) => {
            assert!(answer.error_description().is_some_and(|description| !description.is_empty()));
            answer.error().clone()
        }
        other => panic!("{other:?}"),
    }
}

/// The transport under the client. The client revokes over https only; on the loopback, TLS is left out.
async fn send(request: HttpRequest) -> Result<HttpResponse, Infallible> {
    let url = request.uri().to_string().replacen("https:", "http:", 1);
    let lines = request.headers().iter();
    let written = Request::to(request.method().as_str(), url).body(request.body());
    let written = lines.fold(written, |written, (name, value)| written.header(name.as_str(), value));
    let answer = written.send().await;
    let response = oauth2::http::Response::builder().status(answer.status);
    let response = answer.headers.iter().fold(response, |response, (name, value)| response.header(name, value));
    Ok(response.body(answer.body).expect("the parts of a response"))
}

fn parameter(url: &Url, name: &str) -> Option<String> {
    url.query_pairs().find(|(own, _)| own == name).map(|(_, value)| value.into_owned())
}
