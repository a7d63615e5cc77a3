//! RFC 6749 section 6: what a refresh requests, and which client may request it.

use grantor::client::ApplicationType;
use grantor::config::Profile;
use grantor::scope::{Permission, Resource};
use grantor::store::{Grant, Page, Record, RecordStore};
use grantor::wire::Response;
use grantor::{ApplicationForm, Consent, Decision};

use serde_json::json;

use support::world::{PKCE, With as _, World, code, e400, form, ok, pair, public_form, text};

pub(crate) fn native_form() -> ApplicationForm {
    form().with(|form| form.application_type = ApplicationType::Native)
}

/// The bytes of all grants: equal before and after where nothing was written.
pub(crate) async fn records(world: &World) -> Vec<Vec<u8>> {
    let grants = RecordStore::<Grant>::list(&world.store, world.alice.as_str(), Page::first(100)).await.unwrap();
    grants.iter().map(|grant| grant.encode()).collect()
}

async fn refresh_scope(world: &World, token: &str, scope: &str) -> Response {
    let form = [("grant_type", "refresh_token"), ("refresh_token", token), ("scope", scope)];
    world.token(&form).client(&world.client).send().await
}

/// SVC-3-02, SVC-4.3-01, 9700-2.2.2-01
#[tokio::test]
async fn a_refresh_gives_two_new_tokens_to_every_kind_of_client() {
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        let world = World::with(profile, |_| {}).await;
        for form in [form(), public_form(), native_form()] {
            let client = world.register(form).await;
            let mut seen = vec![world.pair_of(&client).await];
            for _ in 0..3 {
                let old = seen.last().unwrap();
                let new = pair(&world.refresh_as(&client, &old.refresh).await);
                assert!(seen.iter().all(|own| own.access != new.access && own.refresh != new.refresh), "{profile:?}");
                assert_eq!(new.scope, old.scope);
                assert!(world.opens(&old.access).await && world.opens(&new.access).await);
                seen.push(new);
            }
        }
    }
}

/// 6749-6-02, 9700-4.14.2-01, D-09, 6749-5.2-07, 6749-3.3-01, negative case #15
#[tokio::test]
async fn a_refresh_may_ask_for_a_part_of_what_was_granted() {
    let subsets = [
        ("repo-code:r", "repo-code:r"),
        ("repo-code", "repo-code:r"),
        ("repo-issue:rw repo-code:rw", "repo-code:rw repo-issue:rw"),
        ("repo-code:rw repo-code:r", "repo-code:rw"),
        ("", "repo-code:rw repo-issue:rw account-profile:r"),
        ("account-profile:r repo-issue:rw repo-code:rw", "repo-code:rw repo-issue:rw account-profile:r"),
    ];
    for (asked, answered) in subsets {
        let world = World::platform().await;
        let tokens = world.pair().await;
        assert_eq!(pair(&refresh_scope(&world, &tokens.refresh, asked).await).scope, answered, "{asked}");
    }
    let world = World::platform().await;
    let consent = Consent::to_everything().scopes(["repo-code:r", "account-profile:r"]);
    let redirect = world.decide(&world.query(&PKCE), Decision::Approve(consent)).await;
    let granted = pair(&world.exchange(&text(&code(&redirect), "code")).await);
    assert_eq!(granted.scope, "repo-code:r account-profile:r");
    let before = records(&world).await;
    world.events.take();
    for asked in [
        "repo-code:rw",
        "repo-issue:r",
        "repo-code:r repo-issue:r",
        "account-profile:rw",
        "repo-pr:r",
        "repo-delete:rw",
        "nothing",
        "nothing:r",
        "repo-code:r,repo-issue:r",
        "repo-code:r\trepo-issue:r",
        "repo-code:x",
        "\"",
    ] {
        e400(&refresh_scope(&world, &granted.refresh, asked).await, "invalid_scope");
        assert_eq!(records(&world).await, before, "{asked:?}");
    }
    let again = pair(&refresh_scope(&world, &granted.refresh, "repo-code:r").await);
    assert!(world.events.saw("Refreshed {"), "it was the first refresh with this token");
    // In grace too, a request with a faulty scope creates no pair.
    let before = records(&world).await;
    e400(&refresh_scope(&world, &granted.refresh, "repo-issue:r").await, "invalid_scope");
    assert_eq!(records(&world).await, before);
    ok(&world.refresh(&again.refresh).await);
}

/// 6749-6-03
#[tokio::test]
async fn reducing_holds_for_one_access_token() {
    let world = World::platform().await;
    let first = world.pair().await;
    let reduce = pair(&refresh_scope(&world, &first.refresh, "repo-code:r").await);
    let full = pair(&world.refresh(&reduce.refresh).await);
    assert_eq!(full.scope, first.scope);
    assert_eq!(pair(&world.refresh(&first.refresh).await), full);
    for (token, writes) in [(&first, true), (&reduce, false), (&full, true)] {
        let token = world.access(&token.access).await.unwrap();
        let permits = |scope, permission| token.permits(scope, permission, Resource::Public("any"));
        assert!(permits("repo-code", Permission::Read));
        assert_eq!(permits("repo-code", Permission::ReadWrite), writes);
        assert_eq!(permits("repo-issue", Permission::Read), writes);
    }
}

/// 6749-6-04, D-12, negative case #8
#[tokio::test]
async fn a_refresh_token_is_bound_to_its_client() {
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        let world = World::with(profile, |_| {}).await;
        let public = world.register(public_form()).await;
        let others = [world.register(form()).await, world.register(public_form()).await];
        for client in [&world.client, &public] {
            let first = world.pair_of(client).await;
            let mut live = first.clone();
            // Live, then in grace, at its end, and past it.
            for seconds in [0, 100, 200, 60] {
                world.advance(seconds);
                let before = records(&world).await;
                world.events.take();
                for other in &others {
                    e400(&world.refresh_as(other, &first.refresh).await, "invalid_grant");
                    e400(&world.refresh_as(other, &live.refresh).await, "invalid_grant");
                }
                assert_eq!(records(&world).await, before);
                assert!(!world.events.saw("RefreshTokenReused"));
                if seconds == 0 {
                    live = pair(&world.refresh_as(client, &first.refresh).await);
                }
            }
            assert!(world.opens(&live.access).await);
            ok(&world.refresh_as(client, &live.refresh).await);
        }
    }
}

/// 6749-6-06, 6750-3.1-03, CVE-2026-101023, 6749-5.2-05
#[tokio::test]
async fn kinds_of_tokens_are_not_interchangeable() {
    let prefixed = World::with(Profile::Platform, |config| config.tokens.prefix = "acme_".into()).await;
    for world in [World::platform().await, prefixed] {
        let first = world.pair().await;
        let unused = world.code().await;
        let before = records(&world).await;
        let disguised = |token: &str, prefix: &str| format!("{prefix}{}", &token[3..]);
        for secret in [&first.access, &first.refresh, &unused, &world.client.secret] {
            for token in [secret.clone(), disguised(secret, "rt_"), disguised(secret, "at_"), disguised(secret, "ac_")]
            {
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
        assert_eq!(records(&world).await, before);
        assert!(world.opens(&first.access).await);
        ok(&world.refresh(&first.refresh).await);
        ok(&world.exchange(&unused).await);
    }
}
