//! `client_secret_post`: the client's id and secret in the form [RFC 6749 section 2.3.1].

use crate::client_auth::credentials::{Credentials, Definition, Presented, Reading};
use crate::error::Reason;
use crate::model::client::AuthenticationMethod;

const SECRET: &str = "client_secret";

pub(crate) const DEFINITION: Definition = Definition {
    parameters: &[SECRET],
    is_offered: |config, _| config.client_authentication.methods.contains(AuthenticationMethod::ClientSecretPost),
    is_used: |presented| presented.form.text(SECRET).is_some(),
    read,
};

fn read<'a>(presented: &Presented<'a>) -> Result<Credentials<'a>, Reason> {
    let id = presented.named().ok_or(Reason::NoCredentials)?;
    let secret = presented.form.text(SECRET).unwrap_or_default();
    Ok(Credentials::one(Reading::new(id, secret.as_bytes())))
}
