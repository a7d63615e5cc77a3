//! Faults of other authorization servers with codes and tokens: whose they are, how often they work, when
//! they end.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use grantor::config::Profile;
use grantor::hooks::{SubjectStatus, Subjects};
use grantor::scope::{Permission, Resource};
use grantor::wire::{Endpoint, Response};
use grantor::{Approval, Client, Config, Consent, Decision, Subject};
use serde_json::json;

use crate::interleaved::{CALLERS, from_threads, side_by_side};
use crate::unreliable::{Fault, Unreliable};
use support::world::{
    Credentials, ISSUER, PKCE, Pair, Reviewer, VERIFIER, World, code, e400, e401, empty, error_body, form, ok, pair,
    public_form, r401, text,
};

/// Asserts that no token of a grant works any more.
async fn dead(world: &World, client: &Credentials, pair: &Pair) {
    assert!(!world.opens(&pair.access).await);
    e400(&world.refresh_as(client, &pair.refresh).await, "invalid_grant");
}

fn succeeded(responses: &[Response]) -> Vec<Pair> {
    responses.iter().filter(|response| response.status() == 200).map(pair).collect()
}

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

/// CVE-2026-55672, CVE-2026-16089
#[tokio::test]
async fn codes_and_refresh_tokens_work_for_their_own_client_alone_and_are_not_consumed_by_others() {
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        let world = World::with(profile, |_| {}).await;
        let others = [world.register(form()).await, world.register(public_form()).await];
        for owner in [world.client.clone(), world.register(public_form()).await] {
            let code = world.code_for(&world.query_of(&owner, &PKCE)).await;
            for other in &others {
                e400(&world.exchange_as(other, &code).await, "invalid_grant");
            }
            let first = pair(&world.exchange_as(&owner, &code).await);
            for other in &others {
                e400(&world.exchange_as(other, &code).await, "invalid_grant");
                e400(&world.refresh_as(other, &first.refresh).await, "invalid_grant");
            }
            assert!(world.opens(&first.access).await, "another client's replay revokes nothing");
            let second = pair(&world.refresh_as(&owner, &first.refresh).await);
            assert!(world.opens(&second.access).await);
        }
    }
}

/// CVE-2026-53512
#[tokio::test]
async fn no_refresh_without_authentication() {
    for world in [World::platform().await, World::strict().await, World::mcp().await] {
        let first = world.pair().await;
        let form = [("grant_type", "refresh_token"), ("refresh_token", first.refresh.as_str())];
        e401(&world.token(&form).send().await, "invalid_client");
        e401(&world.token(&form).field("client_id", &world.client.id).send().await, "invalid_client");
        let empty = world.token(&form).field("client_id", &world.client.id).field("client_secret", "");
        e401(&empty.send().await, "invalid_client");
        e401(&world.token(&form).basic(&world.client.id, "").send().await, "invalid_client");
        let form = [("grant_type", "refresh_token"), ("refresh_token", first.refresh.as_str())];
        ok(&world.token(&form).client(&world.client).send().await);
    }
}

/// CVE-2026-50623, GO-2026-6079
#[tokio::test]
async fn introspection_tells_no_stranger_anything() {
    let world = World::platform().await;
    let other = world.register(form()).await;
    let first = world.pair().await;
    let call = || world.post(Endpoint::Introspection, &[("token", &first.access)]);
    for response in [call().send().await, call().basic(&world.client.id, "guess").send().await] {
        e401(&response, "invalid_client");
        assert!(!String::from_utf8_lossy(response.body()).contains("active"));
    }
    assert_eq!(world.introspect_as(&other, &first.access).await, json!({"active": false}));
    assert_eq!(world.introspect_as(&world.client, &first.access).await["active"], true);
}

/// CVE-2026-101023
#[tokio::test]
async fn kinds_of_secrets_do_not_stand_in_for_each_other() {
    let world = World::platform().await;
    let code = world.code().await;
    let first = pair(&world.exchange(&code).await);
    let unused = world.code().await;
    let disguised = |token: &str, prefix: &str| format!("{prefix}{}", &token[3..]);
    let secrets = [&first.access, &first.refresh, &unused, &world.client.secret];
    for secret in secrets {
        for token in [secret.clone(), disguised(secret, "rt_"), disguised(secret, "at_"), disguised(secret, "ac_")] {
            if token != first.refresh {
                e400(&world.refresh(&token).await, "invalid_grant");
            }
            if token != first.access {
                assert!(!world.opens(&token).await);
                assert_eq!(world.introspect_as(&world.client, &token).await, json!({"active": false}));
            }
            if token != unused {
                e400(&world.exchange(&token).await, "invalid_grant");
            }
        }
    }
    assert!(world.opens(&first.access).await);
    ok(&world.refresh(&first.refresh).await);
    ok(&world.exchange(&unused).await);
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

// How often.

/// CVE-2026-53518, CVE-2026-47386, CVE-2026-73311, CVE-2026-68079
#[tokio::test(flavor = "multi_thread")]
async fn a_code_that_many_exchange_at_once_gives_one_grant_which_its_replay_ends() {
    let world = Arc::new(World::platform().await);
    let code = world.code().await;
    let [id, secret] = [world.client.id.clone(), world.client.secret.clone()];
    let exchange = [
        ("grant_type", "authorization_code"),
        ("code", code.as_str()),
        ("code_verifier", VERIFIER),
        ("client_id", id.as_str()),
        ("client_secret", secret.as_str()),
    ];
    let responses = from_threads(&world, &exchange).await;
    assert_eq!(responses.len(), CALLERS);
    let won = succeeded(&responses);
    assert_eq!(won.len(), 1);
    for refused in responses.iter().filter(|response| response.status() != 200) {
        e400(refused, "invalid_grant");
    }
    dead(&world, &world.client, &won[0]).await;
}

/// CVE-2026-53518
#[tokio::test]
async fn a_code_exchanged_twice_one_after_the_other_is_dead_with_its_tokens() {
    let world = World::platform().await;
    let code = world.code().await;
    let first = pair(&world.exchange(&code).await);
    let second = pair(&world.refresh(&first.refresh).await);
    e400(&world.exchange(&code).await, "invalid_grant");
    dead(&world, &world.client, &first).await;
    dead(&world, &world.client, &second).await;
}

/// CVE-2026-53517, CVE-2026-1035, CVE-2026-50631
#[tokio::test]
async fn refreshes_at_once_fork_nothing_that_has_no_grace() {
    let mut world = World::platform().await;
    let first = world.pair().await;
    world.events.take();
    let responses = side_by_side(&mut world, async |world| world.refresh(&first.refresh).await).await;
    assert_eq!(succeeded(&responses).len(), CALLERS);
    let events = world.events.take();
    assert_eq!(events.iter().filter(|event| event.starts_with("Refreshed {")).count(), 1);
    assert_eq!(events.iter().filter(|event| event.starts_with("RefreshedInGrace")).count(), CALLERS - 1);

    let mut world = World::with(Profile::Strict, |config| config.refresh.grace = std::time::Duration::ZERO).await;
    let public = world.register(public_form()).await;
    let first = world.pair_of(&public).await;
    let responses = side_by_side(&mut world, async |world| world.refresh_as(&public, &first.refresh).await).await;
    let won = succeeded(&responses);
    assert_eq!(won.len(), 1);
    dead(&world, &public, &won[0]).await;
}

// When it ends.

/// CVE-2020-15223
#[tokio::test]
async fn a_revocation_that_the_store_did_not_take_is_no_success() {
    let (world, store) = Unreliable::world(Profile::Platform).await;
    let first = world.pair().await;
    for token in [&first.access, &first.refresh] {
        for fault in [Fault::Writes, Fault::Everything] {
            store.fail(fault);
            let response = world.revoke(token).await;
            assert_eq!(response.status(), 503);
            error_body(&response, "temporarily_unavailable");
            store.fail(Fault::None);
            assert!(world.opens(&first.access).await);
        }
    }
    ok(&world.refresh(&first.refresh).await);
}

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

/// GitLab #222829
#[tokio::test]
async fn what_is_withdrawn_from_a_client_takes_its_unredeemed_codes_along() {
    let world = World::platform().await;
    let registrar = world.server.registrar().unwrap();
    let code = world.code().await;
    registrar.revoke_grants(&world.client.client_id()).await.unwrap();
    e400(&world.exchange(&code).await, "invalid_grant");
    ok(&world.exchange(&world.code().await).await);

    let code = world.code().await;
    registrar.suspend(&world.client.client_id()).await.unwrap();
    e401(&world.exchange(&code).await, "invalid_client");
}

/// GitLab #222829
#[tokio::test]
async fn what_is_withdrawn_from_a_user_takes_its_unredeemed_codes_along() {
    let world = World::platform().await;
    let first = world.pair().await;
    let code = world.code().await;
    assert_eq!(world.server.revoke_subject(&world.alice).await.unwrap(), 2);
    e400(&world.exchange(&code).await, "invalid_grant");
    dead(&world, &world.client, &first).await;
    ok(&world.exchange(&world.code().await).await);
}

/// Refuses the listed users.
#[derive(Clone, Debug, Default)]
struct Locked(Arc<Mutex<Vec<Subject>>>);

#[async_trait]
impl Subjects for Locked {
    async fn status(&self, subject: &Subject, _client: &Client) -> SubjectStatus {
        if self.0.lock().unwrap().contains(subject) { SubjectStatus::Refused } else { SubjectStatus::Active }
    }
}

/// CVE-2023-22492, CVE-2025-64521, CVE-2026-43983, gitea #19111
#[tokio::test]
async fn a_locked_user_gets_no_token_in_grace_neither() {
    let locked = Locked::default();
    let world = World::built(Config::platform(ISSUER), |builder| builder.subjects(locked.clone())).await;
    let code = world.code().await;
    let first = world.pair().await;
    let second = pair(&world.refresh(&first.refresh).await);
    locked.0.lock().unwrap().push(world.alice.clone());
    e400(&world.refresh(&first.refresh).await, "invalid_grant");
    e400(&world.refresh(&second.refresh).await, "invalid_grant");
    e400(&world.exchange(&code).await, "invalid_grant");
    locked.0.lock().unwrap().clear();
    ok(&world.refresh(&first.refresh).await);
    ok(&world.refresh(&second.refresh).await);
    ok(&world.exchange(&code).await);
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
    let mut fewer = form();
    fewer.scopes = "repo-code:rw account-profile:r".into();
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

/// django-oauth-toolkit #1510
#[tokio::test]
async fn what_a_user_withdraws_ends_with_its_refresh_token() {
    let world = World::platform().await;
    let [first, other] = [grant(&world, "repo-code:rw").await, grant(&world, "repo-issue:r").await];
    let second = pair(&world.refresh(&first.refresh).await);
    let id = world.access(&second.access).await.unwrap().grant();
    assert!(world.server.revoke_grant(id, &world.alice).await.unwrap());
    dead(&world, &world.client, &first).await;
    dead(&world, &world.client, &second).await;
    assert!(world.opens(&other.access).await);
    ok(&world.refresh(&other.refresh).await);
}

async fn grant(world: &World, scope: &str) -> Pair {
    let code = world.code_for(&world.query(&[("scope", scope), PKCE[0], PKCE[1]])).await;
    pair(&world.exchange(&code).await)
}
