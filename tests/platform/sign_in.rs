//! What is refused before a password is checked.

use reqwest::StatusCode;
use reqwest::header::{COOKIE, RETRY_AFTER};

use crate::started::Example;
use crate::{ALICE, DEVON, cookies, sign_in};

/// PWD-01
#[tokio::test]
async fn what_is_too_long_is_refused_without_a_check() {
    let platform = Example::platform("long-passwords");
    let (long, longest) = ("p".repeat(1025), "p".repeat(1024));
    for (username, password) in [
        (ALICE.0, &*long),
        (ALICE.0, &"p".repeat(1_000_000)),
        (&"a".repeat(256), "wrong"),
        // 256 bytes, though half as many characters.
        (&"ä".repeat(128), "wrong"),
    ] {
        for _ in 0..3 {
            let answer = sign_in(&platform, (username, password)).send().await.unwrap();
            assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{} {}", username.len(), password.len());
        }
    }
    // None of them counted as a guess, and the longest that may be is one.
    let answer = sign_in(&platform, (ALICE.0, &longest)).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    assert!(answer.text().await.unwrap().contains("do not belong together"));
    let answer = sign_in(&platform, (&"a".repeat(255), "wrong")).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(sign_in(&platform, ALICE).send().await.unwrap().status(), StatusCode::SEE_OTHER);
}

/// Whatever accounts it tries.
#[tokio::test]
async fn an_address_has_thirty_guesses() {
    let platform = Example::platform_with("addresses", &["--throttle"]);
    let known = cookies(&sign_in(&platform, DEVON).send().await.unwrap());
    for number in 0..30 {
        let answer = sign_in(&platform, (&format!("user-{number}"), "wrong")).send().await.unwrap();
        // One or two more if the thirty take longer than ten seconds, which is no matter here.
        assert_eq!(answer.status(), StatusCode::OK, "{number}");
    }
    let mut refused = None;
    for number in 30..60 {
        let answer = sign_in(&platform, (&format!("user-{number}"), "wrong")).send().await.unwrap();
        if answer.status() == StatusCode::TOO_MANY_REQUESTS {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("an address can guess without end");
    let seconds: u32 = refused.headers()[RETRY_AFTER].to_str().unwrap().parse().unwrap();
    assert!((1..=10).contains(&seconds), "{seconds}");
    // Neither a browser that is known nor one from elsewhere is held back.
    let answer = sign_in(&platform, DEVON).header(COOKIE, &known).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::SEE_OTHER);
    #[cfg(target_os = "linux")]
    assert_eq!(sign_in_from(&platform, [127, 0, 0, 2].into()).await.status(), StatusCode::SEE_OTHER);
}

#[cfg(target_os = "linux")]
async fn sign_in_from(platform: &Example, address: std::net::IpAddr) -> reqwest::Response {
    let client =
        reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).local_address(address).build().unwrap();
    let url = format!("http://{}/sign-in", platform.about("listen"));
    let form = [("username", ALICE.0), ("password", ALICE.1)];
    client.post(url).header("Host", "localhost").form(&form).send().await.unwrap()
}
