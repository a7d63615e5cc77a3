//! Tables full of grants, the library's and the floor's, and tokens of some of them in a shuffled order.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use chacha20::ChaCha20Rng;
use grantor::secret::SystemEntropy;
use grantor::wire::Endpoint;
use rand_core::{Rng, SeedableRng};

use crate::floor::Floor;
use crate::heap::{self, Heap};
use crate::proof;
use crate::texts::Texts;
use crate::world::{self, Layout, START, World};

/// The maximum number of grants whose tokens are kept: so many that no cache holds their rows.
const REMEMBERED: usize = 200_000;
/// Grants that are made between two removals of their spent codes.
const BATCH: usize = 10_000;
/// The grants are a day younger than those that the rounds make, so those can be removed by their age.
const FILLED: u32 = START + 86_400;

/// The same number of grants in both tables. Each has one pair and its own user; all are of one client.
pub(crate) struct Grants {
    pub(crate) world: World,
    pub(crate) floor: Floor,
    pub(crate) ours: Tokens,
    pub(crate) flat: Tokens,
    /// What all the grants left on the heap in the library's store.
    pub(crate) heap: Heap,
}

/// Tokens of some grants, as a client sends them.
pub(crate) struct Tokens {
    /// Values of the `Authorization` header.
    pub(crate) headers: Texts,
    /// Forms of the token endpoint.
    pub(crate) refreshes: Texts,
    pub(crate) layout: Layout,
    /// The first grant that the next round takes.
    next: Cell<usize>,
}

static MADE: Mutex<BTreeMap<usize, Grants>> = Mutex::new(BTreeMap::new());

/// Does the work on `size` grants. They are made once and kept.
pub(crate) fn with<T>(size: usize, work: impl FnOnce(&mut Grants) -> T) -> T {
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    work(made.entry(size).or_insert_with(|| Grants::new(size)))
}

/// Frees the memory of all grants that were made.
pub(crate) fn release() {
    MADE.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

impl Grants {
    fn new(size: usize) -> Self {
        eprintln!("making {size} grants in each table");
        let world = World::new(SystemEntropy);
        world.set_now(FILLED);
        proof::prove(&world.client);
        let floor = Floor::new(&world.client);
        let query = world::query(&world.client);
        let mut ours: Vec<Box<[u8]>> = Vec::with_capacity(size.min(REMEMBERED));
        let mut kept = 0;
        let every = size.div_ceil(REMEMBERED);
        let ((), mut heap) = heap::of(|| {
            for number in 0..size {
                let form = world.exchange_form(query.as_bytes(), &world::subject(number));
                let response = world.post(Endpoint::Token, form.as_bytes());
                assert_eq!(response.status(), 200);
                if number.is_multiple_of(every) {
                    kept += heap::of(|| ours.push(Box::from(response.body()))).1.bytes;
                }
                if (number + 1).is_multiple_of(BATCH) || number + 1 == size {
                    world.purge_as_after(Duration::from_secs(2 * 60 * 60));
                }
            }
        });
        assert_eq!((world.store.grant_count(), world.store.authorization_count()), (size, 0));
        let blocks_kept = ours.iter().map(|answer| heap::block(answer.len())).sum::<i64>();
        heap.bytes -= kept;
        heap.blocks -= blocks_kept;
        let flat = fill_floor(&floor, &world, size, every);
        let (ours, flat) = (Tokens::new(&world, ours), Tokens::new(&world, flat));
        assert_eq!(ours.layout, flat.layout, "both give the same answers");
        Self { world, floor, ours, flat, heap }
    }
}

fn fill_floor(floor: &Floor, world: &World, size: usize, every: usize) -> Vec<Box<[u8]>> {
    let query = world::query(&world.client);
    let mut answers = Vec::with_capacity(size.min(REMEMBERED));
    for number in 0..size {
        let subject = world::subject(number);
        let location = floor.authorize(query.as_bytes(), subject.as_str(), FILLED).expect("a valid request");
        let form = world::exchange_form(&world.client, world::code_of(&location));
        let answer = floor.exchange(form.as_bytes(), FILLED).expect("a valid code");
        if number.is_multiple_of(every) {
            answers.push(answer.into_boxed_slice());
        }
    }
    answers
}

impl Tokens {
    /// Tokens from the answers of the token endpoint.
    fn new(world: &World, mut answers: Vec<Box<[u8]>>) -> Self {
        shuffle(&mut answers);
        let layout = Layout::of(&answers[0]);
        let headers = answers.iter().map(|answer| [b"Bearer ", layout.access(answer)].concat());
        let refreshes = answers.iter().map(|answer| {
            let token = str::from_utf8(layout.refresh(answer)).expect("ASCII");
            world::refresh_form(&world.client, token)
        });
        Self { headers: Texts::new(headers), refreshes: Texts::new(refreshes), layout, next: Cell::new(0) }
    }

    /// Returns the index of the next `count` tokens. After the last one it starts over.
    pub(crate) fn advance(&self, count: usize) -> usize {
        let next = self.next.get();
        let first = if next + count > self.headers.len() { 0 } else { next };
        self.next.set(first + count);
        first
    }
}

/// The same order in every run.
fn shuffle<T>(items: &mut [T]) {
    let mut generator = ChaCha20Rng::seed_from_u64(7);
    for last in (1..items.len()).rev() {
        items.swap(last, generator.next_u64() as usize % (last + 1));
    }
}
