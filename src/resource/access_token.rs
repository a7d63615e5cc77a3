//! Evaluates a presented access token: the check at a resource and introspection both use it.

use std::sync::Arc;

use memchr::memchr2;

use crate::base::clock::Timestamp;
use crate::base::id::Subject;
use crate::config::{Config, DpopBoundTokens};
use crate::context::Context;
use crate::error::Reason;
use crate::grant::request::PresentedAccess;
use crate::jose::JwkThumbprint;
use crate::model::client::{Client, GrantType};
use crate::model::protected_resource::Audience;
use crate::model::{AccessRecord, Grant};
use crate::scope::{ResourceScope, ScopeSet};
use crate::secret::Digest;
use crate::wire::Request;
use crate::wire::params::Params;
use crate::wire::request::{HeaderLine, split_scheme};
use crate::wire::response::TokenScheme;

/// An access token that may be used: by which client, for whom, for what, and until when.
#[derive(Clone, Debug)]
pub(crate) struct UsableToken {
    pub(crate) grant: Arc<Grant>,
    pub(crate) client: Arc<Client>,
    pub(crate) access: AccessRecord,
}

/// Looks up a token. Returns `None` for anything but a live access token.
///
/// # Errors
///
/// The store's error; [`Reason::ClockDiffers`] for a token that would be valid if the clocks did not differ, and
/// [`Reason::NewerSettings`] for one that may be valid under newer settings.
pub(crate) async fn find(context: &Context, token: &[u8]) -> Result<Option<UsableToken>, Reason> {
    let Some(presented) = PresentedAccess::read(context, token) else {
        return PresentedAccess::check_newer_settings(context, token).await.map(|()| None);
    };
    let Some(grant) = context.stores.tokens.find(&presented.grant).await? else { return Ok(None) };
    let Some(digest) = presented.digest_in(&grant) else { return Ok(None) };
    let now = context.now();
    let Some(access) = genuine(&grant, &digest, now).cloned() else { return Ok(None) };
    // A token without a key may have been issued before the setting.
    if access.key().is_none() && context.config.dpop.tokens == DpopBoundTokens::Required {
        return Ok(None);
    }
    let client = context.client_of(&grant.client, grant.epoch).await?;
    let Some(client) = client.filter(|client| is_served(client, &grant)) else { return Ok(None) };
    let token = UsableToken { grant, client, access };
    if !context.resources.covers_any(token.audience(), &token.client) {
        let is_newer = token.grant.terms.revision() > context.config.revision;
        return if is_newer { Err(Reason::NewerSettings) } else { Ok(None) };
    }
    Reason::clock_differs(token.issued(), now).map_or(Ok(Some(token)), Err)
}

/// Returns the record of a token that may be used now, or could be if the clocks did not differ. It does not check the
/// client.
fn genuine<'g>(grant: &'g Grant, digest: &Digest, now: Timestamp) -> Option<&'g AccessRecord> {
    grant.live_access(digest, now).filter(|access| access.issued.may_have_come(now))
}

/// Returns whether the grant's client may use its tokens now.
fn is_served(client: &Client, grant: &Grant) -> bool {
    let may_act = grant.subject.is_some() || client.form.grant_types.contains(GrantType::ClientCredentials);
    client.is_approved() && client.has_revoked(grant.epoch) == Ok(false) && may_act
}

impl UsableToken {
    /// The user on whose behalf the client acts; `None` if it acts for itself.
    pub(crate) fn subject(&self) -> Option<&Subject> {
        self.grant.subject()
    }

    /// The protected resources that the token is for, even those that are no longer in the settings.
    pub(crate) fn audience(&self) -> &Audience {
        self.grant.audience_of(&self.access)
    }

    /// The scopes of the token, as far as the client may still have them.
    pub(crate) fn scopes(&self) -> ScopeSet {
        self.grant.scopes_left(&self.access, &self.client)
    }

    /// The resources that the user granted, and those that the client may still have.
    pub(crate) fn resources(&self) -> [&ResourceScope; 2] {
        self.grant.resources_left(&self.client)
    }

    /// The key that the token is bound to. A request with the token must prove possession of the key [RFC 9449 section
    /// 6].
    pub(crate) fn key(&self) -> Option<&JwkThumbprint> {
        self.access.key()
    }

    pub(crate) const fn issued(&self) -> Timestamp {
        self.access.issued
    }

    pub(crate) const fn end(&self) -> Timestamp {
        self.access.end
    }
}

/// Returns the bearer token, if there is one.
pub(crate) fn in_header<'a>(request: &Request<'a>) -> Result<Option<&'a [u8]>, Reason> {
    token(request, |scheme| scheme == TokenScheme::Bearer).map(|token| token.map(|(_, token)| token))
}

/// § 2.1: the scheme in any letter case, then exactly one token of the allowed characters. A header with a scheme that
/// is not accepted counts as none.
pub(crate) fn token<'a>(
    request: &Request<'a>,
    is_accepted: impl Fn(TokenScheme) -> bool,
) -> Result<Option<(TokenScheme, &'a [u8])>, Reason> {
    let header = match request.authorization {
        HeaderLine::Absent => return Ok(None),
        HeaderLine::One(header) => header,
        HeaderLine::Several => return Err(Reason::MalformedBearer),
    };
    let (scheme, rest) = split_scheme(header);
    let Some(scheme) = TokenScheme::named(scheme).filter(|scheme| is_accepted(*scheme)) else { return Ok(None) };
    let token = rest.trim_ascii();
    // No token of this server has characters that § 2.1 does not allow.
    let is_one = !token.is_empty() && memchr2(b' ', b'\t', token).is_none();
    if is_one { Ok(Some((scheme, token))) } else { Err(Reason::MalformedBearer) }
}

/// Returns the access token of a request with its scheme: that of the header, or of a form that may have one.
///
/// > Clients MUST NOT use more than one method to transmit the token in each request.
///
/// [RFC 6750 section 2]
pub(crate) fn presented<'a>(
    config: &Config,
    request: &Request<'a>,
    form: Option<&'a Params<'_>>,
) -> Result<(TokenScheme, &'a [u8]), Reason> {
    let is_accepted = |scheme| scheme == TokenScheme::Bearer || config.dpop.reads_proofs();
    match (token(request, is_accepted)?, form.and_then(|form| form.bytes("access_token"))) {
        (Some(_), Some(_)) => Err(Reason::MalformedBearer),
        (Some(in_header), None) => Ok(in_header),
        (None, Some(in_form)) => Ok((TokenScheme::Bearer, in_form)),
        (None, None) => Err(Reason::NoAccessToken),
    }
}

/// Returns the scheme whose challenge gets the error: the scheme of the header, even if the header is malformed. A
/// token in the body is a bearer token.
pub(crate) fn scheme(request: &Request<'_>) -> TokenScheme {
    let HeaderLine::One(header) = request.authorization else { return TokenScheme::Bearer };
    TokenScheme::named(split_scheme(header).0).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grant::fixtures::{Line, at, client, scopes};
    use crate::model::Restrictions;
    use crate::model::client::ClientState;

    fn usable<'g>(grant: &'g Grant, digest: &Digest, now: Timestamp) -> Option<&'g AccessRecord> {
        genuine(grant, digest, now).filter(|access| access.issued.has_come(now))
    }

    #[test]
    fn an_access_token_is_live_until_its_end() {
        type Change = fn(Line) -> Line;
        let alone: Change = |mut line| {
            let access = line.access[0];
            line.grant.pairs.revoke_access(&access);
            line
        };
        let rows: [(&str, Change, u32, Option<u32>); 9] = [
            ("new", |line| line, 0, Some(28_800)),
            ("last second", |line| line, 28_799, Some(28_800)),
            ("expired", |line| line, 28_800, None),
            ("in grace", |line| line.refreshed(100), 399, Some(400)),
            ("past grace", |line| line.refreshed(100), 400, None),
            ("own end before the grace's", |line| line.refreshed(28_700), 28_799, Some(28_800)),
            ("left the record", |line| line.refreshed(100).without_superseded(), 100, None),
            ("revoked alone", alone, 0, None),
            ("of a revoked grant", Line::revoked, 0, None),
        ];
        for (state, change, seconds, end) in rows {
            let line = change(Line::new());
            let access = usable(&line.grant, &line.access[0], at(seconds));
            assert_eq!(access.map(|access| access.end), end.map(at), "{state}");
        }
        let line = Line::new();
        assert!(usable(&line.grant, &Digest::of(b"another"), at(0)).is_none());
    }

    #[test]
    fn a_further_access_token_has_its_own_scope_and_end() {
        let mut line = Line::new();
        let digest = Digest::of(b"further");
        let audience = Audience::new(["https://api.example"]);
        let key = Some(JwkThumbprint::from_bytes([7; 32]));
        let restrictions =
            Restrictions { revoked: false, scopes: Some(scopes("repo-code:r")), audience: audience.clone(), key };
        let further = AccessRecord::new(digest, at(50), at(60), restrictions);
        line.grant.pairs.newest.as_mut().unwrap().further = [further].into_iter().collect();
        let access = usable(&line.grant, &digest, at(59)).unwrap();
        assert_eq!((access.issued, access.end, access.scopes()), (at(50), at(60), Some(&scopes("repo-code:r"))));
        assert_eq!((access.audience(), access.key()), (Some(&audience), key.as_ref()));
        assert!(usable(&line.grant, &digest, at(60)).is_none());
        line.grant.pairs.revoke_access(&digest);
        assert!(usable(&line.grant, &digest, at(59)).is_none());
        assert!(usable(&line.grant, &line.access[0], at(59)).is_some());
    }

    /// 9449-5-04
    #[test]
    fn in_grace_every_token_keeps_its_key() {
        let keys = [1, 2].map(|byte| JwkThumbprint::from_bytes([byte; 32]));
        let mut line = Line::new();
        let bind = |line: &mut Line, key| {
            let AccessRecord { digest, issued, end, .. } = line.grant.pairs.newest.clone().unwrap().access;
            let restrictions = Restrictions { key: Some(key), ..Restrictions::default() };
            let access = AccessRecord::new(digest, issued, end, restrictions);
            line.grant.pairs.newest.as_mut().unwrap().access = access;
        };
        bind(&mut line, keys[0]);
        let mut line = line.refreshed(100);
        bind(&mut line, keys[1]);
        let key_of =
            |line: &Line, number: usize| usable(&line.grant, &line.access[number], at(101)).unwrap().key().copied();
        assert_eq!((key_of(&line, 0), key_of(&line, 1)), (Some(keys[0]), Some(keys[1])));
        let unbound = line.refreshed(101);
        assert_eq!((key_of(&unbound, 1), key_of(&unbound, 2)), (Some(keys[1]), None));
    }

    /// CLK-02
    #[test]
    fn an_access_token_of_the_future_is_dead_until_then() {
        let line = Line::new();
        let is_genuine = |now| genuine(&line.grant, &line.access[0], now).is_some();
        let is_live = |now| usable(&line.grant, &line.access[0], now).is_some();
        let before = |seconds| Timestamp::from_seconds(at(0).seconds() - seconds);
        assert!(!is_genuine(before(864_000)) && !is_genuine(before(901)));
        assert!(is_genuine(before(900)) && is_genuine(before(61)) && !is_live(before(61)));
        assert!(is_live(before(60)) && is_live(at(0)));
    }

    #[test]
    fn a_client_is_served_while_it_is_approved() {
        let line = Line::new();
        for (state, epoch, expected) in [
            (ClientState::Approved, 0, true),
            (ClientState::Approved, 1, false),
            (ClientState::Suspended, 0, false),
            (ClientState::Pending, 0, false),
            (ClientState::Rejected, 0, false),
        ] {
            let mut client = client("own");
            (client.state, client.epoch) = (state, epoch);
            assert_eq!(is_served(&client, &line.grant), expected, "{state:?}, {epoch}");
        }
    }
}
