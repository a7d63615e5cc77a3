//! A table that a person can read, and the numbers in it.

use std::fmt;
use std::path::Path;

/// Rows of text, aligned when printed: the first column left, the others right.
#[derive(Debug)]
pub(crate) struct Table<const N: usize> {
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    pub(crate) fn new(heading: [&str; N]) -> Self {
        Self { rows: vec![heading.map(str::to_owned)] }
    }

    pub(crate) fn row(&mut self, row: [String; N]) {
        self.rows.push(row);
    }
}

impl<const N: usize> fmt::Display for Table<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths: [usize; N] =
            std::array::from_fn(|column| self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0));
        for (number, row) in self.rows.iter().enumerate() {
            let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| match column {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
            if number == 0 {
                writeln!(f, "{}", "-".repeat(widths.iter().sum::<usize>() + 2 * (N - 1)))?;
            }
        }
        Ok(())
    }
}

/// The middle of the rounds.
///
/// # Panics
///
/// If there are none.
pub(crate) fn median(rounds: &[f64]) -> f64 {
    let mut sorted = rounds.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { f64::midpoint(sorted[middle - 1], sorted[middle]) }
}

pub(crate) fn nanoseconds(value: f64) -> String {
    format!("{value:.0}")
}

pub(crate) fn times(value: f64) -> String {
    if value < 100.0 { format!("{value:.2}") } else { format!("{value:.0}") }
}

/// Prints the text and keeps the JSON.
///
/// # Panics
///
/// If the file cannot be written.
pub fn publish(text: &str, json: &serde_json::Value, path: &Path) {
    println!("\n{text}\nJSON: {}", path.display());
    let json = serde_json::to_string_pretty(json).expect("JSON");
    std::fs::write(path, json).expect("a file under target");
}
