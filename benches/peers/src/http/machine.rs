//! The machine's two cores: servers on the first, the load on the second; processor time.

use std::process::{Command, Stdio};
use std::time::Duration;

/// Ticks of the kernel's accounting in a second, as Linux reports them to programs.
const TICKS: u64 = 100;

/// A command that will run on the core of the servers, if it can be chosen.
pub(crate) fn on_server_core(program: &std::ffi::OsStr, pinned: bool) -> Command {
    if !pinned {
        return Command::new(program);
    }
    let mut command = Command::new("taskset");
    command.args(["-c", "0"]).arg(program);
    command
}

/// Moves this process to the core of the load. If that is not possible, prints why and returns false.
pub(crate) fn take_load_core() -> bool {
    let id = std::process::id().to_string();
    let moved = Command::new("taskset").args(["-a", "-c", "-p", "1", &id]).stdout(Stdio::null()).status();
    let pinned = moved.is_ok_and(|status| status.success());
    if !pinned {
        eprintln!("taskset cannot pin the load to a core: servers and load share all cores");
    }
    pinned
}

/// A process whose processor time is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Process(pub(crate) u32);

impl Process {
    /// User and system time so far, to a hundredth of a second.
    pub(crate) fn cpu(self) -> Option<Duration> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0)).ok()?;
        // The name, in brackets, may hold spaces; after it the state is the third field, the times 14 and 15.
        let (_, fields) = stat.rsplit_once(") ")?;
        let mut times = fields.split(' ').skip(11).map_while(|field| field.parse::<u64>().ok());
        let ticks = times.next()? + times.next()?;
        Some(Duration::from_millis(ticks * 1000 / TICKS))
    }
}
