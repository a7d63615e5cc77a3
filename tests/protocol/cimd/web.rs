//! A scripted web of hosts with documents, which records the requests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use grantor::{FetchError, FetchErrorKind, FetchRequest, FetchResponse, Fetcher};
use serde_json::Value;
use tokio::sync::Semaphore;

/// Clones share everything.
#[derive(Clone, Debug, Default)]
pub(super) struct Web(Arc<Mutex<Hosts>>);

#[derive(Debug, Default)]
struct Hosts {
    answers: BTreeMap<String, Answer>,
    asked: Vec<String>,
    /// While this is set, no request is answered.
    shut: Option<Arc<Semaphore>>,
    reaches_loopback: bool,
}

#[derive(Clone, Debug)]
enum Answer {
    Response(FetchResponse),
    Error(FetchErrorKind),
}

impl Web {
    pub(super) fn with(url: &str, document: Value) -> Self {
        let web = Self::default();
        web.publish(url, document);
        web
    }

    pub(super) fn on_loopback() -> Self {
        let web = Self::default();
        web.0.lock().unwrap().reaches_loopback = true;
        web
    }

    /// Puts a document there, with status 200, the right type and no caching headers.
    pub(super) fn publish(&self, url: &str, document: Value) {
        self.answer(url, json(document.to_string()));
    }

    pub(super) fn answer(&self, url: &str, response: FetchResponse) {
        self.0.lock().unwrap().answers.insert(url.to_owned(), Answer::Response(response));
    }

    pub(super) fn fail(&self, url: &str, kind: FetchErrorKind) {
        self.0.lock().unwrap().answers.insert(url.to_owned(), Answer::Error(kind));
    }

    /// Answers nothing until [`open`](Self::open).
    pub(super) fn shut(&self) {
        self.0.lock().unwrap().shut = Some(Arc::new(Semaphore::new(0)));
    }

    pub(super) fn open(&self) {
        if let Some(shut) = self.0.lock().unwrap().shut.take() {
            shut.close();
        }
    }

    /// The URLs that were requested since the last call.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap().asked)
    }

    /// The number of requests since the last call.
    pub(super) fn count(&self) -> usize {
        self.take().len()
    }
}

/// A response with a document.
pub(super) fn json(body: impl Into<Vec<u8>>) -> FetchResponse {
    let mut response = FetchResponse::new(200, body);
    response.content_type = Some("application/json".to_owned());
    response
}

/// The response with something changed.
pub(super) fn altered(mut response: FetchResponse, change: impl FnOnce(&mut FetchResponse)) -> FetchResponse {
    change(&mut response);
    response
}

#[async_trait]
impl Fetcher for Web {
    async fn fetch(&self, request: &FetchRequest<'_>) -> Result<FetchResponse, FetchError> {
        assert_eq!((request.most_octets, request.timeout.as_secs()), (5120, 5));
        let (answer, shut) = {
            let mut hosts = self.0.lock().unwrap();
            hosts.asked.push(request.url.to_owned());
            (hosts.answers.get(request.url).cloned(), hosts.shut.clone())
        };
        if let Some(shut) = shut {
            assert!(shut.acquire().await.is_err());
        }
        match answer {
            Some(Answer::Response(response)) => Ok(response),
            Some(Answer::Error(kind)) => Err(FetchError::new(kind)),
            None => Err(FetchError::new(FetchErrorKind::Name)),
        }
    }

    fn reaches_loopback(&self) -> bool {
        self.0.lock().unwrap().reaches_loopback
    }
}
