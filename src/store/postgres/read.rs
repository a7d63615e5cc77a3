//! Reads, over one connection. A read that comes while no other is in progress is sent at once. Others are queued, and
//! share statements. `benches/results/2026-11-28-stores.md` has the figures.

use std::sync::Arc;

use futures_util::stream::{StreamExt, iter, unfold};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};

use crate::store::postgres::columns::{Bytes, Value};
use crate::store::postgres::error::{self, PostgresError, PostgresProblem};
use crate::store::postgres::jobs::Answer;
use crate::store::postgres::keeper::State;
use crate::store::postgres::link::Link;
use crate::store::postgres::options::PostgresOptions;
use crate::store::postgres::statements::{Parameter, Select, query};
use crate::store::{List, Lists, Row, Table};

/// How often a read is sent if its connection is lost.
const ATTEMPTS: u32 = 2;
/// How many statements of queued reads may be in progress. With more, fewer reads share each. With fewer, reads of a
/// distant server wait longer.
const AT_ONCE: usize = 4;
/// How many rows a statement of several lists may return.
const ROWS_OF_LISTS: usize = 1000;

/// The reads of a store.
#[derive(Clone, Debug)]
pub(super) struct Reads {
    states: watch::Receiver<State>,
    queue: mpsc::UnboundedSender<QueuedRead>,
    in_progress: Arc<Semaphore>,
    limit: usize,
}

/// What a caller reads.
struct Read {
    kind: Kind,
    /// The key of the row, or the name of the list.
    name: Vec<u8>,
    /// The key after which the rows of a list begin.
    after: Option<Vec<u8>>,
}

/// What reads that share a statement have in common.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Row(Table),
    /// At most so many rows of a list.
    List(Table, usize),
}

impl Kind {
    /// Returns how many reads may share a statement.
    fn together(self) -> usize {
        match self {
            Self::Row(_) => usize::MAX,
            Self::List(table, limit) if table.lists() == Lists::One => (ROWS_OF_LISTS / limit).max(1),
            // Such a list may be long. Through a pooler, the planner must know which one it is, to read only the page.
            Self::List(..) => 1,
        }
    }
}

struct QueuedRead {
    read: Read,
    answer: Answer<Vec<Row>>,
    _permit: OwnedSemaphorePermit,
}

impl Reads {
    /// Starts the task that sends queued reads. It ends with the last clone. The semaphore has a permit for each read
    /// that may be in progress.
    pub(super) fn start(
        states: watch::Receiver<State>,
        in_progress: Arc<Semaphore>,
        options: &PostgresOptions,
    ) -> Self {
        let (queue, queued) = mpsc::unbounded_channel();
        tokio::spawn(serve(queued, states.clone(), options.batch_limit));
        Self { states, queue, in_progress, limit: options.queue_limit }
    }

    /// Returns the record of the row with that key.
    pub(super) async fn find(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, PostgresError> {
        let rows = self.rows(Read { kind: Kind::Row(table), name: key.to_vec(), after: None }).await?;
        Ok(rows.into_iter().next().map(Row::into_bytes))
    }

    /// Returns up to `limit` rows of a list in the order of their keys, starting after the key `after`.
    pub(super) async fn list(
        &self,
        list: &List,
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Row>, PostgresError> {
        let kind = Kind::List(list.table, limit.max(1));
        self.rows(Read { kind, name: list.name.clone(), after: after.map(<[u8]>::to_vec) }).await
    }

    async fn rows(&self, read: Read) -> Result<Vec<Row>, PostgresError> {
        let permit = self.in_progress.clone().try_acquire_owned().map_err(|_| PostgresProblem::QueueFull)?;
        // The queue costs a task switch, and a single read has nothing to share.
        if self.in_progress.available_permits() + 1 == self.limit {
            return fetch_one(&self.states, &read).await;
        }
        let (answer, answered) = oneshot::channel();
        self.queue.send(QueuedRead { read, answer, _permit: permit }).map_err(|_| PostgresProblem::Stopped)?;
        answered.await.unwrap_or_else(|_| Err(PostgresProblem::Unanswered.into()))
    }
}

/// Sends queued reads until the queue is closed, at most [`AT_ONCE`] statements at a time.
async fn serve(queue: mpsc::UnboundedReceiver<QueuedRead>, states: watch::Receiver<State>, batch_limit: usize) {
    let received = unfold(queue, |mut queue| async move {
        let mut reads = Vec::new();
        let count = queue.recv_many(&mut reads, batch_limit).await;
        (count > 0).then(|| (iter(batches(reads)), queue))
    });
    received.flatten().for_each_concurrent(AT_ONCE, |batch| answer_all(&states, batch)).await;
}

/// Groups the reads whose callers still wait by what can share a statement.
fn batches(reads: Vec<QueuedRead>) -> Vec<Vec<QueuedRead>> {
    let mut batches: Vec<Vec<QueuedRead>> = Vec::new();
    for queued in reads.into_iter().filter(|queued| !queued.answer.is_closed()) {
        let kind = queued.read.kind;
        let has_room = |batch: &&mut Vec<QueuedRead>| {
            batch.len() < kind.together() && batch.first().is_some_and(|first| first.read.kind == kind)
        };
        match batches.iter_mut().rev().find(has_room) {
            Some(batch) => batch.push(queued),
            None => batches.push(vec![queued]),
        }
    }
    batches
}

/// Sends one statement for a batch and answers its callers. After a permanent error it sends each read alone, since the
/// row of one of them may be damaged.
async fn answer_all(states: &watch::Receiver<State>, batch: Vec<QueuedRead>) {
    let reads: Vec<_> = batch.iter().map(|queued| &queued.read).collect();
    match fetch(states, &reads).await {
        Ok(rows) => batch.into_iter().zip(rows).for_each(|(queued, rows)| drop(queued.answer.send(Ok(rows)))),
        Err(error) if batch.len() > 1 && !error.is_transient() => {
            for queued in batch.into_iter().filter(|queued| !queued.answer.is_closed()) {
                let rows = fetch_one(states, &queued.read).await;
                drop(queued.answer.send(rows));
            }
        }
        Err(error) => batch.into_iter().for_each(|queued| drop(queued.answer.send(Err(error.clone())))),
    }
}

/// Sends one statement for one read, and returns its rows.
async fn fetch_one(states: &watch::Receiver<State>, read: &Read) -> Result<Vec<Row>, PostgresError> {
    Ok(fetch(states, &[read]).await?.into_iter().flatten().collect())
}

/// Sends one statement for reads of one kind, and returns the rows of each, in the order of their keys.
async fn fetch(states: &watch::Receiver<State>, reads: &[&Read]) -> Result<Vec<Vec<Row>>, PostgresError> {
    let Some(first) = reads.first() else { return Ok(Vec::new()) };
    let names = Value::of_each(reads, |read| Value::Bytes(Some(&read.name)));
    let afters = Value::of_each(reads, |read| Value::Bytes(read.after.as_deref()));
    let is_one = reads.len() == 1;
    let answer = match first.kind {
        Kind::Row(table) => {
            let select = if is_one { Select::Row(table) } else { Select::Rows(table) };
            send(states, select, &[&names]).await?
        }
        Kind::List(table, limit) => {
            let select = if is_one { Select::List(table) } else { Select::Lists(table) };
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            send(states, select, &[&names, &afters, &limit]).await?
        }
    };
    let mut rows: Vec<_> = reads.iter().map(|_| Vec::new()).collect();
    for row in answer {
        let (from_1, Bytes(key), Bytes(record)): (i64, _, _) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        if let Some(own) = usize::try_from(from_1 - 1).ok().and_then(|index| rows.get_mut(index)) {
            own.push(Row::new(key, record));
        }
    }
    // A statement of several lists returns rows in any order.
    rows.iter_mut().for_each(|own| own.sort_by(|one, other| one.key().cmp(other.key())));
    Ok(rows)
}

/// Sends one statement, once more if the connection is lost. Returns no rows if those of the table are on no list.
async fn send(
    states: &watch::Receiver<State>,
    select: Select,
    parameters: &[Parameter<'_>],
) -> Result<Vec<tokio_postgres::Row>, PostgresError> {
    let mut states = states.clone();
    let mut attempt = 1;
    loop {
        let link = up(&mut states).await?;
        let Some(statement) = link.reads.of(select) else { return Ok(Vec::new()) };
        match query(&link.reader, statement, parameters).await {
            Ok(rows) => return Ok(rows),
            Err(error) if error::ends_connection(&error) => {
                link.watch.lost.notify_one();
                if attempt == ATTEMPTS {
                    return Err(error.into());
                }
                attempt += 1;
                replaced(&mut states, &link).await?;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

async fn up(states: &mut watch::Receiver<State>) -> Result<Arc<Link>, PostgresError> {
    let opening = |state: &State| matches!(state, State::Opening);
    let Ok(state) = states.wait_for(|state| !opening(state)).await.map(|state| state.clone()) else {
        return Err(PostgresProblem::Stopped.into());
    };
    match state {
        State::Up(link) => Ok(link),
        State::Down(failure) => Err(failure),
        State::Opening => Err(PostgresProblem::Unanswered.into()),
    }
}

/// Waits until that link is no longer the one in use.
async fn replaced(states: &mut watch::Receiver<State>, link: &Arc<Link>) -> Result<(), PostgresError> {
    let other = |state: &State| !matches!(state, State::Up(own) if Arc::ptr_eq(own, link));
    states.wait_for(other).await.map(|_| ()).map_err(|_| PostgresProblem::Stopped.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    type Asked = oneshot::Receiver<Result<Vec<Row>, PostgresError>>;

    fn queued(kind: Kind, name: u8, semaphore: &Arc<Semaphore>) -> (QueuedRead, Asked) {
        let (answer, asked) = oneshot::channel();
        let permit = semaphore.clone().try_acquire_owned().unwrap();
        (QueuedRead { read: Read { kind, name: vec![name], after: None }, answer, _permit: permit }, asked)
    }

    #[test]
    fn reads_of_one_kind_share_a_statement_up_to_a_bound() {
        let grants = Kind::List(Table::Grants, 400);
        let kinds = [
            Kind::Row(Table::Grants),
            grants,
            Kind::List(Table::Applications, 10),
            Kind::Row(Table::Replays),
            grants,
            Kind::Row(Table::Grants),
            Kind::List(Table::Applications, 10),
            grants,
            Kind::List(Table::Grants, 100),
        ];
        let semaphore = Arc::new(Semaphore::new(kinds.len()));
        let (reads, asked): (Vec<_>, Vec<_>) =
            (0..).zip(kinds).map(|(name, kind)| queued(kind, name, &semaphore)).unzip();
        let batches = batches(reads);
        let names: Vec<Vec<_>> =
            batches.iter().map(|batch| batch.iter().map(|queued| queued.read.name[0]).collect()).collect();
        assert_eq!(names, [vec![0, 5], vec![1, 4], vec![2], vec![3], vec![6], vec![7], vec![8]]);
        drop((batches, asked));
        assert_eq!(semaphore.available_permits(), kinds.len());
    }

    #[test]
    fn what_nobody_waits_for_is_not_read() {
        let semaphore = Arc::new(Semaphore::new(2));
        let (left, gone) = queued(Kind::Row(Table::Grants), 1, &semaphore);
        let (waits, _asked) = queued(Kind::Row(Table::Grants), 2, &semaphore);
        drop(gone);
        let batches = batches(vec![left, waits]);
        assert_eq!((batches.len(), batches[0].len(), batches[0][0].read.name[0]), (1, 1, 2));
        assert_eq!(semaphore.available_permits(), 1);
    }
}
