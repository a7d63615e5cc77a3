//! Clients in a page of another origin: the TypeScript SDKs for the Model Context Protocol, in a browser.

use std::process::Command;
use std::time::Duration;

use support_servers::judges;
use support_servers::started::{Started, cargo};
use thirtyfour::prelude::*;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

use crate::browser::Browser;

const PATIENCE: Duration = Duration::from_secs(30);

/// CORS-07
#[tokio::test]
#[ignore = "needs chromium, chromedriver, npm and PyPI"]
async fn the_first_typescript_sdk_signs_in_from_another_origin() {
    signs_in("typescript-1").await;
}

/// CORS-07
#[tokio::test]
#[ignore = "needs chromium, chromedriver, npm and PyPI"]
async fn the_second_typescript_sdk_signs_in_from_another_origin() {
    signs_in("typescript-2").await;
}

async fn signs_in(sdk: &str) {
    let server = Started::start(cargo::mcp(), &[]);
    let origin = serve(bundle(sdk)).await;
    let browser = Browser::start(&format!("cross-origin-{sdk}")).await;
    browser.open(&format!("{origin}/?server={}", server.about("resource_url"))).await;
    let allow = wait_for(&browser, "//button[normalize-space()='Allow']").await;
    assert!(browser.url().await.starts_with(server.about("issuer")));
    allow.click().await.unwrap();
    // The consent page has paragraphs too, and may still be there.
    let words = wait_for(&browser, "//html[head/title='Client']//p").await.text().await.unwrap();
    assert!(words.starts_with("called list_notes: "), "{words}");
    assert!(browser.url().await.starts_with(&origin));
}

/// Waits for an element, across page loads.
async fn wait_for(browser: &Browser, path: &str) -> WebElement {
    let came = async {
        loop {
            match browser.driver.find(By::XPath(path)).await {
                Ok(element) => return element,
                Err(_) => sleep(Duration::from_millis(25)).await,
            }
        }
    };
    match timeout(PATIENCE, came).await {
        Ok(element) => element,
        Err(_) => panic!("nothing at {path} at {}:\n{}", browser.url().await, browser.text().await),
    }
}

/// Bundles the client and its SDK into one script.
fn bundle(sdk: &str) -> Vec<u8> {
    let scripts = judges::typescript(sdk);
    let output = Command::new(judges::folder("bundler").join("node_modules/.bin/esbuild"))
        .arg(scripts.join("browser.mjs"))
        .args(["--bundle", "--format=esm", "--platform=browser"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Serves the page on another origin.
async fn serve(script: Vec<u8>) -> String {
    const PAGE: &[u8] =
        b"<!doctype html><title>Client</title><body><script type=\"module\" src=\"/client.js\"></script></body>";
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://localhost:{}", listener.local_addr().unwrap().port());
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 16_384];
            let count = stream.read(&mut request).await.unwrap_or_default();
            let is_script = request[..count].starts_with(b"GET /client.js ");
            let (kind, body) = if is_script { ("text/javascript", &*script) } else { ("text/html", PAGE) };
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            stream.write_all(&[head.as_bytes(), body].concat()).await.ok();
        }
    });
    origin
}
