//! RFC 6749 section 4.4: access tokens of a client itself, without a user.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use grantor::application::Problem;
use grantor::client::{ApplicationType, ClientType, GrantType, GrantTypes};
use grantor::config::{AccessTokenRevocation, Profile};
use grantor::hooks::{SubjectStatus, Subjects};
use grantor::scope::{Permission, Resource, ResourceScope};
use grantor::store::{Grant, Record, RecordStore, Stores};
use grantor::wire::Response;
use grantor::{
    ApplicationForm, Approval, AuthorizationServer, Client, ClientSecret, Clock, Config, MemoryStore, RegistrarError,
    Subject,
};

use crate::interleaved::{serve_from, side_by_side};
use crate::rfc8414::metadata;
use support::directory::Directory;
use support::intercepted::Intercepted;
use support::intercepted::scripts::Calls;
use support::world::{
    Credentials, ISSUER, Reviewer, With as _, World, config_of, e400, e401, empty, form, logo, ok, public_form, wa,
};

const SCOPES: &str = "repo-code:rw repo-issue:r";
const ASK: [(&str, &str); 1] = [("grant_type", "client_credentials")];

/// A form for a client that acts for itself and for users.
fn client_credentials_form() -> ApplicationForm {
    let mut form = form();
    form.grant_types = GrantTypes::default().with(GrantType::ClientCredentials);
    form.client_scopes = SCOPES.into();
    form.client_resources = Some(ResourceScope::specified(["acme/build"]).unwrap());
    form
}

/// A world that offers the grant, and its machine client.
async fn world_with(change: impl FnOnce(&mut Config)) -> (World, Credentials) {
    let world = World::with(Profile::Platform, |config| {
        config.client_credentials.on = true;
        change(config);
    })
    .await;
    let machine = world.register(client_credentials_form()).await;
    (world, machine)
}

async fn world() -> (World, Credentials) {
    world_with(|_| {}).await
}

async fn ask(world: &World, machine: &Credentials) -> Response {
    world.token(&ASK).client(machine).send().await
}

async fn token(world: &World, machine: &Credentials) -> String {
    ok(&ask(world, machine).await).access_token.expose().to_owned()
}

#[track_caller]
fn too_many(response: &Response, retry_after: u32) {
    assert_eq!(response.status(), 429, "{}", String::from_utf8_lossy(response.body()));
    assert_eq!(response.header("Retry-After"), Some(retry_after.to_string().as_str()));
}

/// 6749-4.4-01
#[tokio::test]
async fn only_confidential_web_applications_are_registered() {
    let (world, _) = world().await;
    let registrar = world.server.registrar().unwrap();
    let native = |form: &mut ApplicationForm| form.application_type = ApplicationType::Native;
    let public = |form: &mut ApplicationForm| form.client_type = ClientType::Public;
    for change in [native as fn(&mut ApplicationForm), public] {
        let mut form = client_credentials_form();
        change(&mut form);
        let developer = Subject::new("developer").unwrap();
        let Err(RegistrarError::Invalid(errors)) = registrar.submit(developer, form, Some(logo())).await else {
            panic!("it was registered")
        };
        let texts: Vec<_> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["grant_types: has client_credentials, which is for confidential web applications"]);
    }
    let public = world.register(public_form()).await;
    e400(&ask(&world, &public).await, "unauthorized_client");
}

/// 6749-4.4-01
#[tokio::test]
async fn a_client_kept_elsewhere_that_is_public_or_native_is_refused() {
    for (client_type, application_type) in
        [(ClientType::Public, ApplicationType::Web), (ClientType::Confidential, ApplicationType::Native)]
    {
        let (mut world, machine) = world().await;
        let secret = ClientSecret::new(machine.secret.clone());
        let builder = Client::builder(machine.client_id())
            .grant_types(GrantTypes::NONE.with(GrantType::ClientCredentials))
            .client_scopes(world.server.config().scopes.parse(SCOPES.as_bytes()).unwrap())
            .application_type(application_type);
        let client = match client_type {
            ClientType::Public => builder.client_type(ClientType::Public).build(),
            _ => builder.secret(&secret).unwrap().build(),
        };
        let stores = Stores::new(MemoryStore::new()).with_clients(Directory::of([client]));
        world.server = AuthorizationServer::new(world.server.config().clone(), stores).unwrap();
        let caller = match client_type {
            ClientType::Public => Credentials { secret: String::new(), ..machine.clone() },
            _ => machine.clone(),
        };
        e400(&ask(&world, &caller).await, "unauthorized_client");
    }
}

/// 6749-4.4-02
#[tokio::test]
async fn it_is_off_twice_by_default() {
    let listed = async |world: &World| {
        let metadata = metadata(world).await;
        metadata["grant_types_supported"].as_array().unwrap().iter().any(|name| name == "client_credentials")
    };
    let off = World::platform().await;
    assert!(!off.server.config().client_credentials.on);
    e400(&ask(&off, &off.client).await, "unsupported_grant_type");
    assert!(!listed(&off).await);
    let registrar = off.server.registrar().unwrap();
    let refused = registrar.submit(Subject::new("developer").unwrap(), client_credentials_form(), Some(logo())).await;
    let Err(RegistrarError::Invalid(errors)) = refused else { panic!("it was registered") };
    assert_eq!(
        errors.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["grant_types: has client_credentials, and the server setting client_credentials.on is off"]
    );

    let (on, machine) = world().await;
    e400(&ask(&on, &on.client).await, "unauthorized_client");
    assert!(listed(&on).await);
    ok(&ask(&on, &machine).await);
    assert!(listed(&on).await);
}

/// 6749-4.4.2-01, NEG-02
#[tokio::test]
async fn the_client_proves_itself_before_anything_is_judged() {
    let (world, machine) = world_with(|config| config.limits.client_credentials_tokens = 1).await;
    ok(&ask(&world, &machine).await);
    too_many(&ask(&world, &machine).await, 900);
    let wrong = |id: &str| world.token(&ASK).basic(id, "wrong");
    let none = world.token(&ASK).send().await;
    e401(&none, "invalid_client");
    for response in [
        world.token(&ASK).field("client_id", &machine.id).send().await,
        world.token(&ASK).field("client_id", &machine.id).field("client_secret", "").send().await,
        world.token(&ASK).basic(&machine.id, "").send().await,
        wrong(&machine.id).send().await,
        wrong(&world.client.id).send().await,
        wrong(&machine.id).field("scope", "no-such-scope").send().await,
    ] {
        e401(&response, "invalid_client");
        assert_eq!(response.body(), none.body());
    }
}

/// NEG-02
#[tokio::test]
async fn a_public_client_gets_no_token_of_its_own() {
    let (world, _) = world().await;
    let public = world.register(public_form()).await;
    e400(&ask(&world, &public).await, "unauthorized_client");
}

/// 6749-4.4.2-02
#[tokio::test]
async fn scopes_come_from_a_set_of_their_own() {
    let (world, machine) = world().await;
    let with = |scope: &'static str| world.token(&ASK).field("scope", scope).client(&machine);
    // The user set has it, the machine set does not.
    e400(&with("account-profile:r").send().await, "invalid_scope");
    e400(&with("repo-issue:rw").send().await, "invalid_scope");
    e400(&with("no-such-scope").send().await, "invalid_scope");
    assert_eq!(ok(&with("repo-issue:r").send().await).scope.as_deref(), Some("repo-issue:r"));
    assert_eq!(ok(&ask(&world, &machine).await).scope.as_deref(), Some("repo-code:rw repo-issue:r"));

    let mut empty = client_credentials_form();
    empty.client_scopes.clear();
    let registrar = world.server.registrar().unwrap();
    let refused = registrar.submit(Subject::new("developer").unwrap(), empty, Some(logo())).await;
    let Err(RegistrarError::Invalid(errors)) = refused else { panic!("it was registered") };
    assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), ["client_scopes: is missing"]);
}

/// 6749-4.4.2-02
#[tokio::test]
async fn a_reviewer_approves_client_scopes_and_resources_on_their_own() {
    let (world, _) = world().await;
    let asked = client_credentials_form().with(|form| form.client_resources = Some(ResourceScope::All));
    let approval = Approval::default()
        .client_scopes("repo-issue:r")
        .client_resources(ResourceScope::specified(["acme/build"]).unwrap());
    let machine = world.register_as(asked.clone(), approval).await;
    assert_eq!(ok(&ask(&world, &machine).await).scope.as_deref(), Some("repo-issue:r"));
    let client = world.server.client(&machine.client_id()).await.unwrap().unwrap();
    assert_eq!(client.form().client_resources, ResourceScope::specified(["acme/build"]).unwrap());
    assert_eq!(client.form().scopes.as_str(), "repo-code:rw repo-issue:rw account-profile:r");

    let registrar = world.server.registrar().unwrap();
    let id =
        registrar.submit(Subject::new("developer").unwrap(), client_credentials_form(), Some(logo())).await.unwrap();
    for (approval, not_asked) in [
        (Approval::default().client_scopes("repo-code:rw repo-issue:rw"), true),
        (Approval::default().client_resources(ResourceScope::All), true),
        (Approval::default().client_resources(ResourceScope::Public), false),
    ] {
        match registrar.approve_now(&id, approval).await {
            Err(RegistrarError::ScopesNotAsked) => assert!(not_asked),
            Err(RegistrarError::Invalid(errors)) => {
                assert_eq!(errors.iter().map(|error| error.problem()).collect::<Vec<_>>(), [&Problem::NotOffered]);
                assert!(!not_asked);
            }
            other => panic!("{other:?}"),
        }
    }
}

/// 6749-4.4.2-03
#[tokio::test]
async fn without_a_user_there_is_no_account() {
    let (world, machine) = world().await;
    let access = token(&world, &machine).await;
    let every = client_credentials_form().with(|form| form.client_resources = Some(ResourceScope::All));
    let unseen = world.register(every.clone()).await;
    let approval = Approval::default().client_resources(ResourceScope::All);
    let every = world.register_as(every, approval).await;
    // A later approval keeps what the reviewer granted.
    let registrar = world.server.registrar().unwrap();
    let again = client_credentials_form().with(|form| form.client_resources = Some(ResourceScope::All));
    registrar.change_now(&every.client_id(), again, None).await.unwrap();
    registrar.approve_now(&every.client_id(), Approval::default()).await.unwrap();
    let none = world.register(client_credentials_form().with(|form| form.client_resources = None)).await;
    for (access, listed, unlisted) in [
        (access, true, false),
        (token(&world, &every).await, true, true),
        (token(&world, &none).await, false, false),
        (token(&world, &unseen).await, false, false),
    ] {
        let token = world.access(&access).await.unwrap();
        for (resource, expected) in [
            (Resource::Account, false),
            (Resource::Private("acme/build"), listed),
            (Resource::Public("acme/build"), listed),
            (Resource::Private("acme/other"), unlisted),
            (Resource::Public("acme/other"), unlisted),
        ] {
            assert_eq!(token.permits("repo-code", Permission::ReadWrite, resource), expected, "{resource:?}");
            let required = world.server.resource().require(&token, "repo-code", Permission::ReadWrite, resource);
            match required {
                Ok(()) => assert!(expected),
                Err(error) => drop(wa(error, 403, "insufficient_scope")),
            }
        }
        assert!(!token.permits("account-profile", Permission::Read, Resource::Account));
        assert!(!token.permits("repo-issue", Permission::ReadWrite, Resource::Private("acme/build")));
    }
}

/// 6749-4.4.3-02, 6749-4.4.3-01
#[tokio::test]
async fn the_lifetime_is_one_of_its_own() {
    let (world, machine) = world().await;
    let issued = ok(&ask(&world, &machine).await);
    assert_eq!((issued.expires_in, issued.refresh_token.is_some()), (Some(900), false));
    e400(&world.refresh_as(&machine, issued.access_token.expose()).await, "invalid_grant");
    world.advance(899);
    assert!(world.opens(issued.access_token.expose()).await);
    world.advance(1);
    wa(world.access(issued.access_token.expose()).await.unwrap_err(), 401, "invalid_token");

    for (seconds, expected) in [
        (59, "client_credentials.lifetime is 59 s; 60 to 3600 s are accepted"),
        (3601, "client_credentials.lifetime is 3601 s; 60 to 3600 s are accepted"),
    ] {
        let mut config = config_of(Profile::Platform);
        config.client_credentials.lifetime = Duration::from_secs(seconds);
        let error = AuthorizationServer::new(config, MemoryStore::new()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    assert_eq!(config_of(Profile::Platform).limits.client_credentials_tokens, 1024);
    for tokens in [0, 4097] {
        let mut config = config_of(Profile::Platform);
        config.limits.client_credentials_tokens = tokens;
        let error = AuthorizationServer::new(config, MemoryStore::new()).unwrap_err();
        assert_eq!(error.to_string(), format!("limits.client_credentials_tokens is {tokens}; 1 to 4096 are accepted"));
    }
}

/// 9700-4.15-02
#[tokio::test]
async fn no_withdrawal_of_a_subject_touches_it() {
    let (world, machine) = world().await;
    let access = token(&world, &machine).await;
    let same = Subject::new(&machine.id).unwrap();
    assert!(world.server.grants_of(&same).await.unwrap().is_empty());
    assert_eq!(world.server.revoke_subject(&same).await.unwrap(), 0);
    let grant = world.access(&access).await.unwrap().grant().unwrap();
    assert!(!world.server.revoke_grant(grant, &same).await.unwrap());
    assert!(world.opens(&access).await);
}

/// 9700-4.15-03, NEG-01
#[tokio::test]
async fn a_resource_of_users_refuses_it() {
    let (world, machine) = world().await;
    let token = token(&world, &machine).await;
    let token = world.access(&token).await.unwrap();
    assert_eq!(token.subject(), None);
    wa(world.server.resource().require_subject(&token).unwrap_err(), 403, "insufficient_scope");
    let of_user = world.pair_of(&machine).await;
    let of_user = world.access(&of_user.access).await.unwrap();
    assert_eq!(world.server.resource().require_subject(&of_user).unwrap(), &world.alice);
}

/// 7662-2.2-05
#[tokio::test]
async fn introspection_names_no_user() {
    let (world, machine) = world().await;
    let access = token(&world, &machine).await;
    let body = world.introspect_as(&machine, &access).await;
    let members: BTreeSet<_> = body.as_object().unwrap().keys().map(String::as_str).collect();
    let expected =
        ["active", "aud", "client_id", "exp", "iat", "iss", "resource_scope", "resources", "scope", "token_type"];
    assert_eq!(members, BTreeSet::from(expected));
    assert_eq!((body["active"].as_bool(), body["client_id"].as_str()), (Some(true), Some(machine.id.as_str())));
    assert_eq!(body["scope"], "repo-code:rw repo-issue:r");
    assert_eq!(
        (&body["resource_scope"], &body["resources"]),
        (&"specified".into(), &serde_json::json!(["acme/build"]))
    );
    assert_eq!(body["exp"].as_u64().unwrap() - body["iat"].as_u64().unwrap(), 900);
    assert_eq!((body["iss"].as_str(), body["aud"].as_str()), (Some(ISSUER), Some(ISSUER)));
}

/// CC-01
#[tokio::test]
async fn live_tokens_are_bounded_and_none_is_pushed_out() {
    let (world, machine) = world_with(|config| config.limits.client_credentials_tokens = 21).await;
    let first = token(&world, &machine).await;
    world.advance(10);
    let mut tokens = Vec::new();
    for _ in 1..21 {
        tokens.push(token(&world, &machine).await);
    }
    too_many(&ask(&world, &machine).await, 890);
    for access in tokens.iter().chain([&first]) {
        assert!(world.opens(access).await);
    }
    let other = world.register(client_credentials_form()).await;
    ok(&ask(&world, &other).await);

    world.revoke_as(&machine, &tokens[7]).await;
    ok(&ask(&world, &machine).await);
    too_many(&ask(&world, &machine).await, 890);
    world.advance(890);
    ok(&ask(&world, &machine).await);
    too_many(&ask(&world, &machine).await, 10);
}

/// CC-01
#[tokio::test]
async fn of_fifty_parallel_requests_one_gets_the_last_place() {
    for max in [1, 3, 9] {
        let (mut world, machine) = world_with(|config| config.limits.client_credentials_tokens = max).await;
        for _ in 1..max {
            ok(&ask(&world, &machine).await);
        }
        let answers = side_by_side(&mut world, async |world| ask(world, &machine).await).await;
        let issued = answers.iter().filter(|answer| answer.status() == 200).count();
        let refused = answers.iter().filter(|answer| answer.status() == 429).count();
        assert_eq!((issued, refused), (1, answers.len() - 1));
        let live = world.server.client_credentials_tokens_of(&machine.client_id()).await.unwrap().len();
        assert_eq!(u32::try_from(live), Ok(max));
    }
}

/// CC-02
#[tokio::test]
async fn a_client_that_asks_at_every_call_costs_bounded_work_and_space() {
    let (mut world, machine) = world_with(|config| config.limits.client_credentials_tokens = 64).await;
    let calls = Calls::recorded();
    let tokens = Intercepted::new(world.store.clone(), calls.clone());
    serve_from(&mut world, tokens);
    let mut texts = BTreeSet::new();
    let mut grants = BTreeSet::new();
    for second in 0..1800 {
        calls.take();
        let answer = ask(&world, &machine).await;
        let made = calls.take();
        let reads = made.iter().filter(|call| **call == "tokens.find").count();
        let writes = made.iter().filter(|call| matches!(**call, "tokens.insert" | "tokens.replace")).count();
        assert!(reads <= 8 && reads + writes == made.len(), "{made:?}");
        if answer.status() == 200 {
            assert_eq!(writes, 1);
            let issued = ok(&answer).access_token.expose().to_owned();
            grants.insert(world.access(&issued).await.unwrap().grant().unwrap());
            assert!(texts.insert(issued), "a token was handed out again");
        } else {
            assert_eq!((answer.status(), writes), (429, 0), "in second {second}");
        }
        world.advance(1);
    }
    assert_eq!((texts.len(), grants.len()), (2 * 64, 8));
    world.advance(2 * 3600);
    let mut purged = 0;
    loop {
        let step = world.purge(1000).await;
        purged += step.removed();
        if step.is_finished() {
            break;
        }
    }
    assert_eq!(purged, 8);
    for id in grants {
        assert!(RecordStore::<Grant>::find(&world.store, &id).await.unwrap().is_none());
    }
}

/// CC-02
#[tokio::test]
async fn a_slot_that_recurs_begins_at_another_version() {
    let (world, machine) = world_with(|config| config.limits.client_credentials_tokens = 1).await;
    let mut versions = Vec::new();
    for _ in 0..3 {
        let access = token(&world, &machine).await;
        let id = world.access(&access).await.unwrap().grant().unwrap();
        versions.push(RecordStore::<Grant>::find(&world.store, &id).await.unwrap().unwrap().version());
        world.advance(3 * 3600);
        while !world.purge(1000).await.is_finished() {}
    }
    assert!(versions[0] != versions[1] && versions[1] != versions[2], "{versions:?}");
}

/// CLK-02
///
/// A token issued in the future is invalid until then, and takes no place from other tokens.
#[tokio::test]
async fn a_client_credentials_token_of_the_future_waits_and_takes_no_place() {
    let (world, machine) = world_with(|config| config.limits.client_credentials_tokens = 8).await;
    let now = Clock::now(&world.clock);
    world.advance(100 * 24 * 3600);
    let mut future = Vec::new();
    for _ in 0..8 {
        future.push(token(&world, &machine).await);
    }
    world.clock.set(now);
    assert!(!world.opens(&future[0]).await);
    wa(world.access(&future[0]).await.unwrap_err(), 401, "invalid_token");
    empty(&world.revoke_as(&machine, &future[0]).await);
    for _ in 0..8 {
        let live = token(&world, &machine).await;
        assert!(world.opens(&live).await);
    }
    assert_eq!(ask(&world, &machine).await.status(), 429);
    world.advance(100 * 24 * 3600);
    assert!(!world.opens(&future[0]).await);
}

/// CC-03
#[tokio::test]
async fn a_client_revokes_one_of_its_tokens() {
    for revocation in [AccessTokenRevocation::TokenOnly, AccessTokenRevocation::WholeGrant] {
        let (world, machine) = world_with(|config| {
            config.revocation.access_token = revocation;
            // With so few, two tokens share a grant.
            config.limits.client_credentials_tokens = 16;
        })
        .await;
        let mut tokens = Vec::new();
        for _ in 0..16 {
            tokens.push(token(&world, &machine).await);
        }
        let revoked = tokens.swap_remove(3);
        e400(&world.revoke_as(&world.client, &revoked).await, "invalid_grant");
        assert!(world.opens(&revoked).await);
        world.events.take();
        assert_eq!(world.revoke_as(&machine, &revoked).await.status(), 200);
        assert_eq!(world.events.take().iter().filter(|event| event.starts_with("AccessTokenRevoked")).count(), 1);
        wa(world.access(&revoked).await.unwrap_err(), 401, "invalid_token");
        assert_eq!(world.introspect_as(&machine, &revoked).await, serde_json::json!({"active": false}));
        for other in tokens {
            assert!(world.opens(&other).await);
        }
    }
}

/// CC-03
#[tokio::test]
async fn what_ends_a_client_ends_its_tokens() {
    let (world, machine) = world().await;
    let registrar = world.server.registrar().unwrap();
    let id = machine.client_id();

    let access = token(&world, &machine).await;
    registrar.suspend(&id).await.unwrap();
    wa(world.access(&access).await.unwrap_err(), 401, "invalid_token");
    assert!(world.server.client_credentials_tokens_of(&id).await.unwrap().is_empty());
    registrar.resume(&id).await.unwrap();
    assert!(world.opens(&access).await);

    registrar.revoke_grants(&id).await.unwrap();
    wa(world.access(&access).await.unwrap_err(), 401, "invalid_token");
    assert!(world.server.client_credentials_tokens_of(&id).await.unwrap().is_empty());

    let access = token(&world, &machine).await;
    let mut reduced = client_credentials_form();
    reduced.client_scopes = "repo-issue:r".into();
    registrar.change_now(&id, reduced.clone(), None).await.unwrap();
    registrar.approve_now(&id, Approval::default()).await.unwrap();
    let own = world.access(&access).await.unwrap();
    assert_eq!(own.scopes().as_str(), "repo-issue:r");
    let error = world
        .server
        .resource()
        .require(&own, "repo-code", Permission::Read, Resource::Private("acme/build"))
        .unwrap_err();
    wa(error, 403, "insufficient_scope");

    reduced.grant_types = GrantTypes::default();
    registrar.change_now(&id, reduced, None).await.unwrap();
    registrar.approve_now(&id, Approval::default()).await.unwrap();
    wa(world.access(&access).await.unwrap_err(), 401, "invalid_token");
    assert!(world.server.client_credentials_tokens_of(&id).await.unwrap().is_empty());

    let other = world.register(client_credentials_form()).await;
    let id = other.client_id();
    let access = token(&world, &other).await;
    registrar.delete(&id, registrar.client(&id).await.unwrap().version()).await.unwrap();
    wa(world.access(&access).await.unwrap_err(), 401, "invalid_token");
    assert!(world.server.client_credentials_tokens_of(&id).await.unwrap().is_empty());
}

/// CC-03
#[tokio::test]
async fn the_list_tells_times_and_scopes_alone() {
    let (world, machine) = world().await;
    let start = world.server.client_credentials_tokens_of(&machine.client_id()).await.unwrap();
    assert!(start.is_empty());
    let first = token(&world, &machine).await;
    let issued = world.access(&first).await.unwrap().issued().unwrap();
    world.advance(60);
    ok(&world.token(&ASK).field("scope", "repo-issue:r").client(&machine).send().await);
    let tokens = world.server.client_credentials_tokens_of(&machine.client_id()).await.unwrap();
    let listed: Vec<_> = tokens
        .iter()
        .map(|token| {
            (
                token.issued.seconds() - issued.seconds(),
                token.expires.seconds() - issued.seconds(),
                token.scopes.as_str(),
            )
        })
        .collect();
    assert_eq!(listed, [(0, 900, "repo-code:rw repo-issue:r"), (60, 960, "repo-issue:r")]);
    assert!(!format!("{tokens:?}").contains(&first[first.len() - 20..]));
}

/// Refuses every user, and counts how often it is asked.
#[derive(Debug, Default)]
struct NoUser(Arc<Mutex<usize>>);

#[async_trait]
impl Subjects for NoUser {
    async fn status(&self, _: &Subject, _: &Client) -> SubjectStatus {
        *self.0.lock().unwrap() += 1;
        SubjectStatus::Refused
    }
}

/// CC-04
#[tokio::test]
async fn each_step_raises_one_event_and_asks_for_no_user() {
    let asked = Arc::new(Mutex::new(0));
    let mut config = config_of(Profile::Platform);
    config.client_credentials.on = true;
    config.limits.client_credentials_tokens = 1;
    let world = World::built(config, |builder| builder.subjects(NoUser(asked.clone()))).await;
    let machine = world.register(client_credentials_form()).await;
    world.events.take();
    let access = token(&world, &machine).await;
    let grant = world.access(&access).await.unwrap().grant().unwrap();
    let [issued] = &world.events.take()[..] else { panic!("not one event") };
    assert!(issued.starts_with("ClientCredentialsTokenIssued"), "{issued}");
    for part in [grant.to_string(), machine.id.clone(), "repo-code:rw repo-issue:r".to_owned()] {
        assert!(issued.contains(&part), "{part} in {issued}");
    }
    assert!(!issued.contains("subject"));
    too_many(&ask(&world, &machine).await, 900);
    let [refused] = &world.events.take()[..] else { panic!("not one event") };
    assert!(refused.starts_with("Refused") && refused.contains("TooManyClientCredentialsTokens"), "{refused}");
    world.server.registrar().unwrap().revoke_grants(&machine.client_id()).await.unwrap();
    let [ended] = &world.events.take()[..] else { panic!("not one event") };
    assert!(ended.contains("GrantsRevoked") && ended.contains(&machine.id), "{ended}");
    assert_eq!(*asked.lock().unwrap(), 0);
}
