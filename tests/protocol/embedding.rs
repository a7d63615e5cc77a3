//! What an embedder relies on beside the protocol.

use grantor::scope::{Permission, Resource, ResourceScope};
use grantor::wire::{Endpoint, Request};
use grantor::{
    Attempt, AuthorizationServer, Client, ClientId, Config, Consent, Decision, MemoryStore, PkceRequirement, Profile,
    SubjectStatus, Subjects, Throttle, ThrottleDecision,
};

use crate::world::{Credentials, ISSUER, PKCE, SESSION, World, code, form, page, pair, public_form, red, text};

/// 8414-3-01
#[tokio::test]
async fn endpoints_are_mounted_where_the_metadata_says() {
    for issuer in ["https://auth.example", "https://auth.example/tenant", "https://auth.example/a/b/"] {
        let server = AuthorizationServer::new(Config::platform(issuer), MemoryStore::new()).unwrap();
        let response = server.serve(Endpoint::Metadata, &Request::new("GET")).await;
        let metadata: grantor::message::Metadata = serde_json::from_slice(response.body()).unwrap();
        for (endpoint, advertised) in [
            (Endpoint::Authorization, &metadata.authorization_endpoint),
            (Endpoint::Token, &metadata.token_endpoint),
            (Endpoint::Revocation, &metadata.revocation_endpoint),
            (Endpoint::Introspection, &metadata.introspection_endpoint),
        ] {
            let mounted = format!("https://auth.example{}", server.path(endpoint));
            assert_eq!(advertised.as_deref(), Some(mounted.as_str()));
        }
        let below = issuer.trim_end_matches('/').trim_start_matches("https://auth.example");
        assert_eq!(server.path(Endpoint::Metadata), format!("/.well-known/oauth-authorization-server{below}"));
    }
}

/// D-29
#[tokio::test]
async fn what_the_form_sent_can_be_passed_as_it_came() {
    let world = World::platform().await;
    let mut listed = form();
    listed.resource_scope = Some(ResourceScope::specified(["one", "two"]).unwrap());
    let listed = world.register(listed).await;
    let scopes = ["repo-code:r", "repo-issue:rw"];
    let ticked = |resources: &[&str]| Decision::Approve(Consent::ticked(scopes, resources.iter().copied()));

    // Not asked for specified resources: the form has no boxes for them.
    let redirect = world.decide(&world.query(&PKCE), ticked(&[])).await;
    let all = pair(&world.exchange(&text(&code(&redirect), "code")).await);
    assert_eq!(all.scope, "repo-code:r repo-issue:rw");
    assert_eq!(world.access(&all.access).await.unwrap().resource_scope(), ResourceScope::All);

    // Asked for: what was ticked, and a refusal if nothing was.
    let redirect = world.decide(&world.query_of(&listed, &PKCE), ticked(&["two"])).await;
    let two = pair(&world.exchange_as(&listed, &text(&code(&redirect), "code")).await);
    let token = world.access(&two.access).await.unwrap();
    assert_eq!(token.resource_scope(), ResourceScope::specified(["two"]).unwrap());
    assert!(!token.resource_scope().permits(Resource::Private("one")));
    red(&world.decide(&world.query_of(&listed, &PKCE), ticked(&[])).await, "access_denied");
    let nothing = Decision::Approve(Consent::ticked([""; 0], ["one"]));
    red(&world.decide(&world.query_of(&listed, &PKCE), nothing).await, "access_denied");
}

/// SVC-5-02
#[tokio::test]
async fn a_client_of_a_directory_has_no_resource_unless_told() {
    let client = Client::builder(ClientId::new("directory").unwrap()).build();
    for resource in [Resource::Public("one"), Resource::Private("one")] {
        assert!(!client.resource_scope().permits(resource));
    }
    assert!(client.scopes().is_empty());
}

#[derive(Debug)]
struct OnlyKnownPeers;

#[async_trait::async_trait]
impl Throttle for OnlyKnownPeers {
    async fn check(&self, attempt: &Attempt<'_>) -> ThrottleDecision {
        match attempt.peer {
            Some(_) => ThrottleDecision::Allow,
            None => ThrottleDecision::Refuse { retry_after: std::time::Duration::from_secs(1) },
        }
    }

    async fn failed(&self, _: &Attempt<'_>) {}
}

/// D-31
#[tokio::test]
async fn the_throttle_knows_from_where_a_held_request_came() {
    let world = World::built(Config::platform(ISSUER), |builder| builder.throttle(OnlyKnownPeers)).await;
    let query = world.query(&[]);
    let request = Request::new("GET").query(query.as_bytes());
    let pending = world.server.authorize(&request.peer([192, 0, 2, 1].into())).await.unwrap();
    assert!(world.server.hold(&pending, &world.alice, SESSION).await.is_ok());
    let pending = world.server.authorize(&request).await.unwrap();
    assert!(world.server.hold(&pending, &world.alice, SESSION).await.is_err());
    // An attempt can be made by hand, so that a throttle can be tested alone.
    assert!(matches!(OnlyKnownPeers.check(&Attempt::new(Endpoint::Token)).await, ThrottleDecision::Refuse { .. }));
}

#[derive(Debug)]
struct Nobody;

#[async_trait::async_trait]
impl Subjects for Nobody {
    async fn status(&self, _: &grantor::Subject, _: &Client) -> SubjectStatus {
        SubjectStatus::Refused
    }
}

/// D-31
#[tokio::test]
async fn a_locked_user_who_agreed_is_not_told_as_one_who_refused() {
    let world = World::built(Config::platform(ISSUER), |builder| builder.subjects(Nobody)).await;
    world.events.take();
    red(&world.approve(&world.query(&[])).await, "access_denied");
    let events = world.events.take();
    assert!(events.iter().any(|event| event.contains("SubjectRefused")), "{events:?}");
    assert!(!events.iter().any(|event| event.starts_with("Denied")), "{events:?}");
}

/// 8414-2-03
#[tokio::test]
async fn a_public_client_that_is_not_offered_is_not_served_either() {
    let world = World::platform().await;
    let public = world.register(public_form()).await;
    let tokens = world.pair_of(&public).await;
    let closed = AuthorizationServer::builder(Config::platform(ISSUER), world.store.clone());
    let closed = closed.clock(world.clock.clone()).build().unwrap();
    let world = World { server: closed, ..world };
    page(&world.refused(&world.query_of(&public, &PKCE)).await);
    let Credentials { id, .. } = &public;
    let form = [("grant_type", "refresh_token"), ("refresh_token", tokens.refresh.as_str()), ("client_id", id)];
    crate::world::e401(&world.token(&form).send().await, "invalid_client");
}

/// MCP-0618-05, 9700-2.1-01
#[test]
fn a_profile_keeps_its_promises_however_it_was_chosen() {
    let refused = |config: Config| AuthorizationServer::new(config, MemoryStore::new()).unwrap_err().field();
    for (own, profile) in [(Config::strict(ISSUER), Profile::Strict), (Config::mcp(ISSUER), Profile::Mcp)] {
        let server = AuthorizationServer::new(own, MemoryStore::new()).unwrap();
        assert_eq!(server.config().profile(), profile);
        let mut config = server.config().clone();
        config.pkce = PkceRequirement::PublicClients;
        assert_eq!(refused(config), "pkce");
        let mut config = server.config().clone();
        config.redirect_uris.any_port = true;
        assert_eq!(refused(config), "redirect_uris.any_port");
    }
}

/// 9700-4.11.2-01
#[tokio::test]
async fn an_error_tells_whether_it_goes_to_the_client() {
    let world = World::platform().await;
    for (query, redirects) in
        [(world.query(&[("scope", "nothing")]), true), (world.query(&[("redirect_uri", "https://evil.test/")]), false)]
    {
        let error = world.authorize(&query).await.unwrap_err();
        assert_eq!((error.redirects(), error.needs_sign_in()), (redirects, redirects));
        assert_eq!(error.response(None).header("Location"), None);
    }
}

/// 9700-4.11.2-01
#[tokio::test]
async fn a_page_can_say_who_asks_for_what_and_where_the_browser_goes() {
    let world = World::platform().await;
    let pending = world.authorize(&world.query(&[("scope", "repo-code:rw account-profile:r")])).await.unwrap();
    let asked: Vec<_> = pending.requested().map(|scope| (scope.token().to_owned(), scope.permission())).collect();
    assert_eq!(
        asked,
        [
            ("repo-code:rw".to_owned(), Some(Permission::ReadWrite)),
            ("account-profile:r".to_owned(), Some(Permission::Read))
        ]
    );
    assert_eq!(pending.form_action_sources(), "https: http:");
    let shown = format!("{pending:?}");
    for part in ["PendingAuthorization", &world.client.id, "https://app.example.com/cb", "repo-code"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let redirected = world.authorize(&world.query(&[("scope", "nothing")])).await.unwrap_err();
    assert_eq!(redirected.form_action_sources(), Some("https: http:"));
    let shown = world.authorize(&world.query(&[("redirect_uri", "https://evil.test/")])).await.unwrap_err();
    assert_eq!(shown.form_action_sources(), None);
}

/// 6749-4.1.2.1-05
#[tokio::test]
async fn a_refusal_by_the_user_is_described_as_one() {
    let world = World::platform().await;
    let denied = red(&world.decide(&world.query(&PKCE), Decision::Deny).await, "access_denied");
    assert_eq!(text(&denied, "error_description"), "the request was denied");
    let refused = red(&world.refused(&world.query(&[("scope", "nothing")])).await, "invalid_scope");
    assert_ne!(text(&refused, "error_description"), "the request was denied");
}
