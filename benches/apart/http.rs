//! Requests a second over HTTP on the loopback, and processor time of the API, each way beside a route without a check.
//!
//! The API has one thread, and so has the authorization server, on a port of its own in the same process. The load is
//! on a third thread: connections that each send a request as soon as the previous one is answered.

use std::cell::RefCell;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use axum::Router;
use axum::routing::get;
use futures::future::join_all;
use grantor::ResourceServer;
use grantor::jose::SigningAlgorithm;
use grantor_fetch::ConfiguredHost;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};

use crate::apart::service::{Counting, FEWEST_ENTRIES, JWTS, OPAQUE, SCOPE, Service};
use crate::measure::{Lap, in_turns, median};
use crate::options::Options;
use crate::report::{Figure, Goal, Report, Unit};

const CONNECTIONS: usize = 32;
/// What every route answers.
const BODY: &str = "the answer of the API";

/// An authorization server that listens.
pub(super) struct Listening {
    pub(super) service: Service,
    _runtime: Runtime,
}

impl Listening {
    pub(super) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let issuer = format!("http://{}", listener.local_addr().expect("it is bound"));
        let key = include_bytes!("../../tests/data/keys/p256-1.pk8");
        let service = Service::new(&issuer, SigningAlgorithm::Es256, key);
        let server = service.world.server.clone();
        let (runtime, _) = runtime();
        runtime.spawn(serve(listener, grantor_axum::routes(&server).with_state(server)));
        Self { service, _runtime: runtime }
    }

    /// Returns a transport to it, over connections of its own.
    pub(super) fn transport(&self) -> Counting<ConfiguredHost> {
        let host = ConfiguredHost::for_development(self.service.world.server.issuer());
        Counting::new(host.expect("the issuer is on the loopback"))
    }
}

/// A route, and the requests of a round.
struct Case {
    name: &'static str,
    /// The check; none for the route without one.
    resource: Option<ResourceServer>,
    requests: Vec<String>,
    goal: Option<Goal>,
}

pub(super) fn measure(options: &Options, report: &mut Report) {
    let count = if options.short { CONNECTIONS } else { 64 * CONNECTIONS };
    let listening = Listening::new();
    let Listening { service, .. } = &listening;
    let (opaque, jwts) = (service.tokens(OPAQUE, count), service.tokens(JWTS, count));
    let (each_asks, kept) = (listening.transport(), listening.transport());
    let own = |api| Some(service.world.server.protected_resource(api).expect("it is in the settings"));
    let asking =
        |transport: &Counting<_>, seconds| Some(service.introspecting(transport.clone(), Duration::from_secs(seconds)));
    let verifying = |max_entries| Some(service.verifying(listening.transport(), max_entries));
    let goal = Some(Goal::AtLeast(0.85));
    let cases = [
        ("no check", None, &opaque, None),
        ("no check, JWT", None, &jwts, None),
        ("in process", own(OPAQUE), &opaque, None),
        ("in process, JWT", own(JWTS), &jwts, None),
        ("introspection", asking(&each_asks, 0), &opaque, None),
        ("kept introspection", asking(&kept, 300), &opaque, goal),
        ("fresh JWT", verifying(Some(FEWEST_ENTRIES)), &jwts, None),
        ("kept JWT", verifying(None), &jwts, goal),
    ];
    let cases: Vec<_> = cases.into_iter().enumerate().map(|(place, case)| Case::new(place, case)).collect();
    let api = Api::new(&cases);
    let measured = api.load(&cases, options);

    for (case, own) in cases.iter().zip(&measured).skip(2) {
        let bare = usize::from(case.name.contains("JWT"));
        let figure = Figure::new(format!("apart/http/{}", case.name), own.per_second, Unit::PerSecond);
        let figure = figure.beside(cases[bare].name, measured[bare].per_second);
        report.add(case.goal.into_iter().fold(figure, Figure::goal));
    }
    for (case, own) in cases.iter().zip(&measured).skip(2) {
        let bare = usize::from(case.name.contains("JWT"));
        let Some((own, of_bare)) = own.processor.zip(measured[bare].processor) else { continue };
        let figure = Figure::new(format!("apart/http/{}, processor time", case.name), own, Unit::Nanoseconds);
        report.add(figure.beside(cases[bare].name, of_bare));
    }
    // Nothing else was measured than what the names say.
    let rounds = options.short_rounds() as u64 + 1;
    assert_eq!((each_asks.sent(), kept.sent()), (rounds * count as u64, count as u64));
    report.remark(format!(
        "apart/http: {CONNECTIONS} connections over the loopback. API, authorization server and load have one thread \
         each, in one process. The processor time is that of the thread of the API, which other load hardly changes. \
         No check: the same request to a route without one."
    ));
}

impl Case {
    fn new(
        place: usize,
        (name, resource, tokens, goal): (&'static str, Option<ResourceServer>, &Vec<String>, Option<Goal>),
    ) -> Self {
        let request = |token: &String| {
            format!("GET /{place} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n")
        };
        Self { name, resource, requests: tokens.iter().map(request).collect(), goal }
    }
}

/// The API, with a route for each case.
struct Api {
    address: SocketAddr,
    thread: Thread,
    _runtime: Runtime,
}

/// What a request takes.
struct Measured {
    per_second: f64,
    /// Nanoseconds of the thread of the API; `None` if the system does not count them.
    processor: Option<f64>,
}

impl Api {
    fn new(cases: &[Case]) -> Self {
        let routes = cases.iter().enumerate().fold(Router::new(), |routes, (place, case)| {
            let route = get(async || BODY);
            let route = match case.resource.clone() {
                None => route,
                Some(resource) => {
                    let needed = resource.scopes([SCOPE]).expect("it is in the catalog");
                    route.route_layer(grantor_axum::require_scopes(resource, needed))
                }
            };
            routes.route(&format!("/{place}"), route)
        });
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let (runtime, thread) = runtime();
        runtime.spawn(serve(listener, routes));
        Self { address, thread, _runtime: runtime }
    }

    fn load(&self, cases: &[Case], options: &Options) -> Vec<Measured> {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let processor: Vec<_> = cases.iter().map(|_| RefCell::new(Vec::new())).collect();
        let round = |case, processor: &RefCell<Vec<Option<f64>>>| {
            let before = self.thread.processor_time();
            let lap = runtime.block_on(round(self.address, case));
            let spent = self.thread.processor_time().zip(before).map(|(after, before)| after - before);
            processor.borrow_mut().push(spent.map(|spent| spent as f64 / lap.operations as f64));
            lap
        };
        let mut rounds: Vec<_> = cases.iter().zip(&processor).map(|(case, own)| move || round(case, own)).collect();
        let mut rounds: Vec<_> = rounds.iter_mut().map(|round| round as &mut dyn FnMut() -> Lap).collect();
        let times = in_turns(options.short_rounds(), &mut rounds);
        let measured = times.into_iter().zip(&processor).map(|(time, processor)| {
            // The first round warms up.
            let processor: Option<Vec<f64>> = processor.borrow().iter().skip(1).copied().collect();
            Measured { per_second: 1e9 / time, processor: processor.map(median) }
        });
        measured.collect()
    }
}

/// Sends all requests of a case. Each connection has its own ones.
#[expect(clippy::disallowed_methods, reason = "a bench measures the time that passes")]
async fn round(address: SocketAddr, case: &Case) -> Lap {
    let mut connections = Vec::with_capacity(CONNECTIONS);
    for _ in 0..CONNECTIONS {
        let stream = TcpStream::connect(address).await.expect("the API listens");
        stream.set_nodelay(true).expect("a socket");
        connections.push(stream);
    }
    let shares = case.requests.chunks(case.requests.len().div_ceil(CONNECTIONS));
    let begun = Instant::now();
    join_all(connections.iter_mut().zip(shares).map(|(stream, requests)| ask(stream, requests))).await;
    Lap { operations: case.requests.len() as u64, time: begun.elapsed() }
}

/// Sends requests one after the other.
///
/// # Panics
///
/// If an answer is not the expected one.
async fn ask(stream: &mut TcpStream, requests: &[String]) {
    let mut response = Vec::with_capacity(1024);
    for request in requests {
        stream.write_all(request.as_bytes()).await.expect("the API reads");
        response.clear();
        while !response.ends_with(BODY.as_bytes()) {
            let count = stream.read_buf(&mut response).await.expect("the API answers");
            let is_expected = count > 0 && response.starts_with(b"HTTP/1.1 200 ");
            assert!(is_expected, "{}", String::from_utf8_lossy(&response));
        }
    }
}

/// The thread of a runtime.
struct Thread(Arc<OnceLock<PathBuf>>);

impl Thread {
    /// Returns the nanoseconds for which the thread has run, if Linux counts them.
    fn processor_time(&self) -> Option<u64> {
        let text = fs::read_to_string(Path::new("/proc").join(self.0.get()?).join("schedstat")).ok()?;
        text.split(' ').next()?.parse().ok()
    }
}

/// A runtime of one thread beside the one that calls it.
fn runtime() -> (Runtime, Thread) {
    let thread = Arc::new(OnceLock::new());
    let place = Arc::clone(&thread);
    // Another thread of a runtime is for blocking work, of which there is none but look-ups of names.
    let note = move || drop(fs::read_link("/proc/thread-self").map(|own| place.set(own)));
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().on_thread_start(note).build();
    (runtime.expect("a runtime"), Thread(thread))
}

async fn serve(listener: TcpListener, routes: Router) {
    listener.set_nonblocking(true).expect("a socket");
    let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
    axum::serve(listener, routes).await.expect("axum never ends");
}
