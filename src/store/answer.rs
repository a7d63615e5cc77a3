//! The results of writes.

/// The result of an `insert`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
#[expect(clippy::exhaustive_enums, reason = "a store has exactly these two answers")]
pub enum Insertion {
    /// The row was added, as durably as the store promises.
    Inserted,
    /// A row with that key already exists; nothing was written.
    Exists,
}

/// The result of a `replace` or a `confirm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
#[expect(clippy::exhaustive_enums, reason = "a store has exactly these two answers")]
pub enum Replacement {
    /// The row was replaced, as durably as the store promises.
    Replaced,
    /// The row has another version, or for a `confirm` other bytes, or is missing; nothing was written.
    Lost,
}
