//! Exchanges a code for the first pair of tokens [RFC 6749 section 4.1.3].
//!
//! The claim is one insert: the grant under the authorization's id. Whoever finds it taken holds a
//! code that is spent, and the authorization itself never changes.

use std::sync::Arc;

use crate::client::{Client, Granted};
use crate::clock::Timestamp;
use crate::config::{Config, ExchangeRedirectUri};
use crate::context::Context;
use crate::error::Reason;
use crate::grant::confirm;
use crate::grant::issue::{self, Drawn, Issued, NewPair, Place, TokenAnswer};
use crate::grant::withdraw;
use crate::hooks::Event;
use crate::id::{AuthorizationId, GrantId};
use crate::secret::Digest;
use crate::secret::opaque::Presented;
use crate::secret::refresh::Lineage;
use crate::store::Insertion;
use crate::store::record::{Authorization, Grant, Pairs, RevocationReason, Stage};

/// What a client presents.
pub(crate) struct Exchange<'a> {
    pub(crate) client: &'a Client,
    pub(crate) code: &'a [u8],
    pub(crate) redirect_uri: Option<&'a [u8]>,
    pub(crate) verifier: Option<&'a str>,
}

/// Gives the first pair for a code, once.
pub(crate) async fn exchange(context: &Context, request: &Exchange<'_>) -> Result<Issued, Reason> {
    let now = context.now();
    let presented = Presented::parse(&context.config.prefixes.code, request.code).ok_or(Reason::UnknownCode)?;
    let id = AuthorizationId::from_octets(presented.id);
    let authorization = context.stores.codes.find(&id).await?.ok_or(Reason::UnknownCode)?;
    judge(&authorization, &presented.digest, request, &context.config)?;
    if now >= authorization.end {
        return Err(after_the_end(context, &authorization).await?);
    }
    // The client may have been narrowed since the user consented, to nothing too.
    let granted = request.client.still_granted(&authorization.scopes, &authorization.resource_scope);
    let granted = granted.ok_or(Reason::CodeSpent)?;
    context.check_subject(&authorization.subject, request.client).await?;

    let drawn = Drawn::new(id.into(), &*context.entropy);
    let (grant, answer) = first_pair(context, request.client, &authorization, granted, &drawn, now);
    claim(context, grant, &drawn.access_token.digest).await?;
    let (client, subject) = (&request.client.id, &authorization.subject);
    context.raise(&Event::Exchanged { grant: id.into(), client, subject });
    Ok(drawn.issued(answer))
}

/// Everything but time and first use, in the order in which a wrong party learns least.
fn judge(authorization: &Authorization, code: &Digest, request: &Exchange<'_>, config: &Config) -> Result<(), Reason> {
    match &authorization.stage {
        Stage::CodeIssued(digest) if digest == code => {}
        Stage::CodeIssued(_) | Stage::Held | Stage::Denied => return Err(Reason::UnknownCode),
    }
    // § 4.1.3: the code was issued to the authenticated client.
    if authorization.client != request.client.id {
        return Err(Reason::CodeOfAnotherClient);
    }
    judge_redirect_uri(authorization, request.redirect_uri, config)?;
    // PKCE may be demanded of the client since; a code without it is not honoured any more.
    if config.needs_pkce(request.client) && authorization.challenge.is_none() {
        return Err(Reason::MissingVerifier);
    }
    judge_verifier(authorization, request.verifier)?;
    // All grants of the client were withdrawn since.
    if authorization.epoch != request.client.epoch {
        return Err(Reason::CodeSpent);
    }
    Ok(())
}

/// § 4.1.3: identical to what the code is bound to, octet for octet.
fn judge_redirect_uri(authorization: &Authorization, sent: Option<&[u8]>, config: &Config) -> Result<(), Reason> {
    match sent {
        Some(sent) if sent == authorization.redirect_uri.as_str().as_bytes() => Ok(()),
        Some(_) => Err(Reason::RedirectUriMismatch),
        None => {
            let required = config.exchange_redirect_uri == ExchangeRedirectUri::RequiredWithoutPkce
                && authorization.redirect_uri_named
                && authorization.challenge.is_none();
            if required { Err(Reason::RedirectUriMismatch) } else { Ok(()) }
        }
    }
}

/// RFC 7636 section 4.6; a verifier exactly when there is a challenge [OAuth 2.1 § 4.1.3].
fn judge_verifier(authorization: &Authorization, sent: Option<&str>) -> Result<(), Reason> {
    match (&authorization.challenge, sent) {
        (None, None) => Ok(()),
        (None, Some(_)) => Err(Reason::UnexpectedVerifier),
        (Some(_), None) => Err(Reason::MissingVerifier),
        (Some(challenge), Some(verifier)) => {
            if challenge.is_met_by_text(verifier) {
                Ok(())
            } else {
                Err(Reason::WrongVerifier)
            }
        }
    }
}

/// An otherwise valid use of a code past its end: a replay if it had been exchanged.
async fn after_the_end(context: &Context, authorization: &Authorization) -> Result<Reason, Reason> {
    match context.stores.tokens.find(&authorization.id.into()).await? {
        Some(grant) if grant.revoked.is_none() => replayed(context, &grant).await,
        Some(_) | None => Ok(Reason::CodeExpired),
    }
}

/// § 4.1.2: a code that is used twice takes with it what the first use gave.
async fn replayed(context: &Context, grant: &Grant) -> Result<Reason, Reason> {
    if grant.revoked.is_some() {
        return Ok(Reason::CodeSpent);
    }
    let outcome = withdraw::revoke(context, grant.id, RevocationReason::CodeReplayed).await?;
    if outcome != withdraw::Outcome::Revoked {
        return Ok(Reason::CodeSpent);
    }
    let Grant { id, client, subject, .. } = grant;
    context.raise(&Event::CodeReplayed { grant: *id, client, subject });
    Ok(Reason::CodeReplayed)
}

fn first_pair(
    context: &Context,
    client: &Client,
    authorization: &Authorization,
    granted: Granted,
    drawn: &Drawn,
    now: Timestamp,
) -> (Grant, TokenAnswer) {
    let id = GrantId::from(authorization.id);
    let lineage = Lineage::draw(&*context.entropy);
    let place = Place {
        client,
        lineage: &lineage,
        number: 1,
        now,
        created: now,
        granted: &granted.scopes,
        scopes: granted.scopes.clone(),
    };
    let NewPair { record, answer } = issue::pair(&context.config, drawn, place);
    let grant = Grant {
        id,
        version: 1,
        client: client.id.clone(),
        epoch: authorization.epoch,
        subject: authorization.subject.clone(),
        scopes: granted.scopes,
        resource_scope: granted.resource_scope,
        created: now,
        keep_until: withdraw::keep_until(context, authorization.end),
        lineage: lineage.digest(),
        pairs_made: 1,
        pairs: Pairs::one(record),
        revoked: None,
    };
    (grant, answer)
}

/// One insert. After `Exists` or an error, the row tells who won: it carries the digest of the
/// winner's access token.
async fn claim(context: &Context, grant: Grant, own: &Digest) -> Result<(), Reason> {
    let id = grant.id;
    let is_own = |grant: &Grant| grant.pairs.with_access(own).is_some();
    let outcome = context.stores.tokens.insert(Arc::new(grant)).await;
    if matches!(outcome, Ok(Insertion::Inserted)) {
        return Ok(());
    }
    match (context.stores.tokens.find(&id).await?, outcome) {
        (Some(found), outcome) if is_own(&found) => match (confirm::grant(context, id, is_own).await?, outcome) {
            (true, _) => Ok(()),
            (false, Ok(_)) => Err(Reason::Contended),
            (false, Err(error)) => Err(error.into()),
        },
        (Some(found), Ok(_)) => Err(replayed(context, &found).await?),
        // The winner is another exchange, but this one's outcome is not known: nobody is accused.
        (Some(_), Err(error)) | (None, Err(error)) => Err(error.into()),
        (None, Ok(_)) => Err(Reason::Contended),
    }
}
