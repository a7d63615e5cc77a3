//! `private_key_jwt`: the client sends an assertion that it signed with its private key [RFC 7523 section 2.2].

use std::net::IpAddr;
use std::sync::Arc;

use crate::client_auth::assertion;
use crate::client_auth::credentials::{Credentials, Evidence, Presented, Reading};
use crate::context::Context;
use crate::error::Reason;
use crate::error::failure::KeySetError;
use crate::fetch::key_sets::FetchedSet;
use crate::hooks::{Attempt, Event};
use crate::jose::{Jwk, Jws, SigningAlgorithm};
use crate::model::Replay;
use crate::model::client::{Client, ClientKeys};

pub(super) const ASSERTION: &str = "client_assertion";
pub(super) const ASSERTION_TYPE: &str = "client_assertion_type";

/// The only type of assertion [RFC 7523 section 2.2].
const JWT_BEARER: &[u8] = b"urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// How many keys are tried if the header has no `kid`. Each of them costs one signature check.
const MAX_TRIES: usize = 4;

pub(super) fn read<'a>(presented: &Presented<'a>) -> Result<Credentials<'a>, Reason> {
    let bytes = |name| presented.form.bytes(name).ok_or(Reason::MissingParameter(name));
    let (assertion, assertion_type) = (bytes(ASSERTION)?, bytes(ASSERTION_TYPE)?);
    if assertion_type != JWT_BEARER {
        return Err(Reason::UnsupportedAuthentication);
    }
    let assertion = assertion::read(assertion, presented.config).map_err(Reason::MalformedAssertion)?;
    let id = assertion::client(&assertion).map_err(Reason::MalformedAssertion)?.to_owned();
    Ok(Credentials::one(Reading { id: id.into(), evidence: Evidence::Assertion(Box::new(assertion)) }))
}

/// Verifies the assertion of a client that is registered for the method, and returns the record of its use. What can be
/// checked without the key is checked first, so that nothing is fetched for an assertion that is refused anyway.
pub(crate) async fn verify(
    context: &Context,
    attempt: &Attempt<'_>,
    client: &Client,
    assertion: &Jws<'_>,
) -> Result<Replay, Reason> {
    let replay = assertion::judge(assertion, client, attempt.endpoint, &context.config, context.now());
    let replay = replay.map_err(Reason::ClientAssertion)?;
    let algorithm = assertion.algorithm();
    let registered = client.form.options.signing_algorithm;
    if registered.is_some_and(|registered| registered != algorithm) {
        return Err(refused("alg is not the registered one"));
    }
    let rule = KeyRule { key_id: assertion.key_id(), algorithm, has_registered_it: registered.is_some() };
    match &client.form.keys {
        None => Err(refused("the client has no keys")),
        Some(ClientKeys::Set(set)) => rule.verify(assertion, set.keys()).map_err(NotSigned::reason),
        Some(ClientKeys::Url(url)) => verify_by_url(context, attempt.peer, client, url, assertion, rule).await,
    }?;
    Ok(replay)
}

/// > a JWK Set document [...] containing the client's public keys
///
/// [RFC 7591 section 2]. If no key of the cached set can have made the signature, the client may have published a new
/// key since.
async fn verify_by_url(
    context: &Context,
    peer: Option<IpAddr>,
    client: &Client,
    url: &str,
    assertion: &Jws<'_>,
    rule: KeyRule<'_>,
) -> Result<(), Reason> {
    let sets = context.key_sets.as_ref().ok_or_else(|| Reason::KeysUnavailable(Arc::new(KeySetError::NoFetcher)))?;
    let set = sets.get(client.into(), url, peer).await.map_err(Reason::KeysUnavailable)?;
    report(context, client, &set);
    let not_signed = match rule.verify(assertion, set.keys()) {
        Ok(()) => return Ok(()),
        Err(not_signed) => not_signed,
    };
    if !rule.may_be_by_a_newer_key(not_signed) {
        return Err(not_signed.reason());
    }
    let newer = sets.newer(client.into(), url, &set, peer).await.ok_or_else(|| not_signed.reason())?;
    report(context, client, &newer);
    rule.verify(assertion, newer.keys()).map_err(NotSigned::reason)
}

fn report(context: &Context, client: &Client, set: &FetchedSet) {
    let keys = set.newly_left_out();
    if keys > 0 {
        context.raise(&Event::KeysLeftOut { client: &client.id, keys });
    }
}

/// Which keys of a set may have signed an assertion.
#[derive(Clone, Copy, Debug)]
struct KeyRule<'a> {
    key_id: Option<&'a str>,
    algorithm: SigningAlgorithm,
    /// Whether the algorithm is the client's `token_endpoint_auth_signing_alg`.
    has_registered_it: bool,
}

impl KeyRule<'_> {
    /// Verifies the signature with the keys that this rule admits.
    fn verify(self, assertion: &Jws<'_>, keys: &[Jwk]) -> Result<(), NotSigned> {
        let mut candidates = keys.iter().filter(|key| self.admits(key));
        let tried: Vec<_> = candidates.by_ref().take(MAX_TRIES).collect();
        if candidates.next().is_some() {
            return Err(NotSigned::TooManyKeys);
        }
        if tried.is_empty() {
            return Err(NotSigned::NoKey);
        }
        let is_signed = tried.iter().any(|key| assertion.is_signed_by(key, self.algorithm));
        if is_signed { Ok(()) } else { Err(NotSigned::WrongSignature) }
    }

    /// Whether the key has the `kid` of the header, and is for the algorithm. Without a registered algorithm, it must
    /// be that of the key: its `alg`, or else the default of its type.
    fn admits(self, key: &Jwk) -> bool {
        let is_named = self.key_id.is_none_or(|key_id| key.key_id() == Some(key_id));
        is_named && key.fits(self.algorithm) && (self.has_registered_it || key.algorithm() == self.algorithm)
    }

    /// Whether a newer set may have the key: the `kid` is unknown, or there is none.
    fn may_be_by_a_newer_key(self, not_signed: NotSigned) -> bool {
        match not_signed {
            NotSigned::NoKey => true,
            NotSigned::WrongSignature => self.key_id.is_none(),
            NotSigned::TooManyKeys => false,
        }
    }
}

/// Why no key of a set signed an assertion.
#[derive(Clone, Copy, Debug)]
enum NotSigned {
    /// No key has that `kid` and fits the algorithm.
    NoKey,
    /// More than [`MAX_TRIES`] keys fit.
    TooManyKeys,
    WrongSignature,
}

impl NotSigned {
    fn reason(self) -> Reason {
        refused(match self {
            Self::NoKey => "no key of the client has that kid and fits alg",
            Self::TooManyKeys => "more than four keys of the client fit; kid must name one",
            Self::WrongSignature => "the signature is wrong",
        })
    }
}

fn refused(why: &'static str) -> Reason {
    Reason::ClientAssertion(why.into())
}
