//! The schema of the tables, and its version.

use tokio_postgres::{Client, GenericClient};

use crate::secret::Digest;
use crate::store::postgres::columns::key_type;
use crate::store::postgres::error::{PostgresError, PostgresProblem};
use crate::store::{Lists, Table};

/// The version that this release makes and knows. A release that adds a table raises it.
const VERSION: u32 = 1;
/// The least version that a release must know to work with the tables as this release makes them.
const USABLE_FROM: u32 = 1;

const NAME_BYTES: usize = 63;

/// A schema's name, quoted.
#[derive(Clone, Debug)]
pub(super) struct Schema {
    name: String,
    quoted: String,
    lock: i64,
}

impl Schema {
    pub(super) fn new(name: &str) -> Result<Self, PostgresError> {
        let reserved = name.starts_with("pg_") || name == "information_schema";
        if name.is_empty() || name.len() > NAME_BYTES || reserved || name.contains('\0') {
            return Err(PostgresProblem::SchemaName.into());
        }
        let digest = Digest::of(format!("grantor schema {name}").as_bytes());
        let lock = digest.bytes().first_chunk().map_or(0, |bytes| i64::from_be_bytes(*bytes));
        Ok(Self { name: name.to_owned(), quoted: format!("\"{}\"", name.replace('"', "\"\"")), lock })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Puts the name into a statement where it says `{schema}`.
    pub(super) fn sql(&self, template: &str) -> String {
        template.replace("{schema}", &self.quoted)
    }

    /// Checks that this release can work with the tables.
    pub(super) async fn check(&self, client: &(impl GenericClient + Sync)) -> Result<(), PostgresError> {
        let Some(found) = self.found(client).await? else { return Err(PostgresProblem::SchemaMissing.into()) };
        if found.usable_from > VERSION {
            return Err(PostgresProblem::SchemaTooNew { needed: found.usable_from, known: VERSION }.into());
        }
        if found.version < VERSION {
            return Err(PostgresProblem::SchemaOutdated { found: found.version, needed: VERSION }.into());
        }
        Ok(())
    }

    /// Creates the tables that are missing, in one transaction. A concurrent migration waits
    /// and finds them done.
    pub(super) async fn migrate(&self, client: &mut Client) -> Result<(), PostgresError> {
        let Err(error) = self.check(client).await else { return Ok(()) };
        if !matches!(error.problem(), PostgresProblem::SchemaMissing | PostgresProblem::SchemaOutdated { .. }) {
            return Err(error);
        }
        let transaction = client.transaction().await?;
        transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&self.lock]).await?;
        let found = self.found(&transaction).await?;
        if found.is_none() {
            self.make_schema(&transaction).await?;
        }
        let version = found.map_or(0, |found| found.version);
        for table in Table::ALL {
            if !self.has(&transaction, table.as_str()).await? {
                transaction.batch_execute(&self.sql(&text(table))).await?;
            }
        }
        if version < VERSION {
            let record = self.sql("UPDATE {schema}.schema_version SET version = $1, usable_from = $2");
            let (made, usable_from) = (i64::from(VERSION), i64::from(USABLE_FROM));
            transaction.execute(&record, &[&made, &usable_from]).await?;
        }
        Ok(transaction.commit().await?)
    }

    async fn make_schema(&self, client: &(impl GenericClient + Sync)) -> Result<(), PostgresError> {
        let there = "SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1";
        if client.query(there, &[&self.name]).await?.is_empty() {
            client.batch_execute(&self.sql("CREATE SCHEMA {schema}")).await?;
        }
        let table = "CREATE TABLE {schema}.schema_version (version bigint NOT NULL, usable_from bigint NOT NULL);
            INSERT INTO {schema}.schema_version VALUES (0, 0)";
        Ok(client.batch_execute(&self.sql(table)).await?)
    }

    /// Returns whether there is a table of that name.
    async fn has(&self, client: &(impl GenericClient + Sync), table: &str) -> Result<bool, PostgresError> {
        // Reads the catalogue's own rows: functions may return a state from before the lock was acquired.
        let there = "SELECT FROM pg_catalog.pg_class AS own JOIN pg_catalog.pg_namespace AS place
            ON place.oid = own.relnamespace WHERE place.nspname = $1 AND own.relname = $2";
        Ok(!client.query(there, &[&self.name, &table]).await?.is_empty())
    }

    async fn found(&self, client: &(impl GenericClient + Sync)) -> Result<Option<Found>, PostgresError> {
        if !self.has(client, "schema_version").await? {
            return Ok(None);
        }
        let row = client.query_one(&self.sql("SELECT version, usable_from FROM {schema}.schema_version"), &[]).await?;
        let number = |column| -> Result<u32, PostgresError> {
            let number: i64 = row.try_get(column)?;
            u32::try_from(number).map_err(|error| PostgresError::new(PostgresProblem::Database, error))
        };
        Ok(Some(Found { version: number(0)?, usable_from: number(1)? }))
    }
}

/// Returns the statements that create a table.
fn text(table: Table) -> String {
    let lists = match table.lists() {
        Lists::None => "",
        Lists::One => include_str!("one_list.sql"),
        Lists::Many => include_str!("many_lists.sql"),
    };
    [include_str!("table.sql"), lists].concat().replace("{table}", table.as_str()).replace("{key}", key_type(table))
}

struct Found {
    version: u32,
    usable_from: u32,
}
