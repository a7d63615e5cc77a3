//! The system's allocator, counted by thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

pub(crate) struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static HELD: Cell<i64> = const { Cell::new(0) };
}

/// Calls for memory by this thread, growth of what it has included.
pub(crate) fn calls() -> u64 {
    CALLS.get()
}

/// Octets that this thread took and did not give back, as the allocator of Linux hands them out: in steps of 16,
/// eight of them its own.
pub(crate) fn held() -> i64 {
    HELD.get()
}

/// What a piece of so many octets takes.
pub(crate) fn chunk(octets: usize) -> i64 {
    i64::try_from((octets + 8).next_multiple_of(16).max(32)).unwrap_or(i64::MAX)
}

/// A thread that ends has nowhere to count what it still does.
fn count(calls: u64, octets: i64) {
    let _ = CALLS.try_with(|count| count.set(count.get() + calls));
    let _ = HELD.try_with(|held| held.set(held.get() + octets));
}

// SAFETY: every call goes to the system's allocator as it came.
#[expect(unsafe_code, reason = "an allocator is an unsafe trait")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, chunk(layout.size()));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, -chunk(layout.size()));
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, chunk(size) - chunk(layout.size()));
        unsafe { System.realloc(pointer, layout, size) }
    }
}
