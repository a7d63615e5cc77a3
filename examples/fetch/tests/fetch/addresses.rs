//! Which addresses are connected to.

use std::net::{IpAddr, TcpListener};
use std::time::Duration;

use grantor::fetch::FetchErrorKind;
use grantor_fetch::Fetch;
use tokio::time::Instant;

use crate::authority::Authority;
use crate::scripted::Scripted;
use crate::server::{Part, Server};
use crate::{NAME, PUBLIC, URL, World, fetch, fetch_within};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// CIMD-6-01, CIMD-8.6-01
///
/// One special-use address in the answer is enough, in any position.
#[tokio::test]
async fn one_address_of_special_use_refuses_the_host() {
    for own in
        ["127.0.0.1", "10.0.0.1", "192.168.1.1", "169.254.169.254", "::1", "fe80::1", "::ffff:10.0.0.1", "0.0.0.0"]
    {
        for answer in [vec![address(own)], vec![PUBLIC, address(own)], vec![address(own), PUBLIC]] {
            let network = Scripted::new();
            network.answer(answer.clone());
            let fetched = fetch(&Fetch::new().unwrap().network(network.clone()), URL).await;
            assert_eq!(fetched, Err(FetchErrorKind::SpecialUseAddress), "{answer:?}");
            assert_eq!((network.names().len(), network.connections().len()), (1, 0), "{answer:?}");
        }
    }
}

/// CIMD-8.6-01, NEG-OC-02
///
/// The attacker's resolver returns a public address for the check, and would return the loopback for a second look-up.
#[tokio::test]
async fn the_address_that_was_judged_is_connected_to() {
    let authority = Authority::new();
    let server = Server::start(authority.certify(NAME), vec![Part::text(OK)]).await;
    let network = Scripted::new().leading_to(server.address);
    network.answer([PUBLIC]);
    network.answer([address("127.0.0.1")]);
    let fetcher = Fetch::new().unwrap().network(network.clone());
    // The certificate is not trusted, but only the connection matters here.
    assert_eq!(fetch(&fetcher, URL).await, Err(FetchErrorKind::Tls));
    assert_eq!((network.names(), network.connections()), (vec![NAME.to_owned()], vec![(PUBLIC, 443).into()]));
    // The second answer is for the second request, and is checked too.
    assert_eq!(fetch(&fetcher, URL).await, Err(FetchErrorKind::SpecialUseAddress));
    assert_eq!((network.names().len(), network.connections().len()), (2, 1));
}

/// NEG-OC-03, CIMD-8.6-01
#[tokio::test]
async fn a_disguised_address_ends_without_connection_and_look_up() {
    let hosts = [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.0.0.1",
        "017700000001",
        "0177.0.0.1",
        "127.0.0.1.",
        "0",
        "0.0.0.0",
        "10.0.0.1",
        "169.254.169.254",
        "2852039166",
        "[::1]",
        "[::]",
        "[0:0:0:0:0:0:0:1]",
        "[::127.0.0.1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::ffff:a9fe:a9fe]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b::a00:1]",
        "[2002:7f00:1::]",
        "[fe80::1%25eth0]",
        "[fd00:ec2::254]",
        "localhost",
        "LocalHost",
        "localhost.",
        "www.localhost",
        "localhost.localdomain.",
        "metadata.google.internal",
        "METADATA.google.internal.",
        "metadata",
        "instance-data",
        "instance-data.ec2.internal",
        "kubernetes",
        "printer.local",
        "client.example.",
        "127.0.0.1%2f.client.example",
        "user@client.example",
        "127.0.0.1\\@client.example",
        "127.0.0.1#@client.example",
    ];
    let network = Scripted::new();
    let fetcher = Fetch::new().unwrap().network(network.clone());
    for host in hosts {
        for url in [format!("https://{host}/x"), format!("https://{host}:8443/x")] {
            let kind = fetch(&fetcher, &url).await.unwrap_err();
            assert!(matches!(kind, FetchErrorKind::Url | FetchErrorKind::SpecialUseAddress), "{url}: {kind:?}");
        }
    }
    assert_eq!((network.names(), network.connections()), (vec![], vec![]));
}

/// CIMD-8.6-01, CIMD-8.6-03
///
/// With the system's own network, and a real server.
#[tokio::test]
async fn no_url_reaches_a_server_on_the_loopback() {
    let server = Server::start(Authority::new().certify("127.0.0.1"), vec![Part::text(OK)]).await;
    let fetcher = Fetch::new().unwrap();
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "[::127.0.0.1]"] {
        let url = format!("https://{host}:{}/", server.address.port());
        assert!(fetch(&fetcher, &url).await.is_err(), "{url}");
    }
    assert_eq!(server.connections(), 0);
}

/// CIMD-8.6-01
#[tokio::test]
async fn a_literal_public_address_is_connected_to() {
    let network = Scripted::new();
    let fetcher = Fetch::new().unwrap().network(network.clone());
    assert_eq!(fetch(&fetcher, "https://192.31.196.1/").await, Err(FetchErrorKind::Connection));
    assert_eq!(fetch(&fetcher, "https://[2606:4700::1111]:8443/").await, Err(FetchErrorKind::Connection));
    assert_eq!(network.names(), Vec::<String>::new());
    assert_eq!(network.connections(), [(PUBLIC, 443).into(), (address("2606:4700::1111"), 8443).into()]);
}

/// A network without a way to IPv6 addresses, and one where such an address accepts connections and never answers.
#[tokio::test]
async fn silent_addresses_of_one_family_delay_the_other_by_the_attempt_delay() {
    let world = World::new(vec![Part::text(OK)]).await;
    let ipv6: Vec<IpAddr> = (1..=8).map(|last| address(&format!("2606:4700::{last}"))).collect();
    let stalling = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = |own| world.network.is_silent(own);
    let stalls = |own| world.network.leads(own, stalling.local_addr().unwrap());
    for make in [&stalls as &dyn Fn(IpAddr), &silent] {
        ipv6.iter().copied().for_each(make);
        world.network.answer(ipv6.iter().copied().chain([PUBLIC]));
        let began = Instant::now();
        let response = fetch_within(&world.fetch, Duration::from_secs(3)).await.unwrap();
        assert_eq!((response.status, response.body.as_slice()), (200, b"{}".as_slice()));
        assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
        let tried = world.network.connections().split_off(2 * (world.network.names().len() - 1));
        assert_eq!(tried, [(ipv6[0], 443).into(), (PUBLIC, 443).into()]);
    }
}

#[tokio::test]
async fn a_host_is_reached_by_any_of_its_addresses() {
    let world = World::new(vec![Part::text(OK)]).await;
    let (refusing, silent) = (address("192.31.196.7"), address("192.31.196.8"));
    world.network.refuses(refusing);
    world.network.is_silent(silent);
    world.network.answer([refusing, silent, PUBLIC]);
    let response = fetch_within(&world.fetch, Duration::from_secs(3)).await.unwrap();
    assert_eq!((response.status, response.body.as_slice()), (200, b"{}".as_slice()));
    assert_eq!(world.network.connections(), [(refusing, 443).into(), (silent, 443).into(), (PUBLIC, 443).into()]);
    assert_eq!(world.network.names().len(), 1);
}

#[tokio::test]
async fn at_most_four_addresses_are_tried() {
    let network = Scripted::new();
    network.answer((1..=200).map(|last| IpAddr::from([192, 31, 196, last])));
    assert_eq!(fetch(&Fetch::new().unwrap().network(network.clone()), URL).await, Err(FetchErrorKind::Connection));
    assert_eq!(network.connections().len(), 4);
}

#[tokio::test]
async fn a_name_without_address_is_not_found() {
    let network = Scripted::new();
    let fetcher = Fetch::new().unwrap().network(network.clone());
    assert_eq!(fetch(&fetcher, URL).await, Err(FetchErrorKind::Name));
    network.answer([]);
    assert_eq!(fetch(&fetcher, URL).await, Err(FetchErrorKind::Name));
    assert_eq!(network.connections(), []);
}
