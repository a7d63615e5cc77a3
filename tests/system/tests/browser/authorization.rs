//! What a user sees: connecting an application, and revoking its access.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;

use thirtyfour::prelude::*;

use crate::browser::Browser;
use crate::platform::Platform;

/// The list of authorized applications.
pub(crate) const AUTHORIZED: &str = "/oauth2/auth/applications";
const ALICE: (&str, &str) = ("alice", "alice-likes-tea");

/// From the third-party application to the consent page of the platform, signing in on the way.
pub(crate) async fn ask_for_consent(browser: &Browser, platform: &Platform) {
    browser.open(&platform.third_party("/")).await;
    browser.press("Connect to Platform").await;
    assert!(browser.url().await.starts_with(&platform.url("/sign-in")), "{}", browser.url().await);
    browser.assert_sees("would like to use your account. Sign in to see what it asks for.").await;
    browser.enter_credentials(ALICE.0, ALICE.1).await;
    assert!(browser.heading().await.ends_with(" wants to access your Platform account"));
}

pub(crate) async fn assert_connected(browser: &Browser, platform: &Platform) {
    assert_eq!(browser.url().await, platform.third_party("/account"));
    browser.assert_sees("Alice Archer").await;
}

#[tokio::test]
#[ignore = "needs chromium, chromedriver and axe-core"]
async fn a_user_connects_an_application_uses_it_and_disconnects_it() {
    let (platform, browser) = (Platform::start("connect"), Browser::start("connect").await);
    browser.open(&platform.third_party("/")).await;
    browser.inspect("third-party-home").await;
    ask_for_consent(&browser, &platform).await;
    for words in ["Release Notes", "Alice Archer", "alice@platform.example", "127.0.0.1", "Read, open and edit issues"]
    {
        browser.assert_sees(words).await;
    }
    browser.assert_sees("Drafts the notes of your next release from the issues of your repositories.").await;
    browser.assert_sees("all your resources, including private ones and those you add later.").await;
    browser.assert_sees("Published by Devon Developer").await;
    browser.assert_sees("The program on your device cannot be verified.").await;
    browser.inspect("consent").await;
    browser.tick("See your verified e-mail address").await;
    browser.press("Allow").await;

    assert_connected(&browser, &platform).await;
    // What was not chosen is refused, in words.
    browser.assert_sees_not("alice@platform.example").await;
    browser.assert_sees("Tomatoes need more sun").await;
    browser.assert_sees("alice/diary").await;
    browser.inspect("third-party-account").await;
    assert_eq!(browser.cookie_names().await, ["release_notes_session"]);

    browser.press("Refresh now").await;
    browser.assert_sees("Platform gave us new tokens.").await;
    browser.press("Call with the old access token").await;
    browser.assert_sees("ago: Platform answered 200").await;
    browser.inspect("third-party-refreshed").await;
    browser.fill("New issue in alice/garden", "Ask the neighbours about slugs").await;
    browser.press_in("//article[.//h3='alice/garden']", "Open an issue").await;
    browser.assert_sees("Opened an issue in alice/garden.").await;
    browser.assert_sees("Ask the neighbours about slugs").await;

    browser.open(&platform.url(AUTHORIZED)).await;
    browser.assert_sees("Release Notes").await;
    browser.assert_sees("Access last renewed just now").await;
    browser.inspect("authorized").await;
    browser.open(&platform.third_party("/account")).await;
    browser.press("Disconnect").await;
    browser.assert_sees("Disconnected.").await;
    browser.open(&platform.url(AUTHORIZED)).await;
    browser.assert_sees("No application can use your account").await;
    browser.inspect("authorized-none").await;
}

#[tokio::test]
#[ignore = "needs chromium, chromedriver and axe-core"]
async fn a_user_who_declines_is_sent_back_and_nothing_is_granted() {
    let (platform, browser) = (Platform::start("decline"), Browser::start("decline").await);
    ask_for_consent(&browser, &platform).await;
    browser.press("Deny").await;
    assert!(browser.url().await.starts_with(&platform.third_party("/")), "{}", browser.url().await);
    browser.assert_sees("You declined").await;
    browser.inspect("third-party-declined").await;
    browser.open(&platform.url(AUTHORIZED)).await;
    browser.assert_sees("No application can use your account").await;
}

#[tokio::test]
#[ignore = "needs chromium, chromedriver and axe-core"]
async fn a_session_that_ends_before_the_answer_leads_through_sign_in_back_to_the_question() {
    let (platform, browser) = (Platform::start("expired"), Browser::start("expired").await);
    ask_for_consent(&browser, &platform).await;
    browser.driver.delete_cookie("platform_session").await.unwrap();
    browser.press("Allow").await;
    assert_eq!(browser.heading().await, "Sign in");
    browser.assert_sees("Nothing is allowed yet.").await;
    browser.inspect("sign-in-again").await;
    browser.enter_credentials(ALICE.0, ALICE.1).await;
    assert_eq!(browser.heading().await, "Release Notes wants to access your Platform account");
    browser.assert_console_is_silent(&[]).await;
    browser.press("Allow").await;
    assert_connected(&browser, &platform).await;
}

#[tokio::test]
#[ignore = "needs chromium, chromedriver and axe-core"]
async fn the_way_back_after_allowing_spends_nothing_twice() {
    let (platform, browser) = (Platform::start("back"), Browser::start("back").await);
    ask_for_consent(&browser, &platform).await;
    browser.press("Allow").await;
    assert_connected(&browser, &platform).await;

    browser.driver.back().await.unwrap();
    assert_eq!(browser.heading().await, "Release Notes wants to access your Platform account");
    browser.press("Allow").await;
    assert_eq!(browser.heading().await, "You have already answered this request");
    browser.inspect_error("already-answered", 400).await;

    // The connection still works: no code was made a second time, let alone used.
    browser.open(&platform.third_party("/account")).await;
    assert_connected(&browser, &platform).await;
}

#[tokio::test]
#[ignore = "needs chromium, chromedriver and axe-core"]
async fn what_a_user_revokes_at_the_platform_ends_at_the_application() {
    let (platform, browser) = (Platform::start("revoke"), Browser::start("revoke").await);
    ask_for_consent(&browser, &platform).await;
    browser.press("Allow").await;
    assert_connected(&browser, &platform).await;
    browser.open(&platform.url(AUTHORIZED)).await;
    browser.press("Revoke access of Release Notes").await;
    browser.assert_sees("The access was revoked.").await;
    browser.assert_sees("No application can use your account").await;
    browser.inspect("authorized-revoked").await;
    browser.open(&platform.third_party("/account")).await;
    browser.assert_sees("Platform no longer accepts our connection.").await;
    browser.inspect("third-party-over").await;
}

#[tokio::test]
#[ignore = "needs chromium, chromedriver and axe-core"]
async fn the_keyboard_is_enough_to_allow() {
    let (platform, browser) = (Platform::start("keyboard"), Browser::start("keyboard").await);
    ask_for_consent(&browser, &platform).await;
    for _ in 0..40 {
        browser.driver.active_element().await.unwrap().send_keys(Key::Tab).await.unwrap();
        let focused = browser.driver.active_element().await.unwrap();
        assert_eq!(focused.css_value("outline-style").await.unwrap(), "solid", "{:?}", focused.text().await);
        if focused.text().await.unwrap() == "Allow" {
            browser.driver.execute("window.isOld = true;", vec![]).await.unwrap();
            focused.send_keys(Key::Enter).await.unwrap();
            browser.wait_for_page().await;
            assert_connected(&browser, &platform).await;
            return;
        }
    }
    panic!("the Tab key does not lead to Allow");
}

/// A client whose callback sends the browser on to another host; ends with the test's process.
fn redirecting_client() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().map(Result::unwrap) {
            let mut request = String::new();
            BufReader::new(&stream).read_line(&mut request).unwrap();
            let answer = if request.starts_with("GET /callback?") {
                format!("302 Found\r\nLocation: http://localhost:{port}/done\r\nContent-Length: 0")
            } else {
                "200 OK\r\nContent-Type: text/html\r\nContent-Length: 16".to_owned()
            };
            write!(&stream, "HTTP/1.1 {answer}\r\nConnection: close\r\n\r\n<h1>arrived</h1>").unwrap();
        }
    });
    port
}

#[tokio::test]
#[ignore = "needs chromium, chromedriver and axe-core"]
async fn a_client_may_send_the_browser_on_from_its_callback() {
    let (platform, browser) = (Platform::start("chain"), Browser::start("chain").await);
    let (client, port) = (platform.client_id(), redirecting_client());
    let query = format!("client_id={client}&redirect_uri=http%3A%2F%2F127.0.0.1%3A{port}%2Fcallback");
    browser.open(&platform.url(&format!("/oauth2/auth?response_type=code&scope=account-profile%3Ar&{query}"))).await;
    browser.enter_credentials(ALICE.0, ALICE.1).await;
    browser.press("Allow").await;
    assert_eq!(browser.url().await, format!("http://localhost:{port}/done"));

    // The same from the sign-in, where the client gets an error for its request.
    browser.open(&platform.url("/")).await;
    browser.press("Sign out").await;
    browser.open(&platform.url(&format!("/oauth2/auth?response_type=code&scope=unknown&{query}"))).await;
    browser.enter_credentials(ALICE.0, ALICE.1).await;
    assert_eq!(browser.url().await, format!("http://localhost:{port}/done"));
}

/// The platform is in development, so that the page has the cause too.
#[tokio::test]
#[ignore = "needs chromium, chromedriver and axe-core"]
async fn a_wrong_link_shows_a_page_with_the_cause_for_developers() {
    let (platform, browser) = (Platform::start("wrong-link"), Browser::start("wrong-link").await);
    let client = platform.client_id();
    for (name, query, cause) in [
        ("link-unknown-client", "response_type=code&client_id=nobody".to_owned(), "the client is unknown"),
        (
            "link-foreign-redirect",
            format!("response_type=code&client_id={client}&redirect_uri=https%3A%2F%2Fevil.example%2Fcallback"),
            "Registered: ",
        ),
    ] {
        browser.open(&platform.url(&format!("/oauth2/auth?{query}"))).await;
        assert_eq!(browser.heading().await, "This link does not work");
        browser.assert_sees(cause).await;
        browser.inspect_error(name, 400).await;
    }
}
