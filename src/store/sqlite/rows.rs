//! Rows of grants and of authorizations, whose tables have the same shape.

use std::sync::{Arc, LazyLock};

use rusqlite::{OptionalExtension, params};

use crate::store::record::{Authorization, Grant, Record, Revocation};
use crate::store::sqlite::session::{Call, Session};
use crate::store::{Insertion, Replacement};
use crate::subject::Subject;

/// A record with a table of its own.
pub(super) trait Tabled: Record {
    fn statements() -> &'static Statements;

    /// Returns the count of rows that were added.
    fn insert(&self, octets: &[u8], session: &mut Session<'_>) -> rusqlite::Result<usize>;

    /// Returns the count of rows that were changed.
    fn replace(&self, version: u32, octets: &[u8], session: &mut Session<'_>) -> rusqlite::Result<usize>;
}

/// What is asked of both tables alike.
pub(super) struct Statements {
    pub(super) find: String,
    pub(super) list: String,
    /// Keys, versions and records that the index says are due, the oldest first.
    pub(super) due: String,
    /// Only ever to a later time: a row is met when its index is past, and is moved when its own time is not.
    pub(super) postpone: String,
    pub(super) remove: String,
}

impl Statements {
    fn of(table: &str) -> Self {
        Self {
            find: format!("SELECT record FROM {table} WHERE id = ?1"),
            list: format!("SELECT id, record FROM {table} WHERE subject = ?1 AND id > ?2 ORDER BY id LIMIT ?3"),
            due: format!(
                "SELECT id, version, record FROM {table} WHERE purge_check <= ?1 ORDER BY purge_check LIMIT ?2"
            ),
            postpone: format!("UPDATE {table} SET purge_check = ?2 WHERE id = ?1"),
            remove: format!("DELETE FROM {table} WHERE id = ?1 AND version = ?2"),
        }
    }
}

impl Tabled for Grant {
    fn statements() -> &'static Statements {
        static OF_GRANTS: LazyLock<Statements> = LazyLock::new(|| Statements::of("grantor_grants"));
        &OF_GRANTS
    }

    fn insert(&self, octets: &[u8], session: &mut Session<'_>) -> rusqlite::Result<usize> {
        let statement = session.statement(
            "INSERT INTO grantor_grants
             (id, version, client, subject, created, purge_check, revoked_at, revoked_why, record)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (id) DO NOTHING",
        )?;
        let (revoked_at, revoked_why) = columns(self.revoked);
        statement.execute(params![
            self.id.octets(),
            self.version,
            self.client.as_str(),
            self.subject.as_str(),
            self.created.seconds(),
            self.purge_after().seconds(),
            revoked_at,
            revoked_why,
            octets,
        ])
    }

    fn replace(&self, version: u32, octets: &[u8], session: &mut Session<'_>) -> rusqlite::Result<usize> {
        let statement = session.statement(
            "UPDATE grantor_grants SET version = ?3, revoked_at = ?4, revoked_why = ?5, record = ?6
             WHERE id = ?1 AND version = ?2",
        )?;
        let (revoked_at, revoked_why) = columns(self.revoked);
        statement.execute(params![self.id.octets(), version, self.version, revoked_at, revoked_why, octets])
    }
}

impl Tabled for Authorization {
    fn statements() -> &'static Statements {
        static OF_AUTHORIZATIONS: LazyLock<Statements> = LazyLock::new(|| Statements::of("grantor_authorizations"));
        &OF_AUTHORIZATIONS
    }

    fn insert(&self, octets: &[u8], session: &mut Session<'_>) -> rusqlite::Result<usize> {
        let statement = session.statement(
            "INSERT INTO grantor_authorizations (id, version, client, subject, created, purge_check, record)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (id) DO NOTHING",
        )?;
        statement.execute(params![
            self.id.octets(),
            self.version,
            self.client.as_str(),
            self.subject.as_str(),
            self.created.seconds(),
            self.purge_after().seconds(),
            octets,
        ])
    }

    fn replace(&self, version: u32, octets: &[u8], session: &mut Session<'_>) -> rusqlite::Result<usize> {
        let statement = session
            .statement("UPDATE grantor_authorizations SET version = ?3, record = ?4 WHERE id = ?1 AND version = ?2")?;
        statement.execute(params![self.id.octets(), version, self.version, octets])
    }
}

/// Reads one row by its key.
pub(super) struct Find {
    pub(super) sql: &'static str,
    pub(super) id: [u8; 16],
}

impl Call for Find {
    type Answer = Option<Vec<u8>>;

    fn run(&self, session: &mut Session<'_>) -> rusqlite::Result<Self::Answer> {
        session.statement(self.sql)?.query_row([&self.id[..]], |row| row.get(0)).optional()
    }
}

/// Reads rows of one subject, ids ascending.
pub(super) struct List {
    pub(super) sql: &'static str,
    pub(super) subject: Subject,
    pub(super) after: Option<[u8; 16]>,
    pub(super) limit: usize,
}

impl Call for List {
    /// Keys and records.
    type Answer = Vec<([u8; 16], Vec<u8>)>;

    fn run(&self, session: &mut Session<'_>) -> rusqlite::Result<Self::Answer> {
        // The empty key comes before all others.
        let after = self.after.as_ref().map_or(&[][..], |id| &id[..]);
        let statement = session.statement(self.sql)?;
        let values = params![self.subject.as_str(), after, as_limit(self.limit)];
        statement.query_map(values, |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    }
}

/// Adds a row, if there is none of its key.
pub(super) struct Insert<R> {
    octets: Vec<u8>,
    record: Arc<R>,
}

impl<R: Tabled> Insert<R> {
    /// Encodes in the thread of the caller, so that the one writer has less to do.
    pub(super) fn new(record: Arc<R>) -> Self {
        Self { octets: record.encode(), record }
    }
}

impl<R: Tabled> Call for Insert<R> {
    type Answer = Insertion;

    fn run(&self, session: &mut Session<'_>) -> rusqlite::Result<Insertion> {
        let rows = self.record.insert(&self.octets, session)?;
        Ok(if rows == 0 { Insertion::Exists } else { Insertion::Inserted })
    }
}

/// Puts a row in the place of the one of that version.
pub(super) struct Replace<R> {
    octets: Vec<u8>,
    version: u32,
    record: Arc<R>,
}

impl<R: Tabled> Replace<R> {
    pub(super) fn new(version: u32, record: Arc<R>) -> Self {
        Self { octets: record.encode(), version, record }
    }
}

impl<R: Tabled> Call for Replace<R> {
    type Answer = Replacement;

    fn run(&self, session: &mut Session<'_>) -> rusqlite::Result<Replacement> {
        let rows = self.record.replace(self.version, &self.octets, session)?;
        Ok(if rows == 0 { Replacement::Lost } else { Replacement::Replaced })
    }
}

pub(super) fn as_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

fn columns(revoked: Option<Revocation>) -> (Option<u32>, Option<&'static str>) {
    (revoked.map(|revoked| revoked.at.seconds()), revoked.map(|revoked| revoked.reason.as_str()))
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;
    use crate::store::sqlite::schema;

    /// Each statement finds its rows by an index and sorts nothing.
    #[test]
    fn what_a_statement_costs_does_not_depend_on_the_size_of_the_table() {
        fn plans<R: Tabled>(connection: &Connection) -> [String; 5] {
            let plan = |sql: &String| {
                let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
                let mut steps = statement.raw_query();
                let mut plan = String::new();
                while let Some(step) = steps.next().unwrap() {
                    plan.push_str(&step.get::<_, String>(3).unwrap());
                    plan.push(';');
                }
                plan
            };
            let Statements { find, list, due, postpone, remove } = R::statements();
            [find, list, due, postpone, remove].map(plan)
        }
        let connection = Connection::open_in_memory().unwrap();
        schema::migrate(&connection).unwrap();
        let expected = |table: &str| {
            let by = |index: String, on: &str| format!("SEARCH {table} USING INDEX {index} ({on});");
            let key = format!("sqlite_autoindex_{table}_1");
            [
                by(key.clone(), "id=?"),
                by(format!("{table}_of_subject"), "subject=? AND id>?"),
                by(format!("{table}_by_purge"), "purge_check<?"),
                by(key.clone(), "id=?"),
                by(key, "id=?"),
            ]
        };
        assert_eq!(plans::<Grant>(&connection), expected("grantor_grants"));
        assert_eq!(plans::<Authorization>(&connection), expected("grantor_authorizations"));
    }
}
