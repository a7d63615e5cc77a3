//! What both bare servers share: only bytes, and the header lines of grantor's answers.

use super::CHAINS;
use crate::material::{CLIENT_ID, CLIENT_SECRET, Credentials, Tokens, member};

/// The header lines that grantor's token endpoint adds.
pub(super) const TOKEN_HEADERS: [(&str, &str); 3] =
    [("content-type", "application/json;charset=UTF-8"), ("cache-control", "no-store"), ("pragma", "no-cache")];

/// Returns tokens as long as those of grantor, so the requests are as long too.
pub(super) fn tokens(answer: &str) -> Vec<Tokens> {
    let access = "a".repeat(68);
    let refresh = member(answer.as_bytes(), "refresh_token").unwrap_or("r").to_owned();
    vec![Tokens { access, refresh }; CHAINS]
}

pub(super) fn credentials() -> Credentials {
    Credentials::new(CLIENT_ID, CLIENT_SECRET)
}
