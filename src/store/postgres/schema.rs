//! The schema of the tables, and its version.

use tokio_postgres::types::Type;
use tokio_postgres::{Client, GenericClient, IsolationLevel};

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

    /// Creates the tables that are missing, in one transaction with those settings. A concurrent migration waits and
    /// finds them done.
    pub(super) async fn migrate(&self, client: &mut Client, settings: &str) -> Result<(), PostgresError> {
        let Err(error) = self.check(client).await else { return Ok(()) };
        if !matches!(error.problem(), PostgresProblem::SchemaMissing | PostgresProblem::SchemaOutdated { .. }) {
            return Err(error);
        }
        let transaction = client.build_transaction().isolation_level(IsolationLevel::ReadCommitted).start().await?;
        transaction.batch_execute(settings).await?;
        let lock = format!("SELECT pg_advisory_xact_lock({})", self.lock);
        transaction.batch_execute(&lock).await?;
        match self.found(&transaction).await?.map(|found| found.version) {
            None => self.make(&transaction).await?,
            Some(version) if version < VERSION => self.raise(&transaction).await?,
            Some(_) => {}
        }
        Ok(transaction.commit().await?)
    }

    async fn make(&self, client: &(impl GenericClient + Sync)) -> Result<(), PostgresError> {
        // The user may lack the right to create a schema that is there.
        let there = "SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1";
        if client.query_typed(there, &[(&self.name, Type::TEXT)]).await?.is_empty() {
            client.batch_execute(&self.sql("CREATE SCHEMA {schema}")).await?;
        }
        Ok(client.batch_execute(&self.tables()).await?)
    }

    async fn raise(&self, client: &(impl GenericClient + Sync)) -> Result<(), PostgresError> {
        for table in Table::ALL {
            if !self.has(client, table.as_str()).await? {
                client.batch_execute(&self.sql(&text(table))).await?;
            }
        }
        let record = format!("UPDATE {{schema}}.schema_version SET version = {VERSION}, usable_from = {USABLE_FROM}");
        Ok(client.batch_execute(&self.sql(&record)).await?)
    }

    /// Returns the statements that make the schema with its tables.
    pub(super) fn text(&self) -> String {
        self.sql("CREATE SCHEMA IF NOT EXISTS {schema};\n") + &self.tables()
    }

    fn tables(&self) -> String {
        let version = format!(
            "CREATE TABLE {{schema}}.schema_version (version bigint NOT NULL, usable_from bigint NOT NULL);
INSERT INTO {{schema}}.schema_version VALUES ({VERSION}, {USABLE_FROM});\n"
        );
        self.sql(&(version + &Table::ALL.map(text).concat()))
    }

    /// Returns whether there is a table of that name.
    async fn has(&self, client: &(impl GenericClient + Sync), table: &str) -> Result<bool, PostgresError> {
        // Reads the catalogue's own rows: functions may return a state from before the lock was acquired.
        let there = "SELECT FROM pg_catalog.pg_class AS own JOIN pg_catalog.pg_namespace AS place
            ON place.oid = own.relnamespace WHERE place.nspname = $1 AND own.relname = $2";
        Ok(!client.query_typed(there, &[(&self.name, Type::TEXT), (&table, Type::TEXT)]).await?.is_empty())
    }

    async fn found(&self, client: &(impl GenericClient + Sync)) -> Result<Option<Found>, PostgresError> {
        if !self.has(client, "schema_version").await? {
            return Ok(None);
        }
        let text = self.sql("SELECT version, usable_from FROM {schema}.schema_version");
        let row = client.query_typed_one(&text, &[]).await?;
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
    [include_str!("table.sql"), lists]
        .concat()
        .replace("{table}", table.as_str())
        .replace("{key}", key_type(table).name())
}

struct Found {
    version: u32,
    usable_from: u32,
}
