//! The scripts, each of which reads and writes one key and nothing else.

use std::sync::LazyLock;

use redis::Cmd;

use crate::store::redis::error::{RedisError, RedisProblem};
use crate::store::redis::link::Link;

/// Adds an entry to a set of ids.
pub(super) static LIST: Script = Script { code: include_str!("list.lua"), hash: LazyLock::new(|| hash(LIST.code)) };
/// Writes a row.
pub(super) static PUT: Script = Script { code: include_str!("put.lua"), hash: LazyLock::new(|| hash(PUT.code)) };
/// Writes a registration.
pub(super) static REGISTER: Script =
    Script { code: include_str!("register.lua"), hash: LazyLock::new(|| hash(REGISTER.code)) };
/// Adds an entry to a set of ids, unless there is one of its id.
pub(super) static RELIST: Script =
    Script { code: include_str!("relist.lua"), hash: LazyLock::new(|| hash(RELIST.code)) };
/// Removes a row.
pub(super) static REMOVE: Script =
    Script { code: include_str!("remove.lua"), hash: LazyLock::new(|| hash(REMOVE.code)) };

/// A script, and the name under which a server remembers it.
pub(super) struct Script {
    code: &'static str,
    hash: LazyLock<String>,
}

impl Script {
    /// Runs the script on `key`, and tells a server that does not know it what it is.
    ///
    /// The answer is whether something was written.
    pub(super) async fn run(&self, link: &Link, key: &[u8], arguments: &[&[u8]]) -> Result<bool, RedisError> {
        let answer = match call(link, "EVALSHA", &self.hash, key, arguments).await {
            Err(error) if error.is_unknown_script() => call(link, "EVAL", self.code, key, arguments).await?,
            known => known?,
        };
        if answer < 0 { Err(RedisProblem::TooLate.into()) } else { Ok(answer == 1) }
    }
}

async fn call(link: &Link, name: &str, script: &str, key: &[u8], arguments: &[&[u8]]) -> Result<i64, RedisError> {
    let octets = script.len() + key.len() + arguments.iter().map(|argument| argument.len()).sum::<usize>();
    let mut command = Cmd::with_capacity(4 + arguments.len(), octets + name.len() + 1);
    command.arg(name).arg(script).arg(1).arg(key);
    for argument in arguments {
        command.arg(argument);
    }
    link.write(key, command).await
}

fn hash(code: &str) -> String {
    redis::Script::new(code).get_hash().to_owned()
}
