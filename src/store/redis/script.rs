//! The scripts, each of which reads and writes one key and nothing else.

use std::sync::LazyLock;

use redis::Cmd;

use crate::store::redis::error::RedisError;
use crate::store::redis::link::Link;

/// Writes a row again as it is.
pub(super) static CONFIRM: Script = Script::new(include_str!("confirm.lua"), || hash(&CONFIRM));
/// Adds an entry to a list.
pub(super) static LIST: Script = Script::new(include_str!("list.lua"), || hash(&LIST));
/// Writes a row.
pub(super) static PUT: Script = Script::new(include_str!("put.lua"), || hash(&PUT));
/// Adds an entry to a list, unless there is one for its key.
pub(super) static RELIST: Script = Script::new(include_str!("relist.lua"), || hash(&RELIST));
/// Removes a row that is due.
pub(super) static REMOVE: Script = Script::new(include_str!("remove.lua"), || hash(&REMOVE));

/// A script, and the hash under which a server caches it.
pub(super) struct Script {
    code: &'static str,
    hash: LazyLock<String>,
}

impl Script {
    const fn new(code: &'static str, hash: fn() -> String) -> Self {
        Self { code, hash: LazyLock::new(hash) }
    }

    /// Runs the script on `key`. Its text is sent only to a server that does not know it.
    pub(super) async fn run(&self, link: &Link, key: &[u8], arguments: &[&[u8]]) -> Result<i64, RedisError> {
        match call(link, "EVALSHA", &self.hash, key, arguments).await {
            Err(error) if error.is_unknown_script() => call(link, "EVAL", self.code, key, arguments).await,
            known => known,
        }
    }
}

async fn call(link: &Link, name: &str, script: &str, key: &[u8], arguments: &[&[u8]]) -> Result<i64, RedisError> {
    let length = script.len() + key.len() + arguments.iter().map(|argument| argument.len()).sum::<usize>();
    let mut command = Cmd::with_capacity(4 + arguments.len(), length + name.len() + 1);
    command.arg(name).arg(script).arg(1).arg(key);
    for argument in arguments {
        command.arg(argument);
    }
    link.write(key, command).await
}

fn hash(script: &Script) -> String {
    redis::Script::new(script.code).get_hash().to_owned()
}
