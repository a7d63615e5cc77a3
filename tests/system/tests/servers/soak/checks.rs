//! What must hold at the end.

use std::time::Duration;

use crate::soak::Settings;
use crate::soak::histogram::Histogram;
use crate::soak::load::CONNECTIONS;
use crate::soak::report::Report;
use crate::soak::server::{Example, Size};

/// How much the mean of the last quarter may be above that of the second. In the short form this is what the
/// records of that time take, which nothing may purge yet.
const MEMORY_MARGIN_KIB: u64 = 8 * 1024;
/// Seconds after which every unused record is gone: 6000 of the server's clock, for a hold that ends in a code or a
/// grant (the code's 600, the tokens' 1800, the 3600 for which records are kept), the purge's own second, and room for
/// a flow that still uses its grant.
const RECORDS_GONE: usize = 120;
/// The p99 of the last quarter may be this many times that of the second,
const P99_TIMES: u32 = 4;
/// or this much: smaller times are noise of the machine's other work.
const P99_NOISE: Duration = Duration::from_millis(100);
/// Where a run is too short for quarters, the p99 of the whole run is checked.
const QUARTERS_TELL: Duration = Duration::from_secs(60);
/// One sync of a busy disk delays all requests that are due meanwhile.
const P99_OF_THE_WHOLE: Duration = Duration::from_secs(5);

/// Everything that does not hold, in words.
pub(crate) fn faults(report: &Report<'_>, settings: Settings) -> Vec<String> {
    let found =
        [answers(report, settings), memory(report), constants(report), latencies(report, settings), purge(report)];
    let name = report.server.example.name();
    found.into_iter().flatten().map(|fault| format!("{name}: {fault}")).collect()
}

fn answers(report: &Report<'_>, settings: Settings) -> Vec<String> {
    let mut faults = report.tally.seen().faults.clone();
    faults.extend(report.server.said().complaints.into_iter().take(20).map(|line| format!("the log says: {line}")));
    let seen = report.tally.seen();
    let wanted = u64::from(settings.rate) * settings.length.as_secs();
    if seen.request_count() + seen.fault_count < wanted * 9 / 10 {
        faults.push(format!("{} requests of {wanted} were made", seen.request_count()));
    }
    faults
}

fn memory(report: &Report<'_>) -> Vec<String> {
    let (warm, end) = (report.memory(1), report.memory(3));
    if end <= warm + MEMORY_MARGIN_KIB {
        return Vec::new();
    }
    vec![format!("memory grew from {warm} KiB in the second quarter to {end} KiB in the last")]
}

/// Threads and open files. The platform works on its tables in threads that come and go, one for each request under
/// way at most, and one for the purge; and SQLite has files open for a moment.
fn constants(report: &Report<'_>) -> Vec<String> {
    let max = |quarters: &[usize], number: fn(&Size) -> u64| {
        let sizes = quarters.iter().flat_map(|quarter| report.quarter(*quarter));
        sizes.map(number).max().unwrap_or_default()
    };
    let is_platform = report.server.example == Example::Platform;
    let (threads_more, files_more) = if is_platform { (u64::from(CONNECTIONS) + 1, 4) } else { (0, 0) };
    let mut faults = Vec::new();
    for (what, number, more) in [
        ("threads", (|size| size.threads) as fn(&Size) -> u64, threads_more),
        ("open files", |size| size.open_files, files_more),
    ] {
        let (before, after) = (max(&[0, 1], number), max(&[2, 3], number));
        if after > before + more {
            faults.push(format!("{after} {what} in the second half, {before} in the first"));
        }
    }
    faults
}

fn latencies(report: &Report<'_>, settings: Settings) -> Vec<String> {
    let seen = report.tally.seen();
    let p99 = |quarter: usize| seen.quarters[quarter].as_ref().map_or(Duration::MAX, |found| found.quantile(990));
    if settings.length < QUARTERS_TELL {
        let whole = seen.minutes.first().map_or(Duration::MAX, |found: &Histogram| found.quantile(990));
        return if whole <= P99_OF_THE_WHOLE { Vec::new() } else { vec![format!("a p99 of {whole:?}")] };
    }
    let (warm, end) = (p99(1), p99(3));
    if end <= (warm * P99_TIMES).max(P99_NOISE) {
        return Vec::new();
    }
    vec![format!("the p99 rose from {warm:?} in the second quarter to {end:?} in the last")]
}

/// The purge keeps up: of the records that are old enough, only the grants that are refreshed for ever are left, one
/// for each connection.
fn purge(report: &Report<'_>) -> Vec<String> {
    let seen = report.tally.seen();
    let old = seen.records_until(report.sizes.len().saturating_sub(RECORDS_GONE));
    let purged = report.server.said().purged;
    if purged + u64::from(CONNECTIONS) >= old && purged <= seen.records_until(usize::MAX) {
        return Vec::new();
    }
    vec![format!("{purged} records were purged of {old} that are old")]
}
