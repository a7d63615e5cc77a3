//! What waits for the writing connection.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::clock::Timestamp;
use crate::id::ClientId;
use crate::store::Registration;
use crate::store::postgres::columns::Id;
use crate::store::postgres::error::PostgresError;
use crate::store::postgres::statements::Table;
use crate::store::record::{Record, Revocation};
use crate::subject::Subject;

/// One write with the one who waits for it.
#[derive(Debug)]
pub(super) enum Job {
    Row(RowWrite),
    Registration(Box<RegistrationWrite>),
    Purge(PurgeStep),
}

impl Job {
    /// Tells the caller that nothing was done.
    pub(super) fn refuse(self, failure: &PostgresError) {
        match self {
            Self::Row(RowWrite { answer, .. }) => drop(answer.send(Err(failure.clone()))),
            Self::Registration(write) => drop(write.answer.send(Err(failure.clone()))),
            Self::Purge(PurgeStep { answer, .. }) => drop(answer.send(Err(failure.clone()))),
        }
    }
}

/// Where an answer goes; whether the write was applied, mostly. Nobody need be there any more.
pub(super) type Answer<T> = oneshot::Sender<Result<T, PostgresError>>;

/// An insert or a replacement of one record.
#[derive(Debug)]
pub(super) struct RowWrite {
    pub(super) table: Table,
    /// The version that is replaced; none for an insert.
    pub(super) expected: Option<u32>,
    pub(super) row: Row,
    pub(super) answer: Answer<bool>,
}

/// A record as it lies in the table.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) id: Id,
    pub(super) version: u32,
    pub(super) created: Timestamp,
    pub(super) purge_after: Timestamp,
    pub(super) client: ClientId,
    pub(super) subject: Subject,
    pub(super) record: Vec<u8>,
    pub(super) revoked: Option<Revocation>,
}

impl<R: Record> From<&Arc<R>> for Row {
    fn from(record: &Arc<R>) -> Self {
        Self {
            id: Id(*record.key()),
            version: record.version(),
            created: record.created(),
            purge_after: record.purge_after(),
            client: record.client().clone(),
            subject: record.subject().clone(),
            record: record.encode(),
            revoked: record.revoked(),
        }
    }
}

/// An insert or a replacement of one application.
#[derive(Debug)]
pub(super) struct RegistrationWrite {
    /// The version that is replaced; none for an insert.
    pub(super) expected: Option<u32>,
    pub(super) registration: Registration,
    pub(super) answer: Answer<bool>,
}

/// One short statement of a purge.
#[derive(Debug)]
pub(super) struct PurgeStep {
    pub(super) table: Table,
    pub(super) now: Timestamp,
    pub(super) limit: u32,
    pub(super) answer: Answer<Purged>,
}

/// What one statement of a purge did.
#[derive(Clone, Copy, Debug)]
pub(super) struct Purged {
    pub(super) looked_at: usize,
    pub(super) removed: usize,
}
