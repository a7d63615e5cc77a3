//! Checks that `IntrospectionSettings` and `JwtSettings` share.

use crate::config::check::is_loopback;
use crate::config::error::{ConfigError, quoted};
use crate::model::redirect_uri::{WebScheme, WebUri, check_host};

/// The smallest room of a cache, in which an eighth is two entries.
const MIN_ENTRIES: usize = 16;

/// Checks a URL to which requests are sent. `rule` is the section that requires TLS.
pub(super) fn check_url(
    field: &'static str,
    url: &str,
    development: bool,
    rule: &'static str,
) -> Result<(), ConfigError> {
    let is_plain = url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
    let is_safe = WebUri::split(url).is_ok_and(|uri| {
        (uri.scheme == WebScheme::Https || (development && is_loopback(uri.host))) && check_host(uri.host).is_ok()
    });
    if is_plain && is_safe {
        return Ok(());
    }
    let remedy = format!(
        "an https URL without user and fragment is accepted, or plain http on a loopback host with development on \
         ({rule})"
    );
    Err(ConfigError::new(field, quoted(url), remedy))
}

/// Returns whether requests to that URL are sent without TLS.
pub(super) fn is_unencrypted(url: &str) -> bool {
    WebUri::split(url).is_ok_and(|uri| uri.scheme == WebScheme::Http)
}

pub(super) fn check_issuer(issuer: &str) -> Result<(), ConfigError> {
    if issuer.is_empty() {
        return Err(ConfigError::new("issuer", quoted(issuer), "the issuer of the tokens is needed"));
    }
    Ok(())
}

pub(super) fn check_max_entries(max_entries: usize) -> Result<(), ConfigError> {
    if max_entries < MIN_ENTRIES {
        return Err(ConfigError::new("max_entries", max_entries, "at least 16 is accepted"));
    }
    Ok(())
}
