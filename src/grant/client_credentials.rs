//! Issues an access token for the client itself [RFC 6749 section 4.4], without a user or a refresh token.
//!
//! A client's tokens are stored in eight grants, its [places](crate::claim::places). A request starts at a random place
//! and takes the first one with room. That is mostly one read and one write, and eight reads at the limit.
//!
//! Each token has its own audience, and its grant has none: an old token would otherwise get the audience of a later
//! one. The ids of the grants recur after a purge. Versions are random, so a late write to the old row does not match
//! the new.

use std::sync::Arc;
use std::time::Duration;

use crate::base::clock::Timestamp;
use crate::base::id::{ClientId, GrantId};
use crate::claim::places::{Met, draw_places, key_of_place};
use crate::claim::{ATTEMPTS, After, Claim, Effect, Seen, claim, draw_version};
use crate::config::Config;
use crate::context::Context;
use crate::error::Reason;
use crate::grant::issue::Issued;
use crate::grant::jwt::Signed;
use crate::grant::request::TokenRequest;
use crate::grant::{issue, jwt};
use crate::hooks::Event;
use crate::model::client::{Client, GrantType};
use crate::model::protected_resource::{Audience, ResourceTable, TargetError};
use crate::model::terms::Terms;
use crate::model::{AccessRecord, Grant, Pairs, Restrictions, TokenPair};
use crate::scope::{ResourceScope, ScopeSet};
use crate::secret::MintedOpaque;
use crate::secret::refresh::Family;
use crate::store::StoreError;

/// The number of grants that hold the tokens of one client. With eight, a read or write moves an eighth of the tokens,
/// and eight requests can write at once.
const PLACES: u32 = 8;
/// How many places one token is signed for at most, since others may fill each before it is written.
const MAX_SIGNED: u32 = 3;
/// Separates these places from those of other records.
const LABEL: &[u8] = b"client credentials";

/// A live access token of a client itself, for a page that lists such tokens [RFC 6749 section 4.4]. It does not
/// contain the token.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientCredentialsToken {
    /// When the token was issued.
    pub issued: Timestamp,
    /// When the token expires.
    pub expires: Timestamp,
    /// The scopes that it was issued with.
    pub scopes: ScopeSet,
}

/// Issues one access token, unless the client has [`client_credentials_tokens`](Config::limits) of them.
///
/// # Errors
///
/// [`Reason::TooManyClientCredentialsTokens`] if all places are full; what [`judge`] refuses; a store's error.
pub(crate) async fn issue(context: &Context, request: &TokenRequest<'_>) -> Result<Issued, Reason> {
    let (client, now) = (request.client, context.now());
    let Granted { scopes, audience, lifetime } = judge(request, &context.config, &context.resources)?;
    let token = MintedOpaque::random(&*context.entropy);
    let version = draw_version(&*context.entropy);
    let restrictions =
        Restrictions { revoked: false, scopes: Some(scopes.clone()), audience, key: request.key.copied() };
    let access = AccessRecord::new(token.digest, now, now.plus(lifetime), restrictions);
    let expires_in = access.end.seconds_since(now);
    let mut signed = Signed::at_most(MAX_SIGNED);
    let mut met = Met::<()>::nobody();
    for number in draw_places(&*context.entropy, PLACES) {
        let grant = id_of_place(&client.id, number);
        let (room, revision) = (room(&context.config, number), context.config.revision);
        let place = Place { client, id: grant, access: &access, room, version, revision };
        let (access_token, scopes) = (token.clone(), scopes.clone());
        let issued = Issued { grant, access_token, refresh_token: None, expires_in, scopes, signed: Vec::new() };
        let mut filling = Filling { context, request, place, issued, signed: &mut signed };
        match claim(context, &mut filling, Some(ATTEMPTS)).await? {
            Filled::Issued => {
                let issued = filling.issued;
                let scopes = &issued.scopes;
                context.raise(&Event::ClientCredentialsTokenIssued { grant, client: &client.id, scopes });
                return Ok(issued);
            }
            Filled::Full { end } => met.note_end(end),
        }
    }
    Err(Reason::TooManyClientCredentialsTokens { retry_after: met.retry_after(now) })
}

/// What a token gets.
#[derive(Debug, PartialEq, Eq)]
struct Granted {
    scopes: ScopeSet,
    audience: Audience,
    lifetime: Duration,
}

/// Decides what the token gets: the scopes that the request names, or else all `client_scopes` of the client that its
/// protected resources serve; and those resources.
fn judge(request: &TokenRequest<'_>, config: &Config, resources: &ResourceTable) -> Result<Granted, Reason> {
    // § 4.4: "The client credentials grant type MUST only be used by confidential clients."
    if request.client.counts_as_public() {
        return Err(Reason::GrantTypeNotRegistered);
    }
    let available = &request.client.form.client_scopes;
    let target = resources.requested(request.resources, request.client, available)?;
    if target.is_several_with_jwts() {
        return Err(TargetError::SeveralOfJwts.into());
    }
    let scopes = match config.scopes.sent(request.scope) {
        Some(scope) => config.scopes.read(scope).map_err(Reason::Scope)?,
        None => target.served_of(available.clone()),
    };
    let is_left = !scopes.is_empty() && scopes.is_subset_of(available) && target.serves(&scopes);
    if !is_left {
        return Err(Reason::ExcessScope);
    }
    let lifetime = issue::lifetime_for(config, &target, config.client_credentials.lifetime);
    Ok(Granted { scopes, audience: target.audience().clone(), lifetime })
}

/// Puts one token into a place.
struct Filling<'a> {
    context: &'a Context,
    request: &'a TokenRequest<'a>,
    place: Place<'a>,
    issued: Issued,
    signed: &'a mut Signed,
}

/// A place, and the token that is to be put into it.
struct Place<'a> {
    client: &'a Client,
    id: GrantId,
    access: &'a AccessRecord,
    /// Live tokens that the place may hold.
    room: usize,
    /// The version of the record if it is inserted.
    version: u32,
    /// The revision of the settings.
    revision: u32,
}

#[derive(Debug, PartialEq, Eq)]
enum Filled {
    Issued,
    /// The place has no room until its first token expires.
    Full {
        end: Timestamp,
    },
}

impl Claim for Filling<'_> {
    type Row = Grant;
    type Won = Filled;
    type Error = Reason;

    async fn read(&mut self) -> Result<Seen<Grant>, Reason> {
        Ok(self.context.stores.tokens.find(&self.place.id).await?.into())
    }

    fn judge(&mut self, seen: &Seen<Grant>) -> Result<Effect<Grant, Filled>, Reason> {
        let found = match seen {
            Seen::Found(grant) => Some(&**grant),
            Seen::Unread | Seen::Missing => None,
        };
        self.place.step(found)
    }

    /// A JWT names its place, so it is signed again for each.
    async fn prepare(&mut self, row: &Grant, _: &mut Filled) -> Result<bool, Reason> {
        let (context, client) = (self.context, self.request.client);
        let has_signed = jwt::sign(context, row, client, &mut self.issued, self.signed).await?;
        self.request.record_uses(context).await?;
        Ok(has_signed)
    }

    fn is_done(&self, found: &Grant, _: &Grant, _: After) -> bool {
        found.pairs.with_access(&self.place.access.digest).is_some()
    }
}

impl Place<'_> {
    /// Adds the token if there is room.
    fn step(&self, found: Option<&Grant>) -> Result<Effect<Grant, Filled>, Reason> {
        // If all grants of the client were revoked after it was read, a token of the old epoch would be invalid.
        let now = self.access.issued;
        if let Some(grant) = found.filter(|grant| grant.is_live(now)) {
            let _ = self.client.has_revoked(grant.epoch)?;
        }
        let mut live = live_tokens(found, self.client.epoch, now);
        if live.len() >= self.room {
            // Tokens from the future, issued by a clock that had jumped forward, would fill the place until then.
            live.retain(|token| token.issued.may_have_come(now));
        }
        if live.len() >= self.room {
            let end = live.iter().map(|token| token.end).min().unwrap_or(self.access.end);
            return Ok(Effect::Leave(Filled::Full { end }));
        }
        Ok(match found {
            Some(grant) => Effect::Replace(Arc::new(self.next(grant, live)), Filled::Issued),
            None => Effect::Insert(Arc::new(self.first()), Filled::Issued),
        })
    }

    /// Returns the record with its first token.
    fn first(&self) -> Grant {
        let now = self.access.issued;
        let scopes = self.access.scopes().cloned().unwrap_or_default();
        Grant {
            id: self.id,
            version: self.version,
            client: self.client.id.clone(),
            epoch: self.client.epoch,
            subject: None,
            pairs: pairs_of(vec![self.access.clone()], &scopes),
            // The client's `client_resources` limit the token when it is used.
            terms: Terms { scopes, resources: ResourceScope::All, audience: Audience::UNSET, extra: None }
                .written_under(self.revision),
            created: now,
            keep_until: now,
            family: Family::NONE,
            pairs_made: 1,
            bound_from: None,
            revoked: None,
        }
    }

    /// Returns the record with one more token. `tokens` are its live ones; the others are dropped.
    fn next(&self, grant: &Grant, mut tokens: Vec<AccessRecord>) -> Grant {
        tokens.push(self.access.clone());
        let scopes = self.access.scopes().cloned().unwrap_or_default();
        let pairs = pairs_of(tokens, &scopes);
        let terms = Terms { scopes, ..grant.terms.clone() }.written_under(self.revision);
        Grant { epoch: self.client.epoch, terms, pairs, revoked: None, ..grant.clone() }
    }
}

/// The tokens of a place that may still be used under that epoch, the oldest first.
fn live_tokens(found: Option<&Grant>, epoch: u32, now: Timestamp) -> Vec<AccessRecord> {
    let Some(grant) = found.filter(|grant| grant.epoch == epoch && grant.revoked.is_none()) else { return Vec::new() };
    let accesses = grant.pairs.newest.iter().flat_map(TokenPair::accesses);
    accesses.filter(|access| access.is_live(now)).map(|access| owned(access, &grant.terms.scopes)).collect()
}

/// Returns a stored token with its own scopes, even if they are those of the record. It is not revoked.
fn owned(access: &AccessRecord, of_record: &ScopeSet) -> AccessRecord {
    let own = access.restrictions.as_deref().cloned().unwrap_or_default();
    let scopes = own.scopes.or_else(|| Some(of_record.clone()));
    AccessRecord::new(access.digest, access.issued, access.end, Restrictions { scopes, ..own })
}

/// Stores access tokens without a refresh token. The first one takes the place of the pair. Scopes are kept only if
/// they differ from those of the record.
fn pairs_of(tokens: Vec<AccessRecord>, of_record: &ScopeSet) -> Pairs {
    let mut tokens = tokens.into_iter().map(|token| {
        let own = token.restrictions.as_deref().cloned().unwrap_or_default();
        let scopes = own.scopes.filter(|scopes| scopes != of_record);
        AccessRecord::new(token.digest, token.issued, token.end, Restrictions { scopes, ..own })
    });
    let Some(access) = tokens.next() else { return Pairs::default() };
    Pairs::one(TokenPair { access, refresh: None, further: tokens.collect() })
}

/// The id of a place. It is the same again after a purge.
fn id_of_place(client: &ClientId, number: u32) -> GrantId {
    GrantId::from_bytes(key_of_place(LABEL, number, client))
}

/// Live tokens that a place may hold, so that all places hold `client_credentials_tokens`.
fn room(config: &Config, number: u32) -> usize {
    let max = config.limits.client_credentials_tokens;
    usize::try_from(max / PLACES + u32::from(number < max % PLACES)).unwrap_or(usize::MAX)
}

/// The live tokens of a client, the oldest first.
pub(crate) async fn tokens_of(context: &Context, id: &ClientId) -> Result<Vec<ClientCredentialsToken>, StoreError> {
    let client = context.stores.clients.client(id).await?;
    let has_them =
        |client: &Arc<Client>| client.is_approved() && client.form.grant_types.contains(GrantType::ClientCredentials);
    let Some(client) = client.filter(has_them) else { return Ok(Vec::new()) };
    let now = context.now();
    let mut tokens = Vec::new();
    for number in 0..PLACES {
        let grant = context.stores.tokens.find(&id_of_place(id, number)).await?;
        tokens.extend(live_tokens(grant.as_deref(), client.epoch, now));
    }
    tokens.sort_by_key(|token| token.issued);
    let listed = |token: AccessRecord| ClientCredentialsToken {
        issued: token.issued,
        expires: token.end,
        scopes: token.scopes().cloned().unwrap_or_default(),
    };
    Ok(tokens.into_iter().map(listed).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grant::fixtures::{at, no_resources, scopes};
    use crate::model::client::{ApplicationType, CheckedForm, ClientType, GrantTypes};
    use crate::model::{Revocation, RevocationReason};
    use crate::secret::Digest;

    fn client() -> Client {
        Client::builder(ClientId::new("machine").unwrap())
            .grant_types(GrantTypes::NONE.with(GrantType::ClientCredentials))
            .client_scopes(scopes("repo-code:rw repo-issue:r"))
            .epoch(3)
            .build()
    }

    /// A client, the scope that it requests, and the expected refusal.
    type Refusal = (Client, Option<&'static [u8]>, fn(&Reason) -> bool);

    /// Each fault alone, and the first with the later ones.
    #[test]
    fn a_request_is_refused_in_the_order_of_the_rfc() {
        let config = Config::platform("https://auth.example");
        let public = || Client { form: CheckedForm { client_type: ClientType::Public, ..client().form }, ..client() };
        let native =
            || Client { form: CheckedForm { application_type: ApplicationType::Native, ..client().form }, ..client() };
        let without = || Client { form: CheckedForm { client_scopes: ScopeSet::empty(), ..client().form }, ..client() };
        let not_registered: fn(&Reason) -> bool = |reason| matches!(reason, Reason::GrantTypeNotRegistered);
        let unreadable: fn(&Reason) -> bool = |reason| matches!(reason, Reason::Scope(_));
        let excess: fn(&Reason) -> bool = |reason| matches!(reason, Reason::ExcessScope);
        let cases: [Refusal; 8] = [
            (public(), None, not_registered),
            (public(), Some(b"no-such-scope"), not_registered),
            (native(), None, not_registered),
            (client(), Some(b"no-such-scope"), unreadable),
            (without(), Some(b"no-such-scope"), unreadable),
            (client(), Some(b"repo-issue:rw"), excess),
            (client(), Some(b"account-profile:r"), excess),
            (without(), None, excess),
        ];
        for (client, scope, is_meant) in &cases {
            let request = TokenRequest { scope: *scope, ..TokenRequest::of(client) };
            let reason = judge(&request, &config, &no_resources()).unwrap_err();
            assert!(is_meant(&reason), "{scope:?}: {reason:?}");
        }
        let registered = client();
        for (scope, granted) in [(None, "repo-code:rw repo-issue:r"), (Some(b"repo-code:r".as_slice()), "repo-code:r")]
        {
            let request = TokenRequest { scope, ..TokenRequest::of(&registered) };
            let judged = judge(&request, &config, &no_resources()).unwrap();
            let lifetime = config.client_credentials.lifetime;
            assert_eq!(judged, Granted { scopes: scopes(granted), audience: Audience::UNSET, lifetime });
        }
    }

    #[test]
    fn the_places_hold_the_bound_together() {
        let mut config = Config::platform("https://auth.example");
        for tokens in [1, 7, 8, 9, 1024, 4096] {
            config.limits.client_credentials_tokens = tokens;
            let room: usize = (0..PLACES).map(|number| room(&config, number)).sum();
            assert_eq!(u32::try_from(room), Ok(tokens));
        }
    }

    fn access(number: u8, issued: u32) -> AccessRecord {
        let restrictions = Restrictions { scopes: Some(scopes("repo-code:r")), ..Restrictions::default() };
        AccessRecord::new(Digest::of(&[number]), at(issued), at(issued + 100), restrictions)
    }

    fn place<'a>(client: &'a Client, access: &'a AccessRecord) -> Place<'a> {
        Place { client, id: id_of_place(&client.id, 0), access, room: 3, version: 70, revision: 0 }
    }

    /// A record after these writes.
    fn grant_of(client: &Client, tokens: &[AccessRecord]) -> Grant {
        let mut grant: Option<Grant> = None;
        for token in tokens {
            grant = match place(client, token).step(grant.as_ref()).unwrap() {
                Effect::Insert(next, Filled::Issued) | Effect::Replace(next, Filled::Issued) => {
                    Some(Grant::clone(&next))
                }
                other @ (Effect::Insert(..) | Effect::Replace(..) | Effect::Confirm(_) | Effect::Leave(_)) => {
                    panic!("{other:?}")
                }
            };
        }
        grant.unwrap()
    }

    fn issued(grant: &Grant) -> Vec<u32> {
        grant
            .pairs
            .iter()
            .flat_map(TokenPair::accesses)
            .map(|access| access.issued.seconds() - at(0).seconds())
            .collect()
    }

    #[test]
    fn tokens_that_ended_make_room_and_live_ones_stay() {
        let client = client();
        let tokens = [access(1, 0), access(2, 10), access(3, 20)];
        let full = grant_of(&client, &tokens);
        assert_eq!((full.version, full.epoch, issued(&full)), (70, 3, vec![0, 10, 20]));

        let next = access(4, 99);
        let Ok(Effect::Leave(Filled::Full { end })) = place(&client, &next).step(Some(&full)) else {
            panic!("it has room")
        };
        assert_eq!(end, at(100));

        let next = access(4, 100);
        let Ok(Effect::Replace(grant, Filled::Issued)) = place(&client, &next).step(Some(&full)) else {
            panic!("it has no room")
        };
        assert_eq!(issued(&grant), [10, 20, 100]);

        let mut revoked = full;
        revoked.pairs.revoke_access(&tokens[1].digest);
        let next = access(4, 30);
        let Ok(Effect::Replace(grant, Filled::Issued)) = place(&client, &next).step(Some(&revoked)) else {
            panic!("it has no room")
        };
        assert_eq!(issued(&grant), [0, 20, 30]);
    }

    /// CLK-02
    #[test]
    fn tokens_of_the_future_stay_in_a_place_until_it_is_full() {
        let client = client();
        let grant = grant_of(&client, &[access(1, 1000), access(2, 1000), access(3, 0)]);
        assert_eq!(issued(&grant), [1000, 1000, 0]);
        let next = access(4, 10);
        let Ok(Effect::Replace(grant, Filled::Issued)) = place(&client, &next).step(Some(&grant)) else {
            panic!("it has no room")
        };
        assert_eq!(issued(&grant), [0, 10]);
    }

    #[test]
    fn what_was_withdrawn_leaves_a_place_and_a_client_read_before_that_writes_nothing() {
        let before = client();
        let full = grant_of(&before, &[access(1, 0), access(2, 10), access(3, 20)]);
        let after = Client { epoch: 4, ..client() };
        let next = access(4, 30);
        let Ok(Effect::Replace(grant, Filled::Issued)) = place(&after, &next).step(Some(&full)) else {
            panic!("it is full")
        };
        assert_eq!((grant.epoch, issued(&grant)), (4, vec![30]));
        let stale = place(&before, &next).step(Some(&grant)).unwrap_err();
        assert!(matches!(stale, Reason::Store(error) if error.is_transient()));

        let reason = RevocationReason::RevokedByUser;
        let revoked = Grant { revoked: Some(Revocation { at: at(25), reason }), ..full };
        let Ok(Effect::Replace(grant, Filled::Issued)) = place(&before, &next).step(Some(&revoked)) else {
            panic!("it is full")
        };
        assert_eq!((grant.revoked, issued(&grant)), (None, vec![30]));
    }
}
