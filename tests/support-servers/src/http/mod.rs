//! One HTTP/1.1 client for all tests: requests are written as they are, and answers are read as they came.
//!
//! It follows no redirect, keeps no cookie, and reads no chunks.

mod answer;
mod connection;
mod page;
mod request;

pub use self::answer::Answer;
pub use self::connection::{Connection, Heard, Late, Then, connect, exchange};
pub use self::page::{Page, value_after};
pub use self::request::Request;
