//! The figures of the feature `metrics`, as the platform example writes them: each has its kind and its help, and no
//! caller decides how many series there are.

#[path = "../examples/platform/src/metrics.rs"]
mod figures;

use std::collections::{BTreeMap, BTreeSet};

use figures::Figures;
use futures::executor::block_on;
use grantor::testing::ManualClock;
use grantor::wire::{Body, Endpoint, Request};
use grantor::{AuthorizationServer, Config, MemoryStore, MemoryThrottle, Timestamp};
use support::intercepted::{Failure, Fate, Intercepted};
use support::world::AnyStore;

fn server(throttle: MemoryThrottle) -> AuthorizationServer {
    let builder = AuthorizationServer::builder(Config::platform("https://auth.example"), MemoryStore::new());
    builder.throttle(throttle).build().unwrap()
}

/// Returns what some work recorded. It must not change threads.
fn recorded(figures: &Figures, work: impl Future) -> String {
    metrics::with_local_recorder(figures, || {
        grantor::describe_metrics();
        drop(block_on(work));
    });
    figures.text()
}

async fn guess(server: &AuthorizationServer, client: &str, peer: [u8; 4]) -> u16 {
    let body = format!("grant_type=refresh_token&refresh_token=x&client_id={client}&client_secret=wrong");
    let form = Request::new("POST").header("Content-Type", b"application/x-www-form-urlencoded").peer(peer.into());
    server.serve(Endpoint::Token, &form.body(Body::Bytes(body.as_bytes()))).await.status()
}

/// The samples of a text, with the name and the labels of each. Fails if a line is not as the format has it.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let (mut kinds, mut helped, mut samples) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
    for line in text.lines() {
        if let Some(about) = line.strip_prefix("# HELP ") {
            let (name, help) = about.split_once(' ').unwrap();
            assert!(helped.insert(name) && help.ends_with('.'), "{line}");
        } else if let Some(about) = line.strip_prefix("# TYPE ") {
            let (name, kind) = about.split_once(' ').unwrap();
            assert!(helped.contains(name), "{name} has no help");
            assert!(kinds.insert(name, kind).is_none(), "{line}");
        } else {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let name = series.split('{').next().unwrap();
            let family = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
            match family.and_then(|family| kinds.get(family)) {
                Some(kind) => assert_eq!(*kind, "histogram", "{line}"),
                None => assert_eq!(name.ends_with("_total"), kinds[name] == "counter", "{line}"),
            }
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{line}");
            assert!(samples.insert(series.to_owned(), value.parse().unwrap()).is_none(), "{line}");
        }
    }
    samples
}

#[test]
fn requests_are_counted_by_outcome_and_reason_with_their_seconds() {
    let server = server(MemoryThrottle::new());
    let text = recorded(&Figures::default(), async {
        assert_eq!(guess(&server, "unknown", [192, 0, 2, 1]).await, 401);
        assert!(server.resource().authenticate(&Request::new("GET")).await.is_err());
        assert_eq!(server.serve(Endpoint::Metadata, &Request::new("GET")).await.status(), 200);
        server.authorize(&Request::new("GET")).await.unwrap_err();
        let _ = server.purge_expired(10).await.unwrap();
    });
    let samples = samples(&text);
    for (series, value) in [
        ("grantor_request_seconds_count{request=\"token\",outcome=\"refused\"}", 1.0),
        ("grantor_request_seconds_count{request=\"metadata\",outcome=\"answered\"}", 1.0),
        ("grantor_request_seconds_count{request=\"check\",outcome=\"refused\"}", 1.0),
        ("grantor_request_seconds_count{request=\"authorization\",outcome=\"refused\"}", 1.0),
        ("grantor_request_seconds_bucket{request=\"token\",outcome=\"refused\",le=\"+Inf\"}", 1.0),
        ("grantor_refusals_total{request=\"token\",reason=\"UnknownClient\"}", 1.0),
        ("grantor_refusals_total{request=\"check\",reason=\"NoAccessToken\"}", 1.0),
        ("grantor_events_total{event=\"authentication_failed\",severity=\"warning\"}", 1.0),
        ("grantor_store_seconds_count{table=\"clients\",call=\"find\"}", 1.0),
        ("grantor_store_seconds_count{table=\"last_purge\",call=\"insert\"}", 1.0),
        ("grantor_purge_backlog", 0.0),
        ("grantor_purge_seconds_count", 1.0),
    ] {
        assert_eq!(samples.get(series), Some(&value), "{series} in {text}");
    }
}

#[test]
fn calls_of_a_store_that_fail_are_counted() {
    let failing = Intercepted::new(AnyStore::over(MemoryStore::new()), |_: &str| Fate::FailsBefore(Failure::Transient));
    // Before the server is built.
    grantor::describe_metrics();
    let server = AuthorizationServer::new(Config::platform("https://auth.example"), failing).unwrap();
    let text = recorded(&Figures::default(), guess(&server, "unknown", [192, 0, 2, 1]));
    let samples = samples(&text);
    let failures = "grantor_store_failures_total{table=\"clients\",call=\"find\",failure=\"transient\"}";
    assert_eq!(samples.get(failures), Some(&1.0), "{text}");
    assert_eq!(samples["grantor_request_seconds_count{request=\"token\",outcome=\"failed\"}"], 1.0);
    assert_eq!(samples["grantor_refusals_total{request=\"token\",reason=\"Store\"}"], 1.0);
}

/// An attacker invents clients and has many addresses. The operator's series stay as few as they were, and show how
/// many callers are locked out.
#[test]
fn who_invents_clients_makes_no_series() {
    let clock = ManualClock::new(Timestamp::from_seconds(1_800_000_000));
    let server = server(MemoryThrottle::new().with_clock(clock.clone()));
    let figures = Figures::default();
    let round = async |first: u32| {
        for attempt in first..first + 500 {
            let [.., low] = (attempt / 500).to_be_bytes();
            guess(&server, &format!("invented-{attempt}"), [198, 51, 100, low]).await;
        }
        for _ in 0..20 {
            // Each round from another network.
            guess(&server, "guessed", [203, 0, 113, u8::try_from(first / 500).unwrap()]).await;
        }
        clock.advance(std::time::Duration::from_secs(1));
        guess(&server, "honest", [192, 0, 2, 1]).await;
    };
    let before = samples(&recorded(&figures, round(0)));
    let text = recorded(&figures, round(500));
    let after = samples(&text);
    assert!(!text.contains("invented") && !text.contains("honest") && !text.contains("198.51"), "{text}");
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    let locked_out = |samples: &BTreeMap<String, f64>| samples["grantor_locked_out{bound=\"client_failures\"}"];
    assert_eq!((locked_out(&before), locked_out(&after)), (1.0, 2.0), "{text}");
    clock.advance(std::time::Duration::from_secs(7200));
    assert_eq!(locked_out(&samples(&recorded(&figures, round(1000)))), 1.0, "the others may try again");
}
