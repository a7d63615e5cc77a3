//! Scopes are written so that they are read as the same scopes.

use grantor::scope::{Permission, ScopeCatalog, ScopeNotation, ScopeSet};

thread_local! {
    /// The service's own notation, and others.
    static CATALOGS: [ScopeCatalog; 4] = {
        let definitions = || ScopeCatalog::platform().definitions().to_vec();
        let with = |notation| ScopeCatalog::builder().scopes(definitions()).notation(notation).build().unwrap();
        [
            ScopeCatalog::platform(),
            with(ScopeNotation::prefixes("read:", "write:")),
            with(ScopeNotation::suffixes("", ".write")),
            with(ScopeNotation::suffixes(":r", ":rw").with_separator(',')),
        ]
    };
}

/// Returns which of the catalogs can read the input.
pub(super) fn check(input: &[u8]) -> String {
    CATALOGS.with(|catalogs| {
        let sets: Vec<_> = catalogs.iter().map(|catalog| read(catalog, input)).collect();
        for (one, other) in sets.iter().flatten().zip(sets.iter().flatten().skip(1)) {
            related(one, other);
        }
        sets.iter().map(|set| if set.is_some() { '1' } else { '0' }).collect()
    })
}

fn read(catalog: &ScopeCatalog, input: &[u8]) -> Option<ScopeSet> {
    let set = catalog.parse(input).ok()?;
    let wire = catalog.to_wire(&set).into_owned();
    assert_eq!(catalog.parse(wire.as_bytes()).as_ref(), Ok(&set), "{wire}");
    assert!(wire.len() <= input.len() + 4 * 26, "no more than was asked for: {wire}");
    let blank = input.iter().all(|byte| matches!(byte, b' ' | b','));
    assert!(catalog.knows(&set) && set.is_empty() == blank, "only a list without a token gives no scope: {wire}");
    let names: Vec<_> = set.iter().map(|scope| scope.name().to_owned()).collect();
    let order: Vec<_> =
        catalog.definitions().iter().map(|own| own.name()).filter(|own| names.iter().any(|name| name == own)).collect();
    assert_eq!(names, order, "each once, in the catalog's order");
    for scope in set.iter() {
        let asked = String::from_utf8_lossy(input).contains(scope.name());
        let permission = scope.permission().unwrap();
        assert!(asked && catalog.definition(scope.name()).unwrap().permissions().allows(permission), "{wire}");
        assert!(set.contains(scope.name(), Permission::Read) || permission == Permission::ReadWrite, "{wire}");
    }
    related(&set, &catalog.all());
    Some(set)
}

/// What two sets have in common is within both.
fn related(one: &ScopeSet, other: &ScopeSet) {
    let met = one.intersection(other);
    assert!(met.is_subset_of(one) && met.is_subset_of(other));
    assert_eq!(met, other.intersection(one));
    assert_eq!(one.is_subset_of(other), met == *one);
}
