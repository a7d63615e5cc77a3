//! What both bare servers share: nothing but octets.

use super::CHAINS;
use crate::material::{CLIENT_ID, CLIENT_SECRET, Credentials, Tokens, member};

/// Tokens as long as those of grantor, so that requests are as long.
pub(super) fn tokens(answer: &str) -> Vec<Tokens> {
    let access = "a".repeat(68);
    let refresh = member(answer.as_bytes(), "refresh_token").unwrap_or("r").to_owned();
    vec![Tokens { access, refresh }; CHAINS]
}

pub(super) fn credentials() -> Credentials {
    Credentials::new(CLIENT_ID, CLIENT_SECRET)
}
