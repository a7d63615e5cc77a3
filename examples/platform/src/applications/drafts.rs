//! Logos of forms that are not submitted yet. A page cannot put a file back into a form that is shown again.

use grantor::Subject;
use grantor::application::Logo;
use rusqlite::OptionalExtension as _;

use crate::database::{Database, DatabaseError};

/// Keeps a logo for its owner, and returns its id. Only a few logos of an owner are kept, and only for a day.
pub(super) async fn keep(database: &Database, owner: &Subject, logo: &Logo) -> Result<String, DatabaseError> {
    let (owner, bytes) = (owner.as_str().to_owned(), logo.bytes().to_vec());
    let write = move |connection: &mut rusqlite::Connection| {
        let transaction = connection.transaction()?;
        let insert = "INSERT INTO drafts VALUES (lower(hex(randomblob(16))), ?1, ?2, unixepoch()) RETURNING id";
        let id = transaction.query_row(insert, (&owner, bytes), |row| row.get(0))?;
        transaction.execute("DELETE FROM drafts WHERE created < unixepoch() - 86400", [])?;
        let surplus = "DELETE FROM drafts WHERE id IN (
            SELECT id FROM drafts WHERE owner = ?1 ORDER BY created DESC, rowid DESC LIMIT -1 OFFSET 8)";
        transaction.execute(surplus, [&owner])?;
        transaction.commit()?;
        Ok(id)
    };
    database.call(write).await
}

/// Returns a logo to its owner.
pub(super) async fn find(database: &Database, owner: &Subject, id: &str) -> Result<Option<Logo>, DatabaseError> {
    let key = (id.to_owned(), owner.as_str().to_owned());
    let query = "SELECT logo FROM drafts WHERE id = ?1 AND owner = ?2";
    let read =
        move |connection: &mut rusqlite::Connection| connection.query_row(query, key, |row| row.get(0)).optional();
    let bytes: Option<Vec<u8>> = database.call(read).await?;
    Ok(bytes.and_then(|bytes| Logo::decode(bytes).ok()))
}

pub(super) async fn discard(database: &Database, owner: &Subject, id: &str) -> Result<(), DatabaseError> {
    let key = (id.to_owned(), owner.as_str().to_owned());
    let gone = "DELETE FROM drafts WHERE id = ?1 AND owner = ?2";
    database.call(move |connection| connection.execute(gone, key).map(drop)).await
}
