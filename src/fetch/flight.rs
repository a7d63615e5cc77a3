//! The fetches in progress, one for each key, each a future that several tasks wait for.
//!
//! One of the tasks is the driver. What the future waits for wakes the driver alone, so the cost of a slow fetch does
//! not grow with the number of tasks. A driver that is dropped hands over to another task. If the driver was woken but
//! not polled, the next task that is polled takes over. The end wakes all tasks. The future is dropped with the last
//! one, unless it outlasts them.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError, Weak};
use std::task::{Context, Poll, Wake, Waker};

pub(crate) type Driven<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The maximum number of tasks that wait for one fetch, unless another is set. Its end wakes all of them.
const MAX_TASKS: usize = 256;

/// Fetches in progress, while a request waits for them.
#[derive(Debug)]
pub(crate) struct Flights<T> {
    by_key: Mutex<HashMap<Box<str>, InProgress<T>>>,
    max_tasks: usize,
    /// Whether a fetch outlasts the requests that wait for it.
    outlasts: bool,
}

struct InProgress<T> {
    flight: Weak<Flight<T>>,
    /// A task that is never polled, if the fetch outlasts the others.
    _idle: Option<Waiter<T>>,
}

impl<T> fmt::Debug for InProgress<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InProgress")
    }
}

impl<T> Default for Flights<T> {
    fn default() -> Self {
        Self { by_key: Mutex::default(), max_tasks: MAX_TASKS, outlasts: false }
    }
}

impl<T> Flights<T> {
    /// Fetches that so many tasks may wait for, and that go on with the next task if all of them are dropped.
    /// Otherwise, requests that are dropped at once could keep a fetch from ever ending.
    pub(crate) fn outlasting(max_tasks: usize) -> Self {
        Self { max_tasks, outlasts: true, ..Self::default() }
    }

    /// Joins the fetch of that key, if one is in progress.
    pub(crate) fn find(&self, key: &str) -> Option<Waiter<T>> {
        waiter(&self.flights(), key)
    }

    /// Joins the fetch of that key, or starts one. `start` may return an answer instead. One lock covers both steps, so
    /// that two requests do not start two fetches.
    pub(crate) fn join<A>(&self, key: &str, start: impl FnOnce() -> Result<Driven<T>, A>) -> Result<Waiter<T>, A> {
        let mut flights = self.flights();
        if let Some(waiter) = waiter(&flights, key) {
            return Ok(waiter);
        }
        flights.retain(|_, own| own.flight.strong_count() > 0);
        let flight = Arc::new(Flight::with_max_tasks(start()?, self.max_tasks));
        let idle = self.outlasts.then(|| Waiter::first(Arc::clone(&flight)));
        flights.insert(key.into(), InProgress { flight: Arc::downgrade(&flight), _idle: idle });
        Ok(Waiter::first(flight))
    }

    fn flights(&self) -> MutexGuard<'_, HashMap<Box<str>, InProgress<T>>> {
        self.by_key.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn waiter<T>(flights: &HashMap<Box<str>, InProgress<T>>, key: &str) -> Option<Waiter<T>> {
    flights.get(key).and_then(|own| own.flight.upgrade()).and_then(Waiter::join)
}

/// Why a task gets no output of the future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoOutput {
    /// The future panicked in the task that polled it.
    Panicked,
    /// As many others wait as may.
    TooManyTasks,
}

/// The shared future, and its output.
pub(crate) struct Flight<T> {
    /// `None` once it is done, or has panicked.
    driven: Mutex<Option<Driven<T>>>,
    /// `None` if it panicked.
    done: OnceLock<Option<T>>,
    tasks: Arc<Tasks>,
    max_tasks: usize,
}

impl<T> Flight<T> {
    pub(crate) fn with_max_tasks(driven: Driven<T>, max_tasks: usize) -> Self {
        Self { driven: Mutex::new(Some(driven)), done: OnceLock::new(), tasks: Arc::default(), max_tasks }
    }

    /// Polls the future as that task, unless another task is polling it.
    fn drive(&self, id: u64) {
        let mut driven = match self.driven.try_lock() {
            Ok(driven) => driven,
            Err(TryLockError::Poisoned(driven)) => driven.into_inner(),
            // The other task stays the driver: a wake-up from now on reaches it.
            Err(TryLockError::WouldBlock) => return,
        };
        let Some(mut future) = driven.take() else {
            // The future is done, or panicked in the task that polled it.
            self.done.get_or_init(|| None);
            self.tasks.wake_all();
            return;
        };
        self.tasks.begin(id);
        let waker = Waker::from(Arc::clone(&self.tasks));
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => {
                self.done.get_or_init(|| Some(value));
                drop(driven);
                self.tasks.wake_all();
            }
            Poll::Pending => *driven = Some(future),
        }
    }
}

/// A task that waits for a [`Flight`].
pub(crate) struct Waiter<T> {
    flight: Arc<Flight<T>>,
    /// `None` if too many others wait.
    id: Option<u64>,
}

impl<T> Waiter<T> {
    pub(crate) fn first(flight: Arc<Flight<T>>) -> Self {
        let id = flight.tasks.enter(flight.max_tasks);
        Self { flight, id }
    }

    /// Joins the flight; `None` if it is already done.
    pub(crate) fn join(flight: Arc<Flight<T>>) -> Option<Self> {
        if flight.done.get().is_some() { None } else { Some(Self::first(flight)) }
    }
}

impl<T: Clone> Future for Waiter<T> {
    type Output = Result<T, NoOutput>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T, NoOutput>> {
        let flight = &self.flight;
        let Some(id) = self.id else { return Poll::Ready(Err(NoOutput::TooManyTasks)) };
        // Registered before the output is checked, so that no wake-up is missed.
        let must_drive = flight.tasks.wait(id, context.waker());
        if flight.done.get().is_none() && (must_drive || flight.driven.is_poisoned()) {
            flight.drive(id);
        }
        match flight.done.get() {
            Some(done) => Poll::Ready(done.clone().ok_or(NoOutput::Panicked)),
            None => Poll::Pending,
        }
    }
}

/// A driver hands over to another task, and wakes it. If that one leaves too, it does the same.
impl<T> Drop for Waiter<T> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.flight.tasks.leave(id);
        }
    }
}

/// The tasks that wait, and which of them polls the future.
#[derive(Default)]
struct Tasks(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    last_id: u64,
    /// The waker of each task; `None` until it is polled.
    wakers: BTreeMap<u64, Option<Waker>>,
    driver: Option<u64>,
    /// Whether the future was woken, and not polled since.
    is_woken: bool,
}

impl Tasks {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a task, and returns its id; `None` if too many wait.
    fn enter(&self, max: usize) -> Option<u64> {
        let mut waiting = self.waiting();
        if waiting.wakers.len() == max {
            return None;
        }
        waiting.last_id += 1;
        let id = waiting.last_id;
        waiting.wakers.insert(id, None);
        Some(id)
    }

    /// Registers the waker of a task. Returns whether this task must poll the future.
    fn wait(&self, id: u64, waker: &Waker) -> bool {
        let mut waiting = self.waiting();
        let before = waiting.wakers.insert(id, Some(waker.clone()));
        let must_drive = waiting.is_woken || waiting.driver.is_none_or(|driver| driver == id);
        // After the lock is released, since a waker may run any code.
        drop(waiting);
        drop(before);
        must_drive
    }

    /// Makes that task the driver, which is about to poll the future.
    fn begin(&self, id: u64) {
        let mut waiting = self.waiting();
        waiting.driver = Some(id);
        waiting.is_woken = false;
    }

    fn leave(&self, id: u64) {
        let mut waiting = self.waiting();
        let before = waiting.wakers.remove(&id);
        let mut next = None;
        if waiting.driver == Some(id) {
            // The future may have woken this task alone, which did not poll it again.
            next = waiting.wakers.iter().find_map(|(next, waker)| Some((*next, waker.clone()?)));
            waiting.driver = next.as_ref().map(|(next, _)| *next);
        }
        drop(waiting);
        drop(before);
        if let Some((_, waker)) = next {
            waker.wake();
        }
    }

    fn wake_driver(&self) {
        let mut waiting = self.waiting();
        waiting.is_woken = true;
        let waker = waiting.driver.and_then(|driver| waiting.wakers.get(&driver)).cloned().flatten();
        drop(waiting);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Wakes them after the lock is released: a waker may run its task immediately.
    fn wake_all(&self) {
        let wakers = std::mem::take(&mut self.waiting().wakers);
        wakers.into_values().flatten().for_each(Waker::wake);
    }
}

impl Wake for Tasks {
    fn wake(self: Arc<Self>) {
        self.wake_driver();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.wake_driver();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::Duration;

    use futures::Stream as _;
    use futures::channel::{mpsc, oneshot};
    use futures::executor::block_on;
    use futures::future::{join_all, select};
    use futures::task::noop_waker;

    use super::*;

    fn flight(driven: impl Future<Output = u32> + Send + 'static) -> Arc<Flight<u32>> {
        Arc::new(Flight::with_max_tasks(Box::pin(driven), MAX_TASKS))
    }

    fn poll(waiter: &mut Waiter<u32>) -> Poll<Result<u32, NoOutput>> {
        let waker = noop_waker();
        Pin::new(waiter).poll(&mut Context::from_waker(&waker))
    }

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Returns a waker that counts, and its count.
    fn counting() -> (Waker, Arc<Woken>) {
        let woken = Arc::new(Woken::default());
        (Waker::from(Arc::clone(&woken)), woken)
    }

    fn poll_with(waiter: &mut Waiter<u32>, waker: &Waker) -> Poll<Result<u32, NoOutput>> {
        Pin::new(waiter).poll(&mut Context::from_waker(waker))
    }

    /// Reads to the end, and counts its polls.
    fn reading(mut receive: mpsc::Receiver<u8>, polled: Arc<AtomicUsize>) -> impl Future<Output = u32> {
        std::future::poll_fn(move |context| {
            polled.fetch_add(1, Ordering::SeqCst);
            while let Poll::Ready(next) = Pin::new(&mut receive).poll_next(context) {
                if next.is_none() {
                    return Poll::Ready(7);
                }
            }
            Poll::Pending
        })
    }

    #[test]
    fn all_who_wait_get_what_it_came_to() {
        let polled = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&polled);
        let flight = flight(async move {
            counted.fetch_add(1, Ordering::SeqCst);
            7
        });
        let waiters: Vec<_> = (0..50).map(|_| Waiter::join(Arc::clone(&flight)).unwrap()).collect();
        assert_eq!(block_on(join_all(waiters)), vec![Ok(7); 50]);
        assert_eq!(polled.load(Ordering::SeqCst), 1);
        assert!(Waiter::join(flight).is_none(), "it is done");
    }

    #[test]
    fn another_drives_on_if_the_first_is_dropped() {
        let (send, receive) = oneshot::channel();
        let flight = flight(async move { receive.await.unwrap() });
        let (mut first, mut second) = (Waiter::first(Arc::clone(&flight)), Waiter::first(flight));
        assert_eq!(poll(&mut first), Poll::Pending);
        let (waker, woken) = counting();
        assert_eq!(poll_with(&mut second, &waker), Poll::Pending);
        // The first task alone is woken, and leaves without another poll.
        send.send(7).unwrap();
        assert_eq!(woken.0.load(Ordering::SeqCst), 0);
        drop(first);
        assert_eq!(woken.0.load(Ordering::SeqCst), 1);
        assert_eq!(poll(&mut second), Poll::Ready(Ok(7)));
    }

    #[test]
    fn a_driver_that_leaves_wakes_one_other() {
        let flight = flight(std::future::pending());
        let mut waiters: Vec<_> = (0..10).map(|_| Waiter::first(Arc::clone(&flight))).collect();
        let (waker, woken) = counting();
        for waiter in &mut waiters {
            assert_eq!(poll_with(waiter, &waker), Poll::Pending);
        }
        // The last one does not drive.
        drop(waiters.pop());
        assert_eq!(woken.0.load(Ordering::SeqCst), 0);
        // The woken task may leave without another poll.
        for left in 1..9 {
            drop(waiters.remove(0));
            assert_eq!(woken.0.load(Ordering::SeqCst), left);
        }
    }

    /// A document that comes byte by byte, to many tasks.
    #[test]
    fn news_wake_the_driver_alone_and_the_end_wakes_all() {
        const BYTES: usize = 5120;
        let ((mut send, receive), polled) = (mpsc::channel(1), Arc::new(AtomicUsize::new(0)));
        let flight = flight(reading(receive, Arc::clone(&polled)));
        let mut waiters: Vec<_> = (0..200).map(|_| (Waiter::first(Arc::clone(&flight)), counting())).collect();
        for (waiter, (waker, _)) in &mut waiters {
            assert_eq!(poll_with(waiter, waker), Poll::Pending);
        }
        for byte in 0..BYTES {
            send.try_send(0).unwrap();
            let (driver, (waker, woken)) = &mut waiters[0];
            assert_eq!(woken.0.load(Ordering::SeqCst), byte + 1);
            assert_eq!(poll_with(driver, waker), Poll::Pending);
        }
        assert_eq!(polled.load(Ordering::SeqCst), BYTES + 1);
        assert!(waiters[1..].iter().all(|(_, (_, woken))| woken.0.load(Ordering::SeqCst) == 0));
        drop(send);
        let (driver, (waker, _)) = &mut waiters[0];
        assert_eq!(poll_with(driver, waker), Poll::Ready(Ok(7)));
        for (waiter, (waker, woken)) in &mut waiters[1..] {
            assert_eq!(woken.0.load(Ordering::SeqCst), 1);
            assert_eq!(poll_with(waiter, waker), Poll::Ready(Ok(7)));
        }
    }

    /// Whichever poll of the driver is its last, the news it was woken for are not lost.
    #[test]
    fn the_driver_may_be_dropped_at_every_poll() {
        for last_poll in 0..5 {
            let (mut send, receive) = mpsc::channel(1);
            let flight = flight(reading(receive, Arc::default()));
            let (mut first, mut second) = (Waiter::first(Arc::clone(&flight)), Waiter::first(flight));
            let (waker, woken) = counting();
            for number in 0..last_poll {
                assert_eq!(poll(&mut first), Poll::Pending);
                if number == 0 {
                    assert_eq!(poll_with(&mut second, &waker), Poll::Pending);
                }
                send.try_send(0).unwrap();
            }
            assert_eq!(woken.0.load(Ordering::SeqCst), 0, "{last_poll}");
            drop(first);
            assert_eq!(woken.0.load(Ordering::SeqCst), usize::from(last_poll > 0), "{last_poll}");
            assert_eq!(poll_with(&mut second, &waker), Poll::Pending);
            drop(send);
            assert_eq!(woken.0.load(Ordering::SeqCst), 1 + usize::from(last_poll > 0), "{last_poll}");
            assert_eq!(poll_with(&mut second, &waker), Poll::Ready(Ok(7)));
        }
    }

    #[test]
    fn a_driver_that_is_never_polled_again_stops_nobody_who_comes_later() {
        let (send, receive) = oneshot::channel();
        let flight = flight(async move { receive.await.unwrap() });
        let (mut idle, mut early) = (Waiter::first(Arc::clone(&flight)), Waiter::first(Arc::clone(&flight)));
        let (waker, woken) = counting();
        assert_eq!(poll(&mut idle), Poll::Pending);
        assert_eq!(poll_with(&mut early, &waker), Poll::Pending);
        send.send(7).unwrap();
        assert_eq!(woken.0.load(Ordering::SeqCst), 0);
        let mut late = Waiter::first(flight);
        assert_eq!(poll(&mut late), Poll::Ready(Ok(7)));
        assert_eq!(woken.0.load(Ordering::SeqCst), 1);
        assert_eq!(poll_with(&mut early, &waker), Poll::Ready(Ok(7)));
        assert_eq!(poll(&mut idle), Poll::Ready(Ok(7)));
    }

    #[test]
    fn so_many_tasks_wait_and_no_more() {
        let larger = Flight::with_max_tasks(Box::pin(std::future::pending()), 1000);
        for (flight, max) in [(flight(std::future::pending()), MAX_TASKS), (Arc::new(larger), 1000)] {
            let mut waiters: Vec<_> = (0..max).map(|_| Waiter::first(Arc::clone(&flight))).collect();
            assert!(waiters.iter_mut().all(|waiter| poll(waiter) == Poll::Pending));
            let mut more = Waiter::first(Arc::clone(&flight));
            assert_eq!(poll(&mut more), Poll::Ready(Err(NoOutput::TooManyTasks)));
            drop(more);
            drop(waiters.pop());
            assert_eq!(poll(&mut Waiter::first(flight)), Poll::Pending);
        }
    }

    #[test]
    fn it_ends_with_the_last_who_waits() {
        struct Ended(Arc<AtomicUsize>);
        impl Drop for Ended {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::SeqCst);
            }
        }
        let ended = Arc::new(AtomicUsize::new(0));
        let held = Ended(Arc::clone(&ended));
        let flight = flight(async move {
            let _held = held;
            std::future::pending().await
        });
        let (mut first, second) = (Waiter::first(Arc::clone(&flight)), Waiter::first(flight));
        assert_eq!(poll(&mut first), Poll::Pending);
        drop(first);
        assert_eq!(ended.load(Ordering::SeqCst), 0);
        drop(second);
        assert_eq!(ended.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_panic_is_reported_to_the_others() {
        let flight = flight(async { panic!("a fetcher's fault") });
        let (mut first, mut second) = (Waiter::first(Arc::clone(&flight)), Waiter::first(flight));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| poll(&mut first))).is_err());
        assert_eq!(poll(&mut second), Poll::Ready(Err(NoOutput::Panicked)));
    }

    #[test]
    fn threads_that_come_and_go_lose_no_news() {
        for round in 0..200_u32 {
            let (send, receive) = oneshot::channel();
            let flight = flight(async move { receive.await.unwrap() });
            let stays: Vec<_> = (0..3)
                .map(|_| Waiter::first(Arc::clone(&flight)))
                .map(|waiter| thread::spawn(move || block_on(waiter)))
                .collect();
            let leaves = Waiter::first(flight);
            let leaves = thread::spawn(move || {
                let (leave, left) = oneshot::channel::<()>();
                thread::spawn(move || leave.send(()));
                drop(block_on(select(leaves, left)));
            });
            if round % 3 == 0 {
                thread::sleep(Duration::from_micros(50));
            }
            send.send(round).unwrap();
            leaves.join().unwrap();
            for stays in stays {
                assert_eq!(stays.join().unwrap(), Ok(round));
            }
        }
    }

    /// A future that completes immediately.
    fn at_once(number: u32) -> impl FnOnce() -> Result<Driven<u32>, ()> {
        move || Ok(Box::pin(async move { number }))
    }

    #[test]
    fn a_fetch_in_progress_is_joined() {
        let flights = Flights::default();
        let first = flights.join("a", at_once(1)).unwrap();
        let second = flights.join("a", || -> Result<Driven<u32>, ()> { panic!("one is in progress") }).unwrap();
        let other = flights.join("b", at_once(2)).unwrap();
        assert!(flights.find("a").is_some() && flights.find("c").is_none());
        assert_eq!([first, second, other].map(block_on), [Ok(1), Ok(1), Ok(2)]);
        assert!(flights.find("a").is_none(), "it is done");
        assert_eq!(block_on(flights.join("a", at_once(3)).unwrap()), Ok(3));
    }

    #[test]
    fn a_fetch_that_outlasts_its_tasks_goes_on_with_the_next() {
        let flights = Flights::outlasting(2);
        let (send, receive) = oneshot::channel();
        let start = || Ok::<Driven<u32>, ()>(Box::pin(async move { receive.await.unwrap() }));
        let mut first = flights.join("a", start).unwrap();
        assert_eq!(poll(&mut first), Poll::Pending);
        drop(first);
        send.send(7).unwrap();
        let next = flights.join("a", || -> Result<Driven<u32>, ()> { panic!("one is in progress") }).unwrap();
        assert_eq!(block_on(next), Ok(7));
        assert!(flights.find("a").is_none(), "it is done");
        assert_eq!(block_on(flights.join("a", at_once(8)).unwrap()), Ok(8));
    }

    #[test]
    fn an_answer_takes_the_place_of_a_fetch() {
        let flights = Flights::<u32>::default();
        assert_eq!(flights.join("a", || Err("known")).err(), Some("known"));
        assert!(flights.find("a").is_none());
        drop(flights.join("a", at_once(1)).unwrap());
        assert!(flights.find("a").is_none(), "it ends with the last request that waits");
    }
}
