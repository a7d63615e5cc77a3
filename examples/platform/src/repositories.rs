//! Repositories and their issues, from the platform's own tables.

use grantor::Subject;
use grantor::scope::Resource;
use rusqlite::{OptionalExtension as _, Row};
use serde::Serialize;

use crate::database::{Database, DatabaseError};

/// A repository of a user.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Repository {
    /// `owner/name`, by which consents name it.
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) public: bool,
}

impl Repository {
    /// The resource that an access token must cover.
    pub(crate) fn resource(&self) -> Resource<'_> {
        if self.public { Resource::Public(&self.name) } else { Resource::Private(&self.name) }
    }

    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let (owner, name): (String, String) = (row.get(0)?, row.get(1)?);
        Ok(Self { name: format!("{owner}/{name}"), description: row.get(2)?, public: row.get(3)? })
    }
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Issue {
    number: u32,
    title: String,
}

pub(crate) async fn all_of(database: &Database, owner: &Subject) -> Result<Vec<Repository>, DatabaseError> {
    let owner = owner.as_str().to_owned();
    let query = "SELECT owner, name, description, public FROM repositories WHERE owner = ?1 ORDER BY name";
    let read = move |connection: &mut rusqlite::Connection| {
        connection.prepare(query)?.query_map([owner], Repository::from_row)?.collect()
    };
    database.call(read).await
}

pub(crate) async fn find(
    database: &Database,
    owner: &Subject,
    name: &str,
) -> Result<Option<Repository>, DatabaseError> {
    let key = (owner.as_str().to_owned(), name.to_owned());
    let query = "SELECT owner, name, description, public FROM repositories WHERE owner = ?1 AND name = ?2";
    database.call(move |connection| connection.query_row(query, key, Repository::from_row).optional()).await
}

pub(crate) async fn issues(database: &Database, owner: &Subject, name: &str) -> Result<Vec<Issue>, DatabaseError> {
    let key = (owner.as_str().to_owned(), name.to_owned());
    let query = "SELECT number, title FROM issues WHERE owner = ?1 AND repository = ?2 ORDER BY number";
    let issue = |row: &Row<'_>| Ok(Issue { number: row.get(0)?, title: row.get(1)? });
    let read = move |connection: &mut rusqlite::Connection| connection.prepare(query)?.query_map(key, issue)?.collect();
    database.call(read).await
}

pub(crate) async fn open_issue(
    database: &Database,
    owner: &Subject,
    name: &str,
    title: &str,
) -> Result<Issue, DatabaseError> {
    let values = (owner.as_str().to_owned(), name.to_owned(), title.to_owned());
    let insert = "INSERT INTO issues
        SELECT ?1, ?2, coalesce(max(number), 0) + 1, ?3 FROM issues WHERE owner = ?1 AND repository = ?2
        RETURNING number, title";
    let issue = |row: &Row<'_>| Ok(Issue { number: row.get(0)?, title: row.get(1)? });
    database.call(move |connection| connection.query_row(insert, values, issue)).await
}
