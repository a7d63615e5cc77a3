//! A client that nobody here wrote, the `oauth2` crate, against the examples over a real socket.

#[expect(dead_code, reason = "the tests of the platform look at its process and its files")]
mod started;

use oauth2::basic::{BasicClient, BasicErrorResponseType, BasicTokenType};
use oauth2::{
    AccessToken, AuthType, AuthUrl, AuthorizationCode, ClientId, ClientSecret, CsrfToken, EndpointNotSet, EndpointSet,
    HttpRequest, HttpResponse, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, RefreshToken, RequestTokenError,
    RevocationUrl, Scope, TokenResponse, TokenUrl,
};
use reqwest::header::{COOKIE, LOCATION, SET_COOKIE};
use reqwest::redirect::Policy;
use reqwest::{StatusCode, Url};
use serde_json::Value;

use crate::started::Example;

/// What a client and its user do with a running example.
impl Example {
    fn client(&self, authentication: AuthType) -> Client {
        BasicClient::new(ClientId::new(self.about("client_id").to_owned()))
            .set_client_secret(ClientSecret::new(self.about("client_secret").to_owned()))
            .set_auth_uri(AuthUrl::new(self.url("/oauth2/auth")).unwrap())
            .set_token_uri(TokenUrl::new(self.url("/oauth2/token")).unwrap())
            .set_revocation_url(RevocationUrl::new(self.url("/oauth2/revoke").replacen("http:", "https:", 1)).unwrap())
            .set_redirect_uri(RedirectUrl::new("http://127.0.0.1:43210/callback".into()).unwrap())
            .set_auth_type(authentication)
    }

    /// What a browser and its user do: open the link, press a button, follow the redirect.
    async fn walk(&self, link: &Url, button: &str) -> Url {
        let mut page = Page::open(link, None).await;
        if let Some(password) = self.says("password") {
            page = page.sign_in(self.about("username"), password).await;
        }
        assert!(page.html.contains("<h1>Authorize ") && page.html.contains("127.0.0.1"), "{}", page.html);
        let answer = page.submit(&[("decision", button)]).await;
        assert_eq!(answer.status(), StatusCode::FOUND);
        location(&answer)
    }

    /// Authorizes with PKCE and gives the code with its verifier.
    async fn code(&self, client: &Client) -> (AuthorizationCode, PkceCodeVerifier) {
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let request = client.authorize_url(CsrfToken::new_random).set_pkce_challenge(challenge);
        let (link, state) = request.add_scope(Scope::new("account-profile:r".into())).url();
        let callback = self.walk(&link, "allow").await;
        assert_eq!(parameter(&callback, "state").as_deref(), Some(state.secret().as_str()));
        assert_eq!(parameter(&callback, "iss"), Some(self.about("issuer").to_owned()));
        (AuthorizationCode::new(parameter(&callback, "code").unwrap()), verifier)
    }

    async fn exchange(&self, client: &Client) -> oauth2::basic::BasicTokenResponse {
        let (code, verifier) = self.code(client).await;
        let exchange = client.exchange_code(code).set_pkce_verifier(verifier);
        exchange.request_async(&send).await.expect("the exchange")
    }

    async fn resource(&self, token: &AccessToken) -> reqwest::Response {
        http().get(self.about("resource_url")).bearer_auth(token.secret()).send().await.unwrap()
    }
}

/// A page with a form, and the cookies that came with it.
struct Page {
    url: Url,
    html: String,
    cookie: String,
}

impl Page {
    /// Opens the link, or the sign-in that it leads to.
    async fn open(link: &Url, cookie: Option<String>) -> Self {
        let request = http().get(link.clone()).header(COOKIE, cookie.clone().unwrap_or_default());
        let mut page = request.send().await.unwrap();
        if page.status() == StatusCode::SEE_OTHER {
            page = http().get(location(&page)).send().await.unwrap();
        }
        assert_eq!(page.status(), StatusCode::OK);
        assert_eq!(page.headers()["x-frame-options"], "DENY");
        let cookie = set_cookies(&page).or(cookie).unwrap_or_default();
        Self { url: page.url().clone(), html: page.text().await.unwrap(), cookie }
    }

    /// Signs in and goes where that leads.
    async fn sign_in(&self, username: &str, password: &str) -> Self {
        let answer = self.submit(&[("username", username), ("password", password)]).await;
        assert_eq!(answer.status(), StatusCode::SEE_OTHER);
        Self::open(&location(&answer), set_cookies(&answer)).await
    }

    /// Sends the form with what it holds already and what the user enters.
    async fn submit(&self, entered: &[(&str, &str)]) -> reqwest::Response {
        let wanted = format!("name=\"{}\"", entered[0].0);
        let form = self.html.split("<form ").find(|form| form.contains(&wanted)).expect("a form");
        let inputs = form.split("<input ").skip(1).map(|rest| rest.split('>').next().unwrap());
        let held = inputs.filter_map(|input| Some((attribute(input, "name")?, attribute(input, "value")?)));
        let is_kept = |(name, _): &(&str, &str)| entered.iter().all(|(own, _)| own != name);
        let fields = held.filter(is_kept).chain(entered.iter().copied());
        let fields: Vec<_> = fields.map(|(name, value)| (name, value.replace("&#38;", "&"))).collect();
        let target = self.url.join(attribute(form, "action").expect("where it goes")).unwrap();
        http().post(target).header(COOKIE, &self.cookie).form(&fields).send().await.unwrap()
    }
}

/// Where a redirect leads.
fn location(answer: &reqwest::Response) -> Url {
    answer.url().join(answer.headers()[LOCATION].to_str().unwrap()).unwrap()
}

/// All cookies of an answer, as they are sent back.
fn set_cookies(answer: &reqwest::Response) -> Option<String> {
    let lines = answer.headers().get_all(SET_COOKIE).iter().map(|line| line.to_str().unwrap());
    let pairs: Vec<_> = lines.filter_map(|line| line.split(';').next()).collect();
    (!pairs.is_empty()).then(|| pairs.join("; "))
}

/// The value of the first attribute of that name.
fn attribute<'a>(html: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = html.split_once(&format!("{name}=\""))?;
    rest.split('"').next()
}

type Client = BasicClient<EndpointSet, EndpointNotSet, EndpointNotSet, EndpointSet, EndpointSet>;

#[tokio::test]
async fn the_oauth2_crate_completes_the_whole_flow_with_axum() {
    complete_the_whole_flow(&Example::start("axum")).await;
}

#[tokio::test]
async fn the_oauth2_crate_completes_the_whole_flow_with_actix() {
    complete_the_whole_flow(&Example::start("actix")).await;
}

#[tokio::test]
async fn the_oauth2_crate_meets_the_errors_that_it_knows_with_axum() {
    meet_the_errors(&Example::start("axum")).await;
}

#[tokio::test]
async fn the_oauth2_crate_meets_the_errors_that_it_knows_with_actix() {
    meet_the_errors(&Example::start("actix")).await;
}

#[tokio::test]
async fn the_thin_examples_slow_down_the_loopback_only_if_told() {
    for name in ["axum", "actix"] {
        for (options, expected) in [(&["--throttle"][..], 429), (&[][..], 401)] {
            let example = Example::start_with(name, options);
            let form = [("client_id", example.about("client_id")), ("client_secret", "wrong"), ("token", "x")];
            let mut status = 0;
            for _ in 0..50 {
                let answer = reqwest::Client::new().post(example.url("/oauth2/introspect")).form(&form).send().await;
                status = answer.unwrap().status().as_u16();
            }
            assert_eq!(status, expected, "{name} {options:?}");
        }
    }
}

#[cfg(all(feature = "sqlite", feature = "tracing"))]
#[tokio::test]
async fn the_oauth2_crate_completes_the_whole_flow_with_the_platform() {
    complete_the_whole_flow(&Example::platform("client-flow")).await;
}

#[cfg(all(feature = "sqlite", feature = "tracing"))]
#[tokio::test]
async fn the_oauth2_crate_meets_the_errors_that_it_knows_with_the_platform() {
    meet_the_errors(&Example::platform("client-errors")).await;
}

async fn complete_the_whole_flow(example: &Example) {
    for authentication in [AuthType::BasicAuth, AuthType::RequestBody] {
        complete_one_flow(example, authentication).await;
    }
}

async fn complete_one_flow(example: &Example, authentication: AuthType) {
    let client = example.client(authentication);
    let first = example.exchange(&client).await;
    assert_eq!(*first.token_type(), BasicTokenType::Bearer);
    assert_eq!(first.expires_in().unwrap().as_secs(), 28_800);
    assert_eq!(first.scopes().unwrap().as_slice(), [Scope::new("account-profile:r".into())]);

    let answer = example.resource(first.access_token()).await;
    assert_eq!(answer.status(), StatusCode::OK);
    let answer: Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
    assert_eq!((answer["user"].as_str(), answer["scope"].as_str()), (Some("alice"), Some("account-profile:r")));

    let second = refresh(&client, first.refresh_token().unwrap()).await.expect("the refresh");
    let sibling = refresh(&client, first.refresh_token().unwrap()).await.expect("the old token in its grace");
    for token in [&first, &second, &sibling] {
        assert_eq!(example.resource(token.access_token()).await.status(), StatusCode::OK);
    }

    let revocable = oauth2::StandardRevocableToken::RefreshToken(second.refresh_token().unwrap().clone());
    client.revoke_token(revocable).unwrap().request_async(&send).await.expect("the revocation");
    for token in [&first, &second, &sibling] {
        let answer = example.resource(token.access_token()).await;
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
        assert!(answer.headers()["www-authenticate"].to_str().unwrap().contains("error=\"invalid_token\""));
    }
    let refused = refresh(&client, sibling.refresh_token().unwrap()).await.unwrap_err();
    assert_eq!(error_code(&refused), BasicErrorResponseType::InvalidGrant);
}

async fn meet_the_errors(example: &Example) {
    let client = example.client(AuthType::BasicAuth);

    let (code, verifier) = example.code(&client).await;
    let (verifier, again) = (PkceCodeVerifier::new(verifier.secret().clone()), verifier);
    let stranger = example.client(AuthType::BasicAuth).set_client_secret(ClientSecret::new("wrong".into()));
    let wrong = PkceCodeVerifier::new(verifier.secret().clone());
    let refused = stranger.exchange_code(code.clone()).set_pkce_verifier(wrong).request_async(&send).await.unwrap_err();
    assert_eq!(error_code(&refused), BasicErrorResponseType::InvalidClient);

    let first = client.exchange_code(code.clone()).set_pkce_verifier(verifier).request_async(&send).await;
    let first = first.expect("the wrong secret did not spend the code");
    let replay = client.exchange_code(code).set_pkce_verifier(again).request_async(&send).await.unwrap_err();
    assert_eq!(error_code(&replay), BasicErrorResponseType::InvalidGrant);
    assert_eq!(example.resource(first.access_token()).await.status(), StatusCode::UNAUTHORIZED);

    let (link, _) = client.authorize_url(CsrfToken::new_random).url();
    let callback = example.walk(&link, "deny").await;
    assert_eq!(parameter(&callback, "error").as_deref(), Some("access_denied"));
    assert_eq!(parameter(&callback, "code"), None);

    let answer = http().get(example.about("resource_url")).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(answer.headers()["www-authenticate"], "Bearer realm=\"oauth2\"");
    let metadata = http().get(example.url("/.well-known/oauth-authorization-server")).send().await.unwrap();
    let metadata: Value = serde_json::from_slice(&metadata.bytes().await.unwrap()).unwrap();
    assert_eq!(metadata["token_endpoint"], example.url("/oauth2/token"));
}

async fn refresh(
    client: &Client,
    token: &RefreshToken,
) -> Result<oauth2::basic::BasicTokenResponse, oauth2::basic::BasicRequestTokenError<reqwest::Error>> {
    client.exchange_refresh_token(token).request_async(&send).await
}

fn error_code(error: &oauth2::basic::BasicRequestTokenError<reqwest::Error>) -> BasicErrorResponseType {
    match error {
        RequestTokenError::ServerResponse(answer) => {
            assert!(answer.error_description().is_some_and(|description| !description.is_empty()));
            answer.error().clone()
        }
        other => panic!("{other:?}"),
    }
}

/// The transport under the client, which revokes over https alone: on the loopback, TLS is left out.
async fn send(request: HttpRequest) -> Result<HttpResponse, reqwest::Error> {
    let mut request = reqwest::Request::try_from(request)?;
    request.url_mut().set_scheme("http").expect("from one web scheme to another");
    let answer = http().execute(request).await?;
    let mut response = oauth2::http::Response::builder().status(answer.status());
    for (name, value) in answer.headers() {
        response = response.header(name, value);
    }
    Ok(response.body(answer.bytes().await?.to_vec()).expect("the parts of a response"))
}

/// A browser that follows no redirect by itself.
fn http() -> reqwest::Client {
    reqwest::Client::builder().redirect(Policy::none()).build().unwrap()
}

fn parameter(url: &Url, name: &str) -> Option<String> {
    url.query_pairs().find(|(own, _)| own == name).map(|(_, value)| value.into_owned())
}
