//! The columns of the tables, and what writes put into them.

use std::error::Error;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::{BufMut, BytesMut};
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::clock::Timestamp;
use crate::model::application::Application;
use crate::model::{ApplicationLogo, Authorization, Grant, InitialToken, LastPurge, PushedRequest, Replay};
use crate::store::postgres::job::{Action, RowWrite};
use crate::store::{Lists, Record, Table, kinds};

/// What each write of a statement names: the row's key and the version that it must have, and the values of
/// the row's columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Key,
    Expected,
    Version,
    Created,
    Due,
    EndedAt,
    Client,
    Subject,
    Record,
    State,
    EndedWhy,
}

/// The columns that an insert fills and a replacement changes, in every table.
pub(super) const STORED: [Column; 9] = [
    Column::Version,
    Column::Created,
    Column::Due,
    Column::EndedAt,
    Column::Client,
    Column::Subject,
    Column::Record,
    Column::State,
    Column::EndedWhy,
];

/// Returns all columns that a write of that kind names, in the order of a statement's parameters.
pub(super) fn written(table: Table, action: Action) -> impl Iterator<Item = Column> {
    let all = [Column::Key, Column::Expected].into_iter().chain(STORED);
    all.filter(move |column| column.is_named(table, action))
}

/// The value that one write puts into a column, or the values of several writes in order.
#[derive(Debug)]
pub(super) enum Value<'w> {
    /// Of type `uuid`, `bytea` or `text`.
    Bytes(Option<&'w [u8]>),
    Each(Vec<Self>),
    Number(i64),
    Time(Option<Timestamp>),
}

impl ToSql for Value<'_> {
    fn to_sql(&self, column: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Bytes(bytes) => bytes.map(Bytes).to_sql_checked(column, out),
            Self::Each(values) => values.to_sql_checked(column, out),
            Self::Number(number) => number.to_sql_checked(column, out),
            Self::Time(at) => at.map(time).to_sql_checked(column, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        // The value itself is checked when it is written.
        true
    }

    to_sql_checked!();
}

impl Column {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Expected => "expected",
            Self::Version => "version",
            Self::Created => "created",
            Self::Due => "due",
            Self::EndedAt => "ended_at",
            Self::Client => "client",
            Self::Subject => "subject",
            Self::Record => "record",
            Self::State => "state",
            Self::EndedWhy => "ended_why",
        }
    }

    pub(super) const fn type_in(self, table: Table) -> &'static str {
        match self {
            Self::Key => key_type(table),
            Self::Expected | Self::Version => "bigint",
            Self::Created | Self::Due | Self::EndedAt => "timestamptz",
            Self::Client | Self::State | Self::EndedWhy => "text",
            Self::Subject | Self::Record => "bytea",
        }
    }

    /// Whether a write of that kind names the column. A row that leaves no list keeps its client too.
    const fn is_named(self, table: Table, action: Action) -> bool {
        match action {
            Action::Insert => !matches!(self, Self::Expected),
            Action::Replace => {
                matches!(table.lists(), Lists::Many) || !matches!(self, Self::Created | Self::Client | Self::Subject)
            }
            Action::Confirm => matches!(self, Self::Key | Self::Expected | Self::Version | Self::Record),
        }
    }

    pub(super) fn values<'w>(self, writes: &[&'w RowWrite]) -> Value<'w> {
        match writes {
            [only] => self.value(only),
            _ => Value::Each(writes.iter().map(|own| self.value(own)).collect()),
        }
    }

    fn value(self, own: &RowWrite) -> Value<'_> {
        let RowWrite { expected, write, .. } = own;
        let columns = &write.columns;
        match self {
            Self::Key => Value::Bytes(Some(&write.key)),
            Self::Expected => Value::Number((*expected).into()),
            Self::Version => Value::Number(write.version.into()),
            Self::Created => Value::Time(columns.created),
            Self::Due => Value::Time(write.due),
            Self::EndedAt => Value::Time(columns.ended.map(|ended| ended.at)),
            Self::Client => Value::Bytes(columns.client.as_ref().map(|client| client.as_str().as_bytes())),
            Self::Subject => Value::Bytes(columns.subject.as_ref().map(|subject| subject.as_str().as_bytes())),
            Self::Record => Value::Bytes(Some(&write.record)),
            Self::State => Value::Bytes(Some(columns.state.as_bytes())),
            Self::EndedWhy => Value::Bytes(columns.ended.map(|ended| ended.why.as_bytes())),
        }
    }
}

/// The names of the lists that the rows are on.
pub(super) fn lists<'w>(writes: &[&'w RowWrite]) -> Value<'w> {
    let names = writes.iter().flat_map(|own| &own.write.lists);
    Value::Each(names.map(|name| Value::Bytes(Some(name))).collect())
}

/// Defines [`key_type`] for every kind of record.
macro_rules! define_key_type {
    ($($(#[$docs:meta])* $table:ident = $name:literal, $lists:ident, $field:ident: $record:ident;)*) => {
        /// Returns the type of the keys: `uuid` for ids of 16 bytes.
        pub(super) const fn key_type(table: Table) -> &'static str {
            match table {
                $(Table::$table => if size_of::<<$record as Record>::Key>() == 16 { "uuid" } else { "bytea" },)*
            }
        }
    };
}

kinds!(define_key_type);

/// Returns the smallest key, as a literal.
pub(super) fn least_key(table: Table) -> &'static str {
    if key_type(table) == "uuid" { "'00000000-0000-0000-0000-000000000000'" } else { "''" }
}

/// The bytes of a column whose type has them as its binary form: `uuid`, `bytea` or `text`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes<'v>(pub(super) &'v [u8]);

impl ToSql for Bytes<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.put_slice(self.0);
        Ok(IsNull::No)
    }

    fn accepts(column: &Type) -> bool {
        [Type::UUID, Type::BYTEA, Type::TEXT].contains(column)
    }

    to_sql_checked!();
}

impl<'v> FromSql<'v> for Bytes<'v> {
    fn from_sql(_: &Type, bytes: &'v [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(bytes))
    }

    fn accepts(column: &Type) -> bool {
        <Self as ToSql>::accepts(column)
    }
}

/// A time as `timestamptz`, so that an operator can compare it with `now()`.
pub(super) fn time(time: Timestamp) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(time.seconds().into())
}
