//! What a write is told: a store answers in one of two ways, or fails.

/// The answer of an `insert`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
#[expect(clippy::exhaustive_enums, reason = "a store has these two answers, whatever comes")]
pub enum Insertion {
    /// The row was added, as durably as the store promises.
    Inserted,
    /// There was a row of that id already; nothing was written.
    Exists,
}

/// The answer of a `replace`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
#[expect(clippy::exhaustive_enums, reason = "a store has these two answers, whatever comes")]
pub enum Replacement {
    /// The row was replaced, as durably as the store promises.
    Replaced,
    /// The row has another version or is missing; nothing was written.
    Lost,
}
