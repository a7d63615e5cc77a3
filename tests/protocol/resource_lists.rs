//! Long lists of resources: they are stored once, in the row of their client, and consents refer to them.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use grantor::config::Profile;
use grantor::redirect_uri::{RedirectUriPolicy, RegisteredRedirectUri};
use grantor::registration::Reduction;
use grantor::scope::{Permission, Resource, ResourceList, ResourceScope, ScopeCatalog};
use grantor::store::{Authorization, ClientStore, Grant, Page, RecordStore, StoreError, Stores};
use grantor::{
    ApplicationForm, Approval, AuthorizationServer, CachedClients, Client, ClientId, ClientSecret, Consent, Decision,
    Registrar, RegistrarError, Subject,
};

use support::world::{
    Credentials, PKCE, REDIRECT_URI, Reviewer as _, SCOPES, SESSION, World, code, config_of, e400, form, ok, page,
    pair, red, text,
};

/// Resources by number. From 33 on, their names take more than 256 bytes: 4 each, and 4 for the length.
fn scope(numbers: impl IntoIterator<Item = usize>) -> ResourceScope {
    ResourceScope::specified(numbers.into_iter().map(name)).unwrap()
}

fn name(number: usize) -> String {
    format!("r{number:03}")
}

fn list(scope: &ResourceScope) -> ResourceList {
    let ResourceScope::Specified(list) = scope else { panic!("{scope:?}") };
    list.clone()
}

/// 1000 resources of 32 768 bytes; each digit results in other resources.
fn longest(digit: usize) -> ResourceScope {
    let end = |number: usize| if number < 768 { "x" } else { "" };
    ResourceScope::specified((0..1000).map(|number| format!("{digit}-{number:030}{}", end(number)))).unwrap()
}

fn form_of(resources: &ResourceScope) -> ApplicationForm {
    let mut form = form();
    form.resource_scope = Some(resources.clone());
    form
}

fn registrar(world: &World) -> Registrar {
    world.server.registrar().unwrap()
}

/// Replaces the resources in force with these, and approves them.
async fn replace(world: &World, client: &Credentials, resources: &ResourceScope) -> Result<(), RegistrarError> {
    registrar(world).change_now(&client.client_id(), form_of(resources), None).await?;
    registrar(world).approve_now(&client.client_id(), Approval::default()).await.map(drop)
}

fn picked(resources: &ResourceScope) -> Decision {
    Decision::Approve(Consent::to_everything().resources(list(resources).iter()))
}

/// Returns a code for the resources that the user chose.
async fn code_of(world: &World, client: &Credentials, resources: &ResourceScope) -> String {
    text(&code(&world.decide(&world.query_of(client, &PKCE), picked(resources)).await), "code")
}

/// Returns the numbers below 100 that a token reaches, and asserts that all ways to ask agree.
async fn reached(world: &World, client: &Credentials, access: &str) -> Vec<usize> {
    let token = world.access(access).await.unwrap();
    let permits = |number: &usize| {
        let name = name(*number);
        let by = |resource: Resource<'_>| token.permits("repo-code", Permission::Read, resource);
        assert_eq!(by(Resource::Private(&name)), token.resource_scope().permits(Resource::Private(&name)), "{name}");
        by(Resource::Private(&name))
    };
    let reached: Vec<_> = (0..100).filter(permits).collect();
    let body = world.introspect_as(client, access).await;
    if let ResourceScope::Specified(left) = token.resource_scope() {
        let names: Vec<_> = left.iter().collect();
        assert_eq!(body["resources"], serde_json::json!(names));
        assert_eq!(names, reached.iter().map(|number| name(*number)).collect::<Vec<_>>());
    }
    reached
}

async fn former_lists(world: &World, client: &Credentials) -> usize {
    let client = registrar(world).client(&client.client_id()).await.unwrap();
    client.former_resources().len()
}

/// LIM-07
/// The largest records of a client with the longest list, the longest redirect URI and all scopes.
#[tokio::test]
async fn records_of_a_long_list_stay_small() {
    let world = World::platform().await;
    let mut form = form_of(&longest(0));
    form.redirect_uris = vec![format!("https://app.example.com/{}", "x".repeat(2048 - 24))];
    let catalog = ScopeCatalog::platform();
    let writable = |name: &str| catalog.parse(format!("{name}:rw").as_bytes()).is_ok();
    let all = catalog.definitions().iter().map(|definition| definition.name());
    let all: Vec<_> = all.map(|name| format!("{name}:{}", if writable(name) { "rw" } else { "r" })).collect();
    form.scopes = all.join(" ");
    let client = world.register(form).await;
    let state = "s".repeat(4096);
    let query = world.query_of(&client, &[PKCE[0], PKCE[1], ("state", &state)]);
    let pending = world.authorize(&query).await.unwrap();
    // As long as a UUID.
    let subject = Subject::new("s".repeat(36)).unwrap();
    let names = longest(0);
    let names = list(&names);
    let half: Vec<_> = names.iter().step_by(2).collect();
    let six: Vec<_> = names.iter().take(6).collect();
    let everything = Consent::to_everything();
    let consents = [everything.clone(), everything.clone().resources(half), everything.resources(six)];
    let mut sizes = Vec::new();
    for consent in consents {
        let handle = world.server.hold(&pending, &subject, SESSION).await.unwrap();
        let last = async || RecordStore::<Authorization>::list(&world.store, &subject, Page::first(9)).await.unwrap();
        let size = async || last().await.iter().max_by_key(|row| row.encode().len()).unwrap().encode().len();
        let held = size().await;
        let approved = Decision::Approve(consent);
        let redirect = world.server.decide(handle.expose(), &subject, SESSION, &approved).await.unwrap();
        let code_size = size().await;
        ok(&world.exchange_as(&client, &text(&code(&redirect), "code")).await);
        let grants = RecordStore::<Grant>::list(&world.store, &subject, Page::first(9)).await.unwrap();
        let grant = grants.iter().map(|grant| grant.encode().len()).max().unwrap();
        assert!(held <= 8 << 10 && code_size <= 3 << 10 && grant <= 2 << 10, "{held}, {code_size}, {grant}");
        sizes.push((held, code_size, grant));
    }
    // The guide for store authors states these sizes.
    assert_eq!(sizes[0], (7009, 2941, 863));
    let guide = include_str!("../../src/guide/writing_a_store.md");
    assert!(
        guide.contains("7 009 bytes for a consent request, 2 941 for a code, and 863 for a new grant"),
        "{sizes:?}"
    );
}

/// D-29, LIM-07
/// After every change of the list, a consent covers the chosen resources that are registered now.
#[tokio::test]
async fn a_consent_outlives_every_change_of_its_list() {
    let world = World::platform().await;
    let client = world.register(form_of(&scope(0..80))).await;
    let (all, even) = (scope(0..80), scope((0..80).step_by(2)));
    let mut pairs = Vec::new();
    for chosen in [&all, &even, &scope(0..3)] {
        pairs.push((chosen.clone(), pair(&world.exchange_as(&client, &code_of(&world, &client, chosen).await).await)));
    }
    let late = code_of(&world, &client, &even).await;
    // Reduced, moved, extended again, a short list, no list, and the first one again.
    for (registered, former) in [
        (scope(0..40), 1),
        (scope(30..90), 2),
        (scope(0..80), 2),
        (scope(7..9), 3),
        (ResourceScope::Public, 3),
        (ResourceScope::All, 3),
        (scope(50..95), 3),
        (scope(0..80), 3),
    ] {
        replace(&world, &client, &registered).await.unwrap();
        assert_eq!(former_lists(&world, &client).await, former, "{registered:?}");
        let granted_now = (registered != ResourceScope::Public).then(|| registered.clone());
        if let Some(ResourceScope::Specified(list)) = &granted_now {
            let chosen = ResourceScope::Specified(list.clone());
            let code = code_of(&world, &client, &chosen).await;
            pairs.push((chosen, pair(&world.exchange_as(&client, &code).await)));
        }
        for (chosen, pair) in &pairs {
            let expected: Vec<_> = (0..100)
                .filter(|number| {
                    let is_in = |scope: &ResourceScope| scope.permits(Resource::Private(&name(*number)));
                    is_in(chosen) && is_in(&registered)
                })
                .collect();
            assert_eq!(reached(&world, &client, &pair.access).await, expected, "{chosen:?} under {registered:?}");
        }
        // What the page shows.
        let now = registrar(&world).client(&client.client_id()).await.unwrap();
        let mut shown = BTreeSet::new();
        for grant in world.server.grants_of(&world.alice).await.unwrap() {
            shown.insert(format!("{:?}", grant.resource_scope(&now)));
        }
        assert_eq!(shown, pairs.iter().map(|(chosen, _)| format!("{chosen:?}")).collect());
    }
    // An earlier code and an earlier refresh token work as well.
    let exchanged = pair(&world.exchange_as(&client, &late).await);
    assert_eq!(reached(&world, &client, &exchanged.access).await, (0..80).step_by(2).collect::<Vec<_>>());
    for (_, old) in pairs {
        ok(&world.refresh_as(&client, &old.refresh).await);
    }
}

/// D-29, LIM-07
/// A code that is exchanged under a reduced registration stays reduced when the registration is extended again.
#[tokio::test]
async fn a_grant_made_under_a_bound_does_not_grow() {
    let world = World::platform().await;
    let client = world.register(form_of(&scope(0..80))).await;
    let code = world.code_for(&world.query_of(&client, &PKCE)).await;
    replace(&world, &client, &scope(40..100)).await.unwrap();
    let bounded = pair(&world.exchange_as(&client, &code).await);
    replace(&world, &client, &scope(0..100)).await.unwrap();
    assert_eq!(reached(&world, &client, &bounded.access).await, (40..80).collect::<Vec<_>>());
}

/// LIM-07
/// Equal lists are kept once, and the room for replaced ones is bounded.
#[tokio::test]
async fn replaced_lists_are_kept_until_the_grants_are_withdrawn() {
    let world = World::platform().await;
    let client = world.register(form_of(&longest(0))).await;
    let old = world.pair_of(&client).await;
    for round in 0..6 {
        replace(&world, &client, &longest((round + 1) % 2)).await.unwrap();
        assert_eq!(former_lists(&world, &client).await, 1);
    }
    for (former, digit) in [(2, 2), (3, 3), (4, 4)] {
        replace(&world, &client, &longest(digit)).await.unwrap();
        assert_eq!(former_lists(&world, &client).await, former);
    }
    let refused = replace(&world, &client, &longest(5)).await;
    assert!(matches!(refused, Err(RegistrarError::TooManyResourceLists)), "{refused:?}");
    assert!(refused.unwrap_err().to_string().contains("revoke its grants"));
    // An administrator can still reduce the registration: the oldest list makes room.
    let version = registrar(&world).application(&client.client_id()).await.unwrap().version();
    let some = ResourceScope::specified(list(&longest(4)).iter().take(3)).unwrap();
    registrar(&world).reduce(&client.client_id(), version, Reduction::default().resource_scope(some)).await.unwrap();
    assert_eq!(former_lists(&world, &client).await, 4);
    // All other steps still work, and so does a change back to a list that is kept.
    registrar(&world).suspend(&client.client_id()).await.unwrap();
    registrar(&world).resume(&client.client_id()).await.unwrap();
    assert!(world.opens(&old.access).await);
    registrar(&world).revoke_grants(&client.client_id()).await.unwrap();
    assert_eq!(former_lists(&world, &client).await, 0);
    assert!(!world.opens(&old.access).await);
    registrar(&world).approve_now(&client.client_id(), Approval::default()).await.unwrap();
    let new = world.pair_of(&client).await;
    assert_eq!(world.access(&new.access).await.unwrap().resource_scope(), longest(5));
}

/// LIM-07
/// A decision on a page whose list was dropped meanwhile grants nothing.
#[tokio::test]
async fn a_page_from_before_a_replacement_and_a_withdrawal_grants_nothing() {
    let world = World::platform().await;
    let client = world.register(form_of(&scope(0..80))).await;
    for (withdraws, granted) in [(false, true), (true, false)] {
        replace(&world, &client, &scope(0..80)).await.unwrap();
        let pending = world.authorize(&world.query_of(&client, &PKCE)).await.unwrap();
        let handle = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
        replace(&world, &client, &scope(40..100)).await.unwrap();
        if withdraws {
            registrar(&world).revoke_grants(&client.client_id()).await.unwrap();
        }
        let all = Decision::Approve(Consent::to_everything());
        let redirect = world.server.decide(handle.expose(), &world.alice, SESSION, &all).await.unwrap();
        if granted {
            let pair = pair(&world.exchange_as(&client, &text(&code(&redirect), "code")).await);
            assert_eq!(reached(&world, &client, &pair.access).await, (40..80).collect::<Vec<_>>());
        } else {
            red(&redirect, "access_denied");
        }
    }
}

/// SVC-2.1-07, LIM-07
/// If an application asks for all resources, a user may choose some, as many as fit into a record.
#[tokio::test]
async fn what_no_list_has_must_fit_the_record() {
    let world = World::platform().await;
    let short = code_of(&world, &world.client, &scope(0..32)).await;
    let pair = pair(&world.exchange(&short).await);
    assert_eq!(reached(&world, &world.client, &pair.access).await, (0..32).collect::<Vec<_>>());
    page(&world.decide(&world.query(&PKCE), picked(&scope(0..33))).await);
}

/// A directory with your service's own clients.
#[derive(Clone, Debug, Default)]
struct Directory(Arc<Mutex<HashMap<ClientId, Arc<Client>>>>);

#[async_trait::async_trait]
impl ClientStore for Directory {
    async fn find(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        Ok(self.0.lock().unwrap().get(id).cloned())
    }

    async fn current(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        self.find(id).await
    }
}

const SECRET: &str = "eighteen random words would do as well";

fn described(resources: &ResourceScope, former: impl IntoIterator<Item = ResourceList>) -> Arc<Client> {
    let config = config_of(Profile::Platform);
    let client = Client::builder(ClientId::new("described").unwrap())
        .redirect_uri(RegisteredRedirectUri::parse(REDIRECT_URI, &RedirectUriPolicy::default()).unwrap())
        .scopes(config.scopes.parse(SCOPES.as_bytes()).unwrap())
        .resource_scope(resources.clone())
        .former_resources(former)
        .secret(&ClientSecret::new(SECRET))
        .unwrap()
        .build();
    Arc::new(client)
}

/// LIM-07
/// If a directory drops a list, its consents lose the resources. They have them again once the list is back.
#[tokio::test]
async fn a_consent_whose_list_is_unknown_covers_no_named_resource() {
    let mut world = World::platform().await;
    let directory = Directory::default();
    let put = |client: Arc<Client>| directory.0.lock().unwrap().insert(client.id().clone(), client);
    let stores = Stores::new(world.store.clone()).with_clients(directory.clone());
    let builder = AuthorizationServer::builder(config_of(Profile::Platform), stores);
    world.server = builder.clock(world.clock.clone()).build().unwrap();
    let client = Credentials { id: "described".into(), secret: SECRET.into() };
    let (old, new) = (scope(0..80), scope(20..100));
    put(described(&old, []));
    let live = world.pair_of(&client).await;
    let code = world.code_for(&world.query_of(&client, &PKCE)).await;

    put(described(&new, []));
    assert_eq!(reached(&world, &client, &live.access).await, Vec::<usize>::new());
    let body = world.introspect_as(&client, &live.access).await;
    assert_eq!((&body["active"], &body["resources"]), (&true.into(), &serde_json::json!([])));
    e400(&world.exchange_as(&client, &code).await, "invalid_grant");
    e400(&world.refresh_as(&client, &live.refresh).await, "invalid_grant");

    put(described(&new, [list(&old)]));
    assert_eq!(reached(&world, &client, &live.access).await, (20..80).collect::<Vec<_>>());
    ok(&world.exchange_as(&client, &code).await);
    ok(&world.refresh_as(&client, &live.refresh).await);
}

/// LIM-07
/// A server that still caches a client from before its list was replaced does not reject newer consents.
#[tokio::test]
async fn a_cached_client_without_the_list_hides_no_newer_consent() {
    let mut world = World::platform().await;
    let client = world.register(form_of(&scope(0..40))).await;
    let here = world.server.clone();
    let servers: Vec<_> = (0..3)
        .map(|_| {
            let clients = CachedClients::new(world.store.clone(), Duration::from_secs(3600));
            let stores = Stores::new(world.store.clone()).with_clients(clients);
            let builder = AuthorizationServer::builder(config_of(Profile::Platform), stores);
            builder.clock(world.clock.clone()).build().unwrap()
        })
        .collect();
    let old = world.pair_of(&client).await;
    for server in &servers {
        world.server = server.clone();
        assert!(world.opens(&old.access).await, "the client is cached now");
    }
    world.server = here;
    replace(&world, &client, &scope(0..60)).await.unwrap();
    let live = world.pair_of(&client).await;
    let code = world.code_for(&world.query_of(&client, &PKCE)).await;

    world.server = servers[0].clone();
    assert_eq!(reached(&world, &client, &live.access).await, (0..60).collect::<Vec<_>>());
    // There is only one 503 each: it makes the server read the client again.
    world.server = servers[1].clone();
    assert_eq!(world.exchange_as(&client, &code).await.status(), 503);
    let exchanged = pair(&world.exchange_as(&client, &code).await);
    assert_eq!(reached(&world, &client, &exchanged.access).await, (0..60).collect::<Vec<_>>());
    world.server = servers[2].clone();
    assert_eq!(world.refresh_as(&client, &live.refresh).await.status(), 503);
    ok(&world.refresh_as(&client, &live.refresh).await);
}
