//! The revocation endpoint [RFC 7009].

use std::sync::Arc;

use crate::client::Client;
use crate::config::{AccessTokenRevocation, ForeignTokenAnswer};
use crate::context::Context;
use crate::endpoint::client_auth::{self, Submitted};
use crate::error::Reason;
use crate::grant::confirm;
use crate::grant::refresh_token::{self, AtRevocation};
use crate::grant::withdraw;
use crate::hooks::Event;
use crate::id::{ClientId, GrantId};
use crate::secret::Digest;
use crate::secret::opaque::Presented;
use crate::secret::refresh::PresentedRefresh;
use crate::store::record::{Grant, RevocationReason};
use crate::store::{Replacement, StoreError};
use crate::wire::{Endpoint, Request, Response};

/// `token_type_hint` is known so that a repeat is an error, and never looked at: the token tells.
const NAMES: [&str; 4] = ["token", "token_type_hint", "client_id", "client_secret"];

pub(crate) async fn serve(context: &Context, request: &Request<'_>) -> Response {
    let refuse =
        |client: Option<&ClientId>, reason| client_auth::refused(context, Endpoint::Revocation, client, &reason);
    let submitted = match client_auth::submitted(context, request, Endpoint::Revocation, &NAMES).await {
        Ok(submitted) => submitted,
        Err(reason) => return refuse(None, reason),
    };
    match answer(context, &submitted).await {
        Ok(()) => Response::empty(),
        Err(reason) => refuse(Some(&submitted.client.id), reason),
    }
}

async fn answer(context: &Context, submitted: &Submitted<'_, 4>) -> Result<(), Reason> {
    let Submitted { client, form } = submitted;
    let token = form.octets("token").ok_or(Reason::MissingParameter("token"))?;
    let prefixes = &context.config.prefixes;
    if let Some(presented) = Presented::parse(&prefixes.access_token, token) {
        revoke_access(context, client, &presented).await
    } else if let Some(presented) = PresentedRefresh::parse(&prefixes.refresh_token, token) {
        revoke_refresh(context, client, &presented).await
    } else {
        // § 2.2: an invalid token is no error.
        Ok(())
    }
}

async fn revoke_access(context: &Context, client: &Client, presented: &Presented) -> Result<(), Reason> {
    let now = context.now();
    let id = GrantId::from_octets(presented.id);
    let is_taken_back = |grant: &Grant| {
        let pair = grant.pairs.with_access(&presented.digest);
        pair.is_some_and(|pair| grant.revoked.is_some() || pair.access_revoked())
    };
    loop {
        let Some(grant) = context.stores.tokens.find(&id).await? else { return Ok(()) };
        if grant.client == client.id && is_taken_back(&grant) {
            match confirm::as_found(context, &grant).await? {
                Replacement::Replaced => return Ok(()),
                Replacement::Lost => continue,
            }
        }
        let pair = grant.pairs.with_access(&presented.digest);
        let live = grant.revoked.is_none() && pair.is_some_and(|pair| pair.access_is_live(now));
        if !live || grant.epoch != epoch_of(context, client, &grant).await? {
            return Ok(());
        }
        if grant.client != client.id {
            return foreign(context);
        }
        if context.config.access_token_revocation == AccessTokenRevocation::WholeGrant {
            let _ = withdraw::revoke(context, id, RevocationReason::RevokedByClient).await?;
            return Ok(());
        }
        let next = Arc::new(without_access(&grant, &presented.digest));
        match context.stores.tokens.replace(grant.version, next).await {
            Ok(Replacement::Replaced) => {}
            Ok(Replacement::Lost) => continue,
            // The write may have taken effect all the same; if not, the token is to be taken for alive.
            Err(error) if !confirm::grant(context, id, is_taken_back).await? => return Err(error.into()),
            Err(_) => {}
        }
        context.raise(&Event::AccessTokenRevoked { grant: id, client: &client.id });
        return Ok(());
    }
}

/// The same grant with that access token dead; its refresh token lives on.
fn without_access(grant: &Grant, access: &Digest) -> Grant {
    let mut next = Grant { version: grant.version.saturating_add(1), ..grant.clone() };
    for pair in next.pairs.iter_mut() {
        if pair.access == *access {
            pair.revoke_access();
        }
    }
    next
}

/// § 2.1: a refresh token takes the whole grant with it.
async fn revoke_refresh(context: &Context, client: &Client, presented: &PresentedRefresh) -> Result<(), Reason> {
    let Some(grant) = context.stores.tokens.find(&presented.grant).await? else { return Ok(()) };
    let epoch = epoch_of(context, client, &grant).await?;
    match refresh_token::at_revocation(&grant, epoch, presented, context.now()) {
        AtRevocation::Revoked if grant.client == client.id => {
            let _ = withdraw::revoke(context, grant.id, RevocationReason::RevokedByClient).await?;
            Ok(())
        }
        AtRevocation::Revoked | AtRevocation::Dead => Ok(()),
        AtRevocation::Superseded => {
            if grant.client == client.id {
                context.raise(&Event::SupersededTokenAtRevocation { grant: grant.id, client: &client.id });
            }
            Ok(())
        }
        AtRevocation::Live if grant.client != client.id => foreign(context),
        AtRevocation::Live => {
            let _ = withdraw::revoke(context, grant.id, RevocationReason::RevokedByClient).await?;
            Ok(())
        }
    }
}

/// The epoch of the grant's own client; a grant whose client is gone has none.
async fn epoch_of(context: &Context, caller: &Client, grant: &Grant) -> Result<u32, StoreError> {
    if grant.client == caller.id {
        return Ok(caller.epoch);
    }
    let owner = context.stores.clients.find(&grant.client).await?;
    Ok(owner.map_or(u32::MAX, |owner| owner.epoch))
}

/// § 2.1: the request is refused and the client is informed, unless configured otherwise.
fn foreign(context: &Context) -> Result<(), Reason> {
    match context.config.foreign_token {
        ForeignTokenAnswer::Refuse => Err(Reason::TokenOfAnotherClient),
        ForeignTokenAnswer::Accept => Ok(()),
    }
}
