//! Scripts that several suites follow.

use std::cmp::Ordering;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;

use crate::intercepted::{Failure, Fate, Script};

/// Records every call. One of them may have another fate. Clones share what was recorded.
#[derive(Clone, Debug)]
pub struct Calls {
    at: usize,
    fate: Fate,
    /// The fate of every later call.
    then: Fate,
    reads_settled: bool,
    made: Arc<Mutex<Vec<&'static str>>>,
}

impl Calls {
    /// Every call is made and answered.
    pub fn recorded() -> Self {
        Self::failing(usize::MAX, Fate::Done)
    }

    /// The call of that number has a fate.
    pub fn failing(at: usize, fate: Fate) -> Self {
        Self { at, fate, then: Fate::Done, reads_settled: false, made: Arc::default() }
    }

    /// The store is unavailable from that call on, which may have taken effect.
    pub fn outage(at: usize, fate: Fate) -> Self {
        Self { then: Fate::FailsBefore(Failure::Transient), ..Self::failing(at, fate) }
    }

    pub fn with_settled_reads(self, reads_settled: bool) -> Self {
        Self { reads_settled, ..self }
    }

    pub fn fate(&self) -> Fate {
        self.fate
    }

    /// The call that had its fate.
    pub fn met(&self) -> Option<&'static str> {
        self.made.lock().unwrap().get(self.at).copied()
    }

    /// The calls since the last time.
    pub fn take(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.made.lock().unwrap())
    }
}

#[async_trait]
impl Script for Calls {
    async fn before(&self, call: &'static str) -> Fate {
        let mut made = self.made.lock().unwrap();
        made.push(call);
        match (made.len() - 1).cmp(&self.at) {
            Ordering::Less => Fate::Done,
            Ordering::Equal => self.fate,
            Ordering::Greater => self.then,
        }
    }

    fn reads_settled(&self) -> bool {
        self.reads_settled
    }
}

/// Lets other requests go first at every call, and again after its effect.
#[derive(Clone, Copy, Debug)]
pub struct Yielding;

#[async_trait]
impl Script for Yielding {
    async fn before(&self, _: &'static str) -> Fate {
        tokio::task::yield_now().await;
        Fate::Done
    }

    async fn after(&self, _: &'static str) {
        tokio::task::yield_now().await;
    }
}
