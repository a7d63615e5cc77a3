//! The guide "Getting started" is one program: its steps are the lines of an example, and it shows what that prints.

use std::process::Command;

use support_servers::started::cargo;

const GUIDE: &str = include_str!("../../../../../src/guide/getting_started.md");
const PROGRAM: &str = include_str!("../../../../../examples/getting_started.rs");

/// The code blocks of the guide that begin with this word, in their order and without blanks around the lines.
fn blocks(word: &str) -> Vec<&'static str> {
    let mut lines = Vec::new();
    let mut open = None;
    for line in GUIDE.lines() {
        match (open, line.strip_prefix("```")) {
            (None, Some(begun)) => open = Some(begun == word),
            (Some(_), Some(_)) => open = None,
            (Some(true), None) => lines.push(line.trim()),
            (Some(false) | None, None) => {}
        }
    }
    lines.into_iter().filter(|line| !line.is_empty()).collect()
}

/// What a reader copies, from the first step to the last, is the whole program.
#[test]
fn the_steps_are_one_program() {
    let about = |line: &&str| line.starts_with("//!");
    let program: Vec<_> = PROGRAM.lines().skip_while(about).map(str::trim).filter(|line| !line.is_empty()).collect();
    let steps = blocks("rust");
    assert!(program.len() > 100, "{} lines were read", program.len());
    assert!(blocks("").is_empty(), "a block without a language is Rust too, and is no step");
    for (step, line) in steps.iter().zip(&program) {
        assert_eq!(step, line);
    }
    assert_eq!(steps.len(), program.len());
}

/// It runs to its end, and its assertions hold.
#[test]
fn the_program_prints_what_the_guide_shows() {
    let output = Command::new(cargo::example("getting_started")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).unwrap();
    let printed: Vec<_> = printed.lines().map(str::trim).collect();
    assert_eq!(printed, blocks("text"));
}
