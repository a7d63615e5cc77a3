//! Faults of other authorization servers with codes and tokens: whose they are, how often they work, when
//! they end.

use grantor::scope::{Permission, Resource};
use grantor::wire::Endpoint;
use grantor::{Approval, Consent, Decision};
use serde_json::json;

use support::world::{
    PKCE, Pair, Reviewer, With as _, World, code, e400, empty, form, ok, pair, public_form, r401, text,
};

// Whose a code or token is.

/// CVE-2018-1000211, CVE-2016-6582, CVE-2026-115472, workers-oauth-provider #188
/// Public and confidential clients, the token's own client and another one.
#[tokio::test]
async fn only_its_own_client_revokes_a_token() {
    let world = World::platform().await;
    let clients = [
        world.register(form()).await,
        world.register(form()).await,
        world.register(public_form()).await,
        world.register(public_form()).await,
    ];
    for owner in &clients {
        for caller in &clients {
            for takes_refresh in [false, true] {
                let held = world.pair_of(owner).await;
                let token = if takes_refresh { &held.refresh } else { &held.access };
                let response = world.revoke_as(caller, token).await;
                if caller.id == owner.id {
                    empty(&response);
                    assert!(!world.opens(&held.access).await);
                } else {
                    e400(&response, "invalid_grant");
                    assert!(world.opens(&held.access).await);
                    ok(&world.refresh_as(owner, &held.refresh).await);
                }
            }
        }
    }
    let held = world.pair_of(&clients[0]).await;
    r401(&world.post(Endpoint::Revocation, &[("token", &held.access)]).send().await);
    r401(&world.post(Endpoint::Revocation, &[("token", &held.access), ("client_id", &clients[0].id)]).send().await);
    assert!(world.opens(&held.access).await);
}

/// CVE-2026-27840
#[tokio::test]
async fn every_prefix_suffix_and_flipped_bit_of_a_token_is_no_token() {
    let world = World::platform().await;
    let first = world.pair().await;
    let token = first.access.as_bytes();
    let mut altered: Vec<Vec<u8>> = (0..token.len()).map(|end| token[..end].to_vec()).collect();
    altered.extend((1..token.len()).map(|start| token[start..].to_vec()));
    for position in 0..token.len() {
        for bit in 0..8 {
            let mut flipped = token.to_vec();
            flipped[position] ^= 1 << bit;
            altered.push(flipped);
        }
    }
    altered.push([token, b"="].concat());
    altered.push([token, b"A"].concat());
    for token in &altered {
        let header = [b"Bearer ", token.as_slice()].concat();
        let request = grantor::wire::Request::new("GET").header("Authorization", &header);
        assert!(world.server.authenticate(&request).await.is_err(), "{}", token.escape_ascii());
        if let Ok(token) = std::str::from_utf8(token).map(str::to_owned)
            && !token.is_empty()
        {
            assert_eq!(world.introspect_as(&world.client, &token).await, json!({"active": false}), "{token}");
        }
    }
    assert!(world.opens(&first.access).await);
}

// When it ends.

/// CVE-2026-68481
#[tokio::test]
async fn a_revoked_token_is_revoked_for_everybody() {
    let world = World::platform().await;
    let server = world.register_as(form(), Approval::default().may_introspect()).await;
    for takes_refresh in [false, true] {
        let first = world.pair().await;
        assert_eq!(world.introspect_as(&server, &first.access).await["active"], true);
        empty(&world.revoke(if takes_refresh { &first.refresh } else { &first.access }).await);
        for caller in [&server, &world.client] {
            assert_eq!(world.introspect_as(caller, &first.access).await, json!({"active": false}));
        }
        assert!(!world.opens(&first.access).await);
    }
}

// How much.

/// CVE-2026-114619
#[tokio::test]
async fn what_is_issued_is_within_what_was_asked_granted_and_registered() {
    let world = World::platform().await;
    let query = world.query(&[("scope", "repo-code:rw repo-issue:rw")]);
    let decision = Decision::Approve(Consent::to_everything().scopes(["repo-code:r", "repo-issue:rw"]));
    let code = text(&code(&world.decide(&query, decision).await), "code");

    let registrar = world.server.registrar().unwrap();
    let fewer = form().with(|form| form.scopes = "repo-code:rw account-profile:r".into());
    registrar.change_now(&world.client.client_id(), fewer, None).await.unwrap();
    registrar.approve_now(&world.client.client_id(), Approval::default()).await.unwrap();
    let form = [("grant_type", "authorization_code"), ("code", &code), ("scope", "repo-code:rw account-profile:r")];
    let first = pair(&world.token(&form).client(&world.client).send().await);
    assert_eq!(first.scope, "repo-code:r");
    let token = world.access(&first.access).await.unwrap();
    for (scope, permission) in [("repo-code", Permission::ReadWrite), ("repo-issue", Permission::Read)] {
        assert!(!token.permits(scope, permission, Resource::Account), "{scope}");
    }
    assert_eq!(world.introspect_as(&world.client, &first.access).await["scope"], "repo-code:r");
    assert_eq!(pair(&world.refresh(&first.refresh).await).scope, "repo-code:r");
}

/// CVE-2026-114619
/// The rights of one consent are not added to those of the next.
#[tokio::test]
async fn grants_of_one_user_do_not_add_up() {
    let world = World::platform().await;
    let [code, issue] = [grant(&world, "repo-code:rw").await, grant(&world, "repo-issue:r").await];
    assert_eq!((code.scope.as_str(), issue.scope.as_str()), ("repo-code:rw", "repo-issue:r"));
    assert_eq!(pair(&world.refresh(&issue.refresh).await).scope, "repo-issue:r");
    assert_eq!(world.access(&issue.access).await.unwrap().scopes().as_str(), "repo-issue:r");
}

async fn grant(world: &World, scope: &str) -> Pair {
    let code = world.code_for(&world.query(&[("scope", scope), PKCE[0], PKCE[1]])).await;
    pair(&world.exchange(&code).await)
}
