//! The kit tests exactly what the contracts promise, rule by rule.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The file of each contract, the files or folders with its rules, and the sets that together name all rules that become
/// tests.
const KIT: [(&str, &[&str], &[&str]); 2] = [
    ("client_store.rs", &["client_store.rs"], &["clients"]),
    (
        "record_contract.md",
        &["application_store.rs", "record_store", "replay_store.rs", "whole_store.rs"],
        &["applications", "records", "lists", "replays", "kinds"],
    ),
];

#[test]
fn every_rule_of_a_contract_names_its_tests_and_every_test_its_rule() {
    for (contract, functions, _) in KIT {
        let promised = promised(contract);
        let tested = tested(functions).into_iter().map(|(name, function)| (name, function.rule)).collect();
        assert!(promised.len() >= 4, "too few names were read of {contract}: {promised:?}");
        assert_eq!(promised, tested, "names in {contract}, and functions in {functions:?}");
    }
}

#[test]
fn the_macros_make_a_test_of_every_rule_that_needs_nothing_but_a_store() {
    for (_, functions, lists) in KIT {
        let listed = listed(lists);
        let takes_stores_alone = |(name, function): (String, Function)| (!function.wants_more).then_some(name);
        let runnable: BTreeSet<_> = tested(functions).into_iter().filter_map(takes_stores_alone).collect();
        assert_eq!(listed, runnable, "names in {lists:?}, and functions in {functions:?}");
    }
}

#[test]
fn the_guide_says_of_every_rule_what_it_protects() {
    let guide = source("guide/writing_a_store.md");
    let (_, table) = guide.split_once("## What each rule protects").unwrap();
    let (table, _) = table.split_once("\n## ").unwrap();
    let explained: BTreeSet<_> = table.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    let tested: BTreeSet<_> = KIT.iter().flat_map(|(_, functions, _)| tested(functions).into_keys()).collect();
    assert_eq!(explained, tested);
}

/// Returns the names that each numbered rule of a contract gives, with its number.
fn promised(file: &str) -> BTreeMap<String, u32> {
    let text = source(&format!("store/{file}"));
    let (_, contract) = text.split_once("# Contract").unwrap();
    let (contract, _) = contract.split_once("# ").unwrap();
    let words: Vec<_> = contract.split_whitespace().filter(|word| *word != "///").collect();
    let mut names = BTreeMap::new();
    let mut expected = 1;
    let mut rule = String::new();
    for word in words.into_iter().chain(["end."]) {
        let begins_the_next = word == format!("{expected}.");
        if begins_the_next || word == "end." {
            take_names(&rule, expected - 1, &mut names);
            rule.clear();
            expected += 1;
        }
        rule.push_str(word);
        rule.push(' ');
    }
    names
}

fn take_names(rule: &str, number: u32, names: &mut BTreeMap<String, u32>) {
    if number == 0 || rule.ends_with("No test shows this. ") {
        return;
    }
    let (_, kit) = rule.split_once("Kit: ").unwrap_or_else(|| panic!("rule {number} names no test: {rule}"));
    let named: Vec<_> = kit.split('`').skip(1).step_by(2).collect();
    assert!(!named.is_empty(), "rule {number} names no test: {rule}");
    for name in named {
        assert!(names.insert(name.to_owned(), number).is_none(), "{name} is named twice");
    }
}

struct Function {
    rule: u32,
    /// Whether it needs more than stores: a count of the work done, a function that spoils a record, or a runtime's
    /// timer.
    wants_more: bool,
}

/// Returns the public functions of files, with the rule that the first line of their docs names.
fn tested(files: &[&str]) -> BTreeMap<String, Function> {
    let text: String = files.iter().map(|file| sources(&format!("testing/{file}"))).collect();
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    let mut functions = BTreeMap::new();
    for (place, line) in lines.iter().enumerate() {
        let Some(begin) = line.strip_prefix("pub async fn ") else { continue };
        let end = place + lines[place..].iter().position(|line| line.ends_with('{')).unwrap();
        let signature = lines[place..=end].concat();
        let name = begin.split(['(', '<']).next().unwrap();
        let docs = lines[..place].iter().rev().take_while(|line| line.starts_with("///"));
        let first = docs.last().unwrap_or_else(|| panic!("{name} has no docs"));
        let number = first.strip_prefix("/// Rule ").and_then(|rest| rest.split(':').next());
        let rule = number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{name} names no rule"));
        functions.insert(name.to_owned(), Function { rule, wants_more: signature.contains("impl Fn(") });
    }
    functions
}

/// Returns the names in these sets of the macro. A name is alone on its line, or in brackets on a line.
fn listed(lists: &[&str]) -> BTreeSet<String> {
    let text = source("testing/macros.rs");
    let mut names = Vec::new();
    for list in lists {
        let (_, body) = text.split_once(&format!("    ({list} [")).unwrap();
        let (body, _) = body.split_once("\n    };\n").unwrap();
        let inside = |line: &str| line.trim().trim_start_matches('[').trim_end_matches(']').to_owned();
        let is_name =
            |word: &str| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        let lines = body.lines().map(inside).filter(|line| line.split_whitespace().all(is_name));
        names.extend(lines.flat_map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()));
    }
    let distinct: BTreeSet<_> = names.iter().cloned().collect();
    assert_eq!(names.len(), distinct.len(), "{lists:?} name a rule twice");
    distinct
}

/// Returns the text of a file, or of all files of a folder.
fn sources(path: &str) -> String {
    let Ok(folder) = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(path)) else {
        return source(path);
    };
    folder.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect()
}

fn source(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(path)).unwrap()
}
