//! Faults of other authorization servers, one test per fault: clients, PKCE, what is displayed. The first doc line
//! names the advisory, or the project with its number. Redirects are in `negative_redirects`, codes and tokens in
//! `negative_tokens`, refresh and grace in `negative_refresh`, secrets in the wrong place in `negative_secrets`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use grantor::wire::{Body, Endpoint, Request};
use grantor::{AuthorizationServer, Config, MemoryStore};

use support::attempts::{Attempts, Noted};
use support::world::{FORM, ISSUER, PKCE, World, e400, e401, encode, form, ok, page, pair, text};

// What is reflected, logged or displayed.

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

/// CVE-2026-45364
#[tokio::test]
async fn a_host_with_many_addresses_counts_once() {
    let attempts = Attempts::default();
    let world = World::built(Config::platform(ISSUER), |builder| builder.throttle(attempts.clone())).await;
    for peer in
        ["2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:3::1", "192.0.2.7", "::ffff:192.0.2.7"]
    {
        let request = Request::new("POST").header("Content-Type", FORM.as_bytes()).body(Body::Bytes(b"client_id=x"));
        e401(&world.server.serve(Endpoint::Token, &request.peer(peer.parse().unwrap())).await, "invalid_client");
    }
    let expected = ["2001:db8:1:2::", "2001:db8:1:2::", "2001:db8:1:3::", "192.0.2.7", "192.0.2.7"];
    let counted = attempts.take().into_iter().filter(|call| call.noted == Noted::Failed);
    assert_eq!(counted.map(|call| call.network.unwrap()).collect::<Vec<_>>(), expected);
}
