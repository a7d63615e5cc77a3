//! What an authorization request asks for, and whether the client may ask for it. The same rules apply to a pushed
//! request [RFC 6749 section 4.1.1, RFC 9126 section 2.1].

use std::sync::Arc;

use crate::authorization::identity_request::{self, IdentityRequest};
use crate::config::{Config, StateCharacters};
use crate::context::Context;
use crate::error::Reason;
use crate::jose::JwkThumbprint;
use crate::model::STATE_BYTES;
use crate::model::client::{Client, GrantType};
use crate::model::protected_resource::{Named, OFFLINE_ACCESS, ProtectedResource, Target};
use crate::model::redirect_uri::{RedirectUri, RedirectUriError};
use crate::model::terms::Terms;
use crate::scope::{OPENID, ScopeError, ScopeSet};
use crate::secret::pkce::CodeChallenge;
use crate::wire::params::{Params, RESOURCE, parameters_named};

/// The thumbprint of the key that the code is bound to [RFC 9449 section 10].
const DPOP_JKT: &str = "dpop_jkt";

/// The parameters of OAuth. The last one is that of DPoP.
const OF_OAUTH: [&str; 9] = [
    "response_type",
    "client_id",
    "redirect_uri",
    "state",
    "scope",
    "code_challenge",
    "code_challenge_method",
    RESOURCE,
    DPOP_JKT,
];

const ALL: [&str; identity_request::NAMES.len() + OF_OAUTH.len()] = {
    let mut all = [""; identity_request::NAMES.len() + OF_OAUTH.len()];
    let (of_identity, of_oauth) = all.split_at_mut(identity_request::NAMES.len());
    of_identity.copy_from_slice(&identity_request::NAMES);
    of_oauth.copy_from_slice(&OF_OAUTH);
    all
};

/// The parameters that are read. Only these are stored for a pushed request. Those of what is switched off are unknown
/// parameters.
pub(crate) fn names(config: &Config) -> &'static [&'static str] {
    const NAMES: [&[&str]; 2] = [&OF_OAUTH, &ALL];
    let [of_oauth, all] = NAMES;
    let names = if config.has_identity() { all } else { of_oauth };
    if config.dpop.reads_proofs() { names } else { names.split_last().map_or(names, |(_, others)| others) }
}

/// Returns whether a request wants a page where OpenID Connect is off. Apart from that, `prompt` is an unknown
/// parameter then: no value of it is an error.
///
/// > consent: The Authorization Server SHOULD prompt the End-User for consent before returning information to the
/// > Client.
///
/// [OpenID Connect Core section 3.1.2.1]
pub(crate) fn wants_page(parameters: &[u8]) -> bool {
    !matches!(&*parameters_named(parameters, &["prompt"]), b"" | b"prompt" | b"prompt=" | b"prompt=none")
}

/// What is kept of `prompt` in a pushed request that [wants a page](wants_page).
pub(crate) const WANTS_PAGE: &str = "&prompt=consent";

/// What a client asks for, after all checks.
pub(crate) struct Asked {
    pub(crate) challenge: Option<CodeChallenge>,
    /// The key that the code will be bound to.
    pub(crate) key: Option<JwkThumbprint>,
    pub(crate) terms: Terms,
    /// What it says about the sign-in; `None` while OpenID Connect is off.
    pub(crate) identity: Option<IdentityRequest>,
    /// Whether the request named scopes that were left out.
    pub(crate) has_dropped_scopes: bool,
    pub(crate) protected_resources: Vec<Arc<ProtectedResource>>,
}

/// Why a request with an established redirect URI is refused.
pub(crate) enum Fault {
    /// In one of the parameters that belong to the service.
    OfServiceParameter(Reason),
    /// In anything else.
    Other(Reason),
}

impl Fault {
    pub(crate) fn into_reason(self) -> Reason {
        match self {
            Self::OfServiceParameter(reason) | Self::Other(reason) => reason,
        }
    }
}

impl From<Reason> for Fault {
    fn from(reason: Reason) -> Self {
        Self::Other(reason)
    }
}

/// Why there is no redirect URI to send a response to.
pub(crate) enum NoDestination<'a> {
    Missing,
    Refused(&'a [u8], RedirectUriError),
}

/// § 3.1.2.3: one of the registered ones; if only one is registered, it may be left out.
pub(crate) fn redirect_uri<'a>(
    context: &Context,
    client: &'a Client,
    query: &'a Params<'_>,
) -> Result<RedirectUri, NoDestination<'a>> {
    let policy = &*context.config.redirect_uris_of(client);
    let Some(requested) = query.bytes("redirect_uri") else {
        return match client.form.redirect_uris.as_slice() {
            [only] => only.stand_in(policy).map_err(|error| NoDestination::Refused(only.as_str().as_bytes(), error)),
            _ => Err(NoDestination::Missing),
        };
    };
    let mut failure = RedirectUriError::Mismatch;
    for registered in &client.form.redirect_uris {
        match registered.matches(requested, policy) {
            Ok(accepted) => return Ok(accepted),
            Err(error) => failure = error,
        }
    }
    Err(NoDestination::Refused(requested, failure))
}

/// Checks everything except client and redirect URI, in a fixed order.
pub(crate) fn judge(context: &Context, client: &Client, query: &Params<'_>) -> Result<Asked, Fault> {
    state(context, query).map_err(Fault::OfServiceParameter)?;
    response_type(query).map_err(Fault::OfServiceParameter)?;
    if let Some(name) = query.first_repeated() {
        return Err(Reason::RepeatedParameter(name).into());
    }
    if !client.form.grant_types.contains(GrantType::AuthorizationCode) {
        return Err(Reason::GrantTypeNotRegistered.into());
    }
    let identity = context.config.has_identity().then(|| IdentityRequest::read(context, client, query)).transpose()?;
    let challenge = challenge(context, client, query)?;
    let key = key(query)?;
    let target = context.resources.requested(Named::of(query), client, &client.form.scopes).map_err(Reason::from)?;
    let (scopes, has_dropped_scopes) = scopes(context, client, &client.form.scopes, query, &target)?;
    let terms = Terms {
        scopes,
        resources: client.form.resource_scope.clone(),
        audience: target.audience().clone(),
        extra: None,
    };
    let nonce = if terms.are_openid() { identity_request::nonce(query)? } else { None };
    Ok(Asked {
        challenge,
        key,
        terms: terms.with(|extra| extra.nonce = nonce),
        identity,
        has_dropped_scopes,
        protected_resources: target.entries().iter().map(|entry| entry.settings.clone()).collect(),
    })
}

/// Returns whether the request asks who has signed in.
pub(crate) fn asks_for_openid(context: &Context, query: &Params<'_>) -> bool {
    let scope = query.bytes("scope").filter(|_| context.config.has_identity());
    scope.is_some_and(|scope| scope.split(|byte| *byte == b' ').any(|token| token == OPENID.as_bytes()))
}

/// The characters of appendix A.5 in strict mode, any bytes otherwise. The bytes are kept as they are.
pub(crate) fn state<'q>(context: &Context, query: &'q Params<'_>) -> Result<Option<&'q [u8]>, Reason> {
    if query.is_repeated("state") {
        return Err(Reason::RepeatedParameter("state"));
    }
    let Some(state) = query.bytes("state") else { return Ok(None) };
    let visible = || state.iter().all(|byte| (0x20..=0x7e).contains(byte));
    let refused = context.config.authorization.state == StateCharacters::Visible && !visible();
    if refused || state.len() > STATE_BYTES { Err(Reason::State) } else { Ok(Some(state)) }
}

/// § 3.1.1: exactly `code`.
fn response_type(query: &Params<'_>) -> Result<(), Reason> {
    if query.is_repeated("response_type") {
        return Err(Reason::RepeatedParameter("response_type"));
    }
    match query.bytes("response_type") {
        Some(b"code") => Ok(()),
        Some(_) => Err(Reason::UnknownResponseType),
        None => Err(Reason::MissingParameter("response_type")),
    }
}

/// RFC 7636 section 4.3: only S256 is accepted, and no method would mean `plain`.
fn challenge(context: &Context, client: &Client, query: &Params<'_>) -> Result<Option<CodeChallenge>, Reason> {
    let method = query.bytes("code_challenge_method");
    let Some(challenge) = query.bytes("code_challenge") else {
        return match method {
            Some(_) => Err(Reason::ChallengeMethod),
            None if context.config.needs_pkce(client, asks_for_openid(context, query)) => Err(Reason::MissingChallenge),
            None => Ok(None),
        };
    };
    if method != Some(CodeChallenge::METHOD.as_bytes()) {
        return Err(Reason::ChallengeMethod);
    }
    CodeChallenge::parse(challenge).map(Some).map_err(|_| Reason::MalformedChallenge)
}

/// RFC 9449 section 10: `dpop_jkt` is a thumbprint.
fn key(query: &Params<'_>) -> Result<Option<JwkThumbprint>, Reason> {
    let Some(thumbprint) = query.bytes(DPOP_JKT) else { return Ok(None) };
    let thumbprint = str::from_utf8(thumbprint).ok().and_then(|text| text.parse().ok());
    thumbprint.map(Some).ok_or(Reason::DpopKey)
}

/// Returns whether a request names nothing but scopes of a sign-in, which this server does not offer. Clients send them
/// to every server, and mean no API by them.
fn is_of_sign_in_alone(context: &Context, scope: &[u8]) -> bool {
    const NAMES: [&[u8]; 6] = [b"openid", b"profile", b"email", b"phone", b"address", OFFLINE_ACCESS.as_bytes()];
    let mut tokens = scope.split(|byte| *byte == b' ').filter(|token| !token.is_empty());
    let defines =
        |token: &[u8]| str::from_utf8(token).is_ok_and(|name| context.config.scopes.definition(name).is_some());
    !context.config.has_identity() && tokens.all(|token| NAMES.contains(&token) && !defines(token))
}

/// § 3.3: at most `registered`, the scopes that this kind of request may have, and what the protected resources serve.
/// A request without `scope` asks for all of that. Also returns whether scopes were left out.
pub(crate) fn scopes(
    context: &Context,
    client: &Client,
    registered: &ScopeSet,
    query: &Params<'_>,
    target: &Target<'_>,
) -> Result<(ScopeSet, bool), Reason> {
    let catalog = &context.config.scopes;
    if client.form.resource_scope.is_empty() {
        return Err(Reason::ExcessScope);
    }
    let drops_excess = client.open().is_some() && context.config.drops_excess_scopes();
    let scope = query.bytes("scope").filter(|scope| !(drops_excess && is_of_sign_in_alone(context, scope)));
    let Some(scope) = catalog.sent(scope) else {
        // A scope that was removed from the catalog cannot be shown to the user, so it is left out.
        let default = client.default_scopes().intersection(registered);
        let registered = target.served_of(catalog.known_part(&default));
        return if registered.is_empty() { Err(Reason::Scope(ScopeError::Malformed)) } else { Ok((registered, false)) };
    };
    if drops_excess {
        // > The authorization server MAY fully or partially ignore the scope requested by the client
        let (known, has_unknown) = catalog.read_known(scope).map_err(Reason::Scope)?;
        let left = target.served_of(known.intersection(registered));
        let has_dropped = has_unknown || left != known;
        return if left.is_empty() { Err(Reason::ExcessScope) } else { Ok((left, has_dropped)) };
    }
    let asked = if asks_for_openid(context, query) {
        // > Scope values used that are not understood by an implementation SHOULD be ignored.
        //
        // OpenID Connect Core section 3.1.2.1
        catalog.read_known(scope).map_err(Reason::Scope)?.0
    } else {
        catalog.read(scope).map_err(Reason::Scope)?
    };
    let is_admitted = asked.is_subset_of(registered) && target.serves(&asked);
    if is_admitted { Ok((asked, false)) } else { Err(Reason::ExcessScope) }
}
