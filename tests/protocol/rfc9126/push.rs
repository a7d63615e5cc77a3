//! Section 2: the endpoint.

use std::collections::BTreeSet;

use grantor::config::PushedRequests;
use grantor::store::Record;
use grantor::wire::Endpoint;
use grantor::{ApplicationForm, MemoryThrottle, Reason};

use super::{PREFIX, rows, stored, world, world_with};
use crate::interleaved::reconfigured;
use crate::rfc8707::{at, own_scopes, resource};
use support::intercepted::scripts::Calls;
use support::intercepted::{Failure, Fate, every, over};
use support::world::{
    PKCE, SCOPES, SESSION, START, VERIFIER, With as _, World, created, e400, e401, encode, page, pair, public_form, red,
};

/// 9126-2-01
#[tokio::test]
async fn a_push_is_a_post_with_a_form() {
    let world = world().await;
    for method in ["GET", "PUT", "DELETE", "OPTIONS"] {
        let response = world.par(&world.client, &PKCE).method(method).send().await;
        assert_eq!((response.status(), response.header("Allow")), (405, Some("POST")), "{method}");
    }
    let json = world.par(&world.client, &PKCE).without_header("Content-Type");
    e400(&json.header("Content-Type", b"application/json").raw_body("{}").send().await, "invalid_request");
    created(&world.par(&world.client, &PKCE).send().await);
}

/// 9126-2-01, 9126-2.1-02, FAPI-5.3.2.2-04
#[tokio::test]
async fn the_client_of_a_push_authenticates_and_names_itself() {
    let world = world().await;
    let anonymous = world.post(Endpoint::PushedAuthorization, &PKCE).field("response_type", "code");
    e401(&anonymous.send().await, "invalid_client");
    let named = world.post(Endpoint::PushedAuthorization, &PKCE).field("client_id", &world.client.id);
    e401(&named.send().await, "invalid_client");
    let wrong = world.post(Endpoint::PushedAuthorization, &PKCE).basic(&world.client.id, &"x".repeat(43));
    e401(&wrong.send().await, "invalid_client");
    let request =
        || world.post(Endpoint::PushedAuthorization, &PKCE).field("response_type", "code").client(&world.client);
    e400(&request().send().await, "invalid_request");
    assert!(world.events.take().iter().any(|event| event.contains("MissingParameter(\"client_id\")")));
    e400(&request().field("client_id", "another").send().await, "invalid_request");
    created(&request().field("client_id", &world.client.id).send().await);
    let posted =
        world.post(Endpoint::PushedAuthorization, &PKCE).field("response_type", "code").form_secret(&world.client);
    created(&posted.send().await);
}

/// 9126-2-01, 9126-2.3-01
#[tokio::test]
async fn failed_pushes_are_throttled_like_failed_exchanges() {
    let mut config = support::world::config_of(grantor::config::Profile::Strict);
    config.pushed_requests.mode = PushedRequests::Optional;
    let world = World::built(config, |builder| builder.throttle(MemoryThrottle::new())).await;
    let wrong = || world.par(&world.client, &PKCE).without_header("Authorization").basic(&world.client.id, "wrong");
    let mut statuses = Vec::new();
    for _ in 0..200 {
        let response = wrong().send().await;
        statuses.push(response.status());
        if response.status() == 429 {
            assert!(response.header("Retry-After").unwrap().parse::<u32>().unwrap() > 0);
            break;
        }
    }
    assert_eq!((statuses[0], statuses.last()), (401, Some(&429)));
}

/// 9126-2.1-01
#[tokio::test]
async fn a_reference_or_a_request_object_is_not_pushed() {
    let world = world().await;
    let with = |more: &[(&str, &str)]| {
        more.iter().fold(world.par(&world.client, &PKCE), |call, (name, value)| call.field(name, value))
    };
    let uri = format!("{PREFIX}{}", "A".repeat(65));
    for value in [&*uri, "https://client.example/request", "x"] {
        e400(&with(&[("request_uri", value)]).send().await, "invalid_request");
    }
    e400(&with(&[("request", "e30.e30.")]).send().await, "request_not_supported");
    created(&with(&[("request_uri", ""), ("request", "")]).send().await);
}

/// 9126-2.1-02, 9126-2.4-01, FAPI-5.3.2.2-01
/// A refused request is not stored.
#[tokio::test]
async fn a_push_is_judged_like_an_authorization_request() {
    let world = world().await;
    let base = [("response_type", "code"), ("client_id", &*world.client.id)];
    type Parameters<'a> = &'a [(&'a str, &'a str)];
    let cases: [(Parameters<'_>, Parameters<'_>, &str); 12] = [
        (&PKCE, &[("redirect_uri", "https://app.example.com/other")], "invalid_request"),
        (&PKCE, &[("redirect_uri", "https://evil.example/cb")], "invalid_request"),
        (&PKCE, &[("response_type", "token")], "unsupported_response_type"),
        (&PKCE, &[("response_type", "code id_token")], "unsupported_response_type"),
        (&PKCE, &[("response_type", "")], "invalid_request"),
        (&PKCE, &[("scope", "repo-code:rw account-email:r")], "invalid_scope"),
        (&PKCE, &[("scope", "no-such-scope")], "invalid_scope"),
        (&[], &[], "invalid_request"),
        (&[PKCE[0], ("code_challenge_method", "plain")], &[], "invalid_request"),
        (&[PKCE[0]], &[], "invalid_request"),
        (&[("code_challenge", "short"), PKCE[1]], &[], "invalid_request"),
        (&PKCE, &[("state", "\u{e9}")], "invalid_request"),
    ];
    for (pkce, more, error) in cases {
        let kept = base.iter().filter(|(name, _)| more.iter().all(|(own, _)| own != name));
        let form: Vec<_> = kept.chain(pkce).chain(more).copied().collect();
        let call = world.post(Endpoint::PushedAuthorization, &form).client(&world.client);
        e400(&call.send().await, error);
        // The plain request gets the same error code, or the page if the redirect URI itself is wrong.
        let plain = world.refused(&encode(&form)).await;
        if more.iter().any(|(name, _)| *name == "redirect_uri") {
            page(&plain);
        } else {
            red(&plain, error);
        }
    }
    let _ = world.purge(10).await;
    world.advance(1 << 20);
    assert_eq!(world.purge(10).await.removed(), 0, "nothing was stored");
    let twice = world.par(&world.client, &PKCE).field("scope", SCOPES).field("scope", SCOPES);
    e400(&twice.send().await, "invalid_request");
}

/// 9126-2.1-04
#[tokio::test]
async fn public_clients_may_push() {
    let mut world = world().await;
    let public = world.register(public_form()).await;
    let uri = created(&world.par(&public, &PKCE).send().await);
    e400(&world.par(&public, &[]).send().await, "invalid_request");
    let other = [PKCE[0], PKCE[1], ("redirect_uri", "https://evil.example/cb")];
    e400(&world.par(&public, &other).send().await, "invalid_request");
    let query = encode(&[("client_id", &public.id), ("request_uri", &uri)]);
    let pending = world.authorize(&query).await.unwrap();
    assert!(pending.is_pushed() && !pending.is_client_identity_assured(), "it is trusted no more than a plain request");

    reconfigured(&mut world, |config| config.public_clients = false);
    e401(&world.par(&public, &PKCE).send().await, "invalid_client");
}

/// 9126-2.1-02
/// The resources of a push are those of its token.
#[tokio::test]
async fn a_push_may_name_resources() {
    const NOTES: &str = "https://notes.example/api";
    const FILES: &str = "https://files.example/api";
    let world = world_with(|config| {
        config.scopes = own_scopes();
        config.resources =
            vec![resource(NOTES, &["repo-code:rw"]), resource(FILES, &["repo-issue:rw", "account-profile:rw"])];
    })
    .await;
    let naming = |resource: &str| world.par(&world.client, &PKCE).field("resource", resource);
    for unknown in ["https://other.example/api", "not a URI", "https://notes.example/api#x"] {
        e400(&naming(unknown).send().await, "invalid_target");
        let plain = world.query(&[PKCE[0], PKCE[1], ("resource", unknown)]);
        red(&world.refused(&plain).await, "invalid_target");
    }
    let uri = created(&naming(NOTES).send().await);
    let code = world.code_for(&world.reference(&uri)).await;
    let token = pair(&world.exchange(&code).await).access;
    assert!(at(&world, NOTES, &token).await.is_ok());
    assert!(at(&world, FILES, &token).await.is_err());
}

/// 9126-2.2-01, FAPI-5.3.2.2-02
#[tokio::test]
async fn a_request_uri_has_256_random_bits_and_an_end() {
    let world = world_with(|config| config.pushed_requests.lifetime = std::time::Duration::from_secs(60)).await;
    let response = world.par(&world.client, &PKCE).send().await;
    let uri = created(&response);
    let secret = uri.strip_prefix(PREFIX).unwrap();
    assert_eq!(secret.len(), 22 + 43);
    assert!(secret.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)), "{uri}");
    let json: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
    assert_eq!(json["expires_in"], 60);
    let record = stored(&world, &uri).await.unwrap();
    assert_eq!((record.client(), record.ends().seconds()), (&world.client.client_id(), START + 60));
    assert_eq!(record.created().seconds(), START);
    let bytes = record.encode();
    assert!(!bytes.windows(16).any(|window| secret.as_bytes()[22..].windows(16).any(|part| part == window)));
}

/// 9126-2.2-01
#[tokio::test]
async fn no_request_uri_repeats() {
    let world = world_with(|config| config.limits.pushed_requests = 20).await;
    let mut seen = BTreeSet::new();
    for _ in 0..500 {
        for _ in 0..20 {
            let uri = world.push().await;
            assert!(seen.insert(uri[uri.len() - 43..].to_owned()), "{uri}");
        }
        world.advance(301);
    }
}

/// 9126-2.3-01
#[tokio::test]
async fn a_push_that_is_too_large_is_413() {
    let world = world().await;
    let state = "x".repeat(world.server.body_limit());
    let response = world.par(&world.client, &[PKCE[0], PKCE[1], ("state", &state)]).send().await;
    assert_eq!(response.status(), 413);
}

/// 9126-2.3-01
#[tokio::test]
async fn a_client_has_no_more_open_requests_than_it_may_have() {
    let world = world_with(|config| config.limits.pushed_requests = 20).await;
    let other = world.register(other_form()).await;
    let first = world.push().await;
    world.advance(10);
    for _ in 1..20 {
        world.push().await;
    }
    let handle = super::held(&world, &first).await;
    let of_other = created(&world.par(&other, &PKCE).send().await);
    let mut open = Vec::new();
    for _ in 0..40 {
        world.advance(1);
        open.push(world.push().await);
    }
    let mut live = 0;
    for uri in &open {
        live += usize::from(world.authorize(&world.reference(uri)).await.is_ok());
    }
    assert_eq!(live, 19, "an open page keeps its request, and the oldest others give way");
    super::approved(&world, &handle).await;
    assert!(stored(&world, &of_other).await.is_some_and(|found| !found.is_used()));
    assert_eq!(rows(&world).await, 1);
}

/// 9126-2.3-01
/// Visitors without an account click ten times a second, and five accounts hold what they can. Users who come back
/// within a minute can begin.
#[tokio::test]
async fn clicks_of_anonymous_visitors_lock_no_user_out() {
    for form in [support::world::form(), public_form()] {
        let mut world = world_with(|_| ()).await;
        world.client = world.register(form).await;
        let (mut waiting, mut begun, mut refused) = (std::collections::VecDeque::new(), 0, 0);
        for second in 0..480_u32 {
            for click in 0..10_u32 {
                let response = world.par(&world.client, &PKCE).send().await;
                if response.status() == 201 {
                    let browser = (second * 10 + click).to_be_bytes();
                    world.visit(&world.reference(&created(&response)), &browser, None).await.unwrap();
                }
            }
            // As often as the throttle lets them.
            for account in (0..5).filter(|_| second % 10 == 0) {
                let account = grantor::Subject::new(format!("attacker {account}")).unwrap();
                let response = world.par(&world.client, &PKCE).send().await;
                if response.status() == 201 {
                    super::opened(&world, &created(&response), SESSION, &account).await.unwrap();
                }
            }
            let response = world.par(&world.client, &PKCE).send().await;
            if response.status() == 201 {
                let (uri, browser) = (created(&response), format!("honest {second}"));
                world.visit(&world.reference(&uri), browser.as_bytes(), None).await.unwrap();
                waiting.push_back((second, uri, browser));
            } else {
                refused += 1;
            }
            while let Some((since, uri, browser)) = waiting.pop_front() {
                if second < since + 60 {
                    waiting.push_front((since, uri, browser));
                    break;
                }
                let user = grantor::Subject::new(browser.clone()).unwrap();
                let Ok(handle) = super::opened(&world, &uri, browser.as_bytes(), &user).await else {
                    refused += 1;
                    continue;
                };
                let deny = grantor::Decision::Deny;
                world.server.decide(&handle, &user, browser.as_bytes(), &deny).await.unwrap();
                begun += 1;
            }
            world.advance(1);
        }
        assert!(refused * 100 <= begun, "{refused} beside {begun}");
    }
}

/// 9126-2.3-01
/// A user has ten places of a client at most: a consent request that ends or is displaced releases its own.
#[tokio::test]
async fn an_ended_consent_request_holds_no_place() {
    for revokes in [false, true] {
        let world = world_with(|config| config.limits.pushed_requests = 32).await;
        for number in 0..120 {
            let account = grantor::Subject::new(format!("attacker {}", number % 3)).unwrap();
            super::opened(&world, &world.push().await, SESSION, &account).await.unwrap();
            if revokes {
                world.server.revoke_application(&account, &world.client.client_id()).await.unwrap();
            }
        }
        for _ in 0..10 {
            let handle = super::held(&world, &world.push().await).await;
            support::world::code(&super::approved(&world, &handle).await);
        }
    }
}

/// 9126-2.3-01
/// A client that has reached its bound causes little work in the store.
#[tokio::test]
async fn a_refused_push_reads_no_more_than_32_places() {
    let world = world_with(|config| config.limits.pushed_requests = 100).await;
    let mut held = 0;
    loop {
        let response = world.par(&world.client, &PKCE).send().await;
        if response.status() == 429 {
            break;
        }
        let user = grantor::Subject::new(format!("user {}", held / 10)).unwrap();
        super::opened(&world, &created(&response), SESSION, &user).await.unwrap();
        held += 1;
    }
    assert!((50..=100).contains(&held), "{held}");
    let calls = Calls::recorded();
    let counting = over(&world, calls.clone());
    while counting.par(&counting.client, &PKCE).send().await.status() != 429 {
        calls.take();
    }
    let reads = calls.take().iter().filter(|call| **call == "pushed_requests.find").count();
    assert!((1..=32).contains(&reads), "{reads}");
}

/// 9126-2.3-01
/// Anyone can make a client push, and visit the pushed requests. Neither locks its users out.
#[tokio::test]
async fn strangers_do_not_use_up_the_requests_of_a_client() {
    let world = world_with(|config| config.limits.pushed_requests = 20).await;
    let flood = async || {
        for _ in 0..30 {
            let uri = world.push().await;
            world.visit(&world.reference(&uri), b"a stranger's browser", None).await.unwrap();
        }
    };
    flood().await;
    let own = world.push().await;
    let handle = super::held(&world, &own).await;
    flood().await;
    support::world::code(&super::approved(&world, &handle).await);
    // Requests are replaced one by one, the oldest first, so there are never more than 20.
    let (first, mut last) = (world.push().await, String::new());
    for _ in 0..20 {
        world.advance(1);
        last = world.push().await;
    }
    assert!(world.authorize(&world.reference(&first)).await.is_err());
    assert!(world.authorize(&world.reference(&last)).await.is_ok());
}

/// 9126-2.3-01
/// Requests that signed-in users have open are not replaced.
#[tokio::test]
async fn held_requests_are_not_replaced() {
    let world = world_with(|config| config.limits.pushed_requests = 2).await;
    let (first, second) = (world.push().await, world.push().await);
    let handle = super::held(&world, &first).await;
    let third = world.push().await;
    assert!(stored(&world, &second).await.is_some_and(|found| found.created().seconds() == START));
    assert!(world.authorize(&world.reference(&second)).await.is_err(), "the third one has its place");
    super::held(&world, &third).await;
    let response = world.par(&world.client, &PKCE).send().await;
    assert_eq!((response.status(), response.header("Retry-After")), (429, Some("1800")));
    support::world::code(&super::approved(&world, &handle).await);
    world.push().await;
}

/// 9126-2.3-01
/// Two users may have the same request open. What the one does with it takes no place from the other.
#[tokio::test]
async fn another_users_page_keeps_its_request() {
    let world = world_with(|config| config.limits.pushed_requests = 2).await;
    let bob = grantor::Subject::new("bob").unwrap();
    let shared = world.push().await;
    let handle = super::held(&world, &shared).await;
    super::opened(&world, &shared, b"session of bob", &bob).await.unwrap();
    for _ in 0..2 {
        world.server.revoke_application(&bob, &world.client.client_id()).await.unwrap();
        // The others give way to each other.
        for _ in 0..4 {
            world.push().await;
        }
        super::opened(&world, &shared, b"session of bob", &bob).await.unwrap();
    }
    support::world::code(&super::approved(&world, &handle).await);

    // Once both have gone, it holds no place.
    let shared = world.push().await;
    super::held(&world, &shared).await;
    super::opened(&world, &shared, b"session of bob", &bob).await.unwrap();
    for user in [&bob, &world.alice] {
        assert!(stored(&world, &shared).await.is_some_and(|found| found.ends().seconds() == START + 300));
        world.server.revoke_application(user, &world.client.client_id()).await.unwrap();
    }
    for _ in 0..4 {
        world.push().await;
    }
    assert!(world.authorize(&world.reference(&shared)).await.is_err(), "it gave way");
}

/// 9126-2.3-01, 9126-4-04
/// A session that visited in time may return after the sign-in, unless its place was needed.
#[tokio::test]
async fn a_late_sign_in_holds_no_place() {
    let world = world_with(|config| config.limits.pushed_requests = 2).await;
    let late = world.push().await;
    world.visit(&world.reference(&late), SESSION, None).await.unwrap();
    world.advance(301);
    world.push().await;
    assert!(world.visit(&world.reference(&late), SESSION, Some(&world.alice)).await.is_ok(), "there was a free place");
    world.push().await;
    assert!(world.visit(&world.reference(&late), SESSION, Some(&world.alice)).await.is_err());
}

fn other_form() -> ApplicationForm {
    support::world::form().with(|form| form.name = "Another App".into())
}

/// 9126-2.3-01
/// A purge removes an expired or used request, an hour after the last moment at which it can be decided.
#[tokio::test]
async fn pushed_requests_are_purged_by_time() {
    let world = world().await;
    let (uri, visited) = (world.push().await, world.push().await);
    world.visit(&world.reference(&visited), b"another browser", None).await.unwrap();
    let _ = world.purge(10).await;
    world.advance(300 + 3599);
    assert_eq!(world.purge(10).await.removed(), 0);
    world.advance(1);
    assert_eq!(world.purge(10).await.removed(), 1);
    assert!(stored(&world, &uri).await.is_none());
    assert!(stored(&world, &visited).await.is_some(), "it may be decided for longer");
    world.advance(world.server.config().authorization.hold_lifetime.as_secs());
    assert_eq!(world.purge(10).await.removed(), 1);
}

/// 9126-2.3-01
#[tokio::test]
async fn a_store_that_fails_is_distinguished_from_a_refusal() {
    let world = world().await;
    for (failure, status) in [(Failure::Transient, 503), (Failure::Permanent, 500)] {
        for call in ["pushed_requests.find", "pushed_requests.insert"] {
            let failing = over(&world, every(call, Fate::FailsBefore(failure)));
            let response = failing.par(&world.client, &PKCE).send().await;
            assert_eq!(response.status(), status, "{call}");
        }
    }
    // The write was applied, and only its answer was lost.
    let lost = over(&world, every("pushed_requests.insert", Fate::FailsAfter(Failure::Transient)));
    let uri = created(&lost.par(&world.client, &PKCE).send().await);
    assert!(world.authorize(&world.reference(&uri)).await.is_ok());
}

/// FAPI-5.3.2.2-14
/// A `nonce` is ignored, and `state` may have 1000 characters.
#[tokio::test]
async fn unknown_parameters_are_ignored_and_states_are_long() {
    let world = world().await;
    let (nonce, state) = ("n".repeat(64), "s".repeat(1000));
    let more = [PKCE[0], PKCE[1], ("nonce", &*nonce), ("state", &*state), ("foo", "1"), ("foo", "2")];
    let uri = created(&world.par(&world.client, &more).send().await);
    let record = stored(&world, &uri).await.unwrap();
    assert!(!String::from_utf8_lossy(&record.encode()).contains("nonce"));
    let answer = super::approved(&world, &super::held(&world, &uri).await).await;
    let parameters = support::world::code(&answer);
    assert_eq!(support::world::text(&parameters, "state"), state);
    let code = support::world::text(&parameters, "code");
    let form = [("grant_type", "authorization_code"), ("code", &*code), ("code_verifier", VERIFIER)];
    let token = world.token(&form).client(&world.client).send().await;
    let token: serde_json::Value = serde_json::from_slice(token.body()).unwrap();
    assert!(token["id_token"].is_null() && token["sub"].is_null(), "{token}");
}

/// 9126-2-01, PYSEC-2026-4360
#[tokio::test]
async fn without_the_setting_there_is_no_endpoint() {
    let world = World::strict().await;
    assert_eq!(world.par(&world.client, &PKCE).send().await.status(), 404);
    assert!(world.server.paths(Endpoint::PushedAuthorization).is_empty());
    // A request_uri is a parameter like any other that is not known.
    let query = world.query(&[PKCE[0], PKCE[1], ("request_uri", "https://client.example/request")]);
    assert!(world.authorize(&query).await.is_ok());
    let error = world.authorize(&world.reference(&format!("{PREFIX}x"))).await.unwrap_err();
    assert!(matches!(error.reason(), Reason::MissingParameter("response_type")), "{error:?}");
}
