//! The registration, the settings or the requirements change between the steps of a flow: no client gets
//! more than the page and the response stated, and every record that is written can be read.

use grantor::scope::{Permission, Permissions, Resource, ResourceScope, ScopeCatalog, ScopeDefinition};
use grantor::store::{Grant, Insertion, Page, Record, RecordStore, Stores};
use grantor::{ApplicationForm, Approval, AuthorizationServer, Config, Consent, Decision, MemoryStore};

use support::world::{
    Credentials, ISSUER, PKCE, Reviewer as _, SESSION, With as _, World, code, e400, empty, form, ok, pair, red, text,
};

/// Replaces the registration in force with that form, and approves it.
async fn change(world: &World, client: &Credentials, form: ApplicationForm, approval: Approval) {
    let registrar = world.server.registrar().unwrap();
    registrar.change_now(&client.client_id(), form, None).await.unwrap();
    registrar.approve_now(&client.client_id(), approval).await.unwrap();
}

fn specified(resources: &[&str]) -> ApplicationForm {
    let mut form = form();
    form.resource_scope = Some(ResourceScope::specified(resources.iter().copied()).unwrap());
    form
}

/// D-29
#[tokio::test]
async fn a_code_whose_resources_are_all_gone_gives_nothing() {
    let world = World::platform().await;
    let client = world.register(specified(&["one", "two"])).await;
    let kept = world.code_for(&world.query_of(&client, &PKCE)).await;
    let gone = world.code_for(&world.query_of(&client, &PKCE)).await;
    let pair_before = pair(&world.exchange_as(&client, &kept).await);
    let public = form().with(|form| form.resource_scope = Some(ResourceScope::Public));
    for other in [specified(&["three"]), public] {
        change(&world, &client, other, Approval::default()).await;
        e400(&world.exchange_as(&client, &gone).await, "invalid_grant");
        e400(&world.refresh_as(&client, &pair_before.refresh).await, "invalid_grant");
        let token = world.access(&pair_before.access).await.unwrap();
        assert!(!token.permits("repo-code", Permission::Read, Resource::Private("one")));
    }
    // Nothing was revoked: resources that are registered again work again.
    change(&world, &client, specified(&["two"]), Approval::default()).await;
    ok(&world.exchange_as(&client, &gone).await);
    ok(&world.refresh_as(&client, &pair_before.refresh).await);
    let rows = RecordStore::<Grant>::list(&world.store, world.alice.as_str(), Page::first(10)).await.unwrap();
    for row in rows {
        assert_eq!(Grant::decode(&row.encode()).unwrap(), *row);
    }
    assert_eq!(world.server.revoke_subject(&world.alice).await.unwrap(), 2);
}

/// 6749-6-03, D-29, CVE-2026-114619
#[tokio::test]
async fn a_token_never_has_more_than_its_answer_told() {
    let world = World::platform().await;
    let first = world.pair().await;
    let reduce = form().with(|form| form.scopes = "repo-code:r".into());
    change(&world, &world.client, reduce, Approval::default()).await;
    let asked = [("grant_type", "refresh_token"), ("refresh_token", first.refresh.as_str()), ("scope", "repo-code:r")];
    let by_request = pair(&world.token(&asked).client(&world.client).send().await);
    let by_default = pair(&world.refresh(&first.refresh).await);
    assert_eq!((by_request.scope.as_str(), by_default.scope.as_str()), ("repo-code:r", "repo-code:r"));
    change(&world, &world.client, form(), Approval::default()).await;
    for issued in [by_request, by_default] {
        let token = world.access(&issued.access).await.unwrap();
        assert_eq!(token.scopes().as_str(), "repo-code:r");
        assert!(!token.permits("repo-code", Permission::ReadWrite, Resource::Account));
        // The next refresh has all scopes of the grant again.
        assert_eq!(pair(&world.refresh(&issued.refresh).await).scope, first.scope);
    }
}

/// A server on the world's store whose catalog has one scope less than the registration.
fn without_issues(world: &World) -> AuthorizationServer {
    let catalog = ScopeCatalog::builder()
        .scope(ScopeDefinition::new("repo-code", Permissions::ReadOnlyOrReadWrite))
        .scope(ScopeDefinition::new("account-profile", Permissions::ReadOnlyOrReadWrite))
        .build()
        .unwrap();
    let mut config = Config::platform(ISSUER);
    config.scopes = catalog;
    world.builder(config, world.store.clone()).build().unwrap()
}

/// 6749-4.1.1-01
#[tokio::test]
async fn what_the_page_cannot_show_is_not_granted() {
    let mut world = World::platform().await;
    let held_before = world.authorize(&world.query(&[])).await.unwrap();
    let handle = world.server.hold(&held_before, &world.alice, SESSION).await.unwrap();
    world.server = without_issues(&world);

    let shown = world.authorize(&world.query(&[])).await.unwrap();
    let tokens: Vec<_> = shown.requested().map(|scope| scope.token().to_owned()).collect();
    assert_eq!(tokens, ["repo-code:rw", "account-profile:r"]);
    assert_eq!(shown.scopes().as_str(), "repo-code:rw account-profile:r");

    let agreed = Decision::Approve(Consent::to_everything());
    let redirect = world.server.decide(handle.expose(), &world.alice, SESSION, &agreed).await.unwrap();
    let response = world.exchange_without_pkce(&text(&code(&redirect), "code")).await;
    assert_eq!(pair(&response).scope, "repo-code:rw account-profile:r");
}

/// 7636-4.4.1-01
#[tokio::test]
async fn pkce_that_is_demanded_meanwhile_is_demanded_at_every_step() {
    let world = World::platform().await;
    let early = world.code_for(&world.query(&[("state", "early")])).await;
    let with_challenge = world.code().await;
    let pending = world.authorize(&world.query(&[])).await.unwrap();
    let handle = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
    change(&world, &world.client, form(), Approval::default().require_pkce()).await;

    red(&world.refused(&world.query(&[])).await, "invalid_request");
    let agreed = Decision::Approve(Consent::to_everything());
    let refused = world.server.decide(handle.expose(), &world.alice, SESSION, &agreed).await.unwrap_err();
    red(&refused.response(Some(&world.alice)), "invalid_request");
    e400(&world.exchange_without_pkce(&early).await, "invalid_grant");
    ok(&world.exchange(&with_challenge).await);
}

/// 7009-2.1-05
#[tokio::test]
async fn a_record_of_any_version_is_refreshed_and_revoked() {
    for version in [0, 1 << 31, u32::MAX] {
        let world = World::platform().await;
        let live = world.pair().await;
        let row =
            RecordStore::<Grant>::list(&world.store, world.alice.as_str(), Page::first(1)).await.unwrap().remove(0);
        let mut bytes = row.encode();
        // The kind, the layout and the 16 bytes of the id precede the version.
        bytes[18..22].copy_from_slice(&u32::to_be_bytes(version));
        let other = MemoryStore::new();
        let inserted = RecordStore::<Grant>::insert(&other, Grant::decode(&bytes).unwrap().into()).await.unwrap();
        assert_eq!(inserted, Insertion::Inserted);
        let stores = Stores::new(world.store.clone()).with_tokens(other);
        let server = world.builder(Config::platform(ISSUER), stores).build().unwrap();
        let world = World { server, ..world };
        assert_eq!(world.refresh(&live.refresh).await.status(), 200);
        empty(&world.revoke(&live.refresh).await);
        assert!(!world.opens(&live.access).await);
    }
}
