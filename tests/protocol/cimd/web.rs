//! A scripted web of hosts with documents, which records the requests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use grantor::fetch::{FetchError, FetchErrorKind, FetchPurpose, FetchRequest, FetchResponse, Fetcher};
use serde_json::Value;
use tokio::sync::Semaphore;

/// Clones share everything.
#[derive(Clone, Debug, Default)]
pub(crate) struct Web(Arc<Mutex<Hosts>>);

#[derive(Debug, Default)]
struct Hosts {
    answers: BTreeMap<String, Answer>,
    asked: Vec<String>,
    purposes: Vec<FetchPurpose>,
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
    pub(crate) fn with(url: &str, document: Value) -> Self {
        let web = Self::default();
        web.publish(url, document);
        web
    }

    pub(crate) fn on_loopback() -> Self {
        let web = Self::default();
        web.0.lock().unwrap().reaches_loopback = true;
        web
    }

    /// Publishes a document at that URL, with status 200, the right type and no caching headers.
    pub(crate) fn publish(&self, url: &str, document: Value) {
        self.answer(url, json(document.to_string()));
    }

    pub(crate) fn answer(&self, url: &str, response: FetchResponse) {
        self.0.lock().unwrap().answers.insert(url.to_owned(), Answer::Response(response));
    }

    pub(crate) fn fail(&self, url: &str, kind: FetchErrorKind) {
        self.0.lock().unwrap().answers.insert(url.to_owned(), Answer::Error(kind));
    }

    /// Answers no request until [`open`](Self::open) is called.
    pub(crate) fn shut(&self) {
        self.0.lock().unwrap().shut = Some(Arc::new(Semaphore::new(0)));
    }

    pub(crate) fn open(&self) {
        if let Some(shut) = self.0.lock().unwrap().shut.take() {
            shut.close();
        }
    }

    /// The URLs that were requested since the last call.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap().asked)
    }

    /// What the requests since the last call were for.
    pub(crate) fn purposes(&self) -> Vec<FetchPurpose> {
        std::mem::take(&mut self.0.lock().unwrap().purposes)
    }

    /// The number of requests since the last call.
    pub(crate) fn count(&self) -> usize {
        self.take().len()
    }
}

/// A response with a document.
pub(crate) fn json(body: impl Into<Vec<u8>>) -> FetchResponse {
    let mut response = FetchResponse::new(200, body);
    response.content_type = Some("application/json".to_owned());
    response
}

/// The response with something changed.
pub(crate) fn altered(mut response: FetchResponse, change: impl FnOnce(&mut FetchResponse)) -> FetchResponse {
    change(&mut response);
    response
}

#[async_trait]
impl Fetcher for Web {
    async fn fetch(&self, request: &FetchRequest<'_>) -> Result<FetchResponse, FetchError> {
        let bounds = (request.max_bytes, request.timeout.as_secs());
        let expected = if request.purpose == FetchPurpose::MetadataDocument { (5120, 5) } else { (65_536, 5) };
        assert_eq!(bounds, expected);
        let (answer, shut) = {
            let mut hosts = self.0.lock().unwrap();
            hosts.asked.push(request.url.to_owned());
            hosts.purposes.push(request.purpose);
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
