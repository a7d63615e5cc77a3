//! Rounds in which every server is loaded in turn.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use super::connection::{Plan, ask_once};
use super::greeting::Greeting;
use super::load::{Measured, load};
use super::machine::{Process, on_server_core, take_load_core};
use super::{Job, Options, Server, oidc_provider};

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    pub rounds: usize,
    pub length: Duration,
}

impl Effort {
    pub const FULL: Self = Self { rounds: 5, length: Duration::from_secs(2) };
    /// Only shows that everything runs. The figures mean nothing.
    pub const QUICK: Self = Self { rounds: 1, length: Duration::from_millis(300) };
}

/// The rounds of one server at one job.
#[derive(Debug)]
pub(super) struct Series {
    pub(super) job: Job,
    pub(super) server: Server,
    pub(super) rounds: Vec<Measured>,
}

/// All that was measured.
#[derive(Debug, Default)]
pub struct Figures {
    pub(super) pinned: bool,
    pub(super) series: Vec<Series>,
}

impl Figures {
    /// Starts the servers, one job after the other, and loads each in turn.
    #[must_use]
    pub fn measure(effort: Effort, target: &Path) -> Self {
        let mut figures = Self { pinned: take_load_core(), ..Self::default() };
        for job in Job::ALL {
            figures.job(job, effort, target);
        }
        figures
    }

    fn job(&mut self, job: Job, effort: Effort, target: &Path) {
        let mut running = start_all(job, target, self.pinned);
        self.series.extend(running.iter().map(|running| Series { job, server: running.server, rounds: Vec::new() }));
        // The first round only warms up. The order changes from round to round, so that no server always runs after the
        // same one.
        for round in 0..=effort.rounds {
            eprintln!("{}: round {round} of {}", job.name(), effort.rounds);
            for turn in 0..running.len() {
                let place = (round + turn) % running.len();
                let measured = running[place].load(job, effort.length);
                if round > 0 {
                    self.add(job, running[place].server, measured);
                }
            }
        }
    }

    fn add(&mut self, job: Job, server: Server, measured: Measured) {
        let mut series = self.series.iter_mut();
        let series = series.find(|series| (series.job, series.server) == (job, server));
        series.expect("made at the start").rounds.push(measured);
    }
}

/// A server process, which ends when this value is dropped.
struct Running {
    server: Server,
    child: Child,
    greeting: Greeting,
}

fn start_all(job: Job, target: &Path, pinned: bool) -> Vec<Running> {
    let mut running: Vec<Running> = Vec::new();
    let mut answer = String::new();
    for server in Server::ALL {
        let command = match server {
            Server::OidcProvider => oidc_provider::command(target),
            _ => Some(own_command(&Options { server, job, answer: answer.clone() })),
        };
        let Some(command) = command else { continue };
        eprintln!("{}: {}", job.name(), server.name());
        let mut started = Running::start(server, &command, pinned);
        if server == Server::GrantorAxum {
            answer = started.ask_once(job);
        }
        running.push(started);
    }
    running
}

fn own_command(options: &Options) -> Vec<String> {
    let program = std::env::current_exe().expect("this program").to_string_lossy().into_owned();
    std::iter::once(program).chain(options.args().map(str::to_owned)).collect()
}

impl Running {
    fn start(server: Server, command: &[String], pinned: bool) -> Self {
        let mut process = on_server_core(OsStr::new(&command[0]), pinned);
        process.args(&command[1..]).env("NODE_ENV", "production").stdin(Stdio::piped()).stdout(Stdio::piped());
        if server == Server::OidcProvider {
            // It warns of signing keys that nothing here uses.
            process.stderr(Stdio::null());
        }
        let mut child = process.spawn().expect("the server starts");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let greeting = lines.map_while(Result::ok).find_map(|line| Greeting::read(&line));
        let greeting = greeting.unwrap_or_else(|| panic!("{} did not start", server.name()));
        Self { server, child, greeting }
    }

    fn load(&mut self, job: Job, length: Duration) -> Measured {
        let process = Process(self.child.id());
        let Greeting { address, token_path, credentials, tokens } = &mut self.greeting;
        let plan = Plan { job, rotates: self.server.rotates(), token_path, basic: &credentials.basic };
        load(address, &plan, tokens, length, process)
    }

    fn ask_once(&mut self, job: Job) -> String {
        let Greeting { address, token_path, credentials, tokens } = &mut self.greeting;
        let plan = Plan { job, rotates: self.server.rotates(), token_path, basic: &credentials.basic };
        ask_once(address, &plan, tokens).expect("the server answers")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
