//! A plain connection to a server, and the layout of the keys, for what a store does not show.

use redis::{Cmd, Connection, FromRedisValue};

use crate::servers::Server;

/// A connection beside that of the store.
pub(crate) struct Raw(Connection);

impl Raw {
    pub(crate) fn to(server: &Server) -> Self {
        Self(redis::Client::open(server.address()).unwrap().get_connection().unwrap())
    }

    pub(crate) fn ask<T: FromRedisValue>(&mut self, arguments: &[&[u8]]) -> T {
        let mut command = Cmd::new();
        for argument in arguments {
            command.arg(argument);
        }
        command.query(&mut self.0).unwrap()
    }

    pub(crate) fn members(&mut self, set: &str) -> Vec<Vec<u8>> {
        self.ask(&[b"ZRANGE", set.as_bytes(), b"0", b"-1"])
    }

    /// Makes all entries of a set as old as can be; their times of writing begin at that octet, or lie at
    /// the end.
    pub(crate) fn age(&mut self, set: &str, place: Option<usize>) {
        let members: Vec<(Vec<u8>, f64)> = self.ask(&[b"ZRANGE", set.as_bytes(), b"0", b"-1", b"WITHSCORES"]);
        for (member, score) in members {
            let mut aged = member.clone();
            let start = place.unwrap_or(member.len() - 4);
            aged[start..start + 4].fill(0);
            let _: i64 = self.ask(&[b"ZREM", set.as_bytes(), &member]);
            let _: i64 = self.ask(&[b"ZADD", set.as_bytes(), score.to_string().as_bytes(), &aged]);
        }
    }

    pub(crate) fn keys(&mut self) -> Vec<String> {
        let mut keys: Vec<String> = self.ask(&[b"KEYS", b"*"]);
        keys.sort();
        keys
    }
}
