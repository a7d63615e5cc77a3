//! A server on a memory store with one confidential client, and the requests that it is sent.

use std::hint::black_box;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use grantor::application::{Logo, RegistrationLimits};
use grantor::scope::ResourceScope;
use grantor::secret::CodeVerifier;
use grantor::wire::{Body, Endpoint, Request, Response};
use grantor::{
    ApplicationForm, Approval, Authenticated, AuthorizationServer, Clock, Config, Consent, Decision, MemoryStore,
    Subject, Timestamp,
};

const SESSION: &[u8] = b"the value of the session cookie";
const REDIRECT_URI: &str = "https://app.example.com/cb";
/// What the client is registered with and asks for.
const SCOPES: &str = "repo-code:rw repo-issue:rw account-profile:r";
/// RFC 7636 appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub(crate) const FORM: &[u8] = b"application/x-www-form-urlencoded";
/// The signature is all that is read of a logo here.
const LOGO: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0, 0, 1, 8,
    6, 0, 0, 0, 0x1f, 0x15, 0xc4, 0x89, 0, 0, 0, 0x0a, b'I', b'D', b'A', b'T', 0x78, 0x9c, 0x63, 0, 1, 0, 0, 5, 0, 1,
    0x0d, 0x0a, 0x2d, 0xb4, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];

/// A clock that is set manually.
#[derive(Clone, Debug)]
struct Hand(Arc<AtomicU32>);

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        Timestamp::from_seconds(self.0.load(Ordering::Relaxed))
    }
}

/// The server, and what its client sends with every request.
#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) server: AuthorizationServer,
    pub(crate) store: MemoryStore,
    hand: Hand,
    client_id: String,
    basic: String,
}

/// The two tokens of an answer.
pub(crate) struct Pair {
    pub(crate) access: String,
    pub(crate) refresh: String,
}

impl Default for Service {
    fn default() -> Self {
        Self::new()
    }
}

impl Service {
    pub(crate) fn new() -> Self {
        let store = MemoryStore::new();
        let hand = Hand(Arc::new(AtomicU32::new(1_700_000_000)));
        let builder = AuthorizationServer::builder(Config::platform("https://auth.example"), store.clone());
        let server = builder.clock(hand.clone()).build().expect("the settings agree");
        let mut form = ApplicationForm::new("Example App", "https://app.example.com/");
        form.redirect_uris = vec![REDIRECT_URI.into()];
        form.scopes = SCOPES.into();
        form.resource_scope = Some(ResourceScope::All);
        let registrar = server.registrar().expect("the store has a registry");
        let logo = Logo::new(LOGO, &RegistrationLimits::default()).expect("a PNG");
        let id = ready(registrar.submit(subject("developer"), form, Some(logo))).expect("the form is good");
        let version = || ready(registrar.application(&id)).expect("it was submitted").version();
        ready(registrar.approve(&id, version(), Approval::default())).expect("it waits");
        let claimed = ready(registrar.claim_secret(&id, &subject("developer"), version()));
        let secret = claimed.expect("it is confidential").expose().to_owned();
        let basic = format!("Basic {}", STANDARD.encode(format!("{id}:{secret}")));
        Self { server, store, hand, client_id: id.to_string(), basic }
    }

    pub(crate) fn advance(&self, span: Duration) {
        let seconds = u32::try_from(span.as_secs()).expect("the clock goes forward");
        self.hand.0.fetch_add(seconds, Ordering::Relaxed);
    }

    /// Removes all expired records.
    pub(crate) fn purge(&self) {
        ready(self.server.confirm_clock()).expect("memory does not fail");
        while !ready(self.server.purge_expired(1000)).expect("memory does not fail").is_finished() {}
    }

    /// The query of an authorization request.
    pub(crate) fn query(&self) -> String {
        let challenge = CodeVerifier::new(VERIFIER).expect("a verifier").challenge();
        let scope = SCOPES.replace(' ', "%20").replace(':', "%3A");
        format!(
            "response_type=code&client_id={}&redirect_uri=https%3A%2F%2Fapp.example.com%2Fcb&state=af0ifjsldkj\
             &scope={scope}&code_challenge={}&code_challenge_method=S256",
            self.client_id,
            challenge.as_str(),
        )
    }

    /// Returns the code of a user after the whole flow: request, page, decision.
    #[inline(never)]
    pub(crate) fn authorize(&self, query: &str, subject: &Subject) -> String {
        let pending = ready(self.server.authorize(&Request::new("GET").query(query.as_bytes())));
        let pending = pending.expect("the request is good");
        let handle = ready(self.server.hold(&pending, subject, SESSION)).expect("the store holds it");
        let decision = Decision::Approve(Consent::to_everything());
        let decided = ready(self.server.decide(handle.expose(), subject, SESSION, &decision));
        let decided = decided.expect("the user is the one who was asked");
        let location = decided.header("Location").expect("it is a redirect");
        between(location, "code=", "&").to_owned()
    }

    /// A code of that user.
    pub(crate) fn code(&self, name: &str) -> String {
        self.authorize(&self.query(), &subject(name))
    }

    /// The first pair of a new grant of that user.
    pub(crate) fn pair(&self, name: &str) -> Pair {
        pair(&self.exchange(&self.exchange_body(&self.code(name))))
    }

    pub(crate) fn exchange_body(&self, code: &str) -> String {
        format!(
            "grant_type=authorization_code&code={code}&redirect_uri=https%3A%2F%2Fapp.example.com%2Fcb\
             &code_verifier={VERIFIER}"
        )
    }

    pub(crate) fn refresh_body(&self, token: &str) -> String {
        format!("grant_type=refresh_token&refresh_token={token}")
    }

    #[inline(never)]
    pub(crate) fn exchange(&self, body: &str) -> Response {
        self.post("exchange", Endpoint::Token, body)
    }

    #[inline(never)]
    pub(crate) fn refresh(&self, body: &str) -> Response {
        self.post("refresh", Endpoint::Token, body)
    }

    #[inline(never)]
    pub(crate) fn refresh_in_grace(&self, body: &str) -> Response {
        self.post("refresh_in_grace", Endpoint::Token, body)
    }

    #[inline(never)]
    pub(crate) fn authenticate(&self, header: &str) -> Authenticated {
        let request = Request::new("GET").header("Authorization", header.as_bytes());
        ready(self.server.resource().authenticate(&request)).expect("the token is good")
    }

    #[inline(never)]
    pub(crate) fn introspect(&self, body: &str) -> Response {
        self.post("introspect", Endpoint::Introspection, body)
    }

    #[inline(never)]
    pub(crate) fn revoke_access(&self, body: &str) -> Response {
        self.post("revoke_access", Endpoint::Revocation, body)
    }

    #[inline(never)]
    pub(crate) fn revoke_refresh(&self, body: &str) -> Response {
        self.post("revoke_refresh", Endpoint::Revocation, body)
    }

    #[inline(never)]
    pub(crate) fn metadata(&self) -> Response {
        ready(self.server.serve(Endpoint::Metadata, &Request::new("GET")))
    }

    /// The name keeps the compiler from merging functions that look the same.
    #[inline(always)]
    fn post(&self, operation: &str, endpoint: Endpoint, body: &str) -> Response {
        let request = Request::new("POST")
            .header("Content-Type", FORM)
            .header("Authorization", self.basic.as_bytes())
            .body(Body::Bytes(body.as_bytes()));
        black_box(operation);
        ready(self.server.serve(endpoint, &request))
    }
}

/// The pair that an answer of the token endpoint carries.
pub(crate) fn pair(response: &Response) -> Pair {
    assert_eq!(response.status(), 200);
    let body = std::str::from_utf8(response.body()).expect("JSON is text");
    let member = |name: &str| between(body, &format!("\"{name}\":\""), "\"").to_owned();
    Pair { access: member("access_token"), refresh: member("refresh_token") }
}

pub(crate) fn subject(name: &str) -> Subject {
    Subject::new(name).expect("it is short")
}

/// Returns what a store in memory answers, which is ready at once. It is inlined, so that moving the future is not
/// counted.
#[inline(always)]
pub(crate) fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a store in memory never waits"),
    }
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let (_, rest) = text.split_once(before).expect("it is there");
    rest.split_once(after).map_or(rest, |(found, _)| found)
}
