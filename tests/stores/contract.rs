//! The contracts, the guide and the kit name the same rules.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::broken_stores;

#[test]
fn contracts_guide_and_kit_name_the_same_rules() {
    let kit: String = files(&source("testing")).iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    let tested = numbered(&kit);
    let run = broken_stores::rules().into_iter().map(|rule| rule.name.to_owned());
    let directories = numbered(&fs::read_to_string(source("testing/client_store.rs")).unwrap()).into_keys();
    let run: BTreeSet<_> = run.chain(directories).collect();
    assert_eq!(tested.keys().cloned().collect::<BTreeSet<_>>(), run, "functions, and rules that are run");

    let read = |file: &str| fs::read_to_string(source(file)).unwrap();
    let mut promised = promised_by(&read("store/contract.md"));
    for (name, numbers) in promised_by(&read("store/record_store.rs")) {
        promised.entry(name).or_default().extend(numbers);
    }
    assert_eq!(promised, tested, "names in the contracts, and functions, each with the numbers of its rules");

    let guide = read("guide/writing_a_store.md");
    let (_, table) = guide.split_once("## What each rule protects").unwrap();
    let (table, _) = table.split_once("\n## ").unwrap();
    assert_eq!(in_backticks(table), tested.into_keys().collect(), "names in the guide, and functions");
}

/// Returns the public functions of the kit, with the number of the rule in the first line of their docs.
fn numbered(kit: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut functions: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    let mut number = "";
    for line in kit.lines() {
        if let Some((rule, _)) = line.strip_prefix("/// Rule ").and_then(|rule| rule.split_once(':')) {
            number = rule;
        } else if let Some(function) = line.strip_prefix("pub async fn ") {
            let name = function.split(['(', '<']).next().unwrap();
            functions.entry(name.to_owned()).or_default().insert(std::mem::take(&mut number).to_owned());
        }
    }
    functions
}

/// Returns the names that the numbered rules of a contract give after "Kit:", with the numbers.
fn promised_by(contract: &str) -> BTreeMap<String, BTreeSet<String>> {
    let (_, rules) = contract.rsplit_once("# Contract").unwrap();
    let (rules, _) = rules.split_once("# Atomicity").unwrap();
    let rules: Vec<_> = rules.lines().map(|line| line.trim_start_matches("///").trim_start()).collect();
    let mut names: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    let begins = |line: &str| line.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
    for rule in rules.chunk_by(|_, next| !begins(next)).map(|lines| lines.join("\n")).skip(1) {
        let (number, text) = rule.split_once(". ").unwrap();
        let kit = text.split_once("Kit: ").map(|(_, kit)| in_backticks(kit)).unwrap_or_default();
        assert!(!kit.is_empty() || text.contains("No test shows this."), "rule {number} names no test");
        for name in kit {
            names.entry(name).or_default().insert(number.to_owned());
        }
    }
    names
}

fn in_backticks(text: &str) -> BTreeSet<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Returns the files of a folder and of those in it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let inside = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    inside.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn source(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(path)
}
