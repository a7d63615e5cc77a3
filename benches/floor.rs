//! The floor: the minimal work of each operation, written without the library.
//!
//! It reads the same bytes and writes the same answers. It splits the form itself, hashes the client's secret and
//! compares it in constant time, checks PKCE, and accepts a code once. It draws, hashes and stores both tokens. A
//! refresh token has its family id, number and tag. The next pair is derived from it, and returned again in its grace.
//! The answer is JSON. Each grant is one row in a sharded table without other indexes.
//!
//! It leaves out what a library is for: the checks of scopes and redirect URIs, error messages, hooks, events, a choice
//! of stores, lists of a user's grants, removal of expired records, and secrets wiped from memory. It refuses a request
//! without a reason.

mod clients;
mod form;
mod table;
mod tokens;

use std::borrow::Cow;
use std::io::Write;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::world::Credentials;
use clients::{Clients, same};
use table::Table;
use tokens::{FamilyId, Fresh, Link, Place, PresentedRefresh, TagKey};

pub(crate) const CODE_LIFETIME: u32 = 600;
pub(crate) const ACCESS_LIFETIME: u32 = 28_800;
const REFRESH_LIFETIME: u32 = 15_552_000;
pub(crate) const GRACE: u32 = 300;

pub(crate) struct Floor {
    clients: Clients,
    codes: Table<Code>,
    grants: Table<Grant>,
}

/// The part of a grant that does not change after the consent.
pub(crate) struct Consent {
    pub(crate) subject: Box<str>,
    scopes: Box<str>,
    client: usize,
}

struct Code {
    digest: [u8; 32],
    challenge: [u8; 32],
    end: u32,
    redirect_uri: Box<[u8]>,
    consent: Arc<Consent>,
}

struct Grant {
    consent: Arc<Consent>,
    newest: Pair,
    /// The previous pair while it is in grace, and the link from it to the newest.
    previous: Option<(Pair, Link)>,
    family_id: [u8; 16],
    tag_key: TagKey,
    pairs_made: u32,
    revoked: bool,
}

#[derive(Clone, Copy)]
struct Pair {
    access: [u8; 32],
    refresh: [u8; 32],
    access_end: u32,
    refresh_end: u32,
}

/// What a valid access token grants.
pub(crate) struct Authenticated {
    pub(crate) consent: Arc<Consent>,
    pub(crate) expires: u32,
}

impl Floor {
    /// Returns a floor with this client only.
    pub(crate) fn new(client: &Credentials) -> Self {
        Self { clients: Clients::new(client), codes: Table::new(), grants: Table::new() }
    }

    /// Checks an authorization request and returns the redirect with the code. It writes one row. The library writes
    /// two, because its users see a consent page in between.
    #[inline(never)]
    pub(crate) fn authorize(&self, query: &[u8], subject: &str, now: u32) -> Option<String> {
        const NAMES: [&[u8]; 7] = [
            b"response_type",
            b"client_id",
            b"redirect_uri",
            b"state",
            b"scope",
            b"code_challenge",
            b"code_challenge_method",
        ];
        let [response_type, client, redirect_uri, state, scope, challenge, method] = form::read(query, &NAMES)?;
        let client = self.clients.named(client.as_deref()?)?;
        let redirect_uri = redirect_uri?;
        if response_type.as_deref() != Some(b"code")
            || method.as_deref() != Some(b"S256")
            || !self.clients.leads_to(client, &redirect_uri)
        {
            return None;
        }
        let id = tokens::id(now);
        let mut location = Vec::with_capacity(redirect_uri.len() + 160);
        location.extend_from_slice(&redirect_uri);
        location.extend_from_slice(b"?code=");
        let digest = tokens::write(&mut location, tokens::CODE, &id, &tokens::secret());
        if let Some(state) = &state {
            location.extend_from_slice(b"&state=");
            form::write(&mut location, state);
        }
        let scopes = String::from_utf8(scope?.into_owned()).ok()?.into_boxed_str();
        let code = Code {
            digest,
            challenge: tokens::challenge(&challenge?)?,
            end: now + CODE_LIFETIME,
            redirect_uri: redirect_uri.into_owned().into_boxed_slice(),
            consent: Arc::new(Consent { subject: subject.into(), scopes, client }),
        };
        self.codes.shard(&id).insert(id, code);
        String::from_utf8(location).ok()
    }

    /// Exchanges a code.
    #[inline(never)]
    pub(crate) fn exchange(&self, bytes: &[u8], now: u32) -> Option<Vec<u8>> {
        let [grant_type, code, redirect_uri, verifier, _, _, client, secret] = form::read(bytes, &TOKEN_FORM)?;
        if grant_type.as_deref() != Some(b"authorization_code") {
            return None;
        }
        let client = self.clients.proven(client.as_deref()?, secret.as_deref()?)?;
        let (id, digest) = tokens::read(tokens::CODE, code.as_deref()?)?;
        let met: [u8; 32] = Sha256::digest(verifier.as_deref()?).into();
        let consent = {
            let mut codes = self.codes.shard(&id);
            let code = codes.get(&id)?;
            let bound = redirect_uri.is_none_or(|sent: Cow<'_, [u8]>| *sent == *code.redirect_uri);
            if !same(&code.digest, &digest)
                || code.consent.client != client
                || !bound
                || !same(&code.challenge, &met)
                || now >= code.end
            {
                return None;
            }
            codes.remove(&id)?.consent
        };
        let family_id = FamilyId::draw();
        let tag_key = TagKey::draw();
        let mut answer = Answer::new(consent.scopes.len());
        let access = answer.access(&id, &tokens::secret());
        let refresh_end = now + REFRESH_LIFETIME;
        let place = Place { id: &id, family_id: &family_id, key: &tag_key, end: refresh_end, number: 1 };
        let refresh = answer.refresh(ACCESS_LIFETIME, &place, &tokens::fresh());
        answer.scope(&consent.scopes);
        let newest = Pair { access, refresh, access_end: now + ACCESS_LIFETIME, refresh_end };
        let family_id = family_id.digest();
        let grant = Grant { consent, newest, previous: None, family_id, tag_key, pairs_made: 1, revoked: false };
        self.grants.shard(&id).insert(id, grant);
        Some(answer.0)
    }

    /// Returns the next pair for a refresh token, or the newest pair again while the previous one is in grace.
    #[inline(never)]
    pub(crate) fn refresh(&self, bytes: &[u8], now: u32) -> Option<Vec<u8>> {
        let [grant_type, _, _, _, token, _, client, secret] = form::read(bytes, &TOKEN_FORM)?;
        if grant_type.as_deref() != Some(b"refresh_token") {
            return None;
        }
        let client = self.clients.proven(client.as_deref()?, secret.as_deref()?)?;
        let PresentedRefresh { id, family_id, fresh, digest, tag } = tokens::read_refresh(token.as_deref()?)?;
        let mut grants = self.grants.shard(&id);
        let grant = grants.get_mut(&id)?;
        let is_usable = |pair: &Pair| same(&pair.refresh, &digest) && now < pair.refresh_end;
        let is_newest = is_usable(&grant.newest);
        let link = match &grant.previous {
            _ if is_newest => tokens::link(),
            Some((previous, link)) if is_usable(previous) => *link,
            _ => {
                // The reuse of an old token revokes the grant.
                grant.revoked |= same(&grant.family_id, &family_id.digest()) && same(&grant.tag_key.tag(&digest), &tag);
                return None;
            }
        };
        if grant.consent.client != client || grant.revoked || !same(&grant.tag_key.tag(&digest), &tag) {
            return None;
        }
        if is_newest {
            grant.pairs_made += 1;
        }
        let Pair { access_end, refresh_end, .. } = grant.newest;
        let (access_end, end) =
            if is_newest { (now + ACCESS_LIFETIME, now + REFRESH_LIFETIME) } else { (access_end, refresh_end) };
        let (secret, fresh) = tokens::next(&fresh, &link);
        let mut answer = Answer::new(grant.consent.scopes.len());
        let access = answer.access(&id, &secret);
        let place = Place { id: &id, family_id: &family_id, key: &grant.tag_key, end, number: grant.pairs_made };
        let refresh = answer.refresh(access_end.saturating_sub(now), &place, &fresh);
        answer.scope(&grant.consent.scopes);
        if is_newest {
            let mut before = grant.newest;
            before.access_end = before.access_end.min(now + GRACE);
            before.refresh_end = before.refresh_end.min(now + GRACE);
            grant.previous = Some((before, link));
            grant.newest = Pair { access, refresh, access_end, refresh_end: end };
        }
        Some(answer.0)
    }

    /// Returns what the access token in an `Authorization` header grants.
    #[inline(never)]
    pub(crate) fn authenticate(&self, header: &[u8], now: u32) -> Option<Authenticated> {
        let (id, digest) = tokens::read(tokens::ACCESS, header.strip_prefix(b"Bearer ")?)?;
        let (consent, expires) = {
            let grants = self.grants.shard(&id);
            let grant = grants.get(&id)?;
            let is_usable = |pair: &&Pair| same(&pair.access, &digest) && now < pair.access_end;
            let pair = Some(&grant.newest)
                .filter(is_usable)
                .or_else(|| grant.previous.as_ref().map(|(pair, _)| pair).filter(is_usable))?;
            if grant.revoked {
                return None;
            }
            (grant.consent.clone(), pair.access_end)
        };
        self.clients.is_approved(consent.client).then_some(Authenticated { consent, expires })
    }

    /// Removes the grant that came from a code, so that a round leaves the table as large as it was.
    pub(crate) fn remove(&self, code: &str) {
        let (id, _) = tokens::read(tokens::CODE, code.as_bytes()).expect("a code");
        self.grants.shard(&id).remove(&id).expect("its grant");
    }
}

const TOKEN_FORM: [&[u8]; 8] = [
    b"grant_type",
    b"code",
    b"redirect_uri",
    b"code_verifier",
    b"refresh_token",
    b"scope",
    b"client_id",
    b"client_secret",
];

/// The JSON of a token response, written from front to back with the tokens drawn into it.
struct Answer(Vec<u8>);

impl Answer {
    fn new(scope: usize) -> Self {
        let mut json = Vec::with_capacity(300 + scope);
        json.extend_from_slice(b"{\"access_token\":\"");
        Self(json)
    }

    fn access(&mut self, id: &[u8; 16], secret: &[u8; 32]) -> [u8; 32] {
        tokens::write(&mut self.0, tokens::ACCESS, id, secret)
    }

    fn refresh(&mut self, expires_in: u32, place: &Place<'_>, fresh: &Fresh) -> [u8; 32] {
        self.0.extend_from_slice(b"\",\"token_type\":\"bearer\",\"expires_in\":");
        // Writing to a vector cannot fail.
        let _ = write!(self.0, "{expires_in}");
        self.0.extend_from_slice(b",\"refresh_token\":\"");
        tokens::write_refresh(&mut self.0, place, fresh)
    }

    fn scope(&mut self, scopes: &str) {
        self.0.extend_from_slice(b"\",\"scope\":\"");
        self.0.extend_from_slice(scopes.as_bytes());
        self.0.extend_from_slice(b"\"}");
    }
}
