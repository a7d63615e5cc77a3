//! Third-party clients on devices without a browser [RFC 8628], against the thin servers: the `oauth2` crate here;
//! `openid-client`, Authlib, and `golang.org/x/oauth2` and `cli/oauth` for Go in their own processes.
//!
//! The latter need `.ci/judges`; run by `cargo test --workspace --all-features --test clients -- --include-ignored
//! devices`. The results are written to `target/judges/devices.md`.

mod oauth2_crate;
mod process;
mod processes;
mod table;

use demo::{Application, DeviceClients};
use serde_json::{Value, json};
use support_servers::http::{Page, Request};
use system::Thin;
use url::Url;

/// A running server with both clients for devices.
struct Service {
    thin: Thin,
    application: Application,
    metadata: Value,
}

/// Which of the clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Public,
    Confidential,
}

impl Service {
    async fn start(thin: Thin, options: &[&str]) -> Self {
        let application = thin.start(&[&["--devices"], options].concat());
        let metadata = format!("{}/.well-known/oauth-authorization-server", application.issuer);
        Self { thin, application, metadata: Request::to("GET", metadata).send().await.json() }
    }

    /// The endpoint of that name in the metadata.
    fn endpoint(&self, name: &str) -> String {
        self.metadata[name].as_str().unwrap_or_else(|| panic!("no {name} in {}", self.metadata)).to_owned()
    }

    /// The id of that client, and its secret if it has one.
    fn credentials(&self, kind: Kind) -> (&str, Option<&str>) {
        let DeviceClients { client_id, confidential_client_id, confidential_client_secret, .. } =
            self.application.devices.as_ref().expect("they are registered");
        match kind {
            Kind::Public => (client_id, None),
            Kind::Confidential => (confidential_client_id, Some(confidential_client_secret)),
        }
    }

    /// What the user of a device does in a browser: opens the address, types the code, presses a button.
    async fn decide(&self, verification_uri: &str, user_code: &str, button: &str) {
        assert_eq!(verification_uri, format!("{}/device", self.application.issuer));
        let page = Page::open(&Url::parse(verification_uri).unwrap(), "").await;
        let answer = page.submit(&[("user_code", user_code)]).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let consent = Page { html: answer.text(), cookies: answer.cookies_after(&page.cookies), url: page.url };
        assert!(consent.html.contains("id=\"consent\"") && consent.html.contains(user_code), "{}", consent.html);
        let answer = consent.submit(&[("decision", button)]).await;
        assert_eq!(answer.status, 303, "{answer:?}");
        let after = Page::open(&answer.location(&consent.url), &answer.cookies_after(&consent.cookies)).await;
        assert!(after.html.contains("id=\"outcome\""), "{}", after.html);
    }
}

const SCOPE: &str = "account-profile:r";

/// The line that `--json` prints.
#[tokio::test]
async fn the_thin_servers_have_clients_for_devices_only_if_told() {
    let own = ["device_client_id", "confidential_device_client_id", "confidential_device_client_secret"];
    let others = ["issuer", "client_id", "client_secret", "redirect_uri", "resource_url"];
    for thin in Thin::BOTH {
        for (options, is_told) in [(&["--devices"][..], true), (&[], false)] {
            let line = json!(thin.start(options));
            assert!(others.iter().all(|name| line[name].is_string()), "{line}");
            assert!(own.iter().all(|name| line[name].is_string() == is_told), "{line}");
            let metadata = format!("{}/.well-known/oauth-authorization-server", line["issuer"].as_str().unwrap());
            let metadata = Request::to("GET", metadata).send().await.json();
            assert_eq!(metadata["device_authorization_endpoint"].is_string(), is_told, "{metadata}");
        }
    }
}

/// Every profile but FAPI has device codes.
#[tokio::test]
async fn a_device_gets_a_code_in_every_profile_but_fapi() {
    for profile in ["strict", "platform", "mcp"] {
        let service = Service::start(Thin::Axum, &["--profile", profile]).await;
        for kind in [Kind::Public, Kind::Confidential] {
            let (id, secret) = service.credentials(kind);
            let fields = [("client_id", Some(id)), ("client_secret", secret)];
            let fields: Vec<_> = fields.iter().filter_map(|(name, value)| Some((*name, (*value)?))).collect();
            let endpoint = service.endpoint("device_authorization_endpoint");
            let answer = Request::to("POST", endpoint).fields(&fields).send().await;
            assert_eq!(answer.status, 200, "{profile}, {kind:?}: {answer:?}");
            assert_eq!(answer.json()["interval"], 5);
        }
    }
}
