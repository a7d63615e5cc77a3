//! Clients that manage their own registration, in random sequences: no order of steps of the client, the policy and an
//! administrator gives a client more than it may have.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use grantor::client::ClientState;
use grantor::client_metadata::RegistrationBounds;
use grantor::config::DynamicRegistration;
use grantor::config::Profile;
use grantor::hooks::{RegistrationDecision, RegistrationPolicy, RegistrationRequest};
use grantor::registration::Reduction;
use grantor::scope::{ResourceScope, ScopeCatalog, ScopeSet};
use grantor::wire::{Body, Endpoint, Request, Response};
use grantor::{Approval, Client, ClientId, RegistrarError};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::properties::cases::{block_on, check, holds};
use support::world::{Credentials, PKCE, Pair, Reviewer as _, World, config_of, logo, pair};

const SEQUENCES: u32 = 300;
const STEPS: usize = 16;
/// What the policy admits at first, and what it admits once an operator has extended it.
const BOUND: &str = "repo-code:rw account-profile:r";
const WIDE: &str = "repo-code:rw repo-issue:rw account-profile:r account-email:r";
/// What clients and users ask for, some of it beyond the bound.
const ASKED: [&str; 5] = ["repo-code:r", "repo-code:rw", "account-profile:r", "repo-issue:rw", WIDE];
const URIS: [&str; 2] = ["https://app.example.com/cb", "https://app.example.com/new"];

#[derive(Clone, Debug)]
enum Step {
    /// The client replaces its registration.
    Update {
        scope: usize,
        uri: usize,
    },
    /// An operator changes the policy.
    Policy {
        queues: bool,
        is_wide: bool,
    },
    Reduce(usize),
    Approve,
    Reject,
    Suspend,
    Resume,
    /// A user signs in and grants all that is asked for.
    SignIn {
        scope: usize,
        uri: usize,
    },
    Refresh,
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let scope = 0..ASKED.len();
    prop_oneof![
        3 => (scope.clone(), 0..URIS.len()).prop_map(|(scope, uri)| Step::Update { scope, uri }),
        2 => any::<(bool, bool)>().prop_map(|(queues, is_wide)| Step::Policy { queues, is_wide }),
        1 => scope.clone().prop_map(Step::Reduce),
        1 => Just(Step::Approve),
        1 => Just(Step::Reject),
        1 => Just(Step::Suspend),
        1 => Just(Step::Resume),
        4 => (scope, 0..URIS.len()).prop_map(|(scope, uri)| Step::SignIn { scope, uri }),
        2 => Just(Step::Refresh),
        1 => (1_u64..200_000).prop_map(Step::Wait),
    ]
}

/// 7591-5-03, 7592-2.2-02
#[test]
fn no_sequence_gives_a_client_more_than_it_may_have() {
    check(SEQUENCES, &prop::collection::vec(step(), 1..STEPS), |steps| {
        block_on(async {
            let mut play = Play::new().await;
            for step in &steps {
                play.take(step).await.map_err(|broken| format!("{broken} at {step:?} of {steps:?}"))?;
            }
            Ok(())
        })
    });
}

#[derive(Debug, Default)]
struct Policy {
    queues: AtomicBool,
    is_wide: AtomicBool,
}

#[derive(Debug)]
struct Shared(Arc<Policy>);

#[async_trait]
impl RegistrationPolicy for Shared {
    async fn decide(&self, _: &RegistrationRequest<'_>) -> RegistrationDecision {
        let admitted = if self.0.is_wide.load(Ordering::Relaxed) { WIDE } else { BOUND };
        let bounds = RegistrationBounds::new(scopes(admitted), ResourceScope::All);
        if self.0.queues.load(Ordering::Relaxed) {
            RegistrationDecision::Queue(bounds)
        } else {
            RegistrationDecision::Approve(bounds)
        }
    }
}

/// A server with one client, and what the client may have by now.
struct Play {
    world: World,
    policy: Arc<Policy>,
    client: Value,
    pairs: Vec<Pair>,
    /// Only a person's approval extends it, and never beyond what the client was registered within.
    limit: ScopeSet,
    /// Whether a person approved or reduced the client, so that all its updates await review.
    is_judged: bool,
}

impl Play {
    async fn new() -> Self {
        let mut config = config_of(Profile::Mcp);
        config.public_clients = true;
        config.registration.dynamic = DynamicRegistration::Open;
        config.registration.management = true;
        let policy = Arc::<Policy>::default();
        let shared = Shared(policy.clone());
        let world = World::built(config, |builder| builder.registration_policy(shared)).await;
        let body = metadata(json!({"scope": WIDE, "redirect_uris": [URIS[0]]})).to_string();
        let request = Request::new("POST").header("Content-Type", b"application/json");
        let answer = world.server.serve(Endpoint::Registration, &request.body(Body::Bytes(body.as_bytes()))).await;
        assert_eq!(answer.status(), 201);
        let client = serde_json::from_slice(answer.body()).unwrap();
        Self { world, policy, client, pairs: Vec::new(), limit: scopes(BOUND), is_judged: false }
    }

    async fn take(&mut self, step: &Step) -> Result<(), String> {
        let before = self.stored().await;
        match *step {
            Step::Update { scope, uri } => self.update(ASKED[scope], URIS[uri], before.as_ref()).await?,
            Step::Policy { queues, is_wide } => {
                self.policy.queues.store(queues, Ordering::Relaxed);
                self.policy.is_wide.store(is_wide, Ordering::Relaxed);
            }
            Step::Reduce(scope) => {
                let version = self.registrar().application(&self.id()).await.map(|application| application.version());
                let left = Reduction::default().scopes(ASKED[scope]);
                let reduced = self.registrar().reduce(&self.id(), version.unwrap_or_default(), left).await;
                if took_effect(reduced) {
                    self.limit = self.limit.intersection(&scopes(ASKED[scope]));
                    self.is_judged = true;
                }
            }
            Step::Approve => {
                let approval = Approval::default().logo(logo()).website("https://app.example.com/");
                if took_effect(self.registrar().approve_now(&self.id(), approval).await) {
                    (self.limit, self.is_judged) = (scopes(BOUND), true);
                }
            }
            Step::Reject => drop(took_effect(self.registrar().reject_now(&self.id(), "no").await)),
            Step::Suspend => drop(took_effect(self.registrar().suspend(&self.id()).await)),
            Step::Resume => drop(took_effect(self.registrar().resume(&self.id()).await)),
            Step::SignIn { scope, uri } => self.sign_in(ASKED[scope], URIS[uri], before.as_ref()).await?,
            Step::Refresh => self.refresh(before.as_ref()).await?,
            Step::Wait(seconds) => self.world.advance(seconds),
        }
        self.look().await
    }

    /// After a person has judged the client, and while the policy queues, an update changes nothing by itself.
    async fn update(&self, scope: &str, uri: &str, before: Option<&Client>) -> Result<(), String> {
        let members = json!({"client_id": self.client["client_id"], "scope": scope, "redirect_uris": [uri]});
        let body = metadata(members).to_string();
        let address = self.client["registration_client_uri"].as_str().unwrap();
        let path = address.strip_prefix(self.world.server.issuer()).unwrap();
        let token = format!("Bearer {}", self.client["registration_access_token"].as_str().unwrap());
        let request = Request::new("PUT").path(path).header("Authorization", token.as_bytes());
        let request = request.header("Content-Type", b"application/json").body(Body::Bytes(body.as_bytes()));
        let answer = self.world.server.serve(Endpoint::ClientConfiguration, &request).await;
        holds(answer.status() < 500, || format!("an update was answered with {}", answer.status()))?;
        let awaits_review = self.is_judged || self.policy.queues.load(Ordering::Relaxed);
        let (Some(before), Some(after)) = (before, self.stored().await) else { return Ok(()) };
        let is_same =
            before.form().scopes == after.form().scopes && before.form().redirect_uris == after.form().redirect_uris;
        let is_in_force = is_approved(before) && awaits_review;
        holds(is_same || !is_in_force, || "an update that awaits review is in force".to_owned())
    }

    async fn sign_in(&mut self, scope: &str, uri: &str, stored: Option<&Client>) -> Result<(), String> {
        let parameters = [&PKCE[..], &[("scope", scope), ("redirect_uri", uri)]].concat();
        let query = self.world.query_of(&self.credentials(), &parameters);
        let Ok(pending) = self.world.authorize(&query).await else { return Ok(()) };
        let tokens: Vec<_> = pending.requested().map(|scope| scope.token().to_owned()).collect();
        let asked = scopes(&tokens.join(" "));
        let is_admitted = stored.is_some_and(|client| {
            let has_uri = client.form().redirect_uris.iter().any(|registered| registered.as_str() == uri);
            is_approved(client) && asked.is_subset_of(&client.form().scopes) && has_uri
        });
        holds(is_admitted, || "a request beyond the registration was found good".to_owned())?;
        // Scopes were left out, so the request may be refused later.
        if asked != scopes(scope) {
            return Ok(());
        }
        let code = self.world.code_for(&query).await;
        let credentials = self.credentials();
        let form = [
            ("grant_type", "authorization_code"),
            ("code", &*code),
            ("code_verifier", support::world::VERIFIER),
            ("redirect_uri", uri),
        ];
        let answer = self.world.token(&form).client(&credentials).send().await;
        self.keep(&answer);
        holds(answer.status() == 200, || format!("an exchange was answered with {}", answer.status()))
    }

    async fn refresh(&mut self, stored: Option<&Client>) -> Result<(), String> {
        let Some(newest) = self.pairs.last().map(|pair| pair.refresh.clone()) else { return Ok(()) };
        let answer = self.world.refresh_as(&self.credentials(), &newest).await;
        self.keep(&answer);
        let is_served = stored.is_some_and(is_approved);
        holds(is_served || answer.status() != 200, || "a client that is not approved was served".to_owned())
    }

    fn keep(&mut self, answer: &Response) {
        if answer.status() == 200 {
            self.pairs.push(pair(answer));
        }
    }

    /// What holds after every step.
    async fn look(&self) -> Result<(), String> {
        let Some(client) = self.stored().await else { return Ok(()) };
        holds(client.form().scopes.is_subset_of(&self.limit), || {
            format!("{:?} is beyond its limit", client.form().scopes)
        })?;
        for pair in &self.pairs {
            if let Ok(token) = self.world.access(&pair.access).await {
                let is_within = is_approved(&client) && token.scopes().is_subset_of(&client.form().scopes);
                holds(is_within, || "a token is worth more than its client may have".to_owned())?;
            }
        }
        Ok(())
    }

    async fn stored(&self) -> Option<Client> {
        self.world.server.client(&self.id()).await.unwrap().map(|client| Client::clone(&client))
    }

    fn registrar(&self) -> grantor::Registrar {
        self.world.server.registrar().unwrap()
    }

    fn id(&self) -> ClientId {
        ClientId::new(self.client["client_id"].as_str().unwrap()).unwrap()
    }

    fn credentials(&self) -> Credentials {
        Credentials { id: self.id().to_string(), secret: String::new() }
    }
}

/// A step that is refused changes nothing; a store's failure is a failure of the test.
fn took_effect<T>(done: Result<T, RegistrarError>) -> bool {
    assert!(!matches!(done, Err(RegistrarError::Store(_))));
    done.is_ok()
}

fn is_approved(client: &Client) -> bool {
    client.state() == ClientState::Approved
}

fn scopes(wire: &str) -> ScopeSet {
    ScopeCatalog::platform().parse(wire.as_bytes()).unwrap()
}

fn metadata(members: Value) -> Value {
    let mut metadata = json!({
        "client_name": "App",
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"],
    });
    metadata.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    metadata
}
