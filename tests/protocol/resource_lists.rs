//! Lists of resources: each consent names its own, within what is registered.

use std::collections::BTreeSet;
use std::time::Duration;

use grantor::config::Profile;
use grantor::scope::{Permission, Resource, ResourceList, ResourceScope};
use grantor::store::{Authorization, Grant, Page, Record, RecordStore, Stores};
use grantor::{
    ApplicationForm, Approval, CachedClients, Client, ClientSecret, Consent, Decision, Registrar, RegistrarError,
    Subject,
};

use crate::largest::{all_scopes, longest_list};
use support::directory::{Directory, client};
use support::world::{
    Credentials, PKCE, REDIRECT_URI, Reviewer as _, SESSION, With as _, World, code, config_of, form, ok, page, pair,
    text,
};

/// Resources by number.
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

fn form_of(resources: &ResourceScope) -> ApplicationForm {
    form().with(|form| form.resource_scope = Some(resources.clone()))
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

/// Returns the bytes of a consent request, of its code and of the new grant: of a client with the longest list, this
/// redirect URI and all scopes, and with the longest `state`.
async fn sizes(redirect_uri: &str, consent: Consent) -> (usize, usize, usize) {
    let world = World::platform().await;
    let mut form = form_of(&longest_list());
    form.redirect_uris = vec![redirect_uri.to_owned()];
    form.scopes = all_scopes();
    let client = world.register(form).await;
    let state = "s".repeat(4096);
    let query = world.query_of(&client, &[PKCE[0], PKCE[1], ("state", &state)]);
    let pending = world.authorize(&query).await.unwrap();
    // As long as a UUID.
    let subject = Subject::new("s".repeat(36)).unwrap();
    let handle = world.server.hold(&pending, &subject, SESSION).await.unwrap();
    let size = async || {
        let page = RecordStore::<Authorization>::list(&world.store, subject.as_str(), Page::first(9)).await.unwrap();
        page[0].encode().len()
    };
    let held = size().await;
    let approved = Decision::Approve(consent);
    let redirect = world.server.decide(handle.expose(), &subject, SESSION, &approved).await.unwrap();
    let code_size = size().await;
    ok(&world.exchange_as(&client, &text(&code(&redirect), "code")).await);
    let grants = RecordStore::<Grant>::list(&world.store, subject.as_str(), Page::first(9)).await.unwrap();
    (held, code_size, grants[0].encode().len())
}

/// LIM-07
#[tokio::test]
async fn records_that_name_the_longest_list_stay_small() {
    let names = list(&longest_list());
    let everything = Consent::to_everything();
    for consent in [everything.clone(), everything.clone().resources(names.iter().step_by(2))] {
        let (held, code, grant) = sizes(REDIRECT_URI, consent).await;
        assert!(held <= 12 << 10 && code <= 12 << 10 && grant <= 6 << 10, "{held}, {code}, {grant}");
    }
    // The guide for store authors states these sizes.
    let longest_uri = format!("https://app.example.com/{}", "x".repeat(2048 - 24));
    assert_eq!(sizes(&longest_uri, everything).await, (11_349, 11_451, 5_202));
    let guide = include_str!("../../src/guide/writing_a_store.md");
    assert!(guide.contains("11 349 bytes for a consent request, 11 451 for a code, and 5 202 for a new grant"));
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
    for registered in [
        scope(0..40),
        scope(30..90),
        scope(0..80),
        scope(7..9),
        ResourceScope::Public,
        ResourceScope::All,
        scope(50..95),
        scope(0..80),
    ] {
        replace(&world, &client, &registered).await.unwrap();
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
        let mut shown = BTreeSet::new();
        for grant in world.server.grants_of(&world.alice).await.unwrap() {
            shown.insert(format!("{:?}", grant.resource_scope()));
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
/// A decision on a page from before a replacement grants what is registered now.
#[tokio::test]
async fn a_page_from_before_a_replacement_grants_what_is_registered_now() {
    let world = World::platform().await;
    let client = world.register(form_of(&scope(0..80))).await;
    let pending = world.authorize(&world.query_of(&client, &PKCE)).await.unwrap();
    let handle = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
    replace(&world, &client, &scope(40..100)).await.unwrap();
    let all = Decision::Approve(Consent::to_everything());
    let redirect = world.server.decide(handle.expose(), &world.alice, SESSION, &all).await.unwrap();
    let pair = pair(&world.exchange_as(&client, &text(&code(&redirect), "code")).await);
    assert_eq!(reached(&world, &client, &pair.access).await, (40..80).collect::<Vec<_>>());
}

/// SVC-2.1-07, LIM-07
/// If an application asks for all resources, a user may choose as many as a list may name.
#[tokio::test]
async fn a_user_chooses_at_most_as_many_resources_as_a_list_may_name() {
    let world = World::platform().await;
    let chosen = code_of(&world, &world.client, &scope(0..100)).await;
    let pair = pair(&world.exchange(&chosen).await);
    assert_eq!(reached(&world, &world.client, &pair.access).await, (0..100).collect::<Vec<_>>());
    let names: Vec<_> = (0..101).map(name).collect();
    let more = Decision::Approve(Consent::to_everything().resources(names.iter().map(String::as_str)));
    page(&world.decide(&world.query(&PKCE), more).await);
}

const SECRET: &str = "eighteen random words would do as well";

fn described(resources: &ResourceScope) -> Client {
    let client = client("described").resource_scope(resources.clone());
    client.secret(&ClientSecret::new(SECRET)).unwrap().build()
}

/// LIM-07
/// A directory may replace its lists: a consent covers what it names and what is registered now.
#[tokio::test]
async fn a_directory_replaces_a_list_at_any_time() {
    let mut world = World::platform().await;
    let directory = Directory::default();
    let stores = Stores::new(world.store.clone()).with_clients(directory.clone());
    world.server = world.builder(config_of(Profile::Platform), stores).build().unwrap();
    let client = Credentials { id: "described".into(), secret: SECRET.into() };
    directory.put(described(&scope(0..80)));
    let live = world.pair_of(&client).await;
    let code = world.code_for(&world.query_of(&client, &PKCE)).await;

    directory.put(described(&scope(20..100)));
    assert_eq!(reached(&world, &client, &live.access).await, (20..80).collect::<Vec<_>>());
    ok(&world.exchange_as(&client, &code).await);
    ok(&world.refresh_as(&client, &live.refresh).await);
}

/// LIM-07
/// A server that caches a client from before its list was replaced limits newer consents by the older list, and refuses
/// none of them.
#[tokio::test]
async fn a_cached_client_refuses_no_newer_consent() {
    let mut world = World::platform().await;
    let client = world.register(form_of(&scope(0..40))).await;
    let here = world.server.clone();
    let clients = CachedClients::new(world.store.clone(), Duration::from_secs(3600));
    let stores = Stores::new(world.store.clone()).with_registry(clients);
    let there = world.builder(config_of(Profile::Platform), stores).build().unwrap();
    let old = world.pair_of(&client).await;
    world.server = there.clone();
    assert!(world.opens(&old.access).await, "the client is cached now");
    world.server = here;
    replace(&world, &client, &scope(0..60)).await.unwrap();
    let live = world.pair_of(&client).await;

    world.server = there;
    assert_eq!(reached(&world, &client, &live.access).await, (0..40).collect::<Vec<_>>());
    ok(&world.refresh_as(&client, &live.refresh).await);
}
