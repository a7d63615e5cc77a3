//! `RedisStore`, on a server that syncs each write, beside the plain client doing the same commands.

use std::process::Command;
use std::sync::Arc;

use grantor::RedisStore;
use grantor::store::redis::RedisOptions;
use redis::aio::MultiplexedConnection;
use tokio::runtime::Runtime;

use super::callers::{Callers, Latencies};
use super::compare::{add_growth, add_latencies, add_rate, rates};
use super::grants::{Grants, PURGE_AFTER, id, version};
use super::work::{MANY, Round, Stored, Work, insert};
use crate::measure::Contender;
use crate::options::Options;
use crate::report::{Figure, Goal, Report, Unit};
use support_servers::servers::redis::Server;

/// The store's own script for a write.
const PUT: &str = include_str!("../../src/store/redis/put.lua");
/// A time after the end of the bench.
const NEVER: u32 = u32::MAX;

pub(crate) fn measure(options: &Options, report: &mut Report) {
    if let Some(why) = skipped(options) {
        return report.remark(format!("Redis: {why}"));
    }
    let rows = match (options.short, options.large) {
        (true, _) => [1_000, 500],
        (_, false) => [200_000, 10_000],
        (_, true) => [10_000_000, 10_000],
    };
    let large = Bench::new(rows[0], options);
    report.add(Figure::new("redis/bytes a grant with one pair", large.bytes_of_a_row, Unit::Bytes));
    large.refreshes(1, report);
    large.refreshes(MANY, report);
    large.round_trips(report);
    large.stored.add_uses("redis", report);
    let small = Bench::new(rows[1], options);
    let (large, small) = (&large.stored, &small.stored);
    add_growth(report, "redis/refresh/64 callers", large.costs(small, Stored::refresh), rows);
    let [large, small] = [large, small].map(|stored| stored.purge(20_000));
    report.add(Figure::new("redis/purge/longest call for 1000 grants", large.longest, Unit::Milliseconds));
    add_growth(report, "redis/purge/a grant", [large.each, small.each], rows);
}

/// A server with grants in it.
struct Bench {
    stored: Stored<RedisStore>,
    raw: Raw,
    bytes_of_a_row: f64,
    server: Server,
}

impl Bench {
    fn new(rows: u64, options: &Options) -> Self {
        let server = Server::durable();
        let runtime = Runtime::new().unwrap();
        let store = runtime.block_on(connect(&server));
        let used = || -> f64 { server.info("used_memory").unwrap().parse().unwrap() };
        let (work, before) = (Work::on(rows), used());
        Callers::sharing(500, u32::try_from(rows).unwrap()).run(&runtime, &Latencies::default(), |caller, call| {
            insert(store.clone(), work.grants.clone(), u64::from(call) * 500 + u64::from(caller))
        });
        Self {
            bytes_of_a_row: (used() - before) / rows as f64,
            raw: runtime.block_on(Raw::connect(&server)),
            stored: Stored::new(store, work, runtime, options),
            server,
        }
    }

    /// Round trips for each call, counted by the command that is in each: the store sends others together with it.
    fn round_trips(&self, report: &mut Report) {
        let (stored, callers) = (&self.stored, self.stored.callers(MANY));
        let rounds: [(_, _, Round<RedisStore>); 2] =
            [("find", "get", Stored::find), ("replace", "evalsha", Stored::refresh)];
        for (call, command, round) in rounds {
            let counted = || -> u64 {
                let counts = self.server.info(&format!("cmdstat_{command}")).unwrap_or_default();
                let calls = counts.split(',').find_map(|count| count.strip_prefix("calls="));
                calls.map_or(0, |calls| calls.parse().unwrap())
            };
            let before = counted();
            let calls = round(stored, callers, &Latencies::default());
            let id = format!("redis/{call}/64 callers, round trips");
            let figure = Figure::new(id, (counted() - before) as f64 / calls as f64, Unit::Calls);
            report.add(figure.goal(Goal::AtMost(1.0)));
        }
    }

    fn refreshes(&self, count: u32, report: &mut Report) {
        let Stored { work, runtime, rounds, .. } = &self.stored;
        let callers = self.stored.callers(count);
        let latencies = Latencies::default();
        let mut own = || self.stored.refresh(callers, &latencies);
        let mut raw = || {
            callers.run(runtime, &Latencies::default(), |caller, _| {
                self.raw.clone().refresh(work.grants.clone(), work.any(caller, count))
            })
        };
        let rates = rates(
            *rounds,
            &mut [Contender { name: "store", round: &mut own }, Contender { name: "client", round: &mut raw }],
        );
        let id = format!("redis/refresh/{count} callers");
        add_rate(report, &id, rates[0], ("plain client", rates[1]), None);
        add_latencies(report, &id, &latencies, None);
    }
}

/// Connects with the default options.
pub(crate) async fn connect(server: &Server) -> RedisStore {
    RedisStore::connect(&server.address(), &RedisOptions::new()).await.unwrap()
}

/// Why this run has no figures of Redis, if so.
pub(crate) fn skipped(options: &Options) -> Option<&'static str> {
    if !options.starts_servers() {
        return Some("only with GRANTOR_BENCH_SERVERS=1 in the short form.");
    }
    let is_missing = |name: &&str| Command::new(name).arg("--version").output().is_err();
    ["redis-server", "redis-cli"].iter().any(is_missing).then_some("skipped, its programs are not installed.")
}

/// One connection that all callers share.
#[derive(Clone)]
struct Raw {
    connection: MultiplexedConnection,
    script: Arc<str>,
}

impl Raw {
    async fn connect(server: &Server) -> Self {
        let client = redis::Client::open(server.address()).unwrap();
        let connection = client.get_multiplexed_async_connection().await.unwrap();
        Self { connection, script: redis::Script::new(PUT).get_hash().into() }
    }

    async fn refresh(mut self, grants: Arc<Grants>, number: u64) {
        let key = [b"grantor:grants:", grantor::id::GrantId::from_bytes(id(number)).to_string().as_bytes()].concat();
        let row: Vec<u8> = redis::cmd("GET").arg(&key).query_async(&mut self.connection).await.unwrap();
        // Version, number of the write and due time; the record with its length before it; the lists.
        let (header, rest) = row.split_at(16);
        let (length, rest) = rest.split_first_chunk().unwrap();
        let (found, lists) = rest.split_at(u32::from_be_bytes(*length) as usize);
        let version = version(found);
        let next = grants.refreshed_bytes(number, version + 1);
        let length = (next.len() as u32).to_be_bytes();
        let next = [&(version + 1).to_be_bytes()[..], &header[4..], &length, &next, lists].concat();
        let mut put = redis::cmd("EVALSHA");
        put.arg(&*self.script).arg(1).arg(&key).arg(NEVER).arg(&version.to_be_bytes()[..]);
        put.arg(PURGE_AFTER.seconds()).arg(next);
        let done: i64 = put.query_async(&mut self.connection).await.unwrap();
        assert_eq!(done, 1);
    }
}
