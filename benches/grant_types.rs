//! Grant types through the whole server, over each store: what other servers publish figures of.
//!
//! An operation is the bytes of an HTTP request, given to the server in this process. There is no HTTP and no TLS.

use std::cell::{Cell, RefCell};
use std::mem;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use grantor::testing::ManualClock;
use grantor::wire::Endpoint;
use grantor::{AuthorizationServer, Config, MemoryStore, SqliteStore, Timestamp};
use tokio::runtime::Runtime;

use crate::measure::{Lap, in_turns, timed};
use crate::options::{Options, label};
use crate::report::{Figure, Report, Unit};
use crate::stores::callers::{Callers, Latencies};
use crate::stores::compare::ROUNDS;
use crate::stores::disk::Folder;
#[cfg(feature = "postgres")]
use crate::stores::postgres;
use crate::stores::processor::seconds_used;
#[cfg(feature = "redis")]
use crate::stores::redis;
use crate::stores::work::MANY;
use crate::world::{self, Credentials, ISSUER, Layout, REDIRECT_URI, REFRESH_FORM, SCOPES, START};
use support::any_store::{AnyStore, Whole};
use support::intercepted::Intercepted;
use support::intercepted::scripts::Calls;
#[cfg(feature = "redis")]
use support_servers::servers::redis::Server;

/// Operations of a round, which all callers share.
const OPERATIONS: u32 = 3_200;
/// In memory they take microseconds, and processor time is counted in steps of 10 ms.
const OPERATIONS_IN_MEMORY: u32 = 32_000;
/// Tokens without a user that a client gets in a round, far below the limit. They expire before the next round.
const TOKENS_OF_A_CLIENT: u32 = 50;
const SECRET: &str = "the-43-characters-of-the-secret-of-a-client";

pub(crate) fn measure(options: &Options, report: &mut Report) {
    let runtime = Runtime::new().unwrap();
    let callers = |count, operations| Callers::sharing(count, if options.short { 64 } else { operations });
    let many = callers(MANY, OPERATIONS);
    let rounds = if options.short { 1 } else { ROUNDS };
    let in_memory = callers(1, OPERATIONS_IN_MEMORY);
    Bench::new("memory", MemoryStore::new(), &runtime, in_memory).measure(rounds, report);
    let folder = Folder::new("grant-types");
    let store = SqliteStore::open(folder.0.join("store")).unwrap();
    Bench::new("sqlite", store, &runtime, many).measure(rounds, report);
    #[cfg(feature = "postgres")]
    if let Some(why) = postgres::skipped(options) {
        report.remark(format!("Grant types with PostgreSQL: {why}"));
    } else {
        let server = postgres::start("shared_buffers=1GB");
        let store = runtime.block_on(postgres::connect(&server));
        Bench::new("postgres", store, &runtime, many).measure(rounds, report);
    }
    #[cfg(feature = "redis")]
    if let Some(why) = redis::skipped(options) {
        report.remark(format!("Grant types with Redis: {why}"));
    } else {
        let server = Server::durable();
        let store = runtime.block_on(redis::connect(&server));
        Bench::new("redis", store, &runtime, many).measure(rounds, report);
    }
    remark([in_memory, many], rounds, report);
}

/// Says what the rows depend on.
fn remark(loads: [Callers; 2], rounds: usize, report: &mut Report) {
    let build = if cfg!(debug_assertions) { "not optimized" } else { "optimized, profile bench, lto = \"thin\"" };
    let [in_memory, many] = loads.map(|callers| {
        // A warm-up round, the measured ones, and one whose calls are counted.
        let grants = label(usize::try_from(callers.all_calls()).unwrap() * (rounds + 2));
        format!("{} at once, up to {grants} grants, {} clients", callers.count, clients_of(callers))
    });
    report.remark(format!(
        "Grant types: build {build}. Platform profile, form posts as bytes, in this process with their callers, no HTTP, \
         no cache of clients. Memory: requests {in_memory}. Other stores: requests {many}; SQLite and the servers sync \
         each write. Each grant has its own user, and all are of one client. Client credentials: each client, used by one \
         caller at a time, has at most {TOKENS_OF_A_CLIENT} live tokens; the limit is the default, {}. A core: one second \
         divided by the processor time of an operation, of this process and the database server together. Writes and \
         reads: calls that reach the store under the same load.",
        Config::platform(ISSUER).limits.client_credentials_tokens,
    ));
}

/// So many that each caller uses its own, since the tokens of a client are in a few rows.
fn clients_of(callers: Callers) -> u64 {
    callers.all_calls().div_ceil(TOKENS_OF_A_CLIENT.into()).max(callers.count.into())
}

/// What a client sends, to which endpoint, and what it does with the answer.
#[derive(Clone, Copy)]
struct Operation {
    name: &'static str,
    endpoint: Endpoint,
    /// Turns the form and the answer into what is sent next.
    take: fn(form: &mut Vec<u8>, answer: &[u8]),
}

/// Keeps the answers, whose tokens the next operations use.
const EXCHANGE: Operation =
    Operation { name: "exchange", endpoint: Endpoint::Token, take: |form, answer| answer.clone_into(form) };
const INTROSPECTION: Operation = Operation {
    name: "introspection",
    endpoint: Endpoint::Introspection,
    take: |_, answer| assert!(answer.starts_with(b"{\"active\":true")),
};
const REFRESH: Operation = Operation {
    name: "refresh",
    endpoint: Endpoint::Token,
    take: |form, answer| {
        let layout = Layout::of(answer);
        let token = layout.refresh(answer);
        form[REFRESH_FORM.len()..][..token.len()].copy_from_slice(token);
    },
};
const CLIENT_CREDENTIALS: Operation = Operation {
    name: "client credentials",
    endpoint: Endpoint::Token,
    take: |_, answer| assert!(answer.starts_with(b"{\"access_token\":")),
};

/// What is sent in a round, one form for each call.
type Forms = Arc<[Mutex<Vec<u8>>]>;

/// A store, a server over it, and another server over it whose calls are recorded.
struct Bench<'a> {
    store: &'static str,
    runtime: &'a Runtime,
    callers: Callers,
    server: AuthorizationServer,
    recorded: AuthorizationServer,
    calls: Calls,
    clock: ManualClock,
    clients: Arc<[Credentials]>,
    /// Grants so far, each of its own user.
    grants: Cell<usize>,
}

impl<'a> Bench<'a> {
    fn new(name: &'static str, store: impl Whole + Clone, runtime: &'a Runtime, callers: Callers) -> Self {
        let mut config = Config::platform(ISSUER);
        config.client_credentials.on = true;
        let clock = ManualClock::new(Timestamp::from_seconds(START));
        let calls = Calls::recorded().with_settled_reads(store.reads_settled());
        let recorded = Intercepted::new(AnyStore::over(store.clone()), calls.clone());
        let recorded = AuthorizationServer::builder(config.clone(), recorded).clock(clock.clone()).build().unwrap();
        let server = AuthorizationServer::builder(config, store).clock(clock.clone()).build().unwrap();
        let clients = (0..clients_of(callers)).map(|number| runtime.block_on(register(&server, number))).collect();
        Self { store: name, runtime, callers, server, recorded, calls, clock, clients, grants: Cell::default() }
    }

    fn measure(&self, rounds: usize, report: &mut Report) {
        let forms: Forms = (0..self.callers.all_calls()).map(|_| Mutex::default()).collect();
        self.add(EXCHANGE, &forms, rounds, &|| self.draw_codes(&forms), report);
        let answers: Vec<_> = forms.iter().map(|form| mem::take(&mut *form.lock().unwrap())).collect();
        let client = &self.clients[0];
        let of_answers = |form: fn(&Layout, &Credentials, &[u8]) -> String| -> Forms {
            answers.iter().map(|answer| Mutex::new(form(&Layout::of(answer), client, answer).into_bytes())).collect()
        };
        let forms = of_answers(|layout, client, answer| world::token_form(client, text(layout.access(answer))));
        self.add(INTROSPECTION, &forms, rounds, &|| (), report);
        let forms = of_answers(|layout, client, answer| world::refresh_form(client, text(layout.refresh(answer))));
        // Beyond the grace of the pair before, which the refresh then removes.
        self.add(REFRESH, &forms, rounds, &|| self.clock.advance(Duration::from_secs(400)), report);
        let forms = (0..self.callers.all_calls() as usize).map(|number| {
            let Credentials { id, secret } = &self.clients[number % self.clients.len()];
            Mutex::new(format!("grant_type=client_credentials&client_id={id}&client_secret={secret}").into_bytes())
        });
        let an_hour = Duration::from_secs(60 * 60);
        self.add(CLIENT_CREDENTIALS, &forms.collect(), rounds, &|| self.clock.advance(an_hour), report);
    }

    /// Writes forms that exchange new codes.
    fn draw_codes(&self, forms: &Forms) {
        let first = self.grants.replace(self.grants.get() + forms.len());
        self.run(|number| {
            let (server, clients, forms) = (self.server.clone(), self.clients.clone(), forms.clone());
            async move {
                let form = world::new_exchange(&server, &clients[0], &world::subject(first + number)).await;
                *forms[number].lock().unwrap() = form.into_bytes();
            }
        });
    }

    /// Measures rounds of the operation, and then counts the calls of one more. `prepare` runs before each.
    fn add(&self, operation: Operation, forms: &Forms, rounds: usize, prepare: &dyn Fn(), report: &mut Report) {
        let used = RefCell::new(Vec::new());
        let mut lap = || {
            prepare();
            let before = seconds_used();
            let (operations, time) = timed(|| self.send(&self.server, operation, forms));
            used.borrow_mut().push(seconds_used().zip(before).map(|(after, before)| after - before));
            Lap { operations, time }
        };
        let nanoseconds = in_turns(rounds, &mut [&mut lap])[0];
        let id = |what: &str| format!("grant_types/{}/{}, {what}", operation.name, self.store);
        let callers =
            if self.callers.count == 1 { "1 caller".to_owned() } else { format!("{} callers", self.callers.count) };
        report.add(Figure::new(id(&callers), 1e9 / nanoseconds, Unit::PerSecond));
        let operations = self.callers.all_calls() as f64;
        // The first round warmed up. A short one uses less than the kernel's unit.
        let used: Option<f64> = used.take().into_iter().skip(1).sum();
        if let Some(used) = used.filter(|used| *used > 0.0) {
            report.add(Figure::new(id("a core"), operations * rounds as f64 / used, Unit::PerSecond));
        }
        prepare();
        self.calls.take();
        self.send(&self.recorded, operation, forms);
        let calls = self.calls.take();
        let is_write = |call: &&&str| [".insert", ".replace", ".confirm"].iter().any(|end| call.ends_with(end));
        let writes = calls.iter().filter(is_write).count();
        report.add(Figure::new(id("writes"), writes as f64 / operations, Unit::Calls));
        report.add(Figure::new(id("reads"), (calls.len() - writes) as f64 / operations, Unit::Calls));
    }

    /// Sends every form once. Returns how many there were.
    fn send(&self, server: &AuthorizationServer, operation: Operation, forms: &Forms) -> u64 {
        self.run(|number| {
            let (server, forms) = (server.clone(), forms.clone());
            // Boxed, because all calls of a round exist before the first is made.
            async move { Box::pin(send(server, operation, forms, number)).await }
        })
    }

    fn run<F: Future<Output = ()> + Send + 'static>(&self, call: impl Fn(usize) -> F) -> u64 {
        let number = |caller, call| (call * self.callers.count + caller) as usize;
        self.callers.run(self.runtime, &Latencies::default(), |caller, turn| call(number(caller, turn)))
    }
}

async fn send(server: AuthorizationServer, operation: Operation, forms: Forms, number: usize) {
    let mut form = mem::take(&mut *forms[number].lock().unwrap());
    let response = server.serve(operation.endpoint, &world::post(&form)).await;
    assert_eq!(response.status(), 200, "{}", operation.name);
    (operation.take)(&mut form, response.body());
    *forms[number].lock().unwrap() = form;
}

/// Registers a client that gets tokens for users and for itself.
async fn register(server: &AuthorizationServer, number: u64) -> Credentials {
    let client = server.own_client(format!("client-{number:04}")).name("Example App").secret(SECRET);
    let client = client.scopes(SCOPES).redirect_uri(REDIRECT_URI).client_scopes("repo-code:rw repo-issue:r");
    let client = client.ensure().await.expect("the description is valid");
    Credentials { id: client.id().to_string(), secret: SECRET.to_owned() }
}

fn text(token: &[u8]) -> &str {
    str::from_utf8(token).expect("ASCII")
}
