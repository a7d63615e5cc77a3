//! A store of grants that fails on demand, whose reads are not settled, and that counts its writes.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use grantor::config::Profile;

use crate::interleaved::serve_from;
use support::intercepted::{Failure, Fate, Intercepted, Script};
use support::world::World;

/// The calls that fail, always with a transient failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fault {
    #[default]
    None,
    Writes,
    Everything,
}

/// What becomes of the calls to such a store.
#[derive(Clone, Default)]
pub(crate) struct Unreliable(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    fault: Fault,
    reads_until_back: u8,
    /// The calls that did not fail.
    made: Vec<&'static str>,
}

impl Unreliable {
    /// A world whose grants are kept in such a store.
    pub(crate) async fn world(profile: Profile) -> (World, Self) {
        let mut world = World::with(profile, |_| {}).await;
        let script = Self::default();
        let tokens = Intercepted::new(world.store.clone(), script.clone());
        serve_from(&mut world, tokens);
        (world, script)
    }

    pub(crate) fn fail(&self, fault: Fault) {
        self.0.lock().unwrap().fault = fault;
    }

    /// Makes the next reads fail, at most this many.
    pub(crate) fn fail_reads(&self, count: u8) {
        self.0.lock().unwrap().reads_until_back = count;
    }

    /// Returns the numbers of writes and of confirmations since the last call.
    pub(crate) fn counted(&self) -> (usize, usize) {
        let made = std::mem::take(&mut self.0.lock().unwrap().made);
        let writes = made.iter().filter(|call| matches!(**call, "tokens.insert" | "tokens.replace"));
        (writes.count(), made.iter().filter(|call| **call == "tokens.confirm").count())
    }
}

#[async_trait]
impl Script for Unreliable {
    async fn before(&self, call: &'static str) -> Fate {
        let mut state = self.0.lock().unwrap();
        let is_read = matches!(call, "tokens.find" | "tokens.list");
        let is_missing = is_read && state.reads_until_back > 0;
        state.reads_until_back -= u8::from(is_missing);
        let fails = match state.fault {
            Fault::None => false,
            Fault::Writes => !is_read,
            Fault::Everything => true,
        };
        if call != "tokens.purge" && (fails || is_missing) {
            return Fate::FailsBefore(Failure::Transient);
        }
        state.made.push(call);
        Fate::Done
    }
}
