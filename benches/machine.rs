//! The machine that is measured, and how busy it was.

use std::{env, fs, thread};

/// Describes the machine in one sentence, and adds another if other programs keep it busy.
pub(crate) fn remark() -> String {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let model = model().unwrap_or_else(|| "unknown".to_owned());
    let (os, architecture) = (env::consts::OS, env::consts::ARCH);
    let machine = format!("Machine: {os} on {architecture}, {processors} processors, model {model}.");
    match load() {
        Some(load) if load > 0.5 => {
            format!("{machine} It was busy when the run began (load {load}): times are too long.")
        }
        _ => machine,
    }
}

/// Returns the processor's name, if Linux reports it.
fn model() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(": ")?.1.to_owned())
}

/// Returns the load average of the last minute, if Linux reports it.
fn load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}
