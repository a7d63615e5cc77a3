//! Stores that fail, futures that are dropped, requests that meet.

mod assertions;
mod cancellation;
mod devices;
mod documents;
mod failing;
mod proofs;
mod pushed;
mod races;
mod waiting;
