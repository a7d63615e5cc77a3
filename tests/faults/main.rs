//! Stores that fail, futures that are dropped, requests that meet.

mod cancellation;
mod documents;
mod failing;
mod races;
