//! Many calls at the same time, on one task or on as many threads, without naming a runtime.

use std::future::{self, Future};
use std::io;
use std::iter;
use std::panic;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};
use std::task::{Context, Poll};
use std::thread;

/// How concurrent calls meet. Each of the two ways finds errors that the other may miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meeting {
    /// The calls are polled in turn on one task, to find what is read before an `await` and written after it.
    OneTask,
    /// The calls are polled by [`THREADS`] threads that start together, to find missing locks.
    Threads,
}

/// The number of polling threads. One thread per call would take longer than the calls, and only as many threads run at
/// once as there are processors.
const THREADS: usize = 8;

/// Makes all calls at once and returns their answers in the same order.
///
/// A thread of the kit only polls: it never waits for an answer, and the caller's thread waits for no
/// longer than one poll takes. So a store whose connection is driven by the caller's own thread still makes progress.
pub(super) async fn at_once<F>(meeting: Meeting, calls: impl IntoIterator<Item = F>) -> Vec<F::Output>
where
    F: Future<Output: Send> + Send,
{
    let mut callers: Vec<_> = calls.into_iter().map(|call| Caller { call: Box::pin(call), answer: None }).collect();
    future::poll_fn(|context| {
        match meeting {
            Meeting::OneTask => callers.iter_mut().for_each(|caller| caller.poll(context)),
            Meeting::Threads => poll_on_threads(&mut callers, context),
        }
        if callers.iter().all(|caller| caller.answer.is_some()) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    callers.into_iter().filter_map(|caller| caller.answer).collect()
}

/// Yields once to the other calls.
pub(super) async fn pause() {
    let mut paused = false;
    future::poll_fn(|context| {
        if paused {
            return Poll::Ready(());
        }
        paused = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

struct Caller<F: Future> {
    call: Pin<Box<F>>,
    answer: Option<F::Output>,
}

impl<F: Future> Caller<F> {
    fn poll(&mut self, context: &mut Context<'_>) {
        if self.answer.is_none()
            && let Poll::Ready(answer) = self.call.as_mut().poll(context)
        {
            self.answer = Some(answer);
        }
    }
}

fn poll_on_threads<F>(callers: &mut [Caller<F>], context: &Context<'_>)
where
    F: Future<Output: Send> + Send,
{
    let waker = context.waker();
    // A lock, not a barrier: if a thread could not start, the others would wait at a barrier forever.
    let gate = &RwLock::new(());
    let arrived = &AtomicUsize::new(0);
    thread::scope(|scope| {
        let closed = gate.write().unwrap_or_else(PoisonError::into_inner);
        let mut shares: Vec<Vec<_>> = iter::repeat_with(Vec::new).take(THREADS).collect();
        let waiting = callers.iter_mut().filter(|caller| caller.answer.is_none());
        for (place, caller) in waiting.enumerate() {
            if let Some(share) = shares.get_mut(place % THREADS) {
                share.push(caller);
            }
        }
        let threads: Vec<_> = shares
            .into_iter()
            .filter(|share| !share.is_empty())
            .map(|share| {
                let thread = thread::Builder::new().name("grantor-kit-caller".to_owned());
                started(thread.spawn_scoped(scope, move || {
                    arrived.fetch_add(1, Ordering::SeqCst);
                    drop(gate.read());
                    share.into_iter().for_each(|caller| caller.poll(&mut Context::from_waker(waker)));
                }))
            })
            .collect();
        while arrived.load(Ordering::SeqCst) < threads.len() {
            thread::yield_now();
        }
        drop(closed);
        for thread in threads {
            if let Err(panicked) = thread.join() {
                panic::resume_unwind(panicked);
            }
        }
    });
}

#[expect(clippy::panic, reason = "the kit cannot test a store without its threads")]
fn started<T>(thread: io::Result<T>) -> T {
    match thread {
        Ok(thread) => thread,
        Err(error) => panic!("the kit could not start a thread: {error}"),
    }
}
