//! The policy's decisions about documents, before and after they are fetched.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use grantor::client::ClientOrigin;
use grantor::client_metadata::RegistrationBounds;
use grantor::hooks::{
    ApproveWithin, DocumentHosts, DocumentRequest, QueueAll, RegistrationDecision, RegistrationPolicy,
    RegistrationRequest,
};
use grantor::scope::ResourceScope;
use serde_json::json;

use super::{URL, Web, World, ask_for, bounds, document, on, pair_of, refused, with};
use support::world::{page, pair};

/// A policy whose decisions a test can change.
#[derive(Clone, Debug)]
pub(super) struct Moody(Arc<Mutex<Mood>>);

#[derive(Debug)]
struct Mood {
    admits: bool,
    decision: RegistrationDecision,
    asked: Vec<String>,
}

impl Moody {
    pub(super) fn new() -> Self {
        let decision = RegistrationDecision::Approve(bounds());
        Self(Arc::new(Mutex::new(Mood { admits: true, decision, asked: Vec::new() })))
    }

    pub(super) fn set(&self, admits: bool, decision: RegistrationDecision) {
        let mut mood = self.0.lock().unwrap();
        (mood.admits, mood.decision) = (admits, decision);
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap().asked)
    }
}

#[async_trait]
impl RegistrationPolicy for Moody {
    async fn decide(&self, request: &RegistrationRequest<'_>) -> RegistrationDecision {
        assert_eq!((request.origin, request.document_url), (ClientOrigin::MetadataDocument, Some(URL)));
        assert_eq!(request.peer, Some([192, 0, 2, 1].into()));
        let mut mood = self.0.lock().unwrap();
        mood.asked.push(format!("after {}", request.metadata.name.as_deref().unwrap_or_default()));
        mood.decision.clone()
    }

    async fn admits_document(&self, request: &DocumentRequest<'_>) -> bool {
        let mut mood = self.0.lock().unwrap();
        mood.asked.push(format!("before {} {}", request.host, request.url));
        mood.admits
    }
}

async fn world(policy: impl RegistrationPolicy) -> (World, Web) {
    let web = Web::with(URL, document());
    (World::built(on(), |builder| builder.registration_policy(policy).fetcher(web.clone())).await, web)
}

/// CIMD-8.9-01
#[tokio::test]
async fn the_policy_is_asked_before_a_fetch_and_after_it() {
    let policy = Moody::new();
    let (world, web) = world(policy.clone()).await;
    for fetches in [1, 0] {
        assert!(ask_for(&world, URL).await.is_ok());
        assert_eq!(policy.asked(), [format!("before client.example {URL}"), "after App".to_owned()]);
        assert_eq!(web.count(), fetches);
    }
    let tokens = pair_of(&world, URL).await;
    // The policy stops admitting the host while the document is cached and the client is stored.
    policy.set(false, RegistrationDecision::Approve(bounds()));
    policy.asked();
    refused(&world, URL).await;
    assert_eq!(policy.asked(), [format!("before client.example {URL}")]);
    policy.set(true, RegistrationDecision::Refuse);
    let shown = refused(&world, URL).await;
    assert_eq!(shown.body(), refused(&world, "https://e.com").await.body());
    assert_eq!(web.count(), 0);
    // Existing grants stay valid.
    assert!(world.opens(&tokens.access).await);
    pair(&world.refresh_as(&super::client(URL), &tokens.refresh).await);
}

/// CIMD-8.9-01
#[tokio::test]
async fn hosts_that_are_not_listed_are_not_asked() {
    let listed = DocumentHosts::new(ApproveWithin::new(bounds())).host("client.example").below("example.com");
    let (world, web) = world(listed).await;
    for url in [
        "https://other.example/c",
        "https://evil-example.com/c",
        "https://example.com/c",
        "https://client.example.evil.test/c",
        "https://127.0.0.1/c",
    ] {
        refused(&world, url).await;
    }
    assert_eq!(web.count(), 0);
    assert!(world.events.take().iter().any(|event| event.contains("Policy")));
    assert!(ask_for(&world, URL).await.is_ok());
    let below = "https://Apps.Example.com:8443/c";
    web.publish(below, with(json!({"client_id": below})));
    assert!(ask_for(&world, below).await.is_ok());
}

/// 7591-5-02
#[tokio::test]
async fn each_decision_has_its_outcome() {
    let policy = Moody::new();
    let (world, _) = world(policy.clone()).await;
    policy.set(true, RegistrationDecision::Refuse);
    refused(&world, URL).await;
    let id = super::id();
    assert!(world.server.client(&id).await.unwrap().is_none(), "nothing is stored");
    policy.set(true, RegistrationDecision::Queue(bounds()));
    let queued = refused(&world, URL).await;
    assert!(String::from_utf8_lossy(queued.body()).contains("awaits review"));
    assert_eq!(world.server.client(&id).await.unwrap().unwrap().state(), grantor::client::ClientState::Pending);
    policy.set(true, RegistrationDecision::Approve(bounds()));
    pair_of(&world, URL).await;
    assert_eq!(world.server.client(&id).await.unwrap().unwrap().state(), grantor::client::ClientState::Approved);
}

/// CIMD-8.9-01
#[tokio::test]
async fn a_client_that_a_policy_approved_once_awaits_the_review_that_it_demands_now() {
    let policy = Moody::new();
    let (world, _) = world(policy.clone()).await;
    let tokens = pair_of(&world, URL).await;
    policy.set(true, RegistrationDecision::Queue(bounds()));
    for _ in 0..2 {
        let queued = refused(&world, URL).await;
        assert!(String::from_utf8_lossy(queued.body()).contains("awaits review"));
        assert_eq!(super::review::awaiting(&world).await, [URL]);
    }
    assert!(world.opens(&tokens.access).await);
}

/// 7591-5-03, CIMD-8.9-01
#[tokio::test]
async fn bounds_are_kept_until_the_document_changes_and_reduce_at_once() {
    let policy = Moody::new();
    let (world, web) = world(policy.clone()).await;
    let approve = |wire: &str| {
        let bounds = RegistrationBounds::new(super::scopes(wire), ResourceScope::All);
        policy.set(true, RegistrationDecision::Approve(bounds));
    };
    let held = async || {
        world.advance(3600);
        let pending = ask_for(&world, URL).await.unwrap();
        world.server.hold(&pending, &world.alice, super::SESSION).await.unwrap();
        assert_eq!(
            world.server.client(&super::id()).await.unwrap().unwrap().form().scopes,
            pending.client().form().scopes
        );
        pending.client().form().scopes.as_str().to_owned()
    };
    approve("repo-code:r repo-issue:r");
    assert_eq!(held().await, "repo-code:r repo-issue:r");
    approve("repo-code:rw repo-issue:rw");
    assert_eq!(held().await, "repo-code:r repo-issue:r", "no request extends it");
    approve("repo-code:r");
    assert_eq!(held().await, "repo-code:r");
    approve("repo-code:rw repo-issue:rw");
    web.publish(URL, with(json!({"client_name": "Other"})));
    assert_eq!(held().await, "repo-code:rw repo-issue:rw");
    // Scopes that an administrator reduced stay reduced.
    let reducing = grantor::registration::Reduction::default().scopes("repo-code:r");
    let version = world.server.client(&super::id()).await.unwrap().unwrap().version();
    world.server.registrar().unwrap().reduce(&super::id(), version, reducing).await.unwrap();
    assert_eq!(held().await, "repo-code:r");
}

/// CIMD-8.9-01
#[tokio::test]
async fn the_shipped_policies_admit_every_host() {
    let (approving, _) = world(ApproveWithin::new(bounds())).await;
    assert!(ask_for(&approving, URL).await.is_ok());
    let (queueing, web) = world(QueueAll::new(bounds())).await;
    page(&refused(&queueing, URL).await);
    assert_eq!(web.count(), 1);
}
