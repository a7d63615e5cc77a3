//! Parses a URL into scheme, host, port and path.

use std::fmt;
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
    pub(crate) scheme: Scheme,
    pub(crate) host: Host,
    /// Any port is allowed.
    pub(crate) port: u16,
    /// Host and port, as `Host` has them.
    pub(crate) authority: String,
    /// Path and query.
    pub(crate) path: Uri,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    Http,
    Https,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Host {
    Address(IpAddr),
    Name(DnsName<'static>),
}

impl Target {
    /// Reads the URL of a client: https, and no host of the own network.
    ///
    /// # Errors
    ///
    /// [`UrlError`] for any other text, and for a host that resolvers may read in different ways.
    pub(crate) fn parse(url: &str, loopback: Loopback) -> Result<Self, UrlError> {
        let target = Self::configured(url)?;
        if target.scheme != Scheme::Https {
            return Err(UrlError::Scheme);
        }
        target.host.check_public(loopback)?;
        Ok(target)
    }

    /// Reads an absolute URL that you configured, of any host.
    ///
    /// # Errors
    ///
    /// [`UrlError`] for any other text.
    pub(crate) fn configured(url: &str) -> Result<Self, UrlError> {
        if let Some(character) = url.chars().find(|own| !own.is_ascii_graphic() || "\"<>\\^`{|}".contains(*own)) {
            return Err(UrlError::Character(character));
        }
        if url.contains('#') {
            return Err(UrlError::Fragment);
        }
        let (scheme, rest) = url.split_once("://").ok_or(UrlError::Scheme)?;
        let (scheme, default_port) = match scheme.to_ascii_lowercase().as_str() {
            "http" => (Scheme::Http, 80),
            "https" => (Scheme::Https, 443),
            _ => return Err(UrlError::Scheme),
        };
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(UrlError::Userinfo);
        }
        let (host, port) = split_port(authority, default_port)?;
        let host = Host::parse(host)?;
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Self { scheme, host, port, authority: authority.to_ascii_lowercase(), path: Uri::try_from(path)? })
    }

    /// Whether both have the same scheme, host and port [RFC 6454 section 5].
    pub(crate) fn has_origin_of(&self, other: &Self) -> bool {
        self.scheme == other.scheme && self.host == other.host && self.port == other.port
    }
}

/// The origin: scheme, host and port.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        write!(f, "{scheme}://{}", self.authority)
    }
}

/// A URL without a port has that of its scheme [RFC 9110 section 4.2].
fn split_port(authority: &str, default_port: u16) -> Result<(&str, u16), UrlError> {
    // The colons of an IPv6 address are inside brackets.
    let end = authority.rfind(']').unwrap_or(0);
    let Some((host, port)) = authority.rsplit_once(':').filter(|(host, _)| host.len() > end) else {
        return Ok((authority, default_port));
    };
    let is_number = !port.starts_with('0') && port.bytes().all(|own| own.is_ascii_digit());
    let number = if is_number { port.parse().ok() } else { None };
    number.map(|number| (host, number)).ok_or_else(|| UrlError::Port(port.to_owned()))
}

impl Host {
    fn parse(text: &str) -> Result<Self, UrlError> {
        if let Some(address) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let address: Result<Ipv6Addr, _> = address.parse();
            return address.map(|own| Self::Address(own.into())).map_err(|_| UrlError::Host(text.to_owned()));
        }
        // Only four decimal numbers without leading zeros; some resolvers also accept other forms.
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Ok(Self::Address(address.into()));
        }
        let name = text.to_ascii_lowercase();
        DnsName::try_from(name.clone()).map(Self::Name).map_err(|_| UrlError::Host(name))
    }

    /// Refuses names that lead into the own network. Addresses are checked before the connection.
    fn check_public(&self, loopback: Loopback) -> Result<(), UrlError> {
        let Self::Name(name) = self else { return Ok(()) };
        let name = name.as_ref();
        if loopback == Loopback::Reached && is_under(name, "localhost") {
            return Ok(());
        }
        if SPECIAL_USE_NAMES.iter().any(|special| is_under(name, special)) {
            return Err(UrlError::SpecialUseName(name.to_owned()));
        }
        // `127.1`, `1.2.3.0x4` and `2130706433` have no label at the end that begins with a letter; top-level domains
        // do. A resolver may append search domains of the own network to a name of one label.
        let is_public =
            name.rsplit_once('.').is_some_and(|(_, last)| last.starts_with(|own: char| own.is_ascii_lowercase()));
        if is_public { Ok(()) } else { Err(UrlError::NotPublic(name.to_owned())) }
    }

    /// Whether the host is this machine. No resolver is asked for such a name [RFC 6761 section 6.3].
    pub(crate) fn is_loopback(&self) -> bool {
        match self {
            Self::Address(address) => address.is_loopback(),
            Self::Name(name) => is_under(name.as_ref(), "localhost"),
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
        "{0:?} is not a host; accepted are DNS names, IPv4 addresses of four decimal numbers, and IPv6 addresses in \
         brackets"
    )]
    Host(String),
    #[error("{0:?} is not a public name; accepted are names of two labels or more whose last one begins with a letter")]
    NotPublic(String),
    #[error("the URL has another scheme, host or port than {0}")]
    Origin(String),
    #[error("the path is not valid in an HTTP request")]
    Path(#[from] InvalidUri),
    #[error("{0:?} is not a port; accepted are 1 to 65535")]
    Port(String),
    #[error("the URL begins with http:// and its host is not on the loopback")]
    Plain,
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
    fn origins_are_compared_by_scheme_host_and_port() {
        let own = Target::configured("https://auth.internal/oauth2/introspect").unwrap();
        for same in ["https://auth.internal", "HTTPS://AUTH.internal:443/jwks?x", "https://auth.internal?x"] {
            assert!(Target::configured(same).unwrap().has_origin_of(&own), "{same}");
        }
        for other in [
            "http://auth.internal/oauth2/introspect",
            "http://auth.internal:443/oauth2/introspect",
            "https://auth.internal:8443/oauth2/introspect",
            "https://auth.internal.example/oauth2/introspect",
            "https://internal/oauth2/introspect",
            "https://10.0.0.1/oauth2/introspect",
        ] {
            assert!(!Target::configured(other).unwrap().has_origin_of(&own), "{other}");
        }
        let plain = Target::configured("http://localhost/").unwrap();
        assert!(plain.has_origin_of(&Target::configured("http://localhost:80/").unwrap()));
    }

    #[test]
    fn a_configured_host_may_be_of_the_own_network() {
        for host in
            ["auth", "auth.internal", "auth.default.svc", "10.0.0.1", "127.0.0.1:8443", "[fd00::1]", "localhost"]
        {
            assert!(Target::configured(&format!("https://{host}/x")).is_ok(), "{host}");
        }
        for url in [
            "auth.internal",
            "//auth.internal/",
            "ftp://auth.internal/",
            "https://",
            "https://user:pw@auth.internal/",
            "https://auth.internal/#",
            "https://auth.internal:0/",
            "https://auth internal/",
        ] {
            assert!(Target::configured(url).is_err(), "{url}");
        }
    }

    #[test]
    fn loopback_hosts_are_exactly_those_of_the_own_machine() {
        let is_loopback = |host: &str| Target::configured(&format!("http://{host}/")).unwrap().host.is_loopback();
        for host in ["localhost", "LOCALHOST:8080", "auth.localhost", "127.0.0.1", "127.8.8.8", "[::1]"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["auth", "localhost.example", "notlocalhost", "10.0.0.1", "0.0.0.0", "[::]", "[::ffff:127.0.0.1]"] {
            assert!(!is_loopback(host), "{host}");
        }
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
