//! Userinfo [OpenID Connect Core section 5.3], and the claims of users.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use grantor::config::DpopBoundTokens;
use grantor::hooks::{Email, SubjectStatus, Subjects, UserClaims, UserContext, UserProfile};
use grantor::wire::{Cors, Endpoint, Request};
use grantor::{Client, Subject, Timestamp};

use super::*;
use crate::rfc8707::resource;
use crate::rfc9449::at_resource::proof_for;
use crate::rfc9449::{bound, exchange_form, proven};
use support::world::{Pair, REDIRECT_URI, empty, pair};

/// A hook that answers as a test says. Clones share what it was asked.
#[derive(Clone, Debug, Default)]
struct Hook(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    answer: Option<UserClaims>,
    asked: Vec<Vec<String>>,
}

impl Hook {
    fn says(&self, answer: UserClaims) {
        self.0.lock().unwrap().answer = Some(answer);
    }

    /// The names that it was asked for since the last call.
    fn asked(&self) -> Vec<Vec<String>> {
        std::mem::take(&mut self.0.lock().unwrap().asked)
    }
}

/// A user with an address that was verified before the test began.
fn ada() -> UserProfile {
    let email = Email::verified("ada@example.com", Timestamp::from_seconds(START - 1)).unwrap();
    UserProfile::new().name("Ada").unwrap().email(email).unwrap().claim("team", json!("a")).unwrap()
}

#[async_trait]
impl Claims for Hook {
    async fn of_user(&self, user: &UserContext<'_>) -> UserClaims {
        assert_eq!(user.subject.as_str(), "alice");
        let mut state = self.0.lock().unwrap();
        state.asked.push(user.wanted.iter().map(|&name| name.to_owned()).collect());
        state.answer.clone().unwrap_or_else(|| UserClaims::Known(ada()))
    }
}

async fn with_hook(config: Config) -> (World, Hook) {
    let hook = Hook::default();
    let world = built(config, |builder| builder.claims(hook.clone())).await;
    (world, hook)
}

async fn of(world: &World, scope: &str) -> Pair {
    pair(&exchanged(world, scope).await)
}

async fn get(world: &World, token: &str) -> Response {
    let authorization = format!("Bearer {token}");
    let request = Request::new("GET").header("Authorization", authorization.as_bytes());
    world.server.serve(Endpoint::UserInfo, &request).await
}

/// `INFO`
#[track_caller]
fn info(response: &Response) -> Value {
    assert_eq!(response.status(), 200, "{:?}", response.header("WWW-Authenticate"));
    assert_eq!(response.header("Content-Type"), Some("application/json"));
    assert_eq!(response.header("Cache-Control"), Some("no-store"));
    serde_json::from_slice(response.body()).unwrap()
}

/// 401 with a challenge of Bearer with that error.
#[track_caller]
fn r401(response: &Response, error: &str) {
    assert_eq!(response.status(), 401);
    let challenge = response.header("WWW-Authenticate").unwrap();
    assert!(challenge.starts_with("Bearer ") && challenge.contains(&format!("error=\"{error}\"")), "{challenge}");
    assert_eq!(response.body(), b"");
}

/// USERINFO-01, USERINFO-07, CLAIMS-01
#[tokio::test]
async fn the_token_is_in_the_header() {
    let (world, hook) = with_hook(config()).await;
    let token = of(&world, "openid email").await.access;
    assert!(hook.asked().is_empty(), "an exchange asks for no claims");
    let expected = json!({"sub": "alice", "email": "ada@example.com", "email_verified": true});
    assert_eq!(info(&get(&world, &token).await), expected);
    assert_eq!(hook.asked(), [["email", "email_verified"]]);
    let authorization = format!("bearer {token}");
    let header = ("Authorization", authorization.as_bytes());
    let post =
        Request::new("POST").query(b"schema=openid").header(header.0, header.1).header("Accept", b"application/jwt");
    assert_eq!(info(&world.server.serve(Endpoint::UserInfo, &post).await), expected);
    let query = format!("access_token={token}");
    let in_query = Request::new("GET").query(query.as_bytes());
    let response = world.server.serve(Endpoint::UserInfo, &in_query).await;
    assert_eq!((response.status(), response.header("WWW-Authenticate").unwrap().contains("error")), (401, false));
    let form = world.post(Endpoint::UserInfo, &[("access_token", &token)]).send().await;
    assert_eq!((form.status(), form.header("WWW-Authenticate").unwrap().contains("error")), (401, false));
    for method in ["HEAD", "PUT"] {
        let response = world.server.serve(Endpoint::UserInfo, &Request::new(method)).await;
        assert_eq!((response.status(), response.header("Allow")), (405, Some("GET, POST")));
    }
    let mut config = config();
    config.bearer_in_body = true;
    let (world, _) = with_hook(config).await;
    let token = of(&world, "openid email").await.access;
    let form = world.post(Endpoint::UserInfo, &[("access_token", &token)]);
    assert_eq!(info(&form.send().await), expected);
    let both = world.post(Endpoint::UserInfo, &[("access_token", &token)]);
    let both = both.header("Authorization", format!("Bearer {token}").as_bytes()).send().await;
    assert_eq!(both.status(), 400);
}

/// USERINFO-02, USERINFO-05, PRIV-03, OIDC-2-08
#[tokio::test]
async fn a_token_that_is_dead_gets_nothing() {
    let mut config = config();
    config.resources = vec![resource("https://api.example", &[])];
    let (world, _) = with_hook(config).await;
    let first = of(&world, "openid email").await;
    info(&get(&world, &first.access).await);
    r401(&get(&world, "at_nonsense").await, "invalid_token");
    r401(&get(&world, &first.refresh).await, "invalid_token");
    r401(&get(&world, &id_token(&exchanged(&world, "openid").await)).await, "invalid_token");
    empty(&world.revoke(&first.access).await);
    r401(&get(&world, &first.access).await, "invalid_token");
    let expired = of(&world, "openid email").await;
    world.advance(86_400 * 30);
    r401(&get(&world, &expired.access).await, "invalid_token");
    let withdrawn = of(&world, "openid email").await;
    world.server.revoke_subject(&world.alice).await.unwrap();
    r401(&get(&world, &withdrawn.access).await, "invalid_token");
}

/// USERINFO-03
#[tokio::test]
async fn the_token_needs_openid() {
    let (world, hook) = with_hook(config()).await;
    let token = of(&world, "email repo-code:r").await.access;
    let response = get(&world, &token).await;
    assert_eq!(response.status(), 403);
    let challenge = response.header("WWW-Authenticate").unwrap();
    assert!(
        challenge.contains("error=\"insufficient_scope\"") && challenge.contains("scope=\"openid\""),
        "{challenge}"
    );
    assert!(hook.asked().is_empty());
}

/// CLAIMS-02
#[tokio::test]
async fn only_what_the_token_covers_is_sent() {
    let (mut world, hook) = with_hook(config()).await;
    let token = of(&world, "openid email").await.access;
    assert_eq!(info(&get(&world, &token).await).as_object().unwrap().len(), 3, "neither name nor team");
    let mut fewer = config();
    fewer.identity.as_mut().unwrap().scopes = vec![IdentityScope::profile()];
    world.server =
        world.builder(fewer, world.store.clone()).signing_keys([rs256()]).claims(hook.clone()).build().unwrap();
    assert_eq!(info(&get(&world, &token).await), json!({"sub": "alice"}));
}

/// CLAIMS-01, CLAIMS-06, PRIV-02, PRIV-04
#[tokio::test]
async fn a_hook_without_an_answer_revokes_nothing() {
    let (world, hook) = with_hook(config()).await;
    let token = of(&world, "openid email").await.access;
    world.events.take();
    hook.says(UserClaims::Gone);
    r401(&get(&world, &token).await, "invalid_token");
    hook.says(UserClaims::Unavailable);
    let response = get(&world, &token).await;
    assert_eq!((response.status(), response.header("WWW-Authenticate")), (503, None));
    assert!(response.header("Retry-After").is_some());
    let late = Email::verified("hidden@example.com", Timestamp::from_seconds(START + 3600)).unwrap();
    hook.says(UserClaims::Known(UserProfile::new().email(late).unwrap()));
    assert_eq!(get(&world, &token).await.status(), 500);
    hook.says(UserClaims::Known(ada()));
    for _ in 0..100 {
        info(&get(&world, &token).await);
    }
    let events = world.events.take();
    let names: Vec<&str> = events.iter().map(|event| event.split([' ', '(']).next().unwrap()).collect();
    assert_eq!(names, ["SubjectGone", "ClaimsUnavailable", "ProfileRefused", "ClaimsReleased"]);
    assert!(events.iter().all(|event| !event.contains("@example.com")), "{events:?}");
    assert!(events[3].contains("email_verified"));
}

#[derive(Clone, Debug, Default)]
struct Locked(Arc<Mutex<Option<SubjectStatus>>>);

#[async_trait]
impl Subjects for Locked {
    async fn status(&self, _: &Subject, _: &Client) -> SubjectStatus {
        self.0.lock().unwrap().unwrap_or(SubjectStatus::Active)
    }
}

/// USERINFO-06
#[tokio::test]
async fn a_locked_user_is_not_described() {
    let locked = Locked::default();
    let hook = Hook::default();
    let world = built(config(), |builder| builder.claims(hook.clone()).subjects(locked.clone())).await;
    let token = of(&world, "openid").await.access;
    *locked.0.lock().unwrap() = Some(SubjectStatus::Refused);
    r401(&get(&world, &token).await, "invalid_token");
    *locked.0.lock().unwrap() = Some(SubjectStatus::Unknown);
    let response = get(&world, &token).await;
    assert_eq!((response.status(), response.header("WWW-Authenticate")), (503, None));
    assert!(hook.asked().is_empty());
    *locked.0.lock().unwrap() = None;
    info(&get(&world, &token).await);
}

/// USERINFO-04
#[tokio::test]
async fn a_bound_token_needs_a_proof() {
    let mut config = config();
    config.dpop.tokens = DpopBoundTokens::Optional;
    let (world, _) = with_hook(config).await;
    let signer = Signer::es256();
    let code = world
        .code_for(&world.query(&[&PKCE[..], &[("scope", "openid email"), ("redirect_uri", REDIRECT_URI)]].concat()))
        .await;
    let token = bound(&proven(&world, &world.client, &exchange_form(&code), &signer).await).access;
    let url = format!("{ISSUER}/oauth2/userinfo");
    let send = async |scheme: &str, proof: &str| {
        let authorization = format!("{scheme} {token}");
        let request = Request::new("GET").header("Authorization", authorization.as_bytes());
        world.server.serve(Endpoint::UserInfo, &request.header("DPoP", proof.as_bytes())).await
    };
    let good = proof_for(&world, &signer, &token, "GET", &url);
    info(&send("DPoP", &good).await);
    let another_url = format!("{url}x");
    let bad = [
        ("Bearer", proof_for(&world, &signer, &token, "GET", &url), "invalid_token"),
        ("DPoP", good, "invalid_dpop_proof"),
        ("DPoP", proof_for(&world, &signer, &token, "POST", &url), "invalid_dpop_proof"),
        ("DPoP", proof_for(&world, &signer, &token, "GET", &another_url), "invalid_dpop_proof"),
        ("DPoP", proof_for(&world, &signer.another(), &token, "GET", &url), "invalid_token"),
    ];
    for (number, (scheme, proof, error)) in bad.into_iter().enumerate() {
        let response = send(scheme, &proof).await;
        assert_eq!(response.status(), 401, "{number}");
        let challenges: String =
            response.headers().filter(|own| own.0 == "WWW-Authenticate").map(|own| own.1).collect();
        assert!(challenges.contains(&format!("error=\"{error}\"")), "{number}: {challenges}");
    }
}

/// USERINFO-08
#[tokio::test]
async fn pages_of_the_listed_origins_may_call_it() {
    let mut config = config();
    config.cors = Cors::Origins(vec!["https://app.example".into()]);
    let (world, _) = with_hook(config).await;
    let token = of(&world, "openid").await.access;
    let authorization = format!("Bearer {token}");
    let origin = |method| Request::new(method).header("Origin", b"https://app.example");
    let request = origin("GET").header("Authorization", authorization.as_bytes());
    let response = world.server.serve(Endpoint::UserInfo, &request).await;
    info(&response);
    assert_eq!(response.header("Access-Control-Allow-Origin"), Some("https://app.example"));
    let preflight = origin("OPTIONS").header("Access-Control-Request-Method", b"GET");
    assert_eq!(world.server.serve(Endpoint::UserInfo, &preflight).await.status(), 204);
}
