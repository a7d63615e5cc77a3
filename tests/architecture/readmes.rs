//! The READMEs: their samples are the examples, and their links lead to files.

use std::path::Path;

use grantor::store::Table;

use crate::{read, root};

const READMES: [&str; 7] = [
    "README.md",
    ".github/SECURITY.md",
    "examples/actix/README.md",
    "examples/axum/README.md",
    "examples/fetch/README.md",
    "examples/mcp/README.md",
    "examples/pages/README.md",
];

/// What a newcomer reads first fits on one screen, and is what runs.
#[test]
fn the_first_sample_of_a_readme_is_the_quick_start() {
    for (readme, fence, example) in [
        ("README.md", "rust,ignore", "examples/axum/examples/quickstart.rs"),
        ("examples/axum/README.md", "rust,no_run", "examples/axum/examples/quickstart.rs"),
        ("examples/actix/README.md", "rust,no_run", "examples/actix/examples/quickstart.rs"),
    ] {
        let (text, program) = (read(readme), read(example));
        let (_, block) = text.split_once("```rust").expect(readme);
        assert_eq!(format!("rust{}", block.split_once("```").unwrap().0), format!("{fence}\n{program}"), "{readme}");
        let lines = program.lines().filter(|line| !line.trim().is_empty()).count();
        assert!(lines <= 62, "{example} has {lines} lines");
        assert!(program.contains("Config::strict("), "{example}");
    }
}

/// The package's README is compiled; this one cannot be, since the crate does not depend on its adapter.
#[test]
fn every_sample_of_the_readme_is_one_of_axums() {
    let (readme, axum) = (read("README.md"), read("examples/axum/README.md"));
    let samples: Vec<_> = readme.split("```rust,ignore\n").skip(1).map(|rest| rest.split("```").next()).collect();
    assert!(samples.len() > 1);
    for sample in samples {
        assert!(axum.contains(sample.unwrap()), "not in axum's README: {sample:?}");
    }
}

/// The block of the guide is not compiled, since the crate does not depend on its adapter.
#[test]
fn the_guide_to_mcp_shows_the_program_that_runs() {
    let (guide, program) = (read("src/guide/mcp.md"), read("examples/mcp/examples/minimal.rs"));
    let (_, block) = guide.split_once("```rust\n").unwrap();
    assert_eq!(block.split_once("```").unwrap().0, program);
    let lines = program.lines().filter(|line| !line.trim().is_empty()).count();
    assert!(lines <= 150, "{lines} lines");
}

#[test]
fn the_guide_to_postgresql_lists_every_table() {
    let guide = read("src/guide/your_postgresql.md");
    for table in Table::ALL {
        assert!(guide.contains(&format!("`{}`", table.as_str())), "{table:?}");
    }
}

/// In the README for those who read the files, and in the documentation of the crate.
#[test]
fn every_guide_is_in_readme_and_documentation() {
    let (readme, modules) = (read("README.md"), read("src/guide/mod.rs"));
    let (_, listed) = readme.split_once("## Where to read on").unwrap();
    let (listed, _) = listed.split_once("\n## ").unwrap();
    let mut guides = 0;
    for file in std::fs::read_dir(root().join("src/guide")).unwrap() {
        let file = file.unwrap().file_name().into_string().unwrap();
        let Some(name) = file.strip_suffix(".md") else { continue };
        assert!(listed.contains(&format!("](src/guide/{file})")), "{file} is not in README.md");
        assert!(modules.contains(&format!("include_str!(\"{file}\")")), "{file} is not in src/guide/mod.rs");
        assert!(modules.contains(&format!("pub mod {name} {{}}")), "{file} has no module");
        guides += 1;
    }
    assert!(guides > 20, "{guides}");
}

/// In a clone and on a code host.
#[test]
fn every_relative_link_of_a_readme_leads_to_a_file() {
    let mut followed = 0;
    for readme in READMES {
        let text = read(readme);
        let folder = root().join(readme).parent().map(Path::to_owned).unwrap();
        let inline = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link);
        let listed = text.lines().filter_map(|line| line.strip_prefix('[')?.split_once("]: ").map(|(_, link)| link));
        let shown = text.split("src=\"").skip(1).filter_map(|rest| rest.split('"').next());
        for link in inline.chain(listed).chain(shown).filter(|link| !link.contains("://") && !link.starts_with('#')) {
            let file = link.split('#').next().unwrap();
            assert!(folder.join(file).exists(), "{readme}: {link}");
            followed += 1;
        }
    }
    assert!(followed > 10, "{followed}");
}
