//! The tests of all packages: their names, and the ids of the rules that they show.

use std::fs;
use std::path::Path;

use crate::source;

/// A test, and the ids in its documentation.
#[derive(Debug)]
pub(crate) struct Test {
    /// Such as `rfc7662::ids` for one of `tests/protocol`. Others begin with the name of their binary or package; unit
    /// tests of this crate have their whole path, such as `jose::tests::thumbprints`.
    pub(crate) name: String,
    pub(crate) ids: Vec<String>,
}

/// The tests of this crate, of its suites and of the other packages.
pub(crate) fn all() -> Vec<Test> {
    let files =
        ["src", "tests", "examples"].into_iter().flat_map(|folder| source::files_below(&crate::root().join(folder)));
    let tests: Vec<_> = files.flat_map(|file| in_text(&module(&file), &fs::read_to_string(&file).unwrap())).collect();
    assert!(tests.len() > 1500, "{}", tests.len());
    tests
}

/// The tests of a file: functions with an attribute that makes them tests.
fn in_text(module: &str, text: &str) -> Vec<Test> {
    let (mut tests, mut inner, mut doc, mut is_test) = (Vec::new(), "", String::new(), false);
    for line in text.lines() {
        inner = line.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(" {")).unwrap_or(inner);
        let is_indented = line.starts_with(' ');
        let line = line.trim();
        if let Some(next) = line.strip_prefix("///") {
            // Ids may take more than one line.
            if doc.is_empty() || doc.ends_with(',') {
                doc.push_str(next);
            } else {
                assert!(!is_list(next), "{module}: ids that are not in the first line: {line}");
            }
        } else if line.starts_with('#') {
            is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        } else if !line.is_empty() && !line.starts_with("//") {
            let name = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ").filter(|_| is_test);
            if let Some(name) = name.and_then(|rest| rest.split(['(', '<']).next()) {
                let inner = if is_indented && !inner.is_empty() { format!("{inner}::") } else { String::new() };
                tests.push(Test { name: format!("{module}::{inner}{name}"), ids: ids(&doc) });
            } else {
                assert!(!is_list(&doc), "{module}: {doc} is at no test: {line}");
            }
            (doc, is_test) = (String::new(), false);
        }
    }
    tests
}

/// The ids that a documentation begins with, up to a colon: `9126-4-03, D-07: a sentence`.
fn ids(doc: &str) -> Vec<String> {
    let list = doc.split(": ").next().unwrap_or_default();
    let (ids, others): (Vec<_>, Vec<_>) = list.split(',').map(str::trim).partition(|part| is_id(part));
    // Cases of other projects have their own names, with a `#`.
    assert!(ids.is_empty() || others.iter().all(|other| other.contains('#')), "ids and other words in {doc:?}");
    ids.into_iter().map(str::to_owned).collect()
}

fn is_list(text: &str) -> bool {
    text.split(',').all(|part| is_id(part.trim()))
}

/// Where the tests of a file are. `tests/protocol/rfc6749_client/mod.rs` is the module `rfc6749_client`.
fn module(file: &Path) -> String {
    let path = file.strip_prefix(crate::root()).unwrap().with_extension("");
    let parts: Vec<_> = path.iter().map(|part| part.to_str().unwrap()).collect();
    let below = match parts[0] {
        "src" => 1,
        // Unit tests of another package.
        _ if parts.get(2) == Some(&"src") => 1,
        _ => parts.iter().rposition(|part| *part == "tests").map_or(1, |tests| tests + 1),
    };
    let named = parts[below..].iter().filter(|part| !["lib", "main", "mod", "protocol", "src"].contains(part));
    named.copied().collect::<Vec<_>>().join("::")
}

/// Such as SVC-2.1-01, 6749-4.1.2.1-02, HTTP-04, MCP-0618-05 and CVE-2020-15223.
pub(crate) fn is_id(text: &str) -> bool {
    let mut parts = text.split('-');
    let source = parts.next().unwrap_or_default();
    let rest: Vec<_> = parts.collect();
    let named = |part: &str| {
        !part.is_empty() && part.chars().all(|own| own.is_ascii_uppercase() || own.is_ascii_digit() || own == '.')
    };
    let number = |part: &str| part.len() >= 2 && part.chars().all(|own| own.is_ascii_digit());
    named(source)
        && !rest.is_empty()
        && rest.iter().all(|part| named(part))
        && rest.last().is_some_and(|last| number(last))
}

#[test]
fn an_id_is_told_from_a_word() {
    for id in ["SVC-2.1-01", "6749-4.1.2.1-02", "HTTP-04", "MCP-0618-05", "21-5.1-01", "8252-7.3-01", "CVE-2020-15223"]
    {
        assert!(is_id(id), "{id}");
    }
    for word in ["", "RFC", "RFC 6749", "D-4", "the", "SVC-", "-01", "SVC--01", "svc-2.1-01", "SHA-256 of it"] {
        assert!(!is_id(word), "{word}");
    }
}

#[test]
fn tests_are_read_with_their_module_and_ids() {
    // An array, since this file is read as well.
    let text = [
        "/// 6749-4.1-01, 7636-4.1-02,",
        "/// D-07, project#12: a sentence.",
        "///",
        "/// More, with SVC-1-01.",
        "#[tokio::test(flavor = \"multi_thread\")]",
        "#[ignore = \"takes long\"]",
        "async fn first() {",
        "    let called = second();",
        "}",
        "/// No test.",
        "fn second() {}",
        "mod tests {",
        "    /// HTTP-04",
        "    #[test]",
        "    fn third<const N: usize>() {}",
        "}",
    ];
    let read = in_text("a", &text.join("\n"));
    let read: Vec<_> = read.into_iter().map(|test| (test.name, test.ids.join(" "))).collect();
    let expected = [("a::first", "6749-4.1-01 7636-4.1-02 D-07"), ("a::tests::third", "HTTP-04")];
    assert_eq!(read, expected.map(|(name, ids)| (name.to_owned(), ids.to_owned())));
    let named = |path: &str| module(&crate::root().join(path));
    assert_eq!(named("src/jose/tests.rs"), "jose::tests");
    assert_eq!(named("src/model/application/logo/mod.rs"), "model::application::logo");
    assert_eq!(named("tests/protocol/rfc6749_client/mod.rs"), "rfc6749_client");
    assert_eq!(named("tests/system/tests/servers/adapters/bound.rs"), "servers::adapters::bound");
    assert_eq!(named("examples/fetch/tests/fetch/ranges.rs"), "fetch::ranges");
    assert_eq!(named("examples/fetch/src/target.rs"), "fetch::target");
}

#[test]
#[should_panic(expected = "ids and other words")]
fn an_id_beside_a_word_is_refused() {
    ids("HTTP-04, and a word");
}
