//! grantor with its memory store and the default settings.
//!
//! It does what the others leave out. Secrets of codes and tokens are stored as SHA-256. The handle of the consent page
//! is a separate record, bound to user and session, so a flow has one write more. Every check of a token reads its
//! client. Old tokens stay valid for the grace. Its clock is the system's plus an offset, so the grace of five minutes
//! can expire before the next refresh, as it does in practice.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use grantor::application::{Logo, RegistrationLimits};
use grantor::scope::ResourceScope;
use grantor::wire::{Body, Endpoint, Request};
use grantor::{
    ApplicationForm, Approval, AuthorizationServer, Clock, Config, Consent, Decision, MemoryStore, Subject,
    SystemClock, Timestamp,
};

use super::{Peer, at_once};
use crate::material::{Credentials, REDIRECT_URI, SCOPE};

const SESSION: &[u8] = b"0123456789abcdef0123456789abcdef";

pub(crate) struct Grantor {
    server: AuthorizationServer,
    credentials: Credentials,
    clock: ShiftedClock,
}

#[derive(Clone, Debug, Default)]
struct ShiftedClock(Arc<AtomicU32>);

impl Clock for ShiftedClock {
    fn now(&self) -> Timestamp {
        SystemClock.now().plus(Duration::from_secs(self.0.load(Ordering::Relaxed).into()))
    }
}

impl Grantor {
    pub(super) fn new() -> Self {
        let clock = ShiftedClock::default();
        Self { clock: clock.clone(), ..Self::with_clock(clock) }
    }

    /// Returns a server with this clock, which `let_minutes_pass` does not advance.
    pub(crate) fn with_clock(clock: impl Clock) -> Self {
        let server = AuthorizationServer::builder(Config::platform("https://auth.example"), MemoryStore::new());
        let server = server.clock(clock).build().expect("the default settings");
        let credentials = at_once(register(&server));
        Self { server, credentials, clock: ShiftedClock::default() }
    }

    pub(crate) const fn server(&self) -> &AuthorizationServer {
        &self.server
    }

    fn token(&self, basic: &str, form: &str) -> Vec<u8> {
        let request = Request::new("POST")
            .header("content-type", b"application/x-www-form-urlencoded")
            .header("authorization", basic.as_bytes())
            .body(Body::Bytes(form.as_bytes()));
        let response = at_once(self.server.serve(Endpoint::Token, &request));
        assert_eq!(response.status(), 200);
        response.into_body()
    }
}

impl Peer for Grantor {
    fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    fn authorize(&mut self, query: &str, owner: &str) -> String {
        let subject = Subject::new(owner).expect("a short name");
        at_once(async {
            let request = Request::new("GET").query(query.as_bytes());
            let pending = self.server.authorize(&request).await.expect("a valid request");
            let handle = self.server.hold(&pending, &subject, SESSION).await.expect("a valid request");
            let decision = Decision::Approve(Consent::to_everything());
            let redirect = self.server.decide(handle.expose(), &subject, SESSION, &decision).await;
            redirect.expect("held a moment ago").header("Location").expect("a redirect").to_owned()
        })
    }

    fn exchange(&mut self, basic: &str, form: &str) -> Vec<u8> {
        self.token(basic, form)
    }

    fn refresh(&mut self, basic: &str, form: &str) -> Vec<u8> {
        self.token(basic, form)
    }

    fn authenticate(&mut self, bearer: &str, owner: &str) {
        let request = Request::new("GET").header("authorization", bearer.as_bytes());
        let token = at_once(self.server.resource().authenticate(&request)).expect("a valid token");
        assert_eq!(token.subject().map(Subject::as_str), Some(owner));
    }

    fn let_minutes_pass(&mut self) {
        self.clock.0.fetch_add(400, Ordering::Relaxed);
    }

    fn clean_up(&mut self) {
        // Codes are kept for an hour after their end; access tokens live for eight.
        self.clock.0.fetch_add(2 * 3600, Ordering::Relaxed);
        at_once(self.server.confirm_clock()).expect("the memory store");
        while !at_once(self.server.purge_expired(10_000)).expect("the memory store").is_finished() {}
    }
}

/// As an administrator would: submit the form, approve it, take the secret.
async fn register(server: &AuthorizationServer) -> Credentials {
    let registrar = server.registrar().expect("the memory store is a registry");
    let mut form = ApplicationForm::new("Client", "https://client.example/");
    form.redirect_uris = vec![REDIRECT_URI.to_owned()];
    form.scopes = SCOPE.to_owned();
    form.resource_scope = Some(ResourceScope::All);
    let logo = Logo::new(LOGO, &RegistrationLimits::default()).expect("a PNG");
    let developer = Subject::new("developer").expect("a short name");
    let id = registrar.submit(developer.clone(), form, Some(logo)).await.expect("a valid form");
    let version = async || registrar.application(&id).await.expect("submitted a moment ago").version();
    registrar.approve(&id, version().await, Approval::default()).await.expect("it awaits its review");
    let secret = registrar.claim_secret(&id, &developer, version().await).await.expect("a confidential client");
    Credentials::new(id.as_str(), secret.expose())
}

/// One transparent pixel.
const LOGO: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\nIDATx\
\x9cc\0\x01\0\0\x05\0\x01\r\n-\xb4\0\0\0\0IEND\xaeB`\x82";
