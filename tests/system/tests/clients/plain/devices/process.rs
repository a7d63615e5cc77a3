//! A client in its own process, which writes results line by line.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use support::folder::repository;
use support_servers::judges;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use tokio::sync::OnceCell;
use tokio::time::timeout;

use super::{Kind, SCOPE, Service, table};

/// How long a course may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// A client that is written in another language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Library {
    OpenidClient,
    Authlib,
    /// `golang.org/x/oauth2`, which is told how to authenticate.
    Golang,
    /// The same as it is by default: it tries the header first and the form then.
    GolangByDefault,
    /// The library of GitHub's command line. It has no refresh.
    GithubCli,
}

/// What a client does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Course {
    pub(super) kind: Kind,
    /// The seconds between two polls, in place of those that the server says.
    pub(super) interval: Option<u32>,
    /// The answer to a poll after which the user decides; `None` for before the first poll.
    pub(super) after: Option<&'static str>,
    /// What the user presses.
    pub(super) button: &'static str,
}

/// What was seen.
#[derive(Debug)]
pub(super) struct Seen {
    /// The errors that polls were answered with.
    pub(super) errors: Vec<String>,
    pub(super) result: Value,
}

impl Library {
    pub(super) fn version(self) -> String {
        let (folder, package) = match self {
            Self::OpenidClient => ("signed", "openid-client"),
            Self::Authlib => ("authlib", "authlib"),
            Self::Golang | Self::GolangByDefault => (GO, "golang.org/x/oauth2"),
            Self::GithubCli => (GO, "github.com/cli/oauth/device"),
        };
        table::installed(folder, package)
    }

    async fn command(self) -> Command {
        match self {
            Self::OpenidClient => {
                let mut node = Command::new("node");
                node.arg(judges::copied("signed", &sources(), &["device.mjs"]).join("device.mjs"));
                node
            }
            Self::Authlib => {
                let mut python = Command::new(judges::folder("authlib").join("bin/python"));
                // Python must not write compiled files among the sources.
                python.arg("-B").arg(sources().join("device.py"));
                python
            }
            Self::Golang | Self::GolangByDefault | Self::GithubCli => {
                let mut go = Command::new(built_by_go().await);
                go.arg(match self {
                    Self::GithubCli => "cli",
                    Self::GolangByDefault => "default",
                    _ => "params",
                });
                go
            }
        }
    }

    /// Runs the client to its end; the user decides in between.
    pub(super) async fn run(self, service: &Service, course: Course) -> Seen {
        let run = timeout(PATIENCE, self.play(service, course)).await;
        run.unwrap_or_else(|_| panic!("{self:?}, {course:?} takes too long"))
    }

    async fn play(self, service: &Service, course: Course) -> Seen {
        let (client_id, client_secret) = service.credentials(course.kind);
        let job = json!({
            "issuer": service.application.issuer,
            "device_authorization_endpoint": service.endpoint("device_authorization_endpoint"),
            "token_endpoint": service.endpoint("token_endpoint"),
            "resource_url": service.application.resource_url,
            "client_id": client_id,
            "client_secret": client_secret.unwrap_or_default(),
            "scope": SCOPE,
            "interval": course.interval.unwrap_or_default(),
        });
        let mut command = self.command().await;
        let command = command.arg(job.to_string()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn().unwrap_or_else(|error| panic!("{self:?}: {error}"));
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let (mut asked, mut errors, mut is_decided) = (Value::Null, Vec::new(), false);
        while let Some(line) = lines.next_line().await.unwrap() {
            let mut said: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{self:?}: {line}"));
            if said["result"].is_object() {
                return Seen { errors, result: said["result"].take() };
            }
            match said["error"].as_str() {
                Some(error) => errors.push(error.to_owned()),
                None => asked = said,
            }
            if !is_decided && errors.last().map(String::as_str) == course.after {
                let text = |name| asked[name].as_str().unwrap_or_else(|| panic!("{self:?}: {asked}"));
                service.decide(text("verification_uri"), text("user_code"), course.button).await;
                is_decided = true;
            }
        }
        panic!("{self:?} ended after {errors:?}");
    }
}

/// The program in Go, built once.
async fn built_by_go() -> PathBuf {
    static BUILT: OnceCell<PathBuf> = OnceCell::const_new();
    let built = BUILT.get_or_init(|| async {
        let folder = judges::copied(GO, &sources(), &["device.go"]);
        let go = judges::folder("go").join("bin/go");
        let build = Command::new(go).current_dir(&folder).args(["build", "-buildvcs=false", "-o", "device"]).output();
        let output = build.await.unwrap();
        assert!(output.status.success(), "{output:?}");
        folder.join("device")
    });
    built.await.clone()
}

fn sources() -> PathBuf {
    repository().join("tests/system/tests/clients/plain/devices")
}

const GO: &str = "golang-oauth2";
