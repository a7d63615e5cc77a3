//! A second click on *Allow* while the response to the first is on its way, with and without Stop before it: on the
//! platform, whose application exchanges the code, and on both thin servers.

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::{Value, json};
use support::world::PKCE;
use support_servers::started::{Started, cargo};

use crate::authorization::{ask_for_consent, assert_connected};
use crate::browser::Browser;
use crate::flow::NOWHERE;
use crate::platform::Platform;

/// Milliseconds between the two clicks, and whether Stop is between them.
const CLICKS: [(u32, bool); 4] = [(40, false), (300, false), (40, true), (300, true)];

impl Browser {
    /// Clicks twice on a button whose response takes 600 ms.
    async fn click_twice(&self, (delay, stops): (u32, bool)) {
        self.slow_down(600).await;
        let stop = if stops { "window.stop();" } else { "" };
        let clicks = format!(
            "window.isOld = true;
            const allow = document.getElementById('approve'); allow.click();
            setTimeout(() => {{ {stop} allow.click(); }}, {delay});"
        );
        self.driver.execute(clicks, vec![]).await.unwrap();
    }

    /// Lets every response arrive so many milliseconds later.
    async fn slow_down(&self, latency: u32) {
        self.developer_tools("Network.enable", json!({})).await;
        let throughput =
            json!({"offline": false, "latency": latency, "downloadThroughput": -1, "uploadThroughput": -1});
        self.developer_tools("Network.emulateNetworkConditions", throughput).await;
    }
}

#[tokio::test]
#[ignore = "needs chromium, chromedriver and axe-core"]
async fn a_second_click_connects_the_application_of_the_platform() {
    let (platform, browser) = (Platform::start("twice"), Browser::start("twice").await);
    for (number, clicks) in CLICKS.into_iter().enumerate() {
        if number == 0 {
            ask_for_consent(&browser, &platform).await;
        } else {
            browser.press("Disconnect").await;
            browser.press("Connect to Platform").await;
        }
        browser.click_twice(clicks).await;
        browser.wait_for_page().await;
        browser.slow_down(0).await;
        assert_connected(&browser, &platform).await;
        // The tokens work.
        browser.press("Refresh now").await;
        browser.assert_sees("Platform gave us new tokens.").await;
    }
}

async fn second_clicks_lead_to_one_code(name: &str, program: PathBuf) {
    let (server, browser) = (Started::start(program, &["--redirect-uri", NOWHERE]), Browser::start(name).await);
    let query = [("response_type", "code"), ("client_id", server.about("client_id")), PKCE[0], PKCE[1]];
    let query = query.map(|(name, value)| format!("{name}={value}")).join("&");
    for clicks in CLICKS {
        browser.open(&server.url(&format!("/oauth2/auth?{query}"))).await;
        browser.click_twice(clicks).await;
        let code = browser.code_nowhere().await;
        browser.slow_down(0).await;
        assert!(exchange(&server, &code).await["access_token"].is_string(), "{clicks:?}");
        browser.open("about:blank").await;
    }
}

async fn exchange(server: &Started, code: &str) -> Value {
    let form = HashMap::from([
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", NOWHERE),
        ("code_verifier", support::world::VERIFIER),
    ]);
    let request = reqwest::Client::new().post(server.url("/oauth2/token")).form(&form);
    let request = request.basic_auth(server.about("client_id"), Some(server.about("client_secret")));
    request.send().await.unwrap().json().await.unwrap()
}

#[tokio::test]
#[ignore = "needs chromium, chromedriver and axe-core"]
async fn second_clicks_lead_to_one_code_on_axum() {
    second_clicks_lead_to_one_code("twice-axum", cargo::example("axum")).await;
}

#[tokio::test]
#[ignore = "needs chromium, chromedriver and axe-core"]
async fn second_clicks_lead_to_one_code_on_actix() {
    second_clicks_lead_to_one_code("twice-actix", cargo::example("actix")).await;
}
