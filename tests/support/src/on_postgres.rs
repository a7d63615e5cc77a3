//! A store on the named PostgreSQL server, in a schema that no other world has at the same time.
//!
//! Making a schema and connecting to it takes longer than most tests, so a world leaves both to the next one when it
//! ends.

use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use grantor::store::postgres::PostgresOptions;
use grantor::store::{Grant, Lists, RecordStore, Table};
use grantor::{PostgresStore, Timestamp};
use tokio::sync::OnceCell;
use tokio_postgres::{Client, NoTls};

use crate::runtime::run;

static FREE: Mutex<Vec<Place>> = Mutex::new(Vec::new());

/// A schema and a store that is connected to it.
#[derive(Clone)]
struct Place {
    schema: String,
    store: PostgresStore,
}

/// A place in use, until this is dropped.
pub(crate) struct Lease(Place);

impl Lease {
    pub(crate) async fn take(server: &str) -> Arc<Self> {
        let free = FREE.lock().unwrap().pop();
        let server = server.to_owned();
        let place = run(async move {
            match free {
                Some(used) => used.emptied(&server).await,
                None => Place::new(&server).await,
            }
        });
        Arc::new(Self(place.await))
    }

    pub(crate) fn store(&self) -> PostgresStore {
        self.0.store.clone()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        FREE.lock().unwrap().push(self.0.clone());
    }
}

impl Place {
    async fn new(server: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let schema = format!("world_{}_{}", process::id(), NUMBER.fetch_add(1, Ordering::SeqCst));
        let options = PostgresOptions::new(server).unwrap().schema(&schema).unwrap();
        PostgresStore::migrate(&options).await.unwrap();
        Self { store: PostgresStore::connect(&options).await.unwrap(), schema }
    }

    async fn emptied(self, server: &str) -> Self {
        // The writer executes a purge after everything that was asked of it before, such as by dropped futures. No
        // record ended in 1970, so this removes nothing.
        let nothing = RecordStore::<Grant>::purge(&self.store, Timestamp::from_seconds(0), 1).await.unwrap();
        assert_eq!(nothing.removed(), 0);
        let of_table = |table: Table| {
            let delete = |name: &str| format!("DELETE FROM {}.{name};", self.schema);
            let lists =
                if table.lists() == Lists::Many { delete(&format!("{}_lists", table.as_str())) } else { String::new() };
            delete(table.as_str()) + &lists
        };
        let statements = Table::ALL.map(of_table);
        operator(server).await.batch_execute(&statements.concat()).await.unwrap();
        self
    }
}

/// A connection that is shared by all places.
async fn operator(server: &str) -> &'static Client {
    static CLIENT: OnceCell<Client> = OnceCell::const_new();
    let connected = CLIENT.get_or_init(|| async {
        let (client, connection) = tokio_postgres::connect(server, NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    });
    connected.await
}
