//! The columns of the tables, and what writes put into them.

use std::error::Error;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::{BufMut, BytesMut};
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::base::clock::Timestamp;
use crate::base::id::{ClientId, Subject};
use crate::model::application::Application;
use crate::model::{
    ApplicationLogo, Authorization, DeviceRequest, Grant, InitialToken, LastPurge, PushedRequest, Replay,
    UserCodeRecord,
};
use crate::store::postgres::jobs::{Action, RowWrite};
use crate::store::{Lists, Record, Table, kinds};

/// A column, and what a write puts into it.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) name: &'static str,
    value_type: Type,
    value: fn(&RowWrite) -> Value<'_>,
}

/// What each write of a statement names, in the order of its parameters: the row's key and the version that it must
/// have, then the columns that an insert fills and a replacement changes, in every table.
static COLUMNS: [Column; 11] = [
    // The type of a key depends on the table.
    Column::new(KEY, Type::BYTEA, |own| Value::Bytes(Some(&own.write.key))),
    Column::new(EXPECTED, Type::INT8, |own| Value::Number(own.expected.into())),
    Column::new("version", Type::INT8, |own| Value::Number(own.write.version.into())),
    Column::new("created", Type::TIMESTAMPTZ, |own| Value::Time(own.write.columns.created)),
    Column::new("due", Type::TIMESTAMPTZ, |own| Value::Time(own.write.due)),
    Column::new("ended_at", Type::TIMESTAMPTZ, |own| Value::Time(own.write.columns.ended.map(|ended| ended.at))),
    Column::new("client", Type::TEXT, |own| Value::text(own.write.columns.client.as_ref().map(ClientId::as_str))),
    Column::new("subject", Type::BYTEA, |own| Value::text(own.write.columns.subject.as_ref().map(Subject::as_str))),
    Column::new("record", Type::BYTEA, |own| Value::Bytes(Some(&own.write.record))),
    Column::new("state", Type::TEXT, |own| Value::text(Some(own.write.columns.state))),
    Column::new("ended_why", Type::TEXT, |own| Value::text(own.write.columns.ended.map(|ended| ended.why))),
];
const KEY: &str = "key";
const EXPECTED: &str = "expected";

/// Returns all columns that a write of that kind names, in the order of a statement's parameters.
pub(super) fn written(table: Table, action: Action) -> impl Iterator<Item = &'static Column> {
    COLUMNS.iter().filter(move |column| column.is_named(table, action))
}

/// The value of a parameter for one call, or an array with the values of several.
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
    const fn new(name: &'static str, value_type: Type, value: fn(&RowWrite) -> Value<'_>) -> Self {
        Self { name, value_type, value }
    }

    pub(super) fn type_in(&self, table: Table) -> Type {
        if self.name == KEY { key_type(table) } else { self.value_type.clone() }
    }

    /// Returns the type of the values of several writes.
    pub(super) fn types_in(&self, table: Table) -> Type {
        array_of(&self.type_in(table))
    }

    /// Returns whether the table has the column.
    pub(super) fn is_stored(&self) -> bool {
        ![KEY, EXPECTED].contains(&self.name)
    }

    /// Whether a write of that kind names the column. A row that leaves no list keeps its client too.
    fn is_named(&self, table: Table, action: Action) -> bool {
        match action {
            Action::Insert => self.name != EXPECTED,
            Action::Replace => table.lists() == Lists::Many || !["created", "client", "subject"].contains(&self.name),
            Action::Confirm => [KEY, EXPECTED, "version", "record"].contains(&self.name),
        }
    }

    pub(super) fn values<'w>(&self, writes: &[&'w RowWrite]) -> Value<'w> {
        Value::of_each(writes, |own| (self.value)(own))
    }
}

/// Returns the array type of a column type.
pub(super) const fn array_of(value_type: &Type) -> Type {
    match *value_type {
        Type::INT8 => Type::INT8_ARRAY,
        Type::TEXT => Type::TEXT_ARRAY,
        Type::TIMESTAMPTZ => Type::TIMESTAMPTZ_ARRAY,
        Type::UUID => Type::UUID_ARRAY,
        _ => Type::BYTEA_ARRAY,
    }
}

impl<'w> Value<'w> {
    /// Returns the value itself for one item, otherwise an array with the value of each.
    pub(super) fn of_each<'a, T>(all: &'a [T], value: impl Fn(&'a T) -> Self) -> Self {
        match all {
            [only] => value(only),
            _ => Self::Each(all.iter().map(value).collect()),
        }
    }

    fn text(text: Option<&'w str>) -> Self {
        Self::Bytes(text.map(str::as_bytes))
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
        pub(super) fn key_type(table: Table) -> Type {
            match table {
                $(Table::$table => if size_of::<<$record as Record>::Key>() == 16 { Type::UUID } else { Type::BYTEA },)*
            }
        }
    };
}

kinds!(define_key_type);

/// Returns the smallest key, as a literal.
pub(super) fn least_key(table: Table) -> &'static str {
    if key_type(table) == Type::UUID { "'00000000-0000-0000-0000-000000000000'" } else { "''" }
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
