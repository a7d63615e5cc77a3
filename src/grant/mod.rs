//! Issues and revokes tokens. Each claim reads its record, decides by a pure function, and writes the outcome with
//! one insert or one compare-and-swap, through [`claim`](crate::claim).

pub(crate) mod authorization_code;
pub(crate) mod client_credentials;
pub(crate) mod data;
pub(crate) mod device_code;
pub(crate) mod first_pair;
#[cfg(test)]
pub(crate) mod fixtures;
pub(crate) mod id_token;
pub(crate) mod issue;
pub(crate) mod jwt;
pub(crate) mod list;
pub(crate) mod live_grants;
pub(crate) mod refresh_token;
pub(crate) mod release;
pub(crate) mod request;
pub(crate) mod revocation;
pub(crate) mod token_revocation;

use crate::context::Context;
use crate::error::Reason;
use crate::grant::issue::Issued;
use crate::grant::request::TokenRequest;
use crate::model::client::GrantType;

/// Calls the function of the grant type. A table of function pointers would cost a box for each request.
pub(crate) async fn answer(
    context: &Context,
    grant_type: GrantType,
    request: &TokenRequest<'_>,
) -> Result<Issued, Reason> {
    match grant_type {
        GrantType::AuthorizationCode => authorization_code::exchange(context, request).await,
        GrantType::RefreshToken => refresh_token::refresh(context, request).await,
        GrantType::ClientCredentials => client_credentials::issue(context, request).await,
        GrantType::DeviceCode => device_code::poll(context, request).await,
    }
}
