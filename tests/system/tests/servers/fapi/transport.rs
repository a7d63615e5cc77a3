//! TLS in front of the thin server, by the first bytes of a connection [RFC 5246 section 7.4.1.2].

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use demo::Options;
use support::folder::repository;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The kinds of records [RFC 5246 section 6.2.1].
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
/// ECDHE with AES-GCM or ChaCha20, for keys of both kinds.
const GOOD_SUITES: [u16; 6] = [0xc02b, 0xc02c, 0xcca9, 0xc02f, 0xc030, 0xcca8];
/// CBC, key transport by RSA, DHE.
const BAD_SUITES: [u16; 10] = [0x000a, 0x002f, 0x0035, 0x003c, 0x009c, 0x009d, 0x009e, 0xc013, 0xc014, 0xc027];
const TLS_13_SUITES: [u16; 3] = [0x1301, 0x1302, 0x1303];

/// FAPI-FIX-01, FAPI-5.2-01
#[tokio::test]
async fn tls_is_1_2_or_1_3_with_ecdhe_and_aead_alone() {
    let address = terminated();
    for version in [0x0300, 0x0301, 0x0302] {
        let all = [&GOOD_SUITES[..], &BAD_SUITES].concat();
        assert_eq!(answer(address, &hello(version, &all, &[])).await, None, "{version:#x}");
    }
    assert_eq!(answer(address, &hello(0x0303, &BAD_SUITES, &[])).await, None);
    let mut taken = 0;
    for suite in GOOD_SUITES {
        // Of each two suites, one fits the kind of the server's key.
        taken += usize::from(answer(address, &hello(0x0303, &[suite], &[])).await == Some(suite));
    }
    assert_eq!(taken, 3);
    // With the extension `supported_versions`: TLS 1.3 alone, and TLS 1.1 alone.
    for suite in TLS_13_SUITES {
        assert_eq!(answer(address, &hello(0x0303, &[suite], &[0x0304])).await, Some(suite));
    }
    assert_eq!(answer(address, &hello(0x0303, &GOOD_SUITES, &[0x0302])).await, None);
}

fn terminated() -> SocketAddr {
    let file = |name: &str| repository().join("tests/data/postgres-tls").join(name).display().to_string();
    let options = ["--tls-cert".into(), file("server.pem"), "--tls-key".into(), file("server.key")];
    let options = Options::read(options.into_iter()).unwrap().expect("no call for help");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(demo::tls::terminate(&options, listener).unwrap());
    address
}

/// The suite that the server chooses; nothing if it sends an alert or closes.
async fn answer(address: SocketAddr, hello: &[u8]) -> Option<u16> {
    let talk = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(hello).await.unwrap();
        let mut heard = Vec::new();
        while heard.len() < 9 || heard.len() < 46 + usize::from(heard.get(43).copied().unwrap_or_default()) {
            if stream.read_buf(&mut heard).await.unwrap_or_default() == 0 {
                break;
            }
            if heard[0] == ALERT {
                break;
            }
        }
        heard
    };
    let heard = timeout(Duration::from_secs(10), talk).await.expect("an answer in time");
    if heard.first() != Some(&HANDSHAKE) {
        return None;
    }
    // Record (5), handshake (4), version (2), random (32), session id.
    let suite = 44 + usize::from(heard[43]);
    Some(u16::from_be_bytes([heard[suite], heard[suite + 1]]))
}

/// A ClientHello.
fn hello(version: u16, suites: &[u16], versions: &[u16]) -> Vec<u8> {
    let list = |values: &[u16]| values.iter().flat_map(|value| value.to_be_bytes()).collect::<Vec<_>>();
    let mut extensions = Vec::new();
    // Groups, point formats, signature algorithms.
    extensions.extend(extension(0x000a, &long(&list(&[0x001d, 0x0017]))));
    extensions.extend(extension(0x000b, &[1, 0]));
    extensions.extend(extension(0x000d, &long(&list(&[0x0403, 0x0804, 0x0401, 0x0807]))));
    if !versions.is_empty() {
        extensions.extend(extension(0x002b, &[&[2 * versions.len() as u8], &*list(versions)].concat()));
        // No key yet: the server asks for one, and names the suite.
        extensions.extend(extension(0x0033, &[0, 0]));
    }
    let suites = long(&list(suites));
    let body = [&version.to_be_bytes()[..], &[7; 32], &[0], &suites, &[1, 0], &long(&extensions)].concat();
    let length = u32::try_from(body.len()).unwrap().to_be_bytes();
    let message = [&[1], &length[1..], &body].concat();
    [&[HANDSHAKE, 3, 1][..], &long(&message)].concat()
}

fn extension(kind: u16, content: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes()[..], &long(content)].concat()
}

/// With its length in two bytes in front.
fn long(content: &[u8]) -> Vec<u8> {
    [&u16::try_from(content.len()).unwrap().to_be_bytes()[..], content].concat()
}
