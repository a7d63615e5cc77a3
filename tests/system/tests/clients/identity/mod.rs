//! Third-party clients that sign users in by OpenID Connect: `openid-client`, `oauth4webapi` and Authlib, with a key of
//! each algorithm.
//!
//! Needs `.ci/judges`; run by `cargo test --workspace --all-features --test clients identity:: -- --ignored`.

use std::future::pending;
use std::path::PathBuf;
use std::process::Command;

use axum::Router;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Redirect, Response};
use grantor::config::{Identity, Profile};
use grantor::hooks::{Claims, Email, SigningKey, UserClaims, UserContext, UserProfile};
use grantor::interaction::{ReturnTo, SignIn, SignedIn};
use grantor::jose::SigningAlgorithm;
use grantor::scope::IdentityScope;
use grantor::{Clock as _, Subject, SystemClock, Timestamp};
use grantor_axum::{Interaction, Users};
use grantor_pages::Pages;
use serde_json::{Value, json};
use support::folder::repository;
use support::world::{REDIRECT_URI, With as _, World, config_at, form};
use support_servers::judges;
use tokio::net::TcpListener;

use crate::verifiers::service::KEYS;

const SCOPE: &str = "openid profile email";

/// When the user signed in, and when her address was verified.
fn earlier() -> Timestamp {
    Timestamp::from_seconds(SystemClock.now().seconds() - 60)
}

/// The service's users: always Alice, who signed in at that time.
struct Alice(Timestamp);

impl Users for Alice {
    async fn signed_in(&self, _: &mut Parts) -> Result<Option<SignedIn>, Response> {
        let sign_in = SignIn::at(self.0).with_amr(["pwd"]).unwrap();
        Ok(Some(SignedIn::new(Subject::new("alice").unwrap()).sign_in(sign_in)))
    }

    fn sign_in(&self, return_to: &ReturnTo) -> Response {
        Redirect::to(return_to.as_str()).into_response()
    }
}

#[derive(Debug)]
struct OfAlice;

#[async_trait::async_trait]
impl Claims for OfAlice {
    async fn of_user(&self, _: &UserContext<'_>) -> UserClaims {
        let profile = || UserProfile::new().name("Alice")?.email(Email::verified("alice@example.com", earlier())?);
        UserClaims::Known(profile().unwrap())
    }
}

/// The running server, and the client that it knows.
struct Service {
    world: World,
    signed_in: Timestamp,
}

impl Service {
    /// Starts a server whose ID tokens for the client are signed with that algorithm.
    async fn start(algorithm: SigningAlgorithm) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let mut config = config_at(Profile::Strict, &issuer);
        config.development = true;
        let mut identity = Identity::new([IdentityScope::profile(), IdentityScope::email()]);
        identity.without_rs256 = algorithm != SigningAlgorithm::Rs256;
        config.identity = Some(identity);
        let key = KEYS.iter().find(|key| key.algorithm == algorithm).unwrap();
        let key = SigningKey::from_pkcs8(algorithm, key.pkcs8).unwrap();
        let mut world = World::built(config, |builder| builder.signing_keys([key]).claims(OfAlice)).await;
        world.clock.set(SystemClock.now());
        world.client = world.register(form().with(|form| form.scopes = SCOPE.into())).await;
        let signed_in = earlier();
        let interaction = Interaction::new(&world.server, Pages::new("Notes"), Alice(signed_in));
        let routes = Router::new().merge(interaction.routes());
        tokio::spawn(grantor_axum::accept::serve(listener, routes, pending()));
        Self { world, signed_in }
    }

    /// Runs a client to its end, and returns the line of JSON that it prints.
    async fn run(&self, mut program: Command) -> Value {
        let job = json!({
            "issuer": self.world.server.issuer(),
            "client_id": self.world.client.id,
            "client_secret": self.world.client.secret,
            "redirect_uri": REDIRECT_URI,
            "scope": SCOPE,
        });
        program.arg(job.to_string());
        let output = tokio::task::spawn_blocking(move || program.output().unwrap()).await.unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        let what = || format!("{printed}\n{}", String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{}", what());
        serde_json::from_str(printed.lines().last().unwrap_or_default()).unwrap_or_else(|_| panic!("{}", what()))
    }
}

fn sources() -> PathBuf {
    repository().join("tests/system/tests/clients/identity")
}

fn node(script: &str) -> Command {
    let scripts = [
        ("../signed/browser.mjs", "identity/browser.mjs"),
        ("openid_client.mjs", "identity/openid_client.mjs"),
        ("oauth4webapi.mjs", "identity/oauth4webapi.mjs"),
    ];
    let folder = judges::copied_as("signed", &sources(), scripts.into_iter()).join("identity");
    let mut command = Command::new("node");
    command.arg(folder.join(script));
    command
}

/// What each library must see, by a key of each algorithm. `refused` is its name for a nonce of another request.
async fn signs_the_user_in(program: impl Fn() -> Command, refused: &str) {
    for algorithm in [SigningAlgorithm::Rs256, SigningAlgorithm::Es256, SigningAlgorithm::EdDsa] {
        let service = Service::start(algorithm).await;
        let seen = service.run(program()).await;
        for claims in [&seen["claims"], &seen["again"]] {
            let expected = json!({
                "iss": service.world.server.issuer(),
                "sub": "alice",
                "aud": service.world.client.id,
                "auth_time": service.signed_in.seconds(),
                "amr": ["pwd"],
            });
            for (name, value) in expected.as_object().unwrap() {
                assert_eq!(&claims[name], value, "{name}, {algorithm:?}: {seen}");
            }
        }
        assert!(seen["claims"]["nonce"].is_string() && seen["again"].get("nonce").is_none(), "{seen}");
        let user = json!({"sub": "alice", "name": "Alice", "email": "alice@example.com", "email_verified": true});
        assert_eq!(seen["user"], user, "{algorithm:?}");
        assert_eq!(seen["wrong"], refused, "{algorithm:?}");
    }
}

/// RC-OIDC-01
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs npm"]
async fn openid_client_signs_the_user_in() {
    signs_the_user_in(|| node("openid_client.mjs"), "OAUTH_JWT_CLAIM_COMPARISON_FAILED").await;
}

/// RC-OIDC-01
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs npm"]
async fn oauth4webapi_signs_the_user_in() {
    signs_the_user_in(|| node("oauth4webapi.mjs"), "OAUTH_JWT_CLAIM_COMPARISON_FAILED").await;
}

/// RC-OIDC-03
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PyPI"]
async fn authlib_signs_the_user_in() {
    let python = || {
        let mut python = Command::new(judges::folder("authlib").join("bin/python"));
        // Python must not write compiled files among the sources.
        python.arg("-B").arg(sources().join("authlib_client.py"));
        python
    };
    signs_the_user_in(python, "invalid_claim").await;
}
