//! The first pair of tokens of a consent, for a code or for a device.
//!
//! The claim is one insert: the grant under the authorization's id. If a grant with that id exists, the code was
//! used before. The authorization itself never changes.

use std::sync::Arc;
use std::time::Duration;

use crate::base::clock::Timestamp;
use crate::base::entropy::Entropy;
use crate::base::id::GrantId;
use crate::claim::{ATTEMPTS, After, Claim, Contended, Effect, Seen, claim, draw_version};
use crate::config::Config;
use crate::context::Context;
use crate::error::Reason;
use crate::grant::issue::{self, Issued, NewPair, Place};
use crate::grant::jwt::{self, Signed};
use crate::grant::request::TokenRequest;
use crate::grant::revocation;
use crate::grant::{id_token, live_grants};
use crate::hooks::Event;
use crate::model::protected_resource::{Audience, ResourceTable};
use crate::model::terms::Terms;
use crate::model::{Authorization, Grant, Pairs, RevocationReason, SupersededPair};
use crate::scope::ScopeSet;
use crate::secret::derive::PairSecrets;
use crate::secret::refresh::{Family, FamilyId, TagKey};
use crate::store::StoreError;

/// The settings that an exchange is judged by.
pub(crate) struct Rules<'a> {
    pub(crate) config: &'a Config,
    pub(crate) resources: &'a ResourceTable,
}

/// The result of an exchange: the grant, and what its first access token is for.
pub(crate) struct Exchanged {
    pub(crate) granted: Terms,
    scopes: ScopeSet,
    /// Unset if the token is for all of the grant.
    audience: Audience,
    lifetime: Duration,
}

impl<'a> Rules<'a> {
    pub(crate) fn of(context: &'a Context) -> Self {
        Self { config: &context.config, resources: &context.resources }
    }

    /// Returns what the client gets of a consent. It may have been reduced since, even to nothing.
    pub(crate) fn granted(
        &self,
        authorization: &Authorization,
        request: &TokenRequest<'_>,
    ) -> Result<Exchanged, Reason> {
        let client = request.client;
        let granted = authorization.terms.left_for(client).ok_or(Reason::CodeSpent)?.with(|extra| extra.nonce = None);
        // RFC 8707 section 2.2: the first access token may be for less than the grant.
        let target = self.resources.granted(&granted.audience, client, request.resources)?;
        let scopes = target.served_of(granted.scopes.clone());
        if scopes.is_empty() {
            return Err(target.nothing_left().into());
        }
        let audience = target.reduced_from(&granted.audience);
        let lifetime = issue::lifetime_for(self.config, &target, self.config.tokens.access_lifetime);
        Ok(Exchanged { granted, scopes, audience, lifetime })
    }
}

/// The secrets of the first pair.
pub(crate) struct Beginning {
    pub(crate) secrets: PairSecrets,
    pub(crate) family_id: FamilyId,
    /// A device code counts as a pair that the first pair superseded: it leads to the newest pair within its grace.
    pub(crate) superseded: Option<SupersededPair>,
}

impl Beginning {
    /// Draws everything anew.
    pub(crate) fn drawn(entropy: &dyn Entropy) -> Self {
        Self { secrets: PairSecrets::random(entropy), family_id: FamilyId::random(entropy), superseded: None }
    }
}

/// An exchange that did not issue the first pair.
pub(crate) enum NotFirst {
    /// The code was used before, for this grant.
    Replayed(Option<Arc<Grant>>),
    Refused(Reason),
}

impl From<Reason> for NotFirst {
    fn from(reason: Reason) -> Self {
        Self::Refused(reason)
    }
}

/// Inserts the grant of an authorization with its first pair.
pub(crate) async fn issue(
    context: &Context,
    request: &TokenRequest<'_>,
    authorization: &Authorization,
    exchanged: Exchanged,
    beginning: Beginning,
    now: Timestamp,
) -> Result<Issued, NotFirst> {
    context.check_subject(authorization.subject(), request.client).await?;
    let (grant, issued) = first_pair(context, request, authorization, exchanged, beginning, now);
    let (nonce, code_end) = (authorization.terms.nonce(), authorization.end);
    let mut inserting = Inserting { context, request, grant, issued, nonce, code_end, has_read: false, found: None };
    match claim(context, &mut inserting, Some(ATTEMPTS)).await {
        Ok(()) => {}
        Err(Reason::CodeReplayed) => return Err(NotFirst::Replayed(inserting.found)),
        Err(reason) => return Err(reason.into()),
    }
    let (client, subject) = (&request.client.id, authorization.subject());
    context.raise(&Event::Exchanged { grant: authorization.id.into(), client, subject });
    live_grants::keep_within_bound(context, &inserting.grant).await;
    Ok(inserting.issued)
}

/// § 4.1.2: "If an authorization code is used more than once, the authorization server MUST deny the request and
/// SHOULD revoke (when possible) all tokens previously issued based on that authorization code."
pub(crate) async fn replayed(context: &Context, request: &TokenRequest<'_>, grant: &Grant) -> Result<Reason, Reason> {
    if grant.revoked.is_some() {
        return Ok(Reason::CodeSpent);
    }
    request.record_uses(context).await?;
    let outcome = revocation::revoke(context, grant.id, RevocationReason::CodeReplayed).await?;
    if outcome != revocation::Outcome::Revoked {
        return Ok(Reason::CodeSpent);
    }
    context.raise(&Event::CodeReplayed { grant: grant.id, client: &grant.client, subject: grant.subject() });
    Ok(Reason::CodeReplayed)
}

fn first_pair(
    context: &Context,
    request: &TokenRequest<'_>,
    authorization: &Authorization,
    exchanged: Exchanged,
    beginning: Beginning,
    now: Timestamp,
) -> (Arc<Grant>, Issued) {
    let client = request.client;
    let Exchanged { granted, scopes, audience, lifetime } = exchanged;
    let id = GrantId::from(authorization.id);
    let entropy = &*context.entropy;
    let Beginning { secrets, family_id, superseded } = beginning;
    let tag_key = TagKey::random(entropy);
    let place = Place {
        grant: id,
        client,
        family_id: &family_id,
        tag_key: &tag_key,
        number: 1,
        now,
        lifetime,
        created: now,
        granted: &granted.scopes,
        scopes,
        audience,
        key: request.key,
    };
    let NewPair { record, issued } = issue::pair(&context.config, secrets, place);
    let grant = Arc::new(Grant {
        terms: granted.written_under(context.config.revision),
        family: Family { id: family_id.digest(), tag_key },
        pairs_made: 1,
        bound_from: issue::bound_from(None, request.key, 1),
        pairs: Pairs { newest: Some(record), superseded: superseded.into_iter().collect() },
        ..Grant::in_place_of(authorization, draw_version(entropy), now)
    });
    (grant, issued)
}

/// One insert, without a read before it unless a resource has JWTs. If the insert finds a row, the digest
/// of its access token shows which request won.
struct Inserting<'a> {
    context: &'a Context,
    request: &'a TokenRequest<'a>,
    grant: Arc<Grant>,
    issued: Issued,
    nonce: Option<&'a str>,
    code_end: Timestamp,
    has_read: bool,
    found: Option<Arc<Grant>>,
}

impl Inserting<'_> {
    /// The insert begins only before the code's end, even if a hook or a signer took long. The record that has its
    /// place may be removed two hours after that end.
    fn check_end(&self) -> Result<(), Reason> {
        if self.context.now() < self.code_end { Ok(()) } else { Err(Reason::CodeExpired) }
    }
}

impl Claim for Inserting<'_> {
    type Row = Grant;
    type Won = ();
    type Error = Reason;

    /// Where a token may be signed, the record is read first: a replayed code is refused without a signature.
    async fn read(&mut self) -> Result<Seen<Grant>, Reason> {
        let is_first = !std::mem::replace(&mut self.has_read, true);
        if is_first {
            self.check_end()?;
        }
        let signs = self.context.config.issues_jwts() || id_token::is_due(self.context, &self.issued.scopes);
        if is_first && !signs {
            return Ok(Seen::Unread);
        }
        self.found = self.context.stores.tokens.find(&self.grant.id).await?;
        Ok(match &self.found {
            Some(found) => Seen::Found(found.clone()),
            None if is_first => Seen::Unread,
            None => Seen::Missing,
        })
    }

    fn judge(&mut self, seen: &Seen<Grant>) -> Result<Effect<Grant, ()>, Reason> {
        match seen {
            Seen::Unread => Ok(Effect::Insert(self.grant.clone(), ())),
            Seen::Found(_) => Err(Reason::CodeReplayed),
            // The record that had the place was removed since.
            Seen::Missing => Err(StoreError::transient(Contended).into()),
        }
    }

    async fn prepare(&mut self, row: &Grant, (): &mut ()) -> Result<bool, Reason> {
        let (context, client) = (self.context, self.request.client);
        let issued = &mut self.issued;
        let signs_access_token = jwt::sign(context, row, client, issued, &mut Signed::at_most(1)).await?;
        let signs_id_token = id_token::sign(context, row, client, issued, self.nonce, &mut Signed::at_most(1)).await?;
        let has_signed = signs_access_token || signs_id_token;
        if has_signed {
            self.check_end()?;
        }
        self.request.record_uses(context).await?;
        Ok(has_signed)
    }

    fn is_done(&self, found: &Grant, meant: &Grant, _: After) -> bool {
        let own = meant.pairs.newest.as_ref().map(|pair| &pair.access.digest);
        own.is_some_and(|own| found.pairs.with_access(own).is_some())
    }
}
