//! The scenario for every client: first contact, calls, a further scope, two expiries, a lost response, the withdrawal.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use crate::open::client::{Client, Kind};
use crate::open::document;
use crate::open::process::Language;
use crate::open::recorded;
use crate::open::relay::Exchange;
use crate::open::service::{Service, Shape};
use crate::open::table;

/// How the server knows the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// It registers itself, and names this method [RFC 7591].
    Dynamic(Option<&'static str>),
    /// It was registered before, and authenticates by this method.
    Beforehand(&'static str),
    /// Its id is the URL of a document about it, with this type of application if any.
    Document(Option<&'static str>),
}

impl Way {
    fn in_words(self) -> String {
        match self {
            Self::Dynamic(None) => "dynamically".to_owned(),
            Self::Dynamic(Some(method)) => format!("dynamically, {method}"),
            Self::Beforehand(method) => format!("beforehand, {method}"),
            Self::Document(None) => "by a document".to_owned(),
            Self::Document(Some(kind)) => format!("by a document, {kind}"),
        }
    }
}

/// What a client does if it lacks a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StepUp {
    /// It asks for the scope.
    Alone,
    /// It asked for all scopes of the server at first.
    Needless,
    /// It leaves that to its host.
    Never,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) kind: Kind,
    pub(crate) revision: &'static str,
    pub(crate) way: Way,
    pub(crate) shape: Shape,
}

impl Case {
    pub(crate) const fn new(kind: Kind, revision: &'static str, way: Way) -> Self {
        Self { kind, revision, way, shape: Shape::USUAL }
    }

    pub(crate) const fn at(self, shape: Shape) -> Self {
        Self { shape, ..self }
    }

    /// `rmcp` asks for all scopes of the server where it finds no resource metadata.
    fn step_up(self) -> StepUp {
        match self.kind {
            Kind::Process(Language::TypeScript1 | Language::TypeScript130) => StepUp::Never,
            Kind::Rust if self.revision < "2025-06-18" => StepUp::Needless,
            Kind::Process(_) | Kind::Rust => StepUp::Alone,
        }
    }

    /// Starts a server, and a client with its stored state.
    pub(crate) async fn start(self) -> (Service, Client) {
        let lifetime = LIFETIME.as_secs().to_string();
        let service = Service::start(self.shape, &["--access-token-lifetime", &lifetime]).await;
        let is_legacy = self.revision < "2026-07-28";
        service.relay.order(|orders| {
            orders.revision = is_legacy.then_some(self.revision);
            orders.hides_resource_metadata = self.revision < "2025-06-18";
        });
        let mut job = json!({
            "name": "Judge",
            "server": service.resource(),
            "redirect_uri": REDIRECT_URI,
            "modern": !is_legacy,
        });
        match self.way {
            Way::Dynamic(method) => job["method"] = json!(method),
            Way::Beforehand(method) => job["client"] = registered(&service, method).await,
            Way::Document(kind) => job["document"] = json!(published(kind).await),
        }
        let client = Client::start(self.kind, job);
        (service, client)
    }

    /// Runs the scenario, and records the results.
    pub(crate) async fn run(self) {
        let (service, mut client) = self.start().await;
        let mut course = Course { case: self, service: &service, client: &mut client, seen: Vec::new() };
        course.first_contact().await;
        course.step_up().await;
        course.refresh().await;
        course.lose_an_answer().await;
        course.withdraw().await;
        let exchanges = service.relay.exchanges();
        assert_nothing_failed(&exchanges);
        recorded::assert_as_known(self, &exchanges);
        let seen = course.seen.join("; ");
        table::add(self.kind.name(), self.revision, &self.way.in_words(), &seen);
    }
}

struct Course<'a> {
    case: Case,
    service: &'a Service,
    client: &'a mut Client,
    seen: Vec<String>,
}

impl Course<'_> {
    async fn first_contact(&mut self) {
        let answer = self.client.ask(self.service, "connect").await;
        assert_ok(self.case, "connect", &answer);
        assert_eq!(answer["tools"], json!([READ, WRITE]), "{:?}", self.case);
        assert_eq!(answer["revision"], self.case.revision, "{:?}", self.case);
        assert_eq!(self.service.links().len(), 1, "{:?} signs in once", self.case);
        let registrations = self.service.relay.exchanges();
        let registrations = registrations.iter().filter(|exchange| exchange.path() == "/oauth2/register").count();
        assert_eq!(registrations, usize::from(matches!(self.case.way, Way::Dynamic(_))), "{:?}", self.case);
        let link = self.service.links().remove(0);
        let is_document = link.query_pairs().any(|(name, value)| name == "client_id" && value.starts_with("https://"));
        assert_eq!(is_document, matches!(self.case.way, Way::Document(_)), "{:?}: {link}", self.case);
        assert_ok(self.case, READ, &self.call(READ).await);
        self.seen.push("connected".to_owned());
    }

    /// The second tool needs a scope that the first sign-in did not ask for.
    async fn step_up(&mut self) {
        let before = self.service.links().len();
        let answer = self.call(WRITE).await;
        let asked = self.service.links().len() - before;
        let expected = self.case.step_up();
        let (is_called, consents, words) = match expected {
            StepUp::Alone => (true, 1, "stepped up with one consent"),
            StepUp::Needless => (true, 0, "asked for all scopes at first"),
            StepUp::Never => (false, 0, "no step-up by itself"),
        };
        assert_eq!((answer["ok"] == is_called, asked), (true, consents), "{:?}: {answer}", self.case);
        self.seen.push(words.to_owned());
        if expected == StepUp::Never {
            // It only refreshes, which never adds a scope.
            let refreshes = self.refreshes();
            assert!(!refreshes.is_empty(), "{:?} refreshes", self.case);
            assert!(refreshes.iter().all(|refresh| refresh.json()["scope"] == "notes:r"), "{refreshes:#?}");
        }
        assert_ok(self.case, READ, &self.call(READ).await);
    }

    async fn refresh(&mut self) {
        let (links, refreshes) = (self.service.links().len(), self.refreshes().len());
        expire().await;
        assert_ok(self.case, READ, &self.call(READ).await);
        let new: Vec<_> = self.refreshes().split_off(refreshes);
        assert!(new.iter().any(|exchange| exchange.status == 200), "{:?}: {new:#?}", self.case);
        assert_eq!(self.service.links().len(), links, "{:?} refreshes without its user", self.case);
        self.seen.push("refreshed".to_owned());
    }

    /// The response to a refresh never arrives, and the same refresh token is used once more. Some SDKs would ask the
    /// user immediately, so the host delays that.
    async fn lose_an_answer(&mut self) {
        let (links, refreshes) = (self.service.links().len(), self.refreshes().len());
        expire().await;
        self.service.relay.order(|orders| orders.lose_next_refresh = true);
        let first = self.client.ask(self.service, &format!("try {READ}")).await;
        let again = if first["ok"] == true { first } else { self.call(READ).await };
        assert_ok(self.case, "the call after a lost answer", &again);
        let new: Vec<_> = self.refreshes().split_off(refreshes);
        let tokens: Vec<_> = new.iter().map(|exchange| exchange.field("refresh_token")).collect();
        assert!(new.len() >= 2 && tokens[0] == tokens[1], "{:?}: {new:#?}", self.case);
        assert!(new.iter().all(|exchange| exchange.status == 200), "{:?}: {new:#?}", self.case);
        assert_eq!(self.service.links().len(), links, "{:?} needs no user after a lost answer", self.case);
        self.seen.push("survived a lost answer".to_owned());
    }

    /// The user withdraws the grant: the client gets an error and asks the user again.
    async fn withdraw(&mut self) {
        let links = self.service.links().len();
        let before = self.service.relay.exchanges().len();
        self.service.withdraw().await;
        let first = self.call(READ).await;
        let again = if first["ok"] == true { first } else { self.call(READ).await };
        assert_ok(self.case, "the call after the withdrawal", &again);
        assert!(self.service.links().len() > links, "{:?} signs in anew", self.case);
        let after = self.service.relay.exchanges().split_off(before);
        let refused = after.iter().find(|exchange| exchange.status == 401).expect("the resource refuses the token");
        let challenge = refused.answer_head.value("www-authenticate").expect("a challenge");
        assert!(challenge.contains("error=\"invalid_token\""), "{challenge}");
        for refresh in after.iter().filter(|exchange| exchange.is_grant("refresh_token")) {
            assert_eq!((refresh.status, &refresh.json()["error"]), (400, &json!("invalid_grant")), "{refresh:#?}");
        }
        self.seen.push("signed in anew after the withdrawal".to_owned());
    }

    async fn call(&mut self, tool: &str) -> Value {
        self.client.ask(self.service, &format!("call {tool}")).await
    }

    fn refreshes(&self) -> Vec<Exchange> {
        self.service.relay.grants("refresh_token")
    }
}

/// Waits until all access tokens have expired.
pub(crate) async fn expire() {
    sleep(LIFETIME + Duration::from_millis(500)).await;
}

pub(crate) fn assert_ok(case: Case, what: &str, answer: &Value) {
    assert!(answer["ok"] == true, "{case:?}: {what}: {answer}");
}

/// A 5xx ends the discovery of several clients.
fn assert_nothing_failed(exchanges: &[Exchange]) {
    let failed: Vec<_> = exchanges.iter().filter(|exchange| exchange.status >= 500).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

/// The URL of a document like those of command-line assistants: with a loopback redirect URI without a port.
async fn published(application_type: Option<&str>) -> String {
    let mut members = json!({
        "client_name": "Judge with a document",
        "redirect_uris": ["http://127.0.0.1/callback", "http://localhost/callback"],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    });
    if let Some(application_type) = application_type {
        members["application_type"] = json!(application_type);
    }
    document::serve(members).await
}

/// A preregistered client with that method, in the form in which the SDKs store a registration.
async fn registered(service: &Service, method: &str) -> Value {
    let metadata = json!({
        "client_name": "Judge, known before",
        "redirect_uris": [REDIRECT_URI],
        "grant_types": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_method": method,
    });
    let mut client = service.register(&metadata).await;
    // TypeScript 2 and Python 2 also store the issuer of a client.
    client["issuer"] = json!(service.issuer());
    client
}

/// How long access tokens live.
const LIFETIME: Duration = Duration::from_secs(4);
pub(crate) const READ: &str = "list_notes";
pub(crate) const WRITE: &str = "publish_note";
pub(crate) const REDIRECT_URI: &str = "http://127.0.0.1:43219/callback";
