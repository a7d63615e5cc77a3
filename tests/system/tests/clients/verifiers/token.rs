//! A token, and what a verifier has to say about it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

pub(crate) struct Token {
    /// What it is.
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) is_right: bool,
}

impl Token {
    pub(crate) fn right(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into(), is_right: true }
    }

    pub(crate) fn wrong(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { is_right: false, ..Self::right(name, text) }
    }

    /// Whether a verifier has to give that verdict. A right token is accepted with all its claims.
    pub(crate) fn is_expected(&self, verdict: &Value) -> bool {
        if self.is_right {
            return *verdict == json!({"claims": claims_of(&self.text)});
        }
        verdict["refused"].is_string()
    }
}

/// The header, the claims and the signature, as they are encoded.
pub(crate) fn parts(token: &str) -> [&str; 3] {
    let parts: Vec<_> = token.split('.').collect();
    parts.try_into().unwrap_or_else(|_| panic!("not a JWT: {token}"))
}

pub(crate) fn header_of(token: &str) -> Value {
    json_of(parts(token)[0])
}

pub(crate) fn claims_of(token: &str) -> Value {
    json_of(parts(token)[1])
}

pub(crate) fn decode(part: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(part).unwrap()
}

fn json_of(part: &str) -> Value {
    serde_json::from_slice(&decode(part)).unwrap()
}
