//! Instructions of an operation, and the memory of a grant, in the release profile.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

const CALLS: u64 = 2000;

/// Measured with callgrind, whose processor has no instructions for SHA-256. A block takes about 3,370; a refresh has
/// eight, an exchange seven. The numbers are those of Rust 1.95 and the versions in `Cargo.lock`.
///
/// The list of the user's grants, which enforces their limit, takes 1,600 of an exchange. The list of the user's
/// requests takes as many of an authorization. There, the derivation of the code takes three blocks, and the digest of
/// the decision one, so that the same answer gets the same code when it is sent again; 48,610 were measured before.
///
/// A number changes by up to 400 with the functions that the compiler inlines. The largest such effect was that tokens
/// were copied byte by byte: see the comments in `PresentedRefresh::parse` and `issue::pair`.
const INSTRUCTIONS: [Limit; 9] = [
    limit("authorize", 70_554),
    limit("exchange", 41_365),
    limit("refresh", 42_920),
    limit("refresh_in_grace", 41_270),
    limit("authenticate", 5_400),
    limit("introspect", 21_390),
    limit("revoke_access", 15_045),
    limit("revoke_refresh", 20_380),
    limit("metadata", 1_075),
];

/// Bytes of heap for each live grant, each of another user, including all indexes of the memory store.
const HEAP: [Limit; 2] = [limit("one_pair", 370).goal(420), limit("with_stale_pair", 498).goal(560)];

/// A measured value may grow by a fifth: readable code is worth that. Heap has a goal of its own, which does not move.
#[derive(Debug)]
struct Limit {
    name: &'static str,
    measured: u64,
    max: u64,
}

const fn limit(name: &'static str, measured: u64) -> Limit {
    Limit { name, measured, max: measured * 12 / 10 }
}

impl Limit {
    const fn goal(self, goal: u64) -> Self {
        let max = if self.max < goal { self.max } else { goal };
        Self { max, ..self }
    }
}

fn assert_within(limits: &[Limit], found: &BTreeMap<String, u64>) {
    for Limit { name, measured, max } in limits {
        println!("{name}: {}, {measured} when the limit of {max} was set", found[*name]);
    }
    let above: Vec<_> = limits.iter().filter(|limit| found[limit.name] > limit.max).collect();
    assert!(above.is_empty(), "above the limit: {above:?}");
}

#[test]
#[ignore = "builds the release profile and runs it under valgrind"]
fn instructions_and_heap_stay_within_their_limits() {
    assert_within(&INSTRUCTIONS, &instructions("flow"));
    let heap = run(Command::new(&*PROGRAM).args(["heap", "100000"]));
    let lines = String::from_utf8(heap.stdout).unwrap();
    let numbers = lines.lines().filter_map(|line| line.split_once(' '));
    assert_within(&HEAP, &numbers.map(|(name, number)| (name.to_owned(), number.parse().unwrap())).collect());
}

/// The request, the digest and its comparison take the same number of instructions. A comparison that ends at the first
/// wrong byte would not, as the control shows.
#[test]
#[ignore = "builds the release profile and runs it under valgrind"]
fn a_wrong_digest_costs_the_same_instructions_wherever_it_is_wrong() {
    /// One step of the shortest comparison that ends early, by words of eight bytes, takes as many.
    const NOTICEABLE: u64 = 3;
    let found = instructions("digest");
    println!("{found:?}");
    let apart = |names: [&str; 2]| found[names[0]].abs_diff(found[names[1]]);
    assert!(found["in_first_byte"] > 3000, "SHA-256 alone takes 3,370");
    assert!(apart(["in_first_byte", "in_last_byte"]) < NOTICEABLE, "{found:?}");
    assert!(apart(["early_in_first_byte", "early_in_last_byte"]) > 31, "{found:?}");
}

/// The program, with the same versions that the crate is tested with.
static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
    let target = root().join("target/operations");
    let package = root().join("tests/limits/operations");
    fs::copy(root().join("Cargo.lock"), package.join("Cargo.lock")).unwrap();
    run(Command::new(env!("CARGO"))
        .args(["build", "--release", "--quiet"])
        .env("CARGO_TARGET_DIR", &target)
        .current_dir(package));
    target.join("release/operations")
});

/// Instructions of each call, by the name of the function.
fn instructions(what: &str) -> BTreeMap<String, u64> {
    let profile = root().join(format!("target/operations/{what}.callgrind"));
    run(Command::new("valgrind")
        .args(["--tool=callgrind", &format!("--callgrind-out-file={}", profile.display())])
        .arg(&*PROGRAM)
        .args([what, &CALLS.to_string()]));
    let annotated = run(Command::new("callgrind_annotate").args(["--inclusive=yes", "--threshold=100"]).arg(&profile));
    of_operations(&String::from_utf8(annotated.stdout).unwrap())
}

/// Lines such as `99,424,000 (13.31%)  …/service.rs:operations::service::Service::exchange [/…/operations]`. A function
/// may have several, by the files that its lines are of; the one that includes the others counts.
fn of_operations(annotated: &str) -> BTreeMap<String, u64> {
    let of_us = ["service.rs:operations::service::Service::", "wrong_digest.rs:operations::wrong_digest::"];
    let lines = annotated.lines().filter(|line| of_us.iter().any(|own| line.contains(own)));
    let of_line = |line: &str| {
        let function = line.split(" [").next()?.trim_end();
        let (_, name) = function.rsplit_once("::")?;
        let number: String = line.split('(').next()?.chars().filter(char::is_ascii_digit).collect();
        Some((name.to_owned(), number.parse::<u64>().ok()? / CALLS))
    };
    let mut max = BTreeMap::new();
    for (name, number) in lines.filter_map(of_line) {
        let known = max.entry(name).or_insert(number);
        *known = number.max(*known);
    }
    max
}

#[track_caller]
fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
