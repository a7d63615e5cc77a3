//! The clients, all controlled by the same commands.

use serde_json::Value;

use crate::open::process::{Language, Process};
use crate::open::rust::Rmcp;
use crate::open::service::Service;

/// Which client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Process(Language),
    Rust,
}

impl Kind {
    pub(crate) const TYPESCRIPT_1: Self = Self::Process(Language::TypeScript1);
    pub(crate) const TYPESCRIPT_2: Self = Self::Process(Language::TypeScript2);
    pub(crate) const PYTHON_1: Self = Self::Process(Language::Python1);
    pub(crate) const PYTHON_2: Self = Self::Process(Language::Python2);

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Process(language) => language.name(),
            Self::Rust => "rust",
        }
    }
}

pub(crate) enum Client {
    Process(Process),
    Rust(Rmcp),
}

impl Client {
    pub(crate) fn start(kind: Kind, job: Value) -> Self {
        match kind {
            Kind::Process(language) => Self::Process(Process::start(language, &job)),
            Kind::Rust => Self::Rust(Rmcp::start(job)),
        }
    }

    /// Sends a command (`connect`; `call` with a tool; or `try`, which never asks the user) and waits for its result.
    pub(crate) async fn ask(&mut self, service: &Service, command: &str) -> Value {
        match self {
            Self::Process(process) => process.ask(service, command).await,
            Self::Rust(rmcp) => rmcp.ask(service, command).await,
        }
    }
}
