//! Records for the table-driven tests of the judges.

use std::time::Duration;

use crate::base::clock::Timestamp;
use crate::base::entropy::SystemEntropy;
use crate::base::id::{ClientId, GrantId, IdText, Subject};
use crate::config::Config;
use crate::grant::issue;
use crate::grant::issue::{NewPair, Place};
use crate::jose::JwkThumbprint;
use crate::model::client::Client;
use crate::model::protected_resource::{Audience, ResourceTable};
use crate::model::redirect_uri::RedirectUri;
use crate::model::terms::Terms;
use crate::model::{GraceEnds, Grant, Pairs, Redirection, Revocation, RevocationReason, SupersededPair};
use crate::scope::{ResourceScope, ScopeCatalog, ScopeSet};
use crate::secret::Digest;
use crate::secret::derive::{Link, PairSecrets};
use crate::secret::refresh::{Family, FamilyId, PresentedRefresh, TagKey};

/// When the grant of a [`Line`] began.
pub(crate) const BEGIN: u32 = 1_000_000;

pub(crate) fn at(seconds: u32) -> Timestamp {
    Timestamp::from_seconds(BEGIN + seconds)
}

pub(crate) fn scopes(text: &str) -> ScopeSet {
    Config::platform("https://auth.example").scopes.parse(text.as_bytes()).unwrap()
}

pub(crate) fn client(id: &str) -> Client {
    let builder = Client::builder(ClientId::new(id).unwrap());
    builder.scopes(scopes("repo-code:rw repo-issue:rw")).resource_scope(ResourceScope::All).build()
}

/// Everything that the client may have.
pub(crate) fn terms_of(client: &Client) -> Terms {
    let (scopes, resources) = (client.form.scopes.clone(), client.form.resource_scope.clone());
    Terms { scopes, resources, audience: Audience::UNSET, extra: None }
}

/// Where a request that named that redirect URI, and no state, goes.
pub(crate) fn redirection(uri: &str) -> Redirection {
    Redirection { redirect_uri: RedirectUri::read(uri).unwrap(), is_named: true, state: None }
}

/// The table of a server without protected resources.
pub(crate) fn no_resources() -> ResourceTable {
    ResourceTable::new(&[], false, &ScopeCatalog::platform(), |own| own.metadata("https://auth.example"))
}

/// A grant of one client with its line of pairs, oldest first.
pub(crate) struct Line {
    pub(crate) config: Config,
    pub(crate) resources: ResourceTable,
    pub(crate) client: Client,
    pub(crate) grant: Grant,
    /// The key that pairs are bound to, and requests prove.
    pub(crate) key: Option<JwkThumbprint>,
    /// The refresh token of each pair.
    pub(crate) refresh: Vec<String>,
    /// The access token of each pair.
    pub(crate) access: Vec<Digest>,
}

impl Line {
    /// A grant with its first pair.
    pub(crate) fn new() -> Self {
        let (config, client) = (Config::platform("https://auth.example"), client("own"));
        let family_id = FamilyId::random(&SystemEntropy);
        let grant = Grant {
            id: GrantId::from_bytes([7; 16]),
            version: 1,
            client: client.id.clone(),
            epoch: client.epoch,
            subject: Some(Subject::new("alice").unwrap()),
            terms: terms_of(&client),
            created: at(0),
            keep_until: at(0),
            family: Family { id: family_id.digest(), tag_key: TagKey::random(&SystemEntropy) },
            pairs_made: 0,
            bound_from: None,
            pairs: Pairs::default(),
            revoked: None,
        };
        let mut line = Self {
            config,
            resources: no_resources(),
            client,
            grant,
            key: None,
            refresh: Vec::new(),
            access: Vec::new(),
        };
        line.grant.pairs.newest = Some(line.pair(&family_id, PairSecrets::random(&SystemEntropy), 0));
        line
    }

    /// Returns the same with that key from now on.
    pub(crate) fn with_key(mut self, key: u8) -> Self {
        self.key = Some(JwkThumbprint::from_bytes([key; 32]));
        self
    }

    /// Supersedes the newest pair, with the graces of the platform profile.
    pub(crate) fn refreshed(mut self, seconds: u32) -> Self {
        let presented = self.presented(self.refresh.len() - 1);
        let link = Link::random(&SystemEntropy, self.config.refresh.derivation_keys.first());
        let secrets = link.follow(&presented.fresh, &self.config.refresh.derivation_keys).unwrap();
        let newest = self.pair(&presented.family_id, secrets, seconds);
        let end = at(seconds).plus(Duration::from_secs(300));
        let old = self.grant.pairs.newest.replace(newest).unwrap();
        let old = SupersededPair::new(old, at(seconds), GraceEnds { access: end, refresh: end }, Some(link));
        self.grant.pairs.superseded = std::iter::once(old).chain(self.grant.pairs.superseded).collect();
        self
    }

    /// The same after all superseded pairs have left the record.
    pub(crate) fn without_superseded(mut self) -> Self {
        self.grant.pairs.superseded = Box::default();
        self
    }

    pub(crate) fn revoked(mut self) -> Self {
        self.grant.revoked = Some(Revocation { at: at(0), reason: RevocationReason::RevokedByUser });
        self
    }

    /// The refresh token of that pair, as a client presents it.
    pub(crate) fn presented(&self, place: usize) -> PresentedRefresh {
        PresentedRefresh::parse("rt_", self.refresh[place].as_bytes()).unwrap()
    }

    fn pair(&mut self, family_id: &FamilyId, secrets: PairSecrets, seconds: u32) -> crate::model::TokenPair {
        self.grant.pairs_made += 1;
        let place = Place {
            grant: self.grant.id,
            client: &self.client,
            family_id,
            tag_key: &self.grant.family.tag_key,
            number: self.grant.pairs_made,
            now: at(seconds),
            lifetime: self.config.tokens.access_lifetime,
            created: self.grant.created,
            granted: &self.grant.terms.scopes,
            scopes: self.grant.terms.scopes.clone(),
            audience: Audience::UNSET,
            key: self.key.as_ref(),
        };
        self.grant.bound_from = issue::bound_from(self.grant.bound_from, place.key, place.number);
        let NewPair { record, issued } = issue::pair(&self.config, secrets, place);
        let id = IdText::of(self.grant.id.as_bytes());
        self.refresh.push(issued.refresh_token.unwrap().text("rt_", &id));
        self.access.push(record.access.digest);
        record
    }
}
