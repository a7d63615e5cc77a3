//! The system's allocator, counted by thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

pub(crate) struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static HELD: Cell<i64> = const { Cell::new(0) };
}

/// Returns the number of allocations by this thread, including reallocations.
pub(crate) fn calls() -> u64 {
    CALLS.get()
}

/// Returns the bytes that this thread allocated and did not free, as the allocator of Linux counts them: in steps of
/// 16, including eight of its own.
pub(crate) fn held() -> i64 {
    HELD.get()
}

/// Returns the bytes that an allocation of that size takes.
pub(crate) fn chunk(bytes: usize) -> i64 {
    i64::try_from((bytes + 8).next_multiple_of(16).max(32)).unwrap_or(i64::MAX)
}

/// A thread that is ending has no counter left for what it still does.
fn count(calls: u64, bytes: i64) {
    let _ = CALLS.try_with(|count| count.set(count.get() + calls));
    let _ = HELD.try_with(|held| held.set(held.get() + bytes));
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
