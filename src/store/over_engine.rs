//! Implements all store traits for every [`Engine`]: encoding, decoding and lists.

use std::sync::Arc;

use async_trait::async_trait;

use crate::base::clock::Timestamp;
use crate::base::codec::DecodeError;
use crate::base::id::ClientId;
use crate::model::application::Application;
use crate::model::client::Client;
use crate::model::kinds::Table;
use crate::model::record::Record;
use crate::store::engine::{Engine, List, Write};
use crate::store::error::StoreError;
use crate::store::page::{Insertion, Page, Purge, Replacement};
use crate::store::record_store::{ClientStore, RecordStore};

#[async_trait]
impl<E: Engine, R: Record> RecordStore<R> for E {
    async fn find(&self, key: &R::Key) -> Result<Option<Arc<R>>, StoreError> {
        let bytes = Engine::find(self, R::TABLE, key.as_ref()).await?;
        bytes.map(|bytes| decoded(key.as_ref(), R::decode(&bytes))).transpose()
    }

    async fn insert(&self, record: Arc<R>) -> Result<Insertion, StoreError> {
        Engine::insert(self, write_of(&*record)).await
    }

    async fn replace(&self, version: u32, record: Arc<R>) -> Result<Replacement, StoreError> {
        Engine::replace(self, version, write_of(&*record)).await
    }

    async fn confirm(&self, record: Arc<R>) -> Result<Replacement, StoreError> {
        Engine::confirm(self, write_of(&*record)).await
    }

    /// Reads a page, and skips rows that have left the list.
    async fn list(&self, list: &str, page: Page<R::Key>) -> Result<Vec<Arc<R>>, StoreError> {
        let name = List::new(R::TABLE, list);
        let mut listed: Vec<Arc<R>> = Vec::new();
        let mut after = page.start().map(|key| key.as_ref().to_vec());
        loop {
            let wanted = page.limit() - listed.len();
            let rows = Engine::list(self, &name, after.as_deref(), wanted).await?;
            for row in &rows {
                let record: Arc<R> = decoded(row.key(), R::decode(row.bytes()))?;
                listed.extend(record.lists().iter().any(|own| own == list).then(|| record.clone()));
            }
            match rows.last() {
                Some(last) if rows.len() >= wanted && listed.len() < page.limit() => after = Some(last.key().to_vec()),
                _ => return Ok(listed),
            }
        }
    }

    async fn purge(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        Engine::purge(self, R::TABLE, now, limit).await
    }
}

fn write_of<R: Record>(record: &R) -> Write {
    Write {
        table: R::TABLE,
        key: record.key().as_ref().to_vec(),
        version: record.version(),
        record: record.encode(),
        lists: record.lists().into_iter().map(|list| list.into_owned().into_bytes()).collect(),
        due: record.purge_after(),
        due_moved: record.is_due_sooner(),
        columns: record.columns(),
    }
}

fn decoded<T>(key: &[u8], decoded: Result<T, DecodeError>) -> Result<Arc<T>, StoreError> {
    decoded.map(Arc::new).map_err(|error| StoreError::unreadable(key, error))
}

#[async_trait]
impl<E: Engine> ClientStore for E {
    async fn client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        let key = id.as_ref();
        let bytes = Engine::find(self, Table::Applications, key).await?;
        bytes.map(|bytes| decoded(key, Application::decode_client(&bytes))).transpose()
    }
}
