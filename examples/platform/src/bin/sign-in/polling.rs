//! Waits until the user has decided.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::failure::Failure;
use crate::platform::{Asked, Platform, Polled, Token};

const SECOND: Duration = Duration::from_secs(1);
/// > the interval MUST be increased by 5 seconds for this and all subsequent requests.
const SLOWER: Duration = Duration::from_secs(5);
/// The longest time between two polls while the platform does not answer.
const LONGEST: Duration = Duration::from_secs(60);

/// Polls until there is a token, or there will be none [RFC 8628 section 3.5].
pub(crate) async fn wait(platform: &Platform, asked: &Asked) -> Result<Token, Failure> {
    let mut progress = Progress::begin(Instant::now() + Duration::from_secs(asked.expires_in));
    let mut pace = Pace::new(asked.interval);
    let mut pause = pace.interval;
    loop {
        progress.pause(pause).await;
        let polled = platform.poll(&asked.device_code).await?;
        if let Polled::Allowed(token) = polled {
            return Ok(token);
        }
        if progress.is_over() {
            return Err(Failure::Expired);
        }
        progress.is_lost = matches!(polled, Polled::Lost);
        pause = pace.after(&polled);
    }
}

/// How long to wait before the next poll.
struct Pace {
    interval: Duration,
    /// The last pause after a poll without an answer.
    lost: Option<Duration>,
}

impl Pace {
    fn new(interval: u64) -> Self {
        Self { interval: Duration::from_secs(interval).max(SECOND), lost: None }
    }

    fn after(&mut self, polled: &Polled) -> Duration {
        let lost = self.lost.take();
        match polled {
            Polled::Allowed(_) | Polled::Pending => self.interval,
            Polled::TooFast => {
                self.interval += SLOWER;
                self.interval
            }
            Polled::Busy(pause) => self.interval.max(*pause),
            // > On encountering a connection timeout, clients MUST unilaterally reduce their polling frequency before
            // > retrying. The use of an exponential backoff algorithm to achieve this, such as doubling the polling
            // > interval on each such connection timeout, is RECOMMENDED.
            Polled::Lost => {
                let pause = (lost.unwrap_or(self.interval) * 2).min(LONGEST.max(self.interval));
                self.lost = Some(pause);
                pause
            }
        }
    }
}

/// The line that counts down. Only a terminal can rewrite it.
struct Progress {
    end: Instant,
    is_terminal: bool,
    /// Whether the last poll got no answer.
    is_lost: bool,
}

impl Progress {
    fn begin(end: Instant) -> Self {
        let is_terminal = io::stdout().is_terminal();
        if !is_terminal {
            println!("Waiting for your answer.");
        }
        Self { end, is_terminal, is_lost: false }
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.end
    }

    /// Waits for that time, or until the codes have expired.
    async fn pause(&self, time: Duration) {
        let next = (Instant::now() + time).min(self.end);
        while self.is_terminal && Instant::now() + SECOND < next {
            self.show();
            sleep_until(Instant::now() + SECOND).await;
        }
        self.show();
        sleep_until(next).await;
    }

    fn show(&self) {
        if self.is_terminal {
            let what =
                if self.is_lost { "The platform does not answer. Trying again" } else { "Waiting for your answer" };
            let left = self.end.saturating_duration_since(Instant::now()).as_secs();
            write(&format!("{what}, {}:{:02} left", left / 60, left % 60));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_terminal {
            write("");
        }
    }
}

/// Rewrites the line.
fn write(text: &str) {
    let mut out = io::stdout();
    // Without a line, the program works as well.
    let _ = write!(out, "\r\x1b[2K{text}").and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Pace;
    use crate::platform::Polled;

    fn pauses(polls: &[Polled]) -> Vec<u64> {
        let mut pace = Pace::new(5);
        polls.iter().map(|polled| pace.after(polled).as_secs()).collect()
    }

    #[test]
    fn slow_down_lasts() {
        use Polled::{Pending, TooFast};
        assert_eq!(pauses(&[Pending, TooFast, Pending, TooFast, Pending]), [5, 10, 10, 15, 15]);
    }

    #[test]
    fn lost_answers_double_the_pause_until_the_next() {
        use Polled::{Lost, Pending};
        assert_eq!(pauses(&[Lost, Lost, Lost, Lost, Lost, Pending, Lost]), [10, 20, 40, 60, 60, 5, 10]);
    }

    #[test]
    fn a_busy_platform_names_the_pause() {
        let busy = |seconds| Polled::Busy(Duration::from_secs(seconds));
        assert_eq!(pauses(&[busy(30), busy(1), Polled::Pending]), [30, 5, 5]);
    }
}
