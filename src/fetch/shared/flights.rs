//! The fetches in progress, one for each key.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::fetch::shared::flight::{Driven, Flight, Waiter};

/// Fetches in progress, while a request waits for them.
pub(crate) struct Flights<T>(Mutex<HashMap<Box<str>, Weak<Flight<T>>>>);

impl<T> Default for Flights<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Flights<T> {
    /// Joins the fetch of that key, if one is in progress.
    pub(crate) fn find(&self, key: &str) -> Option<Waiter<T>> {
        waiter(&self.flights(), key)
    }

    /// Joins the fetch of that key, or starts one. `start` may return an answer instead. One lock covers both steps, so
    /// that two requests do not start two fetches.
    pub(crate) fn join<A>(&self, key: &str, start: impl FnOnce() -> Result<Driven<T>, A>) -> Result<Waiter<T>, A> {
        let mut flights = self.flights();
        if let Some(waiter) = waiter(&flights, key) {
            return Ok(waiter);
        }
        flights.retain(|_, flight| flight.strong_count() > 0);
        let flight = Arc::new(Flight::new(start()?));
        flights.insert(key.into(), Arc::downgrade(&flight));
        Ok(Waiter::first(flight))
    }

    fn flights(&self) -> MutexGuard<'_, HashMap<Box<str>, Weak<Flight<T>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn waiter<T>(flights: &HashMap<Box<str>, Weak<Flight<T>>>, key: &str) -> Option<Waiter<T>> {
    flights.get(key).and_then(Weak::upgrade).and_then(Waiter::join)
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;

    /// A future that completes immediately.
    fn at_once(number: u32) -> impl FnOnce() -> Result<Driven<u32>, ()> {
        move || Ok(Box::pin(async move { number }))
    }

    #[test]
    fn a_fetch_in_progress_is_joined() {
        let flights = Flights::default();
        let first = flights.join("a", at_once(1)).unwrap();
        let second = flights.join("a", || -> Result<Driven<u32>, ()> { panic!("one is in progress") }).unwrap();
        let other = flights.join("b", at_once(2)).unwrap();
        assert!(flights.find("a").is_some() && flights.find("c").is_none());
        assert_eq!([first, second, other].map(block_on), [Some(1), Some(1), Some(2)]);
        assert!(flights.find("a").is_none(), "it is done");
        assert_eq!(block_on(flights.join("a", at_once(3)).unwrap()), Some(3));
    }

    #[test]
    fn an_answer_takes_the_place_of_a_fetch() {
        let flights = Flights::<u32>::default();
        assert_eq!(flights.join("a", || Err("known")).err(), Some("known"));
        assert!(flights.find("a").is_none());
        drop(flights.join("a", at_once(1)).unwrap());
        assert!(flights.find("a").is_none(), "it ends with the last request that waits");
    }
}
