//! The bytes of a redirect URI, and its host: a plain name, or an address in its canonical text.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::model::redirect_uri::error::RedirectUriError;
use crate::text::{a_label_host, is_a_label};

/// The most bytes that a redirect URI may have.
const MAX_BYTES: usize = 2048;

/// Checks length and characters, and returns the value as text [RFC 3986 section 2].
pub(crate) fn uri_text(bytes: &[u8]) -> Result<&str, RedirectUriError> {
    if bytes.is_empty() {
        return Err(RedirectUriError::Empty);
    }
    if bytes.len() > MAX_BYTES {
        return Err(RedirectUriError::TooLong);
    }
    check_bytes(bytes)?;
    if bytes.contains(&b'#') {
        return Err(RedirectUriError::Fragment);
    }
    str::from_utf8(bytes).map_err(|_| RedirectUriError::Character)
}

fn check_bytes(bytes: &[u8]) -> Result<(), RedirectUriError> {
    let mut bytes = bytes.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            check_escape(bytes.next(), bytes.next())?;
        } else if !is_uri_byte(byte) {
            return Err(RedirectUriError::Character);
        }
    }
    Ok(())
}

/// Refuses malformed escapes. Refuses escaped control characters, at which a later reader may cut off the value.
fn check_escape(high: Option<u8>, low: Option<u8>) -> Result<(), RedirectUriError> {
    let (Some(high), Some(low)) = (hex_digit(high), hex_digit(low)) else {
        return Err(RedirectUriError::Escape);
    };
    match high * 16 + low {
        0x00..=0x1F | 0x7F => Err(RedirectUriError::Escape),
        _ => Ok(()),
    }
}

fn hex_digit(byte: Option<u8>) -> Option<u32> {
    char::from(byte?).to_digit(16)
}

/// Unreserved and reserved characters [RFC 3986 section 2.2, 2.3].
fn is_uri_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=".contains(&byte)
}

/// The most bytes of a host name, and of one of its labels [RFC 1035 section 2.3.4].
const MAX_NAME_BYTES: usize = 253;
const MAX_LABEL_BYTES: usize = 63;

/// Checks a host as written in the authority, an IPv6 literal with its brackets.
pub(crate) fn check_host(host: &str) -> Result<(), RedirectUriError> {
    if is_ipv6_literal(host) || is_name_or_ipv4(host) {
        return Ok(());
    }
    Err(RedirectUriError::Host)
}

/// Returns a host with letters beyond ASCII as it is written in ASCII, if it has such letters, no invisible characters,
/// and is a name then. The time that Punycode takes grows with the square of the length, so it is bounded first.
pub(crate) fn host_in_ascii(host: &str) -> Option<Box<str>> {
    let is_bounded = host.len() <= 4 * MAX_NAME_BYTES;
    let has_letters = is_bounded && !host.is_ascii() && host.chars().all(|c| c.is_ascii() || c.is_alphanumeric());
    let a_label = has_letters.then(|| a_label_host(host)).flatten()?;
    check_host(&a_label).is_ok().then(|| a_label.into())
}

fn is_ipv6_literal(host: &str) -> bool {
    let Some(literal) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
        return false;
    };
    // RFC 5952 and browsers write mapped addresses in two ways.
    let is_canonical =
        |address: Ipv6Addr| address.to_ipv4_mapped().is_none() && address.to_string().eq_ignore_ascii_case(literal);
    literal.parse::<Ipv6Addr>().is_ok_and(is_canonical)
}

/// To browsers, any host that ends in a number is an address. Only the canonical text passes.
fn is_name_or_ipv4(host: &str) -> bool {
    if host.len() > MAX_NAME_BYTES || !host.split('.').all(is_label) {
        return false;
    }
    let last = host.rsplit('.').next().unwrap_or(host);
    if is_number(last) {
        return host.parse::<Ipv4Addr>().is_ok_and(|address| address.to_string() == host);
    }
    true
}

fn is_label(label: &str) -> bool {
    (1..=MAX_LABEL_BYTES).contains(&label.len())
        && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && !label.starts_with('-')
        && !label.ends_with('-')
        && (!label.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("xn--")) || is_a_label(label))
}

fn is_number(label: &str) -> bool {
    label.bytes().all(|byte| byte.is_ascii_digit()) || label.starts_with("0x") || label.starts_with("0X")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_is_1_to_2048_bytes() {
        assert_eq!(uri_text(b""), Err(RedirectUriError::Empty));
        assert!(uri_text(&[b'a'; 2048]).is_ok());
        assert_eq!(uri_text(&[b'a'; 2049]), Err(RedirectUriError::TooLong));
    }

    #[test]
    fn exactly_the_characters_of_a_uri_are_accepted() {
        let accepted: Vec<u8> = (0..=u8::MAX).filter(|byte| uri_text(&[b'a', *byte]).is_ok()).collect();
        let expected = b"!$&'()*+,-./0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]_abcdefghijklmnopqrstuvwxyz~";
        assert_eq!(accepted, expected);
    }

    #[test]
    fn escapes_have_two_hexadecimal_digits_and_hide_no_control_character() {
        for byte in 0..=u8::MAX {
            let control = byte < 0x20 || byte == 0x7F;
            assert_eq!(uri_text(format!("a%{byte:02x}").as_bytes()).is_err(), control, "{byte}");
            assert_eq!(uri_text(format!("a%{byte:02X}b").as_bytes()).is_err(), control, "{byte}");
        }
        for malformed in ["%", "a%", "a%4", "a%zz", "a%4g", "a%%41", "a%+4"] {
            assert_eq!(uri_text(malformed.as_bytes()), Err(RedirectUriError::Escape), "{malformed}");
        }
    }

    #[test]
    fn a_fragment_is_refused_even_when_empty() {
        for text in ["https://a.example/#", "https://a.example/#x", "#"] {
            assert_eq!(uri_text(text.as_bytes()), Err(RedirectUriError::Fragment), "{text}");
        }
    }

    #[test]
    fn text_that_is_not_utf8_is_refused() {
        for bytes in [&b"a\xff"[..], b"a\xc3", b"a\xc0\xaf", b"a\xed\xa0\x80"] {
            assert_eq!(uri_text(bytes), Err(RedirectUriError::Character));
        }
    }

    #[test]
    fn plain_names_and_canonical_addresses_are_accepted() {
        for host in [
            "example.com",
            "APP.Example.COM",
            "localhost",
            "a-b.example",
            "1a.2b.example",
            "xn--bcher-kva.example",
            "1.2.3.4.example",
            "0x1.example",
            "203.0.113.5",
            "0.0.0.0",
            "255.255.255.255",
            "[::1]",
            "[::]",
            "[2001:db8::5]",
            "[2001:DB8::5]",
        ] {
            assert!(check_host(host).is_ok(), "{host}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for host in [
            "",
            ".",
            "a.",
            ".a",
            "a..b",
            "-a.example",
            "a-.example",
            "a_b.example",
            "*.example",
            "a b",
            "a%2eb",
            "a:b",
            "b\u{fc}cher.example",
            "app.123",
            "123",
            "0x7f000001",
            "0X7f.1",
            "a.0xyz",
            "127.1",
            "0177.0.0.1",
            "127.0.0.01",
            "256.0.0.1",
            "1.2.3.4.5",
            "1.2.3",
            "[]",
            "[",
            "]",
            "::1",
            "[::1",
            "::1]",
            "[[::1]]",
            "[0::1]",
            "[::0001]",
            "[0:0:0:0:0:0:0:1]",
            "[2001:db8:0:0::5]",
            "[::1%25lo]",
            "[v1.a]",
            "[127.0.0.1]",
            "[::127.0.0.1]",
            "[::ffff:7f00:1]",
            "[::ffff:192.0.2.1]",
            "xn--zzzzzzzzz99999.example",
            "XN--.example",
        ] {
            assert!(check_host(host).is_err(), "{host}");
        }
    }

    #[test]
    fn lengths_are_limited() {
        let label = "a".repeat(63);
        let longest = format!("{label}.{label}.{label}.{}", "a".repeat(61));
        assert_eq!(longest.len(), 253);
        assert!(check_host(&longest).is_ok());
        assert!(check_host(&format!("{longest}a")).is_err());
        assert!(check_host(&format!("{label}a.example")).is_err());
    }
}
