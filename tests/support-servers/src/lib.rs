//! What tests of servers share: database servers, programs in their own processes, one HTTP client.

#![expect(clippy::exhaustive_enums, clippy::exhaustive_structs, reason = "only tests take them apart")]
#![expect(clippy::missing_errors_doc, reason = "the words of an error are for a failed test")]
#![expect(missing_debug_implementations, reason = "they hold secrets")]

pub mod http;
pub mod judges;
pub mod servers;
pub mod started;
