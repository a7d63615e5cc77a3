//! The line that a server prints once it listens.

use serde_json::{Value, json};

use crate::material::{Credentials, Tokens};

#[derive(Debug)]
pub(crate) struct Greeting {
    pub(crate) address: String,
    pub(crate) token_path: String,
    pub(crate) credentials: Credentials,
    /// Live grants for the load to go through.
    pub(crate) tokens: Vec<Tokens>,
}

impl Greeting {
    pub(crate) fn print(&self) {
        let tokens: Vec<_> =
            self.tokens.iter().map(|tokens| json!({ "access": tokens.access, "refresh": tokens.refresh })).collect();
        let Credentials { client_id, basic } = &self.credentials;
        println!(
            "{}",
            json!({
                "address": self.address, "token_path": self.token_path, "client_id": client_id,
                "basic": basic, "tokens": tokens,
            })
        );
    }

    /// Reads the line. Returns `None` if it is not a greeting.
    pub(crate) fn read(line: &str) -> Option<Self> {
        let line: Value = serde_json::from_str(line).ok()?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let tokens = line["tokens"].as_array()?.iter();
        let tokens =
            tokens.map(|pair| Some(Tokens { access: text(&pair["access"])?, refresh: text(&pair["refresh"])? }));
        Some(Self {
            address: text(&line["address"])?,
            token_path: text(&line["token_path"])?,
            credentials: Credentials { client_id: text(&line["client_id"])?, basic: text(&line["basic"])? },
            tokens: tokens.collect::<Option<_>>()?,
        })
    }
}
