//! Sections 4 to 8: the endpoints, what a token may do, and the limits.

use std::time::Duration;

use grantor::application::{Field, Logo, Problem, RegistrationLimits};
use grantor::config::Profile;
use grantor::{Consent, Decision};

use crate::service::application::refusals;
use support::world::{PKCE, PNG, SCOPES, SESSION, With as _, World, code, e400, form, logo, ok, pair, red};

/// SVC-4.1-06, SVC-4.1-01
#[tokio::test]
async fn there_is_no_code_before_the_user_has_agreed() {
    let world = World::platform().await;
    let pending = world.authorize(&format!("response_type=code&client_id={}", world.client.id)).await.unwrap();
    assert_eq!((world.store.authorization_count().await, world.store.grant_count().await), (0, 0));
    assert_eq!((pending.client().form().name.as_str(), pending.scopes().as_str()), ("Example App", SCOPES));

    world.events.take();
    let handle = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
    assert!(!world.events.saw("CodeIssued"));
    for guess in [handle.expose().to_owned(), handle.expose().replacen("ah_", "ac_", 1)] {
        e400(&world.exchange(&guess).await, "invalid_grant");
    }
    let denied = world.server.decide(handle.expose(), &world.alice, SESSION, &Decision::Deny).await.unwrap();
    red(&denied, "access_denied");
    assert!(!world.events.saw("CodeIssued"));

    let handle = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
    let agreed = Decision::Approve(Consent::to_everything());
    code(&world.server.decide(handle.expose(), &world.alice, SESSION, &agreed).await.unwrap());
    assert!(world.events.saw("CodeIssued"));
}

/// SVC-8-01
#[tokio::test]
async fn the_limits_of_the_service_can_be_changed() {
    let world = World::with(Profile::Platform, |config| {
        config.authorization.code_lifetime = Duration::from_secs(60);
        config.tokens.access_lifetime = Duration::from_secs(100);
        config.tokens.refresh_lifetime = Duration::from_secs(1000);
        config.refresh.access_token_grace = Duration::from_secs(10);
        config.refresh.grace = Duration::from_secs(10);
        config.registration.form.name = 11;
        config.registration.form.logo = PNG.len();
        config.registration.form.description = 3;
        config.registration.form.website = 24;
    })
    .await;
    let code = world.code().await;
    world.advance(60);
    e400(&world.exchange(&code).await, "invalid_grant");
    let code = world.code().await;
    world.advance(59);
    let response = world.exchange(&code).await;
    assert_eq!(ok(&response).expires_in, Some(100));

    let first = pair(&response);
    let second = pair(&world.refresh(&first.refresh).await);
    let other = world.pair().await;
    ok(&world.refresh(&other.refresh).await);
    world.advance(9);
    assert!(world.opens(&first.access).await);
    ok(&world.refresh(&other.refresh).await);
    world.advance(1);
    assert!(!world.opens(&first.access).await);
    e400(&world.refresh(&other.refresh).await, "invalid_grant");
    world.advance(89);
    assert!(world.opens(&second.access).await);
    world.advance(1);
    assert!(!world.opens(&second.access).await);
    world.advance(899);
    let third = pair(&world.refresh(&second.refresh).await);
    world.advance(1000);
    e400(&world.refresh(&third.refresh).await, "invalid_grant");

    assert_eq!(refusals(&world, form(), Some(logo())).await, []);
    let mut large = form();
    large.name.push('s');
    large.description = Some("long".into());
    large.website.push('x');
    let larger_logo = Logo::new([PNG, &[0]].concat(), &RegistrationLimits::default()).unwrap();
    assert_eq!(
        refusals(&world, large, Some(larger_logo)).await,
        [
            (Field::Name, Problem::TooManyCharacters { limit: 11 }),
            (Field::Logo, Problem::TooManyBytes { limit: PNG.len() }),
            (Field::Description, Problem::TooManyCharacters { limit: 3 }),
            (Field::Website, Problem::TooManyCharacters { limit: 24 }),
        ]
    );
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
    let client = world.register(form().with(|form| form.scopes = max.join(" "))).await;
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
