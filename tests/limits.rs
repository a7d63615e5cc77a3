//! What operations cost, in numbers that need no clock: allocations, instructions, octets, calls to stores.
//!
//! Whoever raises a limit says why in the change that does.

#[path = "limits/allocations.rs"]
mod allocations;
#[path = "limits/allocator.rs"]
mod allocator;
#[path = "limits/calls.rs"]
mod calls;
#[path = "limits/instructions.rs"]
mod instructions;
#[expect(dead_code, reason = "the fixture has more than these tests need")]
#[path = "intercepted/mod.rs"]
mod intercepted;
#[expect(dead_code, reason = "the program that runs under callgrind needs more than these tests")]
#[path = "limits/service.rs"]
mod service;
#[path = "limits/sizes.rs"]
mod sizes;
#[path = "limits/throttle.rs"]
mod throttle;
#[expect(dead_code, reason = "the fixture has more than these tests need")]
#[path = "protocol/world.rs"]
mod world;

#[global_allocator]
static ALLOCATOR: allocator::Counting = allocator::Counting;
