//! The verifiers: the one in Rust, and those in processes of their own.

use std::fs;
use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;
use support::folder::repository;
use support_servers::judges;
use tokio::process::Command;

use crate::verifiers::rust;

/// What a verifier has to judge, and by which settings.
#[derive(Debug, Serialize)]
pub(crate) struct Job<'a> {
    pub(crate) issuer: &'a str,
    pub(crate) audience: &'a str,
    pub(crate) tokens: Vec<&'a str>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Verifier {
    Jsonwebtoken,
    Jose,
    PyJwt,
    GolangJwt,
}

impl Verifier {
    pub(crate) const ALL: [Self; 4] = [Self::Jsonwebtoken, Self::Jose, Self::PyJwt, Self::GolangJwt];

    /// Its packages with their versions.
    pub(crate) fn version(self) -> String {
        let folder = match self {
            Self::Jsonwebtoken => {
                let lock = fs::read_to_string(repository().join("Cargo.lock")).unwrap();
                let (_, rest) = lock.split_once("name = \"jsonwebtoken\"\nversion = \"").expect("it is locked");
                return format!("jsonwebtoken@{}", rest.split('"').next().unwrap_or_default());
            }
            Self::Jose => "jose",
            Self::PyJwt => "pyjwt",
            Self::GolangJwt => "golang-jwt",
        };
        fs::read_to_string(judges::folder(folder).join("installed")).unwrap().trim().to_owned()
    }

    /// For each token `claims`, or `refused` with a reason.
    pub(crate) async fn verdicts(self, job: &Job<'_>) -> Vec<Value> {
        let mut command = match self {
            Self::Jsonwebtoken => return rust::verdicts(job).await,
            Self::Jose => {
                let mut node = Command::new("node");
                node.arg(judges::copied("jose", &sources(), &["verify.mjs"]).join("verify.mjs"));
                node
            }
            Self::PyJwt => {
                let mut python = Command::new(judges::folder("pyjwt").join("bin/python"));
                // Python must not write compiled files among the sources.
                python.arg("-B").arg(sources().join("verify.py"));
                python
            }
            Self::GolangJwt => Command::new(built_by_go().await),
        };
        let output = command.arg(serde_json::to_string(job).unwrap()).output().await.unwrap();
        assert!(output.status.success(), "{self:?}: {output:?}");
        let lines = str::from_utf8(&output.stdout).unwrap().lines();
        lines.map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{self:?}: {line}"))).collect()
    }
}

/// The program in Go. Go itself sees whether it has been built already.
async fn built_by_go() -> PathBuf {
    let script = judges::copied("golang-jwt", &sources(), &["verify.go"]);
    let program = script.join("verify");
    let go = judges::folder("go").join("bin/go");
    let build = Command::new(go).current_dir(script).args(["build", "-buildvcs=false", "-o", "verify"]).output();
    let output = build.await.unwrap();
    assert!(output.status.success(), "{output:?}");
    program
}

fn sources() -> PathBuf {
    repository().join("tests/system/tests/clients/verifiers")
}
