//! Tests the claim against every behaviour of a store: first every answer of every call in a table, then every order of
//! calls with every fault.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use super::*;
use crate::{AuthorizationServer, Config, MemoryStore};

#[derive(Debug, PartialEq, Eq)]
enum Failure {
    Store(String),
    Refused,
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string))
    }
}

/// The claim uses only its rows, which contain their store.
fn context() -> Arc<crate::context::Context> {
    let builder = AuthorizationServer::builder(Config::platform("https://auth.example"), MemoryStore::new());
    builder.entropy(Repeatable(Mutex::new(ChaCha20Rng::from_seed([1; 32])))).build().unwrap().context()
}

/// Draws the same versions in each run.
#[derive(Debug)]
struct Repeatable(Mutex<ChaCha20Rng>);

impl Entropy for Repeatable {
    fn fill(&self, bytes: &mut [u8]) {
        self.0.lock().unwrap().fill_bytes(bytes);
    }
}

/// The expected calls in their order, with the answer of each, such as `read:found`.
#[derive(Clone, Debug)]
struct Script(Arc<Mutex<VecDeque<String>>>);

impl Script {
    fn new(text: &str) -> Self {
        Self(Arc::new(Mutex::new(text.split(' ').map(str::to_owned).collect())))
    }

    #[track_caller]
    fn answer(&self, call: &str) -> String {
        let next = self.0.lock().unwrap().pop_front();
        let next = next.unwrap_or_else(|| panic!("{call} comes after the end"));
        let answer = next.strip_prefix(call).and_then(|rest| rest.strip_prefix(':'));
        answer.unwrap_or_else(|| panic!("{call} comes in the place of {next}")).to_owned()
    }

    fn store<T>(&self, call: &'static str, answers: [(&str, T); 2]) -> Result<T, StoreError> {
        let answer = self.answer(call);
        let found = answers.into_iter().find(|(name, _)| *name == answer);
        found.map(|(_, value)| value).ok_or_else(|| StoreError::transient(call))
    }

    fn row<const SETTLED: bool>(&self) -> Arc<Scripted<SETTLED>> {
        Arc::new(Scripted(self.clone()))
    }
}

#[derive(Debug)]
struct Scripted<const SETTLED: bool>(Script);

impl<const SETTLED: bool> Row for Scripted<SETTLED> {
    fn version(&self) -> u32 {
        7
    }

    fn set_version(_: &mut Arc<Self>, version: u32) {
        assert_ne!(version, 7, "every write draws another version");
    }

    fn reads_settled(_: &Stores) -> bool {
        SETTLED
    }

    async fn insert(row: Arc<Self>, _: &Stores) -> Result<Insertion, StoreError> {
        row.0.store("insert", [("ok", Insertion::Inserted), ("exists", Insertion::Exists)])
    }

    async fn replace(version: u32, row: Arc<Self>, _: &Stores) -> Result<Replacement, StoreError> {
        assert_eq!(version, 7, "the version that was found");
        row.0.store("replace", [("ok", Replacement::Replaced), ("lost", Replacement::Lost)])
    }

    async fn confirm(row: Arc<Self>, _: &Stores) -> Result<Replacement, StoreError> {
        row.0.store("confirm", [("ok", Replacement::Replaced), ("lost", Replacement::Lost)])
    }
}

struct Following<const SETTLED: bool>(Script);

impl<const SETTLED: bool> Claim for Following<SETTLED> {
    type Row = Scripted<SETTLED>;
    type Won = ();
    type Error = Failure;

    async fn read(&mut self) -> Result<Seen<Self::Row>, Failure> {
        Ok(match self.0.answer("read").as_str() {
            "unread" => Seen::Unread,
            "missing" => Seen::Missing,
            "found" => Seen::Found(self.0.row()),
            _ => return Err(StoreError::transient("read").into()),
        })
    }

    fn judge(&mut self, _: &Seen<Self::Row>) -> Result<Effect<Self::Row, ()>, Failure> {
        Ok(match self.0.answer("judge").as_str() {
            "insert" => Effect::Insert(self.0.row(), ()),
            "replace" => Effect::Replace(self.0.row(), ()),
            "confirm" => Effect::Confirm(()),
            "leave" => Effect::Leave(()),
            _ => return Err(Failure::Refused),
        })
    }

    fn is_done(&self, _: &Self::Row, _: &Self::Row, after: After) -> bool {
        let call = if after == After::Loss { "done-after-loss" } else { "done-after-error" };
        self.0.answer(call) == "yes"
    }
}

fn go<C: Claim>(own: &mut C, attempts: Option<NonZeroU32>) -> Result<C::Won, C::Error> {
    let context = context();
    let claim = std::pin::pin!(claim(&context, own, attempts));
    match claim.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => panic!("nothing waits"),
    }
}

fn follow<const SETTLED: bool>(text: &str, attempts: Option<NonZeroU32>) {
    let (calls, outcome) = text.split_once(" => ").unwrap();
    let script = Script::new(calls);
    let found = match go(&mut Following::<SETTLED>(script.clone()), attempts) {
        Ok(()) => "won".to_owned(),
        Err(Failure::Refused) => "refused".to_owned(),
        Err(Failure::Store(call)) => call,
    };
    assert_eq!(found, outcome, "{text}");
    assert!(script.0.lock().unwrap().is_empty(), "{text}: {script:?} is left");
}

/// Cases that do not depend on whether reads are settled.
const EITHER: [&str; 28] = [
    // Each result of a read, with each decision.
    "read:error => read",
    "read:unread judge:insert insert:ok => won",
    "read:missing judge:insert insert:ok => won",
    "read:found judge:insert insert:ok => won",
    "read:found judge:replace replace:ok => won",
    "read:unread judge:leave => won",
    "read:missing judge:leave => won",
    "read:found judge:leave => won",
    "read:found judge:refuse => refused",
    // There is no record to replace or to rely on.
    "read:unread judge:replace read:found judge:replace replace:ok => won",
    "read:missing judge:replace read:found judge:replace replace:ok => won",
    "read:unread judge:confirm read:missing judge:leave => won",
    "read:missing judge:confirm read:missing judge:refuse => refused",
    // Another write came first.
    "read:unread judge:insert insert:exists read:error => read",
    "read:unread judge:insert insert:exists read:missing judge:insert insert:ok => won",
    "read:unread judge:insert insert:exists read:found done-after-loss:no judge:refuse => refused",
    "read:found judge:replace replace:lost read:error => read",
    "read:found judge:replace replace:lost read:missing judge:refuse => refused",
    "read:found judge:replace replace:lost read:found done-after-loss:no judge:replace replace:ok => won",
    // It is unknown whether the write was applied: the record that is found is not judged.
    "read:unread judge:insert insert:error read:error => insert",
    "read:unread judge:insert insert:error read:unread => insert",
    "read:unread judge:insert insert:error read:missing => insert",
    "read:unread judge:insert insert:error read:found done-after-error:no => insert",
    "read:found judge:replace replace:error read:error => replace",
    "read:found judge:replace replace:error read:unread => replace",
    "read:found judge:replace replace:error read:missing => replace",
    "read:found judge:replace replace:error read:found done-after-error:no => replace",
    "read:found judge:replace replace:lost read:found done-after-loss:no judge:replace replace:error read:missing => \
     replace",
];

const SETTLED: [&str; 5] = [
    "read:found judge:confirm => won",
    "read:unread judge:insert insert:exists read:found done-after-loss:yes => won",
    "read:found judge:replace replace:lost read:found done-after-loss:yes => won",
    "read:unread judge:insert insert:error read:found done-after-error:yes => won",
    "read:found judge:replace replace:error read:found done-after-error:yes => won",
];

const UNSETTLED: [&str; 17] = [
    "read:found judge:confirm confirm:ok => won",
    "read:found judge:confirm confirm:error => confirm",
    "read:found judge:confirm confirm:lost read:found judge:confirm confirm:ok => won",
    "read:found judge:confirm confirm:lost read:found judge:replace replace:ok => won",
    "read:found judge:confirm confirm:lost read:missing judge:refuse => refused",
    "read:unread judge:insert insert:exists read:found done-after-loss:yes confirm:ok => won",
    "read:found judge:replace replace:lost read:found done-after-loss:yes confirm:ok => won",
    "read:found judge:replace replace:lost read:found done-after-loss:yes confirm:error => confirm",
    // The record has changed when it is confirmed: the write is still remembered.
    "read:found judge:replace replace:lost read:found done-after-loss:yes confirm:lost read:found done-after-loss:yes \
     confirm:ok => won",
    "read:found judge:replace replace:lost read:found done-after-loss:yes confirm:lost read:found done-after-loss:no \
     judge:replace replace:ok => won",
    "read:found judge:replace replace:lost read:found done-after-loss:yes confirm:lost read:missing judge:leave => won",
    "read:unread judge:insert insert:error read:found done-after-error:yes confirm:ok => won",
    "read:found judge:replace replace:error read:found done-after-error:yes confirm:ok => won",
    "read:found judge:replace replace:error read:found done-after-error:yes confirm:error => replace",
    "read:found judge:replace replace:error read:found done-after-error:yes confirm:lost read:found \
     done-after-error:yes confirm:ok => won",
    "read:found judge:replace replace:error read:found done-after-error:yes confirm:lost read:found \
     done-after-error:no => replace",
    "read:found judge:replace replace:error read:found done-after-error:yes confirm:lost read:missing => replace",
];

#[test]
fn every_answer_leads_to_the_call_or_the_outcome_that_it_should() {
    for attempts in [Some(ATTEMPTS), None] {
        EITHER.iter().for_each(|text| follow::<true>(text, attempts));
        EITHER.iter().for_each(|text| follow::<false>(text, attempts));
        SETTLED.iter().for_each(|text| follow::<true>(text, attempts));
        UNSETTLED.iter().for_each(|text| follow::<false>(text, attempts));
    }
}

#[test]
fn a_number_of_attempts_ends_and_none_goes_on() {
    let contended = Contended.to_string();
    let tries = [
        "read:missing judge:confirm",
        "read:missing judge:replace",
        "read:missing judge:insert insert:exists",
        "read:found judge:confirm confirm:lost",
    ];
    for each in tries {
        let all = [each; 3].join(" ");
        follow::<false>(&format!("{all} => {contended}"), NonZeroU32::new(3));
        let many = vec![each; 1000].join(" ");
        follow::<false>(&format!("{many} read:missing judge:leave => won"), None);
    }
    let lost = "read:found done-after-loss:no judge:replace replace:lost";
    let all = vec![lost; 1000].join(" ");
    let first = "read:found judge:replace replace:lost";
    follow::<true>(&format!("{first} {lost} => {contended}"), NonZeroU32::new(2));
    follow::<true>(&format!("{first} {all} read:missing judge:leave => won"), None);
}

/// The search for a write of unknown outcome also ends.
#[test]
fn after_an_error_a_record_that_changes_for_ever_is_given_up() {
    let changing = "read:found done-after-error:yes confirm:lost";
    let attempts = usize::try_from(ATTEMPTS.get()).unwrap();
    let all = vec![changing; attempts].join(" ");
    follow::<false>(&format!("read:found judge:replace replace:error {all} => replace"), None);
}

/// Picks one way after the other, until every way was tried.
#[derive(Debug, Default)]
struct Ways {
    picked: Vec<(usize, usize)>,
    place: usize,
}

impl Ways {
    fn pick(&mut self, count: usize) -> usize {
        if self.place == self.picked.len() {
            self.picked.push((0, count));
        }
        let (pick, of) = self.picked[self.place];
        assert_eq!(of, count, "the same way is the same again");
        self.place += 1;
        pick
    }

    fn next(&mut self) -> bool {
        self.place = 0;
        while let Some((pick, of)) = self.picked.pop() {
            if pick + 1 < of {
                self.picked.push((pick + 1, of));
                return true;
            }
        }
        false
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Content {
    version: u32,
    marks: Vec<u8>,
    has_ended: bool,
}

/// A store of one record. Where reads are not settled, a write whose answer was lost is visible, and only the next
/// acknowledged one makes it durable.
#[derive(Debug, Default)]
struct Shelf {
    ways: Ways,
    faults: usize,
    is_settled: bool,
    visible: Option<Content>,
    durable: Option<Content>,
    /// A write that was answered with an error and is still under way.
    late: Option<Write>,
    confirms: usize,
}

#[derive(Clone, Debug)]
enum Write {
    Insert(Content),
    Replace(u32, Content),
    Confirm(Content),
}

impl Shelf {
    fn apply(&mut self, write: &Write) -> bool {
        let (fits, content) = match write {
            Write::Insert(content) => (self.visible.is_none(), content),
            Write::Replace(version, content) => {
                (self.visible.as_ref().is_some_and(|row| row.version == *version), content)
            }
            Write::Confirm(content) => (self.visible.as_ref() == Some(content), content),
        };
        if fits {
            self.visible = Some(content.clone());
        }
        fits
    }

    fn land(&mut self) {
        if let Some(write) = self.late.take() {
            self.apply(&write);
            self.durable.clone_from(&self.visible);
        }
    }

    fn fail_over(&mut self) {
        self.visible.clone_from(&self.durable);
    }

    /// Whether a write under way arrives now.
    fn pass(&mut self) {
        if self.late.is_some() && self.ways.pick(2) == 1 {
            self.land();
        }
    }

    fn fault(&mut self, kinds: usize) -> usize {
        let fault = if self.faults == 0 { 0 } else { self.ways.pick(kinds + 1) };
        self.faults -= usize::from(fault > 0);
        fault
    }

    fn write(&mut self, write: &Write) -> Result<bool, StoreError> {
        self.pass();
        self.confirms += usize::from(matches!(write, Write::Confirm(_)));
        let fits = match self.fault(4) {
            0 => self.apply(write),
            1 => return Err(StoreError::transient("it was not applied")),
            2 => {
                self.apply(write);
                if self.is_settled {
                    self.durable.clone_from(&self.visible);
                }
                return Err(StoreError::transient("its answer was lost"));
            }
            3 => {
                self.apply(write);
                if self.is_settled {
                    self.durable.clone_from(&self.visible);
                }
                self.apply(write)
            }
            _ => {
                self.late = Some(write.clone());
                return Err(StoreError::transient("it is under way"));
            }
        };
        // A durable write makes all earlier writes durable.
        if fits {
            self.durable.clone_from(&self.visible);
        }
        Ok(fits)
    }
}

/// Waits once in every call, so that another caller may come first.
async fn give_way() {
    let mut has_waited = false;
    std::future::poll_fn(|_| match std::mem::replace(&mut has_waited, true) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
}

type SharedShelf = Arc<Mutex<Shelf>>;

#[derive(Debug)]
struct Marks<const SETTLED: bool>(Content, SharedShelf);

impl<const SETTLED: bool> Marks<SETTLED> {
    async fn write(shelf: &SharedShelf, write: Write) -> Result<bool, StoreError> {
        give_way().await;
        shelf.lock().unwrap().write(&write)
    }
}

impl<const SETTLED: bool> Row for Marks<SETTLED> {
    fn version(&self) -> u32 {
        self.0.version
    }

    fn set_version(row: &mut Arc<Self>, version: u32) {
        Arc::get_mut(row).unwrap().0.version = version;
    }

    fn reads_settled(_: &Stores) -> bool {
        SETTLED
    }

    async fn insert(row: Arc<Self>, _: &Stores) -> Result<Insertion, StoreError> {
        let fits = Self::write(&row.1, Write::Insert(row.0.clone())).await?;
        Ok(if fits { Insertion::Inserted } else { Insertion::Exists })
    }

    async fn replace(version: u32, row: Arc<Self>, _: &Stores) -> Result<Replacement, StoreError> {
        let fits = Self::write(&row.1, Write::Replace(version, row.0.clone())).await?;
        Ok(if fits { Replacement::Replaced } else { Replacement::Lost })
    }

    async fn confirm(row: Arc<Self>, _: &Stores) -> Result<Replacement, StoreError> {
        let fits = Self::write(&row.1, Write::Confirm(row.0.clone())).await?;
        Ok(if fits { Replacement::Replaced } else { Replacement::Lost })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    /// Sets its own mark, in an existing record or in a new one.
    Mark(u8),
    /// Inserts a record with its mark, without a prior read.
    First(u8),
    /// Relies on the existing marks.
    Read,
    /// Ends the record.
    End,
}

struct Caller<const SETTLED: bool> {
    wish: Wish,
    shelf: SharedShelf,
    has_read: bool,
}

/// What a caller was promised.
#[derive(Debug, PartialEq, Eq)]
enum Won {
    Marks(Vec<u8>),
    Ended,
}

impl<const SETTLED: bool> Claim for Caller<SETTLED> {
    type Row = Marks<SETTLED>;
    type Won = Won;
    type Error = Failure;

    async fn read(&mut self) -> Result<Seen<Self::Row>, Failure> {
        let is_first = !std::mem::replace(&mut self.has_read, true);
        if is_first && matches!(self.wish, Wish::First(_)) {
            return Ok(Seen::Unread);
        }
        give_way().await;
        let mut shelf = self.shelf.lock().unwrap();
        shelf.pass();
        if shelf.fault(1) == 0 {
            let row = |content: &Content| Arc::new(Marks(content.clone(), self.shelf.clone()));
            Ok(shelf.visible.as_ref().map(row).into())
        } else {
            Err(StoreError::transient("it was not read").into())
        }
    }

    fn judge(&mut self, seen: &Seen<Self::Row>) -> Result<Effect<Self::Row, Won>, Failure> {
        let row = |content| Arc::new(Marks(content, self.shelf.clone()));
        let found = match seen {
            Seen::Found(found) => Some(&found.0),
            Seen::Unread | Seen::Missing => None,
        };
        Ok(match (self.wish, found) {
            (Wish::Mark(_), Some(found)) if found.has_ended => return Err(Failure::Refused),
            (Wish::Mark(mark), Some(found)) => {
                let marks = [found.marks.as_slice(), &[mark]].concat();
                Effect::Replace(row(Content { marks, ..found.clone() }), Won::Marks(vec![mark]))
            }
            (Wish::First(_), Some(_)) => return Err(Failure::Refused),
            (Wish::Mark(mark) | Wish::First(mark), None) => {
                let content = Content { version: mark.into(), marks: vec![mark], has_ended: false };
                Effect::Insert(row(content), Won::Marks(vec![mark]))
            }
            (Wish::Read, Some(found)) => Effect::Confirm(Won::Marks(found.marks.clone())),
            (Wish::End, Some(found)) if found.has_ended => Effect::Confirm(Won::Ended),
            (Wish::End, Some(found)) => Effect::Replace(row(Content { has_ended: true, ..found.clone() }), Won::Ended),
            (Wish::Read | Wish::End, None) => Effect::Leave(Won::Marks(Vec::new())),
        })
    }

    fn is_done(&self, found: &Self::Row, _: &Self::Row, after: After) -> bool {
        match self.wish {
            Wish::Mark(mark) | Wish::First(mark) => found.0.marks.contains(&mark),
            Wish::Read => false,
            Wish::End => after == After::Error && found.0.has_ended,
        }
    }
}

type Outcome = (Wish, Result<Won, Failure>);

/// The faults that may happen.
#[derive(Clone, Copy, Debug)]
struct Mishaps {
    faults: usize,
    /// Callers that are dropped between two of their calls.
    drops: usize,
    /// Fail-overs to a store that has only durable writes.
    fail_overs: usize,
}

/// Tries every way, and returns their number. A record exists at first if `begun` is set.
fn explore<const SETTLED: bool>(begun: bool, wishes: &[Wish], mishaps: Mishaps) -> usize {
    let begun = begun.then(Content::default);
    explore_from::<SETTLED>(&Start { durable: begun.clone(), visible: begun }, wishes, mishaps)
}

/// The record in the store at first.
struct Start {
    durable: Option<Content>,
    visible: Option<Content>,
}

fn explore_from<const SETTLED: bool>(start: &Start, wishes: &[Wish], mishaps: Mishaps) -> usize {
    let context = context();
    let mut ways = Ways::default();
    let mut count = 0;
    loop {
        let shelf = Shelf {
            ways,
            faults: mishaps.faults,
            is_settled: SETTLED,
            visible: start.visible.clone(),
            durable: start.durable.clone(),
            ..Shelf::default()
        };
        let shelf = Arc::new(Mutex::new(shelf));
        once::<SETTLED>(&context, &shelf, wishes, mishaps);
        count += 1;
        ways = std::mem::take(&mut shelf.lock().unwrap().ways);
        if !ways.next() {
            return count;
        }
    }
}

fn once<const SETTLED: bool>(
    context: &crate::context::Context,
    shelf: &SharedShelf,
    wishes: &[Wish],
    mut mishaps: Mishaps,
) {
    let run = |wish: Wish| -> Pin<Box<dyn Future<Output = Outcome> + '_>> {
        let shelf = shelf.clone();
        let attempts = (wish != Wish::End).then_some(ATTEMPTS);
        Box::pin(async move {
            let mut caller = Caller::<SETTLED> { wish, shelf, has_read: false };
            (wish, claim(context, &mut caller, attempts).await)
        })
    };
    let mut callers: Vec<_> = wishes.iter().copied().map(run).collect();
    let mut outcomes = Vec::new();
    while !callers.is_empty() {
        let alive = callers.len();
        let drops = if mishaps.drops > 0 { alive } else { 0 };
        let fail_overs = usize::from(mishaps.fail_overs > 0);
        let pick = shelf.lock().unwrap().ways.pick(alive + drops + fail_overs);
        if pick == alive + drops {
            mishaps.fail_overs -= 1;
            shelf.lock().unwrap().fail_over();
        } else if pick >= alive {
            mishaps.drops -= 1;
            drop(callers.remove(pick - alive));
        } else if let Poll::Ready(outcome) = callers[pick].as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            outcomes.push(outcome);
            drop(callers.remove(pick));
        }
    }
    let mut shelf = shelf.lock().unwrap();
    shelf.land();
    check(&shelf, &outcomes);
}

/// A fail-over leaves what is durable: it contains everything that was promised, and nothing twice.
fn check(shelf: &Shelf, outcomes: &[Outcome]) {
    let durable = shelf.durable.clone().unwrap_or_default();
    for content in [&durable, &shelf.visible.clone().unwrap_or_default()] {
        let mut marks = content.marks.clone();
        marks.sort_unstable();
        marks.dedup();
        assert_eq!(marks.len(), content.marks.len(), "a mark is there twice: {shelf:?}, {outcomes:?}");
    }
    for (wish, outcome) in outcomes {
        match outcome {
            Ok(Won::Marks(marks)) => {
                assert!(marks.iter().all(|mark| durable.marks.contains(mark)), "{wish:?}: {shelf:?}, {outcomes:?}");
            }
            Ok(Won::Ended) => assert!(durable.has_ended, "{shelf:?}, {outcomes:?}"),
            Err(Failure::Refused) => assert!(!matches!(wish, Wish::Read | Wish::End), "{shelf:?}, {outcomes:?}"),
            Err(Failure::Store(_)) => {}
        }
    }
    if shelf.is_settled {
        assert_eq!(shelf.confirms, 0, "{shelf:?}");
    }
}

#[test]
fn one_caller_keeps_its_promise_whatever_the_store_does() {
    let mut count = 0;
    for wish in [Wish::Mark(1), Wish::First(1), Wish::Read, Wish::End] {
        for begun in [false, true] {
            let mishaps = Mishaps { faults: 3, drops: 1, fail_overs: 0 };
            count += explore::<true>(begun, &[wish], mishaps) + explore::<false>(begun, &[wish], mishaps);
        }
    }
    println!("one caller: {count} ways");
}

#[test]
fn two_callers_keep_their_promises_in_every_order_with_a_fault_and_a_drop() {
    let mut count = 0;
    let wishes = [Wish::Mark(1), Wish::First(1), Wish::Read, Wish::End];
    for first in wishes {
        for second in [Wish::Mark(2), Wish::First(2), Wish::Read, Wish::End] {
            for begun in [false, true] {
                let both = [first, second];
                count += explore::<true>(begun, &both, Mishaps { faults: 1, drops: 1, fail_overs: 0 });
                count += explore::<false>(begun, &both, Mishaps { faults: 1, drops: 1, fail_overs: 0 });
            }
        }
    }
    println!("two callers: {count} ways");
}

/// What a caller read before the fail-over may be lost when it writes.
#[test]
fn two_callers_keep_their_promises_through_a_fail_over() {
    let mut count = 0;
    for first in [Wish::Mark(1), Wish::First(1), Wish::Read, Wish::End] {
        for second in [Wish::Mark(2), Wish::First(2), Wish::Read, Wish::End] {
            for begun in [false, true] {
                let mishaps = Mishaps { faults: 1, drops: 0, fail_overs: 1 };
                count += explore::<false>(begun, &[first, second], mishaps);
            }
        }
    }
    println!("two callers and a fail-over: {count} ways");
}

/// A third caller's write is visible but not durable. One of the two callers reads it before the fail-over undoes it,
/// and the other one writes in its place. The first one must not replace that write.
#[test]
fn a_caller_replaces_nothing_after_its_read_was_undone() {
    let durable = Content { version: 100, ..Content::default() };
    let undone = Content { version: 101, marks: vec![1], has_ended: false };
    let mut count = 0;
    for durable in [None, Some(durable)] {
        for first in [Wish::Mark(2), Wish::First(2), Wish::Read, Wish::End] {
            for second in [Wish::Mark(3), Wish::First(3), Wish::Read, Wish::End] {
                let mishaps = Mishaps { faults: 1, drops: 0, fail_overs: 1 };
                let start = Start { durable: durable.clone(), visible: Some(undone.clone()) };
                count += explore_from::<false>(&start, &[first, second], mishaps);
            }
        }
    }
    println!("two callers, and a write that a fail-over undoes: {count} ways");
}

#[test]
fn three_callers_keep_their_promises_in_every_order() {
    let mut count = 0;
    for third in [Wish::Read, Wish::End] {
        for begun in [false, true] {
            let all = [Wish::Mark(1), Wish::Mark(2), third];
            let calm = Mishaps { faults: 0, drops: 0, fail_overs: 0 };
            count += explore::<true>(begun, &all, calm) + explore::<false>(begun, &all, calm);
        }
    }
    println!("three callers: {count} ways");
}
