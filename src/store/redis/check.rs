//! What has to hold of a server before it may keep anything.

use redis::aio::MultiplexedConnection;
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::{MultipleNodeRoutingInfo, RoutingInfo};
use redis::{Cmd, FromRedisValue, RedisResult, Value};

use crate::clock::{Clock, SystemClock};
use crate::store::redis::error::{RedisError, RedisProblem};

/// The least release whose scripts answer errors by their own names.
const LEAST_RELEASE: u32 = 7;
/// With it a write that says when it ends is applied within the half hour or never.
const MOST_SECONDS_APART: u32 = 600;

/// Checks a server that stands alone.
pub(super) async fn single(connection: &mut MultiplexedConnection) -> Result<(), RedisError> {
    let info = Cmd::new().arg("INFO").to_owned();
    if let Some(info) = allowed(connection.send_packed_command(&info).await)? {
        let info: String = redis::from_redis_value(info)?;
        if value_of(&info, "redis_mode") == Some("cluster") {
            return Err(RedisProblem::Cluster.into());
        }
        node(&info)?;
    }
    let time = Cmd::new().arg("TIME").to_owned();
    if let Some(time) = allowed(connection.send_packed_command(&time).await)? {
        clock(time)?;
    }
    Ok(())
}

/// Checks all primaries of a cluster.
pub(super) async fn cluster(connection: &mut ClusterConnection) -> Result<(), RedisError> {
    for info in of_all_primaries(connection, "INFO").await? {
        node(&redis::from_redis_value::<String>(info)?)?;
    }
    for time in of_all_primaries(connection, "TIME").await? {
        clock(time)?;
    }
    Ok(())
}

/// Returns the answers of those primaries that let this user ask.
async fn of_all_primaries(connection: &mut ClusterConnection, name: &str) -> Result<Vec<Value>, RedisError> {
    let primaries = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, None));
    let answers = connection.route_command(Cmd::new().arg(name).to_owned(), primaries).await?;
    let answers: Vec<(String, Value)> = Vec::from_redis_value(answers)?;
    let mut values = Vec::new();
    for (_, answer) in answers {
        values.extend(allowed(Ok(answer))?);
    }
    Ok(values)
}

/// A command that this user may not send tells nothing, and is no reason to stay away.
fn allowed(answer: RedisResult<Value>) -> Result<Option<Value>, RedisError> {
    match answer.and_then(Value::extract_error).map_err(RedisError::from) {
        Ok(value) => Ok(Some(value)),
        Err(error) if *error.problem() == RedisProblem::Denied => Ok(None),
        Err(error) => Err(error),
    }
}

fn node(info: &str) -> Result<(), RedisError> {
    if value_of(info, "role") == Some("slave") {
        return Err(RedisProblem::Replica.into());
    }
    if let Some(policy) = value_of(info, "maxmemory_policy").filter(|policy| *policy != "noeviction") {
        return Err(RedisProblem::Evicts { policy: policy.to_owned() }.into());
    }
    if let Some(version) = value_of(info, "redis_version") {
        let release = version.split('.').next().and_then(|release| release.parse::<u32>().ok());
        if release.is_some_and(|release| release < LEAST_RELEASE) {
            return Err(RedisProblem::TooOld { version: version.to_owned() }.into());
        }
    }
    Ok(())
}

fn clock(time: Value) -> Result<(), RedisError> {
    let (seconds, _): (u32, u32) = redis::from_redis_value(time)?;
    let apart = seconds.abs_diff(SystemClock.now().seconds());
    if apart > MOST_SECONDS_APART { Err(RedisProblem::Clock { seconds: apart }.into()) } else { Ok(()) }
}

fn value_of<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_may_lose_keys_is_refused() {
        let problem = |info: &str| node(info).err().map(|error| error.problem().clone());
        let good = "# Server\r\nredis_version:7.0.15\r\nrole:master\r\nmaxmemory_policy:noeviction\r\n";
        assert_eq!(problem(good), None);
        assert_eq!(problem(&good.replace("7.0.15", "10.2.0")), None);
        assert_eq!(problem(""), None);
        let policy = "allkeys-lru".to_owned();
        assert_eq!(problem(&good.replace("noeviction", &policy)), Some(RedisProblem::Evicts { policy }));
        assert_eq!(problem(&good.replace("role:master", "role:slave")), Some(RedisProblem::Replica));
        let version = "6.2.14".to_owned();
        assert_eq!(problem(&good.replace("7.0.15", &version)), Some(RedisProblem::TooOld { version }));
    }

    #[test]
    fn a_clock_that_is_far_off_is_refused() {
        let time = |seconds: u32| Value::Array(vec![Value::Int(seconds.into()), Value::Int(0)]);
        let now = SystemClock.now().seconds();
        assert!(clock(time(now)).is_ok());
        assert!(clock(time(now - 590)).is_ok());
        assert!(clock(time(now - 700)).is_err());
        assert!(clock(time(now + 700)).is_err());
    }
}
