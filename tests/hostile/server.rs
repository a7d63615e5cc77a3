//! The running examples, shared by the tests that run at the same time.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use url::Url;

use crate::answer::Answer;
use crate::exchange::{Then, exchange};
use crate::request::{Request, encode};
use crate::started::Example;

/// Where the servers' application is, unless a test says otherwise.
pub(crate) const HOME: &str = "https://app.example.com/callback";

/// A cookie that the servers made or would make.
pub(crate) const COOKIE: &str = "session=5e5510c0ffee5e5510c0ffee5e5510c0";

/// One example, with what a client of it knows.
pub(crate) struct Server {
    pub(crate) name: &'static str,
    pub(crate) address: SocketAddr,
    pub(crate) base: Url,
    pub(crate) id: String,
    pub(crate) secret: String,
    pub(crate) redirect_uri: String,
    example: Example,
}

impl Server {
    /// Both examples; they end when the last test that asked is through.
    pub(crate) fn both() -> Arc<[Self; 2]> {
        static RUNNING: Mutex<Weak<[Server; 2]>> = Mutex::new(Weak::new());
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        running.upgrade().unwrap_or_else(|| {
            let both = Arc::new(Self::pair(HOME));
            *running = Arc::downgrade(&both);
            both
        })
    }

    /// Both examples with an application somewhere else.
    pub(crate) fn pair(redirect_uri: &str) -> [Self; 2] {
        ["axum", "actix"].map(|name| {
            let example = Example::start_with(name, &["--redirect-uri", redirect_uri]);
            let base = Url::parse(example.about("issuer")).unwrap();
            Self {
                name,
                address: base.socket_addrs(|| None).unwrap()[0],
                base,
                id: example.about("client_id").to_owned(),
                secret: example.about("client_secret").to_owned(),
                redirect_uri: redirect_uri.to_owned(),
                example,
            }
        })
    }

    /// The query of a good authorization request.
    pub(crate) fn query(&self) -> String {
        encode(&[("response_type", "code"), ("client_id", &self.id)])
    }

    pub(crate) async fn send(&self, request: Request) -> Answer {
        let octets = exchange(self.address, &request.octets(), Then::Wait).await;
        let octets = octets.unwrap_or_else(|_| panic!("{}: no answer", self.name));
        let answers = Answer::read_all(&octets).unwrap_or_else(|fault| panic!("{}: {fault}", self.name));
        answers.into_iter().next().unwrap_or_else(|| panic!("{}: closed", self.name))
    }

    /// The handle of a new consent page.
    pub(crate) async fn handle(&self) -> String {
        let page = self.send(Request::get("/oauth2/auth", self.query()).line("Cookie", COOKIE)).await.text();
        let (_, rest) = page.split_once("name=\"handle\" value=\"").unwrap_or_else(|| panic!("{}: {page}", self.name));
        rest.split('"').next().unwrap().to_owned()
    }

    /// Consent, exchange, use, refresh and revocation; and no task of the server has panicked until now.
    pub(crate) async fn still_works(&self) {
        let log = self.example.log();
        assert!(!log.contains("panicked"), "{}: {log}", self.name);
        let handle = self.handle().await;
        let allow = encode(&[("handle", &handle), ("decision", "allow"), ("scope", "account-profile:r")]);
        let answer = self.send(Request::form("/consent", allow).line("Cookie", COOKIE)).await;
        let callback = Url::parse(answer.header("location").unwrap()).unwrap();
        let code = callback.query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned();
        let first = self.token(&[("grant_type", "authorization_code"), ("code", &code)]).await;
        assert_eq!(self.me(&first[0]).await, 200);
        let second = self.token(&[("grant_type", "refresh_token"), ("refresh_token", &first[1])]).await;
        let revocation = Request::form("/oauth2/revoke", encode(&[("token", &second[1])]));
        assert_eq!(self.send(revocation.basic(&self.id, &self.secret)).await.status, 200);
        assert_eq!(self.me(&second[0]).await, 401);
    }

    async fn me(&self, token: &str) -> u16 {
        self.send(Request::new("GET", "/api/me").line("Authorization", format!("Bearer {token}"))).await.status
    }

    /// Access token and refresh token of the answer.
    async fn token(&self, form: &[(&str, &str)]) -> [String; 2] {
        let request = Request::form("/oauth2/token", encode(form)).basic(&self.id, &self.secret);
        let answer: serde_json::Value = serde_json::from_slice(&self.send(request).await.body).unwrap();
        ["access_token", "refresh_token"].map(|name| answer[name].as_str().unwrap().to_owned())
    }
}
