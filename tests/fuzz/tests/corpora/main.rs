//! The fuzz targets on their corpora, and on a few thousand inputs that are made from them.
//!
//! Every run makes the same inputs. `GRANTOR_CASES=100000` makes that many for each target. The package in `libfuzzer`
//! makes inputs with a coverage-guided fuzzer.

mod mutation;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

use fuzz::{TARGETS, Target};
use mutation::Mutation;

/// Inputs that are made for each target.
const CASES: usize = 300;
/// Bytes of all corpora together.
const LIMIT: usize = 200_000;

/// With `WRITE_CORPORA` set, the inputs that a server makes are written instead of compared.
#[test]
fn the_corpora_have_what_a_server_makes() {
    for (target, name, input) in fuzz::made() {
        let path = root().join(target).join(&name);
        if env::var_os("WRITE_CORPORA").is_some() {
            fs::write(&path, &input).unwrap();
        }
        assert!(fs::read(&path).unwrap() == input, "{} is not what a server makes", path.display());
    }
}

#[test]
fn every_target_can_be_fuzzed() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("libfuzzer");
    let manifest = fs::read_to_string(package.join("Cargo.toml")).unwrap();
    for Target { name, .. } in TARGETS {
        let text = fs::read_to_string(package.join(format!("targets/{name}.rs"))).unwrap();
        assert!(text.contains(&format!("check({name:?}")) && manifest.contains(&format!("name = {name:?}")), "{name}");
    }
}

#[test]
fn every_seed_keeps_the_rules_and_reaches_its_code() {
    for target in TARGETS {
        let outcomes: BTreeSet<_> = corpus(target).iter().map(|(name, input)| run(target, name, input)).collect();
        let missed: Vec<_> = target.reaches.iter().filter(|outcome| !outcomes.contains(**outcome)).collect();
        assert!(missed.is_empty(), "{} reaches {outcomes:#?}, not {missed:?}", target.name);
    }
}

#[test]
fn inputs_made_of_those_of_a_corpus_keep_the_rules() {
    let cases = env::var("GRANTOR_CASES").map_or(CASES, |cases| cases.parse().unwrap());
    for target in TARGETS {
        let corpus: Vec<_> = corpus(target).into_iter().map(|(_, input)| input).collect();
        let mut mutation = Mutation::of(&corpus);
        for case in 0..cases {
            run(target, &format!("case {case}"), &mutation.input());
        }
    }
}

#[test]
fn the_corpora_are_small_and_each_belongs_to_a_target() {
    let folders = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let folders: BTreeSet<_> = folders.collect();
    assert_eq!(folders, TARGETS.iter().map(|target| target.name.to_owned()).collect());
    let bytes: usize = TARGETS.iter().flat_map(corpus).map(|(_, input)| input.len()).sum();
    assert!(bytes <= LIMIT, "{bytes}");
}

/// Runs one input, and names it if it fails.
fn run(target: &Target, name: &str, input: &[u8]) -> String {
    let outcome = std::panic::catch_unwind(|| (target.check)(input));
    outcome.unwrap_or_else(|_| panic!("{}, {name}: {}", target.name, input.escape_ascii()))
}

/// The inputs of a target, in the order of their names.
fn corpus(target: &Target) -> Vec<(String, Vec<u8>)> {
    let files = fs::read_dir(root().join(target.name)).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.collect();
    files.sort();
    let name = |file: &PathBuf| file.file_name().unwrap().to_string_lossy().into_owned();
    files.iter().map(|file| (name(file), fs::read(file).unwrap())).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}
