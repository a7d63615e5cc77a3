//! Limits on the time of a request and on the number of concurrent requests.

use std::net::Ipv4Addr;
use std::num::NonZeroUsize;
use std::time::Duration;

use grantor::fetch::{FetchErrorKind, FetchPurpose};
use grantor_fetch::Fetch;
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep, timeout};

use crate::scripted::Scripted;
use crate::server::Part;
use crate::{PUBLIC, URL, World, fetch_for, fetch_within};

/// Long enough for a handshake on a busy machine.
const TIME: Duration = Duration::from_millis(1500);

async fn is_late(fetcher: &Fetch) {
    let begun = Instant::now();
    assert_eq!(fetch_within(fetcher, TIME).await, Err(FetchErrorKind::TimedOut));
    assert!(begun.elapsed() >= TIME && begun.elapsed() < TIME * 2, "{:?}", begun.elapsed());
}

/// CIMD-4-01
#[tokio::test]
async fn a_last_byte_that_comes_late_is_too_late() {
    let head = || Part::text("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{");
    let world = World::new(vec![head(), Part::Pause(TIME * 2), Part::text("}")]).await;
    world.network.answer([PUBLIC]);
    is_late(&world.fetch).await;

    let world = World::new(vec![head(), Part::Pause(TIME / 10), Part::text("}")]).await;
    world.network.answer([PUBLIC]);
    assert_eq!(fetch_within(&world.fetch, TIME).await.unwrap().body, b"{}");
}

/// CIMD-4-01
///
/// Each byte is in time, but the whole response is not.
#[tokio::test]
async fn the_time_is_for_the_whole_and_not_for_each_part() {
    let drip = |text: &str| text.bytes().flat_map(|own| [Part::Bytes(vec![own]), Part::Pause(TIME / 10)]).collect();
    for text in ["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.1 103 Early Hints\r\n\r\n"] {
        let world = World::new(drip(text)).await;
        world.network.answer([PUBLIC]);
        is_late(&world.fetch).await;
    }
}

/// CIMD-4-01
#[tokio::test]
async fn a_host_that_says_nothing_takes_no_longer_than_the_time() {
    // The host is silent after the request.
    let world = World::new(vec![Part::Wait]).await;
    world.network.answer([PUBLIC]);
    is_late(&world.fetch).await;
    timeout(TIME, world.server.is_idle()).await.expect("the connection was closed");

    // The host is silent in the handshake.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let network = Scripted::new().leading_to(listener.local_addr().unwrap());
    network.answer([PUBLIC]);
    is_late(&Fetch::new().unwrap().network(network)).await;

    // The connection is never accepted.
    let network = Scripted::new();
    network.is_silent(PUBLIC);
    network.answer([PUBLIC]);
    is_late(&Fetch::new().unwrap().network(network)).await;

    // The resolver does not answer.
    let network = Scripted::new();
    network.resolver_hangs();
    is_late(&Fetch::new().unwrap().network(network)).await;
}

#[tokio::test]
async fn a_dropped_request_closes_its_connection() {
    let world = World::new(vec![Part::Wait]).await;
    let dropped = timeout(TIME / 3, world.fetch()).await;
    assert!(dropped.is_err(), "{dropped:?}");
    assert_eq!(world.server.requests().len(), 1);
    timeout(TIME, world.server.is_idle()).await.expect("the connection was closed");
}

#[tokio::test]
async fn slow_hosts_take_no_more_places_than_there_are() {
    let world = World::new(vec![Part::Wait]).await;
    // Two of them for one domain.
    let fetcher = world.fetch.clone().requests_at_once(NonZeroUsize::new(16).unwrap());
    let begin = |time| {
        world.network.answer([PUBLIC]);
        let fetcher = fetcher.clone();
        tokio::spawn(async move { fetch_within(&fetcher, time).await })
    };
    let slow = [begin(TIME * 2), begin(TIME * 2)];
    sleep(TIME / 2).await;
    // Those that find no place wait within their own time.
    for late in [begin(TIME / 2), begin(TIME / 2), begin(TIME / 2)] {
        assert_eq!(late.await.unwrap(), Err(FetchErrorKind::TimedOut));
    }
    assert_eq!((world.network.names().len(), world.server.connections()), (2, 2));
    for request in slow {
        assert_eq!(request.await.unwrap(), Err(FetchErrorKind::TimedOut));
    }
    // The places are free again.
    assert_eq!(fetch_within(&fetcher, TIME).await, Err(FetchErrorKind::TimedOut));
    assert_eq!(world.server.connections(), 3);
}

#[tokio::test]
async fn a_look_up_that_hangs_keeps_its_place_and_frees_that_of_the_request() {
    let network = Scripted::new();
    network.resolver_hangs();
    let fetcher = Fetch::new().unwrap().network(network.clone()).requests_at_once(NonZeroUsize::MIN);
    let fetch = async |url: &str| fetch_for(&fetcher, url, FetchPurpose::MetadataDocument, TIME / 3).await;
    for host in ["client.example", "client.example", "other.example"] {
        assert_eq!(fetch(&format!("https://{host}/")).await, Err(FetchErrorKind::TimedOut), "{host}");
    }
    assert_eq!(network.names().len(), 1);
    // An address needs no look-up. Nothing answers at this one.
    assert_eq!(fetch(&format!("https://{PUBLIC}/")).await, Err(FetchErrorKind::Connection));
}

/// A stranger's hosts, whose names take as long to look up as the resolver is patient, stop neither other purposes nor
/// other domains.
#[tokio::test]
async fn a_tar_pit_stops_no_other_domain_and_no_other_purpose() {
    let world = World::new(vec![Part::text("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")]).await;
    world.network.tar_pit("evil.example");
    let purposes = [FetchPurpose::MetadataDocument, FetchPurpose::ReviewedKeySet, FetchPurpose::UnreviewedKeySet];
    for (caught, purpose) in (1..).zip(purposes) {
        let hosts = (0..64).map(|host| {
            let fetcher = world.fetch.clone();
            let url = format!("https://host-{host}.evil.example/");
            tokio::spawn(async move { fetch_for(&fetcher, &url, purpose, TIME / 3).await })
        });
        for host in hosts.collect::<Vec<_>>() {
            assert_eq!(host.await.unwrap(), Err(FetchErrorKind::TimedOut));
        }
        let pits = world.network.names().iter().filter(|name| name.ends_with("evil.example")).count();
        assert_eq!(pits, caught * 8, "eight look-ups of one domain");
        // Those look-ups never end, and honest hosts are fetched for every purpose.
        for purpose in purposes {
            world.network.answer([PUBLIC]);
            assert_eq!(fetch_for(&world.fetch, URL, purpose, TIME).await.unwrap().body, b"{}", "{purpose:?}");
        }
    }
}

/// The worst that many domains can do.
#[tokio::test]
async fn a_purpose_whose_places_are_all_taken_stops_no_other() {
    let world = World::new(vec![Part::text("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")]).await;
    let fetcher = world.fetch.clone().requests_at_once(NonZeroUsize::MIN);
    world.network.tar_pit("evil.example");
    let unreviewed = FetchPurpose::UnreviewedKeySet;
    let late = fetch_for(&fetcher, "https://evil.example/", unreviewed, TIME / 3).await;
    assert_eq!(late, Err(FetchErrorKind::TimedOut));
    assert_eq!(fetch_for(&fetcher, URL, unreviewed, TIME / 3).await, Err(FetchErrorKind::TimedOut));
    for purpose in [FetchPurpose::MetadataDocument, FetchPurpose::ReviewedKeySet] {
        world.network.answer([PUBLIC]);
        assert_eq!(fetch_for(&fetcher, URL, purpose, TIME).await.unwrap().body, b"{}", "{purpose:?}");
    }
}
