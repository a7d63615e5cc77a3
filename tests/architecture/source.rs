//! Reads the imports of the sources: without comments, string literals and tests, with braces expanded, and with
//! re-exports followed to where a name is defined.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A source file: its place in the module tree and what its code names of this crate.
#[derive(Debug)]
pub(crate) struct Source {
    /// Below `src`, without extension; a folder's `mod.rs` has the name of the folder.
    pub(crate) module: String,
    /// Paths from the crate's root, of imports and of code.
    paths: BTreeSet<Vec<String>>,
    /// Names that are only passed on, and where they come from.
    passed_on: BTreeMap<String, Vec<String>>,
}

/// All source files of a folder and of those in it.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            // The build output of separate packages.
            if path.ends_with("target") {
                continue;
            }
            files.extend(files_below(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The module that is the root of a crate, or of a program.
const ROOTS: [&str; 2] = ["lib", "main"];

/// Files that only tests use.
const OF_TESTS: [&str; 2] = ["/fixtures", "/tests"];

/// Every module of a crate, its root included, without those of tests and of packages within.
pub(crate) fn modules(src: &Path) -> Vec<Source> {
    let is_of_another = |file: &Path| {
        file.ancestors().skip(1).take_while(|folder| *folder != src).any(|folder| folder.join("Cargo.toml").exists())
    };
    let files = files_below(src).into_iter().filter(|file| !is_of_another(file));
    let files = files.map(|file| (name(src, &file), file));
    let files: BTreeMap<_, _> = files.filter(|(name, _)| !OF_TESTS.iter().any(|of| name.ends_with(of))).collect();
    let all: BTreeSet<_> = files.keys().cloned().collect();
    all.iter().map(|name| Reader::new(name, &all).read(&tokens(&fs::read_to_string(&files[name]).unwrap()))).collect()
}

/// Imports as pairs of modules: who, and whom. The root imports all, and is in no pair.
pub(crate) fn imports(modules: &[Source]) -> BTreeSet<(&str, &str)> {
    let by_name: BTreeMap<_, _> = modules.iter().map(|module| (module.module.as_str(), module)).collect();
    let of = |module: &Source| module.paths.iter().filter_map(|path| target(path, &by_name)).collect::<Vec<_>>();
    let pairs = modules.iter().flat_map(|module| of(module).into_iter().map(|whom| (module.module.as_str(), whom)));
    pairs.filter(|(who, whom)| who != whom && !ROOTS.contains(who)).collect()
}

/// The module that a path leads to, where its name is defined.
fn target<'m>(path: &[String], by_name: &BTreeMap<&'m str, &'m Source>) -> Option<&'m str> {
    let found = (1..=path.len()).rev().find_map(|length| {
        let (name, source) = by_name.get_key_value(path[..length].join("/").as_str())?;
        Some((length, Some(*name), *source))
    });
    let root = || ROOTS.iter().find_map(|root| Some((0, None, *by_name.get(root)?)));
    let (length, module, source) = found.or_else(root)?;
    let origin = path.get(length).and_then(|name| source.passed_on.get(name));
    let origin = origin.map(|origin| [origin, &path[length + 1..]].concat());
    origin.and_then(|origin| target(&origin, by_name)).or(module)
}

fn name(src: &Path, file: &Path) -> String {
    let below = file.strip_prefix(src).unwrap().with_extension("");
    let name = below.to_str().unwrap().replace('\\', "/");
    name.strip_suffix("/mod").unwrap_or(&name).to_owned()
}

/// Reads the tokens of one file.
struct Reader<'a> {
    all: &'a BTreeSet<String>,
    source: Source,
    /// The braces that are open around each module within the file.
    inner_modules: Vec<usize>,
    open_braces: usize,
    words: BTreeSet<String>,
}

impl<'a> Reader<'a> {
    fn new(module: &str, all: &'a BTreeSet<String>) -> Self {
        let source = Source { module: module.to_owned(), paths: BTreeSet::new(), passed_on: BTreeMap::new() };
        Self { all, source, inner_modules: Vec::new(), open_braces: 0, words: BTreeSet::new() }
    }

    fn read(mut self, tokens: &[String]) -> Source {
        let mut place = 0;
        while let Some(token) = tokens.get(place) {
            let before = place.checked_sub(1).map_or("", |before| &tokens[before]);
            place += 1;
            match token.as_str() {
                "#" if is_test_only(&tokens[place..]) => place = after_item(tokens, place),
                "{" => self.open_braces += 1,
                "}" => self.close_brace(),
                "mod" if tokens.get(place + 1).is_some_and(|next| next == "{") => {
                    self.inner_modules.push(self.open_braces);
                }
                // `use<…>` lists what a type captures.
                "use" if tokens.get(place).is_none_or(|next| next != "<") => {
                    let end = place + tokens[place..].iter().position(|token| token == ";").unwrap();
                    self.take_use(&tokens[place..end], matches!(before, "pub" | ")"));
                    place = end;
                }
                _ if is_name(token) && before != "::" => {
                    let path = path_at(&tokens[place - 1..]);
                    self.words.insert(token.clone());
                    // `pub(in crate::…)` limits who may see the item, and imports nothing.
                    if path.len() > 1 && before != "in" {
                        let path = self.rooted(&path);
                        self.source.paths.extend(path);
                    }
                }
                _ => {}
            }
        }
        // A re-export that is also used is an import like any other.
        let also_used = self.source.passed_on.iter().filter(|(name, _)| self.words.contains(*name));
        self.source.paths.extend(also_used.map(|(_, path)| path.clone()));
        self.source
    }

    fn close_brace(&mut self) {
        self.open_braces -= 1;
        self.inner_modules.pop_if(|braces| *braces == self.open_braces);
    }

    fn take_use(&mut self, tree: &[String], is_public: bool) {
        let mut paths = Vec::new();
        open(tree, &[], &mut paths);
        let own: Vec<_> = paths.iter().filter_map(|path| self.rooted(path)).collect();
        if is_public {
            let named = own.into_iter().filter_map(|path| Some((path.last()?.clone(), path)));
            self.source.passed_on.extend(named);
        } else {
            self.source.paths.extend(own);
        }
    }

    /// A path of this crate from its root; `None` for one of another crate, or within the file.
    fn rooted(&self, path: &[String]) -> Option<Vec<String>> {
        let mut base: Vec<_> = self.source.module.split('/').map(str::to_owned).collect();
        let mut depth = self.inner_modules.len();
        let mut rest = path;
        match rest.first()?.as_str() {
            "crate" => return Some(rest[1..].to_vec()),
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|first| first == "super") {
                    rest = &rest[1..];
                    match depth.checked_sub(1) {
                        Some(less) => depth = less,
                        None => drop(base.pop()),
                    }
                }
            }
            child if self.all.contains(&format!("{}/{child}", self.source.module)) => {}
            _ => return None,
        }
        Some(base.into_iter().chain(rest.iter().cloned()).collect())
    }
}

/// Expands the braces of an import tree.
fn open(tree: &[String], prefix: &[String], paths: &mut Vec<Vec<String>>) {
    let mut path = prefix.to_vec();
    let mut place = 0;
    while let Some(token) = tree.get(place) {
        place += 1;
        match token.as_str() {
            "{" => {
                for branch in branches(&tree[place..]) {
                    open(branch, &path, paths);
                }
                return;
            }
            "as" => break,
            "::" => {}
            "self" if !path.is_empty() => {}
            _ => path.push(token.clone()),
        }
    }
    if !path.is_empty() {
        paths.push(path);
    }
}

/// The parts between the commas, up to the brace that closes the group.
fn branches(group: &[String]) -> Vec<&[String]> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (place, token) in group.iter().enumerate() {
        match token.as_str() {
            "{" => depth += 1,
            "}" if depth > 0 => depth -= 1,
            "," | "}" if depth == 0 => {
                parts.push(&group[start..place]);
                start = place + 1;
            }
            _ => {}
        }
    }
    parts
}

/// The path that begins with the first token.
fn path_at(tokens: &[String]) -> Vec<String> {
    let mut path = vec![tokens[0].clone()];
    for pair in tokens[1..].chunks_exact(2).take_while(|pair| pair[0] == "::" && is_name(&pair[1])) {
        path.push(pair[1].clone());
    }
    path
}

fn is_test_only(tokens: &[String]) -> bool {
    tokens.iter().map(String::as_str).take(6).eq(["[", "cfg", "(", "test", ")", "]"])
}

/// The place after the item whose attribute begins here: after its `;` or its block.
fn after_item(tokens: &[String], start: usize) -> usize {
    let mut depth = 0;
    for (place, token) in tokens.iter().enumerate().skip(start) {
        match token.as_str() {
            ";" if depth == 0 => return place + 1,
            "{" => depth += 1,
            "}" if depth == 1 => return place + 1,
            "}" => depth -= 1,
            _ => {}
        }
    }
    tokens.len()
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// Names, `::` and single characters; no blanks, comments, texts, characters or lifetimes.
pub(crate) fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '"' => text_length(rest),
            'r' if rest.starts_with("r\"") => 2 + rest[2..].find('"').unwrap() + 1,
            'r' if rest.starts_with("r#\"") => 3 + rest[3..].find("\"#").unwrap() + 2,
            '\'' => character_length(rest),
            _ if first.is_whitespace() => first.len_utf8(),
            _ => {
                let name = rest.find(|own: char| !own.is_alphanumeric() && own != '_').unwrap_or(rest.len());
                let length = if rest.starts_with("::") { 2 } else { name.max(first.len_utf8()) };
                // The prefix of a byte string belongs to the string.
                if !matches!(&rest[..length], "b" | "br") || !rest[length..].starts_with(['"', '\'']) {
                    tokens.push(rest[..length].to_owned());
                }
                length
            }
        };
        rest = &rest[length..];
    }
    tokens
}

fn text_length(text: &str) -> usize {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, own)| {
        let ends = *own == '"' && !escaped;
        escaped = *own == '\\' && !escaped;
        ends
    });
    end.unwrap().0 + 1
}

/// A character in quotes, or the quote alone that begins a lifetime.
fn character_length(text: &str) -> usize {
    if text.starts_with("'\\") {
        return 3 + text[3..].find('\'').unwrap() + 1;
    }
    let mut characters = text.char_indices().skip(1);
    match (characters.next(), characters.next()) {
        (Some(_), Some((place, '\''))) => place + 1,
        _ => 1,
    }
}

#[test]
fn imports_are_read_out_of_code_alone() {
    let text = r#"
        //! use crate::comment::No;
        use std::fmt;
        use crate::one::{self, Two, three::{Four as Five, *}};
        pub use child::Passed;
        pub(crate) use self::child::{PassedAndUsed};
        fn code<'a>(text: &'a str, brace: char) -> crate::inline::Type {
            let _ = ("use crate::text::No;", '{', '\'', b'"', b"{", super::beside::f());
            PassedAndUsed::new()
        }
        mod inner { use super::Inside; use super::super::beyond::Y; }
        #[cfg(test)]
        mod tests { use super::*; use crate::test::No; }
        use crate::last::Z;
    "#;
    let all = ["a/b", "a/b/child"].map(str::to_owned).into();
    let source = Reader::new("a/b", &all).read(&tokens(text));
    let paths: Vec<_> = source.paths.iter().map(|path| path.join("::")).collect();
    let expected = [
        "a::b::Inside",
        "a::b::child::PassedAndUsed",
        "a::beside::f",
        "a::beyond::Y",
        "inline::Type",
        "last::Z",
        "one",
        "one::Two",
        "one::three::*",
        "one::three::Four",
    ];
    assert_eq!(paths, expected);
    assert_eq!(source.passed_on["Passed"].join("::"), "a::b::child::Passed");
}
