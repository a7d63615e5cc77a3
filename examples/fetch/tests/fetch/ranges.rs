//! Which addresses are special-use.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use grantor::fetch::FetchErrorKind;
use grantor_fetch::Fetch;

use crate::authority::Authority;
use crate::scripted::Scripted;
use crate::{URL, fetch};

/// The first and last address of each range, written independently of the library's table.
const RANGES: [(&str, &str); 28] = [
    ("0.0.0.0", "0.255.255.255"),
    ("10.0.0.0", "10.255.255.255"),
    ("100.64.0.0", "100.127.255.255"),
    ("127.0.0.0", "127.255.255.255"),
    ("169.254.0.0", "169.254.255.255"),
    ("172.16.0.0", "172.31.255.255"),
    ("192.0.0.0", "192.0.0.255"),
    ("192.0.2.0", "192.0.2.255"),
    ("192.88.99.0", "192.88.99.255"),
    ("192.168.0.0", "192.168.255.255"),
    ("198.18.0.0", "198.19.255.255"),
    ("198.51.100.0", "198.51.100.255"),
    ("203.0.113.0", "203.0.113.255"),
    ("224.0.0.0", "239.255.255.255"),
    ("240.0.0.0", "255.255.255.255"),
    ("::", "::"),
    ("::1", "::1"),
    ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"),
    ("100::", "100::ffff:ffff:ffff:ffff"),
    ("100:0:0:1::", "100:0:0:1:ffff:ffff:ffff:ffff"),
    ("2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
];

/// A fetcher on a network where nothing listens.
struct Judge {
    fetch: Fetch,
    network: Scripted,
}

impl Judge {
    fn new(fetch: Fetch) -> Self {
        let network = Scripted::new();
        Self { fetch: fetch.network(network.clone()), network }
    }

    /// Whether an address is refused; otherwise it was tried.
    async fn refuses(&self, address: IpAddr) -> bool {
        self.network.answer([address]);
        let before = self.network.connections().len();
        let kind = fetch(&self.fetch, URL).await.unwrap_err();
        let tried = self.network.connections().len() - before;
        match kind {
            FetchErrorKind::SpecialUseAddress => assert_eq!(tried, 0, "{address}"),
            _ => assert_eq!((kind, tried), (FetchErrorKind::Connection, 1), "{address}"),
        }
        kind == FetchErrorKind::SpecialUseAddress
    }
}

fn parse(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// The addresses before and after one, as far as there are any.
fn beside(address: IpAddr) -> [Option<IpAddr>; 2] {
    match address {
        IpAddr::V4(own) => [own.to_bits().checked_sub(1), own.to_bits().checked_add(1)]
            .map(|own| Some(Ipv4Addr::from_bits(own?).into())),
        IpAddr::V6(own) => [own.to_bits().checked_sub(1), own.to_bits().checked_add(1)]
            .map(|own| Some(Ipv6Addr::from_bits(own?).into())),
    }
}

fn is_listed(address: IpAddr) -> bool {
    let mut ranges = RANGES.iter().map(|(first, last)| (parse(first), parse(last)));
    ranges.any(|(first, last)| first.is_ipv4() == address.is_ipv4() && (first..=last).contains(&address))
}

/// CIMD-8.6-02
#[tokio::test]
async fn every_range_ends_where_its_rfc_says() {
    let judge = Judge::new(Fetch::new().unwrap());
    for (first, last) in RANGES.map(|(first, last)| (parse(first), parse(last))) {
        assert!(judge.refuses(first).await && judge.refuses(last).await, "{first} to {last}");
        for outside in [beside(first)[0], beside(last)[1]].into_iter().flatten() {
            let is_reached = match outside {
                IpAddr::V4(_) => true,
                // `2000::/3` and `64:ff9b::/96`
                IpAddr::V6(own) => own.to_bits() >> 125 == 1 || own.to_bits() >> 32 == 0x64_ff9b << 64,
            };
            assert_eq!(judge.refuses(outside).await, !is_reached || is_listed(outside), "{outside}");
        }
    }
}

/// CIMD-8.6-02
#[tokio::test]
async fn a_form_with_an_ipv4_address_inside_is_judged_by_it() {
    let judge = Judge::new(Fetch::new().unwrap());
    let forms: [fn(u16, u16) -> Ipv6Addr; 5] = [
        |high, low| Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, high, low),
        |high, low| Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low),
        |high, low| Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low),
        |high, low| Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
        |high, low| Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
    ];
    let ends: Vec<Ipv4Addr> =
        RANGES.iter().flat_map(|(first, last)| [first, last]).filter_map(|own| own.parse().ok()).collect();
    assert_eq!(ends.len(), 30);
    for form in forms {
        for inner in &ends {
            let [a, b, c, d] = inner.octets();
            let own = form(u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
            assert!(judge.refuses(own.into()).await, "{own} has {inner} inside");
        }
        let public = form(0xc01f, 0xc401);
        assert!(!judge.refuses(public.into()).await, "{public}");
    }
    for text in ["::ffff:127.0.0.1", "2002:7f00:1::", "64:ff9b::a00:1", "::127.0.0.1", "2002:a9fe:a9fe::1"] {
        assert!(judge.refuses(parse(text)).await, "{text}");
    }
}

/// CIMD-8.6-02
#[tokio::test]
async fn what_is_not_global_unicast_is_refused() {
    let judge = Judge::new(Fetch::new().unwrap());
    for text in [
        "1::1",
        "200::1",
        "400::1",
        "64:ff9b:0:1::1",
        "64:ff9b:0:0:1::",
        "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        "4000::1",
        "6000::1",
        "8000::1",
        "a000::1",
        "c000::1",
        "e000::1",
        "f000::1",
        "fe00::1",
        "4000::5efe:101:101",
    ] {
        assert!(judge.refuses(parse(text)).await, "{text}");
    }
}

/// CIMD-8.6-02
#[tokio::test]
async fn an_isatap_address_is_judged_by_prefix_and_interface() {
    let judge = Judge::new(Fetch::new().unwrap());
    for text in ["2606:4700::5efe:a00:1", "2606:4700::200:5efe:a00:1", "2606:4700::5efe:7f00:1", "fe80::5efe:101:101"] {
        assert!(judge.refuses(parse(text)).await, "{text}");
    }
    for text in ["2606:4700::5efe:101:101", "2606:4700::200:5efe:101:101", "2606:4700::100:5efe:a00:1"] {
        assert!(!judge.refuses(parse(text)).await, "{text}");
    }
}

#[tokio::test]
async fn public_addresses_are_tried() {
    let judge = Judge::new(Fetch::new().unwrap());
    for text in
        ["1.1.1.1", "192.31.196.1", "198.41.0.4", "2606:4700::1111", "2a00:1450::1", "2001:500::1", "2620:4f:8000::1"]
    {
        assert!(!judge.refuses(parse(text)).await, "{text}");
    }
}

/// CIMD-8.6-03
#[tokio::test]
async fn development_reaches_the_loopback_and_nothing_else_of_special_use() {
    let judge = Judge::new(Fetch::for_development(Authority::new().pem()).unwrap());
    for text in ["127.0.0.1", "127.255.255.255", "::1"] {
        assert!(!judge.refuses(parse(text)).await, "{text}");
    }
    for text in ["10.0.0.1", "169.254.169.254", "0.0.0.0", "::", "fe80::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"] {
        assert!(judge.refuses(parse(text)).await, "{text}");
    }
}
