//! From the form of a developer to the decision of an administrator.

use std::path::PathBuf;

use support::keys::Signer;

use crate::authorization::{ask_for_consent, assert_connected};
use crate::browser::Browser;
use crate::platform::Platform;

/// Fills the form of an application that asks for five scopes.
pub(crate) async fn fill_form(browser: &Browser, name: &str, redirect_uri: &str) {
    browser.fill("Name", name).await;
    browser.choose_file("Logo", &logo()).await;
    browser.fill("Description", "Drafts release notes from issues.").await;
    browser.fill("Official website", "https://changelog.example").await;
    browser.fill("Redirect URIs", redirect_uri).await;
    browser.unfold("Repositories").await;
    browser.unfold("Account").await;
    browser.choose("account-profile", "Read-only").await;
    browser.choose("account-email", "Read-only").await;
    browser.choose("repo-code", "Read and write").await;
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

/// Asserts that the consent page in the frame says this, and has its style and its logos.
pub(crate) async fn assert_previews(browser: &Browser, words: &[&str]) {
    browser.driver.enter_frame(0).await.unwrap();
    for words in words {
        browser.assert_sees(words).await;
    }
    let sound = "return [...document.images].every(image => image.naturalWidth > 0)
        && getComputedStyle(document.querySelector('.answers')).display == 'grid';";
    let is_sound: bool = browser.driver.execute(sound, vec![]).await.unwrap().convert().unwrap();
    assert!(is_sound, "the frame has no style or no logo");
    browser.driver.enter_default_frame().await.unwrap();
}

pub(crate) fn logo() -> PathBuf {
    support::folder::repository().join("examples/platform/assets/release_notes.png")
}

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
    browser.assert_sees("2 things must be corrected").await;
    browser.inspect_error("application-problems", 422).await;

    browser.fill("Name", "Changelog").await;
    browser.fill("Official website", "https://changelog.example").await;
    browser.press("Check and preview").await;
    browser.assert_sees("The form is correct").await;
    assert_previews(&browser, &["Drafts release notes from issues.", "Read, open and edit issues"]).await;
    browser.inspect("application-preview").await;

    browser.press_in("//section[h2[@id='preview']]", "Submit for review").await;
    assert_eq!(browser.heading().await, "Changelog");
    browser.inspect("application-pending").await;
}

#[tokio::test]
#[ignore = "needs chromium, chromedriver and axe-core"]
async fn from_the_registration_to_a_connected_user_and_to_the_disconnection() {
    let (platform, browser) = (Platform::start("registration"), Browser::start("registration").await);
    register(&browser, &platform, "Changelog", &platform.third_party("/callback")).await;
    browser.press("Sign out").await;

    browser.sign_in(&platform, "admin", "ada-likes-order").await;
    browser.press("Review").await;
    browser.inspect("review-list").await;
    browser.press("Changelog").await;
    browser.assert_sees("Drafts release notes from issues.").await;
    browser.inspect("review").await;
    browser.tick("repo-code").await;
    browser.press("Approve").await;
    browser.assert_sees("The developer can use it now, and makes its secret.").await;
    browser.inspect("review-in-force").await;
    browser.press("Sign out").await;

    browser.sign_in(&platform, "devon", "devon-likes-rust").await;
    browser.press("My applications").await;
    browser.press("Changelog").await;
    browser.inspect("application-approved").await;
    browser.press("Make the client secret").await;
    assert_eq!(browser.heading().await, "The secret of Changelog");
    browser.inspect("application-secret").await;
    let copy = browser.element("//button[normalize-space()='Copy Client secret']").await;
    assert!(copy.is_displayed().await.unwrap(), "it can be copied");
    let client_id = browser.field("Client ID").await.value().await.unwrap().unwrap();
    let client_secret = browser.field("Client secret").await.value().await.unwrap().unwrap();
    browser.press("Done: go to the application").await;
    browser.assert_sees_not(&client_secret).await;
    assert!(!browser.driver.source().await.unwrap().contains(&client_secret), "a secret is shown once");
    browser.press("Sign out").await;

    browser.open(&platform.third_party("/settings")).await;
    browser.inspect("third-party-settings").await;
    browser.fill("Client id", &client_id).await;
    browser.fill("Client secret", &client_secret).await;
    browser.press("Save").await;
    ask_for_consent(&browser, &platform).await;
    assert_eq!(browser.heading().await, "Changelog wants to access your Platform account");
    browser.assert_sees_not("Code").await;
    browser.press("Allow").await;
    assert_connected(&browser, &platform).await;
    browser.press("Disconnect").await;
    browser.assert_sees("Disconnected.").await;
}

/// 7591-2-20
#[tokio::test]
#[ignore = "needs chromium, chromedriver and axe-core"]
async fn a_developer_registers_a_public_key_and_replaces_it() {
    let (platform, browser) = (Platform::start("public-key"), Browser::start("public-key").await);
    let (old, new) = (Signer::es256(), Signer::ed25519());
    browser.sign_in(&platform, "devon", "devon-likes-rust").await;
    browser.press("My applications").await;
    browser.press("Register an application").await;
    fill_form(&browser, "Changelog", "https://changelog.example/callback").await;
    browser.tick("With its own private key").await;
    browser.press("Check and preview").await;
    browser.assert_sees("Paste the public key, or give its address.").await;
    browser.inspect_error("application-without-key", 422).await;
    browser.fill("Public keys", &old.key_set()).await;
    browser.press("Submit for review").await;
    assert_eq!(browser.heading().await, "Changelog");
    browser.press("Sign out").await;

    browser.sign_in(&platform, "admin", "ada-likes-order").await;
    browser.press("Review").await;
    browser.press("Changelog").await;
    browser.assert_sees("With its key. The public one:").await;
    browser.inspect("review-of-keys").await;
    browser.press("Approve").await;
    browser.assert_sees("it authenticates with its key").await;
    browser.press("Sign out").await;

    browser.sign_in(&platform, "devon", "devon-likes-rust").await;
    browser.press("My applications").await;
    browser.press("Changelog").await;
    browser.assert_sees("It has no secret.").await;
    browser.inspect("application-with-keys").await;
    browser.fill("Public keys", "no keys").await;
    browser.press("Save the keys").await;
    browser.assert_sees("This is not a JWK Set.").await;
    browser.inspect_error("keys-refused", 422).await;
    browser.fill("Public keys", &new.key_set()).await;
    browser.press("Save the keys").await;
    browser.assert_sees("Saved: these keys are in use now.").await;
}

#[tokio::test]
#[ignore = "needs chromium, chromedriver and axe-core"]
async fn a_developer_reads_why_an_application_was_rejected_and_sends_it_again() {
    let (platform, browser) = (Platform::start("rejection"), Browser::start("rejection").await);
    register(&browser, &platform, "Changelog", "https://changelog.example/callback").await;
    browser.press("Sign out").await;
    browser.sign_in(&platform, "admin", "ada-likes-order").await;
    browser.press("Review").await;
    browser.press("Changelog").await;
    browser.fill("Reason", "Why does it have to write code?").await;
    browser.press("Reject").await;
    browser.press("Sign out").await;

    browser.sign_in(&platform, "devon", "devon-likes-rust").await;
    browser.press("My applications").await;
    browser.press("Changelog").await;
    browser.assert_sees("Why does it have to write code?").await;
    browser.inspect("application-rejected").await;
    browser.press("Change this application").await;
    browser.choose("repo-code", "Not needed").await;
    browser.press("Submit for review").await;
    browser.assert_sees("Awaiting review").await;
}

#[tokio::test]
#[ignore = "needs chromium, chromedriver and axe-core"]
async fn an_administrator_sees_both_sides_of_a_change_and_who_else_has_the_name() {
    let (platform, browser) = (Platform::start("change"), Browser::start("change").await);
    // Another developer, since developers get no warning about their own names.
    browser.sign_in(&platform, "alice", "alice-likes-tea").await;
    browser.press("My applications").await;
    browser.press("Register an application").await;
    fill_form(&browser, "release notes", "https://changelog.example/callback").await;
    browser.press("Submit for review").await;
    browser.press("Sign out").await;
    browser.sign_in(&platform, "devon", "devon-likes-rust").await;
    browser.press("My applications").await;
    browser.press("Release Notes").await;
    browser.press("Change this application").await;
    browser.fill("Description", "Writes release notes.").await;
    browser.press("Submit for review").await;
    browser.press("Sign out").await;

    browser.sign_in(&platform, "admin", "ada-likes-order").await;
    browser.press("Review").await;
    browser.press("release notes").await;
    browser.assert_sees("Applications of other developers have names that look like this one").await;
    browser.inspect("review-namesake").await;
    browser.press("Release Notes").await;
    browser.assert_sees("Drafts the notes of your next release").await;
    browser.assert_sees("Writes release notes.").await;
    browser.inspect("review-change").await;

    browser.press("Sign out").await;

    browser.sign_in(&platform, "devon", "devon-likes-rust").await;
    browser.press("My applications").await;
    browser.press("Release Notes").await;
    browser.press("Make a new secret").await;
    browser.press("Done: go to the application").await;
    browser.tick("The application uses the new one").await;
    browser.press("Retire the previous secret").await;
    browser.assert_sees("Only the newest secret works now.").await;
}
