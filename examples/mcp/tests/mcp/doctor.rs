//! What `--doctor` prints.

use std::process::Command;

use support::folder::Folder;

/// The lines that the program prints with these options. It stops by itself.
fn lines(options: &[&str]) -> Vec<String> {
    let folder = Folder::new("mcp");
    let own = ["--doctor", "--listen", "127.0.0.1:0", "--database", folder.file().to_str().unwrap()].map(str::to_owned);
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp"));
    let output = command.args(own).args(options).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// HOST-DOC-01
#[test]
fn host_doc_01_the_example_serves_every_known_host() {
    // Whether the documents can be fetched depends on where the test runs.
    for line in lines(&[]) {
        let is_fetched = line.contains(", registration.metadata_documents: https://");
        assert!(is_fetched || line == "Every known host can connect.", "{line}");
    }
}

/// HOST-DOC-01
#[test]
fn host_doc_01_what_an_option_breaks_is_printed() {
    let lines = lines(&["--issuer", "https://auth.example/tenant/"]);
    for expected in [
        "Claude Code (recorded 2026-10), issuer: the issuer has a path",
        "Codex (recorded 2026-10), issuer: the issuer https://auth.example/tenant/ ends in a slash",
    ] {
        assert!(lines.iter().any(|line| line.starts_with(expected)), "no {expected:?} in {lines:#?}");
    }
}
