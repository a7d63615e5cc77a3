//! Sends waiting jobs: writes of one kind as one statement, all kinds at the same time.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use futures_util::future::{OptionFuture, join, join_all};
use tokio::time::{Instant, sleep};
use tokio_postgres::{Error, Row};

use crate::base::entropy::{Entropy, SystemEntropy};
use crate::store::Table;
use crate::store::postgres::columns::{Bytes, lists, time, written};
use crate::store::postgres::error::{self, PostgresError, PostgresProblem};
use crate::store::postgres::jobs::{Action, Batch, Job, PurgeStep, Purged, RowWrite};
use crate::store::postgres::link::Link;
use crate::store::postgres::statements::{Parameter, Written};

/// How often a statement is sent if the server rolls it back because of others.
const ATTEMPTS: u32 = 6;

/// How long a write waits for a row that others have kept locked: as good as not at all.
const AT_ONCE: Duration = Duration::from_millis(1);

/// Sends a group of jobs; each is answered when it is committed, or known to have failed.
pub(super) async fn write(link: &Link, jobs: Vec<Job>) {
    let mut writes: BTreeMap<(Table, Action), Vec<RowWrite>> = BTreeMap::new();
    let (mut steps, mut apart) = (Vec::new(), BTreeMap::<_, Vec<RowWrite>>::new());
    for job in jobs {
        match job {
            Job::Write(own) if link.locked.contains(own.write.table, &own.write.key) => {
                apart.entry((own.write.table, own.action)).or_default().push(*own);
            }
            Job::Write(own) => writes.entry((own.write.table, own.action)).or_default().push(*own),
            Job::Purge(step) => steps.push(step),
        }
    }
    let mut batches = writes.into_iter().flat_map(|(kind, writes)| Batch::all(kind, writes));
    // Usually there is only one, for which `join_all` would allocate a block as large as the whole future.
    let first = OptionFuture::from(batches.next().map(|batch| send_together(link, batch)));
    let (first, others) = join(first, join_all(batches.map(|batch| send_together(link, batch)))).await;
    let refused = first.into_iter().chain(others).flatten().collect();
    one_by_one(link, refused, link.settings.lock_timeout / 40).await;
    let apart = apart.into_iter().flat_map(|(kind, writes)| Batch::all(kind, writes)).collect();
    one_by_one(link, apart, AT_ONCE).await;
    for PurgeStep { table, now, limit, answer } in steps {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let sent = send(link, Written::Purge(table), &[&time(now), &limit]).await;
        drop(answer.send(sent.and_then(|rows| purged(&rows))));
    }
}

/// Sends one batch; returns it if the server refused it because of one of its writes.
async fn send_together(link: &Link, batch: Batch) -> Option<Batch> {
    match send_batch(link, &batch).await {
        Ok(applied) => batch.answer(&applied),
        Err(error) if error::may_be_split(&error) => return Some(batch),
        Err(error) => batch.refuse(&error),
    }
    None
}

/// Sends writes one by one: those that were refused together, or whose rows others have kept locked. Each waits for a
/// lock only as long as `longest`, and all together no longer than one statement does: a row that stays locked must not
/// delay other writes.
async fn one_by_one(link: &Link, batches: Vec<Batch>, longest: Duration) {
    if batches.is_empty() {
        return;
    }
    let lock_timeout = link.settings.lock_timeout;
    let end = Instant::now() + lock_timeout;
    // If the connection is lost, the next statement fails.
    let _ = link.wait_for_locks(longest).await;
    let mut locked: Option<(Option<Vec<u8>>, PostgresError)> = None;
    for batch in batches.into_iter().flat_map(Batch::split) {
        if let Some((key, failure)) = &locked
            && (batch.first_key() == *key || Instant::now() >= end)
        {
            batch.refuse(failure);
            continue;
        }
        let (table, key) = (batch.table, batch.first_key());
        match send_batch(link, &batch).await {
            Ok(applied) => {
                batch.answer(&applied);
                key.into_iter().for_each(|key| link.locked.forget(table, key));
            }
            Err(error) => {
                batch.refuse(&error);
                if error.problem() == PostgresProblem::Locked {
                    key.iter().for_each(|key| link.locked.note(table, key.clone()));
                    locked = Some((key, error));
                }
            }
        }
    }
    let _ = link.wait_for_locks(lock_timeout).await;
}

/// Sends one statement and returns the places of the applied writes among those that were sent.
async fn send_batch(link: &Link, batch: &Batch) -> Result<HashSet<usize>, PostgresError> {
    let (writes, latest) = (batch.sent(), link.latest());
    let values: Vec<_> = written(batch.table, batch.action).map(|column| column.values(&writes)).collect();
    let lists = batch.action.moves_lists(batch.table).then(|| lists(&writes));
    let mut parameters: Vec<Parameter<'_>> = Vec::with_capacity(values.len() + 2);
    parameters.extend(values.iter().map(|values| -> Parameter<'_> { values }));
    parameters.push(&latest);
    parameters.extend(lists.iter().map(|lists| -> Parameter<'_> { lists }));
    let statement = if writes.len() == 1 { Written::One } else { Written::Many };
    let rows = send(link, statement(batch.table, batch.action), &parameters).await?;
    let place = |row: &Row| -> Result<_, Error> {
        if batch.action == Action::Insert {
            let Bytes(key) = row.try_get(0)?;
            return Ok(batch.place_of(key));
        }
        let from_1: i64 = row.try_get(1)?;
        Ok(usize::try_from(from_1 - 1).ok())
    };
    let places: Result<Vec<_>, _> = rows.iter().map(place).collect();
    Ok(places?.into_iter().flatten().collect())
}

fn purged(rows: &[Row]) -> Result<Purged, PostgresError> {
    let Some(row) = rows.first() else { return Ok(Purged { examined: 0, removed: 0 }) };
    let count = |column| -> Result<usize, PostgresError> {
        let count: i64 = row.try_get(column)?;
        Ok(usize::try_from(count).unwrap_or_default())
    };
    Ok(Purged { examined: count(0)?, removed: count(1)? })
}

/// Sends one statement, and again if the server rolled it back because of others, but never if it may have taken
/// effect.
async fn send(link: &Link, written: Written, parameters: &[Parameter<'_>]) -> Result<Vec<Row>, PostgresError> {
    let Some(statement) = link.writes.of(written) else { return Err(PostgresProblem::Database.into()) };
    let unreplicated = link.watch.unreplicated();
    let mut attempt = 1;
    loop {
        match link.write(statement, parameters).await {
            Ok(_) if link.watch.unreplicated() != unreplicated => {
                return Err(PostgresProblem::NotReplicated.into());
            }
            Ok(rows) => return Ok(rows),
            Err(error) if error::may_be_sent_again(&error) && attempt < ATTEMPTS => {
                sleep(jittered(Duration::from_millis(1 << attempt))).await;
                attempt += 1;
            }
            Err(error) => {
                if error::ends_connection(&error) {
                    link.watch.lost.notify_one();
                }
                return Err(error.into());
            }
        }
    }
}

/// Returns a random part of the span, at least half, so that servers that collided once do not collide again.
pub(super) fn jittered(span: Duration) -> Duration {
    let mut byte = [0];
    SystemEntropy.fill(&mut byte);
    let [byte] = byte;
    span / 2 + span * u32::from(byte) / 512
}
