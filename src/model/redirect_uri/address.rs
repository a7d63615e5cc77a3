//! Addresses of websites and key sets, which the rules of redirect URIs also hold for.

use crate::model::redirect_uri::syntax::{check_host, host_in_ascii};
use crate::model::redirect_uri::web::WebUri;
use crate::text::{LineError, check_shown_line, is_blank, is_invisible};

/// Why a text is not the address of a website.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WebAddressError {
    /// It cannot be shown.
    Line(LineError),
    NotAWebAddress,
    UserInfo,
    HostNotAscii {
        a_label: Box<str>,
    },
}

/// Checks the address of a website. Only its host must be ASCII.
pub(crate) fn check_web_address(text: &str, limit: usize) -> Result<(), WebAddressError> {
    check_shown_line(text, limit).map_err(WebAddressError::Line)?;
    if text.chars().any(|own| is_blank(own) || own == '\\' || is_invisible(own)) {
        return Err(WebAddressError::NotAWebAddress);
    }
    let start = text.find("://").map_or(0, |end| end + 3);
    let rest = text.get(start..).unwrap_or_default();
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(WebAddressError::UserInfo);
    }
    let address = text.get(..start + authority.len()).unwrap_or_default();
    let uri = WebUri::split(address).map_err(|_| WebAddressError::NotAWebAddress)?;
    if !uri.host.is_ascii() {
        let not_ascii = |a_label| WebAddressError::HostNotAscii { a_label };
        return Err(host_in_ascii(uri.host).map_or(WebAddressError::NotAWebAddress, not_ascii));
    }
    check_host(uri.host).map_err(|_| WebAddressError::NotAWebAddress)
}

/// Returns a link that a client sent; `None` for one with plain http, and for a text that is not a link.
pub(crate) fn web_link(text: &str, limit: usize) -> Option<String> {
    check_web_address(text, limit).ok()?;
    let is_https = text.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("https://"));
    is_https.then(|| text.into())
}

/// Checks an address that the server itself sends requests to: https in lower case, in ASCII, without a fragment.
pub(crate) fn https_address(text: &str, limit: usize) -> Option<Box<str>> {
    let is_plain = text.starts_with("https://") && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
    (is_plain && check_web_address(text, limit).is_ok()).then(|| text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_sent_to_plain_https_addresses_alone() {
        for (address, is_sound) in [
            ("https://a.example/jwks.json", true),
            ("https://a.example:8443/jwks?v=1", true),
            ("http://a.example/jwks.json", false),
            ("HTTPS://a.example/jwks.json", false),
            ("https://u@a.example/jwks.json", false),
            ("https://a.example/jwks.json#x", false),
            ("https://a.example/\u{7801}", false),
            ("https:///jwks.json", false),
            ("/jwks.json", false),
            ("", false),
        ] {
            assert_eq!(https_address(address, 64).is_some(), is_sound, "{address}");
        }
        assert_eq!(https_address("https://a.example/jwks.json", 26), None);
    }
}
