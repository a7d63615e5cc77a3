//! The platform's 26 scopes.

use crate::scope::{Permissions, ScopeDefinition};

/// One row a scope. What a scope allows is empty where it is never granted so.
const TABLE: &str = include_str!("platform.md");

/// Returns the scopes of the service, in the order of its table.
pub(super) fn scopes() -> Vec<ScopeDefinition> {
    TABLE.lines().skip(2).filter_map(definition).collect()
}

fn definition(row: &'static str) -> Option<ScopeDefinition> {
    let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
    let [name, permissions, group, title, description, read, write] = cells[..] else { return None };
    let permissions = match permissions {
        "r" => Permissions::ReadOnly,
        "rw" => Permissions::ReadWriteOnly,
        _ => Permissions::ReadOnlyOrReadWrite,
    };
    let definition = ScopeDefinition::new(name, permissions).with_group(group).with_title(title);
    Some(definition.with_description(description).with_verbs(read, write))
}
