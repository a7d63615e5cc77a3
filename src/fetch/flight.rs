//! The fetches in progress, one for each key, each a future that several tasks wait for. Each task that is polled polls
//! the future, so the future continues if the task that started it is dropped. The future is dropped with the last task.

use std::collections::{BTreeMap, HashMap};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError, Weak};
use std::task::{Context, Poll, Wake, Waker};

pub(crate) type Driven<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Fetches in progress, while a request waits for them.
#[derive(Debug)]
pub(crate) struct Flights<T>(Mutex<HashMap<Box<str>, Weak<Flight<T>>>>);

impl<T> Default for Flights<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Flights<T> {
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
        flights.retain(|_, flight| flight.strong_count() > 0);
        let flight = Arc::new(Flight::new(start()?));
        flights.insert(key.into(), Arc::downgrade(&flight));
        Ok(Waiter::first(flight))
    }

    fn flights(&self) -> MutexGuard<'_, HashMap<Box<str>, Weak<Flight<T>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn waiter<T>(flights: &HashMap<Box<str>, Weak<Flight<T>>>, key: &str) -> Option<Waiter<T>> {
    flights.get(key).and_then(Weak::upgrade).and_then(Waiter::join)
}

/// The shared future, and its output.
pub(crate) struct Flight<T> {
    /// `None` once it is done, or has panicked.
    driven: Mutex<Option<Driven<T>>>,
    /// `None` if it panicked.
    done: OnceLock<Option<T>>,
    waiting: Arc<Waiting>,
}

impl<T> Flight<T> {
    pub(crate) fn new(driven: Driven<T>) -> Self {
        Self { driven: Mutex::new(Some(driven)), done: OnceLock::new(), waiting: Arc::default() }
    }

    /// Polls the future, unless another task is polling it.
    fn drive(&self) {
        let mut driven = match self.driven.try_lock() {
            Ok(driven) => driven,
            Err(TryLockError::Poisoned(driven)) => driven.into_inner(),
            // The other task wakes all tasks when the future is done, and one task when it is itself dropped.
            Err(TryLockError::WouldBlock) => return,
        };
        let Some(mut future) = driven.take() else {
            // The future is done, or panicked in the task that polled it.
            self.done.get_or_init(|| None);
            self.waiting.wake_all();
            return;
        };
        let waker = Waker::from(Arc::clone(&self.waiting));
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => {
                self.done.get_or_init(|| Some(value));
                drop(driven);
                self.waiting.wake_all();
            }
            Poll::Pending => *driven = Some(future),
        }
    }
}

/// A task that waits for a [`Flight`]. Its output is `None` if the future panicked.
pub(crate) struct Waiter<T> {
    flight: Arc<Flight<T>>,
    id: u64,
}

impl<T> Waiter<T> {
    pub(crate) fn first(flight: Arc<Flight<T>>) -> Self {
        let id = flight.waiting.next_id();
        Self { flight, id }
    }

    /// Joins the flight; `None` if it is already done.
    pub(crate) fn join(flight: Arc<Flight<T>>) -> Option<Self> {
        if flight.done.get().is_some() { None } else { Some(Self::first(flight)) }
    }
}

impl<T: Clone> Future for Waiter<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        // Registered before the output is checked, so that no wake-up is missed.
        self.flight.waiting.wait(self.id, context.waker());
        if self.flight.done.get().is_none() {
            self.flight.drive();
        }
        match self.flight.done.get() {
            Some(done) => Poll::Ready(done.clone()),
            None => Poll::Pending,
        }
    }
}

/// Wakes one of the remaining tasks, because the future may have woken only this one. One is enough: if it leaves too,
/// it wakes the next one. Waking all of them each time would cost a million polls when a thousand requests end one by
/// one.
impl<T> Drop for Waiter<T> {
    fn drop(&mut self) {
        self.flight.waiting.leave(self.id);
        self.flight.waiting.wake_one();
    }
}

/// The tasks that wait.
#[derive(Default)]
struct Waiting(Mutex<Wakers>);

#[derive(Default)]
struct Wakers {
    last_id: u64,
    by_id: BTreeMap<u64, Waker>,
}

impl Waiting {
    fn wakers(&self) -> MutexGuard<'_, Wakers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_id(&self) -> u64 {
        let mut wakers = self.wakers();
        wakers.last_id += 1;
        wakers.last_id
    }

    fn wait(&self, id: u64, waker: &Waker) {
        let before = self.wakers().by_id.insert(id, waker.clone());
        // After the lock is released, since a waker may run any code.
        drop(before);
    }

    fn leave(&self, id: u64) {
        let before = self.wakers().by_id.remove(&id);
        drop(before);
    }

    fn wake_one(&self) {
        let first = self.wakers().by_id.pop_first();
        if let Some((_, waker)) = first {
            waker.wake();
        }
    }

    /// Wakes them after the lock is released: a waker may run its task immediately.
    fn wake_all(&self) {
        let wakers = std::mem::take(&mut self.wakers().by_id);
        wakers.into_values().for_each(Waker::wake);
    }
}

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.wake_all();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.wake_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::Duration;

    use futures::channel::oneshot;
    use futures::executor::block_on;
    use futures::future::{join_all, select};
    use futures::task::noop_waker;

    use super::*;

    fn flight(driven: impl Future<Output = u32> + Send + 'static) -> Arc<Flight<u32>> {
        Arc::new(Flight::new(Box::pin(driven)))
    }

    fn poll(waiter: &mut Waiter<u32>) -> Poll<Option<u32>> {
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

    #[test]
    fn all_who_wait_get_what_it_came_to() {
        let polled = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&polled);
        let flight = flight(async move {
            counted.fetch_add(1, Ordering::SeqCst);
            7
        });
        let waiters: Vec<_> = (0..50).map(|_| Waiter::join(Arc::clone(&flight)).unwrap()).collect();
        assert_eq!(block_on(join_all(waiters)), vec![Some(7); 50]);
        assert_eq!(polled.load(Ordering::SeqCst), 1);
        assert!(Waiter::join(flight).is_none(), "it is done");
    }

    #[test]
    fn another_drives_on_if_the_first_is_dropped() {
        let (send, receive) = oneshot::channel();
        let flight = flight(async move { receive.await.unwrap() });
        let (mut first, mut second) = (Waiter::first(Arc::clone(&flight)), Waiter::first(flight));
        assert_eq!(poll(&mut first), Poll::Pending);
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        assert_eq!(Pin::new(&mut second).poll(&mut Context::from_waker(&waker)), Poll::Pending);
        // The first task is woken with the second and leaves without another poll.
        send.send(7).unwrap();
        assert_eq!(woken.0.load(Ordering::SeqCst), 1);
        drop(first);
        assert_eq!(poll(&mut second), Poll::Ready(Some(7)));
    }

    #[test]
    fn one_who_leaves_wakes_one_other() {
        let flight = flight(std::future::pending());
        let mut waiters: Vec<_> = (0..10).map(|_| Waiter::first(Arc::clone(&flight))).collect();
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        for waiter in &mut waiters {
            assert_eq!(Pin::new(waiter).poll(&mut Context::from_waker(&waker)), Poll::Pending);
        }
        // The woken task may leave without another poll.
        for left in 1..10 {
            drop(waiters.remove(0));
            assert_eq!(woken.0.load(Ordering::SeqCst), left);
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
        assert_eq!(poll(&mut second), Poll::Ready(None));
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
                assert_eq!(stays.join().unwrap(), Some(round));
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
        assert_eq!([first, second, other].map(block_on), [Some(1), Some(1), Some(2)]);
        assert!(flights.find("a").is_none(), "it is done");
        assert_eq!(block_on(flights.join("a", at_once(3)).unwrap()), Some(3));
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
