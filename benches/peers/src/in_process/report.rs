//! The table of the rounds, with the goals beside.

use serde_json::{Value, json};

use super::measure::{HOT, Operation, Series};
use super::{Contender, Figures};
use crate::table::{Table, median, nanoseconds, times};

/// A goal of grantor: how many times as fast as a rival it must be, hot and among many grants.
struct Goal {
    rival: Contender,
    operation: Operation,
    hot: f64,
    large: Option<f64>,
}

const GOALS: [Goal; 7] = [
    Goal { rival: Contender::OxideAuth, operation: Operation::Flow, hot: 3.5, large: Some(2.2) },
    Goal { rival: Contender::OxideAuth, operation: Operation::Refresh, hot: 2.8, large: Some(2.3) },
    Goal { rival: Contender::OxideAuth, operation: Operation::Authenticate, hot: 3.0, large: Some(1.8) },
    Goal { rival: Contender::OauthAs, operation: Operation::Flow, hot: 1.5, large: Some(1.5) },
    Goal { rival: Contender::OauthAs, operation: Operation::Refresh, hot: 2.5, large: Some(2.5) },
    Goal { rival: Contender::OauthAs, operation: Operation::Authenticate, hot: 1.0, large: Some(1.0) },
    Goal { rival: Contender::OxideAuthDefault, operation: Operation::Refresh, hot: 10_000.0, large: None },
];

const NOTES: &str = "\
Processor time of one thread, everything in memory, PKCE S256, one confidential client with Basic; medians.
grantor      stores SHA-256 of codes and tokens, one record more per flow (the consent page's handle), checks
             the client at every check of a token, detects reuse, keeps old tokens for its grace
oxide-auth   0.6.1: stores plain text, detects no reuse, revokes no pair, cleans nothing up; the client's secret
             is compared as plain text, or (Argon2id) as it does by default
oauth-as     1.0.1: stores plain text, does not read the client in a check; its methods, not its slower HTTP service";

/// Makes the text and the JSON of what was measured.
#[must_use]
pub fn report(figures: &Figures) -> (String, Value) {
    let mut table =
        Table::new(["in process, ns", "grants", "grantor", "rival", "", "times as fast", "to reach", "reached"]);
    let mut rows = Vec::new();
    for series in figures.series.iter().filter(|series| series.contender != Contender::Grantor) {
        let Some(ours) = figures.of(Contender::Grantor, series) else { continue };
        let (ours, theirs) = (median(&ours.rounds), median(&series.rounds));
        let (ratio, goal) = (theirs / ours, goal(series));
        let reached = goal.map(|goal| ratio >= goal);
        table.row([
            series.operation.name().to_owned(),
            series.grants.to_string(),
            nanoseconds(ours),
            series.contender.name().to_owned(),
            nanoseconds(theirs),
            times(ratio),
            goal.map(times).unwrap_or_default(),
            reached.map(|reached| if reached { "yes" } else { "NO" }.to_owned()).unwrap_or_default(),
        ]);
        rows.push(json!({
            "operation": series.operation.name(), "grants": series.grants, "rival": series.contender.name(),
            "grantor_ns": ours, "rival_ns": theirs, "ratio": ratio, "goal": goal, "reached": reached,
        }));
    }
    let series: Vec<_> = figures
        .series
        .iter()
        .map(|series| {
            json!({
                "operation": series.operation.name(), "grants": series.grants,
                "contender": series.contender.name(), "rounds_ns": series.rounds,
            })
        })
        .collect();
    (format!("{table}\n{NOTES}\n"), json!({ "rows": rows, "series": series }))
}

impl Figures {
    fn of(&self, contender: Contender, like: &Series) -> Option<&Series> {
        self.series.iter().find(|series| {
            (series.contender, series.operation, series.grants) == (contender, like.operation, like.grants)
        })
    }
}

fn goal(series: &Series) -> Option<f64> {
    let goal = GOALS.iter().find(|goal| (goal.rival, goal.operation) == (series.contender, series.operation))?;
    if series.grants == HOT { Some(goal.hot) } else { goal.large }
}
