//! Certificate checks.

use std::error::Error as _;
use std::net::Ipv4Addr;

use grantor::fetch::{FetchErrorKind, FetchRequest, Fetcher as _};
use grantor_fetch::{Fetch, SetupError};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use crate::authority::Authority;
use crate::scripted::Scripted;
use crate::server::{Part, Server};
use crate::{NAME, PUBLIC, URL, fetch};

fn ok() -> Vec<Part> {
    vec![Part::text("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")]
}

/// CIMD-8.6-01
#[tokio::test]
async fn a_certificate_for_another_name_is_refused() {
    let authority = Authority::new();
    for name in ["other.example", "example", "*.client.example", "192.31.196.1", "localhost"] {
        let server = Server::start(authority.certify(name), ok()).await;
        let network = Scripted::new().leading_to(server.address);
        network.answer([PUBLIC]);
        let fetcher = Fetch::for_development(authority.pem()).unwrap().network(network);
        let error = fetcher.fetch(&FetchRequest::new(URL)).await.unwrap_err();
        assert_eq!(error.kind(), FetchErrorKind::Tls, "{name}");
        assert!(error.source().unwrap().to_string().contains("not valid for name"), "{error:?}");
        server.is_idle().await;
        assert_eq!((server.connections(), server.requests().len()), (1, 0), "{name}");
    }
}

#[tokio::test]
async fn an_expired_certificate_is_refused() {
    let authority = Authority::new();
    let server = Server::start(authority.certify_until(NAME, 2020), ok()).await;
    let network = Scripted::new().leading_to(server.address);
    network.answer([PUBLIC]);
    let fetcher = Fetch::for_development(authority.pem()).unwrap().network(network);
    assert_eq!(fetch(&fetcher, URL).await, Err(FetchErrorKind::Tls));
    server.is_idle().await;
    assert_eq!(server.requests().len(), 0);
}

/// CIMD-8.6-03
#[tokio::test]
async fn development_reaches_the_loopback_with_a_root_of_its_own() {
    let authority = Authority::new();
    let server = Server::start(authority.certify("localhost"), ok()).await;
    let url = format!("https://localhost:{}/metadata.json", server.address.port());
    let fetcher = Fetch::for_development(authority.pem()).unwrap();
    assert!(fetcher.reaches_loopback());
    assert_eq!(fetch(&fetcher, &url).await.unwrap().body, b"{}");
    assert_eq!(server.requests().len(), 1);

    // Another root, and a certificate for another name.
    let other = Fetch::for_development(Authority::new().pem()).unwrap();
    assert_eq!(fetch(&other, &url).await, Err(FetchErrorKind::Tls));
    let by_address = format!("https://127.0.0.1:{}/metadata.json", server.address.port());
    assert_eq!(fetch(&fetcher, &by_address).await, Err(FetchErrorKind::Tls));
    assert_eq!((server.connections(), server.requests().len()), (3, 1));

    // Not in development: no connection.
    let public = Fetch::new().unwrap();
    assert!(!public.reaches_loopback());
    assert!(fetch(&public, &url).await.is_err() && fetch(&public, &by_address).await.is_err());
    assert_eq!(server.connections(), 3);
}

#[tokio::test]
async fn a_host_without_tls_is_refused() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let network = Scripted::new().leading_to(listener.local_addr().unwrap());
    network.answer([PUBLIC]);
    let plain = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").await.unwrap();
        stream
    });
    assert_eq!(fetch(&Fetch::new().unwrap().network(network), URL).await, Err(FetchErrorKind::Tls));
    drop(plain.await);
}

#[test]
fn roots_that_cannot_be_read_are_refused() {
    assert!(matches!(Fetch::for_development(""), Err(SetupError::NoRoot)));
    assert!(matches!(Fetch::for_development("no certificate"), Err(SetupError::NoRoot)));
    let good = Authority::new().pem();
    let bad = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let error = Fetch::for_development(format!("{good}{bad}")).unwrap_err();
    assert_eq!(error.to_string(), "certificate 2 of the roots cannot be read");
    assert_eq!(format!("{error:?}"), format!("{error}: {}", error.source().unwrap()));
}
