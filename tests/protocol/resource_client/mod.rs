//! RFC 7662 at an API in another process: the client over a scripted transport.

mod answers;
mod cache;
mod live;
mod sharing;
mod wiped;

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use futures::channel::oneshot;
use futures::task::noop_waker;
use grantor::config::{DpopBoundTokens, Profile};
use grantor::fetch::{FetchError, FetchErrorKind, FetchResponse, Transport, TransportRequest};
use grantor::resource::{ExpectedAudience, IntrospectionSettings, ResourceClient};
use grantor::testing::ManualClock;
use grantor::wire::Request;
use grantor::{Authenticated, ClientSecret, Config, ResourceError, ResourceServer, Timestamp};
use serde_json::{Value, json};

use support::world::{ISSUER, Recorder, START, config_of};

const ENDPOINT: &str = "https://auth.example/oauth2/introspect";
const SECRET: &str = "the secret of the API";
const TOKEN: &str = "at_the-token-that-is-presented";

/// What the authorization server answers: a response, or a failure on the way.
pub(crate) type Answer = Result<FetchResponse, FetchErrorKind>;

/// A request as it was sent.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    pub(crate) timeout: Duration,
    pub(crate) max_bytes: usize,
}

/// Changes to what the authorization server says of a token, and whether it then covers the public and the private
/// resource `a`.
pub(crate) fn resource_scopes() -> [(Value, bool, bool); 7] {
    [
        (json!({}), true, true),
        (json!({"resource_scope": "public"}), true, false),
        (json!({"resource_scope": "specified", "resources": ["a"]}), true, true),
        (json!({"resource_scope": "specified", "resources": ["b"]}), false, false),
        (json!({"resource_scope": "every"}), false, false),
        (json!({"resource_scope": "(none)", "resources": ["a"]}), false, false),
        (json!({"resource_scope": "(none)"}), false, false),
    ]
}

/// A transport that answers as a test says. Clones share their script.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    sent: Vec<Sent>,
    /// The answer to every request; none while the test answers each one.
    always: Option<Answer>,
    open: VecDeque<oneshot::Sender<Answer>>,
}

impl Script {
    /// Answers every request at once from now on.
    pub(crate) fn always(&self, answer: Answer) {
        self.0.lock().unwrap().always = Some(answer);
    }

    /// Leaves every request open from now on.
    pub(crate) fn wait(&self) {
        self.0.lock().unwrap().always = None;
    }

    /// Answers the request that has been open for the longest time.
    #[track_caller]
    pub(crate) fn answer(&self, answer: Answer) {
        self.0.lock().unwrap().open.pop_front().expect("a request is open").send(answer).expect("somebody waits");
    }

    pub(crate) fn sent(&self) -> usize {
        self.0.lock().unwrap().sent.len()
    }

    /// The open requests whose callers still wait.
    pub(crate) fn open(&self) -> usize {
        self.0.lock().unwrap().open.iter().filter(|open| !open.is_canceled()).count()
    }

    pub(crate) fn requests(&self) -> Vec<Sent> {
        self.0.lock().unwrap().sent.clone()
    }
}

#[async_trait]
impl Transport for Script {
    async fn send(&self, request: &TransportRequest<'_>) -> Result<FetchResponse, FetchError> {
        let answered = {
            let mut state = self.0.lock().unwrap();
            state.sent.push(Sent {
                method: request.method.to_owned(),
                url: request.url.to_owned(),
                headers: request.headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
                body: String::from_utf8(request.body.to_vec()).unwrap(),
                timeout: request.timeout,
                max_bytes: request.max_bytes,
            });
            match state.always.clone() {
                Some(answer) => Err(answer),
                None => {
                    let (open, answered) = oneshot::channel();
                    state.open.push_back(open);
                    Ok(answered)
                }
            }
        };
        let answer = match answered {
            Ok(answered) => answered.await.expect("the test answers"),
            Err(answer) => answer,
        };
        answer.map_err(|kind| FetchError::with_source(kind, "the cause of the failure"))
    }
}

/// An API in another process than the authorization server.
struct Api {
    resource: ResourceServer,
    client: ResourceClient,
    script: Script,
    clock: ManualClock,
    events: Recorder,
}

impl Api {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut IntrospectionSettings)) -> Self {
        let mut settings = settings();
        change(&mut settings);
        let (script, events) = (Script::default(), Recorder::default());
        let clock = ManualClock::new(Timestamp::from_seconds(START));
        let client = ResourceClient::new(settings, script.clone()).unwrap();
        let client = client.with_clock(clock.clone()).with_events(events.clone());
        script.always(Ok(described(json!({}))));
        Self { resource: resource(&client), client, script, clock, events }
    }

    /// The answer to a request with that token.
    async fn check(&self, token: &str) -> Result<Authenticated, ResourceError> {
        let header = format!("Bearer {token}");
        self.resource.authenticate(&Request::new("GET").header("Authorization", header.as_bytes())).await
    }

    /// 200, or the status of the answer; the headers are those of the status.
    async fn status(&self, token: &str) -> u16 {
        self.check(token).await.map_or_else(refused, |_| 200)
    }

    fn at(&self, seconds: u32) {
        self.clock.set(Timestamp::from_seconds(START + seconds));
    }
}

fn config() -> Config {
    let mut config = config_of(Profile::Strict);
    config.dpop.tokens = DpopBoundTokens::Off;
    config
}

fn resource(client: &ResourceClient) -> ResourceServer {
    ResourceServer::introspecting(config(), client.clone()).unwrap()
}

fn settings() -> IntrospectionSettings {
    let audience = ExpectedAudience::Is(ISSUER.to_owned());
    IntrospectionSettings::new(ENDPOINT, "api", ClientSecret::new(SECRET), ISSUER, audience)
}

/// The status of a refusal. 401 has the challenge of an invalid token; 503 has none, and says when to retry.
#[track_caller]
pub(crate) fn refused(error: ResourceError) -> u16 {
    let response = error.into_response();
    let challenge = response.header("WWW-Authenticate");
    match response.status() {
        401 => assert!(challenge.unwrap().contains("error=\"invalid_token\""), "{challenge:?}"),
        503 => assert_eq!((challenge, response.header("Retry-After")), (None, Some("1"))),
        other => panic!("{other}"),
    }
    response.status()
}

/// A JSON response with that body.
fn answer(body: impl Into<Vec<u8>>) -> FetchResponse {
    let mut response = FetchResponse::new(200, body);
    response.content_type = Some("application/json".to_owned());
    response
}

fn inactive() -> FetchResponse {
    answer(r#"{"active":false}"#)
}

/// The description of a valid token, with changed members. The text `(none)` leaves one out.
fn described(changes: Value) -> FetchResponse {
    let mut answer = json!({
        "active": true, "client_id": "app", "sub": "alice", "scope": "repo-code:rw", "token_type": "Bearer",
        "iss": ISSUER, "aud": ISSUER, "iat": START, "exp": START + 3600, "resource_scope": "all",
    });
    let members = answer.as_object_mut().unwrap();
    for (name, value) in changes.as_object().unwrap() {
        if value == "(none)" {
            members.remove(name);
        } else {
            members.insert(name.clone(), value.clone());
        }
    }
    self::answer(answer.to_string())
}

type Check<'a> = Pin<Box<dyn Future<Output = u16> + 'a>>;

/// Checks that run at the same time.
pub(crate) struct Checks<'a>(Vec<Option<Check<'a>>>);

impl<'a> Checks<'a> {
    fn of(api: &'a Api, tokens: impl IntoIterator<Item = &'a str>) -> Self {
        Self::new(tokens.into_iter().map(|token| api.status(token)))
    }

    pub(crate) fn new(checks: impl IntoIterator<Item = impl Future<Output = u16> + 'a>) -> Self {
        Self(checks.into_iter().map(|check| Some(Box::pin(check) as Check<'a>)).collect())
    }

    /// Polls all until none gets further, and returns the answers since the last call.
    pub(crate) fn run(&mut self) -> Vec<u16> {
        let waker = noop_waker();
        let mut answers = Vec::new();
        // The end of one request lets the next one begin.
        for _ in 0..3 {
            for check in &mut self.0 {
                if let Some(Poll::Ready(status)) =
                    check.as_mut().map(|check| check.as_mut().poll(&mut Context::from_waker(&waker)))
                {
                    answers.push(status);
                    *check = None;
                }
            }
        }
        answers
    }

    /// The caller of the first check hangs up.
    pub(crate) fn drop_first(&mut self) {
        drop(self.0.remove(0));
    }
}
