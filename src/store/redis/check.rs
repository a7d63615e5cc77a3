//! The checks of a server before it may store anything. They run with every new connection, so that a server that takes
//! over, or restarts with other settings, is checked too.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Pipeline, Value};

use crate::base::clock::{Clock, SystemClock};
use crate::store::redis::error::{RedisError, RedisProblem};

/// The first release whose scripts return errors under their own names.
const LEAST_RELEASE: u32 = 7;
/// The largest difference allowed between a server's clock and this machine's.
pub(super) const MAX_CLOCK_SKEW: Duration = Duration::from_secs(10 * 60);

/// The requirements for a server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demands {
    pub(super) place: Place,
    pub(super) log: Log,
    pub(super) unchecked: Unchecked,
}

/// Whether to accept a server that does not let this user send the commands of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unchecked {
    Refused,
    Accepted,
}

/// Whether a server is standalone or belongs to a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Alone,
    Cluster,
}

/// Whether a server must keep an append-only file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Log {
    AsItIs,
    Needed,
}

/// The role of a server when it was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A primary, and whether it can report on demand that it still is one.
    Primary {
        reports_role: bool,
    },
    Replica,
}

impl Demands {
    /// Checks what a server reports of itself.
    ///
    /// A replica is not checked until it has taken over.
    pub(super) async fn check(self, connection: &mut MultiplexedConnection) -> Result<Role, RedisError> {
        let mut questions = Pipeline::with_capacity(3);
        questions.cmd("INFO").cmd("TIME").cmd("ROLE");
        let mut answers = connection.send_packed_commands(&questions, 0, 3).await?.into_iter();
        let mut answer = || answers.next().unwrap_or(Value::Nil);
        // Scripts send `TIME` as well: a user without permission for it cannot write.
        let (info, time, role) = (allowed(answer())?, answer().extract_error()?, allowed(answer()));
        let info: Option<String> = info.map(redis::from_redis_value).transpose()?;
        let shown = info.as_deref().unwrap_or_default();
        let reported = match role {
            Ok(role) => role.map(is_primary).transpose()?,
            Err(error) if error.is_transient() => return Err(error),
            // A proxy may not know the command.
            Err(_) => None,
        };
        if reported == Some(false) || value_of(shown, "role") == Some("slave") {
            return Ok(Role::Replica);
        }
        if info.is_none() {
            self.cannot_check("the eviction policy, the append-only file and the release", "INFO")?;
        } else {
            self.check_info(shown)?;
        }
        check_clock(time)?;
        if reported.is_none() && self.place == Place::Alone {
            self.cannot_check("whether it is still a primary", "ROLE")?;
        }
        // In a cluster, a replica redirects reads to the primary.
        Ok(Role::Primary { reports_role: reported.is_some() && self.place == Place::Alone })
    }

    fn check_info(self, info: &str) -> Result<(), RedisError> {
        if self.place == Place::Alone && value_of(info, "redis_mode") == Some("cluster") {
            return Err(RedisProblem::Cluster.into());
        }
        match value_of(info, "maxmemory_policy") {
            Some("noeviction") => {}
            Some(policy) => return Err(RedisProblem::Evicts { policy: policy.to_owned() }.into()),
            None => self.cannot_check("the eviction policy", "INFO")?,
        }
        let version = value_of(info, "redis_version");
        let release = version.and_then(|version| version.split('.').next()?.parse::<u32>().ok());
        match (version, release) {
            (Some(version), Some(release)) if release < LEAST_RELEASE => {
                return Err(RedisProblem::TooOld { version: version.to_owned() }.into());
            }
            (Some(_), Some(_)) => {}
            (Some(_), None) | (None, _) => self.cannot_check("the release", "INFO")?,
        }
        if self.log == Log::Needed {
            // While it reads the file after a start, it says that it keeps none.
            if value_of(info, "loading") == Some("1") {
                return Err(RedisProblem::Unavailable.into());
            }
            match value_of(info, "aof_enabled") {
                Some("0") => return Err(RedisProblem::NoLog.into()),
                Some(_) => {}
                None => self.cannot_check("the append-only file", "INFO")?,
            }
        }
        Ok(())
    }

    /// Refuses a server on which `what` cannot be checked, unless the options accept it.
    fn cannot_check(self, what: &'static str, command: &'static str) -> Result<(), RedisError> {
        match self.unchecked {
            Unchecked::Accepted => Ok(()),
            Unchecked::Refused => Err(RedisProblem::Unchecked { what, command }.into()),
        }
    }
}

/// Reads the answer of `ROLE`.
pub(super) fn is_primary(role: Value) -> Result<bool, RedisError> {
    let words: Vec<Value> = redis::from_redis_value(role)?;
    let name: String = redis::from_redis_value(words.into_iter().next().unwrap_or(Value::Nil))?;
    Ok(name == "master")
}

fn allowed(answer: Value) -> Result<Option<Value>, RedisError> {
    match answer.extract_error().map_err(RedisError::from) {
        Err(error) if error.is_forbidden() => Ok(None),
        answer => answer.map(Some),
    }
}

fn check_clock(time: Value) -> Result<(), RedisError> {
    let (seconds, _): (u32, u32) = redis::from_redis_value(time)?;
    let skew = seconds.abs_diff(SystemClock.now().seconds());
    if u64::from(skew) > MAX_CLOCK_SKEW.as_secs() { Err(RedisProblem::Clock { seconds: skew }.into()) } else { Ok(()) }
}

fn value_of<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nrole:master\r\n\
        maxmemory_policy:noeviction\r\naof_enabled:0\r\n";

    fn problem(info: &str, place: Place, log: Log) -> Option<RedisProblem> {
        problem_with(info, place, log, Unchecked::Refused)
    }

    fn problem_with(info: &str, place: Place, log: Log, unchecked: Unchecked) -> Option<RedisProblem> {
        Demands { place, log, unchecked }.check_info(info).err().map(|error| error.problem().clone())
    }

    #[test]
    fn a_server_that_may_lose_keys_is_refused() {
        let problem = |info: &str| problem(info, Place::Alone, Log::AsItIs);
        assert_eq!(problem(GOOD), None);
        assert_eq!(problem(&GOOD.replace("7.0.15", "10.2.0")), None);
        let policy = "allkeys-lru".to_owned();
        assert_eq!(problem(&GOOD.replace("noeviction", &policy)), Some(RedisProblem::Evicts { policy }));
        let version = "6.2.14".to_owned();
        assert_eq!(problem(&GOOD.replace("7.0.15", &version)), Some(RedisProblem::TooOld { version }));
    }

    #[test]
    fn a_log_is_asked_for_where_one_is_needed() {
        assert_eq!(problem(GOOD, Place::Cluster, Log::Needed), Some(RedisProblem::NoLog));
        assert_eq!(problem(&GOOD.replace("aof_enabled:0", "aof_enabled:1"), Place::Alone, Log::Needed), None);
        let starting = problem(&format!("{GOOD}loading:1\r\n"), Place::Alone, Log::Needed);
        assert_eq!(starting, Some(RedisProblem::Unavailable), "it passes");
    }

    #[test]
    fn what_a_server_does_not_state_is_refused_unless_that_is_accepted() {
        for (line, what) in [
            ("maxmemory_policy:noeviction", "the eviction policy"),
            ("redis_version:7.0.15", "the release"),
            ("aof_enabled:0", "the append-only file"),
        ] {
            let info = GOOD.replace("aof_enabled:0", "aof_enabled:1");
            let info = info.replace(&line.replace("aof_enabled:0", "aof_enabled:1"), "");
            let problem = |unchecked| problem_with(&info, Place::Alone, Log::Needed, unchecked);
            let refused = problem(Unchecked::Refused).expect("it is not known");
            assert_eq!(refused, RedisProblem::Unchecked { what, command: "INFO" });
            assert_eq!(problem(Unchecked::Accepted), None, "{what}");
        }
        let unknown = GOOD.replace("7.0.15", "unknown");
        let refused = problem(&unknown, Place::Alone, Log::AsItIs);
        assert_eq!(refused, Some(RedisProblem::Unchecked { what: "the release", command: "INFO" }));
        // What the server reports is checked in any case.
        let evicts = GOOD.replace("noeviction", "allkeys-lru");
        assert!(problem_with(&evicts, Place::Alone, Log::AsItIs, Unchecked::Accepted).is_some());
        let log = problem_with(GOOD, Place::Alone, Log::Needed, Unchecked::Accepted);
        assert_eq!(log, Some(RedisProblem::NoLog));
    }

    #[test]
    fn a_server_of_a_cluster_does_not_stand_alone() {
        let clustered = GOOD.replace("standalone", "cluster");
        assert_eq!(problem(&clustered, Place::Alone, Log::AsItIs), Some(RedisProblem::Cluster));
        assert_eq!(problem(&clustered, Place::Cluster, Log::AsItIs), None);
    }

    #[test]
    fn a_clock_that_is_far_off_is_refused() {
        let time = |seconds: u32| Value::Array(vec![Value::Int(seconds.into()), Value::Int(0)]);
        let now = SystemClock.now().seconds();
        assert!(check_clock(time(now)).is_ok());
        assert!(check_clock(time(now - 590)).is_ok());
        assert!(check_clock(time(now - 700)).is_err());
        assert!(check_clock(time(now + 700)).is_err());
    }
}
