//! Issues and revokes tokens. Each flow reads its record, decides by a pure function, and writes the outcome with
//! one insert or one compare-and-swap, through [`claim`](crate::claim).

pub(crate) mod authorization_code;
pub(crate) mod client_credentials;
pub(crate) mod definition;
#[cfg(test)]
pub(crate) mod fixtures;
pub(crate) mod issue;
pub(crate) mod list;
pub(crate) mod live_grants;
pub(crate) mod refresh_token;
pub(crate) mod revocation;
pub(crate) mod token_revocation;

use crate::config::Config;
use crate::context::Context;
use crate::error::Reason;
use crate::grant::authorization_code::Exchange;
use crate::grant::client_credentials::Credentials;
use crate::grant::definition::Definition;
use crate::grant::issue::Issued;
use crate::grant::refresh_token::Refresh;
use crate::jose::JwkThumbprint;
use crate::model::client::{Client, GrantType};
use crate::wire::params::Params;

/// The table of grant types: what each reads, and when it is offered.
const fn definition(grant_type: GrantType) -> &'static Definition {
    match grant_type {
        GrantType::AuthorizationCode => &authorization_code::DEFINITION,
        GrantType::RefreshToken => &refresh_token::DEFINITION,
        GrantType::ClientCredentials => &client_credentials::DEFINITION,
    }
}

/// Calls the function of the grant type. `key` is the key of the request's DPoP proof. Function pointers in the table
/// would cost a box for each request.
pub(crate) async fn answer(
    context: &Context,
    grant_type: GrantType,
    client: &Client,
    key: Option<&JwkThumbprint>,
    form: &Params<'_>,
) -> Result<Issued, Reason> {
    match grant_type {
        GrantType::AuthorizationCode => {
            authorization_code::exchange(context, &Exchange::read(client, key, form)?).await
        }
        GrantType::RefreshToken => refresh_token::refresh(context, &Refresh::read(client, key, form)?).await,
        GrantType::ClientCredentials => client_credentials::issue(context, &Credentials::read(client, key, form)).await,
    }
}

/// The parameters that the grant types read from a form.
pub(crate) fn parameters() -> impl Iterator<Item = &'static str> {
    GrantType::ALL.iter().flat_map(|grant_type| definition(*grant_type).parameters).copied()
}

/// Returns whether the server offers a grant type under these settings.
pub(crate) fn is_offered(grant_type: GrantType, config: &Config) -> bool {
    (definition(grant_type).is_offered)(config)
}

/// The grant types that the server offers under these settings.
pub(crate) fn offered(config: &Config) -> impl Iterator<Item = GrantType> {
    GrantType::ALL.iter().copied().filter(|grant_type| is_offered(*grant_type, config))
}
