//! The columns of the tables, and what writes put into them.

use std::error::Error;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::{BufMut, BytesMut};
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::clock::Timestamp;
use crate::store::postgres::job::{Action, RowWrite};
use crate::store::{Part, Table, Write};

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
    /// Whether the part stays as it is.
    Keeps(Part),
    Part(Part),
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

/// The parts that have their own columns.
pub(super) const fn parts(table: Table) -> &'static [Part] {
    match table {
        Table::Clients => &[Part::Application, Part::Logo, Part::ProposedLogo],
        Table::Authorizations | Table::Grants | Table::LastPurge | Table::PushedRequests | Table::Replays => &[],
    }
}

/// Returns all columns that a write of that kind names, in the order of a statement's parameters.
pub(super) fn written(table: Table, action: Action) -> impl Iterator<Item = Column> {
    let parts = parts(table).iter().flat_map(|part| [Column::Keeps(*part), Column::Part(*part)]);
    let all = [Column::Key, Column::Expected].into_iter().chain(STORED).chain(parts);
    all.filter(move |column| column.is_named(table, action))
}

/// The value that one write puts into a column, or the values of several writes in order.
#[derive(Debug)]
pub(super) enum Value<'w> {
    /// Of type `uuid`, `bytea` or `text`.
    Bytes(Option<&'w [u8]>),
    Each(Vec<Self>),
    Flag(bool),
    Number(i64),
    Time(Option<Timestamp>),
}

impl ToSql for Value<'_> {
    fn to_sql(&self, column: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Bytes(bytes) => bytes.map(Bytes).to_sql_checked(column, out),
            Self::Each(values) => values.to_sql_checked(column, out),
            Self::Flag(flag) => flag.to_sql_checked(column, out),
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
    pub(super) fn name(self) -> String {
        match self {
            Self::Key => "key",
            Self::Expected => "expected",
            Self::Version => "version",
            Self::Created => "created",
            Self::Due => "due",
            Self::EndedAt => "ended_at",
            Self::Client => "client",
            Self::Subject => "subject",
            Self::Record => Part::Record.as_str(),
            Self::State => "state",
            Self::EndedWhy => "ended_why",
            Self::Keeps(part) => return format!("keeps_{}", part.as_str()),
            Self::Part(part) => part.as_str(),
        }
        .to_owned()
    }

    pub(super) const fn type_in(self, table: Table) -> &'static str {
        match self {
            Self::Key => key_type(table),
            Self::Expected | Self::Version => "bigint",
            Self::Created | Self::Due | Self::EndedAt => "timestamptz",
            Self::Client | Self::State | Self::EndedWhy => "text",
            Self::Subject | Self::Record | Self::Part(_) => "bytea",
            Self::Keeps(_) => "boolean",
        }
    }

    /// Whether a write of that kind names the column. A row with a fixed list keeps it, and its client.
    const fn is_named(self, table: Table, action: Action) -> bool {
        match action {
            Action::Insert => !matches!(self, Self::Expected | Self::Keeps(_)),
            Action::Replace => !table.has_fixed_list() || !matches!(self, Self::Created | Self::Client | Self::Subject),
            Action::Confirm => matches!(
                self,
                Self::Key | Self::Expected | Self::Version | Self::Record | Self::Keeps(_) | Self::Part(_)
            ),
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
            Self::Subject => Value::Bytes(subject(write)),
            Self::Record => Value::Bytes(Some(&write.record)),
            Self::State => Value::Bytes(Some(columns.state.as_bytes())),
            Self::EndedWhy => Value::Bytes(columns.ended.map(|ended| ended.why.as_bytes())),
            Self::Keeps(part) => Value::Flag(write.parts.iter().all(|(named, _)| *named != part)),
            Self::Part(part) => Value::Bytes(write.part(part)),
        }
    }
}

/// Returns the subject of a row, which also names its list if the row never leaves that list.
fn subject(write: &Write) -> Option<&[u8]> {
    if write.table.has_fixed_list() {
        write.lists.first().map(Vec::as_slice)
    } else {
        write.columns.subject.as_ref().map(|subject| subject.as_str().as_bytes())
    }
}

/// The names of the lists that the rows are on.
pub(super) fn lists<'w>(writes: &[&'w RowWrite]) -> Value<'w> {
    let names = writes.iter().flat_map(|own| &own.write.lists);
    Value::Each(names.map(|name| Value::Bytes(Some(name))).collect())
}

pub(super) const fn key_type(table: Table) -> &'static str {
    match table {
        Table::Authorizations | Table::Grants | Table::PushedRequests => "uuid",
        Table::Clients => "text",
        Table::LastPurge | Table::Replays => "bytea",
    }
}

/// Returns the smallest key, as a literal.
pub(super) const fn least_key(table: Table) -> &'static str {
    match table {
        Table::Authorizations | Table::Grants | Table::PushedRequests => "'00000000-0000-0000-0000-000000000000'",
        Table::Clients | Table::LastPurge | Table::Replays => "''",
    }
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
