//! `TracingEvents` writes one line per event, with fields to filter and count by, at the level that it needs, within
//! the span of its request.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::executor::block_on;
use grantor::redirect_uri::{RedirectUriPolicy, RegisteredRedirectUri};
use grantor::scope::ScopeCatalog;
use grantor::store::Stores;
use grantor::testing::ManualClock;
use grantor::wire::{Body, Endpoint, Request};
use grantor::{AuthorizationServer, Client, ClientId, Config, MemoryStore, Timestamp, TracingEvents};
use support::directory::Directory;
use support::intercepted::{Failure, Fate, Intercepted, every};
use support::world::{AnyStore, World};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use tracing_core::span::Current;

/// Keeps each line with its fields.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    lines: Vec<Line>,
    spans: Vec<Fields>,
    metadata: Vec<&'static Metadata<'static>>,
    later: Vec<(usize, Fields)>,
    entered: Vec<usize>,
}

#[derive(Clone, Debug)]
struct Line {
    level: String,
    fields: Fields,
    /// The fields of the span that the line was written in.
    span: Option<Fields>,
}

type Fields = BTreeMap<&'static str, String>;

impl Line {
    fn get(&self, field: &str) -> Option<&str> {
        self.fields.get(field).map(String::as_str)
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "grantor"
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = Text(Fields::new());
        event.record(&mut fields);
        let mut kept = self.0.lock().unwrap();
        let span = kept.entered.last().map(|place| kept.spans[*place].clone());
        let line = Line { level: event.metadata().level().to_string(), fields: fields.0, span };
        kept.lines.push(line);
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut fields = Text(Fields::new());
        attributes.record(&mut fields);
        let mut kept = self.0.lock().unwrap();
        kept.spans.push(fields.0);
        kept.metadata.push(attributes.metadata());
        Id::from_u64(kept.spans.len() as u64)
    }

    fn enter(&self, span: &Id) {
        self.0.lock().unwrap().entered.push(span.into_u64() as usize - 1);
    }

    fn exit(&self, _: &Id) {
        self.0.lock().unwrap().entered.pop();
    }

    fn current_span(&self) -> Current {
        let kept = self.0.lock().unwrap();
        let place = kept.entered.last().copied();
        place.map_or_else(Current::none, |place| Current::new(Id::from_u64(place as u64 + 1), kept.metadata[place]))
    }

    /// What is recorded later, beside the fields that the lines within the span have seen.
    fn record(&self, span: &Id, later: &Record<'_>) {
        let mut fields = Text(Fields::new());
        later.record(&mut fields);
        let mut kept = self.0.lock().unwrap();
        kept.later.push((span.into_u64() as usize - 1, fields.0));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
}

struct Text(Fields);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

/// Returns the lines that a request leads to.
fn lines_of(work: impl Future) -> Vec<Line> {
    let lines = Lines::default();
    tracing::subscriber::with_default(lines.clone(), || drop(block_on(work)));
    std::mem::take(&mut lines.0.lock().unwrap().lines)
}

/// Returns the spans that a request leads to, with all their fields.
fn spans_of(work: impl Future) -> Vec<Fields> {
    let lines = Lines::default();
    tracing::subscriber::with_default(lines.clone(), || drop(block_on(work)));
    let Kept { mut spans, later, .. } = std::mem::take(&mut *lines.0.lock().unwrap());
    later.into_iter().for_each(|(place, fields)| spans[place].extend(fields));
    spans
}

fn fields<const N: usize>(pairs: [(&'static str, &str); N]) -> Fields {
    pairs.map(|(name, value)| (name, value.to_owned())).into()
}

fn server(stores: impl Into<Stores>) -> AuthorizationServer {
    let builder = AuthorizationServer::builder(Config::platform("https://auth.example"), stores);
    builder.events(TracingEvents).build().unwrap()
}

fn form(body: &[u8]) -> Request<'_> {
    Request::new("POST").header("Content-Type", b"application/x-www-form-urlencoded").body(Body::Bytes(body))
}

#[test]
fn a_failed_authentication_is_a_warning_on_one_line_and_shows_no_secret() {
    let server = server(MemoryStore::new());
    let body = b"grant_type=refresh_token&refresh_token=hidden&client_id=a%0Ab&client_secret=hidden";
    let lines = lines_of(server.serve(Endpoint::Token, &form(body)));
    let [line] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!((&*line.level, line.get("event")), ("WARN", Some("authentication_failed")));
    assert_eq!((line.get("endpoint"), line.get("client")), (Some("token"), Some("a\nb")));
    assert_eq!(line.get("reason"), Some("the client is unknown"));
    assert_eq!(line.span, Some(Fields::from([("request", "token".to_owned())])));
    let shown = format!("{line:?}");
    assert!(!shown.contains("hidden") && !shown.contains('\n'), "{shown}");
}

#[test]
fn requests_checks_and_calls_of_a_store_have_spans() {
    let server = server(MemoryStore::new());
    let body = b"grant_type=refresh_token&refresh_token=hidden&client_id=a&client_secret=hidden";
    let refused = spans_of(server.serve(Endpoint::Token, &form(body)));
    let find = fields([("table", "clients"), ("call", "find"), ("outcome", "answered")]);
    assert_eq!(refused, [fields([("request", "token"), ("status", "401")]), find]);
    let check = spans_of(server.resource().authenticate(&Request::new("GET")));
    assert_eq!(check, [fields([("request", "check"), ("status", "401")])]);
}

/// A client is named once it is found, and not what a request claims.
#[test]
fn a_span_has_the_client_of_its_request() {
    let world = block_on(World::platform());
    let builder = AuthorizationServer::builder(world.server.config().clone(), world.store.clone());
    let server = builder.clock(world.clock.clone()).events(TracingEvents).build().unwrap();
    let pair = block_on(world.pair());
    let header = format!("Bearer {}", pair.access);
    let request = Request::new("GET").header("Authorization", header.as_bytes());
    let spans = spans_of(server.resource().authenticate(&request));
    assert_eq!(spans[0], fields([("request", "check"), ("client", &world.client.id), ("status", "200")]), "{spans:?}");
    assert_eq!(spans[1], fields([("table", "grants"), ("call", "find"), ("outcome", "answered")]), "{spans:?}");
    let (id, secret) = (&world.client.id, &world.client.secret);
    let body = format!("grant_type=refresh_token&refresh_token=x&client_id={id}&client_secret={secret}");
    let spans = spans_of(server.serve(Endpoint::Token, &form(body.as_bytes())));
    assert_eq!(spans[0], fields([("request", "token"), ("client", id), ("status", "400")]), "{spans:?}");
}

#[test]
fn a_store_that_failed_is_a_warning_while_it_may_be_back_and_an_error_otherwise() {
    for (failure, level) in [(Failure::Transient, "WARN"), (Failure::Permanent, "ERROR")] {
        let store = AnyStore::over(MemoryStore::new());
        let away = Intercepted::new(store.clone(), every("clients.find", Fate::FailsBefore(failure)));
        let server = server(Stores::new(store).with_clients(away));
        let body = b"grant_type=refresh_token&refresh_token=hidden&client_id=a&client_secret=hidden";
        let lines = lines_of(server.serve(Endpoint::Token, &form(body)));
        let [line] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!((&*line.level, line.get("event")), (level, Some("refused")));
        let reason = line.get("reason").unwrap();
        assert!(reason.starts_with("the store failed") && reason.contains("db.internal"), "the cause: {reason}");
    }
}

/// CLK-01
///
/// The log shows that nothing is removed.
#[test]
fn a_purge_that_is_refused_is_an_error() {
    let clock = ManualClock::new(Timestamp::from_seconds(1_000_000_000));
    let server = AuthorizationServer::builder(Config::platform("https://auth.example"), MemoryStore::new())
        .clock(clock.clone())
        .events(TracingEvents)
        .build()
        .unwrap();
    let lines = lines_of(async {
        let _ = server.purge_expired(10).await.unwrap();
        clock.advance(Duration::from_secs(86_401));
        server.purge_expired(10).await.unwrap_err();
    });
    let [done, line] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!((&*done.level, done.get("event"), done.get("rows")), ("DEBUG", Some("purged"), Some("0")));
    assert_eq!((&*line.level, line.get("event")), ("ERROR", Some("purge_refused")));
    let reason = "the clock shows 2001-09-10T01:46:41Z, and the newest time seen before is 2001-09-09T01:46:40Z";
    assert_eq!(line.get("reason"), Some(reason));
}

/// One line shows the operator which redirect URI was refused, and for which client.
#[test]
fn a_refused_redirect_uri_is_named_with_its_client() {
    let registered = RegisteredRedirectUri::parse("https://app.example/cb", &RedirectUriPolicy::default()).unwrap();
    let scopes = ScopeCatalog::platform().parse(b"repo-code:r").unwrap();
    let client = Client::builder(ClientId::new("app").unwrap()).redirect_uri(registered).scopes(scopes).build();
    let server = server(Stores::new(MemoryStore::new()).with_clients(Directory::of([client])));
    let secret = "x".repeat(44);
    for (requested, shown, reason) in [
        (
            "https%3A%2F%2Fevil.example%2Fcb%3Fa%3Db",
            "https://evil.example/cb…",
            "the redirect URI was refused: the redirect URI does not match the registered one",
        ),
        (
            "myapp%3A%2Fcb",
            "myapp:/cb",
            "the redirect URI was refused: the redirect URI has no scheme that is accepted: write https://, or for an \
             app its domain name in reverse, with a dot and one slash, such as com.example.app:/cb",
        ),
        (
            "https%3A%2F%2Fapp.example%2F%0D%0Aline",
            r"https://app.example/\r\nline",
            "the redirect URI was refused: the redirect URI contains a character that is not allowed there",
        ),
        (
            &*format!("https%3A%2F%2Fu%40app.example%3A1%2F{secret}"),
            "…@app.example:1/…",
            "the redirect URI was refused: the redirect URI has a user name",
        ),
    ] {
        let query = format!("response_type=code&client_id=app&redirect_uri={requested}");
        let lines = lines_of(server.authorize(&Request::new("GET").query(query.as_bytes())));
        let [line] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!((&*line.level, line.get("event")), ("INFO", Some("refused")));
        assert_eq!((line.get("endpoint"), line.get("client")), (Some("authorization"), Some("app")));
        assert_eq!((line.get("redirect_uri"), line.get("reason")), (Some(shown), Some(reason)));
        assert_eq!(line.span, Some(Fields::from([("request", "authorization".to_owned())])));
    }
}

/// A third party cannot fill the log with long redirect URIs.
#[test]
fn a_long_redirect_uri_is_cut() {
    let registered = RegisteredRedirectUri::parse("https://app.example/cb", &RedirectUriPolicy::default()).unwrap();
    let client = Client::builder(ClientId::new("app").unwrap()).redirect_uri(registered).build();
    let server = server(Stores::new(MemoryStore::new()).with_clients(Directory::of([client])));
    let query = format!("response_type=code&client_id=app&redirect_uri=https%3A%2F%2F{}", "a/".repeat(10_000));
    let lines = lines_of(server.authorize(&Request::new("GET").query(query.as_bytes())));
    let shown = lines[0].get("redirect_uri").unwrap();
    assert!(shown.len() < 256 && shown.starts_with("https://a/a/") && shown.ends_with('…'), "{shown}");
}
