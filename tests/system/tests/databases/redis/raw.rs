//! A plain connection to a server, and the layout of the keys, for what a store does not show.

use redis::{Cmd, Connection, FromRedisValue};

use support_servers::servers::redis::Server;

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

    /// Puts a record that no release can read in the place of a row's own; header and lists stay.
    pub(crate) fn spoil(&mut self, row: &str) {
        const UNREADABLE: &[u8] = b"\x02\x63record";
        let bytes: Vec<u8> = self.ask(&[b"GET", row.as_bytes()]);
        let (header, record, lists) = parts_of_row(&bytes);
        let length = u32::try_from(UNREADABLE.len()).unwrap().to_be_bytes();
        assert_ne!(record, UNREADABLE);
        let spoiled = [header, &length, UNREADABLE, lists].concat();
        let _: String = self.ask(&[b"SET", row.as_bytes(), &spoiled, b"KEEPTTL"]);
    }

    /// Makes all entries of a set as old as can be; their times of writing begin at that byte, or lie at
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

/// Returns header, record and lists of a row.
pub(crate) fn parts_of_row(row: &[u8]) -> (&[u8], &[u8], &[u8]) {
    let (header, rest) = row.split_at(16);
    let (length, rest) = rest.split_first_chunk().unwrap();
    let (record, lists) = rest.split_at(u32::from_be_bytes(*length).try_into().unwrap());
    (header, record, lists)
}
