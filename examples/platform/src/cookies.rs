//! The cookies beside the session's. Each contains 128 random bits.

use axum::http::HeaderMap;
use axum::http::header::COOKIE;
use grantor::secret::{Entropy as _, SystemEntropy};

use crate::web::Platform;

/// Returns the value of a cookie, if the browser sent it.
pub(crate) fn find<'h>(platform: &Platform, headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let name = platform.cookie_name(name);
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split("; ")).filter_map(|pair| pair.split_once('='));
    pairs.find(|(found, _)| *found == name).map(|(_, value)| value)
}

/// Returns a value for a new cookie: 32 hexadecimal digits.
pub(crate) fn random() -> String {
    let mut bytes = [0; 16];
    SystemEntropy.fill(&mut bytes);
    format!("{:032x}", u128::from_be_bytes(bytes))
}

/// Returns the header that sets a cookie for `path`, or for all paths if browsers reach the service over TLS: a cookie
/// with the prefix must be valid for the whole host.
pub(crate) fn set(platform: &Platform, name: &str, value: &str, path: &str, seconds: u32) -> String {
    let name = platform.cookie_name(name);
    let place = if platform.is_secure() { "/; Secure" } else { path };
    format!("{name}={value}; Path={place}; Max-Age={seconds}; HttpOnly; SameSite=Lax")
}
