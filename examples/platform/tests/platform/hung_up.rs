//! Browsers that hang up while their password is checked.

use std::fs;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::{ALICE, DEVON, sign_in, start};
use support_servers::http::{Request, connect};
use support_servers::started::Started;

/// PWD-01
///
/// A check whose browser has hung up keeps its slot until it ends. At most two checks of unknown browsers and one of a
/// known browser run at once, each with 19 MiB.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_hangs_up_frees_no_place() {
    let platform = start("hung-up");
    let known = sign_in(&platform, DEVON).send().await.cookies();
    let before = memory(&platform, "VmRSS:");
    let flood = async {
        for number in 0..250_u32 {
            // From many networks, each of which may have eight checks waiting.
            let [.., third, fourth] = number.to_be_bytes();
            let mut stream = post(&platform, [127, 0, 1 + third, fourth].into(), "nobody", "wrong").await;
            sleep(Duration::from_millis(5)).await;
            stream.shutdown().await.unwrap();
        }
    };
    let honest = async {
        sleep(Duration::from_millis(500)).await;
        let begun = now();
        let answer = sign_in(&platform, DEVON).cookies(&known).send().await;
        (answer.status, begun.elapsed())
    };
    let ((), (status, waited)) = tokio::join!(flood, honest);
    sleep(Duration::from_secs(1)).await;
    let more = memory(&platform, "VmHWM:") - before;
    println!("{} kB more, {waited:?} for a sign-in", more);
    assert_eq!(status, 303);
    assert!(waited < Duration::from_secs(10), "{waited:?}");
    assert!(more < 100_000, "{more} kB more");
}

/// PWD-01
#[tokio::test(flavor = "multi_thread")]
async fn a_guess_counts_though_its_sender_hung_up() {
    let platform = start("hung-up-guesses");
    for _ in 0..40 {
        let mut stream = post(&platform, Ipv4Addr::LOCALHOST, ALICE.0, "wrong").await;
        sleep(Duration::from_millis(30)).await;
        stream.shutdown().await.unwrap();
    }
    sleep(Duration::from_secs(1)).await;
    // Four failures are free, so without those whose browser hung up, neither would have to wait.
    let mut statuses = Vec::new();
    for _ in 0..2 {
        statuses.push(sign_in(&platform, (ALICE.0, "wrong")).send().await.status);
    }
    assert!(statuses.contains(&429), "{statuses:?}");
}

/// Sends a sign-in from that address, and leaves the answer unread.
async fn post(platform: &Started, from: Ipv4Addr, username: &str, password: &str) -> TcpStream {
    let address = platform.about("listen").parse().unwrap();
    let mut stream = connect(from, address).await.unwrap();
    let request = Request::post("/sign-in", &[("username", username), ("password", password)]).kept();
    stream.write_all(&request.bytes()).await.unwrap();
    stream
}

/// Returns the kilobytes that the process uses, or the peak.
fn memory(platform: &Started, which: &str) -> i64 {
    let status = fs::read_to_string(format!("/proc/{}/status", platform.process())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(which)).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[expect(clippy::disallowed_methods, reason = "it measures how long a person waits")]
fn now() -> Instant {
    Instant::now()
}
