//! Counts allocations, separately for each thread. It adds a nanosecond or two to an allocation.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use crate::measure;

#[global_allocator]
static COUNTING: Counting = Counting;

thread_local! {
    static COUNT: Cell<Heap> = const { Cell::new(Heap { allocations: 0, bytes: 0, blocks: 0 }) };
}

/// What this thread allocated, less what it freed.
#[derive(Clone, Copy)]
pub(crate) struct Heap {
    /// Calls that asked for memory. Freeing does not reduce this count.
    pub(crate) allocations: i64,
    /// Bytes that were asked for.
    pub(crate) bytes: i64,
    /// Bytes of the blocks that glibc's malloc takes for them.
    pub(crate) blocks: i64,
}

/// Does the work, and returns its result and what it left on the heap.
pub(crate) fn of<T>(work: impl FnOnce() -> T) -> (T, Heap) {
    let before = COUNT.get();
    let done = work();
    let after = COUNT.get();
    let heap = Heap {
        allocations: after.allocations - before.allocations,
        bytes: after.bytes - before.bytes,
        blocks: after.blocks - before.blocks,
    };
    (done, heap)
}

/// Returns the median number of allocations of an operation.
pub(crate) fn allocations(operations: impl Iterator<Item = ()>) -> f64 {
    let mut operations = operations;
    let mut counts = Vec::new();
    while let (Some(()), heap) = of(|| operations.next()) {
        counts.push(heap.allocations as f64);
    }
    measure::median(counts)
}

/// Returns the size of the block that glibc's malloc takes for `size` bytes: eight more, in steps of 16, at least 32.
pub(crate) fn block(size: usize) -> i64 {
    if size == 0 { 0 } else { (size + 8).next_multiple_of(16).max(32) as i64 }
}

struct Counting;

#[expect(unsafe_code, reason = "allocations can be counted nowhere else; every call is passed to the system unchanged")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size(), 0);
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size(), 0);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, size, layout.size());
        unsafe { System.realloc(place, layout, size) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(0, 0, layout.size());
        unsafe { System.dealloc(place, layout) }
    }
}

fn count(allocations: i64, more: usize, less: usize) {
    let before = COUNT.get();
    COUNT.set(Heap {
        allocations: before.allocations + allocations,
        bytes: before.bytes + more as i64 - less as i64,
        blocks: before.blocks + block(more) - block(less),
    });
}
