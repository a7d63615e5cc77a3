//! What a user sees who connects a device: the page for the code, the consent, and the end.

use serde_json::Value;

use crate::browser::Browser;
use crate::platform::Platform;

/// Asks for a device, and returns the code for its user.
async fn user_code(platform: &Platform) -> String {
    let request = reqwest::Client::new().post(platform.url("/oauth2/device_authorization"));
    let answer: Value = request.form(&[("client_id", "terminal")]).send().await.unwrap().json().await.unwrap();
    answer["user_code"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// 8628-5.4-02: what the user compares is shown, the buttons have one size, and neither is chosen in advance.
#[tokio::test]
#[ignore = "needs chromium, chromedriver and axe-core"]
async fn a_user_connects_a_device_and_refuses_another() {
    let (platform, browser) = (Platform::start("device"), Browser::start("device").await);
    browser.sign_in(&platform, "alice", "alice-likes-tea").await;
    for (decision, title) in [("Allow", "Your device is connected"), ("Deny", "Your device was not connected")] {
        let code = user_code(&platform).await;
        browser.open(&platform.url("/device")).await;
        if decision == "Allow" {
            browser.inspect("device").await;
        }
        browser.fill("Code shown on your device", &code.to_lowercase().replace('-', " ")).await;
        browser.press("Continue").await;
        for words in [&*code, "127.0.0.1", "just now", "Continue only if you started this yourself"] {
            browser.assert_sees(words).await;
        }
        let mut sizes = Vec::new();
        for button in ["Allow", "Deny"] {
            let place = browser.element(&format!("//button[normalize-space()='{button}']")).await.rect().await.unwrap();
            sizes.push((place.width.round(), place.height.round()));
        }
        assert_eq!(sizes[0], sizes[1]);
        let focused = browser.driver.execute("return document.activeElement.tagName;", Vec::new()).await.unwrap();
        assert_eq!(focused.convert::<String>().unwrap(), "BODY");
        if decision == "Allow" {
            browser.inspect("device-consent").await;
            browser.tick("See your verified e-mail address").await;
        }
        browser.press(decision).await;
        assert_eq!(browser.heading().await, title);
    }
}
