//! What an application may state about itself, and how a refusal reports what is wrong.

use std::collections::HashSet;

use grantor::application::{Field, Logo, Problem};
use grantor::client::{ApplicationType, ClientType, GrantType, GrantTypes};
use grantor::text::TextFault;
use grantor::{ApplicationForm, Approval, Config, RegistrarError, Subject};

use crate::registration::{fields, refused_text, registrar, submitted, submitted_as};
use support::world::{ISSUER, PKCE, Reviewer as _, With as _, World, code, form, logo, page, red};

/// CVE-2018-1000088
///
/// Markup is kept like any other text, but the server never writes it into a page or header.
#[tokio::test]
async fn hostile_text_of_a_client_is_reported_as_text_and_rendered_nowhere() {
    let world = World::platform().await;
    let hostile = "<script>alert(1)</script>\"'&";
    let mut form = form();
    form.name = hostile.into();
    form.description = Some(hostile.into());
    let client = world.register(form).await;
    let pending = world.authorize(&world.query_of(&client, &PKCE)).await.unwrap();
    assert_eq!(pending.client().form().name, hostile);

    let wrong = world.refused(&world.query_of(&client, &[("redirect_uri", "https://other.example/")])).await;
    let scope = world.refused(&world.query_of(&client, &[("scope", "nothing")])).await;
    let agreed = world.approve(&world.query_of(&client, &PKCE)).await;
    let exchanged = world.exchange_as(&client, "no-code").await;
    page(&wrong);
    red(&scope, "invalid_scope");
    code(&agreed);
    for response in [wrong, scope, agreed, exchanged] {
        let headers = response.header("Location").unwrap_or_default();
        let sent = format!("{headers}{}", String::from_utf8_lossy(response.body()));
        assert!(!sent.contains("alert"), "{sent}");
    }
    assert!(world.events.take().iter().all(|event| !event.contains("alert")));
}

/// D-24, SVC-2.1-05, SVC-2.1-06
#[tokio::test]
async fn each_refusal_names_its_field_and_why() {
    type Change = fn(&mut ApplicationForm);
    let world = World::built(Config::platform(ISSUER), |builder| builder).await;
    let cases: [(Change, &str); 10] = [
        (
            |form| form.redirect_uris.push("http://app.example.com/".into()),
            "redirect_uris: value 2: the redirect URI uses plain http and does not lead to the loopback interface: \
             write https://",
        ),
        (|form| form.redirect_uris.push(form.redirect_uris[0].clone()), "redirect_uris: value 2 is a duplicate"),
        (
            |form| form.redirect_uris = (0..11).map(|n| format!("https://app.example.com/{n}")).collect(),
            "redirect_uris: has more than 10 values",
        ),
        (|form| form.scopes = "repo-code,repo-issue".into(), "scopes: unknown scope \"repo-code,repo-issue\""),
        (
            |form| form.scopes = "repo-cod:r".into(),
            "scopes: unknown scope \"repo-cod:r\"; did you mean \"repo-code:r\"?",
        ),
        (
            |form| form.redirect_uris = vec!["myapp:/cb".into()],
            "redirect_uris: value 1: the redirect URI has no scheme that is accepted: write https://, or for an app \
             its domain name in reverse, with a dot and one slash, such as com.example.app:/cb",
        ),
        (
            |form| form.redirect_uris = vec!["com.example.app://cb".into()],
            "redirect_uris: value 1: the redirect URI has a private-use scheme without exactly one slash after it, \
             as in com.example.app:/cb",
        ),
        (
            |form| {
                form.grant_types = GrantTypes::default().with(GrantType::ClientCredentials);
                form.client_scopes = "repo-code:r".into();
            },
            "grant_types: has client_credentials, and the server setting client_credentials.on is off",
        ),
        (
            |form| form.client_type = ClientType::Public,
            "client_type: is public, and this server accepts only confidential clients: Config::public_clients is off",
        ),
        (
            |form| form.grant_types = GrantTypes::NONE.with(GrantType::RefreshToken),
            "grant_types: has refresh_token without authorization_code or \
             urn:ietf:params:oauth:grant-type:device_code",
        ),
    ];
    for (change, text) in cases {
        let outcome = registrar(&world).submit(world.alice.clone(), form().with(change), Some(logo())).await;
        assert_eq!(outcome.unwrap_err().to_string(), format!("refused: {text}"));
    }
}

/// D-24
#[tokio::test]
async fn all_refused_fields_are_reported_at_once_in_the_order_of_the_form() {
    let world = World::built(Config::platform(ISSUER), |builder| builder).await;
    let mut form = ApplicationForm::new("secret\n", "ftp://secret.example");
    form.description = Some("secret\r".into());
    form.client_type = ClientType::Public;
    let error = registrar(&world).submit(world.alice.clone(), form, None).await.unwrap_err();
    let text = error.to_string();
    // The text repeats no input, so it can be logged.
    assert!(!text.contains("secret"), "{text}");
    let found = fields::<()>(Err(error));
    let texts = found.iter().filter(|(_, problem)| matches!(problem, Problem::Text(_)));
    assert_eq!(texts.map(|(field, _)| *field).collect::<Vec<_>>(), [Field::Name, Field::Description]);
    assert_eq!(
        found.into_iter().filter(|(_, problem)| !matches!(problem, Problem::Text(_))).collect::<Vec<_>>(),
        [
            (Field::Logo, Problem::Missing),
            (Field::Website, Problem::NotAWebAddress),
            (Field::RedirectUris, Problem::Missing),
            (Field::Scopes, Problem::Missing),
            (Field::ResourceScope, Problem::Missing),
            (Field::ClientType, Problem::PublicClientsOff),
        ]
    );
}

/// 8252-8.4-01
#[tokio::test]
async fn the_kind_of_a_client_is_recorded_and_its_redirect_uris_are_complete() {
    let world = World::platform().await;
    for client_type in [ClientType::Confidential, ClientType::Public] {
        for application_type in [ApplicationType::Web, ApplicationType::Native] {
            let mut form = form();
            form.client_type = client_type;
            form.application_type = application_type;
            let id = submitted_as(&world, form).await;
            registrar(&world).approve_now(&id, Approval::default()).await.unwrap();
            let claimed = registrar(&world).claim_now(&id).await;
            assert_eq!(claimed.is_ok(), client_type == ClientType::Confidential);
            let client = registrar(&world).client(&id).await.unwrap();
            assert_eq!((client.form().client_type, client.form().application_type), (client_type, application_type));
        }
    }
    for incomplete in ["/cb", "app.example.com/cb", "https://*.example/cb"] {
        let form = form().with(|form| {
            form.client_type = ClientType::Public;
            form.redirect_uris = vec![incomplete.into()];
        });
        let refused = fields(registrar(&world).submit(world.alice.clone(), form, Some(logo())).await);
        assert!(matches!(refused[..], [(Field::RedirectUris, Problem::RedirectUri { number: 1, .. })]), "{incomplete}");
    }
}

/// 9700-4.15-01, CIMD-6-02
#[tokio::test]
async fn client_ids_are_made_by_the_server_and_look_like_nobody() {
    let world = World::platform().await;
    let mut seen = HashSet::new();
    for _ in 0..200 {
        let form = form().with(|form| form.name = "alice".into());
        let id = registrar(&world).submit(world.alice.clone(), form, Some(logo())).await.unwrap();
        assert!(id.as_str().len() == 22 && id.as_str().bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
        assert!(seen.insert(id));
    }
}

/// D-25
#[tokio::test]
async fn the_reason_of_a_rejection_is_required_and_bounded() {
    let world = World::platform().await;
    let id = submitted(&world).await;
    for (reason, problem) in
        [(String::new(), Problem::Missing), ("x".repeat(1001), Problem::TooManyCharacters { limit: 1000 })]
    {
        assert_eq!(fields(registrar(&world).reject_now(&id, &reason).await), [(Field::Reason, problem)]);
    }
    let refused = refused_text(registrar(&world).reject_now(&id, "no\u{7}").await);
    assert_eq!(refused, (Field::Reason, 7, 3, TextFault::Control));
    let reason = format!("First.\n{}", "\u{1f600}".repeat(993));
    registrar(&world).reject_now(&id, &reason).await.unwrap();
    assert_eq!(registrar(&world).application(&id).await.unwrap().rejection.as_deref(), Some(&*reason));
}

/// SVC-2.1-02, D-25
#[tokio::test]
async fn a_change_is_checked_like_a_submission_and_may_leave_the_logo() {
    let world = World::platform().await;
    let id = world.client.client_id();
    let nameless = form().with(|form| form.name = String::new());
    assert_eq!(fields(registrar(&world).change_now(&id, nameless, None).await), [(Field::Name, Problem::Missing)]);
    let large = Logo::decode([support::world::PNG, &vec![0; 1_048_576]].concat()).unwrap();
    let problem = Problem::TooManyBytes { limit: 1_048_576 };
    assert_eq!(fields(registrar(&world).change_now(&id, form(), Some(large)).await), [(Field::Logo, problem)]);
    registrar(&world).change_now(&id, form(), None).await.unwrap();

    let nobody = grantor::ClientId::new("nobody").unwrap();
    let outcome = registrar(&world).change(&nobody, &world.alice, form(), None).await;
    assert!(matches!(outcome, Err(RegistrarError::NotFound)));
    assert_eq!(
        registrar(&world).application(&id).await.unwrap().owner.as_ref(),
        Some(&Subject::new("developer").unwrap())
    );
}

/// The rules are built with the server, and not for each registrar.
#[tokio::test]
async fn all_registrars_of_a_server_share_its_rules() {
    let (world, other) = (World::platform().await, World::platform().await);
    let (first, second) = (registrar(&world), registrar(&world));
    assert!(std::ptr::eq(first.limits(), second.limits()));
    assert!(!std::ptr::eq(first.limits(), registrar(&other).limits()));
}
