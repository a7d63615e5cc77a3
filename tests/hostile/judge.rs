//! What holds for every answer, whatever was asked.

use url::Url;

use crate::answer::Answer;
use crate::server::Server;
use crate::values::MARK;

/// Names the first rule that an answer breaks.
pub(crate) fn judge(answer: &Answer, server: &Server) -> Result<(), String> {
    let broken = |rule: &str| Err(format!("{rule}: {} {:?} {}", answer.status, answer.headers, answer.text()));
    if answer.status >= 500 {
        return broken("the server blames itself");
    }
    let body = answer.text().to_lowercase();
    if body.contains(MARK) || body.contains("<script") || body.contains("onerror=") {
        return broken("the body has something of the request");
    }
    for (name, value) in &answer.headers {
        let is_good = match name.as_str() {
            "location" => leads_home(value, server),
            "set-cookie" => is_session(value),
            "content-type" => TYPES.contains(&value.as_str()),
            name => HEADERS.contains(&name) && !value.to_lowercase().contains(MARK),
        };
        if !is_good {
            return broken(&format!("the header {name}"));
        }
    }
    if answer.body.is_empty() || answer.header("content-type").is_some() {
        Ok(())
    } else {
        broken("a body without a type")
    }
}

/// A browser that follows it comes to the registered origin, with nothing but escaped values added.
fn leads_home(location: &str, server: &Server) -> bool {
    let Ok(there) = server.base.join(location) else { return false };
    let is_plain = there.username().is_empty() && there.password().is_none() && there.fragment().is_none();
    let escaped = |octet: u8| octet.is_ascii_alphanumeric() || b"-._~:/?=&%+@".contains(&octet);
    let home = Url::parse(&server.redirect_uri).unwrap();
    let same = match home.host_str() {
        // The port of a loopback address is the client's own choice.
        Some("127.0.0.1") => (there.scheme(), there.host()) == (home.scheme(), home.host()),
        _ => there.origin() == home.origin(),
    };
    is_plain && same && location.bytes().all(escaped)
}

fn is_session(cookie: &str) -> bool {
    let id = cookie.strip_prefix("session=").and_then(|rest| rest.strip_suffix("; Path=/; HttpOnly; SameSite=Lax"));
    id.is_some_and(|id| id.len() == 32 && id.bytes().all(|octet| octet.is_ascii_hexdigit()))
}

const HEADERS: [&str; 13] = [
    "allow",
    "cache-control",
    "connection",
    "content-length",
    "content-security-policy",
    "date",
    "pragma",
    "referrer-policy",
    "retry-after",
    "upgrade",
    "www-authenticate",
    "x-content-type-options",
    "x-frame-options",
];
const TYPES: [&str; 4] =
    ["application/json", "application/json;charset=UTF-8", "text/html;charset=UTF-8", "text/html; charset=utf-8"];
