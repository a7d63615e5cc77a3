//! Creates a pair of tokens and the record of it.

use std::num::NonZeroU32;
use std::time::Duration;

use zeroize::Zeroizing;

use crate::base::clock::Timestamp;
use crate::base::id::GrantId;
use crate::config::Config;
use crate::context::Context;
use crate::jose::JwkThumbprint;
use crate::model::client::{Client, GrantType};
use crate::model::protected_resource::{Audience, Target};
use crate::model::{AccessRecord, Grant, RefreshRecord, Restrictions, TokenPair};
use crate::scope::{ResourceScope, ScopeSet};
use crate::secret::derive::PairSecrets;
use crate::secret::refresh::{FamilyId, MintedRefresh, Position, TagKey};
use crate::secret::{MintedOpaque, refresh};

/// What a pair is made for.
pub(crate) struct Place<'a> {
    pub(crate) grant: GrantId,
    pub(crate) client: &'a Client,
    pub(crate) family_id: &'a FamilyId,
    pub(crate) tag_key: &'a TagKey,
    /// Counts the pairs of the grant, this one included.
    pub(crate) number: u32,
    pub(crate) now: Timestamp,
    /// How long the access token is valid, if the grant lasts that long.
    pub(crate) lifetime: Duration,
    /// When the grant began.
    pub(crate) created: Timestamp,
    /// All scopes of the grant.
    pub(crate) granted: &'a ScopeSet,
    /// The scopes that the token response states. The access token never has more, even if the registration grows.
    pub(crate) scopes: ScopeSet,
    /// What the access token is for, if that is less than the grant; otherwise unset.
    pub(crate) audience: Audience,
    /// The key that the access token is bound to [RFC 9449 section 5].
    pub(crate) key: Option<&'a JwkThumbprint>,
}

/// What a token response states [RFC 6749 section 5.1].
pub(crate) struct Issued {
    pub(crate) grant: GrantId,
    pub(crate) access_token: MintedOpaque,
    pub(crate) refresh_token: Option<MintedRefresh>,
    pub(crate) expires_in: u32,
    pub(crate) scopes: ScopeSet,
    /// The members that were signed for this response: none before [`Claim::prepare`](crate::claim::Claim::prepare).
    pub(crate) signed: Vec<SignedMember>,
}

/// A member of a token response that is a JWT.
pub(crate) struct SignedMember {
    /// A name without characters that JSON escapes.
    pub(crate) name: &'static str,
    pub(crate) jwt: Zeroizing<String>,
}

/// The member that takes the place of the opaque access token [RFC 9068].
pub(crate) const ACCESS_TOKEN: &str = "access_token";

/// The record to write and the response.
pub(crate) struct NewPair {
    pub(crate) record: TokenPair,
    pub(crate) issued: Issued,
}

/// Creates the pair for its place. The same place and the same secrets give the same pair.
pub(crate) fn pair(config: &Config, secrets: PairSecrets, place: Place<'_>) -> NewPair {
    let access_end = access_end(config, place.created, place.now, place.lifetime);
    let refresh_end = place.now.plus(config.tokens.refresh_lifetime).min(last_end(config, place.created));
    let has_refresh_token = place.client.form.grant_types.contains(GrantType::RefreshToken);
    let position = Position { end: refresh_end, number: place.number };
    // Built first, together with the refresh token: a token in a variable was copied byte by byte (`tests/limits`).
    let issued = Issued {
        grant: place.grant,
        refresh_token: has_refresh_token
            .then(|| refresh::mint(position, place.family_id, &secrets.fresh, place.tag_key)),
        access_token: secrets.access,
        expires_in: access_end.seconds_since(place.now),
        scopes: place.scopes,
        signed: Vec::new(),
    };
    let restrictions = Restrictions {
        revoked: false,
        scopes: (issued.scopes != *place.granted).then(|| issued.scopes.clone()),
        audience: place.audience,
        key: place.key.copied(),
    };
    let access = AccessRecord::new(issued.access_token.digest, place.now, access_end, restrictions);
    let refresh = issued.refresh_token.as_ref();
    let refresh = refresh.map(|refresh| RefreshRecord { digest: refresh.digest, end: refresh_end });
    NewPair { record: TokenPair::new(access, refresh), issued }
}

/// Returns the number of the first bound pair of a grant, once a request has proved a key for the pair with that
/// number.
pub(crate) fn bound_from(before: Option<NonZeroU32>, key: Option<&JwkThumbprint>, number: u32) -> Option<NonZeroU32> {
    before.or_else(|| key.and_then(|_| NonZeroU32::new(number)))
}

/// Returns how long an access token for these resources is valid, where others are valid for `lifetime`.
pub(crate) fn lifetime_for(config: &Config, target: &Target<'_>, lifetime: Duration) -> Duration {
    if target.is_one_with_jwts() { lifetime.min(config.tokens.jwt_lifetime) } else { lifetime }
}

/// Returns when an access token that is issued now expires.
pub(crate) fn access_end(config: &Config, created: Timestamp, now: Timestamp, lifetime: Duration) -> Timestamp {
    now.plus(lifetime).min(last_end(config, created))
}

/// Returns when all tokens of a grant have expired.
fn last_end(config: &Config, created: Timestamp) -> Timestamp {
    config.tokens.grant_lifetime.map_or(Timestamp::from_seconds(u32::MAX), |life| created.plus(life))
}

/// What a live token grants at some of its resources.
pub(crate) struct DescribedToken {
    /// None if those resources serve none of its scopes. They answer that they need more.
    pub(crate) scopes: ScopeSet,
    /// The user's resources that the client may still have.
    pub(crate) resources: ResourceScope,
}

impl DescribedToken {
    /// Describes a token as the resources in `seen` may see it. `None` if the catalog and the registration no longer
    /// have any of its scopes.
    pub(crate) fn of(
        context: &Context,
        grant: &Grant,
        client: &Client,
        access: &AccessRecord,
        seen: &Target<'_>,
    ) -> Option<Self> {
        let scopes = grant.scopes_left(access, client);
        if !context.config.scopes.knows_any(&scopes) {
            return None;
        }
        let [granted, bound] = grant.resources_left(client);
        Some(Self { scopes: seen.served_of(scopes), resources: granted.reduced_to(bound) })
    }

    /// Returns the scopes as text; `None` if there are none.
    pub(crate) fn scope(&self, context: &Context) -> Option<String> {
        Some(context.config.scopes.to_wire(&self.scopes).into_owned()).filter(|scope| !scope.is_empty())
    }

    /// Returns the names of the resources, if they are named.
    pub(crate) fn resource_names(&self) -> Option<Vec<String>> {
        match &self.resources {
            ResourceScope::Specified(list) => Some(list.iter().map(str::to_owned).collect()),
            ResourceScope::All | ResourceScope::Public => None,
        }
    }
}
