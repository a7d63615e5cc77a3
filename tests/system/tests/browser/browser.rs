//! One headless Chromium, driven by what its user sees: labels, buttons, links, texts.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use thirtyfour::prelude::*;
use thirtyfour::{ChromeCapabilities, LoggingPrefsLogLevel};

use support::folder::{repository, scratch};

use crate::platform::Platform;

/// Width and height of the screens that pages are tested on, in CSS pixels.
pub(crate) const SCREENS: [(&str, u32, u32); 2] = [("desktop", 1280, 800), ("phone", 390, 844)];
/// Nothing may be wider than the smallest phone.
const NARROWEST: (&str, u32, u32) = ("smallest", 320, 568);
const SCHEMES: [&str; 2] = ["light", "dark"];

/// How long a page may take, on a machine that has much else to do.
const PATIENCE: Duration = Duration::from_secs(30);

/// As root Chromium needs `--no-sandbox`; the rest keeps it from calling home.
const ARGUMENTS: [&str; 9] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];

pub(crate) struct Browser {
    pub(crate) driver: WebDriver,
    /// Dropped after its session.
    _process: Driver,
}

impl Browser {
    pub(crate) async fn start(name: &str) -> Self {
        let mut process = Driver::start(name);
        let mut capabilities = ChromeCapabilities::new();
        for argument in ARGUMENTS {
            capabilities.add_arg(argument).unwrap();
        }
        capabilities.add_arg(&format!("--user-data-dir={}", process.profile.display())).unwrap();
        capabilities.set_browser_log_level(LoggingPrefsLogLevel::All).unwrap();
        let driver = WebDriver::new(format!("http://127.0.0.1:{}", process.port), capabilities).await.unwrap();
        process.session = Some(driver.session_id().to_string());
        // The driver's process ends the session, which has no time to wait in a test that failed.
        driver.clone().leak().unwrap();
        driver.set_page_load_timeout(PATIENCE).await.unwrap();
        let browser = Self { driver, _process: process };
        browser.on_screen(SCREENS[0], SCHEMES[0]).await;
        browser
    }

    pub(crate) async fn open(&self, url: &str) {
        self.driver.goto(url).await.unwrap();
    }

    pub(crate) async fn url(&self) -> String {
        self.driver.current_url().await.unwrap().to_string()
    }

    /// The page's text as its reader sees it.
    pub(crate) async fn text(&self) -> String {
        self.driver.find(By::Tag("body")).await.unwrap().text().await.unwrap()
    }

    pub(crate) async fn heading(&self) -> String {
        self.driver.find(By::Tag("h1")).await.unwrap().text().await.unwrap()
    }

    pub(crate) async fn assert_sees(&self, words: &str) {
        let text = self.text().await;
        assert!(text.contains(words), "no {words:?} at {} in:\n{text}", self.url().await);
    }

    pub(crate) async fn assert_sees_not(&self, words: &str) {
        let text = self.text().await;
        assert!(!text.contains(words), "{words:?} at {} in:\n{text}", self.url().await);
    }

    /// Waits for words that a script puts into the page.
    pub(crate) async fn wait_for_text(&self, words: &str) {
        let came = async {
            while !self.text().await.contains(words) {
                tokio::time::sleep(Duration::from_millis(25)).await;
            }
        };
        assert!(tokio::time::timeout(PATIENCE, came).await.is_ok(), "no {words:?} in:\n{}", self.text().await);
    }

    /// Clicks the button or link with this text.
    pub(crate) async fn press(&self, text: &str) {
        self.press_in("//body", text).await;
    }

    /// Clicks the button or link with this text in that part of the page.
    pub(crate) async fn press_in(&self, part: &str, text: &str) {
        let path = format!("{part}//*[self::button or self::a][normalize-space()={}]", quoted(text));
        self.follow(self.element(&path).await).await;
    }

    /// Clicks what leads to another page, and waits for that page.
    pub(crate) async fn follow(&self, element: WebElement) {
        self.driver.execute("window.isOld = true;", vec![]).await.unwrap();
        element.click().await.unwrap();
        self.wait_for_page().await;
    }

    /// Waits until the page that was marked as old has given way to one that is complete.
    pub(crate) async fn wait_for_page(&self) {
        let look = "return !window.isOld && document.readyState == 'complete';";
        let came = async {
            // Between two pages there is nothing to ask.
            while !self.driver.execute(look, vec![]).await.is_ok_and(|answer| answer.convert().unwrap_or(false)) {
                tokio::time::sleep(Duration::from_millis(25)).await;
            }
        };
        if tokio::time::timeout(PATIENCE, came).await.is_ok() {
            return;
        }
        panic!("no other page came after {}:\n{}", self.url().await, self.text().await);
    }

    /// Writes into the field with this label, in the place of what is there.
    pub(crate) async fn fill(&self, label: &str, text: &str) {
        let field = self.field(label).await;
        field.clear().await.unwrap();
        field.send_keys(text).await.unwrap();
    }

    /// Chooses the file in the field with this label.
    pub(crate) async fn choose_file(&self, label: &str, file: &Path) {
        self.field(label).await.send_keys(file.to_str().unwrap()).await.unwrap();
    }

    /// Clicks the box or the choice with this label.
    pub(crate) async fn tick(&self, label: &str) {
        self.field(label).await.click().await.unwrap();
    }

    /// Chooses an option of the list with this label.
    pub(crate) async fn choose(&self, label: &str, option: &str) {
        let list = self.field(label).await;
        let path = format!(".//option[normalize-space()={}]", quoted(option));
        list.find(By::XPath(path)).await.unwrap().click().await.unwrap();
    }

    /// Opens a part of the page that is folded, by its heading.
    pub(crate) async fn unfold(&self, heading: &str) {
        let summary = self.element(&format!("//details[not(@open)]/summary[contains(., {})]", quoted(heading))).await;
        summary.click().await.unwrap();
    }

    /// Begins a session from the start page.
    pub(crate) async fn sign_in(&self, platform: &Platform, name: &str, password: &str) {
        self.open(&platform.url("/sign-in")).await;
        self.enter_credentials(name, password).await;
    }

    /// Fills the sign-in page, wherever it leads.
    pub(crate) async fn enter_credentials(&self, name: &str, password: &str) {
        self.fill("User name", name).await;
        self.fill("Password", password).await;
        self.press_in("//main", "Sign in").await;
    }

    /// Returns the field that the label belongs to; a label may say more than the words looked for.
    pub(crate) async fn field(&self, label: &str) -> WebElement {
        let label = self.element(&format!("//label[contains(normalize-space(), {})]", quoted(label))).await;
        match label.attr("for").await.unwrap() {
            Some(id) => self.driver.find(By::Id(id)).await.unwrap(),
            None => label.find(By::XPath(".//input | .//select | .//textarea")).await.unwrap(),
        }
    }

    /// Asserts that what is typed next goes into that field.
    pub(crate) async fn assert_types_into(&self, id: &str) {
        let focused = self.driver.active_element().await.unwrap();
        assert_eq!(focused.id().await.unwrap().as_deref(), Some(id), "at {}", self.url().await);
    }

    pub(crate) async fn element(&self, path: &str) -> WebElement {
        match self.driver.find(By::XPath(path)).await {
            Ok(element) => element,
            Err(_) => panic!("nothing at {path} at {}:\n{}", self.url().await, self.text().await),
        }
    }

    pub(crate) async fn cookie_names(&self) -> Vec<String> {
        self.driver.get_all_cookies().await.unwrap().into_iter().map(|cookie| cookie.name).collect()
    }

    /// Checks the page as a reviewer would: nothing in the console, nothing that axe finds serious, nothing wider than
    /// a phone. Takes a picture on every screen in both schemes.
    pub(crate) async fn inspect(&self, name: &str) {
        self.assert_console_is_silent(&[]).await;
        self.look(name).await;
    }

    /// The same for a page of an error, whose status the console reports.
    pub(crate) async fn inspect_error(&self, name: &str, status: u16) {
        self.assert_console_is_silent(&[&format!("status of {status} ")]).await;
        self.look(name).await;
    }

    async fn look(&self, name: &str) {
        let folder = target().join("screenshots");
        std::fs::create_dir_all(&folder).unwrap();
        self.add_axe().await;
        for screen in SCREENS {
            for scheme in SCHEMES {
                self.on_screen(screen, scheme).await;
                self.assert_accessible(name, scheme).await;
                self.assert_fits(name, screen.1).await;
                let picture = self.picture(screen.1).await;
                std::fs::write(folder.join(format!("{name}-{}-{scheme}.png", screen.0)), picture).unwrap();
            }
        }
        for scheme in SCHEMES {
            self.on_screen(NARROWEST, scheme).await;
            self.assert_accessible(name, scheme).await;
            self.assert_fits(name, NARROWEST.1).await;
        }
        self.on_screen(SCREENS[0], SCHEMES[0]).await;
    }

    /// Switches to another screen.
    pub(crate) async fn turn_to(&self, screen: (&str, u32, u32)) {
        self.on_screen(screen, SCHEMES[0]).await;
    }

    /// Allows or forbids the scripts of pages; those of the test still run.
    pub(crate) async fn set_scripts(&self, are_allowed: bool) {
        self.developer_tools("Emulation.setScriptExecutionDisabled", json!({ "value": !are_allowed })).await;
    }

    pub(crate) async fn assert_console_is_silent(&self, allowed: &[&str]) {
        let entries = self.driver.browser_log().await.unwrap();
        let loud = |entry: &&thirtyfour::BrowserLogEntry| !allowed.iter().any(|words| entry.message.contains(words));
        let entries: Vec<_> = entries.iter().filter(loud).map(|entry| &entry.message).collect();
        assert!(entries.is_empty(), "in the console at {}: {entries:#?}", self.url().await);
    }

    /// Adds axe to the page, which keeps it on every screen.
    async fn add_axe(&self) {
        let axe = std::fs::read_to_string(target().join("axe/node_modules/axe-core/axe.min.js"))
            .expect("axe-core is installed: npm install --prefix target/axe axe-core@4.14.1");
        self.driver.execute(axe, vec![]).await.unwrap();
    }

    async fn assert_accessible(&self, name: &str, scheme: &str) {
        // Of other result types, axe examines only one element. The rule of WCAG 2.2 is off by default.
        let run = "const done = arguments[arguments.length - 1];
            const rules = { 'target-size': { enabled: true } };
            axe.run({ resultTypes: ['violations'], rules }).then(result => done(result.violations));";
        let violations: Vec<Value> = self.driver.execute_async(run, vec![]).await.unwrap().convert().unwrap();
        let serious: Vec<_> = violations
            .iter()
            .filter(|found| found["impact"] == "serious" || found["impact"] == "critical")
            .map(|found| json!({ "id": found["id"], "help": found["help"], "nodes": found["nodes"] }))
            .collect();
        assert!(serious.is_empty(), "{name}, {scheme}: {serious:#?}");
        for minor in
            violations.iter().filter(|found| !["serious", "critical"].contains(&found["impact"].as_str().unwrap()))
        {
            println!("{name}, {scheme}: {} ({})", minor["help"], minor["impact"]);
        }
    }

    async fn assert_fits(&self, name: &str, width: u32) {
        // What scrolls by itself counts as well.
        let look = "return Math.max(...[document.documentElement, ...document.querySelectorAll('.scroll')]
            .map(element => element.scrollWidth + element.getBoundingClientRect().left));";
        let measured: f64 = self.driver.execute(look, vec![]).await.unwrap().convert().unwrap();
        assert!(measured <= f64::from(width), "{name} is {measured} pixels wide on a screen of {width}");
    }

    async fn on_screen(&self, (_, width, height): (&str, u32, u32), scheme: &str) {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.developer_tools("Emulation.setDeviceMetricsOverride", metrics).await;
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.developer_tools("Emulation.setEmulatedMedia", media).await;
    }

    /// The whole page, not only what the screen shows of it.
    pub(crate) async fn picture(&self, width: u32) -> Vec<u8> {
        let height = self.driver.execute("return document.documentElement.scrollHeight;", vec![]).await.unwrap();
        let height: u32 = height.convert().unwrap();
        let clip = json!({ "x": 0, "y": 0, "width": width, "height": height, "scale": 1 });
        let parameters = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let shot = self.developer_tools("Page.captureScreenshot", parameters).await;
        base64::Engine::decode(&base64::engine::general_purpose::STANDARD, shot["data"].as_str().unwrap()).unwrap()
    }

    pub(crate) async fn developer_tools(&self, command: &str, parameters: Value) -> Value {
        self.driver.cdp().send_raw(command, parameters).await.unwrap()
    }
}

/// One chromedriver, and the browser that it started.
struct Driver {
    process: Child,
    port: u16,
    session: Option<String>,
    profile: PathBuf,
}

impl Driver {
    /// A chromedriver listens on one port of IPv4 and of IPv6: it takes a free one of the one, and ends if another
    /// process has that one of the other. So a driver that names no port is followed by the next.
    fn start(name: &str) -> Self {
        let profile = scratch().join(format!("{name}-{}", std::process::id()));
        let attempt = |_| {
            let process = Command::new("chromedriver").arg("--port=0").stdout(Stdio::piped()).spawn();
            let process = process.expect("chromedriver is there: Debian's package chromium-driver");
            let mut driver = Self { process, port: 0, session: None, profile: profile.clone() };
            let mut lines = BufReader::new(driver.process.stdout.take().unwrap()).lines().map(Result::unwrap);
            let line = lines.find(|line| line.contains("started successfully on port"))?;
            driver.port = line.rsplit(' ').next().unwrap().trim_end_matches('.').parse().unwrap();
            std::thread::spawn(move || lines.for_each(drop));
            Some(driver)
        };
        (0..5).find_map(attempt).expect("one of five chromedrivers names its port")
    }

    /// Ends the session and with it the browser, which would outlive a chromedriver that is killed.
    fn end_session(&self) -> std::io::Result<()> {
        let Some(session) = &self.session else { return Ok(()) };
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        write!(stream, "DELETE /session/{session} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")?;
        // The driver answers once the session has ended, and keeps the connection open.
        BufReader::new(stream).read_line(&mut String::new()).map(drop)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.end_session();
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}

pub(crate) fn target() -> PathBuf {
    repository().join("target")
}

/// A text in an XPath, which knows no escapes.
fn quoted(text: &str) -> String {
    assert!(!text.contains('\''), "{text}");
    format!("'{text}'")
}
