//! What happens to scopes that a client which registered itself may not have.

use grantor::client_metadata::RegistrationBounds;
use grantor::config::{ExcessScopes, Profile};
use grantor::scope::ResourceScope;
use grantor::{Config, Consent, Decision, Subject};
use serde_json::{Value, json};

use crate::cimd::web::Web;
use crate::rfc7591::{bounds, credentials, open, post, public, query, refused, refusing, register, scopes, with};
use support::world::{PKCE, SESSION, World, code, pair, red, red_by_link, text};

const URI: &str = "https://app.example.com/cb";
const A: &str = "repo-code:r";
const URL: &str = "https://client.example/oauth/client.json";

/// A world whose clients may have one scope of three.
async fn world_of(config: Config) -> World {
    let bounds = RegistrationBounds::new(scopes(A), ResourceScope::All);
    crate::rfc7591::world_with(config, bounds).await
}

/// The user signs in, and the client exchanges its code. Returns the scope of the token response.
async fn granted(world: &World, client: &Value, scope: &str) -> String {
    let redirect = world.approve(&query(world, client, URI, &[("scope", scope)])).await;
    let client = credentials(client);
    pair(&world.exchange_as(&client, &text(&code(&redirect), "code")).await).scope
}

/// The request is accepted, and refused when its page is to be shown.
async fn is_refused_in_vain(world: &World, client: &Value, scope: &str) {
    let pending = world.authorize(&query(world, client, URI, &[("scope", scope)])).await.unwrap();
    let refusal = world.server.hold(&pending, &world.alice, SESSION).await.unwrap_err();
    red_by_link(&refusal.response(Some(&world.alice)), 400, "invalid_scope");
}

/// HOST-SCOPE-01
#[tokio::test]
async fn host_scope_01_excess_scopes_leave_the_request() {
    let world = world_of(open(Profile::Mcp)).await;
    let client = register(&world, public()).await;
    for excess in ["openid", "offline_access", "account-profile:r", "repo-code:rw", "unknown:rw account-profile:r"] {
        for scope in [format!("{A} {excess}"), format!("{excess} {A}")] {
            let pending = world.authorize(&query(&world, &client, URI, &[("scope", &scope)])).await.unwrap();
            assert_eq!(pending.scopes().as_str(), A, "{scope}");
        }
    }
    for scope in
        ["openid nonsense", "account-profile:r", "account-profile:rw openid", "repo-code:r\topenid", "repo-code:r \""]
    {
        red_by_link(&world.refused(&query(&world, &client, URI, &[("scope", scope)])).await, 400, "invalid_scope");
    }
    assert_eq!(granted(&world, &client, &format!("{A} openid")).await, A, "the response says what was granted");
    for profile in [Profile::Strict, Profile::Platform] {
        assert_eq!(open(profile).registration.excess_scopes, ExcessScopes::Refuse, "{profile:?}");
    }
}

/// IDOFF-03
#[tokio::test]
async fn scopes_of_a_sign_in_alone_count_as_none() {
    let world = world_of(open(Profile::Mcp)).await;
    let client = register(&world, public()).await;
    let defaults = world.authorize(&query(&world, &client, URI, &[])).await.unwrap().scopes().clone();
    for scope in ["openid email profile", "openid", "offline_access", " openid  phone address"] {
        let pending = world.authorize(&query(&world, &client, URI, &[("scope", scope)])).await.unwrap();
        assert_eq!(pending.scopes(), &defaults, "{scope}");
    }
    for world in [World::strict().await, World::platform().await, World::mcp().await] {
        let asked = world.query(&[PKCE[0], PKCE[1], ("scope", "openid email profile")]);
        red(&world.refused(&asked).await, "invalid_scope");
    }
}

/// HOST-SCOPE-01
///
/// A step-up for a scope that the client cannot have is refused after three times, instead of another page. What the
/// user granted minutes ago does not keep the client from another device, or from starting anew.
#[tokio::test]
async fn host_scope_01_a_step_up_in_vain_is_refused() {
    let world = world_of(open(Profile::Mcp)).await;
    let client = register(&world, public()).await;
    let both = format!("{A} account-profile:r");
    // Two more programs of the user connect with the same client.
    for _ in 0..3 {
        granted(&world, &client, &both).await;
    }
    is_refused_in_vain(&world, &client, &both).await;
    let pending = world.authorize(&query(&world, &client, URI, &[("scope", &both)])).await.unwrap();
    assert!(world.server.hold(&pending, &world.alice, b"another browser").await.is_ok());
    assert_eq!(granted(&world, &client, A).await, A, "nothing was left out");
    world.advance(299);
    is_refused_in_vain(&world, &client, &both).await;
    world.advance(1);
    granted(&world, &client, &both).await;
    // Each user and client for itself.
    granted(&world, &register(&world, public()).await, &both).await;
    let pending = world.authorize(&query(&world, &client, URI, &[("scope", &both)])).await.unwrap();
    assert!(world.server.hold(&pending, &Subject::new("bob").unwrap(), SESSION).await.is_ok());
    // A grant that ended counts no more.
    for grant in world.server.grants_of(&world.alice).await.unwrap() {
        world.server.revoke_grant(grant.id(), &world.alice).await.unwrap();
    }
    granted(&world, &client, &both).await;
}

/// HOST-SCOPE-01
///
/// A step-up to more than the grant has is shown, even if something is left out.
#[tokio::test]
async fn host_scope_01_a_step_up_that_adds_a_scope_is_asked() {
    let world = crate::rfc7591::world_with(open(Profile::Mcp), bounds()).await;
    let client = register(&world, public()).await;
    granted(&world, &client, "repo-code:r openid").await;
    assert_eq!(granted(&world, &client, "repo-code:rw openid").await, "repo-code:rw");
    granted(&world, &client, "repo-code:r openid").await;
    is_refused_in_vain(&world, &client, "repo-code:r openid").await;
}

/// HOST-SCOPE-01
#[tokio::test]
async fn host_scope_01_clients_of_a_registrar_are_refused() {
    let world = World::with(Profile::Mcp, |_| {}).await;
    red(&world.refused(&world.query(&[PKCE[0], PKCE[1], ("scope", "repo-code:r openid")])).await, "invalid_scope");
    let world = world_of(refusing()).await;
    let client = register(&world, public()).await;
    let query = query(&world, &client, URI, &[("scope", "repo-code:r openid")]);
    red_by_link(&world.refused(&query).await, 400, "invalid_scope");
}

/// HOST-SCOPE-02
#[tokio::test]
async fn host_scope_02_a_scope_without_a_known_one_counts_as_not_sent() {
    let world = world_of(open(Profile::Mcp)).await;
    for scope in ["unknown", "openid profile email", "\""] {
        assert_eq!(register(&world, with(public(), json!({ "scope": scope }))).await["scope"], A, "{scope}");
    }
    // What the catalog knows and the policy does not admit is another matter.
    let other = with(public(), json!({"scope": "repo-issue:r"}));
    refused(&post(&world, other.to_string()).await, 400, "invalid_client_metadata");
    let unknown = with(public(), json!({"scope": "unknown"}));
    refused(&post(&world_of(refusing()).await, unknown.to_string()).await, 400, "invalid_client_metadata");
}

/// HOST-CLAUDE-02, 7591-2-08
#[tokio::test]
async fn host_claude_02_a_registration_without_scope_may_ask_for_all_that_the_policy_admits() {
    let world = crate::rfc7591::world_with(open(Profile::Mcp), bounds().default_scopes(scopes(A))).await;
    let all = world.server.config().scopes.supported().join(" ");
    let expected = "repo-code:rw repo-issue:rw account-profile:r";
    for scope in [expected, &all] {
        let client = register(&world, public()).await;
        assert_eq!(client["scope"], A);
        assert_eq!(granted(&world, &client, scope).await, expected);
    }
}

/// HOST-SCOPE-01
///
/// A document client, with its resource.
#[tokio::test]
async fn host_scope_01_a_document_is_treated_like_a_registration() {
    let mut config = open(Profile::Mcp);
    config.registration.metadata_documents = true;
    let document = json!({"client_id": URL, "client_name": "App", "redirect_uris": [URI], "scope": "unknown"});
    let web = Web::with(URL, document);
    let policy = grantor::hooks::ApproveWithin::new(RegistrationBounds::new(scopes(A), ResourceScope::All));
    let world = World::built(config, |builder| builder.registration_policy(policy).fetcher(web)).await;
    let client = json!({ "client_id": URL });
    let query = query(&world, &client, URI, &[("scope", "openid repo-code:r")]);
    let request = grantor::wire::Request::new("GET").query(query.as_bytes()).subject(&world.alice);
    let pending = world.server.authorize(&request).await.unwrap();
    assert_eq!((pending.scopes().as_str(), pending.client().form().scopes.as_str()), (A, A));
    let ticket = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
    let approve = Decision::Approve(Consent::to_everything());
    code(&world.server.decide(ticket.expose(), &world.alice, SESSION, &approve).await.unwrap());
}
