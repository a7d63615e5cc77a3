//! When a document is fetched, and which responses are accepted.

use std::sync::Arc;
use std::time::Duration;

use futures::future::{join, join_all};
use grantor::config::DynamicRegistration;
use grantor::fetch::{FetchErrorKind, FetchResponse};
use grantor::hooks::ApproveWithin;
use grantor::store::{Insertion, RecordStore};
use grantor::testing::records;
use grantor::wire::Request;
use grantor::{Application, AuthorizationServer, MemoryThrottle, Subject};
use serde_json::json;
use tokio::time::timeout;

use super::web::{Web, altered, json as answer};
use super::{
    PKCE, URI, URL, ask, ask_as, ask_for, bounds, document, id, on, page, query, refusal, refused, with, world,
};
use support::world::World;

/// CIMD-3-01
#[tokio::test]
async fn a_url_that_readers_disagree_on_is_refused_without_a_fetch() {
    let (world, web) = world().await;
    for url in [
        "https://e.com",
        "https://e.com?x",
        "https://e.com/a/../c",
        "https://e.com/./c",
        "https://e.com/%2e/c",
        "https://e.com/a/%2E%2e/c",
        "https://e.com/c#x",
        "https://user@e.com/c",
        "https://user:secret@e.com/c",
        "https://e.com\\c",
        "https://e.com/c d",
        "https://e.com/\tc",
        "https://e.com:0/c",
        "https://2130706433/c",
        "https:e.com/c",
        "http://e.com/c",
    ] {
        refused(&world, url).await;
    }
    assert_eq!(web.count(), 0);
    for url in ["https://e.com/", "https://e.com/c?x=1", "https://e.com:8443/c"] {
        web.publish(url, with(json!({"client_id": url})));
        assert_eq!(ask_for(&world, url).await.unwrap().client().id().as_str(), url);
    }
}

/// CIMD-3-02
#[tokio::test]
async fn a_url_is_compared_byte_by_byte() {
    let (world, web) = world().await;
    refused(&world, "HTTPS://client.example/oauth/client.json").await;
    let long = |length: usize| format!("https://e.com/{}", "x".repeat(length - 14));
    refused(&world, &long(513)).await;
    assert_eq!(web.count(), 0);
    web.publish(&long(512), with(json!({"client_id": long(512)})));
    super::pair_of(&world, &long(512)).await;
    let with_port = "https://client.example:443/oauth/client.json";
    refused(&world, with_port).await;
    web.publish(with_port, with(json!({"client_id": with_port, "client_name": "Other"})));
    assert_eq!(&*ask_for(&world, with_port).await.unwrap().client().form().name, "Other");
    assert_eq!(&*ask_for(&world, URL).await.unwrap().client().form().name, "App");
}

/// CIMD-3-02
#[tokio::test]
async fn a_client_that_an_administrator_stored_comes_first() {
    let (world, web) = world().await;
    let store = world.store.clone();
    let imported = Arc::new(records::approved(&records::application_under(&id(), &records::subject())));
    assert_eq!(RecordStore::<Application>::insert(&store, imported.clone()).await.unwrap(), Insertion::Inserted);
    let server = AuthorizationServer::builder(on(), store)
        .registration_policy(ApproveWithin::new(bounds()))
        .fetcher(web.clone())
        .clock(world.clock.clone())
        .build()
        .unwrap();
    let query = query(&world, URL, "https://app.example/cb");
    // The host is down, and no user has signed in.
    web.fail(URL, FetchErrorKind::Connection);
    let pending = server.authorize(&Request::new("GET").query(query.as_bytes())).await.unwrap();
    assert_eq!(
        (pending.client().form().name.as_str(), pending.client_id_host()),
        (imported.form().name.as_str(), None)
    );
    assert!(!pending.is_client_unreviewed());
    assert_eq!(web.count(), 0);
}

/// CIMD-4-01, NEG-OC-01
#[tokio::test]
async fn only_a_whole_answer_with_status_200_makes_a_client() {
    let (world, web) = world().await;
    for status in [201, 204, 301, 302, 307, 304, 404, 500] {
        web.answer(URL, altered(answer(document().to_string()), |response| response.status = status));
        refused(&world, URL).await;
        assert_eq!(web.take(), [URL], "{status}");
    }
    let padded = |length: usize| {
        let document = document().to_string();
        answer(format!("{document}{}", " ".repeat(length - document.len())))
    };
    web.answer(URL, padded(5121));
    refused(&world, URL).await;
    for kind in [FetchErrorKind::TimedOut, FetchErrorKind::TooLarge] {
        web.fail(URL, kind);
        refused(&world, URL).await;
    }
    web.answer(URL, padded(5120));
    assert!(ask_for(&world, URL).await.is_ok());
}

/// CIMD-4-02
#[tokio::test]
async fn a_document_is_json_by_its_type() {
    let (world, web) = world().await;
    for media_type in [Some("text/plain"), Some("text/html"), None] {
        let content_type = media_type.map(str::to_owned);
        web.answer(URL, altered(answer(document().to_string()), |response| response.content_type = content_type));
        refused(&world, URL).await;
    }
    for (number, media_type) in ["application/json; charset=utf-8", "application/ld+json"].into_iter().enumerate() {
        let url = format!("https://e.com/{number}");
        let content_type = Some(media_type.to_owned());
        let response = answer(with(json!({"client_id": url})).to_string());
        web.answer(&url, altered(response, |response| response.content_type = content_type));
        assert!(ask_for(&world, &url).await.is_ok(), "{media_type}");
    }
}

/// CIMD-5-03
#[tokio::test]
async fn only_a_signed_in_user_causes_a_fetch() {
    let (world, web) = world().await;
    let error = world.authorize(&query(&world, URL, URI)).await.unwrap_err();
    assert!(error.needs_sign_in() && !error.redirects());
    assert_eq!(error.form_action_sources(), Some("https: http:"));
    page(&error.response(None));
    assert_eq!(web.count(), 0);
    // An already stored client makes no difference.
    super::pair_of(&world, URL).await;
    web.take();
    assert!(world.authorize(&query(&world, URL, URI)).await.unwrap_err().needs_sign_in());
    assert_eq!(web.count(), 0);
}

/// CIMD-5-03
#[tokio::test]
async fn requests_at_once_share_one_fetch() {
    let (world, web) = world().await;
    let users: Vec<_> = (0..50).map(|number| Subject::new(format!("user-{number}")).unwrap()).collect();
    let at_once = async |query: &str| {
        web.shut();
        let open = async {
            pause().await;
            web.open();
        };
        join(join_all(users.iter().map(|user| ask_as(&world, user, query))), open).await.0
    };
    assert!(at_once(&query(&world, URL, URI)).await.iter().all(Result::is_ok));
    assert_eq!(web.count(), 1);
    // They also share an error, which is not cached.
    web.fail("https://e.com/c", FetchErrorKind::Connection);
    let query = query(&world, "https://e.com/c", URI);
    assert!(at_once(&query).await.iter().all(Result::is_err));
    assert_eq!(web.count(), 1);
    assert!(ask(&world, &query).await.is_err());
    assert_eq!(web.count(), 1);
}

/// CIMD-5-03
#[tokio::test]
async fn a_waiter_goes_on_if_the_request_that_began_it_is_dropped() {
    let (world, web) = world().await;
    let first = query(&world, URL, URI);
    let bob = Subject::new("bob").unwrap();
    web.shut();
    let mut second = Box::pin(ask_as(&world, &bob, &first));
    {
        let mut first = Box::pin(ask(&world, &first));
        assert!(timeout(PAUSE, first.as_mut()).await.is_err(), "it waits for the document");
        assert!(timeout(PAUSE, second.as_mut()).await.is_err(), "it waits for the same one");
    }
    web.open();
    assert!(second.await.is_ok());
    assert_eq!(web.count(), 1);
    // No request waits for this fetch: the next request starts a new one.
    let alone = query(&world, "https://e.com/c", URI);
    web.shut();
    assert!(timeout(PAUSE, Box::pin(ask(&world, &alone))).await.is_err());
    web.open();
    web.publish("https://e.com/c", with(json!({"client_id": "https://e.com/c"})));
    assert!(ask(&world, &alone).await.is_ok());
    assert_eq!(web.count(), 2);
}

/// Waits until requests have reached a pending fetch, with any store.
async fn pause() {
    tokio::time::sleep(PAUSE).await;
}

const PAUSE: Duration = Duration::from_millis(500);

/// CIMD-5-03
#[tokio::test]
async fn fetches_are_bounded_by_user_and_by_host() {
    let web = Web::default();
    let world = World::built(on(), |builder| {
        let policy = ApproveWithin::new(bounds());
        builder.registration_policy(policy).fetcher(web.clone()).throttle(MemoryThrottle::new())
    });
    let world = world.await;
    let url = |host: &str, number: usize| format!("https://{host}/{number}");
    for number in 0..20 {
        refused(&world, &url(&format!("host-{number}.example"), number)).await;
    }
    assert_eq!(web.count(), 20);
    let refusal_of = async |user: &str, url: &str| {
        let user = Subject::new(user).unwrap();
        let query = query(&world, url, URI);
        ask_as(&world, &user, &query).await.expect_err("nothing is there").response(Some(&user))
    };
    let too_many = refusal_of("alice", &url("another.example", 1)).await;
    assert_eq!(too_many.status(), 429);
    assert!(too_many.header("Retry-After").is_some() && too_many.header("Content-Type").unwrap().contains("html"));
    assert_eq!(web.count(), 0);
    assert!(world.events.saw("Throttled"));
    // Other users are not affected until a host was asked too often, in any spelling of its name.
    for number in 0..30 {
        assert_eq!(refusal_of(&format!("user-{number}"), &url("one.example", number)).await.status(), 400);
    }
    assert_eq!(web.count(), 30);
    assert_eq!(refusal_of("bob", &url("One.Example:8443", 1)).await.status(), 429);
    assert_eq!(refusal_of("bob", &url("two.example", 1)).await.status(), 400);
}

/// CIMD-5-03
#[tokio::test]
async fn requests_for_other_documents_of_a_host_lock_no_approved_client_out() {
    let web = Web::with(URL, document());
    let world = World::built(on(), |builder| {
        let policy = ApproveWithin::new(bounds());
        builder.registration_policy(policy).fetcher(web.clone()).throttle(MemoryThrottle::new())
    });
    let world = world.await;
    super::pair_of(&world, URL).await;
    // The document leaves the cache.
    world.advance(86_400);
    web.take();
    let missing = |number: usize| query(&world, &format!("{URL}/{number}"), URI);
    let as_another = async |number: usize, query: &str| {
        let user = Subject::new(format!("user-{number}")).unwrap();
        ask_as(&world, &user, query).await.map_err(|error| error.response(Some(&user)).status())
    };
    // One of the 30 was for the document itself.
    for number in 1..30 {
        assert_eq!(as_another(number, &missing(number)).await.err(), Some(400));
    }
    assert_eq!(as_another(30, &missing(30)).await.err(), Some(429));
    assert!(as_another(31, &query(&world, URL, URI)).await.is_ok());
    assert_eq!(web.count(), 30);
}

/// CIMD-5-03
#[tokio::test]
async fn a_cached_document_asks_no_throttle() {
    let web = Web::with(URL, document());
    let world = World::built(on(), |builder| {
        let policy = ApproveWithin::new(bounds());
        builder.registration_policy(policy).fetcher(web.clone()).throttle(MemoryThrottle::new())
    });
    let world = world.await;
    for _ in 0..100 {
        assert!(ask_for(&world, URL).await.is_ok());
    }
    assert_eq!(web.count(), 1);
}

/// CIMD-5.1-01
#[tokio::test]
async fn every_failure_shows_one_page_and_its_cause_to_the_event() {
    let (world, web) = world().await;
    let expected = refused(&world, "https://e.com").await;
    let shown = |response: &grantor::wire::Response| {
        let headers: Vec<_> = response.headers().map(|(name, value)| format!("{name}: {value}")).collect();
        (response.status(), headers, response.body().to_vec())
    };
    world.events.take();
    let kinds = [
        FetchErrorKind::Connection,
        FetchErrorKind::Name,
        FetchErrorKind::SpecialUseAddress,
        FetchErrorKind::TimedOut,
        FetchErrorKind::Tls,
    ];
    for kind in kinds {
        let cause = kind.to_string();
        web.fail(URL, kind);
        assert_eq!(shown(&refused(&world, URL).await), shown(&expected));
        let events = world.events.take();
        assert!(events.iter().any(|event| event.contains(&cause) && event.contains(URL)), "{events:?}");
    }
    let answers = [
        (FetchResponse::new(404, ""), "Status(404)"),
        (answer("<html>"), "NotAnObject"),
        (answer(with(json!({"client_id": "https://e.com/other"})).to_string()), "ClientId"),
        (answer(with(json!({"redirect_uris": []})).to_string()), "NoRedirectUri"),
        (FetchResponse::new(200, ""), "MediaType"),
    ];
    for (response, cause) in answers {
        web.answer(URL, response);
        assert_eq!(shown(&refused(&world, URL).await), shown(&expected));
        let events = world.events.take();
        assert!(events.iter().any(|event| event.contains(cause)), "{cause}: {events:?}");
    }
    // If clients can register themselves, the page for an unknown client has advice. This page does not.
    let mut config = on();
    config.registration.dynamic = DynamicRegistration::Open;
    let world = super::world_with(config, &web).await;
    assert_eq!(shown(&refused(&world, URL).await), shown(&expected));
}

/// NEG-OC-04
#[tokio::test]
async fn nothing_else_of_a_document_is_fetched() {
    let (world, web) = world().await;
    web.publish(
        URL,
        with(json!({
            "logo_uri": "https://10.0.0.1/logo.png",
            "jwks_uri": "https://10.0.0.1/keys",
            "tos_uri": "https://169.254.169.254/tos",
            "policy_uri": "https://localhost/policy",
            "client_uri": "https://[::1]/",
        })),
    );
    super::pair_of(&world, URL).await;
    assert_eq!(web.take(), [URL]);
    let pending = ask_for(&world, URL).await.unwrap();
    assert!(pending.client().open().unwrap().has_foreign_links);
}

/// CIMD-6-02
#[tokio::test]
async fn ids_that_the_server_makes_are_no_urls() {
    let (world, _) = world().await;
    for _ in 0..20 {
        let made = world.register(support::world::public_form()).await;
        assert!(!made.id.starts_with("https://"), "{}", made.id);
        assert!(made.id.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    }
}

/// CIMD-5-03
#[tokio::test]
async fn without_documents_a_url_is_an_unknown_client() {
    let world = World::mcp().await;
    page(&refusal(&world, &world.query_of(&super::client(URL), &PKCE)).await);
}
