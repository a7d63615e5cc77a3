//! Section 3.1 and 3.2: the device authorization endpoint.

use std::collections::BTreeSet;

use grantor::Timestamp;
use grantor::client::{GrantType, GrantTypes};
use grantor::config::{Profile, UserCodeFormat};
use grantor::scope::{ScopeCatalog, ScopeDefinition};
use grantor::wire::{Endpoint, Request};

use super::{
    DEVICE_CODE, PAGE, UNKNOWN, approved, ask_call, asked, asked_by, confidential_form, poll, poll_call, read,
    reconfigured, refused, stored, typed, typed_by, world, world_with,
};
use crate::rfc8707::{at, resource};
use support::world::{ISSUER, SCOPES, SESSION, START, e400, e401, form, ok, pair};

/// 8628-3.1-01
#[tokio::test]
async fn a_device_asks_by_post_with_a_form_and_its_client_authenticates() {
    let world = world().await;
    let confidential = world.register(confidential_form()).await;
    for client in [&world.client, &confidential] {
        let device = asked_by(&world, client, &[]).await;
        assert_eq!((device.expires_in, device.interval, device.verification_uri.as_str()), (600, 5, PAGE));
        assert!(device.device_code.starts_with("dc_") && device.user_code.len() == 9);
    }
    for method in ["GET", "PUT", "OPTIONS"] {
        let response = ask_call(&world, &world.client, &[]).method(method).send().await;
        assert_eq!((response.status(), response.header("Allow")), (405, Some("POST")), "{method}");
    }
    let json = ask_call(&world, &world.client, &[]).without_header("Content-Type");
    e400(&json.header("Content-Type", b"application/json").raw_body("{}").send().await, "invalid_request");
    let wrong = world.post(Endpoint::DeviceAuthorization, &[]).basic(&confidential.id, &"x".repeat(43));
    e401(&wrong.send().await, "invalid_client");
    let silent = world.post(Endpoint::DeviceAuthorization, &[("client_id", &confidential.id)]);
    e401(&silent.send().await, "invalid_client");
    e401(&world.post(Endpoint::DeviceAuthorization, &[]).send().await, "invalid_client");
    let twice = ask_call(&world, &world.client, &[("scope", "repo-code:r"), ("scope", "repo-code:r")]);
    e400(&twice.send().await, "invalid_request");
    let body = ask_call(&world, &world.client, &[]).send().await;
    let body = String::from_utf8(body.body().to_vec()).unwrap();
    for member in ["device_code", "user_code", "verification_uri", "expires_in", "interval"] {
        assert_eq!(body.matches(&format!("\"{member}\":")).count(), 1, "{body}");
    }
}

/// 8628-3.1-02
#[tokio::test]
async fn devices_are_off_until_server_and_client_have_them() {
    let metadata = async |world: &support::world::World| {
        let response = world.post(Endpoint::Metadata, &[]).method("GET").send().await;
        let document: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
        let grant_types = document["grant_types_supported"].as_array().unwrap().clone();
        (document["device_authorization_endpoint"].clone(), grant_types.contains(&DEVICE_CODE.into()))
    };
    let mut world = world().await;
    let web = world.register(form()).await;
    assert_eq!(metadata(&world).await, (format!("{ISSUER}/oauth2/device_authorization").into(), true));
    e400(&ask_call(&world, &web, &[]).send().await, "unauthorized_client");
    e400(&poll_call(&world, &web, "dc_x").send().await, "unauthorized_client");
    let device = asked(&world).await;
    reconfigured(&mut world, |config| config.devices.on = false);
    assert_eq!(metadata(&world).await, (serde_json::Value::Null, false));
    assert_eq!(ask_call(&world, &world.client, &[]).send().await.status(), 404);
    assert!(world.server.paths(Endpoint::DeviceAuthorization).is_empty());
    e400(&poll(&world, &device.device_code).await, "unsupported_grant_type");
    refused(typed_by(&world, &device.user_code, &world.alice, SESSION).await, UNKNOWN);
}

/// 8628-3.1-02
#[tokio::test]
async fn a_client_of_devices_alone_needs_no_redirect_uri() {
    let world = world().await;
    let client = world.server.client(&world.client.client_id()).await.unwrap().unwrap();
    assert!(client.form().redirect_uris.is_empty());
    let refused = world.refused(&world.query_of(&world.client, &[])).await;
    assert_eq!(refused.status(), 400, "it has no code");
    let mut with_code = form();
    with_code.redirect_uris = Vec::new();
    with_code.grant_types = GrantTypes::default().with(GrantType::DeviceCode);
    let registrar = world.server.registrar().unwrap();
    let error = registrar.submit(world.alice.clone(), with_code, Some(support::world::logo())).await.unwrap_err();
    assert!(error.to_string().contains("redirect_uris"), "{error}");
}

/// 8628-3.1-03
#[tokio::test]
async fn scope_is_judged_when_the_device_asks() {
    let catalog = ScopeCatalog::builder().scopes([
        ScopeDefinition::plain("notes"),
        ScopeDefinition::plain("photos"),
        ScopeDefinition::plain("admin").not_for_devices(),
    ]);
    let catalog = catalog.build().unwrap();
    let mut world = world_with(Profile::Strict, |_| ()).await;
    reconfigured(&mut world, |config| config.scopes = catalog);
    let mut own = confidential_form();
    own.scopes = "notes admin".into();
    let client = world.register(own).await;
    for (scope, expected) in [
        ("notes", Some("notes")),
        ("photos", None),
        ("admin", None),
        ("notes admin", None),
        ("unknown", None),
        ("", Some("notes")),
    ] {
        let response = ask_call(&world, &client, &[("scope", scope)]).send().await;
        let Some(expected) = expected else {
            e400(&response, "invalid_scope");
            continue;
        };
        let device = read(&response);
        let consent = typed(&world, &device.user_code).await;
        let asked: Vec<_> = consent.pending().requested().map(|scope| scope.token().to_owned()).collect();
        assert_eq!(asked.join(" "), expected, "{scope}");
    }
    let mut barred = confidential_form();
    barred.scopes = "admin".into();
    let barred = world.register(barred).await;
    for (client, scope) in [(&client, "notes admin"), (&barred, "")] {
        let response = ask_call(&world, client, &[("scope", scope)]).send().await;
        assert!(String::from_utf8_lossy(response.body()).contains("the scope is not for devices"), "{response:?}");
    }
    let response = ask_call(&world, &client, &[]).send().await;
    let device = read(&response);
    approved(&world, &typed(&world, &device.user_code).await).await;
    assert_eq!(ok(&poll_call(&world, &client, &device.device_code).send().await).scope.as_deref(), Some("notes"));
}

/// 8628-3.3.1-01
#[tokio::test]
async fn the_complete_address_is_there_where_it_is_asked_for() {
    let mut world = world().await;
    assert_eq!(asked(&world).await.verification_uri_complete, None);
    reconfigured(&mut world, |config| config.devices.complete_uri = true);
    let device = asked(&world).await;
    assert_eq!(device.verification_uri_complete, Some(format!("{PAGE}?user_code={}", device.user_code)));
}

/// DEV-05
#[tokio::test]
async fn resources_are_judged_when_the_device_asks() {
    let names = ["https://one.example", "https://two.example"];
    let world = world_with(Profile::Strict, |config| {
        config.resources = names.iter().map(|name| resource(name, &[])).collect();
    })
    .await;
    e400(&ask_call(&world, &world.client, &[("resource", "https://other.example")]).send().await, "invalid_target");
    e400(&ask_call(&world, &world.client, &[]).send().await, "invalid_target");
    for asked in [&names[..1], &names[..]] {
        let form: Vec<_> = asked.iter().map(|name| ("resource", *name)).collect();
        let device = asked_by(&world, &world.client, &form).await;
        let consent = typed(&world, &device.user_code).await;
        let shown: Vec<_> = consent.pending().protected_resources().map(|api| api.identifier.clone()).collect();
        assert_eq!(shown, asked);
        approved(&world, &consent).await;
        let token = pair(&poll(&world, &device.device_code).await).access;
        for name in names {
            assert_eq!(at(&world, name, &token).await.is_ok(), asked.contains(&name), "{name}");
        }
    }
}

/// 8628-6.1-03, 8628-5.2-01
#[tokio::test]
async fn codes_and_ids_are_apart() {
    let world = world().await;
    let (mut codes, mut ids) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..50 {
        let device = asked(&world).await;
        let record = stored(&world, &device.device_code).await.unwrap();
        assert!(!format!("{record:?}").contains(&device.user_code));
        assert!(ids.insert(record.id().to_string()) && codes.insert(device.user_code));
    }
    let digits = world_with(Profile::Strict, |config| config.devices.user_code = UserCodeFormat::Digits(12)).await;
    let device = asked(&digits).await;
    assert!(
        device.user_code.split('-').all(|group| group.len() == 4 && group.bytes().all(|byte| byte.is_ascii_digit()))
    );
    typed(&digits, &device.user_code.replace('-', "")).await;
    let consent = typed(&world, &asked(&world).await.user_code).await;
    assert_eq!(consent.pending().requested().count(), SCOPES.split(' ').count());
}

/// DEV-08
#[tokio::test]
async fn the_oldest_that_nobody_typed_gives_way() {
    let world = world_with(Profile::Strict, |config| config.limits.device_requests = 20).await;
    let held = asked(&world).await;
    typed(&world, &held.user_code).await;
    let mut open = Vec::new();
    for _ in 0..100 {
        world.advance(1);
        open.push(asked(&world).await);
    }
    let mut live = 0;
    for device in &open {
        let response = poll(&world, &device.device_code).await;
        live += usize::from(String::from_utf8_lossy(response.body()).contains("authorization_pending"));
    }
    assert_eq!(live, 19, "as many as there is room for beside the typed one");
    let newest = &open[99];
    approved(&world, &typed(&world, &newest.user_code).await).await;
    ok(&poll(&world, &newest.device_code).await);
    approved(&world, &typed(&world, &held.user_code).await).await;
    ok(&poll(&world, &held.device_code).await);
    // The code of a request that gave way leads nowhere.
    refused(typed_by(&world, &open[0].user_code, &world.alice, SESSION).await, UNKNOWN);
}

/// DEV-08
#[tokio::test]
async fn a_denied_request_gives_way() {
    let world = world_with(Profile::Strict, |config| config.limits.device_requests = 1).await;
    let denied = asked(&world).await;
    super::decided(&world, &typed(&world, &denied.user_code).await, grantor::Decision::Deny).await;
    let next = asked(&world).await;
    e400(&poll(&world, &denied.device_code).await, "invalid_grant");
    approved(&world, &typed(&world, &next.user_code).await).await;
    ok(&poll(&world, &next.device_code).await);
}

/// DEV-08, LIM-03
#[tokio::test]
async fn requests_of_one_network_are_throttled() {
    let world = world().await;
    let throttle = grantor::MemoryThrottle::new().with_clock(world.clock.clone());
    let slowed = support::intercepted::over_with(&world, support::intercepted::scripts::Calls::recorded(), |builder| {
        builder.throttle(throttle)
    });
    for _ in 0..30 {
        asked(&slowed).await;
    }
    let response = ask_call(&slowed, &world.client, &[]).send().await;
    assert_eq!((response.status(), response.header("Retry-After")), (429, Some("10")));
    assert_eq!(ask_call(&slowed, &world.client, &[]).from("203.0.113.9").send().await.status(), 200);
}

/// DEV-08: an IPv6 network of 56 bits has twice as many requests as one of 64, and one of 48 bits ten times.
#[tokio::test]
async fn requests_of_wider_networks_are_throttled() {
    let world = world().await;
    let throttle = grantor::MemoryThrottle::new().with_clock(world.clock.clone());
    let slowed = support::intercepted::over_with(&world, support::intercepted::scripts::Calls::recorded(), |builder| {
        builder.throttle(throttle)
    });
    let served = async |peers: &mut dyn Iterator<Item = String>| {
        let mut served = 0;
        for peer in peers {
            let response = ask_call(&slowed, &slowed.client, &[]).from(&peer).send().await;
            served += u32::from(response.status() == 200);
        }
        served
    };
    let of_56 = served(&mut (0..100).map(|number| format!("2001:db8:1:{number:x}::1"))).await;
    let of_48 = served(&mut (0..400).map(|number| format!("2001:db8:1:{:x}::1", 0x100 + (number << 4)))).await;
    assert_eq!((of_56, of_56 + of_48), (60, 300));
    assert_eq!(served(&mut ["2001:db8:2::1".to_owned()].into_iter()).await, 1);
}

/// DEV-08: an attacker types as many codes as there are places, with few accounts.
#[tokio::test]
async fn accounts_that_type_codes_lock_no_device_out() {
    let world = world_with(Profile::Strict, |config| config.limits.device_requests = 32).await;
    for number in 0..90 {
        let account = grantor::Subject::new(format!("attacker {}", number % 3)).unwrap();
        typed_by(&world, &asked(&world).await.user_code, &account, SESSION).await.unwrap();
    }
    for _ in 0..30 {
        let device = asked(&world).await;
        approved(&world, &typed(&world, &device.user_code).await).await;
        ok(&poll(&world, &device.device_code).await);
        world.advance(600);
        let account = grantor::Subject::new("attacker 0").unwrap();
        typed_by(&world, &asked(&world).await.user_code, &account, SESSION).await.unwrap();
    }
}

/// DEV-07: the code of a request that gave way is anyone's again, and the page that is open keeps its own.
#[tokio::test]
async fn a_displaced_request_gives_its_code_back() {
    let world = world_with(Profile::Strict, |config| config.limits.consent_requests = 10).await;
    let bob = grantor::Subject::new("bob").unwrap();
    let (first, second) = (asked(&world).await, asked(&world).await);
    typed(&world, &first.user_code).await;
    world.advance(1);
    let again = typed(&world, &first.user_code).await;
    world.advance(1);
    typed(&world, &second.user_code).await;
    refused(typed_by(&world, &first.user_code, &bob, SESSION).await, UNKNOWN);
    approved(&world, &again).await;
    ok(&poll(&world, &first.device_code).await);
    let (third, fourth) = (asked(&world).await, asked(&world).await);
    for device in [&third, &fourth] {
        world.advance(1);
        typed(&world, &device.user_code).await;
    }
    typed_by(&world, &second.user_code, &bob, SESSION).await.unwrap();
    refused(typed_by(&world, &third.user_code, &bob, SESSION).await, UNKNOWN);
}

/// CORS-02: the page of another origin would ask in the network of its visitor.
#[tokio::test]
async fn no_page_of_another_origin_asks() {
    let world = world_with(Profile::Mcp, |_| ()).await;
    let throttle = grantor::MemoryThrottle::new().with_clock(world.clock.clone());
    let mut world =
        support::intercepted::over_with(&world, support::intercepted::scripts::Calls::recorded(), |builder| {
            builder.throttle(throttle)
        });
    let pages: [(&str, &[u8]); 3] =
        [("Origin", b"https://evil.example"), ("Origin", b"null"), ("Sec-Fetch-Site", b"cross-site")];
    for (name, value) in pages {
        for _ in 0..30 {
            let response = ask_call(&world, &world.client, &[]).header(name, value).send().await;
            e400(&response, "invalid_request");
            assert_eq!(response.header("Access-Control-Allow-Origin"), None);
        }
    }
    // A page of the same site sends no `Origin` with an image.
    for _ in 0..30 {
        let image = Request::new("GET").peer([192, 0, 2, 1].into());
        assert_eq!(world.server.serve(Endpoint::DeviceAuthorization, &image).await.status(), 405);
    }
    // The visitor's own device is not throttled for what the page sent.
    asked(&world).await;
    // A page that the settings list, such as an application for televisions, reads its answer.
    reconfigured(&mut world, |config| {
        let listed = ["https://tv.example", "null", "file://"];
        config.devices.cors = grantor::wire::Cors::Origins(listed.map(Into::into).to_vec());
    });
    // The last two are sent by packaged applications.
    let pages = ["https://tv.example", "null", "file://", "https://evil.example"];
    for (origin, is_listed) in pages.into_iter().zip([true, true, true, false]) {
        let call = ask_call(&world, &world.client, &[]).header("Origin", origin.as_bytes());
        let response = call.header("Sec-Fetch-Site", b"cross-site").send().await;
        assert_eq!(response.status() == 200, is_listed, "{origin}");
        assert_eq!(response.header("Access-Control-Allow-Origin"), is_listed.then_some(origin));
    }
    let token = poll_call(&world, &world.client, "dc_x").header("Origin", b"https://evil.example").send().await;
    assert_eq!(token.header("Access-Control-Allow-Origin"), Some("*"), "the token endpoint is covered");
}

/// CLK-02
///
/// A request that was made at a server ten minutes ahead gives way to nobody here, if it would not there.
#[tokio::test]
async fn typed_requests_of_a_clock_that_is_ahead_give_way_to_nobody() {
    let world = world_with(Profile::Strict, |config| config.limits.device_requests = 1).await;
    world.advance(600);
    let device = asked(&world).await;
    typed(&world, &device.user_code).await;
    world.clock.set(Timestamp::from_seconds(START));
    assert_eq!(ask_call(&world, &world.client, &[]).send().await.status(), 429);
}

/// DEV-08
#[tokio::test]
async fn typed_requests_give_way_to_nobody() {
    let world = world_with(Profile::Strict, |config| config.limits.device_requests = 3).await;
    for _ in 0..3 {
        let device = asked(&world).await;
        typed(&world, &device.user_code).await;
    }
    let response = ask_call(&world, &world.client, &[]).send().await;
    assert_eq!((response.status(), response.header("Retry-After")), (429, Some("600")));
    world.advance(600);
    asked(&world).await;
}
