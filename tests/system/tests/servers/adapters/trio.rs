//! Three servers with the same randomness and the same clock: one called directly, one behind each
//! example.

use std::net::SocketAddr;

use support::world::{Credentials, World};
use support_servers::http::{Answer, Request, value_after};
use system::Thin;

use crate::adapters::direct;

pub(crate) struct Trio {
    direct: World,
    served: [Served; 2],
}

/// An example on its own port.
struct Served {
    name: &'static str,
    world: World,
    address: SocketAddr,
}

/// The cookies that every browser of these tests has. The name has a part of the digest of the issuer.
pub(crate) const COOKIE: &str = "theme=dark; __Host-grantor-644d89f1=5e5510c0ffee5e5510c0ffee5e5510c0";
/// The path of the consent form.
pub(crate) const CONSENT: &str = "/oauth2/auth/consent";

impl Trio {
    pub(crate) async fn start() -> Self {
        Self::of(World::platform).await
    }

    /// Three times the same world.
    pub(crate) async fn of(make: impl AsyncFn() -> World) -> Self {
        let direct = make().await;
        let (axum, actix) = (make().await, make().await);
        for world in [&direct, &axum, &actix] {
            assert_eq!(world.client.secret, direct.client.secret, "all draw the same secrets");
            world.events.take();
        }
        let served = [
            Served { name: "axum", address: Thin::Axum.start_with(&axum.server), world: axum },
            Served { name: "actix", address: Thin::Actix.start_with(&actix.server), world: actix },
        ];
        Self { direct, served }
    }

    pub(crate) fn client(&self) -> &Credentials {
        &self.direct.client
    }

    /// The query of a request of the client with more parameters.
    pub(crate) fn query(&self, more: &[(&str, &str)]) -> String {
        self.direct.query(more)
    }

    pub(crate) fn advance(&self, seconds: u64) {
        for world in [&self.direct, &self.served[0].world, &self.served[1].world] {
            world.advance(seconds);
        }
    }

    pub(crate) fn body_limit(&self) -> usize {
        self.direct.server.body_limit()
    }

    /// All three answer with that status, and the same; the events too are the same.
    pub(crate) async fn answers(&self, status: u16, request: &Request) -> Answer {
        let expected = direct::answer(&self.direct.server, request).await;
        let shown = request.shown();
        let events = self.direct.events.take();
        assert_eq!(expected.status, status, "{} to {shown}", String::from_utf8_lossy(&expected.body));
        for Served { name, world, address } in &self.served {
            let seen = plain(request.send_to(*address).await);
            assert_eq!(seen, expected, "{name}: {shown}");
            assert_eq!(world.events.take(), events, "{name}: {shown}");
        }
        expected
    }

    /// Both examples refuse a request for another host, and no other: with the address of the service, and with no
    /// event but the one that names the host.
    pub(crate) async fn refuses_the_host(&self, is_refused: bool, request: &Request) {
        for Served { name, world, address } in &self.served {
            let seen = request.send_to(*address).await;
            let shown = request.shown();
            assert_eq!(seen.status == 421, is_refused, "{name}: {} to {shown}", seen.status);
            let events = world.events.take();
            if is_refused {
                assert!(seen.text().contains(world.server.issuer()), "{name}: {seen:?}");
                assert_eq!(seen.header("set-cookie"), None, "{name}: {shown}");
                assert!(events.iter().all(|event| event.starts_with("OtherHost")), "{name}: {shown}: {events:?}");
            }
        }
    }

    /// Sends all requests of a table, and checks the status of each answer.
    pub(crate) async fn answer_all(&self, table: &[(u16, Request)]) {
        for (status, request) in table {
            self.answers(*status, request).await;
        }
    }

    /// Opens the consent page and returns the handle in it.
    pub(crate) async fn handle(&self, query: &str) -> String {
        let page = self.answers(200, &Request::get("/oauth2/auth").query(query).header("Cookie", COOKIE)).await;
        value_after(&page.text(), "name=\"handle\"").to_owned()
    }

    /// Lets the user agree to these scopes and returns the code.
    pub(crate) async fn code(&self, query: &str, scopes: &[&str]) -> String {
        let handle = self.handle(query).await;
        let mut form = vec![("handle", handle.as_str()), ("decision", "allow")];
        form.extend(scopes.iter().map(|scope| ("scope", *scope)));
        let answer = self.answers(302, &Request::post(CONSENT, &form).header("Cookie", COOKIE)).await;
        let location = answer.header("location").unwrap();
        location.split(['?', '&']).find_map(|pair| pair.strip_prefix("code=")).unwrap().to_owned()
    }

    /// Lets the user agree to these scopes and returns the token response.
    pub(crate) async fn tokens(&self, scopes: &[&str]) -> serde_json::Value {
        self.tokens_of(&self.query(&[("scope", &scopes.join(" "))]), scopes).await
    }

    /// The same for a request with that query.
    pub(crate) async fn tokens_of(&self, query: &str, scopes: &[&str]) -> serde_json::Value {
        let client = self.client();
        let code = self.code(query, scopes).await;
        let form = [("grant_type", "authorization_code"), ("code", &code)];
        let answer = self.answers(200, &Request::post("/oauth2/token", &form).basic(&client.id, &client.secret)).await;
        answer.json()
    }
}

/// The header lines that the server itself makes: without what differs by transport, and sorted.
fn plain(mut answer: Answer) -> Answer {
    answer.headers.retain(|(name, _)| name != "date" && name != "connection");
    answer.headers.sort();
    answer
}
