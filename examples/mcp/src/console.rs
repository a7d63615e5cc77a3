//! What the process prints at the start.

use serde_json::json;

use crate::review::{ADMINISTRATOR, Review};

/// The addresses of everything, and the preregistered client.
pub(crate) struct Addresses<'a> {
    pub(crate) issuer: &'a str,
    pub(crate) resource: &'a str,
    pub(crate) client_id: &'a str,
    pub(crate) redirect_uri: &'a str,
    pub(crate) review: Option<&'a Review>,
}

impl Addresses<'_> {
    /// Prints one line for programs.
    pub(crate) fn print_json(&self) {
        let Self { issuer, resource, client_id, redirect_uri, review } = self;
        let mut line = json!({
            "issuer": issuer,
            "client_id": client_id,
            "client_secret": null,
            "redirect_uri": redirect_uri,
            "resource_url": resource,
        });
        if let Some(review) = review {
            line["review_url"] = format!("{issuer}/review").into();
            line["username"] = ADMINISTRATOR.into();
            line["password"] = review.password().into();
        }
        println!("{line}");
    }

    /// Prints the same for people.
    pub(crate) fn print_plain(&self) {
        let Self { issuer, resource, client_id, redirect_uri, review } = self;
        println!("Paste this address into an MCP client:\n\n  {resource}\n");
        println!("A client that cannot register itself can use this client id, which needs no secret:\n");
        println!("  client id      {client_id}\n  redirect URI   {redirect_uri} (any port)");
        if let Some(review) = review {
            println!("\nOther clients await a review:\n");
            println!("  {issuer}/review\n  user name      {ADMINISTRATOR}\n  password       {}", review.password());
        }
    }
}
