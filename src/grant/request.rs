//! A token request: what an authenticated client sends, borrowed from the form [RFC 6749 section 3.2].
//!
//! An access token as a request presents it: opaque, or a JWT [RFC 9068]. Its record is found by either form.

use crate::base::clock::Timestamp;
use crate::base::id::GrantId;
use crate::context::Context;
use crate::context::uses::Uses;
use crate::error::Reason;
use crate::grant::jwt::TokenId;
use crate::jose::{Jwk, JwkThumbprint, Jws, access_jwt};
use crate::model::client::{Client, GrantType};
use crate::model::protected_resource::Named;
use crate::model::{Grant, TokenPair};
use crate::secret::{Digest, Presented};
use crate::wire::params::{Params, RESOURCE};

/// The parameters that a token request may contain, besides those of the client.
pub(crate) fn parameters() -> impl Iterator<Item = &'static str> {
    let own = GrantType::ALL.iter().flat_map(|grant_type| grant_type.parameters()).copied();
    ["grant_type"].into_iter().chain(own).chain(["scope", RESOURCE])
}

/// What an authenticated client sends to the token endpoint.
#[derive(Clone, Copy)]
pub(crate) struct TokenRequest<'a> {
    pub(crate) client: &'a Client,
    /// The key of the DPoP proof.
    pub(crate) key: Option<&'a JwkThumbprint>,
    pub(crate) uses: Option<&'a Uses>,
    /// The parameters of the grant types; each reads its own.
    pub(crate) form: &'a Params<'a>,
    pub(crate) scope: Option<&'a [u8]>,
    pub(crate) resources: Named<'a>,
}

impl<'a> TokenRequest<'a> {
    pub(crate) fn read(
        client: &'a Client,
        key: Option<&'a JwkThumbprint>,
        uses: &'a Uses,
        form: &'a Params<'a>,
    ) -> Self {
        Self { client, key, uses: Some(uses), form, scope: form.bytes("scope"), resources: Named::of(form) }
    }

    /// Returns a parameter that the grant type needs.
    ///
    /// # Errors
    ///
    /// [`Reason::MissingParameter`].
    pub(crate) fn required(&self, name: &'static str) -> Result<&'a [u8], Reason> {
        self.form.bytes(name).ok_or(Reason::MissingParameter(name))
    }

    /// Records that the assertion and the proof of the request are used. Every grant type calls it before its first
    /// write, and before it returns a token.
    ///
    /// # Errors
    ///
    /// As [`Uses::record`].
    pub(crate) async fn record_uses(&self, context: &Context) -> Result<(), Reason> {
        match self.uses {
            Some(uses) => uses.record(context).await,
            None => Ok(()),
        }
    }

    /// A request without parameters.
    #[cfg(test)]
    pub(crate) const fn of(client: &'a Client) -> Self {
        Self { client, key: None, uses: None, form: Params::NONE, scope: None, resources: Named::NONE }
    }
}

/// An access token that has the form of this server's tokens. A JWT has a valid signature. It may not exist: only the
/// record shows that.
pub(crate) struct PresentedAccess {
    /// The grant that it names.
    pub(crate) grant: GrantId,
    form: Form,
}

enum Form {
    Opaque(Digest),
    /// A JWT with a valid signature.
    Jwt {
        id: TokenId,
        issued: Timestamp,
    },
}

impl PresentedAccess {
    /// Reads a token; `None` if it cannot be one of this server.
    pub(crate) fn read(context: &Context, token: &[u8]) -> Option<Self> {
        Self::read_with(context, token, || context.signing_keys.published(context.now()))
    }

    /// Reads a token that is to be revoked. It may have been signed with a key that was dropped: whoever logs out has
    /// nothing better.
    pub(crate) fn read_to_revoke(context: &Context, token: &[u8]) -> Option<Self> {
        Self::read_with(context, token, || context.signing_keys.all())
    }

    /// Fails if the token is a JWT of a key that this process does not have, and may have been issued under newer
    /// settings, whose key set has it. The signature cannot be verified, so nothing else is concluded from the token.
    ///
    /// # Errors
    ///
    /// [`Reason::NewerSettings`] if a grant that was written under newer settings has a live token of that `jti`; the
    /// store's error.
    pub(crate) async fn check_newer_settings(context: &Context, token: &[u8]) -> Result<(), Reason> {
        let Some(jws) = access_jwt::parse(token) else { return Ok(()) };
        let is_known = context.signing_keys.all().any(|key| key.key_id() == jws.key_id());
        let named = Self::named(context, &jws).filter(|_| !is_known);
        let Some(named) = named else { return Ok(()) };
        let Some(grant) = context.stores.tokens.find(&named.grant).await? else { return Ok(()) };
        let is_newer = grant.terms.revision() > context.config.revision;
        let is_live = || named.digest_in(&grant).is_some_and(|own| grant.live_access(&own, context.now()).is_some());
        if is_newer && is_live() { Err(Reason::NewerSettings) } else { Ok(()) }
    }

    /// The signature of a JWT is verified before its record is read, because its `jti` is no secret.
    fn read_with<'k, K: Iterator<Item = &'k Jwk>>(
        context: &Context,
        token: &[u8],
        keys: impl FnOnce() -> K,
    ) -> Option<Self> {
        if let Some(Presented { id, digest }) = Presented::parse(&context.prefixes.access_token, token) {
            return Some(Self { grant: GrantId::from_bytes(id), form: Form::Opaque(digest) });
        }
        let jws = access_jwt::parse(token)?;
        let named = Self::named(context, &jws)?;
        let kid = jws.key_id()?;
        let key = keys().find(|key| key.key_id() == Some(kid))?;
        access_jwt::is_signed(&jws, key).then_some(named)
    }

    /// Returns what the claims of a JWT name, before its signature is verified.
    fn named(context: &Context, jws: &Jws<'_>) -> Option<Self> {
        let text = |name| jws.claims().text(name).ok().flatten();
        if text("iss")? != context.config.issuer {
            return None;
        }
        let (grant, id) = TokenId::read(text("jti")?)?;
        let issued = Timestamp::from_seconds(u32::try_from(jws.claims().time("iat").ok()??).ok()?);
        Some(Self { grant, form: Form::Jwt { id, issued } })
    }

    /// Returns the digest of its record in the grant that it names. For a JWT it is `None` if the grant has no such
    /// record.
    pub(crate) fn digest_in(&self, grant: &Grant) -> Option<Digest> {
        let (id, issued) = match &self.form {
            Form::Opaque(digest) => return Some(*digest),
            Form::Jwt { id, issued } => (id, *issued),
        };
        let accesses = grant.pairs.iter().flat_map(TokenPair::accesses);
        accesses.filter(|access| access.issued == issued).map(|access| access.digest).find(|digest| id.is_of(digest))
    }
}
