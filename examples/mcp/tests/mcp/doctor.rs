//! What `--doctor` prints.

use std::process::Command;

use support::folder::Folder;

/// The lines that the program prints with these options. It stops by itself.
fn lines(options: &[&str]) -> Vec<String> {
    let folder = Folder::new("mcp");
    let own = ["--doctor", "--database", folder.file().to_str().unwrap()].map(str::to_owned);
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp"));
    let output = command.args(own).args(options).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// HOST-DOC-01
///
/// Whether the documents can be fetched depends on where the test runs.
#[test]
#[ignore = "asks the servers of the hosts"]
fn host_doc_01_the_doctor_prints_what_settings_and_documents_break() {
    let is_about_a_document = |line: &str| line.contains(", registration.metadata_documents: https://");
    let of_settings = |options: &[&str]| -> Vec<String> {
        lines(options).into_iter().filter(|line| !is_about_a_document(line)).collect()
    };
    let found = of_settings(&["--issuer", "https://auth.example"]);
    assert!(found.iter().all(|line| line == "No known problem."), "{found:#?}");
    let recorded = "(recorded 2026-03 to 2026-10), issuer:";
    let expected = [
        format!("Claude Code {recorded} the issuer has a path"),
        format!("Codex {recorded} the issuer https://auth.example/tenant/ ends in a slash"),
    ];
    let found = of_settings(&["--issuer", "https://auth.example/tenant/"]);
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    assert!(found.iter().zip(expected).all(|(line, start)| line.starts_with(&start)), "{found:#?}");
    let found = of_settings(&[]);
    assert!(found.iter().any(|line| line.starts_with(&format!("ChatGPT {recorded} it runs elsewhere"))), "{found:#?}");
}
