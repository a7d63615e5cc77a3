//! The table of the rounds, with the goals beside.

use serde_json::{Value, json};

use super::load::{CONNECTIONS, Measured};
use super::rounds::Series;
use super::{CHAINS, Figures, Job, Server};
use crate::table::{Table, median, times};

/// The goal of a grantor server: its requests per second as a multiple of another server's.
struct Goal {
    server: Server,
    than: Server,
    /// `None` if the figure is shown without a goal.
    refresh: Option<f64>,
    authenticate: Option<f64>,
}

const GOALS: [Goal; 6] = [
    Goal { server: Server::GrantorAxum, than: Server::BareAxum, refresh: Some(0.85), authenticate: Some(0.95) },
    Goal { server: Server::GrantorActix, than: Server::BareActix, refresh: Some(0.85), authenticate: Some(0.95) },
    Goal { server: Server::GrantorAxum, than: Server::OxideAuthAxum, refresh: Some(1.4), authenticate: None },
    Goal { server: Server::GrantorActix, than: Server::OxideAuthActix, refresh: None, authenticate: None },
    Goal { server: Server::GrantorAxum, than: Server::OidcProvider, refresh: Some(25.0), authenticate: None },
    Goal { server: Server::GrantorActix, than: Server::OidcProvider, refresh: None, authenticate: None },
];

/// The limit of grantor's 99th percentile, as a multiple of its median.
const TAIL: f64 = 3.0;

/// Makes the text and the JSON of what was measured.
#[must_use]
pub fn report(figures: &Figures) -> (String, Value) {
    let servers = servers(figures);
    let ratios = ratios(figures);
    let series: Vec<_> = figures.series.iter().map(series_json).collect();
    let cores =
        if figures.pinned { "server on core 0, load on core 1" } else { "servers and load NOT on separate cores" };
    let notes = format!(
        "\
{cores}; {CONNECTIONS} keep-alive connections, {CHAINS} grants; medians of the rounds.
bare             reads the body as bytes, checks nothing, answers as many bytes as grantor, header lines included
oxide-auth-*     client secrets compared as plain text (its default, Argon2id, takes a fifth of a second a request);
                 stores plain text, detects no reuse, does not read the client in a check
oidc-provider    9.13.3, a Map as its store, no ID token; the process has one core with its garbage collector\n"
    );
    let json = json!({ "pinned": figures.pinned, "connections": CONNECTIONS, "grants": CHAINS, "servers": series, "ratios": ratios.1 });
    (format!("{servers}\n{}\n{notes}", ratios.0), json)
}

fn servers(figures: &Figures) -> Table<8> {
    let mut table =
        Table::new(["over HTTP", "server", "req/s", "p50 ms", "p99 ms", "p99/p50", "to reach", "server CPU us"]);
    for series in &figures.series {
        let tail = series.of(|round| round.p99_ms) / series.of(|round| round.p50_ms);
        let ours = matches!(series.server, Server::GrantorAxum | Server::GrantorActix);
        table.row([
            series.job.name().to_owned(),
            series.server.name().to_owned(),
            format!("{:.0}", series.of(|round| round.per_second)),
            format!("{:.2}", series.of(|round| round.p50_ms)),
            format!("{:.2}", series.of(|round| round.p99_ms)),
            times(tail),
            if ours { format!("< {TAIL:.0}{}", if tail < TAIL { "" } else { " NO" }) } else { String::new() },
            series.cpu().map(|cpu| format!("{cpu:.1}")).unwrap_or_default(),
        ]);
    }
    table
}

fn ratios(figures: &Figures) -> (Table<6>, Vec<Value>) {
    let mut table = Table::new(["requests per second", "server", "than", "times", "to reach", "reached"]);
    let mut rows = Vec::new();
    for job in Job::ALL {
        for goal in &GOALS {
            let (Some(ours), Some(theirs)) = (figures.of(job, goal.server), figures.of(job, goal.than)) else {
                continue;
            };
            let ratio = ours.of(|round| round.per_second) / theirs.of(|round| round.per_second);
            let wanted = match job {
                Job::Refresh => goal.refresh,
                Job::Authenticate => goal.authenticate,
            };
            let reached = wanted.map(|wanted| ratio >= wanted);
            table.row([
                job.name().to_owned(),
                goal.server.name().to_owned(),
                goal.than.name().to_owned(),
                times(ratio),
                wanted.map(times).unwrap_or_default(),
                reached.map(|reached| if reached { "yes" } else { "NO" }.to_owned()).unwrap_or_default(),
            ]);
            rows.push(json!({
                "job": job.name(), "server": goal.server.name(), "than": goal.than.name(),
                "ratio": ratio, "goal": wanted, "reached": reached,
            }));
        }
    }
    (table, rows)
}

fn series_json(series: &Series) -> Value {
    let rounds = series.rounds.iter().map(|round| {
        json!({
            "per_second": round.per_second, "p50_ms": round.p50_ms, "p99_ms": round.p99_ms, "cpu_us": round.cpu_us,
        })
    });
    let rounds: Vec<_> = rounds.collect();
    json!({ "job": series.job.name(), "server": series.server.name(), "rounds": rounds })
}

impl Series {
    fn of(&self, figure: impl Fn(&Measured) -> f64) -> f64 {
        median(&self.rounds.iter().map(figure).collect::<Vec<_>>())
    }

    fn cpu(&self) -> Option<f64> {
        let rounds: Option<Vec<_>> = self.rounds.iter().map(|round| round.cpu_us).collect();
        rounds.map(|rounds| median(&rounds))
    }
}

impl Figures {
    fn of(&self, job: Job, server: Server) -> Option<&Series> {
        self.series.iter().find(|series| (series.job, series.server) == (job, server))
    }
}
