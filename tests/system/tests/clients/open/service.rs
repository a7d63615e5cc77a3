//! The example server behind the relay, and the user's browser.

use std::net::{SocketAddr, TcpListener};
use std::sync::Mutex;

use serde_json::Value;
use support_servers::http::{Answer, Page, Request};
use support_servers::started::{Started, cargo};
use url::Url;

use crate::open::document;
use crate::open::relay::{Exchange, Relay};

/// The paths of the issuer and of the resource.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// What follows the origin in the issuer.
    pub(crate) issuer: &'static str,
    /// What follows the origin in the URL that clients connect to.
    pub(crate) resource: &'static str,
}

impl Shape {
    pub(crate) const USUAL: Self = Self { issuer: "", resource: "/mcp" };
}

/// The server, and a record of what happened.
pub(crate) struct Service {
    pub(crate) relay: Relay,
    shape: Shape,
    options: Vec<String>,
    server: Mutex<Option<Started>>,
    /// The links that users followed to the authorization endpoint.
    links: Mutex<Vec<Url>>,
}

impl Service {
    pub(crate) async fn start(shape: Shape, options: &[&str]) -> Self {
        let relay = Relay::listen().await;
        let options = options.iter().map(ToString::to_string).collect();
        let service = Self { relay, shape, options, server: Mutex::default(), links: Mutex::default() };
        service.restart();
        service
    }

    /// Replaces the server by a new process, which knows no client and no token.
    pub(crate) fn restart(&self) {
        let mut server = self.server.lock().unwrap();
        drop(server.take());
        let address = free_address();
        let (listen, issuer, resource) = (address.to_string(), self.issuer(), self.resource());
        let roots = document::roots();
        let own = [
            "--listen",
            &listen,
            "--issuer",
            &issuer,
            "--resource",
            &resource,
            "--fetch-root",
            roots.to_str().unwrap(),
        ];
        let options: Vec<_> = own.into_iter().chain(self.options.iter().map(String::as_str)).collect();
        *server = Some(Started::start(cargo::mcp(), &options));
        self.relay.pass_on_to(address);
    }

    pub(crate) fn issuer(&self) -> String {
        format!("{}{}", self.relay.origin(), self.shape.issuer)
    }

    /// The URL that clients connect to.
    pub(crate) fn resource(&self) -> String {
        format!("{}{}", self.relay.origin(), self.shape.resource)
    }

    /// Follows a link as the user's browser: the consent page is shown, and the user allows everything. The example
    /// signs every browser in.
    pub(crate) async fn sign_in(&self, link: &Url) -> Url {
        self.links.lock().unwrap().push(link.clone());
        let page = Page::open(link, "").await;
        // The page names the host, and warns that it is the user's own device.
        assert!(page.html.contains("127.0.0.1"), "{}", page.html);
        page.decide(&[("decision", "allow")]).await
    }

    /// The links that were followed until now.
    pub(crate) fn links(&self) -> Vec<Url> {
        self.links.lock().unwrap().clone()
    }

    /// Registers a client before the test, and returns the server's response.
    pub(crate) async fn register(&self, metadata: &Value) -> Value {
        let request = Request::to("POST", format!("{}/oauth2/register", self.issuer()));
        let request = request.header("Content-Type", "application/json").body(metadata.to_string());
        let answer = self.relay.ask(&request).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()
    }

    /// Withdraws the grant of the newest tokens, with the credentials that the client last used.
    pub(crate) async fn withdraw(&self) {
        let exchanges = self.relay.exchanges();
        let last =
            exchanges.iter().rfind(|exchange| exchange.path().ends_with("/oauth2/token") && exchange.status == 200);
        let last = last.expect("tokens were issued");
        let token = last.json()["refresh_token"].as_str().expect("a refresh token").to_owned();
        let answer = self.revoke(last, &token).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }

    async fn revoke(&self, as_in: &Exchange, token: &str) -> Answer {
        let credentials = ["client_id", "client_secret"].map(|name| Some((name, as_in.field(name)?)));
        let credentials: Vec<_> = credentials.into_iter().flatten().collect();
        let mut fields: Vec<_> = credentials.iter().map(|(name, value)| (*name, value.as_str())).collect();
        fields.push(("token", token));
        let mut request = Request::to("POST", format!("{}/oauth2/revoke", self.issuer())).fields(&fields);
        if let Some(basic) = as_in.head.value("authorization") {
            request = request.header("Authorization", basic);
        }
        self.relay.ask(&request).await
    }
}

/// A free address on the loopback.
fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}
