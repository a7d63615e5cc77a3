//! The running platform, and what holds for its every answer.

use std::net::SocketAddr;

use futures::StreamExt as _;
use futures::stream;
use url::Url;

use crate::hostile::families::platform::RAW;
use crate::hostile::values::MARK;
use crate::hostile::values::encode;
use support_servers::http::Answer;
use support_servers::http::Request;
use support_servers::started::{Started, cargo};

pub(super) const DEVON: (&str, &str) = ("devon", "devon-likes-rust");
pub(super) const ADMIN: (&str, &str) = ("admin", "ada-likes-order");
pub(super) const ALICE: (&str, &str) = ("alice", "alice-likes-tea");

pub(super) struct Site {
    pub(super) example: Started,
    address: SocketAddr,
    base: Url,
}

impl Site {
    pub(super) fn start(test: &str) -> Self {
        let example = Started::platform(cargo::platform(), test, &[]);
        let base = Url::parse(example.about("issuer")).unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], base.port().unwrap()));
        Self { example, address, base }
    }

    /// Sends a request and judges the answer.
    pub(super) async fn send(&self, request: Request) -> Answer {
        self.send_to(self.address, request).await
    }

    /// The same to another port of the platform's process.
    pub(super) async fn send_to(&self, address: SocketAddr, request: Request) -> Answer {
        let answer = request.send_to(address).await;
        if let Err(fault) = self.judge(&answer) {
            panic!("{fault}: {} {:?}\n{}", answer.status, answer.headers, request.shown());
        }
        answer
    }

    /// Signs in and returns the cookies.
    pub(super) async fn sign_in(&self, (username, password): (&str, &str)) -> String {
        let form = encode(&[("username", username), ("password", password)]);
        let answer = self.send(Request::form("/sign-in", form)).await;
        assert_eq!(answer.status, 303);
        answer.cookies()
    }

    pub(super) async fn get(&self, path: &str, cookies: &str) -> Answer {
        self.send(Request::new("GET", path).header("Cookie", cookies)).await
    }

    pub(super) async fn post(&self, path: &str, form: &[(&str, &str)], cookies: &str) -> Answer {
        self.send(Request::form(path, encode(form)).header("Cookie", cookies)).await
    }

    /// Sends all, some at a time, and returns their statuses.
    pub(super) async fn send_all(&self, requests: Vec<Request>) -> Vec<u16> {
        let answers = stream::iter(requests).map(async |request| self.send(request).await.status);
        answers.buffer_unordered(8).collect().await
    }

    fn judge(&self, answer: &Answer) -> Result<(), String> {
        // The platform's own script is a file; any other script was injected.
        let body = answer.text().replacen("<script src=\"/copy.js\" defer></script>", "", 1);
        // The third party reports an answer of the platform as 502, a bad gateway.
        if answer.status >= 500 && answer.status != 502 {
            return Err("the platform blames itself".into());
        }
        if let Some(raw) = RAW.iter().find(|raw| body.contains(**raw)) {
            let (before, after) = body.split_once(raw).unwrap();
            let (before, after) = (before.lines().last().unwrap_or_default(), after.lines().next().unwrap_or_default());
            return Err(format!("{raw} stands in the page: {before}{raw}{after}"));
        }
        for (name, value) in &answer.headers {
            let is_good = match name.as_str() {
                "location" => self.base.join(value).is_ok_and(|there| there.origin() == self.base.origin()),
                name => !name.contains(MARK) && !value.contains(MARK),
            };
            if !is_good {
                return Err(format!("the header {name}"));
            }
        }
        Ok(())
    }
}
