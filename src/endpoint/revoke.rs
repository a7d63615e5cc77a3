//! The revocation endpoint [RFC 7009].

use std::sync::LazyLock;

use crate::client_auth::Caller;
use crate::context::Context;
use crate::endpoint::client_request;
use crate::endpoint::client_request::Names;
use crate::error::Reason;
use crate::grant::request::PresentedAccess;
use crate::grant::token_revocation;
use crate::secret::refresh::PresentedRefresh;
use crate::wire::params::{Params, RESOURCE};
use crate::wire::{Endpoint, Request, Response};

/// `token_type_hint` is listed so that a repeated one is an error. It is never read, because the token itself shows its
/// type.
static NAMES: LazyLock<Names> = LazyLock::new(|| Names::new(["token", "token_type_hint", RESOURCE]));

pub(crate) async fn serve(context: &Context, request: &Request<'_>) -> Response {
    const ENDPOINT: Endpoint = Endpoint::Revocation;
    let (form, caller) = match client_request::read(context, request, ENDPOINT, &NAMES).await {
        Ok(read) => read,
        Err(response) => return response,
    };
    match answer(context, &caller, &form).await {
        Ok(()) => Response::empty(),
        Err(reason) => {
            client_request::refused(context, request, ENDPOINT, Some(&caller.client.id), Some(&form), &reason)
        }
    }
}

async fn answer(context: &Context, caller: &Caller, form: &Params<'_>) -> Result<(), Reason> {
    let Caller { client, uses, .. } = caller;
    let token = form.bytes("token").ok_or(Reason::MissingParameter("token"))?;
    if let Some(presented) = PresentedAccess::read_to_revoke(context, token) {
        token_revocation::revoke_access(context, client, uses, &presented).await
    } else if let Some(presented) = PresentedRefresh::parse(&context.prefixes.refresh_token, token) {
        token_revocation::revoke_refresh(context, client, uses, &presented).await
    } else {
        // § 2.2: an invalid token is no error.
        PresentedAccess::check_newer_settings(context, token).await
    }
}
