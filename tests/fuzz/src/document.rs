//! A metadata document either makes a client, all of whose redirect URIs are accepted, or shows the error page; nothing
//! else is fetched.
//!
//! An input has the URL in its first line, the media type in its second, and then the document. In the document,
//! `{url}` is replaced by the URL.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use grantor::client_metadata::{DocumentError, RegistrationBounds};
use grantor::config::Profile;
use grantor::fetch::{FetchError, FetchRequest, FetchResponse, Fetcher};
use grantor::hooks::ApproveWithin;
use grantor::scope::ResourceScope;
use grantor::testing::ManualClock;
use grantor::wire::Request;
use grantor::{
    AuthorizationError, AuthorizationServer, Client, MemoryStore, PendingAuthorization, Reason, Subject, Timestamp,
};
use url::Url;

use super::answer;
use super::redirect_uri::leads_nowhere;
use super::stage::at_once;
use support::world::{PKCE, SCOPES, SESSION, START, config_of, encode};

pub(super) fn check(input: &[u8]) -> String {
    let text = String::from_utf8_lossy(input);
    let mut lines = text.splitn(3, '\n');
    let mut next = || lines.next().unwrap_or_default();
    let (url, media_type) = (next(), next());
    let web = Web { answer: response(media_type, next().replace("{url}", url)), asked: Arc::default() };
    let server = server(&web);
    match ask(&server, url, None) {
        Ok(pending) => is_sound(&server, &web, url, &pending),
        Err(error) => refused(&web, url, error),
    }
}

fn is_sound(server: &AuthorizationServer, web: &Web, url: &str, pending: &PendingAuthorization) -> String {
    assert_eq!(web.asked(), [url]);
    assert_eq!(pending.client().id().as_str(), url);
    reads_the_same(url, pending.client_id_host().unwrap());
    let alice = Subject::new("alice").unwrap();
    at_once(server.hold(pending, &alice, SESSION)).unwrap();
    let stored = at_once(server.client(pending.client().id())).unwrap().unwrap();
    assert_eq!(unversioned(&stored), unversioned(pending.client()), "what is stored is what the user saw");
    for uri in &stored.form().redirect_uris {
        let again = ask(server, url, Some(uri.as_str())).unwrap();
        assert_eq!(again.redirect_uri().unwrap().as_str(), uri.as_str());
        assert_eq!(again.client(), &*stored);
    }
    assert!(web.asked().is_empty(), "it is cached");
    "client".to_owned()
}

/// The bytes of a client without its version, which each write draws: four bytes behind the id.
fn unversioned(client: &Client) -> Vec<u8> {
    let mut bytes = client.encode();
    let version = 6 + client.id().as_str().len();
    bytes.drain(version..version + 4);
    bytes
}

fn refused(web: &Web, url: &str, error: AuthorizationError) -> String {
    let asked = web.asked();
    let outcome = match error.reason() {
        Reason::MetadataDocument(cause) => match **cause {
            DocumentError::Url(_) => "url",
            _ => "document",
        },
        Reason::MissingRedirectUri => "several",
        Reason::MissingParameter(_) => "nothing",
        Reason::UnknownClient => "unknown",
        other => panic!("{other:?}"),
    };
    let is_fetched = matches!(outcome, "document" | "several");
    assert_eq!(asked.len(), usize::from(is_fetched), "{outcome} {asked:?}");
    if is_fetched {
        assert_eq!(asked, [url]);
    }
    let response = error.response(Some(&Subject::new("alice").unwrap()));
    answer::check(&response, &[400]);
    answer::page(&response);
    outcome.to_owned()
}

/// A URL library reads the same host and path.
fn reads_the_same(url: &str, host: &str) {
    if leads_nowhere(url) {
        return;
    }
    let read = Url::parse(url).unwrap();
    assert_eq!(read.scheme(), "https");
    assert!(read.username().is_empty() && read.password().is_none() && read.fragment().is_none(), "{url}");
    assert!(read.host_str().unwrap().eq_ignore_ascii_case(host), "{url}");
    let after_host = &url["https://".len()..];
    let path = &after_host[after_host.find('/').unwrap()..];
    let path = path.split('?').next().unwrap();
    assert_eq!(read.path(), path.replace('^', "%5E"), "{url}");
}

fn ask(
    server: &AuthorizationServer,
    url: &str,
    redirect_uri: Option<&str>,
) -> Result<PendingAuthorization, AuthorizationError> {
    let alice = Subject::new("alice").unwrap();
    let mut parameters = vec![("response_type", "code"), ("client_id", url)];
    parameters.extend(PKCE);
    parameters.extend(redirect_uri.map(|uri| ("redirect_uri", uri)));
    let query = encode(&parameters);
    at_once(server.authorize(&Request::new("GET").query(query.as_bytes()).subject(&alice)))
}

fn server(web: &Web) -> AuthorizationServer {
    let mut config = config_of(Profile::Mcp);
    config.registration.metadata_documents = true;
    let bounds = RegistrationBounds::new(config.scopes.parse(SCOPES.as_bytes()).unwrap(), ResourceScope::All);
    let clock = ManualClock::new(Timestamp::from_seconds(START));
    let builder = AuthorizationServer::builder(config, MemoryStore::new()).clock(clock);
    builder.registration_policy(ApproveWithin::new(bounds)).fetcher(web.clone()).build().unwrap()
}

fn response(media_type: &str, document: String) -> FetchResponse {
    let mut response = FetchResponse::new(200, document);
    response.content_type = Some(media_type.to_owned());
    response
}

/// A fetcher with the same response for every URL.
#[derive(Clone, Debug)]
struct Web {
    answer: FetchResponse,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Web {
    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

#[async_trait]
impl Fetcher for Web {
    async fn fetch(&self, request: &FetchRequest<'_>) -> Result<FetchResponse, FetchError> {
        self.asked.lock().unwrap().push(request.url.to_owned());
        Ok(self.answer.clone())
    }
}
