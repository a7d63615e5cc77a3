//! The sender of a request: the client, and the key of its DPoP proof. Nothing is recorded before both are verified.

use std::sync::Arc;

use crate::client_auth;
use crate::client_auth::proof;
use crate::context::Context;
use crate::error::Reason;
use crate::jose::JwkThumbprint;
use crate::model::client::Client;
use crate::wire::params::Params;
use crate::wire::{Endpoint, Request};

/// The sender of a request.
pub(crate) struct Caller {
    pub(crate) client: Arc<Client>,
    /// The key of the DPoP proof [RFC 9449 section 5].
    pub(crate) key: Option<JwkThumbprint>,
}

/// Authenticates the client, verifies the proof, and then records that the assertion and the proof were used.
///
/// # Errors
///
/// The [`Reason`] why the client or its proof is refused.
pub(crate) async fn identify(
    context: &Context,
    request: &Request<'_>,
    endpoint: Endpoint,
    form: &Params<'_>,
) -> Result<Caller, Reason> {
    let header = proof::header(context, request, endpoint)?;
    let authenticated = client_auth::authenticate(context, request, endpoint, form).await?;
    let Some(header) = header else {
        proof::check_absence(context, endpoint, authenticated.client())?;
        return Ok(Caller { client: authenticated.record(context).await?, key: None });
    };
    let proof = proof::verify(context, request, endpoint, header)?;
    let client = authenticated.record(context).await?;
    proof::record(context, proof.replay).await?;
    Ok(Caller { client, key: Some(proof.key) })
}
