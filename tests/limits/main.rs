//! What operations cost, in numbers that need no clock: allocations, instructions, octets, calls to stores.
//!
//! Whoever raises a limit says why in the change that does.

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
