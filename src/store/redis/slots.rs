//! The slots of a cluster, which hold its keys, and their servers.

use redis::{FromRedisValue, Value};

use crate::store::redis::error::RedisError;

/// The number of slots of a cluster.
const SLOTS: u16 = 16_384;
/// The last slot.
pub(super) const LAST_SLOT: u16 = SLOTS - 1;

/// A part of the slots and the addresses of those that have it, the primary first.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) first: u16,
    pub(super) last: u16,
    pub(super) servers: Vec<Address>,
}

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Address {
    pub(super) host: String,
    pub(super) port: u16,
}

impl Address {
    /// Reads the address in a redirection, such as `192.0.2.1:6379` or `::1:6379`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let port = port.parse().ok()?;
        (!host.is_empty()).then(|| Self { host: host.to_owned(), port })
    }
}

/// Returns the slot of a key, which depends only on the text in its first braces, if there is any.
pub(super) fn slot_of(key: &[u8]) -> u16 {
    let tag = key.iter().position(|byte| *byte == b'{').and_then(|open| {
        let rest = key.get(open + 1..)?;
        let close = rest.iter().position(|byte| *byte == b'}')?;
        rest.get(..close).filter(|tag| !tag.is_empty())
    });
    checksum(tag.unwrap_or(key)) % SLOTS
}

/// CRC-16/XMODEM.
fn checksum(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |sum, byte| {
        (0..8).fold(
            sum ^ (u16::from(*byte) << 8),
            |sum, _| {
                if sum & 0x8000 == 0 { sum << 1 } else { (sum << 1) ^ 0x1021 }
            },
        )
    })
}

/// Reads a server's answer to `CLUSTER SLOTS`, in which the server may leave out its own host.
pub(super) fn parts(answer: Value, own_host: &str) -> Result<Vec<Part>, RedisError> {
    let answer: Vec<Vec<Value>> = redis::from_redis_value(answer)?;
    let mut parts = Vec::with_capacity(answer.len());
    for part in answer {
        let mut fields = part.into_iter();
        let (Some(first), Some(last)) = (fields.next(), fields.next()) else { continue };
        let (first, last) = (u16::from_redis_value(first)?, u16::from_redis_value(last)?);
        let servers = fields.map(|server| address(server, own_host)).collect::<Result<_, _>>()?;
        parts.push(Part { first, last, servers });
    }
    Ok(parts)
}

fn address(server: Value, own_host: &str) -> Result<Address, RedisError> {
    let mut fields = Vec::<Value>::from_redis_value(server)?.into_iter();
    let host: Option<String> = redis::from_redis_value(fields.next().unwrap_or(Value::Nil))?;
    let port = redis::from_redis_value(fields.next().unwrap_or(Value::Nil))?;
    let host = host.filter(|host| !host.is_empty() && host != "?").unwrap_or_else(|| own_host.to_owned());
    Ok(Address { host, port })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_specification() {
        // Redis cluster specification, appendix A, and the hash tags of its section on them.
        assert_eq!(checksum(b"123456789"), 0x31c3);
        assert_eq!(slot_of(b"123456789"), 0x31c3);
        assert_eq!(slot_of(b"foo"), 12_182);
        assert_eq!(slot_of(b"{user1000}.following"), slot_of(b"{user1000}.followers"));
        assert_eq!(slot_of(b"foo{}{bar}"), checksum(b"foo{}{bar}") % SLOTS);
        assert_eq!(slot_of(b"foo{{bar}}zap"), slot_of(b"{bar"));
        assert_eq!(slot_of(b"foo{bar}{zap}"), slot_of(b"bar"));
        assert_eq!(slot_of(b"foo{bar"), checksum(b"foo{bar") % SLOTS);
    }

    #[test]
    fn parts_are_read_with_their_servers() {
        let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let server = |host: Value, port| Value::Array(vec![host, Value::Int(port), text("id")]);
        let servers = [server(text("192.0.2.1"), 1), server(Value::Nil, 2), server(text(""), 3)];
        let part = [vec![Value::Int(0), Value::Int(5460)], servers.to_vec()].concat();
        let at = |host: &str, port| Address { host: host.to_owned(), port };
        let servers = vec![at("192.0.2.1", 1), at("192.0.2.9", 2), at("192.0.2.9", 3)];
        let read = |answer| parts(answer, "192.0.2.9");
        let expected = [Part { first: 0, last: 5460, servers }];
        assert_eq!(read(Value::Array(vec![Value::Array(part)])).unwrap(), expected);
        assert!(read(Value::Array(vec![Value::Array(vec![text("x"), text("y")])])).is_err());
        assert_eq!(read(Value::Array(Vec::new())).unwrap(), []);
    }

    #[test]
    fn addresses_of_redirections_are_read() {
        let at = |host: &str, port| Some(Address { host: host.to_owned(), port });
        assert_eq!(Address::parse("192.0.2.1:6379"), at("192.0.2.1", 6379));
        assert_eq!(Address::parse("2001:db8::1:6379"), at("2001:db8::1", 6379));
        for none in [":6379", "192.0.2.1", "192.0.2.1:x", ""] {
            assert_eq!(Address::parse(none), None);
        }
    }
}
