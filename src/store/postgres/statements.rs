//! Every statement that runs while the store serves, and the order of its parameters.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::iter::once;

use bytes::BytesMut;
use tokio_postgres::types::{Format, IsNull, ToSql, Type};
use tokio_postgres::{Client, Row, Statement};

use crate::store::postgres::columns::{Column, array_of, key_type, least_key, written};
use crate::store::postgres::jobs::Action;
use crate::store::postgres::schema::Schema;
use crate::store::{Lists, Table};

/// The statements of a connection.
#[derive(Debug)]
pub(super) struct Statements<K>(BTreeMap<K, Sent>);

/// The statements of the reading connection.
pub(super) type ReadStatements = Statements<Select>;

/// The statements of the writing connection.
pub(super) type WriteStatements = Statements<Written>;

/// How a statement is sent.
#[derive(Debug)]
pub(super) enum Sent {
    Prepared(Statement),
    /// Sent as text each time: behind a pooler, the next call may be in another session.
    Text(String, Vec<Type>),
}

/// The text of a statement, and the types of its parameters.
type Typed = (String, Vec<Type>);

/// A statement that reads. The functions below describe its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Select {
    Row(Table),
    /// Several rows, by an array of keys.
    Rows(Table),
    List(Table),
    /// Several lists, by arrays.
    Lists(Table),
}

/// A write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Written {
    /// The write of one row. Values cost the server less than arrays with one value each.
    One(Table, Action),
    /// The writes of several rows, in arrays.
    Many(Table, Action),
    Purge(Table),
}

impl<K: Ord> Statements<K> {
    /// Prepares the statements, if there is a client whose session is not shared.
    async fn from_texts(
        client: Option<&Client>,
        schema: &Schema,
        texts: impl Iterator<Item = (K, Typed)> + Send,
    ) -> Result<Self, tokio_postgres::Error> {
        let mut statements = BTreeMap::new();
        for (key, (text, types)) in texts {
            let text = schema.sql(&text);
            let sent = match client {
                Some(client) => Sent::Prepared(client.prepare_typed(&text, &types).await?),
                None => Sent::Text(text, types),
            };
            statements.insert(key, sent);
        }
        Ok(Self(statements))
    }

    /// Returns a statement.
    pub(super) fn of(&self, key: K) -> Option<&Sent> {
        self.0.get(&key)
    }
}

impl ReadStatements {
    pub(super) async fn build(client: Option<&Client>, schema: &Schema) -> Result<Self, tokio_postgres::Error> {
        let of_table = |table: Table| {
            let one_list = (table.lists() != Lists::None).then(|| (Select::List(table), list(table)));
            let lists = (table.lists() == Lists::One).then(|| (Select::Lists(table), lists(table)));
            let rows = [(Select::Row(table), row(table)), (Select::Rows(table), rows(table))];
            rows.into_iter().chain(one_list).chain(lists)
        };
        Self::from_texts(client, schema, Table::ALL.into_iter().flat_map(of_table)).await
    }
}

impl WriteStatements {
    pub(super) async fn build(client: Option<&Client>, schema: &Schema) -> Result<Self, tokio_postgres::Error> {
        let of_table = |table| {
            let rows = Action::ALL.into_iter().flat_map(move |action| {
                let one = (Written::One(table, action), write(table, action, one(table, action)));
                // Rows with lists that move are written one by one.
                let many = || (Written::Many(table, action), write(table, action, many(table, action)));
                once(one).chain((table.lists() != Lists::Many).then(many))
            });
            rows.chain(once((Written::Purge(table), purge(table))))
        };
        Self::from_texts(client, schema, Table::ALL.into_iter().flat_map(of_table)).await
    }
}

fn name(table: Table) -> String {
    format!("{{schema}}.{}", table.as_str())
}

/// Parameter: the key. Returns, if there is such a row: 1, the key, the record.
fn row(table: Table) -> Typed {
    (format!("SELECT 1::bigint, key, record FROM {} WHERE key = $1", name(table)), vec![key_type(table)])
}

/// Parameter: an array of keys. Returns, for each row found: the number of its key in the array, from 1; the key; the
/// record.
///
/// The limit makes the planner look up each key, even if the table had one row when it made the plan.
fn rows(table: Table) -> Typed {
    let text = format!(
        "SELECT wanted.place, own.* FROM unnest($1) WITH ORDINALITY AS wanted(key, place)
        CROSS JOIN LATERAL (SELECT key, record FROM {} WHERE key = wanted.key LIMIT 1) AS own",
        name(table)
    );
    (text, vec![array_of(&key_type(table))])
}

/// Parameters: the list, the key after which it begins or none, and how many rows. Returns, for each row: 1, the key,
/// the record.
fn list(table: Table) -> Typed {
    let text = format!("SELECT 1::bigint, page.* FROM ({}) AS page", page(table, "$1", "$2"));
    (text, vec![Type::BYTEA, key_type(table), Type::INT8])
}

/// Parameters: an array of lists, an array with the key after which each begins or none, and how many rows of each.
/// Returns, for each row: the number of its list in the array, from 1; the key; the record.
fn lists(table: Table) -> Typed {
    let text = format!(
        "SELECT wanted.place, page.* FROM unnest($1, $2) WITH ORDINALITY AS wanted(list, after, place)
        CROSS JOIN LATERAL ({}) AS page",
        page(table, "wanted.list", "wanted.after")
    );
    (text, vec![Type::BYTEA_ARRAY, array_of(&key_type(table)), Type::INT8])
}

/// Selects keys and records of a list. The third parameter is how many.
fn page(table: Table, list: &str, after: &str) -> String {
    let rows = name(table);
    let (from, on, key) = match table.lists() {
        Lists::None | Lists::One => (format!("{rows} AS own"), "own.subject", "own.key"),
        Lists::Many => (format!("{rows}_lists AS listed JOIN {rows} AS own USING (key)"), "listed.list", "listed.key"),
    };
    format!(
        "SELECT own.key, own.record FROM {from} WHERE {on} = {list} AND {key} >= coalesce({after}, {}::{})
        AND {key} IS DISTINCT FROM {after} ORDER BY {key} LIMIT $3",
        least_key(table),
        key_type(table),
    )
}

/// Parameters: those of `new`, which is [`one`] or [`many`]; the time after which the write must not take effect,
/// since the server may have been suspended while the statement waited in its socket; and, if lists move, the names of
/// the row's lists. Returns the key of each applied write and, except for inserts, its place among the writes, counted
/// from 1.
///
/// A late statement fails with a division by zero.
fn write(table: Table, action: Action, (new, mut types): Typed) -> Typed {
    let count = types.len();
    let in_time = format!("1 / (statement_timestamp() < ${})::int = 1", count + 1);
    let rows = match action {
        Action::Insert => insert(table, &new, &in_time),
        Action::Replace => replace(table, &new, &in_time),
        Action::Confirm => confirm(table, &new, &in_time),
    };
    types.push(Type::TIMESTAMPTZ);
    if action.moves_lists(table) {
        types.push(Type::BYTEA_ARRAY);
        return (with_lists(table, &rows, types.len()), types);
    }
    (rows, types)
}

/// One write. Parameters: a value for each column of [`written`].
fn one(table: Table, action: Action) -> Typed {
    let values = numbered(table, action, |place, own| format!("${place}::{} AS {}", own.type_in(table), own.name));
    let types = written(table, action).map(|column| column.type_in(table)).collect();
    (format!("(SELECT {values}, 1::bigint AS place) AS new"), types)
}

/// Several writes. Parameters: an array for each column of [`written`].
fn many(table: Table, action: Action) -> Typed {
    let columns = names(table, action);
    let arrays = numbered(table, action, |place, own| format!("${place}::{}[]", own.type_in(table)));
    let types = written(table, action).map(|column| column.types_in(table)).collect();
    (format!("unnest({arrays}) WITH ORDINALITY AS new({columns}, place)"), types)
}

/// Writes each column of [`written`], given the number of its parameter.
fn numbered(table: Table, action: Action, text: impl Fn(usize, &Column) -> String) -> String {
    joined((1..).zip(written(table, action)).map(|(place, own)| text(place, own)))
}

fn insert(table: Table, new: &str, in_time: &str) -> String {
    let columns = names(table, Action::Insert);
    format!(
        "INSERT INTO {} ({columns}, due_check) SELECT {columns}, due FROM {new} WHERE {in_time}
        ON CONFLICT (key) DO NOTHING RETURNING key",
        name(table)
    )
}

fn replace(table: Table, new: &str, in_time: &str) -> String {
    let stored = written(table, Action::Replace).filter(|column| column.is_stored());
    let stored = stored.map(|Column { name, .. }| format!("{name} = new.{name}"));
    format!(
        "UPDATE {} AS old SET {}, due_check = least(old.due_check, new.due)
        FROM {new} WHERE old.key = new.key AND old.version = new.expected AND {in_time} RETURNING old.key, new.place",
        name(table),
        joined(stored),
    )
}

fn confirm(table: Table, new: &str, in_time: &str) -> String {
    format!(
        "UPDATE {} AS old SET version = old.version FROM {new} WHERE old.key = new.key
        AND old.version = new.expected AND old.version = new.version AND old.record = new.record AND {in_time}
        RETURNING old.key, new.place",
        name(table)
    )
}

/// Writes the lists of the row too, if it was written. Such a statement writes one row.
fn with_lists(table: Table, rows: &str, lists: usize) -> String {
    let listed = format!("{}_lists", name(table));
    format!(
        "WITH put AS ({rows}), gone AS (
            DELETE FROM {listed} AS old USING put
            WHERE old.key = put.key AND old.list <> ALL (${lists}::bytea[])
        ), listed AS (
            INSERT INTO {listed} (list, key)
            SELECT new.list, put.key FROM put, unnest(${lists}::bytea[]) AS new(list) ON CONFLICT DO NOTHING
        ) SELECT * FROM put"
    )
}

/// Parameters: the time and how many rows may be examined. Returns the counts of rows examined and removed.
///
/// `due` is the exact time from which a row may be removed. Every refresh writes it, so no index has it. `due_check`
/// has an index, and moves only when a purge examines the row, or when the row is due sooner.
///
/// Rows that another server is writing are skipped. A locked row has its latest version, so that no row is removed
/// whose due time has moved to later.
fn purge(table: Table) -> Typed {
    let left = match table.lists() {
        Lists::None | Lists::One => "",
        Lists::Many => ", left_lists AS (DELETE FROM {table}_lists AS old USING gone WHERE old.key = gone.key)",
    };
    let text = "WITH due AS (
            SELECT key, due FROM {table} WHERE due_check <= $1
            ORDER BY due_check LIMIT $2 FOR UPDATE SKIP LOCKED
        ), gone AS (
            DELETE FROM {table} AS old USING due WHERE old.key = due.key AND due.due <= $1 RETURNING old.key
        ){left}, moved AS (
            UPDATE {table} AS old SET due_check = due.due
            FROM due WHERE old.key = due.key AND (due.due <= $1) IS NOT TRUE
        ) SELECT (SELECT count(*) FROM due), (SELECT count(*) FROM gone)";
    (text.replace("{left}", left).replace("{table}", &name(table)), vec![Type::TIMESTAMPTZ, Type::INT8])
}

/// Returns the names of the columns of [`written`].
fn names(table: Table, action: Action) -> String {
    joined(written(table, action).map(|column| column.name.to_owned()))
}

fn joined(texts: impl Iterator<Item = String>) -> String {
    texts.collect::<Vec<_>>().join(", ")
}

pub(super) type Parameter<'p> = &'p (dyn ToSql + Sync);

/// Sends one statement and waits for its rows.
///
/// The client library logs the `Debug` text of parameters. One of them is the client id of a request, which may be a
/// secret in the wrong parameter.
pub(super) async fn query(
    client: &Client,
    statement: &Sent,
    parameters: &[Parameter<'_>],
) -> Result<Vec<Row>, tokio_postgres::Error> {
    let unlogged: Vec<_> = parameters.iter().map(|parameter| Unlogged(*parameter)).collect();
    let parameters = unlogged.iter().map(|own| -> Parameter<'_> { own });
    match statement {
        Sent::Prepared(statement) => client.query(statement, &parameters.collect::<Vec<_>>()).await,
        Sent::Text(text, types) => {
            let typed: Vec<_> = parameters.zip(types.iter().cloned()).collect();
            client.query_typed(text, &typed).await
        }
    }
}

/// A parameter without a `Debug` text.
struct Unlogged<'p>(Parameter<'p>);

impl fmt::Debug for Unlogged<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl ToSql for Unlogged<'_> {
    fn to_sql(&self, column: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        self.0.to_sql_checked(column, out)
    }

    /// The parameter itself is checked when it is written.
    fn accepts(_: &Type) -> bool {
        true
    }

    fn to_sql_checked(&self, column: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        self.0.to_sql_checked(column, out)
    }

    fn encode_format(&self, column: &Type) -> Format {
        self.0.encode_format(column)
    }
}
