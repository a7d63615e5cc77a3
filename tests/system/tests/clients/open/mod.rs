//! Third-party clients and tools against the example server `mcp`: the SDKs of the Model Context Protocol in
//! TypeScript, Python and Rust, its conformance tool, and a linter.
//!
//! Needs `.ci/judges`; run by `cargo test --workspace --all-features --test clients open:: -- --ignored`. The results
//! are written to `target/judges/table.md`.

mod client;
mod course;
mod document;
mod errors;
mod forms;
mod head;
mod process;
mod recorded;
mod relay;
mod rust;
mod service;
mod table;
mod tools;

use crate::open::client::Kind;
use crate::open::course::{Case, Way};

/// The revisions that begin with `initialize`.
const HANDSHAKES: [&str; 3] = ["2025-03-26", "2025-06-18", "2025-11-25"];
const ALL: [&str; 4] = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
/// Methods of client authentication [RFC 7591 section 2].
const METHODS: [&str; 3] = ["none", "client_secret_basic", "client_secret_post"];

/// MCP-0326-01, MCP-0326-02, RC-TS-01, RC-TS-04, RC-TS-05, RC-TS-07, 7591-3.2.1-03, 8414-3.2-03
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs npm and PyPI"]
async fn the_first_typescript_sdk_goes_the_whole_way() {
    over_revisions(Kind::TYPESCRIPT_1, &HANDSHAKES).await;
    over_methods(Kind::TYPESCRIPT_1, &METHODS, &METHODS).await;
}

/// MCP-0326-01, MCP-0326-02, MCP-0728-02, RC-TS-01, RC-TS-04, RC-TS-05, RC-TS-07, 7591-3.2.1-03, 8414-3.2-03
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs npm and PyPI"]
async fn the_second_typescript_sdk_goes_the_whole_way() {
    over_revisions(Kind::TYPESCRIPT_2, &ALL).await;
    over_methods(Kind::TYPESCRIPT_2, &METHODS, &METHODS).await;
}

/// MCP-0326-01, MCP-0326-02, RC-PY-01, RC-PY-02, 7591-3.2.1-03, 8414-3.2-03
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs npm and PyPI"]
async fn the_first_python_sdk_goes_the_whole_way() {
    over_revisions(Kind::PYTHON_1, &HANDSHAKES).await;
    over_methods(Kind::PYTHON_1, &METHODS, &METHODS).await;
}

/// MCP-0326-01, MCP-0326-02, MCP-0728-02, RC-PY-01, RC-PY-02, 7591-3.2.1-03, 8414-3.2-03
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs npm and PyPI"]
async fn the_second_python_sdk_goes_the_whole_way() {
    over_revisions(Kind::PYTHON_2, &ALL).await;
    over_methods(Kind::PYTHON_2, &METHODS, &METHODS).await;
}

/// MCP-0326-01, MCP-0326-02, MCP-0728-02, RC-RS-01, RC-RS-02, 7591-3.2.1-03, 8414-3.2-03
/// The SDK always registers as a public client.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs npm and PyPI"]
async fn the_rust_sdk_goes_the_whole_way() {
    over_revisions(Kind::Rust, &ALL).await;
    over_methods(Kind::Rust, &[], &["none", "client_secret_basic"]).await;
}

/// MCP-1125-03, RC-CL-01
/// Documents like those that assistants publish. To a server of revision 2025-03-26, clients send no `resource`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs npm and PyPI"]
async fn clients_with_a_document_register_nothing() {
    for kind in [Kind::TYPESCRIPT_1, Kind::TYPESCRIPT_2, Kind::PYTHON_1, Kind::PYTHON_2, Kind::Rust] {
        Case::new(kind, "2025-11-25", Way::Document(None)).run().await;
        Case::new(kind, "2025-03-26", Way::Document(Some("native"))).run().await;
    }
    for kind in [Kind::TYPESCRIPT_2, Kind::PYTHON_2, Kind::Rust] {
        Case::new(kind, "2026-07-28", Way::Document(None)).run().await;
    }
}

/// The whole scenario under each revision, for a client that registers itself and names no method.
async fn over_revisions(kind: Kind, revisions: &[&'static str]) {
    for revision in revisions {
        Case::new(kind, revision, Way::Dynamic(None)).run().await;
    }
}

/// The whole scenario with each method, for clients that register themselves and for preregistered clients.
async fn over_methods(kind: Kind, dynamic: &[&'static str], beforehand: &[&'static str]) {
    for method in dynamic {
        Case::new(kind, "2025-11-25", Way::Dynamic(Some(method))).run().await;
    }
    for method in beforehand {
        Case::new(kind, "2025-11-25", Way::Beforehand(method)).run().await;
    }
}
