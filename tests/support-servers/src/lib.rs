//! What tests of servers share: database servers, programs in their own processes, one HTTP client.

#![expect(clippy::exhaustive_structs, reason = "only tests take them apart")]
#![expect(missing_debug_implementations, reason = "they hold secrets")]

pub mod http;
pub mod judges;
pub mod servers;
pub mod started;
