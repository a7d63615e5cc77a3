//! Processor time, which does not depend on what other processes do.

use std::collections::HashMap;
use std::fs;

/// The kernel's unit, the same on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// Returns the seconds that this process and its descendants, such as servers, have used. `None` if there is no
/// `/proc`.
pub(crate) fn seconds_used() -> Option<f64> {
    let mut of_parent = HashMap::<u32, Vec<(u32, u64)>>::new();
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // A process that has ended meanwhile has no file.
        let Ok(status) = fs::read_to_string(entry.path().join("stat")) else { continue };
        let Some((_, numbers)) = status.rsplit_once(") ") else { continue };
        let numbers: Vec<u64> = numbers.split(' ').map(|number| number.parse().unwrap_or_default()).collect();
        of_parent.entry(numbers[1] as u32).or_default().push((process, numbers[11] + numbers[12]));
    }
    let own = std::process::id();
    let mut ticks: u64 = of_parent.values().flatten().filter(|(process, _)| *process == own).map(|of| of.1).sum();
    let mut open = vec![own];
    while let Some(parent) = open.pop() {
        for (process, used) in of_parent.get(&parent).into_iter().flatten() {
            ticks += used;
            open.push(*process);
        }
    }
    Some(ticks as f64 / TICKS_PER_SECOND)
}

/// Returns the processor time of one operation in microseconds, over `rounds` rounds.
#[cfg(feature = "postgres")]
pub(crate) fn of_an_operation(rounds: usize, round: &mut dyn FnMut() -> u64) -> Option<f64> {
    let before = seconds_used()?;
    let operations: u64 = (0..rounds).map(|_| round()).sum();
    Some((seconds_used()? - before) / operations as f64 * 1e6)
}
