//! The addresses that are never connected to [draft-ietf-oauth-client-id-metadata-document section 8.6, RFC 6890].

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether loopback addresses are allowed, for development only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loopback {
    Reached,
    Refused,
}

/// Refuses special-use addresses.
///
/// # Errors
///
/// [`SpecialUse`] for the first special-use address.
pub(crate) fn judge(addresses: &[IpAddr], loopback: Loopback) -> Result<(), SpecialUse> {
    let judged = |address: &&IpAddr| loopback == Loopback::Refused || !address.is_loopback();
    addresses.iter().filter(judged).find_map(|address| special_use(*address)).map_or(Ok(()), Err)
}

/// A special-use address, which a client's URL must not reach.
#[derive(Debug, thiserror::Error)]
#[error("{address} is a special-use address: {range}")]
pub(crate) struct SpecialUse {
    address: IpAddr,
    range: &'static Range,
}

fn special_use(address: IpAddr) -> Option<SpecialUse> {
    let (inner, is_reached) = match address {
        IpAddr::V4(_) => ([None, None], true),
        IpAddr::V6(own) => {
            let embedded = embedded(own);
            ([embedded, isatap(own)], is_global_unicast(own) || embedded.is_some())
        }
    };
    let holds = |range: &&Range| {
        range.holds(address) || inner.into_iter().flatten().any(|inner| range.holds(IpAddr::V4(inner)))
    };
    let range = SPECIAL_USE.iter().find(holds).or_else(|| (!is_reached).then_some(&NOT_GLOBAL_UNICAST))?;
    Some(SpecialUse { address, range })
}

/// Returns whether an address is in `2000::/3`. No other range was ever assigned to hosts [RFC 4291 section 2.4].
fn is_global_unicast(address: Ipv6Addr) -> bool {
    let [first, ..] = address.segments();
    first >> 13 == 1
}

/// The IPv4 address in the interface identifier of ISATAP [RFC 5214 section 6.1], to which the tunnel would send.
fn isatap(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.segments() {
        [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => Some(ipv4(high, low)),
        _ => None,
    }
}

/// The IPv4 address that an IPv6 address stands for, to which a translator or a tunnel would send.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let (high, low) = match address.segments() {
        // IPv4-compatible and IPv4-mapped [RFC 4291 section 2.5.5].
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] => (high, low),
        // IPv4-translated [RFC 2765 section 2.1].
        [0, 0, 0, 0, 0xffff, 0, high, low] => (high, low),
        // The well-known prefix of NAT64 [RFC 6052 section 2.1].
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => (high, low),
        // 6to4 [RFC 3056 section 2].
        [0x2002, high, low, ..] => (high, low),
        _ => return None,
    };
    Some(ipv4(high, low))
}

fn ipv4(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

/// All addresses that share the first `length` bits with `first`.
#[derive(Debug)]
struct Range {
    first: IpAddr,
    length: u32,
    name: &'static str,
}

impl Range {
    const fn v4(first: [u8; 4], length: u32, name: &'static str) -> Self {
        let [a, b, c, d] = first;
        Self { first: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), length, name }
    }

    const fn v6(first: [u16; 4], length: u32, name: &'static str) -> Self {
        let [a, b, c, d] = first;
        Self { first: IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0)), length, name }
    }

    fn holds(&self, address: IpAddr) -> bool {
        match (self.first, address) {
            (IpAddr::V4(first), IpAddr::V4(own)) => (first.to_bits() ^ own.to_bits()).leading_zeros() >= self.length,
            (IpAddr::V6(first), IpAddr::V6(own)) => (first.to_bits() ^ own.to_bits()).leading_zeros() >= self.length,
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}, {}", self.first, self.length, self.name)
    }
}

static NOT_GLOBAL_UNICAST: Range =
    Range { first: IpAddr::V6(Ipv6Addr::UNSPECIFIED), length: 0, name: "not global unicast [RFC 4291 section 2.4]" };

/// The ranges of the registries of RFC 6890 that are not globally reachable, multicast, and ranges that the registries
/// once had.
static SPECIAL_USE: [Range; 28] = [
    Range::v4([0, 0, 0, 0], 8, "this network [RFC 791 section 3.2]"),
    Range::v4([10, 0, 0, 0], 8, "private use [RFC 1918]"),
    Range::v4([100, 64, 0, 0], 10, "shared address space [RFC 6598]"),
    Range::v4([127, 0, 0, 0], 8, "loopback [RFC 1122 section 3.2.1.3]"),
    Range::v4([169, 254, 0, 0], 16, "link-local [RFC 3927]"),
    Range::v4([172, 16, 0, 0], 12, "private use [RFC 1918]"),
    Range::v4([192, 0, 0, 0], 24, "IETF protocol assignments [RFC 6890 section 2.1]"),
    Range::v4([192, 0, 2, 0], 24, "documentation [RFC 5737]"),
    Range::v4([192, 88, 99, 0], 24, "relays of 6to4 [RFC 7526]"),
    Range::v4([192, 168, 0, 0], 16, "private use [RFC 1918]"),
    Range::v4([198, 18, 0, 0], 15, "benchmarking [RFC 2544]"),
    Range::v4([198, 51, 100, 0], 24, "documentation [RFC 5737]"),
    Range::v4([203, 0, 113, 0], 24, "documentation [RFC 5737]"),
    Range::v4([224, 0, 0, 0], 4, "multicast [RFC 5771]"),
    Range::v4([240, 0, 0, 0], 4, "reserved, and broadcast [RFC 1112 section 4, RFC 8190]"),
    Range { first: IpAddr::V6(Ipv6Addr::UNSPECIFIED), length: 128, name: "unspecified [RFC 4291 section 2.5.2]" },
    Range { first: IpAddr::V6(Ipv6Addr::LOCALHOST), length: 128, name: "loopback [RFC 4291 section 2.5.3]" },
    Range::v6([0x64, 0xff9b, 1, 0], 48, "local translation [RFC 8215]"),
    Range::v6([0x100, 0, 0, 0], 64, "discard-only [RFC 6666]"),
    Range::v6([0x100, 0, 0, 1], 64, "dummy prefix [RFC 9780]"),
    Range::v6([0x2001, 0, 0, 0], 23, "IETF protocol assignments, and Teredo [RFC 2928, RFC 4380]"),
    Range::v6([0x2001, 0xdb8, 0, 0], 32, "documentation [RFC 3849]"),
    Range::v6([0x3fff, 0, 0, 0], 20, "documentation [RFC 9637]"),
    Range::v6([0x5f00, 0, 0, 0], 16, "segment routing [RFC 9602]"),
    Range::v6([0xfc00, 0, 0, 0], 7, "unique local [RFC 4193]"),
    Range::v6([0xfe80, 0, 0, 0], 10, "link-local [RFC 4291 section 2.5.6]"),
    Range::v6([0xfec0, 0, 0, 0], 10, "site-local [RFC 3879]"),
    Range::v6([0xff00, 0, 0, 0], 8, "multicast [RFC 4291 section 2.7]"),
];
