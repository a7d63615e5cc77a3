//! What waits is sent: writes of one kind as one statement, all kinds in one flight.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_postgres::{Error, Row, Statement};

use crate::entropy::{Entropy, SystemEntropy};
use crate::store::postgres::batch::{Applied, Batch};
use crate::store::postgres::columns::{Id, time};
use crate::store::postgres::error::{self, PostgresError, PostgresProblem};
use crate::store::postgres::job::{Job, PurgeStep, Purged, RegistrationWrite, RowWrite};
use crate::store::postgres::link::Link;
use crate::store::postgres::parameters::{Many, One, Parameter};
use crate::store::postgres::query::query;
use crate::store::postgres::registration;
use crate::store::postgres::statements::Table;

/// How often a statement is sent that the server rolled back because of others.
const ATTEMPTS: u32 = 6;

/// Sends a group of jobs; every one is answered when it is committed, or known to have failed.
pub(super) async fn write(link: &Link, jobs: Vec<Job>) {
    let mut groups: [Vec<RowWrite>; 4] = Default::default();
    let [insert_authorizations, replace_authorizations, insert_grants, replace_grants] = &mut groups;
    let (mut registrations, mut steps) = (Vec::new(), Vec::new());
    for job in jobs {
        match job {
            Job::Row(write) => match (write.table, write.expected) {
                (Table::Authorizations, None) => insert_authorizations.push(write),
                (Table::Authorizations, Some(_)) => replace_authorizations.push(write),
                (Table::Grants, None) => insert_grants.push(write),
                (Table::Grants, Some(_)) => replace_grants.push(write),
            },
            Job::Registration(write) => registrations.push(*write),
            Job::Purge(step) => steps.push(step),
        }
    }
    let [one, two, three, four] = groups.map(|writes| rows(link, writes));
    let (one, two, three, four) = tokio::join!(one, two, three, four);
    one_by_one(link, [one, two, three, four].into_iter().flatten().collect()).await;
    for RegistrationWrite { expected, registration, answer } in registrations {
        let values = registration::Values::of(expected, &registration);
        let latest = link.latest();
        let sent = match expected {
            None => send(link, &link.writes.insert_client, &values.of_insert(&latest)).await,
            Some(_) => send(link, &link.writes.replace_client, &values.of_replace(&latest)).await,
        };
        drop(answer.send(sent.map(|rows| !rows.is_empty())));
    }
    for PurgeStep { table, now, limit, answer } in steps {
        let sent = send(link, &link.writes.of(table).purge, &[&time(now), &i64::from(limit)]).await;
        drop(answer.send(sent.and_then(|rows| purged(&rows))));
    }
}

/// Writes of one kind; gives them back if the server refused them together because of one of them.
async fn rows(link: &Link, writes: Vec<RowWrite>) -> Option<Batch> {
    let batch = Batch::new(writes)?;
    match send_batch(link, &batch).await {
        Ok(applied) => batch.answer(&applied),
        Err(error) if error::may_be_split(&error) => return Some(batch),
        Err(error) => batch.refuse(&error),
    }
    None
}

/// Sends writes that were refused together each by itself. They have waited for a lock already, so none
/// waits long for another, and all of them together not longer than the first time: nobody else is to
/// suffer from a row that stays locked.
async fn one_by_one(link: &Link, batches: Vec<Batch>) {
    if batches.is_empty() {
        return;
    }
    let end = Instant::now() + link.lock_timeout;
    // A connection that is lost says so at the next statement.
    let _ = link.wait_for_locks(link.lock_timeout / 40).await;
    let mut locked: Option<(Option<Id>, PostgresError)> = None;
    for batch in batches.into_iter().flat_map(Batch::split) {
        if let Some((id, failure)) = &locked
            && (batch.first_id() == *id || Instant::now() >= end)
        {
            batch.refuse(failure);
            continue;
        }
        match send_batch(link, &batch).await {
            Ok(applied) => batch.answer(&applied),
            Err(error) => {
                let id = batch.first_id();
                batch.refuse(&error);
                if error.problem() == PostgresProblem::Locked {
                    locked = Some((id, error));
                }
            }
        }
    }
    let _ = link.wait_for_locks(link.lock_timeout).await;
}

async fn send_batch(link: &Link, batch: &Batch) -> Result<Applied, PostgresError> {
    let (table, latest) = (batch.table(), link.latest());
    let statements = link.writes.of(table);
    let mut writes = batch.sent().map(One::of);
    if let (Some(only), None) = (writes.next(), writes.next()) {
        let columns = only.columns();
        let rows = match batch.replaces() {
            false => send(link, &statements.insert, &columns.of_insert(table, &latest)).await?,
            true => send(link, &statements.replace, &columns.of_replace(table, &latest)).await?,
        };
        return Ok(Applied::Only(!rows.is_empty()));
    }
    let many = Many::of(batch.sent().map(One::of));
    let columns = many.columns();
    if batch.replaces() {
        let rows = send(link, &statements.replace_many, &columns.of_replace(table, &latest)).await?;
        let places: Result<_, Error> = rows.iter().map(|row| row.try_get(0)).collect();
        return Ok(Applied::Places(places?));
    }
    let rows = send(link, &statements.insert_many, &columns.of_insert(table, &latest)).await?;
    let ids: Result<_, Error> = rows.iter().map(|row| row.try_get(0)).collect();
    Ok(Applied::Ids(ids?))
}

fn purged(rows: &[Row]) -> Result<Purged, PostgresError> {
    let Some(row) = rows.first() else { return Ok(Purged { looked_at: 0, removed: 0 }) };
    let count = |column| -> Result<usize, PostgresError> {
        let count: i64 = row.try_get(column)?;
        Ok(usize::try_from(count).unwrap_or_default())
    };
    Ok(Purged { looked_at: count(0)?, removed: count(1)? })
}

/// Sends one statement, again if the server rolled it back because of others; never again if it may
/// have taken effect.
async fn send(link: &Link, statement: &Statement, parameters: &[Parameter<'_>]) -> Result<Vec<Row>, PostgresError> {
    let unreplicated = link.watch.unreplicated();
    let mut attempt = 1;
    loop {
        match query(&link.writer, statement, parameters).await {
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

/// Half to all of a span, so that servers that met once do not meet again.
pub(super) fn jittered(span: Duration) -> Duration {
    let mut octet = [0];
    SystemEntropy.fill(&mut octet);
    let [octet] = octet;
    span / 2 + span * u32::from(octet) / 512
}
