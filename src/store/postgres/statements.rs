//! Every statement that runs while the store serves, and its parameters' order.
//!
//! The last parameter of a write is the time after which it must not take effect: the server may have
//! been standing still while the statement lay in its socket. A statement that comes late divides by zero.

use tokio_postgres::{Client, Error, Statement};

use crate::store::postgres::schema::Schema;

const IN_TIME: &str = "1 / (statement_timestamp() < {last})::int = 1";

/// The two tables of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    Authorizations,
    Grants,
}

impl Table {
    const fn name(self) -> &'static str {
        match self {
            Self::Authorizations => "authorizations",
            Self::Grants => "grants",
        }
    }

    /// The columns of an insert, in the order of its parameters, each with its type.
    const fn inserted(self) -> &'static [Column] {
        const COLUMNS: [Column; 9] = [
            ("id", "uuid"),
            ("version", "bigint"),
            ("created", "timestamptz"),
            ("purge_after", "timestamptz"),
            ("client", "text"),
            ("subject", "bytea"),
            ("record", "bytea"),
            ("revoked_at", "timestamptz"),
            ("revoked_why", "text"),
        ];
        let [own @ .., _, _] = &COLUMNS;
        match self {
            Self::Authorizations => own,
            Self::Grants => &COLUMNS,
        }
    }

    /// The columns that a replacement changes, in the order of its parameters, after id and version.
    const fn replaced(self) -> &'static [Column] {
        const COLUMNS: [Column; 5] = [
            ("version", "bigint"),
            ("purge_after", "timestamptz"),
            ("record", "bytea"),
            ("revoked_at", "timestamptz"),
            ("revoked_why", "text"),
        ];
        let [own @ .., _, _] = &COLUMNS;
        match self {
            Self::Authorizations => own,
            Self::Grants => &COLUMNS,
        }
    }
}

/// A column's name and type.
type Column = (&'static str, &'static str);

/// What the reading connection has prepared.
#[derive(Debug)]
pub(super) struct Reads {
    pub(super) authorizations: ReadsOfTable,
    pub(super) grants: ReadsOfTable,
    pub(super) client: Statement,
    pub(super) application: Statement,
    pub(super) logo: Statement,
    pub(super) proposed_logo: Statement,
    pub(super) applications: Statement,
}

#[derive(Debug)]
pub(super) struct ReadsOfTable {
    pub(super) find: Statement,
    pub(super) list: Statement,
}

impl Reads {
    pub(super) async fn prepare(client: &Client, schema: &Schema) -> Result<Self, Error> {
        let of_client = async |column: &str| {
            client.prepare(&schema.sql(&format!("SELECT {column} FROM {{schema}}.clients WHERE id = $1"))).await
        };
        let listed = "SELECT shown.application FROM {schema}.applications_listed AS listed
            JOIN {schema}.clients AS shown ON shown.id = listed.client
            WHERE listed.filter = $1 AND listed.client > $2 ORDER BY listed.client LIMIT $3";
        Ok(Self {
            authorizations: ReadsOfTable::prepare(client, schema, Table::Authorizations).await?,
            grants: ReadsOfTable::prepare(client, schema, Table::Grants).await?,
            client: of_client("client").await?,
            application: of_client("application").await?,
            logo: of_client("logo").await?,
            proposed_logo: of_client("proposed_logo").await?,
            applications: client.prepare(&schema.sql(listed)).await?,
        })
    }
}

impl ReadsOfTable {
    async fn prepare(client: &Client, schema: &Schema, table: Table) -> Result<Self, Error> {
        let table = schema.sql(&format!("{{schema}}.{}", table.name()));
        let list = "WHERE subject = $1 AND id >= $2 ORDER BY id LIMIT $3";
        Ok(Self {
            find: client.prepare(&format!("SELECT record FROM {table} WHERE id = $1")).await?,
            list: client.prepare(&format!("SELECT record, id FROM {table} {list}")).await?,
        })
    }
}

/// What the writing connection has prepared.
#[derive(Debug)]
pub(super) struct Writes {
    authorizations: WritesOfTable,
    grants: WritesOfTable,
    pub(super) insert_client: Statement,
    pub(super) replace_client: Statement,
}

#[derive(Debug)]
pub(super) struct WritesOfTable {
    pub(super) insert: Statement,
    pub(super) insert_many: Statement,
    pub(super) replace: Statement,
    pub(super) replace_many: Statement,
    pub(super) purge: Statement,
}

impl Writes {
    pub(super) async fn prepare(client: &Client, schema: &Schema) -> Result<Self, Error> {
        let insert_client = in_time(
            "WITH put AS (
                INSERT INTO {schema}.clients
                    (id, version, state, applicant, submitted, client, application, logo, proposed_logo)
                SELECT $1::text, $2::bigint, $3::text, $4::bytea, $5::timestamptz, $6::bytea, $7::bytea, $8::bytea,
                    $9::bytea
                WHERE {in_time}
                ON CONFLICT (id) DO NOTHING RETURNING id
            ), listed AS (
                INSERT INTO {schema}.applications_listed (filter, client)
                SELECT filter, put.id FROM put, unnest($10::bytea[]) AS filter
            ) SELECT id FROM put",
            11,
        );
        let replace_client = in_time(
            "WITH put AS (
                UPDATE {schema}.clients SET version = $3, state = $4, applicant = $5, submitted = $6,
                    client = $7, application = $8,
                    logo = CASE WHEN $9 THEN logo ELSE $10 END,
                    proposed_logo = CASE WHEN $11 THEN proposed_logo ELSE $12 END
                WHERE id = $1 AND version = $2 AND {in_time} RETURNING id
            ), gone AS (
                DELETE FROM {schema}.applications_listed AS listed USING put
                WHERE listed.client = put.id AND listed.filter <> ALL ($13::bytea[])
            ), listed AS (
                INSERT INTO {schema}.applications_listed (filter, client)
                SELECT filter, put.id FROM put, unnest($13::bytea[]) AS filter
                ON CONFLICT (filter, client) DO NOTHING
            ) SELECT id FROM put",
            14,
        );
        Ok(Self {
            authorizations: WritesOfTable::prepare(client, schema, Table::Authorizations).await?,
            grants: WritesOfTable::prepare(client, schema, Table::Grants).await?,
            insert_client: client.prepare(&schema.sql(&insert_client)).await?,
            replace_client: client.prepare(&schema.sql(&replace_client)).await?,
        })
    }

    pub(super) const fn of(&self, table: Table) -> &WritesOfTable {
        match table {
            Table::Authorizations => &self.authorizations,
            Table::Grants => &self.grants,
        }
    }
}

impl WritesOfTable {
    async fn prepare(client: &Client, schema: &Schema, table: Table) -> Result<Self, Error> {
        let prepare = async |text: String| client.prepare(&schema.sql(&text)).await;
        Ok(Self {
            insert: prepare(insert(table)).await?,
            insert_many: prepare(insert_many(table)).await?,
            replace: prepare(replace(table)).await?,
            replace_many: prepare(replace_many(table)).await?,
            purge: prepare(purge(table)).await?,
        })
    }
}

fn insert(table: Table) -> String {
    let columns = table.inserted();
    let names = list(columns, |_, (name, _)| name.to_owned());
    let values = list(columns, |place, (_, of)| format!("${place}::{of}"));
    let text = format!(
        "INSERT INTO {{schema}}.{} ({names}, purge_check) SELECT {values}, $4 WHERE {{in_time}}
        ON CONFLICT (id) DO NOTHING RETURNING id",
        table.name(),
    );
    in_time(&text, columns.len() + 1)
}

fn insert_many(table: Table) -> String {
    let columns = table.inserted();
    let names = list(columns, |_, (name, _)| name.to_owned());
    let arrays = list(columns, |place, (_, of)| format!("${place}::{of}[]"));
    let text = format!(
        "INSERT INTO {{schema}}.{} ({names}, purge_check) SELECT {names}, purge_after
        FROM unnest({arrays}) AS new({names}) WHERE {{in_time}} ON CONFLICT (id) DO NOTHING RETURNING id",
        table.name(),
    );
    in_time(&text, columns.len() + 1)
}

fn replace(table: Table) -> String {
    let columns = table.replaced();
    let changes = list(columns, |place, (name, _)| format!("{name} = ${}", place + 2));
    let text = format!(
        "UPDATE {{schema}}.{} SET {changes} WHERE id = $1 AND version = $2 AND {{in_time}} RETURNING id",
        table.name()
    );
    in_time(&text, columns.len() + 3)
}

/// Answers the places of the winners, counted from 1.
fn replace_many(table: Table) -> String {
    let columns = table.replaced();
    let names = list(columns, |_, (name, _)| name.to_owned());
    let arrays = list(columns, |place, (_, of)| format!("${}::{of}[]", place + 2));
    let changes = list(columns, |_, (name, _)| format!("{name} = new.{name}"));
    let text = format!(
        "UPDATE {{schema}}.{} AS old SET {changes}
        FROM unnest($1::uuid[], $2::bigint[], {arrays}) WITH ORDINALITY AS new(id, expected, {names}, place)
        WHERE old.id = new.id AND old.version = new.expected AND {{in_time}} RETURNING new.place",
        table.name(),
    );
    in_time(&text, columns.len() + 3)
}

/// One step: rows that another server is at are left to it. Those that are locked here are as their
/// last writer left them, so that nothing is removed that lives longer by now.
fn purge(table: Table) -> String {
    let text = "WITH due AS (
            SELECT id, purge_after FROM {table} WHERE purge_check <= $1
            ORDER BY purge_check LIMIT $2 FOR UPDATE SKIP LOCKED
        ), gone AS (
            DELETE FROM {table} AS old USING due WHERE old.id = due.id AND due.purge_after <= $1 RETURNING 1
        ), moved AS (
            UPDATE {table} AS old SET purge_check = due.purge_after
            FROM due WHERE old.id = due.id AND due.purge_after > $1
        ) SELECT (SELECT count(*) FROM due), (SELECT count(*) FROM gone)";
    text.replace("{table}", &format!("{{schema}}.{}", table.name()))
}

fn in_time(text: &str, last: usize) -> String {
    text.replace("{in_time}", IN_TIME).replace("{last}", &format!("${last}"))
}

/// Writes each column as told, with its place counted from 1.
fn list(columns: &[Column], write: impl Fn(usize, Column) -> String) -> String {
    columns.iter().zip(1..).map(|(column, place)| write(place, *column)).collect::<Vec<_>>().join(", ")
}
