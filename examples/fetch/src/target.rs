//! Parses a URL into host, port and path.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use hyper::Uri;
use hyper::http::uri::InvalidUri;
use tokio_rustls::rustls::pki_types::{DnsName, ServerName};

use crate::address::Loopback;

/// Names of private networks, and names that no public resolver answers [RFC 6761 and its registry]. Clouds have their
/// metadata services under `internal`.
const SPECIAL_USE_NAMES: [&str; 8] = ["alt", "home.arpa", "internal", "invalid", "local", "localhost", "onion", "test"];

/// Where a request goes, and what it asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) host: Host,
    /// Any port is allowed.
    pub(crate) port: u16,
    /// Host and port, as `Host` has them.
    pub(crate) authority: String,
    /// Path and query.
    pub(crate) path: Uri,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Host {
    Address(IpAddr),
    Name(DnsName<'static>),
}

impl Target {
    /// Reads an absolute https URL.
    ///
    /// # Errors
    ///
    /// [`UrlError`] for any other text, and for a host that resolvers may read in different ways.
    pub(crate) fn parse(url: &str, loopback: Loopback) -> Result<Self, UrlError> {
        if let Some(character) = url.chars().find(|own| !own.is_ascii_graphic() || "\"<>\\^`{|}".contains(*own)) {
            return Err(UrlError::Character(character));
        }
        if url.contains('#') {
            return Err(UrlError::Fragment);
        }
        let (scheme, rest) = url.split_once("://").ok_or(UrlError::Scheme)?;
        if !scheme.eq_ignore_ascii_case("https") {
            return Err(UrlError::Scheme);
        }
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(UrlError::Userinfo);
        }
        let (host, port) = split_port(authority)?;
        let host = Host::parse(host, loopback)?;
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Self { host, port, authority: authority.to_ascii_lowercase(), path: Uri::try_from(path)? })
    }
}

/// The port is 443 if there is none [RFC 9110 section 4.2.2].
fn split_port(authority: &str) -> Result<(&str, u16), UrlError> {
    // The colons of an IPv6 address are inside brackets.
    let end = authority.rfind(']').unwrap_or(0);
    let Some((host, port)) = authority.rsplit_once(':').filter(|(host, _)| host.len() > end) else {
        return Ok((authority, 443));
    };
    let is_number = !port.starts_with('0') && port.bytes().all(|own| own.is_ascii_digit());
    let number = if is_number { port.parse().ok() } else { None };
    number.map(|number| (host, number)).ok_or_else(|| UrlError::Port(port.to_owned()))
}

impl Host {
    fn parse(text: &str, loopback: Loopback) -> Result<Self, UrlError> {
        if let Some(address) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let address: Result<Ipv6Addr, _> = address.parse();
            return address.map(|own| Self::Address(own.into())).map_err(|_| UrlError::Host(text.to_owned()));
        }
        // Only four decimal numbers without leading zeros; some resolvers also accept other forms.
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Ok(Self::Address(address.into()));
        }
        let name = text.to_ascii_lowercase();
        let is_local = loopback == Loopback::Reached && is_under(&name, "localhost");
        if !is_local && SPECIAL_USE_NAMES.iter().any(|special| is_under(&name, special)) {
            return Err(UrlError::SpecialUseName(name));
        }
        // `127.1`, `1.2.3.0x4` and `2130706433` have no label at the end that begins with a letter; top-level domains
        // do. A resolver may append search domains of the own network to a name of one label.
        let is_public =
            name.rsplit_once('.').is_some_and(|(_, last)| last.starts_with(|own: char| own.is_ascii_lowercase()));
        match DnsName::try_from(name.clone()) {
            Ok(found) if is_local || is_public => Ok(Self::Name(found)),
            _ => Err(UrlError::Host(name)),
        }
    }

    pub(crate) fn server_name(&self) -> ServerName<'static> {
        match self {
            Self::Address(address) => ServerName::from(*address),
            Self::Name(name) => ServerName::DnsName(name.clone()),
        }
    }
}

/// Whether a name is a domain or below it.
fn is_under(name: &str, domain: &str) -> bool {
    name.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Why a URL is not fetched.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UrlError {
    #[error("{0:?} is not allowed in a URL")]
    Character(char),
    #[error("the URL has a fragment; it must have none")]
    Fragment,
    #[error(
        "{0:?} is not a host; accepted are names of two labels or more whose last one begins with a letter, \
         IPv4 addresses of four decimal numbers, and IPv6 addresses in brackets"
    )]
    Host(String),
    #[error("the path is not valid in an HTTP request")]
    Path(#[from] InvalidUri),
    #[error("{0:?} is not a port; accepted are 1 to 65535")]
    Port(String),
    #[error("the URL does not begin with https://")]
    Scheme,
    #[error("{0:?} is a special-use name [RFC 6761]")]
    SpecialUseName(String),
    #[error("the URL has userinfo; it must have none")]
    Userinfo,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Target, UrlError> {
        Target::parse(url, Loopback::Refused)
    }

    #[test]
    fn a_url_is_taken_apart() {
        for (url, host, port, authority, path) in [
            ("https://client.example", "client.example", 443, "client.example", "/"),
            ("https://client.example/", "client.example", 443, "client.example", "/"),
            ("HTTPS://Client.Example:8443/A/b?c=D", "client.example", 8443, "client.example:8443", "/A/b?c=D"),
            ("https://client.example?q=//x", "client.example", 443, "client.example", "/?q=//x"),
            ("https://client.example//evil.example/x", "client.example", 443, "client.example", "//evil.example/x"),
            (
                "https://a_b.xn--bcher-kva.example:1/%2e%2E/",
                "a_b.xn--bcher-kva.example",
                1,
                "a_b.xn--bcher-kva.example:1",
                "/%2e%2E/",
            ),
        ] {
            let target = parse(url).unwrap();
            assert_eq!(target.host, Host::Name(DnsName::try_from(host).unwrap()), "{url}");
            assert_eq!(
                (target.port, target.authority.as_str(), target.path.to_string().as_str()),
                (port, authority, path)
            );
        }
        for (url, address, port) in [
            ("https://8.8.8.8/x", "8.8.8.8", 443),
            ("https://[2606:4700::1111]/x", "2606:4700::1111", 443),
            ("https://[2606:4700::1111]:8443", "2606:4700::1111", 8443),
            ("https://[::ffff:127.0.0.1]/", "::ffff:127.0.0.1", 443),
        ] {
            let target = parse(url).unwrap();
            assert_eq!((target.host, target.port), (Host::Address(address.parse().unwrap()), port), "{url}");
        }
    }

    #[test]
    fn a_url_of_another_form_is_refused() {
        for url in [
            "",
            "https",
            "https:",
            "https:/client.example",
            "https://",
            "https:///x",
            "https://:443/",
            "http://client.example/",
            "httpsx://client.example/",
            "file:///etc/passwd",
            "//client.example/",
            " https://client.example/",
            "https://client.example/ x",
            "https://client.example/\r\nX: y",
            "https://client.example\\@evil.example/",
            "https://user@client.example/",
            "https://user:pw@client.example/",
            "https://client.example:443@evil.example/",
            "https://client.example/#",
            "https://client.example#@evil.example/",
            "https://client.example:/",
            "https://client.example:0/",
            "https://client.example:0443/",
            "https://client.example:+443/",
            "https://client.example:65536/",
            "https://client.example:443:443/",
            "https://client.example:https/",
            "https://b\u{fc}cher.example/",
            "https://client%2eexample/",
            "https://client..example/",
            "https://-client.example/",
            "https://client-.example/",
            "https://*.example/",
        ] {
            assert!(parse(url).is_err(), "{url:?}");
        }
        let long = format!("https://{}.example/", "a".repeat(64));
        assert!(parse(&long).is_err(), "{long}");
    }

    /// NEG-OC-03
    #[test]
    fn no_disguise_of_an_address_is_a_name() {
        for host in [
            "2130706433",
            "017700000001",
            "0x7f000001",
            "0x7f.1",
            "127.1",
            "127.0.1",
            "127.0.0.1.",
            "0177.0.0.1",
            "127.0.0.01",
            "127.0.0.0x1",
            "1.2.3.4.5",
            "256.1.1.1",
            "127.0.0.1%00",
            "127\u{3002}0.0.1",
            "\u{2460}27.0.0.1",
            "[127.0.0.1]",
            "[::1%25lo]",
            "[::1%lo]",
            "[fe80::1%251]",
            "[v1.x]",
            "[::1",
            "::1",
            "[]",
            "localhost",
            "LOCALHOST",
            "localhost.",
            "a.localhost",
            "client.example.",
            "metadata.google.internal",
            "metadata.google.internal.",
            "instance-data",
            "instance-data.ec2.internal",
            "metadata",
            "printer.local",
            "router.home.arpa",
            "x.onion",
            "x.test",
            "x.invalid",
            "x.alt",
            "intranet",
        ] {
            for url in [format!("https://{host}/"), format!("https://{host}:443/x")] {
                assert!(parse(&url).is_err(), "{url}");
            }
        }
    }

    #[test]
    fn a_name_that_only_resembles_one_of_special_use_is_a_name() {
        for host in ["localhost.example", "notlocalhost.example", "internal.example", "0x7f.example", "1.2.3.4.example"]
        {
            assert!(parse(&format!("https://{host}/")).is_ok(), "{host}");
        }
    }

    /// CIMD-8.6-03
    #[test]
    fn development_knows_localhost_and_no_further_name() {
        for host in ["localhost", "client.localhost", "localhost:8443"] {
            assert!(Target::parse(&format!("https://{host}/"), Loopback::Reached).is_ok(), "{host}");
        }
        for host in ["localhost.", "intranet", "metadata.google.internal", "x.local"] {
            assert!(Target::parse(&format!("https://{host}/"), Loopback::Reached).is_err(), "{host}");
        }
        assert!(Target::parse("http://localhost/", Loopback::Reached).is_err());
    }
}
