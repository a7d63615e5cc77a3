//! What operations cost, in numbers that need no clock: allocations, instructions, bytes, calls to stores.
//!
//! A change that raises a limit states why.

mod allocations;
mod calls;
mod instructions;
mod operations;
#[cfg(feature = "jose")]
mod signatures;
mod sizes;
mod throttle;

#[global_allocator]
static ALLOCATOR: operations::allocator::Counting = operations::allocator::Counting;
