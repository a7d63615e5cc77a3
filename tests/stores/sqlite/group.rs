//! Waiting writes share a commit, and each has its own result.

use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use futures::executor::block_on;
use futures::future::{BoxFuture, FutureExt, join_all};
use grantor::SqliteStore;
use grantor::store::sqlite::{SqliteOptions, SqliteProblem};
use grantor::store::{Grant, Insertion, RecordStore, Replacement};
use grantor::wire::Response;
use rusqlite::Connection;

use crate::sqlite::flow::move_to;
use crate::sqlite::records::{Template, assert_sound, find, id, insert, other_connection, problem};
use support::folder::Folder;
use support::world::{World, form};

/// Another writer, so that all writes of the store wait.
struct Lock(Connection);

impl Lock {
    fn take(path: &Path) -> Self {
        let connection = other_connection(path);
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        Self(connection)
    }

    fn release(self) {
        self.0.execute_batch("COMMIT").unwrap();
    }
}

/// Polls once, which puts the call into the queue.
fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    future.poll_unpin(&mut Context::from_waker(Waker::noop()))
}

/// Counts the frames of the log that end a transaction: they state how large the file is then.
fn commits(path: &Path) -> usize {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    let log = std::fs::read(name).unwrap();
    let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().unwrap());
    if log.is_empty() {
        return 0;
    }
    let page = usize::try_from(number(&log[8..12])).unwrap();
    let of_this_log = |frame: &&[u8]| frame[8..16] == log[16..24];
    log[32..].chunks_exact(24 + page).filter(of_this_log).filter(|frame| number(&frame[4..8]) != 0).count()
}

#[test]
fn writes_that_wait_share_one_commit() {
    let folder = Folder::new("group");
    let store = SqliteStore::open(folder.file()).unwrap();
    let template = Template::new();
    let before = commits(&folder.file());
    let lock = Lock::take(&folder.file());
    let writes = (0..64).map(|number| RecordStore::<Grant>::insert(&store, template.grant(id(number), 1)));
    let mut writes: Vec<_> = writes.collect();
    assert!(writes.iter_mut().all(|write| poll_once(write).is_pending()));
    lock.release();
    for answer in block_on(join_all(writes)) {
        assert_eq!(answer.unwrap(), Insertion::Inserted);
    }
    // The writer had taken a part of them when it met the lock.
    let made = commits(&folder.file()) - before;
    assert!((1..=2).contains(&made), "{made} commits");
}

#[test]
fn in_one_group_one_replace_wins() {
    let folder = Folder::new("two");
    let store = SqliteStore::open(folder.file()).unwrap();
    let template = Template::new();
    let _ = insert(&store, template.grant(id(1), 1)).unwrap();
    let before = commits(&folder.file());
    let lock = Lock::take(&folder.file());
    let rivals = (0..8).map(|mark| RecordStore::<Grant>::replace(&store, 1, template.marked(id(1), 2, mark)));
    let mut rivals: Vec<_> = rivals.collect();
    assert!(rivals.iter_mut().all(|write| poll_once(write).is_pending()));
    lock.release();
    let answers: Vec<_> = block_on(join_all(rivals)).into_iter().map(Result::unwrap).collect();
    // The first group is what the writer had when it met the lock, the second is all the rest.
    assert!(commits(&folder.file()) - before <= 2, "four of the rivals at least were in one transaction");
    // In the order in which they came.
    assert_eq!(answers[0], Replacement::Replaced);
    assert!(answers[1..].iter().all(|answer| *answer == Replacement::Lost), "{answers:?}");
    assert_eq!(find(&store, id(1)), Some(template.marked(id(1), 2, 0)));
}

#[test]
fn a_full_queue_is_a_transient_error_at_once() {
    const ROOM: usize = 4;
    let folder = Folder::new("queue");
    let store = SqliteStore::open_with(folder.file(), &SqliteOptions::new().queue_limit(ROOM)).unwrap();
    let template = Template::new();
    let mut world = block_on(World::platform());
    move_to(&mut world, store.clone());
    let client = block_on(world.register(form()));
    let pair = block_on(world.pair_of(&client));

    let lock = Lock::take(&folder.file());
    let mut waiting = Vec::new();
    let refused = loop {
        let number = u32::try_from(waiting.len()).unwrap();
        let mut write = RecordStore::<Grant>::insert(&store, template.grant(id(number), 1));
        match poll_once(&mut write) {
            Poll::Pending => waiting.push(write),
            Poll::Ready(answer) => break answer.unwrap_err(),
        }
        // What the writer took before it met the lock, and a full queue.
        assert!(waiting.len() <= 2 * ROOM + 1, "the queue has no end");
        thread::sleep(Duration::from_millis(10));
    };
    assert!(waiting.len() >= ROOM, "{}", waiting.len());
    assert!(refused.is_transient());
    assert_eq!(problem(&refused), SqliteProblem::QueueFull);
    let response: Response = block_on(world.refresh_as(&client, &pair.refresh));
    assert_eq!(response.status(), 503);
    assert!(response.header("Retry-After").is_some());

    lock.release();
    for answer in block_on(join_all(waiting)) {
        assert_eq!(answer.unwrap(), Insertion::Inserted, "what was accepted is written");
    }
    assert_eq!(block_on(world.refresh_as(&client, &pair.refresh)).status(), 200, "the token is still valid");
}

#[test]
fn a_lock_held_too_long_is_a_transient_error() {
    let folder = Folder::new("busy");
    let options = SqliteOptions::new().busy_timeout(Duration::from_millis(30));
    let store = SqliteStore::open_with(folder.file(), &options).unwrap();
    let template = Template::new();
    let _ = insert(&store, template.grant(id(1), 1)).unwrap();
    let lock = Lock::take(&folder.file());
    let error = insert(&store, template.grant(id(2), 1)).unwrap_err();
    assert!(error.is_transient());
    assert_eq!(problem(&error), SqliteProblem::Busy);
    assert_eq!(find(&store, id(1)), Some(template.grant(id(1), 1)), "reads still work");
    lock.release();
    assert_eq!(find(&store, id(2)), None);
    assert_eq!(insert(&store, template.grant(id(2), 1)).unwrap(), Insertion::Inserted);
}

#[test]
fn a_dropped_write_is_whole_or_not_made() {
    let folder = Folder::new("dropped");
    let store = SqliteStore::open(folder.file()).unwrap();
    let template = Template::new();
    for number in 0..100 {
        let mut write = RecordStore::<Grant>::insert(&store, template.grant(id(number), 1));
        if number % 2 == 0 {
            let _ = poll_once(&mut write);
        }
        drop(write);
    }
    // After all the others in the queue.
    let _ = insert(&store, template.grant(id(1000), 1)).unwrap();
    for number in 0..100 {
        let expected = (number % 2 == 0).then(|| template.grant(id(number), 1));
        assert_eq!(find(&store, id(number)), expected, "{number}");
    }
    drop(store);
    assert_sound(&folder.file());
}

#[test]
fn a_store_that_is_dropped_writes_what_is_queued() {
    let folder = Folder::new("queued");
    let store = SqliteStore::open(folder.file()).unwrap();
    let template = Template::new();
    let lock = Lock::take(&folder.file());
    for number in 0..20 {
        assert!(poll_once(&mut RecordStore::<Grant>::insert(&store, template.grant(id(number), 1))).is_pending());
    }
    thread::scope(|scope| {
        let dropped = scope.spawn(|| drop(store));
        lock.release();
        dropped.join().unwrap();
    });
    assert_eq!(folder.names(), ["store.sqlite"], "the drop waits until the file is closed");
    let store = SqliteStore::open(folder.file()).unwrap();
    assert!((0..20).all(|number| find(&store, id(number)).is_some()));
}

struct PanicsWhenWoken;

impl Wake for PanicsWhenWoken {
    fn wake(self: Arc<Self>) {
        panic!("an executor that fails");
    }
}

#[test]
fn an_executor_that_panics_stops_nothing() {
    let folder = Folder::new("panic");
    let store = SqliteStore::open(folder.file()).unwrap();
    let template = Template::new();
    let waker = Waker::from(Arc::new(PanicsWhenWoken));
    let lock = Lock::take(&folder.file());
    let mut write = RecordStore::<Grant>::insert(&store, template.grant(id(1), 1));
    assert!(write.poll_unpin(&mut Context::from_waker(&waker)).is_pending());
    lock.release();
    assert_eq!(insert(&store, template.grant(id(2), 1)).unwrap(), Insertion::Inserted);
    assert_eq!(block_on(write).unwrap(), Insertion::Inserted);
    assert!(find(&store, id(1)).is_some() && find(&store, id(2)).is_some());
}

/// Drops its future when it is woken.
struct Abandons(Mutex<Option<BoxFuture<'static, ()>>>);

impl Wake for Abandons {
    fn wake(self: Arc<Self>) {
        let future = self.0.lock().unwrap().take();
        drop(future);
    }
}

#[test]
fn a_store_may_be_dropped_in_the_thread_that_answers() {
    let folder = Folder::new("thread");
    let store = SqliteStore::open(folder.file()).unwrap();
    let template = Template::new();
    let lock = Lock::take(&folder.file());
    let task = Arc::new(Abandons(Mutex::new(None)));
    let waker = Waker::from(task.clone());
    let write = async move { drop(RecordStore::<Grant>::insert(&store, template.grant(id(1), 1)).await) };
    let mut write = write.boxed();
    assert!(write.poll_unpin(&mut Context::from_waker(&waker)).is_pending());
    *task.0.lock().unwrap() = Some(write);
    lock.release();
    // The store closes its file, which removes the log.
    let is_gone = || task.0.lock().unwrap().is_none() && folder.names() == ["store.sqlite"];
    let mut looks = 0..2000;
    while !is_gone() {
        looks.next().expect("the store still exists");
        thread::sleep(Duration::from_millis(5));
    }
    assert!(find(&SqliteStore::open(folder.file()).unwrap(), id(1)).is_some());
}

#[test]
fn a_future_may_be_polled_in_two_threads() {
    let folder = Folder::new("moved");
    let store = SqliteStore::open(folder.file()).unwrap();
    let template = Template::new();
    let lock = Lock::take(&folder.file());
    let mut write = pin!(RecordStore::<Grant>::insert(&store, template.grant(id(1), 1)));
    assert!(poll_once(&mut write).is_pending());
    thread::scope(|scope| {
        let answer = scope.spawn(|| block_on(write));
        lock.release();
        assert_eq!(answer.join().unwrap().unwrap(), Insertion::Inserted);
    });
}
