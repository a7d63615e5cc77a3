//! Makes a pair of tokens and what the record keeps of it.

use crate::client::Client;
use crate::clock::Timestamp;
use crate::config::Config;
use crate::entropy::Entropy;
use crate::id::GrantId;
use crate::scope::ScopeSet;
use crate::secret::opaque::{self, MintedOpaque};
use crate::secret::refresh::{self, Fresh, Lineage, MintedRefresh, Position};
use crate::store::record::TokenPair;

/// The random parts of one pair, drawn once per request: a claim that is tried again carries the same,
/// so that the caller recognises its own write.
pub(crate) struct Drawn {
    grant: GrantId,
    pub(crate) access_token: MintedOpaque,
    fresh: Fresh,
}

impl Drawn {
    pub(crate) fn new(grant: GrantId, entropy: &dyn Entropy) -> Self {
        Self { grant, access_token: opaque::mint(entropy), fresh: Fresh::draw(entropy) }
    }
}

/// What a pair is made for.
pub(crate) struct Place<'a> {
    pub(crate) client: &'a Client,
    pub(crate) lineage: &'a Lineage,
    /// Counts the pairs of the grant, this one included.
    pub(crate) number: u32,
    pub(crate) now: Timestamp,
    /// When the grant began.
    pub(crate) created: Timestamp,
    /// All that the grant has.
    pub(crate) granted: &'a ScopeSet,
    /// What the client is told that this access token may do; never more than that, later on either.
    pub(crate) scopes: ScopeSet,
}

/// What the client is told, its access token apart.
pub(crate) struct TokenAnswer {
    pub(crate) refresh_token: Option<MintedRefresh>,
    pub(crate) expires_in: u32,
    pub(crate) scopes: ScopeSet,
}

/// What is written and what is told.
pub(crate) struct NewPair {
    pub(crate) record: TokenPair,
    pub(crate) answer: TokenAnswer,
}

/// What the client is told, once the claim is won.
pub(crate) struct Issued {
    pub(crate) grant: GrantId,
    pub(crate) access_token: MintedOpaque,
    pub(crate) answer: TokenAnswer,
}

impl Drawn {
    pub(crate) fn issued(self, answer: TokenAnswer) -> Issued {
        Issued { grant: self.grant, access_token: self.access_token, answer }
    }
}

/// Makes the pair for its place; the same place and drawn parts make the same pair.
pub(crate) fn pair(config: &Config, drawn: &Drawn, place: Place<'_>) -> NewPair {
    let last = config.grant_lifetime.map_or(Timestamp::from_seconds(u32::MAX), |life| place.created.plus(life));
    let access_end = place.now.plus(config.access_token_lifetime).min(last);
    let refresh_end = place.now.plus(config.refresh_token_lifetime).min(last);
    let refresh = place.client.grant_types.refresh_token.then(|| {
        let position = Position { end: refresh_end, number: place.number };
        refresh::mint(position, place.lineage, &drawn.fresh)
    });
    let mut record = TokenPair::new(drawn.access_token.digest, place.now, access_end);
    if let Some(refresh) = &refresh {
        record = record.with_refresh(refresh.digest, refresh_end);
    }
    if place.scopes != *place.granted {
        record = record.narrowed_to(place.scopes.clone());
    }
    let answer =
        TokenAnswer { refresh_token: refresh, expires_in: access_end.seconds_since(place.now), scopes: place.scopes };
    NewPair { record, answer }
}
