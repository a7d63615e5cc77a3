//! What the pages promise besides their flows: what is in sight, what is folded, what works without script.

use serde_json::json;
use thirtyfour::prelude::*;

use crate::authorization::{AUTHORIZED, ask_for_consent, assert_connected};
use crate::browser::{Browser, SCREENS};
use crate::platform::Platform;
use crate::registration::{assert_previews, fill_form};

const ALLOW: &str = "//button[normalize-space()='Allow']";
const DENY: &str = "//button[normalize-space()='Deny']";

#[tokio::test]
#[ignore = "needs chromium, chromedriver and axe-core"]
async fn nothing_chosen_is_no_answer() {
    let (platform, browser) = (Platform::start("nothing"), Browser::start("nothing").await);
    ask_for_consent(&browser, &platform).await;
    for verbs in ["See your profile", "See your verified e-mail", "See basic facts of your", "Read, open and edit"] {
        browser.tick(verbs).await;
    }
    browser.press("Allow").await;
    assert_eq!(browser.heading().await, "Release Notes wants to access your Platform account");
    browser.assert_sees("Nothing is chosen.").await;
    browser.inspect_error("consent-nothing", 422).await;
    // The boxes are as they were left, and the request is still to be answered.
    for scope in browser.driver.find_all(By::Name("scope")).await.unwrap() {
        assert!(!scope.is_selected().await.unwrap());
    }
    for verbs in ["See your profile", "See basic facts of your repositories", "Read, open and edit issues"] {
        browser.tick(verbs).await;
    }
    browser.press("Allow").await;
    assert_connected(&browser, &platform).await;
}

#[tokio::test]
#[ignore = "needs chromium, chromedriver and axe-core"]
async fn the_answers_come_after_everything_that_is_asked() {
    let (platform, browser) = (Platform::start("screen"), Browser::start("screen").await);
    ask_for_consent(&browser, &platform).await;
    assert_answers_come_last(&browser).await;

    // With all 26 scopes the list is longer than any screen.
    browser.open(&platform.url("/")).await;
    browser.press("Sign out").await;
    browser.sign_in(&platform, "devon", "devon-likes-rust").await;
    browser.open(&platform.url("/applications/new")).await;
    fill_form(&browser, "Everything", "https://everything.example/callback").await;
    browser.fill("Description", &"A long description. ".repeat(17)).await;
    let choose = "for (const list of document.querySelectorAll('select')) list.selectedIndex = list.length - 1;";
    browser.driver.execute(choose, vec![]).await.unwrap();
    browser.tick("Only the repositories listed here").await;
    browser.driver.find(By::Id("resources")).await.unwrap().send_keys("alice/diary\nalice/garden").await.unwrap();
    browser.press("Submit for review").await;
    let client = browser.url().await.rsplit('/').next().unwrap().to_owned();
    browser.press("Sign out").await;
    browser.sign_in(&platform, "admin", "ada-likes-order").await;
    browser.open(&platform.url(&format!("/review/{client}"))).await;
    browser.press("Approve").await;
    browser.press("Sign out").await;
    browser.sign_in(&platform, "alice", "alice-likes-tea").await;
    browser.open(&platform.url(&format!("/oauth2/auth?response_type=code&client_id={client}"))).await;
    assert_eq!(browser.driver.find_all(By::Name("scope")).await.unwrap().len(), 26);
    browser.assert_sees_not("cannot be verified").await;
    assert_answers_come_last(&browser).await;
    browser.inspect("consent-everything").await;
}

/// One button stands out, and both are below all rows, on every screen.
async fn assert_answers_come_last(browser: &Browser) {
    let look = "const places = path => [...document.querySelectorAll(path)].map(own => own.getBoundingClientRect());
        const last = Math.max(...places('.row').map(row => row.bottom));
        return places('.answers button').every(button => button.top >= last);";
    for screen in SCREENS {
        browser.turn_to(screen).await;
        assert!(browser.driver.execute(look, vec![]).await.unwrap().convert::<bool>().unwrap(), "{screen:?}");
    }
    browser.turn_to(SCREENS[0]).await;
    let colour = async |path: &str| browser.element(path).await.css_value("background-color").await.unwrap();
    assert_eq!(colour(DENY).await, "rgba(0, 0, 0, 0)");
    assert_ne!(colour(ALLOW).await, "rgba(0, 0, 0, 0)");
}

/// Without script too, since the style sheet hides it.
#[tokio::test]
#[ignore = "needs chromium, chromedriver and axe-core"]
async fn the_registration_shows_only_what_the_answers_need() {
    let (platform, browser) = (Platform::start("steps"), Browser::start("steps").await);
    browser.set_scripts(false).await;
    browser.sign_in(&platform, "devon", "devon-likes-rust").await;
    browser.open(&platform.url("/applications/new")).await;
    let shown = async |id: &str| browser.driver.find(By::Id(id)).await.unwrap().is_displayed().await.unwrap();
    for (answer, expected) in [
        ("client_type-confidential", [true, false, false]),
        ("authentication-key", [true, true, false]),
        ("client_type-public", [false, false, false]),
        ("resource_scope-specified", [false, false, true]),
    ] {
        browser.driver.find(By::Id(answer)).await.unwrap().click().await.unwrap();
        let seen = [shown("authentication-secret").await, shown("jwks").await, shown("resources").await];
        assert_eq!(seen, expected, "{answer}");
    }
}

#[tokio::test]
#[ignore = "needs chromium, chromedriver and axe-core"]
async fn what_is_shown_can_be_copied_where_scripts_run_and_read_where_they_do_not() {
    let (platform, browser) = (Platform::start("copy"), Browser::start("copy").await);
    browser.sign_in(&platform, "devon", "devon-likes-rust").await;
    browser.open(&platform.url(&format!("/applications/{}", platform.client_id()))).await;
    let origin = platform.url("");
    let permissions = json!({ "origin": origin, "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"] });
    browser.developer_tools("Browser.grantPermissions", permissions).await;
    browser.element("//button[normalize-space()='Copy Client ID']").await.click().await.unwrap();
    browser.wait_for_text("Client ID copied.").await;
    let read = "const done = arguments[0]; navigator.clipboard.readText().then(done, error => done(`${error}`));";
    let copied: String = browser.driver.execute_async(read, vec![]).await.unwrap().convert().unwrap();
    assert_eq!(copied, platform.client_id());
    browser.inspect("application-copied").await;

    browser.set_scripts(false).await;
    browser.driver.refresh().await.unwrap();
    assert!(!browser.element("//button[@data-copies='client_id']").await.is_displayed().await.unwrap());
    let field = browser.field("Client ID").await;
    assert_eq!(field.value().await.unwrap().as_deref(), Some(platform.client_id()));
}

#[tokio::test]
#[ignore = "needs chromium, chromedriver and axe-core"]
async fn everything_works_without_script() {
    let (platform, browser) = (Platform::start("no-script"), Browser::start("no-script").await);
    browser.set_scripts(false).await;
    browser.sign_in(&platform, "devon", "devon-likes-rust").await;
    browser.open(&platform.url("/applications/new")).await;
    // Folded parts open, and the sample logo replaces a file.
    let scope = browser.element("//select[@name='scope-mission-manage']").await;
    assert!(!scope.is_displayed().await.unwrap());
    browser.unfold("Mission sets").await;
    browser.choose("mission-manage", "Read-only").await;
    browser.fill("Name", "Without script").await;
    browser.tick("use this sample").await;
    browser.fill("Official website", "https://changelog.example").await;
    browser.fill("Redirect URIs", "https://changelog.example/callback").await;
    browser.tick("All resources of the account").await;
    browser.press("Check and preview").await;
    assert_previews(&browser, &["See your mission sets"]).await;
    // What has something chosen stays open.
    browser.element("//details[@open]/summary[contains(., '1 asked for')]").await;
    browser.press_in("//section[h2[@id='preview']]", "Submit for review").await;
    assert_eq!(browser.heading().await, "Without script");
    browser.press("Sign out").await;

    ask_for_consent(&browser, &platform).await;
    browser.press("Allow").await;
    assert_connected(&browser, &platform).await;
    browser.open(&platform.url(AUTHORIZED)).await;
    browser.press("Revoke access of Release Notes").await;
    browser.assert_sees("No application can use your account").await;
}

#[tokio::test]
#[ignore = "needs chromium, chromedriver and axe-core"]
async fn lists_are_read_on_a_phone_without_scrolling_sideways() {
    let (platform, browser) = (Platform::start("lists"), Browser::start("lists").await);
    browser.sign_in(&platform, "devon", "devon-likes-rust").await;
    browser.open(&platform.url("/applications")).await;
    browser.turn_to(SCREENS[1]).await;
    // Each value is on the screen, with its label before it.
    for label in ["State", "Submitted"] {
        let cell = browser.element(&format!("//td[@data-label='{label}']")).await;
        let place = cell.rect().await.unwrap();
        assert!(place.x >= 0.0 && place.x + place.width <= f64::from(SCREENS[1].1), "{label}: {place:?}");
        let shown = "return getComputedStyle(arguments[0], '::before').content;";
        let shown = browser.driver.execute(shown, vec![cell.to_json().unwrap()]).await.unwrap();
        let shown: String = shown.convert().unwrap();
        assert!(shown.contains(label), "{shown}");
    }
    browser.inspect("applications").await;
}
