//! How long a document is cached.

use grantor::fetch::FetchResponse;
use serde_json::json;

use super::web::{altered, json as answer};
use super::{URL, ask_for, document, on, refused, with, world, world_with};

/// CIMD-4.3-01
#[tokio::test]
async fn errors_and_invalid_documents_are_never_cached() {
    let (world, web) = world().await;
    for bad in [FetchResponse::new(404, ""), answer("{}"), answer("not json")] {
        web.answer(URL, altered(bad, |response| response.cache_control = Some("max-age=86400".to_owned())));
        refused(&world, URL).await;
        assert_eq!(web.count(), 1);
    }
    web.publish(URL, document());
    assert!(ask_for(&world, URL).await.is_ok());
    assert_eq!(web.count(), 1);
}

/// CIMD-4.3-01
#[tokio::test]
async fn caching_headers_count_within_bounds() {
    let header = |name: &str, value: &str| {
        let mut response = answer(document().to_string());
        let value = Some(value.to_owned());
        match name {
            "Cache-Control" => response.cache_control = value,
            "Expires" => response.expires = value,
            _ => {}
        }
        response
    };
    for (response, seconds) in [
        (header("Cache-Control", "no-store"), 300),
        (header("Cache-Control", "max-age=1"), 300),
        (header("Cache-Control", "max-age=31536000"), 86_400),
        // 2000 s after the world's current time.
        (header("Expires", "Sun, 09 Sep 2001 02:20:00 GMT"), 2000),
        (header("", ""), 3600),
    ] {
        let (world, web) = world().await;
        web.answer(URL, response);
        assert!(ask_for(&world, URL).await.is_ok());
        world.advance(seconds - 1);
        assert!(ask_for(&world, URL).await.is_ok());
        assert_eq!(web.count(), 1, "{seconds}");
        world.advance(1);
        assert!(ask_for(&world, URL).await.is_ok());
        assert_eq!(web.count(), 1, "{seconds}");
    }
}

/// CIMD-4.3-01
#[tokio::test]
async fn a_bounded_number_of_documents_is_cached() {
    const MAX: usize = 1000;

    let web = super::Web::default();
    let world = world_with(on(), &web).await;
    let urls: Vec<_> = (0..=MAX).map(|number| format!("https://e.com/{number}")).collect();
    for url in &urls {
        web.publish(url, with(json!({"client_id": url})));
    }
    let ask = async |number: usize, is_fetched: bool| {
        assert!(ask_for(&world, &urls[number]).await.is_ok());
        assert_eq!(web.count(), usize::from(is_fetched), "{number}");
    };
    for number in 0..MAX {
        ask(number, true).await;
    }
    // The least recently used one is dropped.
    for (number, is_fetched) in [(0, false), (MAX, true), (0, false), (2, false), (1, true)] {
        ask(number, is_fetched).await;
    }
}
