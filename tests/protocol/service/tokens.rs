//! Sections 2.2 to 3: codes, token responses, scopes, and how they end.

use grantor::store::{Grant, Page, RecordStore};
use grantor::{Consent, Decision};
use serde_json::Value;

use support::world::{PKCE, REDIRECT_URI, SCOPES, VERIFIER, World, code, e400, empty, form, ok, pair, red, text, wa};

const CODE_LIFE: u64 = 600;
const ACCESS_LIFE: u64 = 28_800;
const REFRESH_LIFE: u64 = 15_552_000;
const GRACE: u64 = 300;

/// SVC-2.2-01
#[tokio::test]
async fn a_code_lives_ten_minutes() {
    let world = World::platform().await;
    let code = world.code().await;
    world.advance(CODE_LIFE - 1);
    ok(&world.exchange(&code).await);

    let code = world.code().await;
    world.advance(CODE_LIFE);
    e400(&world.exchange(&code).await, "invalid_grant");
}

/// SVC-2.2-02
#[tokio::test]
async fn a_code_works_once() {
    let world = World::platform().await;
    let code = world.code().await;
    ok(&world.exchange(&code).await);
    e400(&world.exchange(&code).await, "invalid_grant");
}

/// SVC-2.2-03
#[tokio::test]
async fn a_code_is_bound_to_its_client() {
    let world = World::platform().await;
    let other = world.register(form()).await;
    let code = world.code().await;
    e400(&world.exchange_as(&other, &code).await, "invalid_grant");
    ok(&world.exchange(&code).await);
}

/// SVC-2.2-04
#[tokio::test]
async fn a_code_is_bound_to_the_redirect_uri_of_its_request() {
    let world = World::platform().await;
    let same_domain = "https://app.example.com/other";
    for (requested, bound) in
        [(None, REDIRECT_URI), (Some(REDIRECT_URI), REDIRECT_URI), (Some(same_domain), same_domain)]
    {
        let mut query = world.query(&PKCE);
        if let Some(requested) = requested {
            query = world.query(&[PKCE[0], PKCE[1], ("redirect_uri", requested)]);
        }
        let code = world.code_for(&query).await;
        let exchange = async |redirect_uri: &str| {
            let form = [("grant_type", "authorization_code"), ("code", &code), ("code_verifier", VERIFIER)];
            world.token(&form).field("redirect_uri", redirect_uri).client(&world.client).send().await
        };
        for other in [REDIRECT_URI, same_domain, "https://app.example.com/", "https://other.example/cb"] {
            if other != bound {
                e400(&exchange(other).await, "invalid_grant");
            }
        }
        ok(&exchange(bound).await);
    }
}

/// SVC-2.3-01
#[tokio::test]
async fn an_access_token_is_good_for_eight_hours() {
    let world = World::platform().await;
    let pair = world.pair().await;
    assert!(!pair.access.is_empty());
    world.advance(ACCESS_LIFE - 1);
    assert!(world.opens(&pair.access).await);
    world.advance(1);
    wa(world.access(&pair.access).await.unwrap_err(), 401, "invalid_token");
}

/// SVC-2.3-02, SVC-2.3-03, SVC-2.3-05
#[tokio::test]
async fn every_token_response_tells_type_lifetime_and_scope() {
    let world = World::platform().await;
    let exchanged = world.exchange(&world.code().await).await;
    let refreshed = world.refresh(&pair(&exchanged).refresh).await;
    for response in [exchanged, refreshed] {
        let body: Value = serde_json::from_slice(response.body()).unwrap();
        assert_eq!(body["token_type"], "bearer");
        assert_eq!(body["expires_in"], Value::from(28_800_u32));
        assert!(body["expires_in"].is_u64());
        assert_eq!(body["scope"], SCOPES);
        assert!(body["access_token"].is_string() && body["refresh_token"].is_string());
    }
}

/// SVC-2.3-05
#[tokio::test]
async fn the_scope_of_a_token_response_is_what_was_granted() {
    let world = World::platform().await;
    let approve = |tokens: &[&str]| Decision::Approve(Consent::to_everything().scopes(tokens.iter().copied()));
    for (asked, decision, granted) in [
        (None, approve(&["repo-issue:rw"]), "repo-issue:rw"),
        (None, approve(&["repo-code:r", "account-profile:r"]), "repo-code:r account-profile:r"),
        (Some("repo-issue repo-code:rw"), Decision::Approve(Consent::default()), "repo-code:rw repo-issue:r"),
    ] {
        let mut query = world.query(&PKCE);
        if let Some(asked) = asked {
            query = world.query(&[PKCE[0], PKCE[1], ("scope", asked)]);
        }
        let code = text(&code(&world.decide(&query, decision).await), "code");
        let first = pair(&world.exchange(&code).await);
        assert_eq!(first.scope, granted);
        assert_eq!(pair(&world.refresh(&first.refresh).await).scope, granted);
    }
}

/// SVC-2.3-04, SVC-3-01
#[tokio::test]
async fn a_refresh_token_is_good_for_180_days_from_its_own_issue() {
    let world = World::platform().await;
    let first = world.pair().await;
    world.advance(REFRESH_LIFE - 1);
    let second = pair(&world.refresh(&first.refresh).await);
    world.advance(REFRESH_LIFE - 1);
    let third = pair(&world.refresh(&second.refresh).await);

    world.advance(REFRESH_LIFE);
    e400(&world.refresh(&third.refresh).await, "invalid_grant");
    // The user must authorize again.
    let again = world.pair().await;
    assert!(world.opens(&again.access).await);
}

/// Section 2.4: each scope and the permission types that it can be granted with.
const TABLE: [(&str, &[&str]); 26] = [
    ("repo-code", &["r", "rw"]),
    ("repo-pr", &["r", "rw"]),
    ("repo-issue", &["r", "rw"]),
    ("repo-notes", &["r", "rw"]),
    ("repo-release", &["r", "rw"]),
    ("repo-commit-status", &["r", "rw"]),
    ("repo-platform-trigger", &["r", "rw"]),
    ("repo-platform-history", &["r"]),
    ("repo-platform-detail", &["r", "rw"]),
    ("repo-basic-info", &["r"]),
    ("repo-manage", &["r", "rw"]),
    ("repo-delete", &["rw"]),
    ("repo-security", &["r"]),
    ("registry-package", &["r", "rw"]),
    ("registry-package-delete", &["rw"]),
    ("registry-security", &["r"]),
    ("registry-manage", &["r", "rw"]),
    ("registry-delete", &["rw"]),
    ("account-profile", &["r", "rw"]),
    ("account-email", &["r", "rw"]),
    ("account-engage", &["r", "rw"]),
    ("group-resource", &["r", "rw"]),
    ("group-manage", &["r", "rw"]),
    ("group-delete", &["rw"]),
    ("mission-delete", &["rw"]),
    ("mission-manage", &["r", "rw"]),
];

/// SVC-2.4-01
#[tokio::test]
async fn the_scopes_of_the_table_can_be_granted_as_it_says() {
    let world = World::platform().await;
    let max: Vec<_> = TABLE.iter().map(|(name, types)| format!("{name}:{}", types.last().unwrap())).collect();
    let mut form = form();
    form.scopes = max.join(" ");
    let client = world.register(form).await;
    assert_eq!(world.pair_of(&client).await.scope, max.join(" "));

    for (name, types) in TABLE {
        for permission in ["r", "rw"] {
            let asked = format!("{name}:{permission}");
            let query = world.query_of(&client, &[PKCE[0], PKCE[1], ("scope", &asked)]);
            if types.contains(&permission) {
                let code = world.code_for(&query).await;
                assert_eq!(pair(&world.exchange_as(&client, &code).await).scope, asked);
            } else {
                red(&world.refused(&query).await, "invalid_scope");
            }
        }
        let query = world.query_of(&client, &[PKCE[0], PKCE[1], ("scope", name)]);
        let code = world.code_for(&query).await;
        assert_eq!(pair(&world.exchange_as(&client, &code).await).scope, format!("{name}:{}", types[0]));
    }
    assert_eq!(world.server.config().scopes.definitions().len(), TABLE.len());
}

/// SVC-3-02
#[tokio::test]
async fn a_refresh_gives_a_new_access_token_and_a_new_refresh_token() {
    let world = World::platform().await;
    let first = world.pair().await;
    let second = pair(&world.refresh(&first.refresh).await);
    assert!(second.access != first.access && second.refresh != first.refresh);
    assert!(world.opens(&second.access).await);
    ok(&world.refresh(&second.refresh).await);
}

/// SVC-3-03
#[tokio::test]
async fn both_old_tokens_stay_usable_for_five_minutes() {
    let world = World::platform().await;
    let old = world.pair().await;
    let new = pair(&world.refresh(&old.refresh).await);
    world.advance(GRACE - 1);
    assert!(world.opens(&old.access).await);
    assert_eq!(pair(&world.refresh(&old.refresh).await), new);
    world.advance(1);
    wa(world.access(&old.access).await.unwrap_err(), 401, "invalid_token");
    assert!(world.opens(&new.access).await);
    ok(&world.refresh(&new.refresh).await);
    e400(&world.refresh(&old.refresh).await, "invalid_grant");
}

/// SVC-3-04
#[tokio::test]
async fn the_grace_never_lengthens_a_life() {
    let world = World::platform().await;
    let old = world.pair().await;
    world.advance(ACCESS_LIFE - 60);
    let new = pair(&world.refresh(&old.refresh).await);
    world.advance(59);
    assert!(world.opens(&old.access).await);
    for _ in 60..=61 {
        world.advance(1);
        wa(world.access(&old.access).await.unwrap_err(), 401, "invalid_token");
    }
    ok(&world.refresh(&old.refresh).await);

    world.advance(REFRESH_LIFE - 61 - 60);
    let last = pair(&world.refresh(&new.refresh).await);
    world.advance(59);
    ok(&world.refresh(&new.refresh).await);
    for _ in 60..=61 {
        world.advance(1);
        e400(&world.refresh(&new.refresh).await, "invalid_grant");
    }
    ok(&world.refresh(&last.refresh).await);
}

/// SVC-3-05
#[tokio::test]
async fn revocation_is_immediate() {
    let world = World::platform().await;
    let revoked = world.pair().await;
    let other = world.pair().await;
    empty(&world.revoke(&revoked.access).await);
    wa(world.access(&revoked.access).await.unwrap_err(), 401, "invalid_token");
    empty(&world.revoke(&revoked.refresh).await);
    e400(&world.refresh(&revoked.refresh).await, "invalid_grant");
    assert!(world.opens(&other.access).await);
    ok(&world.refresh(&other.refresh).await);
}

/// SVC-3-06
#[tokio::test]
async fn revoking_what_is_no_live_token_changes_nothing() {
    let world = World::platform().await;
    let old = world.pair().await;
    let code = world.code().await;
    world.advance(CODE_LIFE - 1);
    let live = pair(&world.refresh(&old.refresh).await);
    let stored =
        async || RecordStore::<Grant>::list(&world.store, world.alice.as_str(), Page::first(10)).await.unwrap();
    let before = stored().await;
    let mut altered = live.access.clone();
    altered.pop();
    for dead in ["no-such-token", "at_", "rt_", &altered, &code] {
        empty(&world.revoke(dead).await);
    }
    assert_eq!(stored().await, before);
    ok(&world.exchange(&code).await);

    world.advance(ACCESS_LIFE);
    let before = stored().await;
    for expired in [&old.access, &old.refresh, &live.access] {
        empty(&world.revoke(expired).await);
    }
    assert_eq!(stored().await, before);
    ok(&world.refresh(&live.refresh).await);
}
