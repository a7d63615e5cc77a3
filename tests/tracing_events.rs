//! `TracingEvents` writes one line per event, at a level that tells how much it matters.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use grantor::store::{ClientStore, StoreError, Stores};
use grantor::wire::{Body, Endpoint, Request};
use grantor::{AuthorizationServer, Client, ClientId, Config, MemoryStore, TracingEvents};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Keeps each line as `LEVEL target text`.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "grantor"
    }

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let mut line = Text(format!("{} {}", metadata.level(), metadata.target()));
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, _: &Field, value: &dyn Debug) {
        write!(self.0, " {value:?}").unwrap();
    }
}

#[test]
fn a_failed_authentication_is_a_warning_on_one_line_and_shows_no_secret() {
    let lines = Lines::default();
    let server = AuthorizationServer::builder(Config::platform("https://auth.example"), MemoryStore::new())
        .events(TracingEvents)
        .build()
        .unwrap();
    let form = b"grant_type=refresh_token&refresh_token=hidden&client_id=a%0Ab&client_secret=hidden";
    let request =
        Request::new("POST").header("Content-Type", b"application/x-www-form-urlencoded").body(Body::Octets(form));
    tracing::subscriber::with_default(lines.clone(), || {
        futures::executor::block_on(server.serve(Endpoint::Token, &request));
    });
    let lines = lines.0.lock().unwrap();
    let [line] = &lines[..] else { panic!("{lines:?}") };
    assert!(line.starts_with("WARN grantor AuthenticationFailed"), "{line}");
    assert!(!line.contains("hidden") && !line.contains('\n'), "{line}");
}

/// A directory that cannot be asked.
#[derive(Debug)]
struct Away(fn(&'static str) -> StoreError);

#[async_trait]
impl ClientStore for Away {
    async fn find(&self, _: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        Err(self.0("nobody answers"))
    }

    async fn current(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        self.find(id).await
    }
}

#[test]
fn a_store_that_failed_is_a_warning_while_it_may_be_back_and_an_error_otherwise() {
    for (failure, level) in [(Away(StoreError::transient), "WARN"), (Away(StoreError::permanent), "ERROR")] {
        let lines = Lines::default();
        let stores = Stores::new(failure, MemoryStore::new(), MemoryStore::new());
        let server = AuthorizationServer::builder(Config::platform("https://auth.example"), stores)
            .events(TracingEvents)
            .build()
            .unwrap();
        let form = b"grant_type=refresh_token&refresh_token=hidden&client_id=a&client_secret=hidden";
        let request =
            Request::new("POST").header("Content-Type", b"application/x-www-form-urlencoded").body(Body::Octets(form));
        tracing::subscriber::with_default(lines.clone(), || {
            futures::executor::block_on(server.serve(Endpoint::Token, &request));
        });
        let lines = lines.0.lock().unwrap();
        let [line] = &lines[..] else { panic!("{lines:?}") };
        assert!(line.starts_with(&format!("{level} grantor Refused")), "{line}");
        assert!(line.contains("nobody answers"), "the line tells the cause: {line}");
    }
}
