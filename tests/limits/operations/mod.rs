//! What these tests share with the program beside it, which runs under callgrind.

pub(crate) mod allocator;
#[expect(dead_code, reason = "the program that runs under callgrind needs more than these tests")]
pub(crate) mod service;
