//! Indexes are written first. Lists and the purge repair them, but keep entries whose rows may still be written.

use std::sync::Arc;
use std::time::Duration;

use grantor::application::ApplicationFilter;
use grantor::store::redis::RedisOptions;
use grantor::store::{Grant, Insertion, Page, Record, RecordStore, Replacement, Replay};
use grantor::testing::{engine, records};
use grantor::{Application, Clock, RedisStore, Subject, SystemClock, Timestamp};

use crate::redis::raw::Raw;
use support_servers::servers::redis::Server;

/// The place of the time of writing, in the members of a set of due times.
const DUE_PLACE: Option<usize> = Some(0);

struct Scene {
    server: Server,
    store: RedisStore,
    raw: Raw,
    subject: Subject,
}

impl Scene {
    async fn new() -> Self {
        let server = Server::start();
        let store = RedisStore::connect(&server.address(), &RedisOptions::new()).await.unwrap();
        let raw = Raw::to(&server);
        Self { server, store, raw, subject: records::subject() }
    }

    async fn add(&self, purge_after: Timestamp) -> Arc<Grant> {
        let grant = Arc::new(records::grant(&self.subject, purge_after));
        assert_eq!(RecordStore::<Grant>::insert(&self.store, grant.clone()).await.unwrap(), Insertion::Inserted);
        grant
    }

    async fn listed(&self) -> Vec<Arc<Grant>> {
        RecordStore::<Grant>::list(&self.store, self.subject.as_str(), Page::first(10)).await.unwrap()
    }

    fn index(&self) -> String {
        format!("grantor:grants-list:{}", self.subject.as_str())
    }

    fn due_sets(&mut self) -> Vec<String> {
        self.raw.keys().into_iter().filter(|key| key.starts_with("grantor:grants-due:")).collect()
    }

    fn lose(&mut self, grant: &Grant) {
        let removed: i64 = self.raw.ask(&[b"DEL", row(grant).as_bytes()]);
        assert_eq!(removed, 1);
    }

    fn expires(&mut self, grant: &Grant) -> i64 {
        self.raw.ask(&[b"EXPIRETIME", row(grant).as_bytes()])
    }

    async fn purge(&self, now: Timestamp) -> usize {
        let purge = RecordStore::<Grant>::purge(&self.store, now, 1000).await.unwrap();
        assert!(purge.is_finished());
        purge.removed()
    }
}

fn row(grant: &Grant) -> String {
    format!("grantor:grants:{}", grant.id())
}

fn in_seconds(seconds: u32) -> Timestamp {
    Timestamp::from_seconds(SystemClock.now().seconds() + seconds)
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn an_entry_without_a_row_goes_when_it_is_older_than_an_hour() {
    let mut scene = Scene::new().await;
    let (lost, stays) = (scene.add(in_seconds(9999)).await, scene.add(in_seconds(9999)).await);
    scene.lose(&lost);
    let index = scene.index();
    assert_eq!(scene.listed().await, std::slice::from_ref(&stays));
    assert_eq!(scene.raw.members(&index).len(), 2, "the row may still be written");

    // Written in the meantime, it is there at once.
    assert_eq!(RecordStore::<Grant>::insert(&scene.store, lost.clone()).await.unwrap(), Insertion::Inserted);
    assert_eq!(scene.listed().await.len(), 2);

    scene.lose(&lost);
    scene.raw.age(&index, None);
    assert_eq!(scene.listed().await, std::slice::from_ref(&stays));
    assert_eq!(scene.raw.members(&index).len(), 1, "an entry of a row that is there stays, however old");
    assert_eq!(scene.listed().await, [stays]);
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn dropping_an_old_entry_takes_nothing_from_a_later_write() {
    let mut scene = Scene::new().await;
    let grant = scene.add(in_seconds(9999)).await;
    scene.lose(&grant);
    let index = scene.index();
    scene.raw.age(&index, None);
    // The second attempt has written its entry and not yet its row.
    assert_eq!(RecordStore::<Grant>::insert(&scene.store, grant.clone()).await.unwrap(), Insertion::Inserted);
    scene.lose(&grant);
    assert_eq!(scene.raw.members(&index).len(), 2);
    assert!(scene.listed().await.is_empty());
    assert_eq!(scene.raw.members(&index).len(), 1);
    assert_eq!(RecordStore::<Grant>::insert(&scene.store, grant.clone()).await.unwrap(), Insertion::Inserted);
    assert_eq!(scene.listed().await, [grant]);
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn a_row_expires_by_itself_and_the_purge_forgets_it() {
    let mut scene = Scene::new().await;
    let end = in_seconds(2);
    let grant = scene.add(end).await;
    assert_eq!(scene.expires(&grant), i64::from(end.seconds()));
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(RecordStore::<Grant>::find(&scene.store, &grant.id()).await.unwrap(), None);
    assert!(scene.listed().await.is_empty());

    // Young entries are read again later; old ones go.
    assert_eq!(scene.purge(end).await, 0);
    let sets = scene.due_sets();
    assert_eq!(sets.len(), 1);
    let index = scene.index();
    scene.raw.age(&index, None);
    scene.raw.age(&sets[0], DUE_PLACE);
    assert_eq!(scene.purge(end).await, 0);
    assert_eq!(scene.due_sets().len(), 1, "nothing is read before its time");
    assert_eq!(scene.purge(in_seconds(3700)).await, 0);
    assert_eq!(scene.raw.keys(), ["grantor:layout"]);
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn a_purge_leaves_nothing_of_what_is_old() {
    let mut scene = Scene::new().await;
    let end = in_seconds(100_000);
    let due = scene.add(end).await;
    let alive = scene.add(in_seconds(200_000)).await;
    let index = scene.index();
    scene.raw.age(&index, None);
    for set in scene.due_sets() {
        scene.raw.age(&set, DUE_PLACE);
    }
    assert_eq!(scene.purge(end).await, 1);
    assert_eq!(RecordStore::<Grant>::find(&scene.store, &due.id()).await.unwrap(), None);
    assert_eq!(scene.raw.members(&index).len(), 1);
    assert_eq!(scene.listed().await, [alive]);
    assert_eq!(scene.purge(in_seconds(300_000)).await, 1);
    assert_eq!(scene.raw.keys(), ["grantor:layout"]);
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn members_that_are_no_entries_end_no_list() {
    let mut scene = Scene::new().await;
    let mut rows = Vec::new();
    for _ in 0..100 {
        rows.push(scene.add(in_seconds(9999)).await);
    }
    rows.sort_by_key(|row| row.id());
    let index = scene.index();
    let mut foreign: Vec<_> = [0, 50, 62, 63, 99].map(|place: usize| rows[place].id().as_bytes().to_vec()).into();
    foreign.extend([vec![0], vec![0xff; 40]]);
    for member in &foreign {
        assert_eq!(scene.raw.ask::<i64>(&[b"ZADD", index.as_bytes(), b"0", member]), 1);
    }
    assert_eq!(
        RecordStore::<Grant>::list(&scene.store, scene.subject.as_str(), Page::first(1000)).await.unwrap(),
        rows
    );
    let mut paged = Vec::new();
    for limit in [1, 2, 3, 7, 100] {
        paged.clear();
        loop {
            let last = paged.last().map(|row: &Arc<Grant>| row.id());
            let page = last.map_or_else(|| Page::first(limit), |id| Page::after(id, limit));
            let found = RecordStore::<Grant>::list(&scene.store, scene.subject.as_str(), page).await.unwrap();
            paged.extend(found.iter().cloned());
            if found.len() < limit {
                break;
            }
        }
        assert_eq!(paged, rows, "pages of {limit}");
    }
    assert_eq!(scene.raw.members(&index).len(), rows.len() + foreign.len(), "entries of an unknown form stay");
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn a_member_between_two_entries_of_a_row_lists_it_once() {
    let mut scene = Scene::new().await;
    let mut rows = [scene.add(in_seconds(9999)).await, scene.add(in_seconds(9999)).await];
    rows.sort_by_key(|row| row.id());
    let [gone, row] = rows;
    scene.lose(&gone);
    let index = scene.index();
    for end in [b"\0\0\0\0\x01".as_slice(), b"\0\0\0\0\x01\x02"] {
        let member = [row.id().as_bytes(), end].concat();
        assert_eq!(scene.raw.ask::<i64>(&[b"ZADD", index.as_bytes(), b"0", &member]), 1);
    }
    // Three members are read for a page of two: that of the missing row, the old entry, and the invalid one.
    assert_eq!(RecordStore::<Grant>::list(&scene.store, scene.subject.as_str(), Page::first(2)).await.unwrap(), [row]);
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn a_record_that_cannot_be_read_stays_until_it_is_due() {
    let mut scene = Scene::new().await;
    let end = in_seconds(100_000);
    let (spoiled, other) = (scene.add(end).await, scene.add(end).await);
    let moved = Arc::new(records::refreshed(&spoiled, in_seconds(200_000)));
    assert_eq!(RecordStore::<Grant>::replace(&scene.store, 1, moved.clone()).await.unwrap(), Replacement::Replaced);
    scene.raw.spoil(&row(&moved));
    assert!(RecordStore::<Grant>::find(&scene.store, &moved.id()).await.is_err());

    assert_eq!(scene.purge(end).await, 1);
    assert_eq!(RecordStore::<Grant>::find(&scene.store, &other.id()).await.unwrap(), None);
    assert!(RecordStore::<Grant>::find(&scene.store, &moved.id()).await.is_err(), "it is still there");
    let page = RecordStore::<Grant>::list(&scene.store, scene.subject.as_str(), Page::first(10)).await;
    assert_eq!(page.unwrap_err().unreadable_key(), Some(&moved.id().as_bytes()[..]));
    assert_eq!(scene.expires(&moved), i64::from(moved.purge_after().unwrap().seconds()));
    assert_eq!(scene.purge(moved.purge_after().unwrap()).await, 1);
    assert!(scene.listed().await.is_empty());
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn what_is_no_row_holds_no_purge_up() {
    let mut scene = Scene::new().await;
    let end = in_seconds(100_000);
    let mut rows = Vec::new();
    for _ in 0..100 {
        rows.push(scene.add(end).await);
    }
    let (short, list) = (row(&rows[0]), row(&rows[1]));
    let stored: Vec<u8> = scene.raw.ask(&[b"GET", short.as_bytes()]);
    let _: String = scene.raw.ask(&[b"SET", short.as_bytes(), b"no row"]);
    scene.lose(&rows[1]);
    assert_eq!(scene.raw.ask::<i64>(&[b"RPUSH", list.as_bytes(), b"something else"]), 1);

    assert_eq!(scene.purge(end).await, 98);
    assert_eq!(scene.raw.ask::<Vec<u8>>(&[b"GET", short.as_bytes()]), b"no row");
    // They are examined again a day later, and go when they are rows.
    let _: String = scene.raw.ask(&[b"SET", short.as_bytes(), &stored]);
    let day = Duration::from_secs(24 * 60 * 60);
    assert_eq!(scene.purge(end.plus(day - Duration::from_secs(1))).await, 0);
    assert_eq!(scene.purge(end.plus(day)).await, 1);
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn the_kit_finds_that_nothing_expires_early() {
    let Scene { store, server: _server, .. } = Scene::new().await;
    engine::a_row_does_not_expire_early(&store, tokio::time::sleep).await;
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn a_set_that_cannot_be_read_holds_no_other_up() {
    let mut scene = Scene::new().await;
    let end = in_seconds(100_000);
    for _ in 0..100 {
        scene.add(end).await;
    }
    let broken = &scene.due_sets()[3];
    let within = scene.raw.members(broken).len();
    assert_eq!(scene.raw.ask::<i64>(&[b"DEL", broken.as_bytes()]), 1);
    let _: String = scene.raw.ask(&[b"SET", broken.as_bytes(), b"something else"]);
    let mut failures = 0;
    for _ in 0..3 {
        failures += usize::from(RecordStore::<Grant>::purge(&scene.store, end, 1000).await.is_err());
    }
    assert!(failures > 0, "the failure is reported");
    let left = scene.raw.keys().into_iter().filter(|key| key.starts_with("grantor:grants:")).count();
    assert_eq!(left, within);
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn the_end_of_a_row_moves_with_its_record() {
    let mut scene = Scene::new().await;
    let grant = scene.add(in_seconds(5000)).await;
    let next = Arc::new(records::refreshed(&grant, in_seconds(90_000)));
    assert_eq!(RecordStore::<Grant>::replace(&scene.store, 1, next.clone()).await.unwrap(), Replacement::Replaced);
    assert_eq!(scene.expires(&grant), i64::from(next.purge_after().unwrap().seconds()));

    // A test's clock, or a grant that should have gone: only the purge removes it.
    let past = Timestamp::from_seconds(1_000_000_000);
    let old = scene.add(past).await;
    assert_eq!(scene.expires(&old), -1);
    assert_eq!(scene.purge(past).await, 1);
    assert_eq!(scene.listed().await, [next]);
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn a_code_that_is_tried_again_and_again_adds_no_entries() {
    let mut scene = Scene::new().await;
    let grant = scene.add(in_seconds(9999)).await;
    for _ in 0..50 {
        assert_eq!(RecordStore::<Grant>::insert(&scene.store, grant.clone()).await.unwrap(), Insertion::Exists);
    }
    // Two if the hour struck meanwhile.
    assert!(scene.raw.members(&scene.index()).len() <= 2);
    assert_eq!(scene.listed().await, [grant]);
    assert_eq!(scene.server.ask(&["DBSIZE"]), "4");
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn an_application_leaves_the_lists_that_it_is_no_longer_on() {
    let mut scene = Scene::new().await;
    let pending = Arc::new(records::application(&scene.subject));
    assert_eq!(RecordStore::insert(&scene.store, pending.clone()).await.unwrap(), Insertion::Inserted);
    let approved = Arc::new(records::approved(&pending));
    assert_eq!(RecordStore::replace(&scene.store, 1, approved.clone()).await.unwrap(), Replacement::Replaced);
    let list = async |filter: ApplicationFilter| {
        RecordStore::<Application>::list(&scene.store, &filter.key(), Page::first(10)).await.unwrap()
    };

    let set = "grantor:applications-list:awaiting-review";
    for _ in 0..2 {
        assert!(list(ApplicationFilter::AwaitingReview).await.is_empty());
    }
    assert_eq!(scene.raw.members(set).len(), 1, "a write may still need it");
    scene.raw.age(set, None);
    scene.raw.age("grantor:applications-list:all", None);
    assert!(list(ApplicationFilter::AwaitingReview).await.is_empty());
    assert!(scene.raw.members(set).is_empty());
    assert_eq!(list(ApplicationFilter::All).await, [approved]);
    assert_eq!(scene.raw.members("grantor:applications-list:all").len(), 1);
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn an_entry_of_a_row_that_is_not_on_the_list_goes_when_it_is_old() {
    let mut scene = Scene::new().await;
    let (grant, other) = (scene.add(in_seconds(9999)).await, records::subject());
    let foreign = format!("grantor:grants-list:{}", other.as_str());
    for time in [b"\xff\xff\xff\xff", b"\0\0\0\0"] {
        let member = [grant.id().as_bytes(), &b"\0"[..], time].concat();
        assert_eq!(scene.raw.ask::<i64>(&[b"ZADD", foreign.as_bytes(), b"0", &member]), 1);
    }
    assert!(RecordStore::<Grant>::list(&scene.store, other.as_str(), Page::first(10)).await.unwrap().is_empty());
    assert_eq!(scene.raw.members(&foreign).len(), 1, "the younger one may be of a write that is under way");
    assert_eq!(scene.listed().await, [grant]);
}

/// 7523-3-03
/// It outlasts its end by what the server's clock may be ahead.
#[tokio::test]
#[ignore = "starts Redis servers"]
async fn an_identifier_outlasts_its_end_by_ten_minutes_and_is_on_no_list() {
    let mut scene = Scene::new().await;
    let end = in_seconds(3);
    let replay = Arc::new(Replay::new(&[b"client", b"jti"], end));
    assert_eq!(RecordStore::<Replay>::insert(&scene.store, replay.clone()).await.unwrap(), Insertion::Inserted);
    assert_eq!(RecordStore::<Replay>::insert(&scene.store, replay.clone()).await.unwrap(), Insertion::Exists);
    let keys = scene.raw.keys();
    assert_eq!(keys.len(), 3, "the layout, the row, the set of its due time: {keys:?}");
    let row = keys.iter().find(|key| key.starts_with("grantor:replays:")).expect("there is a row");
    assert_eq!(scene.raw.ask::<i64>(&[b"EXPIRETIME", row.as_bytes()]), i64::from(end.seconds()) + 600);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(RecordStore::<Replay>::insert(&scene.store, replay.clone()).await.unwrap(), Insertion::Exists);
    let purge = RecordStore::<Replay>::purge(&scene.store, end, 10).await.unwrap();
    assert!(purge.is_finished() && purge.removed() == 1, "the purge goes by the caller's clock: {purge:?}");
    assert_eq!(RecordStore::<Replay>::insert(&scene.store, replay.clone()).await.unwrap(), Insertion::Inserted);
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn an_application_never_expires() {
    let mut scene = Scene::new().await;
    let application = Arc::new(records::application(&scene.subject));
    assert_eq!(RecordStore::insert(&scene.store, application.clone()).await.unwrap(), Insertion::Inserted);
    let id = application.id().as_str();
    let expires: i64 = scene.raw.ask(&[b"EXPIRETIME", format!("grantor:applications:{id}").as_bytes()]);
    assert_eq!(expires, -1);
    assert!(scene.raw.keys().iter().all(|key| !key.contains("-due:")));
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn a_confirm_leaves_row_and_end_as_they_are() {
    let mut scene = Scene::new().await;
    let grant = scene.add(in_seconds(5000)).await;
    let key = row(&grant);
    let before: Vec<u8> = scene.raw.ask(&[b"GET", key.as_bytes()]);
    for _ in 0..2 {
        assert_eq!(RecordStore::<Grant>::confirm(&scene.store, grant.clone()).await.unwrap(), Replacement::Replaced);
    }
    assert_eq!(scene.raw.ask::<Vec<u8>>(&[b"GET", key.as_bytes()]), before, "with the number of the write");
    assert_eq!(scene.expires(&grant), i64::from(grant.purge_after().unwrap().seconds()));
    let next = Arc::new(records::refreshed(&grant, in_seconds(5000)));
    assert_eq!(RecordStore::<Grant>::confirm(&scene.store, next.clone()).await.unwrap(), Replacement::Lost);
    assert_eq!(RecordStore::<Grant>::replace(&scene.store, 1, next.clone()).await.unwrap(), Replacement::Replaced);
    assert_eq!(RecordStore::<Grant>::confirm(&scene.store, grant.clone()).await.unwrap(), Replacement::Lost);
    scene.lose(&next);
    assert_eq!(RecordStore::<Grant>::confirm(&scene.store, next.clone()).await.unwrap(), Replacement::Lost);
    assert!(scene.raw.ask::<i64>(&[b"EXISTS", key.as_bytes()]) == 0, "nothing is written");
}
