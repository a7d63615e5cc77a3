//! The thin server, with two clients.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::time::Duration;

use demo::Options;
use grantor::testing::ManualClock;
use grantor::{AuthorizationServer, Clock as _, Timestamp};
use serde_json::{Value, json};
use support::keys::Signer;
use system::Thin;

pub(crate) const ISSUER: &str = "https://issuer.test:8443";
pub(crate) const SCOPE: &str = "account-profile:r";
/// Where the suite takes answers.
pub(crate) const CALLBACK: &str = "https://suite.test/test/a/grantor/callback";

/// What the suite runs all modules with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Variant {
    pub(crate) algorithm: &'static str,
    pub(crate) has_nonces: bool,
}

const VARIANTS: [Variant; 4] = [
    Variant { algorithm: "ES256", has_nonces: false },
    Variant { algorithm: "ES256", has_nonces: true },
    Variant { algorithm: "PS256", has_nonces: false },
    Variant { algorithm: "PS256", has_nonces: true },
];

/// The clients of the suite, by their numbers less one.
pub(crate) const ONE: usize = 0;
pub(crate) const TWO: usize = 1;

/// A client as its developer knows it.
#[derive(Clone)]
pub(crate) struct Party {
    pub(crate) id: &'static str,
    pub(crate) key: Signer,
}

/// The server that is tested.
pub(crate) struct Fixture {
    pub(crate) variant: Variant,
    pub(crate) address: SocketAddr,
    pub(crate) server: AuthorizationServer,
    pub(crate) parties: [Party; 2],
    /// The nonces that the server demanded last: at its endpoints, and at the resource.
    pub(crate) nonces: RefCell<[Option<String>; 2]>,
    clock: ManualClock,
}

impl Fixture {
    pub(crate) async fn start(variant: Variant) -> Self {
        let key = if variant.algorithm == "ES256" { Signer::es256() } else { Signer::ps256() };
        let parties = [
            Party { id: "client-one", key: key.clone().named("key-one") },
            Party { id: "client-two", key: key.another().named("key-two") },
        ];
        let nonces = variant.has_nonces.then_some("--dpop-nonce");
        let options = ["--profile", "fapi", "--issuer", ISSUER].into_iter().chain(nonces).map(str::to_owned);
        let options = Options::read(options).unwrap().expect("no call for help");
        let clock = ManualClock::new(Timestamp::from_seconds(1_800_000_000));
        let builder = demo::builder(&options, options.issuer(SocketAddr::from(([127, 0, 0, 1], 8443)))).unwrap();
        let server = builder.clock(clock.clone()).build().unwrap();
        let clients = json!(parties.each_ref().map(metadata));
        demo::from_metadata(&server, clients.to_string().as_bytes()).await.unwrap();
        // Each example serves one variant with each algorithm, and one with and one without nonces.
        let is_axum = (variant.algorithm == "ES256") != variant.has_nonces;
        let address = if is_axum { Thin::Axum } else { Thin::Actix }.start_with(&server);
        Self { variant, address, server, parties, nonces: RefCell::default(), clock }
    }

    /// Seconds since 1970.
    pub(crate) fn now(&self) -> u64 {
        self.clock.now().seconds().into()
    }

    pub(crate) fn advance(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }
}

/// What the file of the thin server has about a client.
fn metadata(party: &Party) -> Value {
    json!({
        "client_id": party.id,
        "client_name": party.id,
        "jwks": {"keys": [party.key.jwk_with_algorithm()]},
        "redirect_uris": [CALLBACK, format!("{CALLBACK}?dummy1=lorem&dummy2=ipsum")],
        "grant_types": ["authorization_code", "refresh_token", "client_credentials"],
        "scope": SCOPE,
        "token_endpoint_auth_method": "private_key_jwt",
    })
}

/// Runs a module in each variant.
pub(crate) async fn all(module: impl AsyncFn(&Fixture)) {
    for variant in VARIANTS {
        println!("{variant:?}");
        module(&Fixture::start(variant).await).await;
    }
}

/// Runs a module in one variant, for rules that neither keys nor nonces touch.
pub(crate) async fn one(module: impl AsyncFn(&Fixture)) {
    module(&Fixture::start(VARIANTS[0]).await).await;
}
