//! Stores that fail, futures that are dropped, requests that meet.

mod assertions;
mod cancellation;
mod devices;
mod documents;
mod failing;
mod proofs;
mod pushed;
mod races;
mod scene;
mod waiting;

use support::intercepted::{Failure, Fate};

/// What may go wrong with a call of a store.
const FATES: [Fate; 5] = [
    Fate::FailsBefore(Failure::Transient),
    Fate::FailsBefore(Failure::Permanent),
    Fate::FailsAfter(Failure::Transient),
    Fate::FailsAfter(Failure::Permanent),
    Fate::Repeated,
];
