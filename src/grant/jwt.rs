//! Writes access tokens as JWTs [RFC 9068 section 2].
//!
//! The claims depend on the record alone: if a record is signed twice, both tokens have the same claims, and nothing
//! more is stored. A token is signed after the judgement and before the write, so a signer that fails changes nothing.

use serde::Serialize;
use zeroize::Zeroizing;

use crate::base::base64url;
use crate::base::id::{GrantId, ID_BYTES};
use crate::claim::Contended;
use crate::context::Context;
use crate::context::signing_keys::Signing;
use crate::error::Reason;
use crate::error::failure::SignerError;
use crate::grant::issue::{ACCESS_TOKEN, DescribedToken, Issued, SignedMember};
use crate::hooks::{Event, TokenContext};
use crate::jose::access_jwt::CLIENT_SUBJECT;
use crate::model::client::Client;
use crate::model::grant_data::GrantData;
use crate::model::{AccessRecord, Grant};
use crate::secret::Digest;
use crate::store::StoreError;
use crate::wire::message::Confirmation;

/// The claims [RFC 9068 section 2.2].
#[derive(Serialize)]
struct Claims<'a> {
    iss: &'a str,
    sub: String,
    aud: &'a str,
    client_id: &'a str,
    iat: u32,
    exp: u32,
    jti: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cnf: Option<Confirmation>,
    resource_scope: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    resources: Option<Vec<String>>,
}

/// How long a signer may take, in seconds. A token of 60 s and a grace of 60 s are not used up by it.
const MAX_SECONDS: u32 = 10;
const SLOW: &str = "the signer took more than 10 s";

/// What a claim has signed so far. If the next attempt has the same claims, and the same key signs, the token is signed
/// no second time.
pub(crate) struct Signed {
    claims: Vec<u8>,
    /// What the hook was asked last.
    asked: Option<Asked>,
    key_id: Option<Box<str>>,
    token: Option<Zeroizing<String>>,
    /// How many more tokens may be signed.
    left: u32,
}

/// The claims of the service, as JSON, for a token with these claims of the library. The hook is asked again only if
/// the record has changed, so one that does not return the same claims twice costs no more signatures.
struct Asked {
    library: Vec<u8>,
    data: Option<GrantData>,
    own: Vec<u8>,
}

impl Signed {
    /// Nothing is signed yet, and at most so many tokens will be.
    pub(crate) const fn at_most(max: u32) -> Self {
        Self { claims: Vec::new(), asked: None, key_id: None, token: None, left: max }
    }
}

/// Signs the access token that was issued, if its resource has JWTs. `grant` has its record. A token that would be too
/// long stays opaque. Returns whether a signer was called.
///
/// # Errors
///
/// [`Reason::Claims`] if the claims of the service were refused; [`Reason::Signing`] if it could not be signed;
/// [`Contended`], as a transient store error, if no more tokens may be signed.
pub(crate) async fn sign(
    context: &Context,
    grant: &Grant,
    client: &Client,
    issued: &mut Issued,
    signed: &mut Signed,
) -> Result<bool, Reason> {
    issued.signed.clear();
    if !context.config.issues_jwts() {
        return Ok(false);
    }
    let Some(access) = grant.pairs.with_access(&issued.access_token.digest) else { return Ok(false) };
    let Some(claims) = claims(context, grant, client, access, &mut signed.asked)? else { return Ok(false) };
    let (jwt, has_signed) = sign_claims(context, Signing::AccessToken, claims, client, signed).await?;
    issued.signed.extend(jwt.map(|jwt| SignedMember { name: ACCESS_TOKEN, jwt }));
    Ok(has_signed)
}

/// Signs claims, unless the last attempt of the request has signed the same with the same key. Also returns whether a
/// signer was called. There is no token if it would be too long.
///
/// # Errors
///
/// As [`sign`].
pub(crate) async fn sign_claims(
    context: &Context,
    what: Signing,
    claims: Vec<u8>,
    client: &Client,
    signed: &mut Signed,
) -> Result<(Option<Zeroizing<String>>, bool), Reason> {
    let began = context.now();
    let key_id = context.signing_keys.key_id(what, began);
    if signed.token.is_some() && signed.claims == claims && signed.key_id.as_deref() == key_id {
        return Ok((signed.token.clone(), false));
    }
    let left = signed.left.checked_sub(1).ok_or_else(|| StoreError::transient(Contended))?;
    let token = context.signing_keys.sign(what, &claims, began).await;
    let was_slow = context.now().seconds_since(began) > MAX_SECONDS;
    match token.and_then(|token| if was_slow { Err(SignerError::new(SLOW)) } else { Ok(token) }) {
        Ok(None) => Ok((None, false)),
        Ok(Some(token)) => {
            (signed.claims, signed.key_id) = (claims, key_id.map(Into::into));
            (signed.token, signed.left) = (Some(token.into()), left);
            Ok((signed.token.clone(), true))
        }
        Err(error) => {
            context.raise(&Event::SigningFailed { client: &client.id, error: &error });
            Err(Reason::Signing(error))
        }
    }
}

/// Returns the claims as JSON; `None` if the token is opaque.
///
/// A token may have been issued as opaque before the settings changed. It is returned again in grace, and stays opaque
/// if it ends later than a JWT may. The same goes for a token of a user whose name begins with `client:`.
fn claims(
    context: &Context,
    grant: &Grant,
    client: &Client,
    access: &AccessRecord,
    asked: &mut Option<Asked>,
) -> Result<Option<Vec<u8>>, Reason> {
    let seen = context.resources.seen(grant.audience_of(access), client, |_| true);
    let [entry] = seen.entries() else { return Ok(None) };
    if !entry.settings.has_jwts() || access.end > access.issued.plus(context.config.tokens.jwt_lifetime) {
        return Ok(None);
    }
    let sub = match grant.subject() {
        Some(user) if user.as_str().starts_with(CLIENT_SUBJECT) => return Ok(None),
        Some(user) => user.to_string(),
        None => format!("{CLIENT_SUBJECT}{}", client.id),
    };
    let Some(described) = DescribedToken::of(context, grant, client, access, &seen) else { return Ok(None) };
    let claims = Claims {
        iss: &context.config.issuer,
        sub,
        aud: &entry.settings.identifier,
        client_id: client.id.as_str(),
        iat: access.issued.seconds(),
        exp: access.end.seconds(),
        jti: TokenId::of(&access.digest).to_jti(&grant.id),
        scope: described.scope(context),
        cnf: access.key().copied().map(Confirmation::by_key),
        resource_scope: described.resources.as_str(),
        resources: described.resource_names(),
    };
    let Ok(mut json) = serde_json::to_vec(&claims) else { return Ok(None) };
    if context.claims.is_none() {
        return Ok(Some(json));
    }
    let data = grant.data_of(client);
    let asked = match asked.take().filter(|asked| asked.library == json && asked.data.as_ref() == data) {
        Some(same) => asked.insert(same),
        None => {
            let (subject, audience, scopes) = (grant.subject(), &[&*entry.settings.identifier], &described.scopes);
            let token = TokenContext { grant: grant.id, data, client, subject, audience, scopes };
            let (_, own) = context.own_claims(&token)?;
            asked.insert(Asked { library: json.clone(), data: data.cloned(), own })
        }
    };
    // Two objects without a common name become one.
    if let Some((_, own)) = asked.own.split_first().filter(|_| asked.own.len() > 2) {
        json.pop();
        json.push(b',');
        json.extend(own);
    }
    Ok(Some(json))
}

/// The length of a [`TokenId`] in bytes.
const TOKEN_ID_BYTES: usize = 16;
/// Separates these digests from all others.
const LABEL: &[u8] = b"access token jti";

/// The part of a `jti` that distinguishes the access tokens of a grant. The token cannot be derived from it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct TokenId([u8; TOKEN_ID_BYTES]);

impl TokenId {
    fn of(access: &Digest) -> Self {
        Self(Digest::of(&[LABEL, access.bytes()].concat()).first_bytes())
    }

    /// Returns whether it is that of the access token with that digest.
    pub(crate) fn is_of(&self, access: &Digest) -> bool {
        *self == Self::of(access)
    }

    /// Returns the `jti`: grant id and token id in base64url.
    fn to_jti(self, grant: &GrantId) -> String {
        base64url::encode(&[grant.as_bytes().as_slice(), &self.0].concat())
    }

    /// Reads a `jti`.
    pub(crate) fn read(jti: &str) -> Option<(GrantId, Self)> {
        let bytes = base64url::decode(jti)?;
        let (grant, id) = bytes.split_at_checked(ID_BYTES)?;
        Some((GrantId::from_bytes(grant.try_into().ok()?), Self(id.try_into().ok()?)))
    }
}
