//! The rules of stores over the tables of the memory store, which keep records: here, rows of bytes.

use std::borrow::Cow;
use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::base::codec::DecodeError;
use crate::model::record::Sealed;
use crate::store::memory::table::Table;
use crate::store::{
    self, Columns, Engine, Insertion, List, Purge, Record, Replacement, Store, StoreError, Write, kinds,
};

/// A row of the table with that number in [`store::Table::ALL`], as a record.
#[derive(Clone, Debug, PartialEq)]
struct Row<const TABLE: usize>(Write);

impl<const TABLE: usize> Sealed for Row<TABLE> {}

impl<const TABLE: usize> Record for Row<TABLE> {
    type Key = Vec<u8>;

    #[expect(clippy::indexing_slicing, reason = "the compiler refuses a number without a table")]
    const TABLE: store::Table = store::Table::ALL[TABLE];

    fn key(&self) -> &Vec<u8> {
        &self.0.key
    }

    fn version(&self) -> u32 {
        self.0.version
    }

    fn set_version(&mut self, version: u32) {
        self.0.version = version;
    }

    fn lists(&self) -> Vec<Cow<'_, str>> {
        self.0.lists.iter().map(|list| String::from_utf8_lossy(list)).collect()
    }

    fn purge_after(&self) -> Option<Timestamp> {
        self.0.due
    }

    fn is_due_sooner(&self) -> bool {
        self.0.due_moved
    }

    fn columns(&self) -> Columns {
        self.0.columns.clone()
    }

    fn encode(&self) -> Vec<u8> {
        self.0.record.clone()
    }

    fn decode(_: &[u8]) -> Result<Self, DecodeError> {
        unreachable!("a table keeps no bytes")
    }
}

/// Defines the tables, and the calls on each.
macro_rules! define_engine {
    ($($(#[$docs:meta])* $table:ident = $name:literal, $lists:ident, $field:ident: $record:ty;)*) => {
        #[derive(Clone, Debug, Default)]
        pub(crate) struct Rows(Arc<Tables>);

        #[derive(Debug, Default)]
        struct Tables {
            $($field: Table<Row<{ store::Table::$table as usize }>>,)*
        }

        impl Engine for Rows {
            async fn find(&self, table: store::Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
                let key = key.to_vec();
                Ok(match table {
                    $(store::Table::$table => self.0.$field.find(&key).map(|row| row.encode()),)*
                })
            }

            async fn insert(&self, write: Write) -> Result<Insertion, StoreError> {
                Ok(match write.table {
                    $(store::Table::$table => self.0.$field.insert(Arc::new(Row(write))),)*
                })
            }

            async fn replace(&self, version: u32, write: Write) -> Result<Replacement, StoreError> {
                Ok(match write.table {
                    $(store::Table::$table => self.0.$field.replace(version, Arc::new(Row(write))),)*
                })
            }

            async fn confirm(&self, write: Write) -> Result<Replacement, StoreError> {
                Ok(match write.table {
                    $(store::Table::$table => self.0.$field.confirm(&Row(write)),)*
                })
            }

            async fn list(
                &self,
                list: &List,
                after: Option<&[u8]>,
                limit: usize,
            ) -> Result<Vec<store::Row>, StoreError> {
                let (name, after) = (String::from_utf8_lossy(&list.name), after.map(<[u8]>::to_vec));
                Ok(match list.table {
                    $(store::Table::$table => {
                        let rows = self.0.$field.list(&name, after.as_ref(), limit);
                        rows.iter().map(|row| store::Row::new(row.key().clone(), row.encode())).collect()
                    })*
                })
            }

            async fn purge(&self, table: store::Table, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
                Ok(match table {
                    $(store::Table::$table => self.0.$field.purge(now, limit),)*
                })
            }
        }
    };
}

kinds!(define_engine);

impl Store for Rows {
    fn reads_settled(&self) -> bool {
        true
    }
}

crate::store_tests!(#[tokio::test] => store: Rows::default(), another: store.clone());
