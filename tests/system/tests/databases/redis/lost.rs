//! A lost primary has taken entries with it whose rows are elsewhere: they are made again.

use std::sync::Arc;

use grantor::store::redis::RedisOptions;
use grantor::store::{Grant, Insertion, Page, Record, RecordStore, Replacement};
use grantor::testing::records;
use grantor::{RedisStore, Subject, Timestamp};

use crate::redis::raw::Raw;
use support_servers::servers::redis::Cluster;

const END: Timestamp = Timestamp::from_seconds(3_000_000_000);

struct Scene {
    cluster: Cluster,
    store: RedisStore,
    row: Arc<Grant>,
}

impl Scene {
    async fn new() -> Self {
        let cluster = Cluster::start();
        let store = crate::redis::over(&cluster, &RedisOptions::new()).await;
        let row = Arc::new(records::grant(&records::subject(), END));
        assert_eq!(store.insert(row.clone()).await.unwrap(), Insertion::Inserted);
        Self { cluster, store, row }
    }

    /// Deletes all indexes, and returns how many there were.
    fn lose_indexes(&self) -> usize {
        let mut lost = 0;
        for primary in self.cluster.primaries() {
            let mut raw = Raw::to(primary);
            for key in raw.keys() {
                if key.starts_with("grantor:grants-list:") || key.starts_with("grantor:grants-due:") {
                    lost += raw.ask::<usize>(&[b"DEL", key.as_bytes()]);
                }
            }
        }
        lost
    }

    fn subject(&self) -> &Subject {
        self.row.subject().expect("it has a user")
    }

    fn lose_list(&self) {
        let index = format!("grantor:grants-list:{}", self.subject().as_str());
        assert_eq!(self.cluster.primaries()[0].ask(&["-c", "DEL", &index]), "1");
    }

    async fn refresh(&mut self, purge_after: Timestamp) {
        let next = Arc::new(records::refreshed(&self.row, purge_after));
        let replaced = self.store.replace(self.row.version(), next.clone()).await.unwrap();
        assert_eq!(replaced, Replacement::Replaced);
        self.row = next;
    }

    async fn is_listed(&self) -> bool {
        let listed = RecordStore::<Grant>::list(&self.store, self.subject().as_str(), Page::first(10)).await.unwrap();
        assert!(listed.is_empty() || listed == [self.row.clone()]);
        !listed.is_empty()
    }
}

/// The records of the kit count their versions. Those of a server are random, so one write in four does this.
#[tokio::test]
#[ignore = "starts Redis servers"]
async fn every_fourth_version_makes_them_again() {
    let mut scene = Scene::new().await;
    assert_eq!(scene.lose_indexes(), 2);
    for version in 2..=4 {
        assert!(!scene.is_listed().await, "before version {version}");
        scene.refresh(END).await;
    }
    assert!(scene.is_listed().await);
    assert_eq!(RecordStore::<Grant>::purge(&scene.store, END, 100).await.unwrap().removed(), 1);
    assert!(!scene.is_listed().await);
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn the_purge_that_meets_the_row_lists_it_again() {
    let mut scene = Scene::new().await;
    let later = END.plus(std::time::Duration::from_secs(24 * 60 * 60));
    scene.refresh(later).await;
    scene.lose_list();
    scene.refresh(later).await;
    assert!(!scene.is_listed().await, "version 3 is not checked");
    assert_eq!(RecordStore::<Grant>::purge(&scene.store, END, 100).await.unwrap().removed(), 0);
    assert!(scene.is_listed().await);
    scene.lose_list();
    scene.refresh(later).await;
    assert!(scene.is_listed().await, "version 4 is checked");
}
