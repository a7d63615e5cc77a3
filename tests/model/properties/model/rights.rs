//! Scopes as a set of single rights, one bit each; writing includes reading.

/// The scopes that the application registers, in the table's order, each with its bit for reading and, where allowed,
/// its bit for writing.
const TABLE: [(&str, u8, u8); 3] = [("repo-code", 1, 2), ("repo-issue", 4, 8), ("account-profile", 16, 0)];
/// A scope that no application here registers.
const STRANGE: u8 = 32;

/// The rights of a request, a consent or a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rights(u8);

impl Rights {
    pub(crate) const ALL: Self = Self(31);
    /// Something that was never registered.
    pub(crate) const STRANGE: Self = Self(STRANGE);

    /// Each of the table's scopes at one of its levels: nothing, reading, and writing where that is allowed.
    pub(crate) fn of_levels(levels: [u8; 3]) -> Self {
        let bits = TABLE.iter().zip(levels).map(|((_, read, write), level)| match level {
            0 => 0,
            1 => *read,
            _ => read | write,
        });
        Self(bits.sum())
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// As it is written, in the table's order.
    pub(crate) fn text(self) -> String {
        let tokens = TABLE.iter().filter_map(|(name, read, write)| {
            if self.0 & write != 0 {
                Some(format!("{name}:rw"))
            } else {
                (self.0 & read != 0).then(|| format!("{name}:r"))
            }
        });
        let strange = (self.0 & STRANGE != 0).then(|| "repo-notes:r".to_owned());
        tokens.chain(strange).collect::<Vec<_>>().join(" ")
    }
}
