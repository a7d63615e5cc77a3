//! Why nobody is signed in, and what to do.

use thiserror::Error;

use crate::platform::printable;

#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error(
        "the platform at {issuer} {cause}. Start it with `cargo run -p platform`, or name the address that it prints with \
         --issuer"
    )]
    NotFound { issuer: String, cause: String },
    #[error("the service at {asked} calls itself {found}. Use --issuer {found} if that is the one you mean")]
    AnotherIssuer { asked: String, found: String },
    #[error("the service at {0} is not for devices: its metadata has no device_authorization_endpoint")]
    NotForDevices(String),
    /// RFC 6749 section 5.2.
    #[error("the platform refused the request: {error}{}", explained(.description))]
    Refused { error: String, description: String },
    #[error("you denied the access, so nothing was granted. Run this program again if that was a mistake")]
    Denied,
    #[error("the code has expired, and nothing was granted. Run this program again to get a new one")]
    Expired,
    #[error("the platform {0}. Run this program again")]
    Unanswered(String),
    #[error("the answer of the platform is not valid: {0}")]
    Invalid(&'static str),
}

fn explained(description: &str) -> String {
    if description.is_empty() { String::new() } else { format!(" ({})", printable(description)) }
}
