//! A client in its own process, which reads commands and writes results line by line.

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use support_servers::judges;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;
use url::Url;

use crate::open::service::Service;

/// How long a command may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A client that is written in another language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    TypeScript130,
    TypeScript1,
    TypeScript2,
    Python1,
    Python2,
}

impl Language {
    /// Its name in the list of versions.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::TypeScript130 => "typescript-1.30",
            Self::TypeScript1 => "typescript-1",
            Self::TypeScript2 => "typescript-2",
            Self::Python1 => "python-1",
            Self::Python2 => "python-2",
        }
    }

    /// The interpreter with its program.
    fn command(self) -> Command {
        let script = match self {
            Self::TypeScript130 | Self::TypeScript1 | Self::TypeScript2 => {
                let mut command = Command::new("node");
                command.arg(judges::typescript(self.name()).join("typescript.mjs"));
                return command;
            }
            Self::Python1 => "python_1.py",
            Self::Python2 => "python_2.py",
        };
        let mut command = Command::new(judges::folder(self.name()).join("bin/python"));
        // Python must not write compiled files among the sources.
        command.arg("-B").arg(judges::sources().join(script));
        command
    }
}

/// The running client.
pub(crate) struct Process {
    _process: Child,
    commands: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Process {
    pub(crate) fn start(language: Language, job: &Value) -> Self {
        let mut process = language
            .command()
            .arg(job.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", language.name()));
        let commands = process.stdin.take().unwrap();
        let answers = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { _process: process, commands, answers }
    }

    /// Sends a command and waits for its result. The user signs in if the client asks for it.
    pub(crate) async fn ask(&mut self, service: &Service, command: &str) -> Value {
        let asked = async {
            self.say(command).await;
            loop {
                let line = self.answers.next_line().await.unwrap();
                let line = line.unwrap_or_else(|| panic!("the client ended at {command:?}"));
                let answer: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{command:?}: {line}"));
                let Some(link) = answer["authorize"].as_str() else { return answer };
                let callback = service.sign_in(&Url::parse(link).unwrap()).await;
                self.say(callback.as_str()).await;
            }
        };
        timeout(PATIENCE, asked).await.unwrap_or_else(|_| panic!("{command:?} takes too long"))
    }

    async fn say(&mut self, line: &str) {
        self.commands.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        self.commands.flush().await.unwrap();
    }
}
