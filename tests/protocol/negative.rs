//! Faults of other authorization servers, one test per fault: clients, PKCE, what is displayed. The first doc line
//! names the advisory, or the project with its number. Redirects are in `negative_redirects`, codes and tokens in
//! `negative_tokens`, refresh and grace in `negative_refresh`, secrets in the wrong place in `negative_secrets`.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use grantor::application::{Field, Problem};
use grantor::client::ClientState;
use grantor::config::Profile;
use grantor::hooks::{Attempt, Throttle, ThrottleDecision};
use grantor::redirect_uri::RedirectUriError;
use grantor::scope::ScopeError;
use grantor::wire::{Body, Endpoint, Request};
use grantor::{Approval, AuthorizationServer, Config, Consent, Decision, MemoryStore, RegistrarError, Subject};

use crate::negative_redirects::refused_uri;
use support::world::{
    CHALLENGE, FORM, ISSUER, PKCE, Reviewer, SESSION, VERIFIER, World, code, e400, e401, encode, form, logo, ok, page,
    pair, public_form, red, text,
};

pub(crate) const HOSTILE: &str = "\"><script>alert(1)</script>\r\nSet-Cookie: x=y\0'&#x3c;";

// What is reflected, logged or displayed.

/// CVE-2019-8400
#[tokio::test]
async fn hostile_bytes_come_back_encoded_or_not_at_all() {
    for profile in [Profile::Platform, Profile::Strict] {
        let world = World::with(profile, |_| {}).await;
        let names =
            ["state", "scope", "redirect_uri", "response_type", "client_id", "code_challenge", "error_hint", "x"];
        for name in names {
            for query in [encode(&[(name, HOSTILE)]), world.query(&[(name, HOSTILE), ("scope", "nothing")])] {
                let response = match world.authorize(&query).await {
                    Ok(_) => continue,
                    Err(error) => error.response(Some(&world.alice)),
                };
                for (header, value) in response.headers() {
                    assert!(value.bytes().all(|byte| (0x20..=0x7e).contains(&byte)), "{header} of {name}");
                    assert!(!value.contains(['<', '>', '"']) || header != "Location", "{header} of {name}: {value}");
                }
                assert!(!String::from_utf8_lossy(response.body()).contains("alert"), "{name}");
            }
        }
        for field in ["grant_type", "code", "refresh_token", "client_id", "redirect_uri", "scope"] {
            let response = world.token(&[("grant_type", "refresh_token")]).field(field, HOSTILE).send().await;
            assert!(!String::from_utf8_lossy(response.body()).contains("alert"), "{field}");
        }
    }
}

/// CVE-2018-1000088
#[tokio::test]
async fn hostile_text_of_an_application_is_refused_or_reported_as_plain_text() {
    let world = World::platform().await;
    let registrar = world.server.registrar().unwrap();
    for name in ["a\u{202e}b", "a\0b", "a\nb", "\u{200b}", " "] {
        let mut form = form();
        form.name = name.into();
        let outcome = registrar.submit(world.alice.clone(), form, Some(logo())).await;
        let Err(RegistrarError::Invalid(errors)) = outcome else { panic!("{name:?} was accepted") };
        assert_eq!(errors[0].field(), Field::Name);
    }
    for website in ["javascript:alert(1)", "data:text/html,x"] {
        let mut form = form();
        form.website = website.into();
        let outcome = registrar.submit(world.alice.clone(), form, Some(logo())).await;
        assert!(matches!(outcome, Err(RegistrarError::Invalid(_))), "{website}");
    }
    let mut markup = form();
    markup.name = "<script>alert(1)</script>".into();
    let client = world.register(markup).await;
    let pending = world.authorize(&world.query_of(&client, &[])).await.unwrap();
    assert_eq!(pending.client().name(), "<script>alert(1)</script>", "only the page escapes it");
    let response = world.refused(&world.query_of(&client, &[("redirect_uri", "https://evil.test")])).await;
    assert!(!String::from_utf8_lossy(response.body()).contains("script"));
}

/// CVE-2020-10187, CVE-2023-37260, django-oauth-toolkit #1736
#[tokio::test]
async fn no_list_and_no_debug_output_shows_a_secret() {
    let world = World::platform().await;
    let first = world.pair().await;
    let registrar = world.server.registrar().unwrap();
    let client = world.client.client_id();
    let all =
        registrar.list(&grantor::application::ApplicationFilter::All, grantor::store::Page::first(10)).await.unwrap();
    let grants = world.server.grants_of(&world.alice).await.unwrap();
    let request = Request::new("POST").header("Authorization", first.access.as_bytes());
    let failed = world.access("at_x").await.unwrap_err();
    let shown = format!(
        "{:?} {:?} {all:?} {grants:?} {:?} {:?} {:?} {request:?} {failed:?} {failed} {:?}",
        registrar.client(&client).await.unwrap(),
        registrar.application(&client).await.unwrap(),
        world.access(&first.access).await.unwrap(),
        world.server,
        world.store,
        world.refresh(&first.refresh).await,
    );
    let digest = |secret: &str| {
        use sha2::Digest;
        sha2::Sha256::digest(secret).to_vec()
    };
    for secret in [&world.client.secret, &first.access[25..].to_owned(), &first.refresh[25..].to_owned()] {
        assert!(!shown.contains(secret.as_str()));
        let digest = digest(secret);
        assert!(!shown.contains(&format!("{digest:?}")) && !shown.contains(&STANDARD.encode(&digest)));
        assert!(!shown.contains(&digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>()));
    }
}

/// django-oauth-toolkit #1735
#[tokio::test]
async fn failed_authentication_is_reported_without_the_secret() {
    let world = World::platform().await;
    world.events.take();
    let guess = "a-guess-that-may-be-nearly-right";
    let call = || world.token(&[("grant_type", "authorization_code")]);
    for call in [
        call().basic(&world.client.id, guess),
        call().field("client_id", &world.client.id).field("client_secret", guess),
        call().header("Authorization", format!("Basic {guess}").as_bytes()),
        call().header("Authorization", format!("Bearer {guess}").as_bytes()),
    ] {
        let response = call.send().await;
        e401(&response, "invalid_client");
        assert!(!String::from_utf8_lossy(response.body()).contains(guess));
    }
    let events = world.events.take();
    assert_eq!(events.len(), 4, "{events:?}");
    let coded = STANDARD.encode(format!("{}:{guess}", world.client.id));
    for event in events {
        assert!(
            event.starts_with("AuthenticationFailed") && !event.contains(guess) && !event.contains(&coded),
            "{event}"
        );
    }
}

/// CVE-2026-50629, CVE-2026-50630
#[tokio::test]
async fn neither_client_id_nor_issuer_carries_a_line_break() {
    let world = World::platform().await;
    world.events.take();
    for hostile in ["a\r\nX-Evil: 1", "a\nb", "a\0b", "\u{7f}", "a\u{e9}"] {
        page(&world.refused(&encode(&[("response_type", "code"), ("client_id", hostile)])).await);
        let call = world.token(&[("grant_type", "refresh_token"), ("client_id", hostile)]);
        let response = call.send().await;
        e401(&response, "invalid_client");
        assert!(response.headers().all(|(_, value)| value.bytes().all(|byte| (0x20..=0x7e).contains(&byte))));
        let mut config = Config::platform(ISSUER);
        config.issuer = format!("{ISSUER}/{hostile}");
        let error = AuthorizationServer::new(config, MemoryStore::new()).unwrap_err();
        assert_eq!(error.field(), "issuer");
        assert!(error.to_string().bytes().all(|byte| byte >= 0x20 && byte != 0x7f), "{error:?}");
    }
    for event in world.events.take() {
        assert!(!event.contains(['\r', '\n', '\0', '\u{7f}']), "{event:?}");
    }
}

/// django-oauth-toolkit #1006
#[tokio::test]
async fn a_nul_byte_is_never_a_failure_of_the_server() {
    let world = World::platform().await;
    let fields =
        ["client_id", "client_secret", "grant_type", "code", "refresh_token", "redirect_uri", "scope", "token"];
    for endpoint in [Endpoint::Token, Endpoint::Revocation, Endpoint::Introspection] {
        for field in fields {
            let anonymous = world.post(endpoint, &[(field, "a\0b")]).send().await;
            assert!(matches!(anonymous.status(), 400 | 401), "{endpoint:?} {field}");
            let known = world.post(endpoint, &[(field, "a\0b")]).client(&world.client).send().await;
            assert!(matches!(known.status(), 200 | 400 | 401), "{endpoint:?} {field}: {}", known.status());
        }
    }
    for name in ["client_id", "redirect_uri", "response_type", "scope", "state", "code_challenge"] {
        let response = match world.authorize(&encode(&[(name, "a\0b")])).await {
            Ok(_) => continue,
            Err(error) => error.response(None),
        };
        assert_eq!(response.status(), 400, "{name}");
    }
}

// Clients.

/// doorkeeper 5.9.5, doorkeeper 5.9.6
#[tokio::test]
async fn methods_and_identities_of_a_client_are_not_mixed() {
    let world = World::platform().await;
    let other = world.register(form()).await;
    let first = world.pair().await;
    let refresh = [("grant_type", "refresh_token"), ("refresh_token", first.refresh.as_str())];
    let call = || world.token(&refresh).client(&world.client);
    for mixed in [
        call().field("client_secret", &world.client.secret),
        call().form_secret(&world.client),
        call().field("client_id", &other.id),
        call().form_secret(&other),
        call().basic(&other.id, &other.secret),
        world.token(&refresh).form_secret(&world.client).field("client_id", &other.id),
        world.token(&refresh).form_secret(&world.client).field("client_secret", "x"),
    ] {
        e400(&mixed.send().await, "invalid_request");
    }
    ok(&call().field("client_id", &world.client.id).send().await);
}

/// CVE-2014-8144
#[tokio::test]
async fn a_decision_that_another_site_forges_is_refused() {
    let world = World::platform().await;
    let pending = world.authorize(&world.query(&[])).await.unwrap();
    let handle = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
    let mallory = Subject::new("mallory").unwrap();
    let of_mallory = world.server.hold(&pending, &mallory, b"session of mallory").await.unwrap();
    let approve = Decision::Approve(Consent::to_everything());
    let truncated = &handle.expose()[..handle.expose().len() - 1];
    for (handle, subject, session) in [
        ("", &world.alice, SESSION),
        (truncated, &world.alice, SESSION),
        (handle.expose(), &world.alice, b"another session".as_slice()),
        (handle.expose(), &world.alice, b""),
        (handle.expose(), &mallory, SESSION),
        (handle.expose(), &mallory, b"session of mallory"),
        (of_mallory.expose(), &world.alice, SESSION),
    ] {
        for decision in [&approve, &Decision::Deny] {
            page(&world.server.decide(handle, subject, session, decision).await.unwrap_err().response(Some(subject)));
        }
    }
    code(&world.server.decide(handle.expose(), &world.alice, SESSION, &approve).await.unwrap());
}

/// CVE-2025-4143
#[tokio::test]
async fn a_decision_is_about_the_request_that_was_checked_and_is_checked_again() {
    let world = World::platform().await;
    let other = world.register(form()).await;
    let own = world.authorize(&world.query(&[("state", "own")])).await.unwrap();
    let foreign = world.authorize(&world.query_of(&other, &[("state", "foreign")])).await.unwrap();
    let own = world.server.hold(&own, &world.alice, SESSION).await.unwrap();
    let foreign = world.server.hold(&foreign, &world.alice, SESSION).await.unwrap();
    let spliced = format!("{}{}", &foreign.expose()[..25], &own.expose()[25..]);
    let approve = Decision::Approve(Consent::to_everything());
    let outcome = world.server.decide(&spliced, &world.alice, SESSION, &approve).await;
    page(&outcome.unwrap_err().response(Some(&world.alice)));
    let redirect = code(&world.server.decide(own.expose(), &world.alice, SESSION, &approve).await.unwrap());
    assert_eq!(text(&redirect, "state"), "own");

    let registrar = world.server.registrar().unwrap();
    let mut moved = form();
    moved.redirect_uris = vec!["https://moved.example/cb".into()];
    registrar.change_now(&other.client_id(), moved, None).await.unwrap();
    registrar.approve_now(&other.client_id(), Approval::default()).await.unwrap();
    let outcome = world.server.decide(foreign.expose(), &world.alice, SESSION, &approve).await;
    page(&outcome.unwrap_err().response(Some(&world.alice)));
}

/// CVE-2026-44476
#[tokio::test]
async fn a_public_client_has_no_secret_anywhere() {
    let world = World::platform().await;
    let registrar = world.server.registrar().unwrap();
    let id = registrar.submit(world.alice.clone(), public_form(), Some(logo())).await.unwrap();
    registrar.approve_now(&id, Approval::default()).await.unwrap();
    assert!(matches!(registrar.claim_now(&id).await, Err(RegistrarError::PublicClient)));
    assert!(matches!(registrar.rotate_now(&id).await, Err(RegistrarError::PublicClient)));
    for secret in ["x", "[redacted]", ""] {
        let call = world.token(&[("grant_type", "refresh_token"), ("refresh_token", "x")]);
        let response = call.basic(id.as_str(), secret).send().await;
        if secret.is_empty() {
            e400(&response, "invalid_grant");
        } else {
            e401(&response, "invalid_client");
        }
    }
}

/// CVE-2026-70665, CVE-2026-22752
#[tokio::test]
async fn a_registration_gives_itself_nothing() {
    let world = World::platform().await;
    let registrar = world.server.registrar().unwrap();
    let mut unknown = form();
    unknown.scopes = "repo-code:rw admin".into();
    let Err(RegistrarError::Invalid(errors)) = registrar.submit(world.alice.clone(), unknown, Some(logo())).await
    else {
        panic!("an unknown scope was registered")
    };
    assert_eq!(
        (errors[0].field(), errors[0].problem()),
        (Field::Scopes, &Problem::Scope(ScopeError::Unknown { token: Some("admin".into()), nearest: None }))
    );

    let id = registrar.submit(world.alice.clone(), form(), Some(logo())).await.unwrap();
    assert_eq!(registrar.application(&id).await.unwrap().state(), ClientState::Pending);
    let more = registrar.approve_now(&id, Approval::default().scopes("repo-code:rw repo-delete:rw")).await;
    assert!(matches!(more, Err(RegistrarError::ScopesNotAsked)));
    registrar.approve_now(&id, Approval::default().scopes("repo-code:r")).await.unwrap();
    let client = registrar.client(&id).await.unwrap();
    assert_eq!(client.scopes().as_str(), "repo-code:r");
    assert!(!client.is_trusted() && !client.may_introspect());
    assert!(matches!(
        refused_uri(&world, "http://192.168.0.1/cb").await,
        Some(Problem::RedirectUri { error: RedirectUriError::PlainHttp, .. })
    ));
}

/// CVE-2026-75866
#[tokio::test]
async fn registered_scopes_and_grant_types_bind() {
    let world = World::platform().await;
    let mut code_only = form();
    code_only.grant_types = grantor::client::GrantTypes::CODE_ONLY;
    let code_only = world.register(code_only).await;
    let first = world.pair_of(&code_only).await;
    assert_eq!(first.refresh, "", "no refresh token without the grant type");
    let foreign = world.pair().await;
    e400(&world.refresh_as(&code_only, &foreign.refresh).await, "unauthorized_client");

    let mut none = form();
    none.grant_types = grantor::client::GrantTypes::NONE;
    let none = world.register(none).await;
    red(&world.refused(&world.query_of(&none, &[])).await, "unauthorized_client");
    let code = world.code().await;
    e400(&world.exchange_as(&none, &code).await, "unauthorized_client");
    red(&world.refused(&world.query(&[("scope", "repo-delete")])).await, "invalid_scope");
    ok(&world.exchange(&code).await);
}

// PKCE.

/// CVE-2025-4144, CVE-2024-22258, CVE-2024-23647
/// Also league/oauth2-server 8.4.0.
#[tokio::test]
async fn pkce_cannot_be_taken_away_on_either_side() {
    let world = World::platform().await;
    let public = world.register(public_form()).await;
    for (client, needs) in [(&world.client, false), (&public, true)] {
        for (challenge, verifier, answer) in [
            (false, false, Ok(())),
            (false, true, Err("invalid_request")),
            (true, false, Err("invalid_grant")),
            (true, true, Ok(())),
        ] {
            let case = format!("needs {needs}, challenge {challenge}, verifier {verifier}");
            let more: &[(&str, &str)] = if challenge { &PKCE } else { &[] };
            let query = world.query_of(client, more);
            if needs && !challenge {
                red(&world.refused(&query).await, "invalid_request");
                continue;
            }
            let code = world.code_for(&query).await;
            let mut call = world.token(&[("grant_type", "authorization_code"), ("code", &code)]).client(client);
            if verifier {
                call = call.field("code_verifier", VERIFIER);
            }
            let response = call.send().await;
            match answer {
                Ok(()) => assert_eq!(response.status(), 200, "{case}"),
                Err(error) => e400(&response, error),
            }
        }
    }
}

/// CVE-2023-48228
#[tokio::test]
async fn a_verifier_is_not_left_out() {
    let world = World::platform().await;
    for client in [world.client.clone(), world.register(public_form()).await] {
        let code = world.code_for(&world.query_of(&client, &PKCE)).await;
        let form = [("grant_type", "authorization_code"), ("code", code.as_str())];
        e400(&world.token(&form).client(&client).send().await, "invalid_grant");
        e400(&world.token(&form).field("code_verifier", "").client(&client).send().await, "invalid_grant");
        ok(&world.exchange_as(&client, &code).await);
    }
}

/// workers-oauth-provider #275
#[tokio::test]
async fn an_unknown_challenge_method_is_not_taken_for_plain() {
    let world = World::platform().await;
    for method in ["S257", "s256", "none", "plain", ""] {
        let query = world.query(&[("code_challenge", VERIFIER), ("code_challenge_method", method)]);
        red(&world.refused(&query).await, "invalid_request");
    }
    let code = world.code_for(&world.query(&[("code_challenge", VERIFIER), PKCE[1]])).await;
    e400(&world.exchange(&code).await, "invalid_grant");
    let code = world.code_for(&world.query(&[("code_challenge", CHALLENGE), PKCE[1]])).await;
    ok(&world.exchange(&code).await);
}

// The endpoints.

/// RFC 6749 section 4.1.2: the honest client sends every code that reaches its redirect URI, with the verifier of the
/// current browser session.
#[tokio::test]
async fn a_spent_code_that_a_stranger_feeds_to_its_client_ends_no_grant_with_pkce() {
    let world = World::platform().await;
    let code = world.code().await;
    let live = pair(&world.exchange(&code).await);
    let of_another_session = "a-verifier-of-the-session-that-the-stranger-has";
    let form = [("grant_type", "authorization_code"), ("code", &code), ("code_verifier", of_another_session)];
    e400(&world.token(&form).client(&world.client).send().await, "invalid_grant");
    assert!(world.opens(&live.access).await && !world.events.saw("CodeReplayed"));

    let code = world.code_for(&world.query(&[])).await;
    let live = pair(&world.exchange_without_pkce(&code).await);
    e400(&world.exchange_without_pkce(&code).await, "invalid_grant");
    assert!(!world.opens(&live.access).await && world.events.saw("CodeReplayed"));
    let report = world.server.security_report();
    let costs = |finding: &&grantor::config::Finding| {
        finding.setting == "authorization.pkce" && finding.consequence.contains("spent code")
    };
    assert_eq!(report.findings.iter().filter(costs).count(), 1);
}

/// workers-oauth-provider #224
#[tokio::test]
async fn no_answer_with_a_secret_or_an_error_may_be_cached() {
    let world = World::platform().await;
    let code = world.approve(&world.query(&PKCE)).await;
    let first = world.exchange(&text(&support::world::code(&code), "code")).await;
    let tokens = pair(&first);
    let answers = [
        code,
        first,
        world.refresh(&tokens.refresh).await,
        world.refresh("x").await,
        world.token(&[]).send().await,
        world.token(&[]).method("GET").send().await,
        world.post(Endpoint::Introspection, &[("token", &tokens.access)]).client(&world.client).send().await,
        world.revoke(&tokens.refresh).await,
        world.post(Endpoint::Revocation, &[]).send().await,
        world.access("x").await.unwrap_err().into_response(),
        world.refused("").await,
    ];
    for (number, answer) in answers.iter().enumerate() {
        assert_eq!(answer.header("Cache-Control"), Some("no-store"), "answer {number}");
    }
}

/// workers-oauth-provider #240
#[tokio::test]
async fn no_content_type_is_a_failure_of_the_server() {
    let world = World::platform().await;
    for endpoint in [Endpoint::Token, Endpoint::Revocation, Endpoint::Introspection] {
        for content_type in
            [&b""[..], b"text/plain", b"multipart/form-data", b"application/json", b"\xff", b";", b"x/y;="]
        {
            let call = world.post(endpoint, &[("token", "x")]).client(&world.client);
            let call = call.without_header("Content-Type").header("Content-Type", content_type);
            e400(&call.send().await, "invalid_request");
        }
        let call = world.post(endpoint, &[("token", "x")]).client(&world.client);
        e400(&call.without_header("Content-Type").send().await, "invalid_request");
        let twice = world.post(endpoint, &[("token", "x")]).client(&world.client);
        e400(&twice.header("Content-Type", b"text/plain").send().await, "invalid_request");
    }
}

/// Records the key that each failure is counted under.
#[derive(Clone, Debug, Default)]
struct Networks(Arc<Mutex<Vec<String>>>);

#[async_trait]
impl Throttle for Networks {
    async fn check(&self, _attempt: &Attempt<'_>) -> ThrottleDecision {
        ThrottleDecision::Allow
    }

    async fn failed(&self, attempt: &Attempt<'_>) {
        self.0.lock().unwrap().push(attempt.peer_network().map(|network| network.to_string()).unwrap_or_default());
    }
}

/// CVE-2026-45364
#[tokio::test]
async fn a_host_with_many_addresses_counts_once() {
    let networks = Networks::default();
    let world = World::built(Config::platform(ISSUER), |builder| builder.throttle(networks.clone())).await;
    for peer in
        ["2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:3::1", "192.0.2.7", "::ffff:192.0.2.7"]
    {
        let request = Request::new("POST").header("Content-Type", FORM.as_bytes()).body(Body::Bytes(b"client_id=x"));
        e401(&world.server.serve(Endpoint::Token, &request.peer(peer.parse().unwrap())).await, "invalid_client");
    }
    let expected = ["2001:db8:1:2::", "2001:db8:1:2::", "2001:db8:1:3::", "192.0.2.7", "192.0.2.7"];
    assert_eq!(*networks.0.lock().unwrap(), expected);
}
