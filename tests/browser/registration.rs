//! From the form of a developer to the decision of an administrator.

use std::path::PathBuf;

use crate::browser::{Browser, target};
use crate::platform::Platform;

/// Fills the form of an application that asks for three scopes.
pub(crate) async fn fill_form(browser: &Browser, name: &str, redirect_uri: &str) {
    browser.fill("Name", name).await;
    browser.choose_file("Logo", &logo()).await;
    browser.fill("Description", "Drafts release notes from issues.").await;
    browser.fill("Official website", "https://changelog.example").await;
    browser.fill("Redirect URIs", redirect_uri).await;
    browser.choose("account-profile", "Read-only").await;
    browser.choose("repo-basic-info", "Read-only").await;
    browser.choose("repo-issue", "Read and write").await;
    browser.tick("All resources of the account").await;
}

/// Registers an application as Devon, from the start page on.
pub(crate) async fn register(browser: &Browser, platform: &Platform, name: &str, redirect_uri: &str) {
    browser.sign_in(platform, "devon", "devon-likes-rust").await;
    browser.press("My applications").await;
    browser.press("Register an application").await;
    fill_form(browser, name, redirect_uri).await;
    browser.press("Submit for review").await;
}

/// A picture of 64 by 64 pixels that Chromium itself draws nothing of.
pub(crate) fn logo() -> PathBuf {
    let path = target().join("browser/logo.png");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, LOGO).unwrap();
    path
}

const LOGO: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\nIDATx\
\x9cc\0\x01\0\0\x05\0\x01\r\n-\xb4\0\0\0\0IEND\xaeB`\x82";

#[tokio::test]
#[ignore = "needs chromium, chromedriver and axe-core"]
async fn a_developer_is_told_what_is_wrong_and_sees_a_preview() {
    let (platform, browser) = (Platform::start("preview"), Browser::start("preview").await);
    browser.sign_in(&platform, "devon", "devon-likes-rust").await;
    browser.press("My applications").await;
    browser.inspect("applications-empty").await;
    browser.press("Register an application").await;
    browser.inspect("application-form").await;

    fill_form(&browser, &"n".repeat(51), "https://changelog.example/callback").await;
    browser.fill("Official website", "no address").await;
    browser.press("Check and preview").await;
    browser.assert_sees("2 things have to be corrected").await;
    browser.inspect_error("application-problems", 422).await;

    browser.fill("Name", "Changelog").await;
    browser.fill("Official website", "https://changelog.example").await;
    browser.press("Check and preview").await;
    browser.assert_sees("Nothing is wrong with it").await;
    browser.assert_sees("Drafts release notes from issues.").await;
    browser.element("//img[@alt='The logo']").await;
    browser.inspect("application-preview").await;

    browser.press("Submit for review").await;
    assert_eq!(browser.heading().await, "Changelog");
    browser.inspect("application-pending").await;
    browser.close().await;
}
