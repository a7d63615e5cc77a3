//! Rounds in which every contender does the same, one after the other.

use rustix::time::{ClockId, clock_gettime};

use super::{Contender, Peer};
use crate::material::{Tokens, authorization_query, bearer, code_of, exchange_form, owner, refresh_form};

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    pub hot_rounds: usize,
    pub large_rounds: usize,
    /// Live grants of the large rounds.
    pub grants: usize,
}

impl Effort {
    pub const FULL: Self = Self { hot_rounds: 15, large_rounds: 7, grants: 1_000_000 };
    /// Only shows that everything runs. The figures mean nothing.
    pub const QUICK: Self = Self { hot_rounds: 2, large_rounds: 2, grants: 10_000 };
}

/// Live grants of the hot rounds.
pub(super) const HOT: usize = 4096;
/// Requests that are prepared, answered and checked together: few, so that they stay in the cache.
const BATCH: usize = 64;
/// Grants of the contender whose every refresh takes a fifth of a second.
const SLOW: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// The request is checked, the user agrees, the code is made.
    Authorize,
    Exchange,
    /// Both of them.
    Flow,
    Refresh,
    Authenticate,
}

impl Operation {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Authorize => "authorize and decide",
            Self::Exchange => "exchange",
            Self::Flow => "whole flow",
            Self::Refresh => "refresh",
            Self::Authenticate => "authenticate",
        }
    }
}

/// Nanoseconds per operation, one number a round.
#[derive(Debug)]
pub(super) struct Series {
    pub(super) operation: Operation,
    pub(super) grants: usize,
    pub(super) contender: Contender,
    pub(super) rounds: Vec<f64>,
}

/// All that was measured.
#[derive(Debug, Default)]
pub struct Figures {
    pub(super) series: Vec<Series>,
}

impl Figures {
    /// Runs everything, first hot, then among many grants.
    #[must_use]
    pub fn measure(effort: Effort) -> Self {
        let mut figures = Self::default();
        let contenders = [Contender::Grantor, Contender::OxideAuth, Contender::OauthAs, Contender::OxideAuthDefault];
        figures.rounds(&contenders, HOT, effort.hot_rounds);
        figures.rounds(&contenders[..3], effort.grants, effort.large_rounds);
        figures
    }

    fn rounds(&mut self, contenders: &[Contender], grants: usize, rounds: usize) {
        let mut populations: Vec<_> = contenders
            .iter()
            .map(|&contender| {
                eprintln!("{}: {grants} grants", contender.name());
                Population::of(contender, if contender == Contender::OxideAuthDefault { SLOW } else { grants })
            })
            .collect();
        // The first round only warms up. The order changes from round to round, so that no contender always runs after
        // the same one.
        for round in 0..=rounds {
            eprintln!("round {round} of {rounds}");
            for turn in 0..populations.len() {
                let place = (round + turn) % populations.len();
                let population = &mut populations[place];
                for (operation, time) in population.round(grants == HOT) {
                    if round > 0 {
                        self.add(operation, grants, population.contender, time);
                    }
                }
            }
        }
    }

    fn add(&mut self, operation: Operation, grants: usize, contender: Contender, nanoseconds: f64) {
        let same = |series: &&mut Series| {
            (series.operation, series.grants, series.contender) == (operation, grants, contender)
        };
        match self.series.iter_mut().find(same) {
            Some(series) => series.rounds.push(nanoseconds),
            None => self.series.push(Series { operation, grants, contender, rounds: vec![nanoseconds] }),
        }
    }
}

/// A contender with its live grants.
struct Population {
    contender: Contender,
    peer: Box<dyn Peer>,
    grants: Vec<Tokens>,
    shuffle: Shuffle,
}

impl Population {
    fn of(contender: Contender, grants: usize) -> Self {
        let mut peer = contender.start();
        let mut tokens = Vec::with_capacity(grants);
        while tokens.len() < grants {
            let count = (grants - tokens.len()).min(HOT);
            tokens.extend(flows(&mut *peer, tokens.len(), count).2);
        }
        peer.clean_up();
        Self { contender, peer, grants: tokens, shuffle: Shuffle(0x9E37_79B9_7F4A_7C15) }
    }

    /// Does everything once. Hot flows run on a separate server, which stays small.
    fn round(&mut self, hot: bool) -> Vec<(Operation, f64)> {
        let count = self.grants.len();
        if count == SLOW {
            return vec![(Operation::Refresh, self.refresh(SLOW))];
        }
        let (authorize, exchange) = if hot { self.hot_flow() } else { self.flow(10_000) };
        let refresh = self.refresh(count.min(20_000));
        let authenticate = self.authenticate(if hot { 4 * HOT } else { count.min(100_000) });
        vec![
            (Operation::Authorize, authorize),
            (Operation::Exchange, exchange),
            (Operation::Flow, authorize + exchange),
            (Operation::Refresh, refresh),
            (Operation::Authenticate, authenticate),
        ]
    }

    fn hot_flow(&self) -> (f64, f64) {
        let mut peer = self.contender.start();
        flows(&mut *peer, 0, HOT / 4);
        let (authorize, exchange, _) = flows(&mut *peer, HOT / 4, HOT - HOT / 4);
        (authorize, exchange)
    }

    fn flow(&mut self, count: usize) -> (f64, f64) {
        let (authorize, exchange, tokens) = flows(&mut *self.peer, self.grants.len(), count);
        self.grants.extend(tokens);
        (authorize, exchange)
    }

    /// Refreshes `count` grants, each once, and keeps the new tokens.
    fn refresh(&mut self, count: usize) -> f64 {
        self.peer.let_minutes_pass();
        let basic = self.peer.credentials().basic.clone();
        let mut stopwatch = Stopwatch::default();
        for batch in self.shuffle.distinct(self.grants.len(), count).chunks(BATCH) {
            let forms: Vec<_> = batch.iter().map(|&number| refresh_form(&self.grants[number].refresh)).collect();
            let answers = stopwatch.time(&forms, |form| self.peer.refresh(&basic, form));
            for (&number, answer) in batch.iter().zip(answers) {
                let new = Tokens::of(&answer);
                let old = std::mem::replace(&mut self.grants[number], new.clone());
                assert!(old.refresh != new.refresh && old.access != new.access, "nothing was rotated");
            }
        }
        stopwatch.per_operation()
    }

    /// Checks `count` access tokens.
    fn authenticate(&mut self, count: usize) -> f64 {
        let mut stopwatch = Stopwatch::default();
        for _ in 0..count.div_ceil(BATCH) {
            let chosen = std::iter::repeat_with(|| self.shuffle.below(self.grants.len())).take(BATCH);
            let checks: Vec<_> = chosen.map(|number| (bearer(&self.grants[number].access), owner(number))).collect();
            stopwatch.time(&checks, |(bearer, owner)| self.peer.authenticate(bearer, owner));
        }
        stopwatch.per_operation()
    }
}

/// Whole flows for the owners from `first` on: nanoseconds to authorize, nanoseconds to exchange, the tokens.
///
/// What the client does in between, reading the code and writing the form, is not timed.
pub(crate) fn flows(peer: &mut dyn Peer, first: usize, count: usize) -> (f64, f64, Vec<Tokens>) {
    let credentials = peer.credentials().clone();
    let query = authorization_query(&credentials.client_id);
    let (mut authorize, mut exchange) = (Stopwatch::default(), Stopwatch::default());
    let mut tokens = Vec::with_capacity(count);
    while tokens.len() < count {
        let next = first + tokens.len();
        let owners: Vec<_> = (next..next + BATCH.min(count - tokens.len())).map(owner).collect();
        let locations = authorize.time(&owners, |owner| peer.authorize(&query, owner));
        let forms: Vec<_> = locations.iter().map(|location| exchange_form(code_of(location))).collect();
        let answers = exchange.time(&forms, |form| peer.exchange(&credentials.basic, form));
        tokens.extend(answers.iter().map(|answer| Tokens::of(answer)));
    }
    (authorize.per_operation(), exchange.per_operation(), tokens)
}

/// Processor time of this thread, including the kernel's part.
#[derive(Default)]
struct Stopwatch {
    nanoseconds: f64,
    operations: usize,
}

impl Stopwatch {
    /// Does one thing with each of a batch.
    fn time<I, O>(&mut self, batch: &[I], operation: impl FnMut(&I) -> O) -> Vec<O> {
        let mut done = Vec::with_capacity(batch.len());
        let start = processor_nanoseconds();
        done.extend(batch.iter().map(operation));
        self.nanoseconds += processor_nanoseconds() - start;
        self.operations += batch.len();
        done
    }

    fn per_operation(&self) -> f64 {
        self.nanoseconds / self.operations as f64
    }
}

fn processor_nanoseconds() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}

/// Repeatable pseudo-random numbers.
struct Shuffle(u64);

impl Shuffle {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }

    fn distinct(&mut self, end: usize, count: usize) -> Vec<usize> {
        let mut numbers: Vec<_> = (0..end).collect();
        for place in 0..count {
            let other = place + self.below(end - place);
            numbers.swap(place, other);
        }
        numbers.truncate(count);
        numbers
    }
}
