//! What is refused before a password is checked.

use crate::{ALICE, DEVON, sign_in, start, start_with};

/// PWD-01
#[tokio::test]
async fn what_is_too_long_is_refused_without_a_check() {
    let platform = start("long-passwords");
    let (long, longest) = ("p".repeat(1025), "p".repeat(1024));
    for (username, password) in [
        (ALICE.0, &*long),
        (ALICE.0, &"p".repeat(1_000_000)),
        (&"a".repeat(256), "wrong"),
        // 256 bytes, though half as many characters.
        (&"ä".repeat(128), "wrong"),
    ] {
        for _ in 0..3 {
            let answer = sign_in(&platform, (username, password)).send().await;
            assert_eq!(answer.status, 400, "{} {}", username.len(), password.len());
        }
    }
    // None of them counted as a guess, and the longest that may be is one.
    let answer = sign_in(&platform, (ALICE.0, &longest)).send().await;
    assert_eq!(answer.status, 200);
    assert!(answer.text().contains("Wrong user name or password"));
    let answer = sign_in(&platform, (&"a".repeat(255), "wrong")).send().await;
    assert_eq!(answer.status, 200);
    assert_eq!(sign_in(&platform, ALICE).send().await.status, 303);
}

/// For all accounts together.
#[tokio::test]
async fn an_address_has_thirty_guesses() {
    let platform = start_with("addresses", &["--throttle"]);
    let known = sign_in(&platform, DEVON).send().await.cookies();
    for number in 0..30 {
        let answer = sign_in(&platform, (&format!("user-{number}"), "wrong")).send().await;
        // One or two more if the thirty take longer than ten seconds, which is no matter here.
        assert_eq!(answer.status, 200, "{number}");
    }
    let mut refused = None;
    for number in 30..60 {
        let answer = sign_in(&platform, (&format!("user-{number}"), "wrong")).send().await;
        if answer.status == 429 {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("an address can guess without limit");
    let seconds: u32 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=10).contains(&seconds), "{seconds}");
    // Neither a browser that is known nor one from elsewhere is held back.
    let answer = sign_in(&platform, DEVON).cookies(&known).send().await;
    assert_eq!(answer.status, 303);
    #[cfg(target_os = "linux")]
    assert_eq!(sign_in(&platform, ALICE).from([127, 0, 0, 2].into()).send().await.status, 303);
}
