//! The parameters of the tables' writes, in the order of the statements.

use std::time::SystemTime;

use tokio_postgres::types::ToSql;

use crate::store::postgres::columns::{Id, time};
use crate::store::postgres::job::RowWrite;
use crate::store::postgres::statements::Table;

pub(super) type Parameter<'p> = &'p (dyn ToSql + Sync);

/// What one write puts into the columns.
#[derive(Debug)]
pub(super) struct One<'w> {
    id: Id,
    expected: i64,
    version: i64,
    created: SystemTime,
    purge_after: SystemTime,
    client: &'w str,
    subject: &'w [u8],
    record: &'w [u8],
    revoked_at: Option<SystemTime>,
    revoked_why: Option<&'static str>,
}

impl<'w> One<'w> {
    pub(super) fn of(write: &'w RowWrite) -> Self {
        let RowWrite { row, expected, .. } = write;
        Self {
            id: row.id,
            expected: expected.map_or(0, i64::from),
            version: row.version.into(),
            created: time(row.created),
            purge_after: time(row.purge_after),
            client: row.client.as_str(),
            subject: row.subject.as_str().as_bytes(),
            record: &row.record,
            revoked_at: row.revoked.map(|revoked| time(revoked.at)),
            revoked_why: row.revoked.map(|revoked| revoked.reason.as_str()),
        }
    }

    pub(super) fn columns(&self) -> Columns<'_> {
        Columns {
            id: &self.id,
            expected: &self.expected,
            version: &self.version,
            created: &self.created,
            purge_after: &self.purge_after,
            client: &self.client,
            subject: &self.subject,
            record: &self.record,
            revocation: [&self.revoked_at, &self.revoked_why],
        }
    }
}

/// What many writes put into the columns, an array for each.
#[derive(Debug, Default)]
pub(super) struct Many<'w> {
    ids: Vec<Id>,
    expected: Vec<i64>,
    versions: Vec<i64>,
    created: Vec<SystemTime>,
    purge_after: Vec<SystemTime>,
    clients: Vec<&'w str>,
    subjects: Vec<&'w [u8]>,
    records: Vec<&'w [u8]>,
    revoked_at: Vec<Option<SystemTime>>,
    revoked_why: Vec<Option<&'static str>>,
}

impl<'w> Many<'w> {
    pub(super) fn of(writes: impl Iterator<Item = One<'w>>) -> Self {
        let mut many = Self::default();
        for one in writes {
            many.ids.push(one.id);
            many.expected.push(one.expected);
            many.versions.push(one.version);
            many.created.push(one.created);
            many.purge_after.push(one.purge_after);
            many.clients.push(one.client);
            many.subjects.push(one.subject);
            many.records.push(one.record);
            many.revoked_at.push(one.revoked_at);
            many.revoked_why.push(one.revoked_why);
        }
        many
    }

    pub(super) fn columns(&self) -> Columns<'_> {
        Columns {
            id: &self.ids,
            expected: &self.expected,
            version: &self.versions,
            created: &self.created,
            purge_after: &self.purge_after,
            client: &self.clients,
            subject: &self.subjects,
            record: &self.records,
            revocation: [&self.revoked_at, &self.revoked_why],
        }
    }
}

/// Values or arrays, by column.
pub(super) struct Columns<'p> {
    id: Parameter<'p>,
    expected: Parameter<'p>,
    version: Parameter<'p>,
    created: Parameter<'p>,
    purge_after: Parameter<'p>,
    client: Parameter<'p>,
    subject: Parameter<'p>,
    record: Parameter<'p>,
    revocation: [Parameter<'p>; 2],
}

impl<'p> Columns<'p> {
    pub(super) fn of_insert(&self, table: Table, latest: Parameter<'p>) -> Vec<Parameter<'p>> {
        let own = [self.id, self.version, self.created, self.purge_after, self.client, self.subject, self.record];
        self.completed(&own, table, latest)
    }

    pub(super) fn of_replace(&self, table: Table, latest: Parameter<'p>) -> Vec<Parameter<'p>> {
        let own = [self.id, self.expected, self.version, self.purge_after, self.record];
        self.completed(&own, table, latest)
    }

    fn completed(&self, own: &[Parameter<'p>], table: Table, latest: Parameter<'p>) -> Vec<Parameter<'p>> {
        let revocation: &[_] = match table {
            Table::Authorizations => &[],
            Table::Grants => &self.revocation,
        };
        [own, revocation, &[latest]].concat()
    }
}
