//! The platform example as its users see it, in headless Chromium, and clients that run in a page.
//!
//! Needs `chromium` and `chromium-driver` of Debian, `npm install --prefix target/axe axe-core@4.14.1`, and
//! `.ci/judges`; run by `RUST_TEST_THREADS=2 cargo test --workspace --all-features --test browser -- --ignored`.
//! Pictures of the pages are left in `target/screenshots`.

mod authorization;
mod browser;
mod cross_origin;
mod devices;
mod flow;
mod pages;
mod platform;
mod registration;
mod second_click;

use crate::browser::Browser;
use crate::platform::Platform;

#[tokio::test]
#[ignore = "needs chromium, chromedriver and axe-core"]
async fn signing_in_and_out() {
    let platform = Platform::start("sign-in");
    let browser = Browser::start("sign-in").await;
    browser.open(&platform.url("/")).await;
    browser.inspect("home").await;
    browser.press("Sign in").await;
    browser.assert_types_into("username").await;
    browser.inspect("sign-in").await;
    browser.fill("User name", "alice").await;
    browser.fill("Password", "wrong").await;
    browser.press_in("//main", "Sign in").await;
    browser.assert_types_into("password").await;
    browser.inspect("sign-in-refused").await;
    browser.fill("Password", "alice-likes-tea").await;
    browser.press_in("//main", "Sign in").await;
    browser.assert_sees("Alice Archer").await;
    browser.inspect("home-signed-in").await;
    browser.open(&platform.url("/sign-in")).await;
    browser.assert_sees("You are signed in as Alice Archer.").await;
    browser.open(&platform.url("/nowhere")).await;
    browser.assert_sees("Alice Archer").await;
    browser.press_in("//nav", "Authorized applications").await;
    browser.open(&platform.url("/applications/nowhere")).await;
    assert_eq!(browser.heading().await, "Nothing here");
    browser.assert_sees("Alice Archer").await;
    browser.inspect_error("not-found", 404).await;
    browser.open(&platform.url("/")).await;
    browser.press("Sign out").await;
    browser.assert_sees_not("Alice Archer").await;
    browser.open(&platform.url("/nowhere")).await;
    browser.press_in("//nav", "Sign in").await;
}
