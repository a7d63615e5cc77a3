//! One table at the end of a run, and the same as JSON.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

/// Every figure of a run, in the order in which they were measured.
#[derive(Default)]
pub(crate) struct Report {
    figures: Vec<Figure>,
    remarks: Vec<String>,
}

/// One measured figure, and what was measured beside it in the same run.
pub(crate) struct Figure {
    id: String,
    value: f64,
    unit: Unit,
    beside: Option<Beside>,
    goal: Option<Goal>,
}

struct Beside {
    name: String,
    value: f64,
}

/// What a figure counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Nanoseconds an operation.
    Nanoseconds,
    /// Microseconds an operation.
    Microseconds,
    /// Milliseconds.
    Milliseconds,
    /// Operations a second.
    PerSecond,
    /// Bytes.
    Bytes,
    /// Allocations an operation.
    Allocations,
    /// Calls to a store, or round trips or statements to a server, an operation.
    Calls,
    /// Requests that were sent.
    #[cfg_attr(not(feature = "jose"), expect(dead_code, reason = "only APIs in other processes send some"))]
    Requests,
    /// A share of one, shown in percent.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "only PostgreSQL uses it"))]
    Share,
    /// How many times.
    Times,
}

/// The goal of a figure: for its ratio to the figure beside it or, without one, for the figure itself.
#[derive(Clone, Copy)]
pub(crate) enum Goal {
    AtMost(f64),
    AtLeast(f64),
}

impl Figure {
    /// A figure named `area/case/variant`.
    pub(crate) fn new(id: impl Into<String>, value: f64, unit: Unit) -> Self {
        Self { id: id.into(), value, unit, beside: None, goal: None }
    }

    /// What the same run measured for the floor, the raw engine or a rival, in the same unit.
    pub(crate) fn beside(mut self, name: impl Into<String>, value: f64) -> Self {
        self.beside = Some(Beside { name: name.into(), value });
        self
    }

    pub(crate) fn goal(mut self, goal: Goal) -> Self {
        self.goal = Some(goal);
        self
    }

    /// Returns the ratio of the figure to the one beside it.
    fn ratio(&self) -> Option<f64> {
        self.beside.as_ref().map(|beside| self.value / beside.value)
    }

    fn reached(&self) -> Option<bool> {
        let judged = self.ratio().unwrap_or(self.value);
        self.goal.map(|goal| match goal {
            Goal::AtMost(limit) => judged <= limit,
            Goal::AtLeast(limit) => judged >= limit,
        })
    }

    fn cells(&self) -> [String; 6] {
        [
            self.id.clone(),
            self.unit.show(self.value),
            self.beside
                .as_ref()
                .map_or_else(String::new, |beside| format!("{} {}", self.unit.show(beside.value), beside.name)),
            self.ratio().map_or_else(String::new, |ratio| format!("{ratio:.2}")),
            self.goal.map_or_else(String::new, |goal| match (goal, &self.beside) {
                (Goal::AtMost(limit), Some(_)) => format!("≤ {limit}"),
                (Goal::AtLeast(limit), Some(_)) => format!("≥ {limit}"),
                (Goal::AtMost(limit), None) => format!("≤ {}", self.unit.show(limit)),
                (Goal::AtLeast(limit), None) => format!("≥ {}", self.unit.show(limit)),
            }),
            self.reached().map_or("", |reached| if reached { "yes" } else { "NO" }).to_owned(),
        ]
    }

    fn json(&self) -> Value {
        json!({
            "id": self.id,
            "value": self.value,
            "unit": self.unit.to_string(),
            "beside": self.beside.as_ref().map(|beside| json!({ "name": beside.name, "value": beside.value })),
            "ratio": self.ratio(),
            "goal": self.goal.map(|goal| match goal {
                Goal::AtMost(limit) => json!({ "at_most": limit }),
                Goal::AtLeast(limit) => json!({ "at_least": limit }),
            }),
            "reached": self.reached(),
        })
    }
}

impl Unit {
    fn show(self, value: f64) -> String {
        match self {
            Self::Share => format!("{:.0} %", value * 100.0),
            Self::Calls | Self::Times => format!("{value:.2} {self}"),
            Self::PerSecond | Self::Bytes | Self::Requests => format!("{} {self}", thousands(value)),
            _ if value >= 100.0 => format!("{} {self}", thousands(value)),
            _ => format!("{value:.1} {self}"),
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nanoseconds => "ns",
            Self::Microseconds => "µs",
            Self::Milliseconds => "ms",
            Self::PerSecond => "/s",
            Self::Bytes => "B",
            Self::Allocations => "allocations",
            Self::Calls => "calls",
            Self::Requests => "requests",
            Self::Share => "share",
            Self::Times => "times",
        })
    }
}

impl Report {
    pub(crate) fn add(&mut self, figure: Figure) {
        eprintln!("{}", figure.cells().join("  "));
        self.figures.push(figure);
    }

    /// A sentence under the table: what was skipped and why, what a rival does not do.
    pub(crate) fn remark(&mut self, remark: impl Into<String>) {
        self.remarks.push(remark.into());
    }

    /// The table, as Markdown that a terminal shows well.
    pub(crate) fn table(&self) -> String {
        let head = ["measured", "grantor", "beside it", "ratio", "goal", "reached"].map(str::to_owned);
        let rows: Vec<[String; 6]> = std::iter::once(head).chain(self.figures.iter().map(Figure::cells)).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: [usize; 6] = std::array::from_fn(width);
        let mut table = String::new();
        for (index, row) in rows.iter().enumerate() {
            let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
            table += &format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
            if index == 0 {
                table += &format!("|{}|\n", widths.map(|width| "-".repeat(width + 2)).join("|"));
            }
        }
        for remark in &self.remarks {
            table += &format!("\n{remark}\n");
        }
        table
    }

    /// Writes the same figures as JSON.
    pub(crate) fn write_json(&self, path: &Path) -> io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let figures: Vec<Value> = self.figures.iter().map(Figure::json).collect();
        let report = json!({ "figures": figures, "remarks": self.remarks });
        fs::write(path, format!("{report:#}\n"))
    }
}

/// Digits in groups of three, without a fraction.
fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
