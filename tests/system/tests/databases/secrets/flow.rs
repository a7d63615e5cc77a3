//! A whole life of an application and its grants, each answer and each event kept.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use grantor::client::{AuthenticationMethod, AuthenticationMethods};
use grantor::client_metadata::RegistrationBounds;
use grantor::config::{DpopBoundTokens, DynamicRegistration, Profile, PushedRequests, SupersededTokenRevocation};
use grantor::hooks::{ApproveWithin, Attempt, Throttle, ThrottleDecision};
use grantor::registration::InitialAccessTokenTerms;
use grantor::scope::ResourceScope;
use grantor::testing::SeededEntropy;
use grantor::wire::{Body, Endpoint, Request, Response};
use grantor::{Approval, ClientId, Clock as _, Consent, Decision, Event, EventSink, Subject, TracingEvents};
use serde_json::{Value, json};

use crate::secrets::exposure::Exposure;
use crate::secrets::logs;
use crate::secrets::misplaced;
use crate::secrets::stores::Store;
use crate::secrets::types;
use support::keys::{Signer, unchanged};
use support::world::{
    Credentials, PKCE, Pair, Reviewer as _, SCOPES, SESSION, VERIFIER, World, code, config_of, form, logo, pair,
    public_form, text,
};

pub(crate) const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const STATE: &str = "state-DVGyRq7nbLkPw3-of-the-client";
pub(crate) const WRONG: &str = "wrong-9sJvXc4TqZm1-typed-in-by-somebody";

/// A world in which all is watched.
pub(crate) struct Flow {
    pub(crate) world: World,
    pub(crate) exposure: Exposure,
    store: Store,
    watch: Watch,
}

/// Keeps what hooks are given, and logs events as a service would.
#[derive(Clone, Debug, Default)]
struct Watch {
    events: Arc<Mutex<Vec<String>>>,
    attempts: Arc<Mutex<Vec<String>>>,
}

impl EventSink for Watch {
    fn record(&self, event: &Event<'_>) {
        TracingEvents.record(event);
        self.events.lock().unwrap().push(format!("{event:?} {event:#?}"));
    }
}

#[async_trait]
impl Throttle for Watch {
    async fn check(&self, attempt: &Attempt<'_>) -> ThrottleDecision {
        self.attempts.lock().unwrap().push(format!("{attempt:?}"));
        ThrottleDecision::Allow
    }

    async fn failed(&self, attempt: &Attempt<'_>) {
        self.attempts.lock().unwrap().push(format!("{attempt:?}"));
    }
}

/// Runs everything over one store, in one profile. All runs share one log. With one seed, the secret of one run could
/// equal the public id of a grant in another.
pub(crate) async fn run(store: Store, profile: Profile, seed: u64) {
    logs::keep();
    let watch = Watch::default();
    let mut config = config_of(profile);
    config.public_clients = true;
    config.registration.dynamic = DynamicRegistration::WithToken;
    config.registration.management = true;
    config.client_authentication.methods = AuthenticationMethods::SECRET.with(AuthenticationMethod::PrivateKeyJwt);
    config.dpop.tokens = DpopBoundTokens::Optional;
    config.pushed_requests.mode = PushedRequests::Optional;
    // So that a grant goes on after that, and ends in each of the other ways.
    config.revocation.superseded_token = SupersededTokenRevocation::Nothing;
    let bounds = RegistrationBounds::new(config.scopes.parse(SCOPES.as_bytes()).unwrap(), ResourceScope::All);
    let policy = ApproveWithin::new(bounds);
    let entropy = SeededEntropy::new(seed);
    let hooks = |builder: grantor::server::Builder| {
        builder.entropy(entropy).events(watch.clone()).throttle(watch.clone()).registration_policy(policy)
    };
    let world = World::on(store.any(), config, hooks).await;
    let mut flow = Flow { world, exposure: Exposure::default(), store, watch };
    flow.registration().await;
    flow.open_client().await;
    flow.assertions().await;
    let code = flow.authorization().await;
    let pairs = flow.exchange(&code).await;
    flow.proofs().await;
    flow.pushes().await;
    flow.refusals(&code, &pairs).await;
    flow.endings(&code, &pairs).await;
    flow.store.statements(&mut flow.exposure).await;
    misplaced::everywhere(&mut flow, &code, &pairs).await;
    types::shown(&mut flow, &code, &pairs[1]);
    flow.administration().await;
    flow.finish().await;
}

impl Flow {
    pub(crate) fn answer(&mut self, what: &str, response: &Response) -> usize {
        self.exposure.answer(what, response)
    }

    pub(crate) async fn look_at_store(&mut self) {
        self.store.dump(&self.world, &mut self.exposure).await;
    }

    async fn registration(&mut self) {
        let world = &self.world;
        self.exposure.secret("client secret", &world.client.secret, None);
        self.exposure.secret("session", std::str::from_utf8(SESSION).unwrap(), None);
        self.exposure.secret("code verifier", VERIFIER, None);
        self.exposure.secret("wrong secret", WRONG, None);
        let registrar = world.server.registrar().unwrap();
        let id = registrar.submit(world.alice.clone(), form(), Some(logo())).await.unwrap();
        let approved = registrar.approve_now(&id, Approval::default()).await.unwrap();
        let claimed = registrar.claim_now(&id).await.unwrap();
        self.exposure.secret("secret of another client", claimed.expose(), None);
        self.exposure.debug("Approved", &approved);
        self.exposure.debug("ClientSecret", &claimed);
        let newest = registrar.rotate_now(&world.client.client_id()).await.unwrap();
        self.exposure.secret("rotated secret", newest.expose(), None);
        self.exposure.debug("ClientSecret", &newest);
        self.exposure.debug("Registrar", &registrar);
        registrar.retire_now(&world.client.client_id()).await.unwrap();
        self.exposure.debug("Application", &registrar.application(&id).await.unwrap());
        self.exposure.debug("Client", &registrar.client(&id).await.unwrap());
        self.world.client.secret = newest.expose().to_owned();
        self.look_at_store().await;
    }

    /// Registers a client with an initial access token, and manages its registration.
    async fn open_client(&mut self) {
        let registrar = self.world.server.registrar().unwrap();
        let terms = InitialAccessTokenTerms::new(Duration::from_secs(60));
        let initial = registrar.make_initial_access_token(terms).await.unwrap();
        self.exposure.secret("initial access token", &initial.token.expose()["ia_".len() + 22..], None);
        self.exposure.debug("MadeInitialAccessToken", &initial);
        let mut body = json!({"redirect_uris": ["https://app.example.com/cb"], "client_name": "Open"});
        let registration = Request::new("POST");
        let answer = self.open(Endpoint::Registration, registration, initial.token.expose(), &body).await;
        let carrier = self.answer("a registration", &answer);
        let client: Value = serde_json::from_slice(answer.body()).unwrap();
        let member = |name: &str| client[name].as_str().unwrap().to_owned();
        let (id, token) = (member("client_id"), member("registration_access_token"));
        self.exposure.secret("secret of an self-registered client", &member("client_secret"), Some(carrier));
        self.exposure.secret("registration access token", &token["ra_".len()..], Some(carrier));
        let used_up = self.open(Endpoint::Registration, registration, initial.token.expose(), &body).await;
        assert_eq!(used_up.status(), 401);
        self.answer("a refused registration", &used_up);

        let path = format!("/oauth2/register/{id}");
        let read = self.open(Endpoint::ClientConfiguration, Request::new("GET").path(&path), &token, &body).await;
        let carrier = self.answer("the registration of a client", &read);
        self.exposure.secret("registration access token", &token["ra_".len()..], Some(carrier));
        body["client_id"] = id.as_str().into();
        body["client_secret"] = WRONG.into();
        for (token, status) in [(&*token, 400), (initial.token.expose(), 401)] {
            let update = Request::new("PUT").path(&path);
            let refused = self.open(Endpoint::ClientConfiguration, update, token, &body).await;
            assert_eq!(refused.status(), status);
            self.answer("a refused update", &refused);
        }
        let id = ClientId::new(&id).unwrap();
        self.exposure.debug("Application", &registrar.application(&id).await.unwrap());
        self.exposure.debug("Client", &registrar.client(&id).await.unwrap());
        self.look_at_store().await;
    }

    /// A client with a key sends an assertion that works, the same once more, and a forged one.
    async fn assertions(&mut self) {
        let signer = Signer::es256();
        let mut form = form();
        form.authentication_methods = AuthenticationMethods::KEY;
        form.jwks = Some(signer.key_set());
        let client = self.world.register(form).await;
        // Then any question uses an assertion up.
        let (registrar, id) = (self.world.server.registrar().unwrap(), ClientId::new(&*client.id).unwrap());
        let version = registrar.application(&id).await.unwrap().version();
        let mut privileges = self.world.server.client(&id).await.unwrap().unwrap().privileges();
        privileges.may_introspect = true;
        registrar.set_privileges(&id, version, privileges).await.unwrap();
        let now = self.world.clock.now().seconds().into();
        let of = |signer: &Signer| signer.assertion(&client.id, self.world.server.issuer(), now, unchanged);
        let (good, forged) = (of(&signer), of(&signer.another()));
        for (assertion, status) in [(&good, 200), (&good, 401), (&forged, 401)] {
            self.exposure.secret("assertion", assertion, None);
            let form = [("token", "x"), ("client_assertion_type", JWT_BEARER), ("client_assertion", assertion)];
            let answer = self.world.post(Endpoint::Introspection, &form).send().await;
            assert_eq!(answer.status(), status);
            self.answer("the answer to an assertion", &answer);
        }
        self.look_at_store().await;
    }

    async fn open(&mut self, endpoint: Endpoint, request: Request<'_>, token: &str, body: &Value) -> Response {
        let (header, body) = (format!("Bearer {token}"), body.to_string());
        let request = request.header("Content-Type", b"application/json").header("Authorization", header.as_bytes());
        let request = request.body(Body::Bytes(body.as_bytes())).peer([192, 0, 2, 1].into());
        self.exposure.debug("Request", &request);
        self.world.server.serve(endpoint, &request).await
    }

    /// Decides without success, then with success; returns the code.
    async fn authorization(&mut self) -> String {
        let world = &self.world;
        let query = world.query(&[("state", STATE), PKCE[0], PKCE[1]]);
        let request = Request::new("GET").query(query.as_bytes());
        self.exposure.debug("Request", &request);
        let pending = world.server.authorize(&request).await.unwrap();
        self.exposure.debug("PendingAuthorization", &pending);
        let handle = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
        self.exposure.token("handle", handle.expose(), None);
        self.exposure.debug("ConsentTicket", &handle);
        self.store.dump(world, &mut self.exposure).await;

        let mallory = Subject::new("mallory").unwrap();
        let approve = Decision::Approve(Consent::to_everything());
        let refused = world.server.decide(handle.expose(), &mallory, SESSION, &approve).await.unwrap_err();
        self.exposure.error("AuthorizationError", &refused);
        self.exposure.answer("the page for another user", &refused.response(Some(&mallory)));
        let decided = world.server.decide(handle.expose(), &world.alice, SESSION, &approve).await.unwrap();
        let carrier = self.exposure.answer("the redirect with the code", &decided);
        let code = text(&code(&decided), "code");
        self.exposure.token("code", &code, Some(carrier));
        self.exposure.returned("state", STATE, carrier);
        let other = world.server.decide(handle.expose(), &world.alice, SESSION, &Decision::Deny).await.unwrap_err();
        self.exposure.error("AuthorizationError", &other);
        self.exposure.answer("the page for another decision", &other.response(Some(&world.alice)));
        let denied = self.world.decide(&query, Decision::Deny).await;
        let carrier = self.answer("the redirect of a refusal", &denied);
        self.exposure.returned("state", STATE, carrier);
        self.look_at_store().await;
        code
    }

    /// The first pair, its successor, and a sibling in grace.
    async fn exchange(&mut self, code: &str) -> [Pair; 2] {
        let issued = self.world.exchange(code).await;
        let first = self.keep("the token response", &issued);
        let refreshed = self.world.refresh(&first.refresh).await;
        let second = self.keep("the answer to a refresh", &refreshed);
        let sibling = self.world.refresh(&first.refresh).await;
        self.keep("the answer to a refresh in grace", &sibling);
        for token in [&first.access, &second.access] {
            let authenticated = self.world.access(token).await.unwrap();
            self.exposure.debug("Authenticated", &authenticated);
            let call = self.world.post(Endpoint::Introspection, &[("token", token)]);
            let described = call.client(&self.world.client).send().await;
            self.answer("introspection", &described);
        }
        self.look_at_store().await;
        [first, second]
    }

    fn keep(&mut self, what: &str, response: &Response) -> Pair {
        let carrier = self.answer(what, response);
        let pair = pair(response);
        self.exposure.pair(&pair, carrier);
        pair
    }

    /// The answers to others who have a secret of this client.
    async fn refusals(&mut self, code: &str, pairs: &[Pair; 2]) {
        let public = self.world.register(public_form()).await;
        let world = &self.world;
        let mut answers = Vec::new();
        for endpoint in [Endpoint::Token, Endpoint::Revocation, Endpoint::Introspection] {
            for secret in [code, &pairs[0].access, &pairs[1].access, &pairs[1].refresh] {
                let form = [("grant_type", "authorization_code"), ("code", secret), ("code_verifier", VERIFIER)];
                let form = [&form[..], &[("refresh_token", secret), ("token", secret)]].concat();
                answers.push(world.post(endpoint, &form).basic(&world.client.id, WRONG).send().await);
                answers.push(world.post(endpoint, &form).client(&public).send().await);
            }
        }
        for token in [&pairs[0].refresh, code, &format!("{}x", pairs[1].access)] {
            let refused = world.access(token).await.unwrap_err();
            self.exposure.error("ResourceError", &refused);
            answers.push(refused.into_response());
            answers.push(world.refresh_as(&public, token).await);
        }
        answers.iter().for_each(|answer| _ = self.answer("a refusal", answer));
    }

    /// Replay, revocation of either token, reuse.
    async fn endings(&mut self, code: &str, pairs: &[Pair; 2]) {
        let revoked = self.world.revoke(&pairs[1].access).await;
        self.answer("a revocation", &revoked);
        let replay = self.world.exchange(code).await;
        self.answer("the answer to a replay", &replay);
        for by_reuse in [true, false] {
            let code = self.world.code().await;
            let issued = self.world.exchange(&code).await;
            let old = self.keep("the token response", &issued);
            let refreshed = self.world.refresh(&old.refresh).await;
            let new = self.keep("the answer to a refresh", &refreshed);
            self.world.advance(1_000);
            let superseded = self.world.revoke(&old.refresh).await;
            self.answer("a revocation by an old token", &superseded);
            let ended =
                if by_reuse { self.world.refresh(&old.refresh).await } else { self.world.revoke(&new.refresh).await };
            self.answer("the end of a grant", &ended);
            assert!(!self.world.opens(&new.access).await);
        }
        self.look_at_store().await;
    }

    async fn administration(&mut self) {
        let issued = self.world.exchange(&self.world.code().await).await;
        self.keep("the token response", &issued);
        let server = &self.world.server;
        for grant in server.grants_of(&self.world.alice).await.unwrap() {
            self.exposure.debug("Grant", &grant);
        }
        let registrar = server.registrar().unwrap();
        registrar.revoke_grants(&self.world.client.client_id()).await.unwrap();
        server.revoke_subject(&self.world.alice).await.unwrap();
        self.world.advance(400 * 24 * 3_600);
        let purge = self.world.purge(1_000).await;
        assert!(purge.removed() >= 6, "{purge:?}");
        self.look_at_store().await;
    }

    /// The hooks, the logs and the search.
    async fn finish(mut self) {
        self.exposure.debug("AuthorizationServer", &self.world.server);
        let events = std::mem::take(&mut *self.watch.events.lock().unwrap());
        for name in EVENTS {
            assert!(events.iter().any(|event| event.starts_with(name)), "{name}");
        }
        for client in ["client: Some", "client: None"] {
            let is_of = |event: &String| event.starts_with("AuthenticationFailed") && event.contains(client);
            assert!(events.iter().any(is_of), "AuthenticationFailed, {client}");
        }
        events.into_iter().for_each(|event| self.exposure.text("an event", event));
        let attempts = std::mem::take(&mut *self.watch.attempts.lock().unwrap());
        attempts.into_iter().for_each(|attempt| self.exposure.text("an attempt", attempt));
        let logged = logs::so_far();
        assert!(logged.contains("grantor WARN") && logged.contains("refresh_token_reused"), "events are logged");
        logged.lines().for_each(|line| self.exposure.text("the log", line.to_owned()));
        self.store.end(self.world, &mut self.exposure).await;
        self.exposure.check();
    }
}

/// The events that the flow must have caused, as far as a fixed generator allows.
const EVENTS: [&str; 12] = [
    "Application",
    "CodeIssued",
    "Denied",
    "Exchanged",
    "CodeReplayed",
    "Refreshed ",
    "RefreshedInGrace",
    "RefreshTokenReused",
    "AccessTokenRevoked",
    "SupersededTokenAtRevocation",
    "GrantRevoked",
    "Refused",
];

/// The secrets that a caller may put into the wrong place.
pub(crate) fn at_hand<'a>(client: &'a Credentials, code: &'a str, pairs: &'a [Pair; 2]) -> [&'a str; 5] {
    [&client.secret, code, &pairs[1].access, &pairs[1].refresh, VERIFIER]
}
