//! The tables, and the columns that operators query.

use crate::clock::Timestamp;
use crate::model::id::ClientId;
use crate::model::subject::Subject;
use crate::store::kinds::kinds;

/// Defines [`Table`] with a variant for every kind of record.
macro_rules! define_table {
    ($($(#[$docs:meta])* $table:ident = $name:literal, $lists:ident, $field:ident: $record:ident;)*) => {
        /// A kind of record. Each table has its own keys.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Table {
            $($(#[$docs])* $table,)*
        }

        impl Table {
            /// Every table.
            pub const ALL: [Self; [$(Self::$table),*].len()] = [$(Self::$table),*];

            /// Returns the table's name, such as `grants`.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$table => $name,)*
                }
            }

            /// Returns how many lists the rows of the table are on.
            #[must_use]
            pub const fn lists(self) -> Lists {
                match self {
                    $(Self::$table => Lists::$lists,)*
                }
            }
        }
    };
}

kinds!(define_table);

/// How many lists the rows of a table are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a row is on no list, on one, or on several")]
pub enum Lists {
    /// None.
    None,
    /// At most one, which a row never leaves. A column of the row can serve as the index.
    One,
    /// Several, and each write of a row may change them.
    Many,
}

/// Values for additional columns of a row, which operators query. The core never reads them back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Columns {
    /// The client of the row.
    pub client: Option<ClientId>,
    /// The user of the row, or the owner of an application.
    pub subject: Option<Subject>,
    /// When the row was created, or an application was last submitted.
    pub created: Option<Timestamp>,
    /// The state of the row as a word: `held`, `code_issued` or `denied`; `granted` or `revoked`; `pending`,
    /// `approved`, `rejected`, `suspended` or `deleted`; `named` or `unnamed`; `pushed` or `used`; `usable` or
    /// `used_up`; `purged`.
    pub state: &'static str,
    /// When and why the row ended.
    pub ended: Option<Ended>,
}

/// When and why a row ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ended {
    /// The time.
    pub at: Timestamp,
    /// The reason as a word.
    pub why: &'static str,
}
