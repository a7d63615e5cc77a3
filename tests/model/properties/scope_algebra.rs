//! Sets of scopes behave as sets of single rights.

use std::collections::BTreeMap;

use grantor::scope::{Permission, ScopeCatalog, ScopeNotation, ScopeSet};
use proptest::prelude::*;

use crate::properties::cases::{check, holds};

const CASES: u32 = 1000;

/// The level of each scope of the catalog: 0 for none, 1 for reading, 2 for writing too.
type Levels = BTreeMap<String, u8>;

/// Every scope of the platform at a level that its definition allows.
fn levels() -> impl Strategy<Value = Levels> {
    let catalog = ScopeCatalog::platform();
    let each: Vec<_> = catalog
        .definitions()
        .iter()
        .map(|definition| {
            let name = definition.name().to_owned();
            let mut allowed = vec![0_u8, 0];
            allowed.extend(definition.permissions().allows(Permission::Read).then_some(1));
            allowed.extend(definition.permissions().allows(Permission::ReadWrite).then_some(2));
            prop::sample::select(allowed).prop_map(move |level| (name.clone(), level))
        })
        .collect();
    each.prop_map(|each| each.into_iter().filter(|(_, level)| *level > 0).collect())
}

fn token(name: &str, level: u8) -> String {
    format!("{name}:{}", if level == 2 { "rw" } else { "r" })
}

/// The set that the catalog makes of these levels.
fn set(levels: &Levels) -> ScopeSet {
    let tokens: Vec<_> = levels.iter().map(|(name, level)| token(name, *level)).collect();
    ScopeCatalog::platform().select(tokens.iter().map(String::as_str)).unwrap()
}

fn levels_of(set: &ScopeSet) -> Levels {
    let level = |permission| if permission == Some(Permission::ReadWrite) { 2 } else { 1 };
    set.iter().map(|scope| (scope.name().to_owned(), level(scope.permission()))).collect()
}

fn is_within(own: &Levels, bound: &Levels) -> bool {
    own.iter().all(|(name, level)| bound.get(name).is_some_and(|bound| level <= bound))
}

/// The lower level of both. No scope that can only be written is ever met at the level of reading.
fn meet(own: &Levels, other: &Levels) -> Levels {
    let both = own.iter().filter_map(|(name, level)| Some((name.clone(), *level.min(other.get(name)?))));
    both.collect()
}

#[test]
fn sets_are_ordered_and_meet_as_sets_of_rights_do() {
    check(CASES, &(levels(), levels(), levels()), |(a, b, c)| {
        let (sa, sb, sc) = (set(&a), set(&b), set(&c));
        holds(levels_of(&sa) == a, || format!("{sa} holds {a:?}"))?;
        holds(sa.is_subset_of(&sb) == is_within(&a, &b), || format!("{sa} within {sb}"))?;
        let met = sa.intersection(&sb);
        holds(levels_of(&met) == meet(&a, &b), || format!("{sa} and {sb} meet in {met}"))?;
        holds(met == sb.intersection(&sa), || format!("{sa} and {sb} meet in one set"))?;
        holds(met.is_subset_of(&sa) && met.is_subset_of(&sb), || format!("{met} is within both"))?;
        // The greatest of those within both.
        let below = set(&meet(&meet(&a, &b), &c));
        holds(below.is_subset_of(&met), || format!("{below} within {met}"))?;
        holds(met.intersection(&sc) == sa.intersection(&sb.intersection(&sc)), || "in any grouping".to_owned())?;
        holds(sa.intersection(&sa) == sa && sa.is_subset_of(&sa), || format!("{sa} and itself"))?;
        for definition in ScopeCatalog::platform().definitions() {
            let name = definition.name();
            let level = a.get(name).copied().unwrap_or_default();
            let found = (sa.contains(name, Permission::Read), sa.contains(name, Permission::ReadWrite));
            holds(found == (level >= 1, level == 2), || format!("{name} in {sa}"))?;
        }
        Ok(())
    });
}

#[test]
fn the_same_scopes_make_the_same_set() {
    let asked = (levels(), any::<u64>(), any::<bool>());
    check(CASES, &asked, |(levels, order, doubled)| {
        let catalog = ScopeCatalog::platform();
        let mut tokens: Vec<_> = levels.iter().map(|(name, level)| token(name, *level)).collect();
        if doubled {
            // What is asked for twice counts once, at the higher level.
            let readable = |name: &&String| {
                catalog.definition(name).is_some_and(|definition| definition.permissions().allows(Permission::Read))
            };
            tokens.extend(levels.keys().filter(readable).map(|name| token(name, 1)));
        }
        let count = tokens.len().max(1);
        for place in 0..tokens.len() {
            tokens.swap(place, usize::try_from(order % 1_000_003).unwrap() * (place + 7) % count);
        }
        if tokens.is_empty() {
            return Ok(());
        }
        let parsed = catalog.parse(tokens.join(" ").as_bytes()).map_err(|error| format!("{tokens:?}: {error}"))?;
        holds(parsed == set(&levels), || format!("{tokens:?} is {parsed}"))?;
        let again = catalog.parse(catalog.to_wire(&parsed).as_bytes());
        holds(again.as_ref() == Ok(&parsed), || format!("{parsed} comes back as {again:?}"))
    });
}

#[test]
fn another_notation_writes_and_reads_the_same_sets() {
    let definitions = || ScopeCatalog::platform().definitions().to_vec();
    let notations = [
        ScopeNotation::prefixes("read:", "write:"),
        ScopeNotation::suffixes("", ".write"),
        ScopeNotation::suffixes("!r", "!rw").with_separator(','),
    ];
    for notation in notations {
        let catalog = ScopeCatalog::builder().scopes(definitions()).notation(notation).build().unwrap();
        check(CASES / 4, &levels(), |levels| {
            let set = set(&levels);
            if set.is_empty() {
                return Ok(());
            }
            let wire = catalog.to_wire(&set);
            let read = catalog.parse(wire.as_bytes());
            holds(read.as_ref() == Ok(&set), || format!("{set} is written {wire} and read {read:?}"))
        });
    }
}

/// RFC 6749 section 3.3 and appendix A.4: one space between tokens of visible characters.
#[test]
fn scopes_are_a_list_of_known_tokens() {
    let piece = prop_oneof![
        6 => prop::sample::select(vec!["repo-code", "repo-code:r", "repo-code:rw", "repo-delete", "account-email:r"]),
        2 => prop::sample::select(vec![" ", "  ", ",", "\t", "\"", "\\", "\u{7f}", ":", "rw", "", "Repo-code:r"]),
    ];
    let text = prop::collection::vec(piece, 0..5).prop_map(|pieces| pieces.join(" "));
    check(CASES, &text, |text| {
        let known = |token: &str| {
            let (name, permission) = match token.split_once(':') {
                None => (token, None),
                Some((name, "r")) => (name, Some(Permission::Read)),
                Some((name, "rw")) => (name, Some(Permission::ReadWrite)),
                Some(_) => return false,
            };
            let catalog = ScopeCatalog::platform();
            let definition = catalog.definition(name);
            definition.is_some_and(|own| permission.is_none_or(|permission| own.permissions().allows(permission)))
        };
        let expected = text.split(' ').filter(|token| !token.is_empty()).all(known);
        let read = ScopeCatalog::platform().parse(text.as_bytes());
        holds(read.is_ok() == expected, || format!("{text:?} is read as {read:?}"))
    });
}
