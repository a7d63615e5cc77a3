//! RFC 6749, sections 2 and 3: clients, their authentication, the two endpoints, scopes.

mod directory;
mod endpoints;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use grantor::Config;
use grantor::client::{AuthenticationMethod, AuthenticationMethods};
use grantor::config::Profile;
use grantor::hooks::{Attempt, Throttle, ThrottleDecision};
use grantor::wire::Endpoint;

use support::world::{
    Call, Credentials, ISSUER, Reviewer as _, VERIFIER, With as _, World, e400, e401, empty, form, ok, pair,
    public_form, r401,
};

/// The exchange of a code with the verifier of the world, without credentials.
fn exchange<'w>(world: &'w World, code: &str) -> Call<'w> {
    world.token(&[("grant_type", "authorization_code"), ("code", code), ("code_verifier", VERIFIER)])
}

/// Asserts that a request fails authentication at all three endpoints, with the response of each.
async fn fails_everywhere(world: &World, bend: impl Fn(Call<'_>) -> Call<'_>, case: &str) {
    let form = [("grant_type", "refresh_token"), ("refresh_token", "x"), ("token", "x")];
    println!("{case}");
    e401(&bend(world.post(Endpoint::Token, &form)).send().await, "invalid_client");
    r401(&bend(world.post(Endpoint::Revocation, &form)).send().await);
    e401(&bend(world.post(Endpoint::Introspection, &form)).send().await, "invalid_client");
}

/// Declares that the closure returns a call with the lifetime of its argument.
fn bend<F: Fn(Call<'_>) -> Call<'_>>(change: F) -> F {
    change
}

fn empty_secret<'w>(call: Call<'w>, id: &str, by_basic: bool) -> Call<'w> {
    if by_basic { call.basic(id, "") } else { call.field("client_id", id).field("client_secret", "") }
}

fn basic(pair: &[u8]) -> String {
    format!("Basic {}", STANDARD.encode(pair))
}

/// 6749-2.2-01
#[tokio::test]
async fn a_client_id_is_unique_and_proves_no_confidential_client() {
    let world = World::platform().await;
    let mut ids = vec![world.client.id.clone()];
    for _ in 0..20 {
        ids.push(world.register(form()).await.id);
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 21);

    let code = world.code().await;
    e401(&exchange(&world, &code).field("client_id", &world.client.id).send().await, "invalid_client");
    fails_everywhere(&world, |call| call.field("client_id", &world.client.id), "client_id alone").await;
    ok(&world.exchange(&code).await);
}

/// 6749-2.3-01
/// Also doorkeeper 5.9.5 and 5.9.6.
#[tokio::test]
async fn more_than_one_way_to_authenticate_is_refused() {
    let world = World::platform().await;
    let other = world.register(form()).await;
    let Credentials { id, secret } = &world.client;
    let code = world.code().await;
    for (case, more) in [
        ("the same secret", vec![("client_secret", secret.as_str())]),
        ("another secret", vec![("client_secret", "x")]),
        ("id and secret", vec![("client_id", id.as_str()), ("client_secret", secret.as_str())]),
        ("those of another client", vec![("client_id", other.id.as_str()), ("client_secret", other.secret.as_str())]),
    ] {
        println!("{case}");
        let with = bend(|call| more.iter().fold(call, |call, (name, value)| call.field(name, value)));
        e400(&with(exchange(&world, &code).client(&world.client)).send().await, "invalid_request");
        for endpoint in [Endpoint::Revocation, Endpoint::Introspection] {
            let call = world.post(endpoint, &[("token", "x")]).client(&world.client);
            e400(&with(call).send().await, "invalid_request");
        }
    }
    ok(&world.exchange(&code).await);
}

/// 6749-2.3-02
#[tokio::test]
async fn the_form_may_name_the_client_that_the_header_proves() {
    let world = World::platform().await;
    let other = world.register(form()).await;
    let code = world.code().await;
    for id in [other.id.as_str(), "unknown", "\u{e4}", &format!("{} ", world.client.id)] {
        println!("{id}");
        let response = exchange(&world, &code).client(&world.client).field("client_id", id).send().await;
        e400(&response, "invalid_request");
        let revocation = world.post(Endpoint::Revocation, &[("token", "x")]);
        e400(&revocation.client(&world.client).field("client_id", id).send().await, "invalid_request");
    }
    ok(&exchange(&world, &code).client(&world.client).field("client_id", &world.client.id).send().await);
    let revocation = world.post(Endpoint::Revocation, &[("token", "x")]);
    empty(&revocation.client(&world.client).field("client_id", &world.client.id).send().await);
}

/// 6749-2.3-03
#[tokio::test]
async fn two_authorization_lines_are_more_than_one_credential() {
    let world = World::platform().await;
    let code = world.code().await;
    let own = basic(format!("{}:{}", world.client.id, world.client.secret).as_bytes());
    for second in [own.as_str(), "Basic !", "Bearer x", ""] {
        println!("{second}");
        let call = exchange(&world, &code).header("authorization", own.as_bytes());
        e400(&call.header("AUTHORIZATION", second.as_bytes()).send().await, "invalid_request");
    }
    ok(&exchange(&world, &code).header("authorization", own.as_bytes()).send().await);
}

/// 6749-2.3.1-03
#[tokio::test]
async fn malformed_basic_credentials_fail_as_authentication() {
    let world = World::platform().await;
    let Credentials { id, secret } = &world.client;
    let unpadded = basic(b"a:bc").trim_end_matches('=').to_owned();
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("empty", b"".into()),
        ("scheme alone", b"Basic".into()),
        ("scheme and space", b"Basic ".into()),
        ("bad Base64", b"Basic !!!!".into()),
        ("base64url", b"Basic -_-_".into()),
        ("without padding", unpadded.into()),
        ("two items", format!("{} {}", basic(b"a:b"), basic(b"a:b")).into()),
        ("no colon", basic(id.as_bytes()).into()),
        ("empty pair", basic(b"").into()),
        ("colon alone", basic(b":").into()),
        ("not UTF-8", basic(b"\xff\xfe:\xff").into()),
        ("not UTF-8 after decoding", basic(b"%ff:%fe").into()),
        ("bad escape", basic(b"%zz:%").into()),
        ("NUL in the id", basic(format!("{id}\0:{secret}").as_bytes()).into()),
        ("line feed in the secret", basic(format!("{id}:{secret}\n").as_bytes()).into()),
        ("escaped control byte", basic(format!("{id}:{secret}%00").as_bytes()).into()),
        ("DEL", basic(format!("{id}:{secret}\x7f").as_bytes()).into()),
        ("plain text", format!("Basic {id}:{secret}").into()),
        ("bytes", b"Basic \xff\xfe\x80".into()),
        ("very long", basic("x:y".repeat(20_000).as_bytes()).into()),
    ];
    for profile in [Profile::Platform, Profile::Strict] {
        let world = World::with(profile, |_| {}).await;
        for (case, header) in &cases {
            fails_everywhere(&world, |call| call.header("Authorization", header), case).await;
        }
    }
    ok(&world.exchange(&world.code().await).await);
}

/// 6749-2.3.1-04
#[tokio::test]
async fn the_scheme_is_read_in_any_case_and_any_number_of_spaces_follows() {
    let world = World::platform().await;
    let pair = STANDARD.encode(format!("{}:{}", world.client.id, world.client.secret));
    for scheme in ["Basic", "basic", "BASIC", "bAsIc"] {
        for spaces in [" ", "  ", "      "] {
            let header = format!("{scheme}{spaces}{pair}");
            println!("{header}");
            let code = world.code().await;
            ok(&exchange(&world, &code).header("Authorization", header.as_bytes()).send().await);
        }
    }
    fails_everywhere(&world, |call| call.header("Authorization", format!("Basic{pair}").as_bytes()), "none").await;
}

/// 6749-2.3.1-05
#[tokio::test]
async fn credentials_in_the_url_are_ignored() {
    let world = World::platform().await;
    let Credentials { id, secret } = &world.client;
    let code = world.code().await;
    let query = format!("client_id={id}&client_secret={secret}");
    e401(&exchange(&world, &code).query(&query).send().await, "invalid_client");
    e401(&exchange(&world, &code).field("client_id", id).query(&query).send().await, "invalid_client");
    fails_everywhere(&world, |call| call.query(&query), "in the query").await;
    // Next to valid credentials they count neither as a second credential nor as a repeat.
    let call = exchange(&world, &code).client(&world.client).query("client_id=x&client_secret=y&code=z");
    ok(&call.send().await);
}

/// 6749-2.3.1-07, 21-2.4.1-01, D-17, SVC-4.4-02
///
/// D-17: unless the application is registered for a single method.
#[tokio::test]
async fn credentials_in_the_form_are_accepted_unless_another_method_is_registered() {
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        let world = World::with(profile, |_| {}).await;
        let first = pair(&exchange(&world, &world.code().await).form_secret(&world.client).send().await);
        let revocation = world.post(Endpoint::Revocation, &[("token", &first.access)]);
        empty(&revocation.form_secret(&world.client).send().await);
        assert!(!world.opens(&first.access).await);
        let wrong = Credentials { secret: "wrong".into(), ..world.client.clone() };
        fails_everywhere(&world, |call| call.form_secret(&wrong), "wrong secret").await;

        for (registered, by_basic) in
            [(AuthenticationMethod::ClientSecretBasic, true), (AuthenticationMethod::ClientSecretPost, false)]
        {
            let form = form().with(|form| form.authentication_methods = AuthenticationMethods::only(registered));
            let client = world.register(form).await;
            let code = world.code_for(&world.query_of(&client, &support::world::PKCE)).await;
            let Credentials { id, secret } = &client;
            let refused = bend(|call| if by_basic { call.form_secret(&client) } else { call.basic(id, secret) });
            e401(&refused(exchange(&world, &code)).send().await, "invalid_client");
            r401(&refused(world.post(Endpoint::Revocation, &[("token", "x")])).send().await);
            let call = exchange(&world, &code);
            let call = if by_basic { call.basic(id, secret) } else { call.form_secret(&client) };
            ok(&call.send().await);
        }
    }
}

/// 6749-2.3.1-08
#[tokio::test]
async fn an_empty_secret_counts_as_none() {
    let world = World::platform().await;
    let public = world.register(public_form()).await;
    for by_basic in [true, false] {
        let code = world.code_for(&world.query_of(&public, &support::world::PKCE)).await;
        ok(&empty_secret(exchange(&world, &code), &public.id, by_basic).send().await);
        fails_everywhere(&world, |call| empty_secret(call, &world.client.id, by_basic), "confidential").await;
    }
    fails_everywhere(&world, |call| call.basic(&public.id, "x"), "a public client with a secret").await;
}

/// 6749-2.3.2-01
#[tokio::test]
async fn another_scheme_is_an_unsupported_method() {
    let world = World::platform().await;
    let token = world.pair().await.access;
    let code = world.code().await;
    for header in [format!("Bearer {token}"), "Digest a=b".into(), "Negotiate x".into(), "DPoP x".into(), "x".into()] {
        fails_everywhere(&world, |call| call.header("Authorization", header.as_bytes()), &header).await;
        // It is not ignored in favour of the credentials in the form.
        let call = exchange(&world, &code).field("client_id", &world.client.id);
        e401(&call.header("Authorization", header.as_bytes()).send().await, "invalid_client");
    }
    ok(&world.exchange(&code).await);
}

/// 6749-3.2.1-01
#[tokio::test]
async fn a_public_client_names_itself() {
    let world = World::platform().await;
    let public = world.register(public_form()).await;
    let code = world.code_for(&world.query_of(&public, &support::world::PKCE)).await;
    e401(&exchange(&world, &code).send().await, "invalid_client");
    fails_everywhere(&world, |call| call, "nobody").await;
    ok(&exchange(&world, &code).field("client_id", &public.id).send().await);
}

/// 6749-5.2-03, SVC-4.4-03, D-04, 7009-2.1-02
///
/// D-04: always 401, and nothing distinguishes an unknown client, a wrong secret and a suspended application.
#[tokio::test]
async fn every_failed_authentication_gets_the_same_answer() {
    let world = World::platform().await;
    let suspended = world.register(form()).await;
    let registrar = world.server.registrar().unwrap();
    registrar.suspend(&suspended.client_id()).await.unwrap();
    let pending = registrar.submit(world.alice.clone(), form(), Some(support::world::logo())).await.unwrap();
    let rejected = registrar.submit(world.alice.clone(), form(), Some(support::world::logo())).await.unwrap();
    registrar.reject_now(&rejected, "no").await.unwrap();
    let secret = world.client.secret.as_str();
    let cases = [
        ("unknown", "nobody", secret),
        ("wrong secret", &world.client.id, "wrong"),
        ("almost right", &world.client.id, &secret[..42]),
        ("suspended", &suspended.id, &suspended.secret),
        ("suspended, wrong secret", &suspended.id, "wrong"),
        ("pending", pending.as_str(), secret),
        ("rejected", rejected.as_str(), secret),
        ("no id", "", secret),
    ];
    for endpoint in [Endpoint::Token, Endpoint::Revocation, Endpoint::Introspection] {
        let mut answers = Vec::new();
        for (case, id, secret) in cases {
            println!("{case}");
            let client = Credentials { id: id.into(), secret: secret.into() };
            let call = || world.post(endpoint, &[("grant_type", "refresh_token"), ("token", "x")]);
            answers.push(call().basic(id, secret).send().await);
            answers.push(call().form_secret(&client).send().await);
        }
        if endpoint == Endpoint::Revocation {
            r401(&answers[0])
        } else {
            e401(&answers[0], "invalid_client")
        }
        assert!(answers.iter().all(|answer| *answer == answers[0]));
    }
    ok(&world.exchange(&world.code().await).await);
}

/// Returns the events of one failed authentication by that header.
async fn events_of(world: &World, header: &str) -> String {
    world.events.take();
    let form = [("grant_type", "refresh_token"), ("refresh_token", "x")];
    e401(&world.token(&form).header("Authorization", header.as_bytes()).send().await, "invalid_client");
    world.events.take().join(" ")
}

/// 6749-2.3.1-03
#[tokio::test]
async fn the_service_is_reported_that_credentials_with_control_characters_are_malformed() {
    let world = World::platform().await;
    for pair in ["a\0:b", "a:b\x7f", "a\0:b\0", "a:b\u{85}"] {
        let events = events_of(&world, &basic(pair.as_bytes())).await;
        assert!(events.contains("MalformedCredentials"), "{pair:?} {events}");
    }
    for pair in ["a:b", "a:b\u{e9}"] {
        let events = events_of(&world, &basic(pair.as_bytes())).await;
        assert!(events.contains("UnknownClient"), "{pair:?} {events}");
    }
}

/// 6749-2.3.1-03
#[tokio::test]
async fn of_two_readings_the_likelier_one_tells_what_was_wrong() {
    let world = World::platform().await;
    let (first, rest) = world.client.id.split_at(1);
    let escaped = format!("%{:02X}{rest}:wrong", first.as_bytes()[0]);
    let events = events_of(&world, &basic(escaped.as_bytes())).await;
    assert!(events.contains("WrongSecret"), "{events}");
}

/// A throttle that records its attempts and allows a number of them.
#[derive(Debug)]
struct Watcher {
    allowed: AtomicUsize,
    seen: Arc<Mutex<String>>,
}

#[async_trait]
impl Throttle for Watcher {
    async fn check(&self, attempt: &Attempt<'_>) -> ThrottleDecision {
        self.seen.lock().unwrap().push_str(&format!("{attempt:?}"));
        let left = self.allowed.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        left.map_or(ThrottleDecision::Refuse { retry_after: Duration::from_secs(1) }, |_| ThrottleDecision::Allow)
    }

    async fn failed(&self, attempt: &Attempt<'_>) {
        self.seen.lock().unwrap().push_str(&format!("{attempt:?}"));
    }
}

/// 6749-2.3.1-03, django-oauth-toolkit #1735
/// Guesses, which may be nearly right, and secrets in the place of the id: the two halves are easily swapped.
#[tokio::test]
async fn failed_authentication_is_reported_without_a_secret() {
    let seen = Arc::<Mutex<String>>::default();
    // The id without a secret is asked about twice.
    let throttle = Watcher { allowed: 8.into(), seen: seen.clone() };
    let world = World::built(Config::platform(ISSUER), |builder| builder.throttle(throttle)).await;
    let Credentials { id, secret } = &world.client;
    let guess = "a-guess-that-may-be-nearly-right";
    world.events.take();
    let call = || world.token(&[("grant_type", "authorization_code")]);
    for round in ["AuthenticationFailed", "Throttled"] {
        for (names_the_client, call) in [
            (true, call().basic(id, guess)),
            (true, call().field("client_id", id).field("client_secret", guess)),
            (false, call().header("Authorization", format!("Bearer {guess}").as_bytes())),
            (false, call().basic(secret, id)),
            (false, call().basic(&format!("{id}{secret}"), "")),
            (false, call().field("client_id", secret).field("client_secret", id)),
            (false, call().field("client_id", secret).header("Authorization", b"Bearer x")),
        ] {
            let response = call.send().await;
            let events = world.events.take();
            assert!(events.len() == 1 && events[0].starts_with(round), "{events:?}");
            let named = if names_the_client { format!("client: Some({id:?})") } else { "client: None".into() };
            assert!(events[0].contains(&named), "{events:?}");
            for hidden in [guess, secret, &STANDARD.encode(format!("{id}:{guess}"))] {
                assert!(!events[0].contains(hidden), "{events:?}");
                assert!(!String::from_utf8_lossy(response.body()).contains(hidden));
            }
        }
    }
    assert!(!seen.lock().unwrap().contains(secret.as_str()));
}
