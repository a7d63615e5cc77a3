//! A server over the memory store with one approved client, and what that client sends.

use std::ops::Range;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use grantor::application::{Logo, RegistrationLimits};
use grantor::scope::ResourceScope;
use grantor::secret::Entropy;
use grantor::server::Builder;
use grantor::testing::ManualClock;
use grantor::wire::{Body, Endpoint, Request, Response};
use grantor::{
    ApplicationForm, Approval, AuthorizationServer, Clock, Config, Consent, Decision, MemoryStore,
    PendingAuthorization, Subject, Timestamp,
};

pub(crate) const ISSUER: &str = "https://auth.example";
pub(crate) const REDIRECT_URI: &str = "https://app.example.com/cb";
pub(crate) const SCOPES: &str = "repo-code:rw repo-issue:rw account-profile:r";
pub(crate) const SESSION: &[u8] = b"the value of the session cookie";
/// RFC 7636 appendix B.
pub(crate) const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
/// 2001-09-09T01:46:40Z, the time at which rounds make grants that they remove again.
pub(crate) const START: u32 = 1_000_000_000;
const FORM: &[u8] = b"application/x-www-form-urlencoded";

pub(crate) struct World {
    pub(crate) server: AuthorizationServer,
    pub(crate) store: MemoryStore,
    pub(crate) clock: ManualClock,
    pub(crate) client: Credentials,
}

/// A client as its developer knows it.
pub(crate) struct Credentials {
    pub(crate) id: String,
    pub(crate) secret: String,
}

impl World {
    /// A server of the platform profile at [`START`], with that source of random bytes.
    pub(crate) fn new(entropy: impl Entropy) -> Self {
        Self::built(Config::platform(ISSUER), |builder| builder.entropy(entropy))
    }

    /// A server with these settings at [`START`].
    pub(crate) fn built(config: Config, change: impl FnOnce(Builder) -> Builder) -> Self {
        let store = MemoryStore::new();
        let clock = ManualClock::new(Timestamp::from_seconds(START));
        let builder = AuthorizationServer::builder(config, store.clone()).clock(clock.clone());
        let server = change(builder).build().expect("the settings are sound");
        let client = register(&server, &subject(0), Approval::default());
        Self { server, store, clock, client }
    }

    pub(crate) fn now(&self) -> u32 {
        self.clock.now().seconds()
    }

    pub(crate) fn set_now(&self, seconds: u32) {
        self.clock.set(Timestamp::from_seconds(seconds));
    }

    pub(crate) fn authorize(&self, query: &[u8]) -> PendingAuthorization {
        ready(self.server.authorize(&Request::new("GET").query(query))).expect("the request is valid")
    }

    /// Holds the request and approves it. Returns the redirect of the browser.
    pub(crate) fn approve(&self, pending: &PendingAuthorization, subject: &Subject) -> Response {
        ready(approve(&self.server, pending, subject))
    }

    /// Writes the form that exchanges a new code of that user.
    pub(crate) fn exchange_form(&self, query: &[u8], subject: &Subject) -> String {
        let response = self.approve(&self.authorize(query), subject);
        exchange_form(&self.client, code_of(response.header("Location").expect("a redirect")))
    }

    pub(crate) fn post(&self, endpoint: Endpoint, form: &[u8]) -> Response {
        ready(self.server.serve(endpoint, &post(form)))
    }

    /// Does the work at [`START`], removes all the grants that it made and what they came from, and sets the
    /// clock back. Grants that are a day younger stay.
    pub(crate) fn put_away<T>(&self, work: impl FnOnce() -> T) -> T {
        let (now, grants) = (self.now(), self.store.grant_count());
        self.set_now(START);
        let done = work();
        self.purge_as_after(Duration::from_secs(180 * 24 * 60 * 60) + Duration::from_secs(12 * 60 * 60));
        self.set_now(now);
        assert_eq!((self.store.grant_count(), self.store.authorization_count()), (grants, 0));
        done
    }

    /// Removes what has expired after `span`, and sets the clock back.
    pub(crate) fn purge_as_after(&self, span: Duration) {
        let now = self.clock.now();
        self.clock.advance(span);
        ready(self.server.confirm_clock()).expect("memory does not fail");
        while !ready(self.server.purge_expired(10_000)).expect("memory does not fail").is_finished() {}
        self.clock.set(now);
    }
}

/// Holds the request and approves it. Returns the redirect of the browser.
pub(crate) async fn approve(
    server: &AuthorizationServer,
    pending: &PendingAuthorization,
    subject: &Subject,
) -> Response {
    let handle = server.hold(pending, subject, SESSION).await.expect("the request is held");
    let decision = Decision::Approve(Consent::to_everything());
    server.decide(handle.expose(), subject, SESSION, &decision).await.expect("the decision is taken")
}

/// Writes the form that exchanges a new code of that user.
pub(crate) async fn new_exchange(server: &AuthorizationServer, client: &Credentials, subject: &Subject) -> String {
    let query = query(client);
    let pending = server.authorize(&Request::new("GET").query(query.as_bytes())).await.expect("the request is valid");
    let response = approve(server, &pending, subject).await;
    exchange_form(client, code_of(response.header("Location").expect("a redirect")))
}

/// The request that sends a form.
pub(crate) fn post(form: &[u8]) -> Request<'_> {
    Request::new("POST").header("Content-Type", FORM).body(Body::Bytes(form))
}

/// Registers and approves an application.
pub(crate) fn register(server: &AuthorizationServer, applicant: &Subject, approval: Approval) -> Credentials {
    let registrar = server.registrar().expect("the memory store takes registrations");
    let id = ready(registrar.submit(applicant.clone(), form(), Some(logo()))).expect("the form is valid");
    let version = || ready(registrar.application(&id)).expect("it was submitted").version();
    ready(registrar.approve(&id, version(), approval)).expect("it awaits its review");
    let claimed = ready(registrar.claim_secret(&id, applicant, version())).expect("the client is confidential");
    let secret = claimed.expose().to_owned();
    Credentials { id: id.to_string(), secret }
}

/// The form of a confidential web application.
pub(crate) fn form() -> ApplicationForm {
    let mut form = ApplicationForm::new("Example App", "https://app.example.com/");
    form.redirect_uris = vec![REDIRECT_URI.into()];
    form.scopes = SCOPES.into();
    form.resource_scope = Some(ResourceScope::All);
    form
}

/// One transparent pixel.
pub(crate) fn logo() -> Logo {
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\nIDATx\
\x9cc\0\x01\0\0\x05\0\x01\r\n-\xb4\0\0\0\0IEND\xaeB`\x82";
    Logo::new(PNG, &RegistrationLimits::default()).expect("it is a PNG")
}

/// The user of that number; all names have one length.
pub(crate) fn subject(number: usize) -> Subject {
    Subject::new(format!("user-{number:08}")).expect("it is a name")
}

/// An authorization request with all that a client sends: seven parameters.
pub(crate) fn query(client: &Credentials) -> String {
    let id = &client.id;
    format!(
        "response_type=code&client_id={id}&redirect_uri=https%3A%2F%2Fapp.example.com%2Fcb&state=af0ifjsldkj\
         &scope=repo-code%3Arw+repo-issue%3Arw+account-profile%3Ar\
         &code_challenge={CHALLENGE}&code_challenge_method=S256"
    )
}

/// Five parameters, the client's credentials among them.
pub(crate) fn exchange_form(client: &Credentials, code: &str) -> String {
    let Credentials { id, secret } = client;
    format!("grant_type=authorization_code&code={code}&code_verifier={VERIFIER}&client_id={id}&client_secret={secret}")
}

/// The part of a refresh form before the token.
pub(crate) const REFRESH_FORM: &str = "grant_type=refresh_token&refresh_token=";

/// Four parameters, the client's credentials among them.
pub(crate) fn refresh_form(client: &Credentials, token: &str) -> String {
    format!("{REFRESH_FORM}{token}&client_id={}&client_secret={}", client.id, client.secret)
}

/// The form that names a token to the revocation or the introspection endpoint.
pub(crate) fn token_form(client: &Credentials, token: &str) -> String {
    format!("token={token}&client_id={}&client_secret={}", client.id, client.secret)
}

/// The code in a location.
pub(crate) fn code_of(location: &str) -> &str {
    let (_, code) = location.split_once("code=").expect("a code");
    code.split('&').next().unwrap_or(code)
}

/// Where the tokens are in an answer of the token endpoint: the same place in every answer.
#[derive(Debug, PartialEq)]
pub(crate) struct Layout {
    access: Range<usize>,
    refresh: Range<usize>,
}

impl Layout {
    /// # Panics
    ///
    /// If it is not a token response.
    pub(crate) fn of(answer: &[u8]) -> Self {
        let answer = str::from_utf8(answer).expect("JSON");
        let value = |name: &str| {
            let start = answer.find(name).expect("a token") + name.len();
            start..start + answer[start..].find('"').expect("its end")
        };
        Self { access: value("\"access_token\":\""), refresh: value("\"refresh_token\":\"") }
    }

    pub(crate) fn access<'a>(&self, answer: &'a [u8]) -> &'a [u8] {
        let token = &answer[self.access.clone()];
        assert!(token.starts_with(b"at_"), "all answers are of one layout");
        token
    }

    pub(crate) fn refresh<'a>(&self, answer: &'a [u8]) -> &'a [u8] {
        let token = &answer[self.refresh.clone()];
        assert!(token.starts_with(b"rt_"), "all answers are of one layout");
        token
    }

    /// Puts both tokens into what the client sends next.
    pub(crate) fn take_over(&self, answer: &[u8], header: &mut [u8], form: &mut [u8]) {
        let token = self.refresh(answer);
        form[REFRESH_FORM.len()..][..token.len()].copy_from_slice(token);
        header[b"Bearer ".len()..].copy_from_slice(self.access(answer));
    }
}

/// Returns the output of a future that never waits, such as those of the memory store.
pub(crate) fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => done,
        Poll::Pending => panic!("the memory store never waits"),
    }
}
