//! The table of contents: the documentation names the entries of `src` and no others.

use std::collections::BTreeSet;
use std::fs;

use crate::layers::{BESIDE, LAYERS};
use crate::{read, source};

/// `ls src` is read by people who look for a place; more entries than this are no table of contents.
const MAX_ENTRIES: usize = 25;

#[test]
fn the_documentation_names_every_entry_of_src_from_the_top_down() {
    let (entries, layers) = (entries(), LAYERS.into_iter().chain(BESIDE).map(str::to_owned).collect::<Vec<_>>());
    assert!(entries.len() <= MAX_ENTRIES, "{entries:?}");
    assert_eq!(layers.iter().cloned().collect::<BTreeSet<_>>(), entries);
    let crate_docs = read("src/lib.rs").replace("//! ", "").replace("//!", "");
    for (file, named) in [
        ("src/lib.rs", in_block(&crate_docs)),
        ("README.md", in_block(&read("README.md"))),
        ("src/guide/contributing.md", in_table(&read("src/guide/contributing.md"))),
    ] {
        assert_eq!(named, layers, "{file} and the layers differ");
    }
}

/// Sources and guides are read side by side. A row of a table has no line breaks, a command is copied as it stands, and
/// an element of HTML in Markdown ends with its line.
#[test]
fn no_line_has_more_than_120_characters() {
    const WIDTH: usize = 120;
    let sources = ["src", "tests"].into_iter().flat_map(|folder| source::files_below(&crate::root().join(folder)));
    let guides = fs::read_dir(crate::root().join("src/guide")).unwrap().map(|entry| entry.unwrap().path());
    let guides = guides.chain(["README.md", "CHANGELOG.md"].map(|name| crate::root().join(name)));
    let guides = guides.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let mut wide = Vec::new();
    for path in sources.chain(guides) {
        let is_guide = path.extension().is_some_and(|extension| extension == "md");
        let mut in_code = false;
        for (place, line) in fs::read_to_string(&path).unwrap().lines().enumerate() {
            let prose = line.trim_start().trim_start_matches("//!").trim_start_matches("///").trim_start();
            let is_exempt = prose.starts_with('|') && (is_guide || prose.len() < line.len());
            in_code ^= is_guide && prose.starts_with("```");
            if line.chars().count() > WIDTH && !is_exempt && !(is_guide && (in_code || prose.starts_with('<'))) {
                wide.push(format!("{}:{}", path.display(), place + 1));
            }
        }
    }
    assert!(wide.is_empty(), "more than {WIDTH} characters: {wide:#?}");
}

/// A reader copies it from the place that is read first.
#[test]
fn the_purge_is_the_same_in_adapters_and_guide() {
    let [axum, actix, operating] = ["examples/axum/src/lib.rs", "examples/actix/src/lib.rs", "src/guide/operating.md"]
        .map(|file| {
            let text = read(file);
            let (_, purge) = text.split_once("async fn purge(").expect(file);
            purge.split_once("\n}\n").expect(file).0.to_owned()
        });
    assert!(axum.contains("is_finished()"), "a purge that is not finished goes on at once: {axum}");
    assert_eq!([&actix, &operating], [&axum; 2]);
}

/// Without `lib.rs`, whose documentation is one of the places compared.
fn entries() -> BTreeSet<String> {
    let names = fs::read_dir(crate::root().join("src")).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.to_str().unwrap().trim_end_matches(".rs").to_owned());
    names.filter(|name| name != "lib").collect()
}

/// The first word of each line of the block that begins with the highest folder.
fn in_block(text: &str) -> Vec<String> {
    let (_, block) = text.split_once(&format!("```text\n{} ", LAYERS[0])).expect("a block of the folders");
    let (block, _) = block.split_once("```").unwrap();
    let lines = block.lines().skip(1).filter_map(|line| line.split(' ').next().filter(|name| !name.is_empty()));
    [LAYERS[0]].into_iter().chain(lines).map(str::to_owned).collect()
}

/// The rows of the table that begin with a path below `src`.
fn in_table(text: &str) -> Vec<String> {
    let (_, section) = text.split_once("## Where things are").expect("the section");
    let (section, _) = section.split_once("\n## ").unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `src/"));
    rows.map(|row| row.split('`').next().unwrap().to_owned()).collect()
}
