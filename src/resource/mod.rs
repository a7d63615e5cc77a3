//! The check of access tokens at a resource in the same process [RFC 6750, RFC 9449 section 7].

pub(crate) mod access_token;
pub(crate) mod bearer;
pub(crate) mod possession;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::clock::Timestamp;
use crate::config::error::ConfigError;
use crate::context::Context;
use crate::error::Reason;
use crate::error::response::{self, Challenge};
use crate::hooks::Event;
use crate::jose::JwkThumbprint;
use crate::model::Replay;
use crate::model::client::Client;
use crate::model::id::{ClientId, GrantId};
use crate::model::protected_resource::ProtectedResource;
use crate::model::subject::Subject;
use crate::resource::access_token::UsableToken;
use crate::scope::{Permission, Resource, ResourceScope, Scope, ScopeSet};
use crate::text::causes::debug_as_text;
use crate::wire::challenge::TokenScheme;
use crate::wire::params::{PARAMETERS, ParamLimits, Params};
use crate::wire::{Body, Request, Response};

/// The client, user, scopes and resources of a valid access token.
///
/// It is a snapshot. Authenticate every request anew.
#[derive(Clone, Debug)]
pub struct Authenticated {
    token: UsableToken,
    /// The place of the protected resource where it was presented, if there are any.
    at: Option<usize>,
    /// The scopes that this resource serves; `None` means all.
    serves: Option<ScopeSet>,
}

impl Authenticated {
    /// Returns the user on whose behalf the client acts; `None` if the client acts for itself [RFC 6749 section 4.4].
    ///
    /// [`AuthorizationServer::require_subject`](crate::AuthorizationServer::require_subject) refuses a token without a
    /// user. Code that ignores the `None` does not compile:
    ///
    /// ```compile_fail,E0308
    /// fn user(token: &grantor::Authenticated) -> &grantor::Subject {
    ///     token.subject()
    /// }
    /// ```
    #[must_use]
    pub fn subject(&self) -> Option<&Subject> {
        self.token.subject()
    }

    /// Returns the client that holds the token.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.token.client
    }

    /// Returns the id of the client that holds the token.
    #[must_use]
    pub fn client_id(&self) -> &ClientId {
        &self.token.client.id
    }

    /// Returns the id of the grant that the token belongs to.
    #[must_use]
    pub fn grant(&self) -> GrantId {
        self.token.grant.id
    }

    /// Returns the scopes of the token that the client may still have. At a protected resource, only those that it
    /// serves are included.
    #[must_use]
    pub fn scopes(&self) -> ScopeSet {
        let scopes = self.token.scopes();
        match &self.serves {
            None => scopes,
            Some(serves) => scopes.intersection(serves),
        }
    }

    /// Returns the resources of the token that the client may still have.
    #[must_use]
    pub fn resource_scope(&self) -> ResourceScope {
        self.token.resource_scope()
    }

    /// Returns the key that the token is bound to; `None` for a bearer token [RFC 9449 section 6]. The request has
    /// proved possession of the key.
    #[must_use]
    pub fn key(&self) -> Option<&JwkThumbprint> {
        self.token.key()
    }

    /// The scheme that the token was sent with.
    fn scheme(&self) -> TokenScheme {
        if self.key().is_some() { TokenScheme::Dpop } else { TokenScheme::Bearer }
    }

    /// Returns when the token was issued.
    #[must_use]
    pub const fn issued(&self) -> Timestamp {
        self.token.issued()
    }

    /// Returns when the token expires, unless it is revoked before.
    #[must_use]
    pub const fn expires(&self) -> Timestamp {
        self.token.end()
    }

    /// Returns whether the token covers this scope, with this permission, on this resource.
    ///
    /// A scope of a catalog without permissions covers every permission.
    ///
    /// # Security
    ///
    /// This limits only the application. The resource must check whether the [`subject`](Self::subject) itself may
    /// access it: with [`ResourceScope::All`], a token covers every resource.
    #[must_use]
    pub fn permits(&self, scope: &str, permission: Permission, resource: Resource<'_>) -> bool {
        let is_served = self.serves.as_ref().is_none_or(|serves| serves.contains(scope, permission));
        is_served && self.token.permits(scope, permission, resource)
    }

    /// Returns whether the token covers this scope without a permission: one that the catalog defines with
    /// [`ScopeDefinition::plain`](crate::scope::ScopeDefinition::plain), without permissions.
    ///
    /// It is `false` for a scope with permissions. [`permits`](Self::permits) checks those.
    ///
    /// # Security
    ///
    /// It checks neither resources nor what the user may do.
    #[must_use]
    pub fn has_scope(&self, scope: &str) -> bool {
        let is_served = self.serves.as_ref().is_none_or(|serves| serves.contains_name(scope));
        is_served && self.token.permits_plain(scope)
    }
}

/// A request that a resource refuses, with its response [RFC 6750 section 3, RFC 9449 section 7].
pub struct ResourceError {
    reason: Reason,
    response: Response,
}

impl ResourceError {
    /// Creates the response of that resource. Its challenge names the scope that is needed, and has the error under
    /// that scheme.
    fn new(context: &Context, at: Option<usize>, scheme: TokenScheme, reason: Reason, scope: &str) -> Self {
        let resource_metadata = context.resources.entry_at(at).map_or("", |entry| entry.metadata_url.as_str());
        let with = Challenge { scope, resource_metadata, scheme };
        let nonce = if matches!(reason, Reason::DpopNonceNeeded) { possession::nonce(context) } else { None };
        Self { response: response::at_resource(&reason, with, nonce, &context.config), reason }
    }

    /// Creates the response to a request whose token was not accepted.
    fn refused(context: &Context, at: Option<usize>, request: &Request<'_>, reason: Reason, scope: &str) -> Self {
        // A request without a token has used no scheme.
        let is_silent = matches!(reason, Reason::NoAccessToken);
        let scheme = if is_silent { TokenScheme::Bearer } else { bearer::scheme(request) };
        Self::new(context, at, scheme, reason, scope)
    }

    /// Returns exactly what was wrong.
    #[must_use]
    pub const fn reason(&self) -> &Reason {
        &self.reason
    }

    /// Returns the response: 401 or 403 with a challenge, 400 for a malformed request, 500 or 503 without one if the
    /// store failed, 500 if your service did not set the [path](Request::path) of a request with a DPoP-bound token, and 204
    /// without headers for a preflight. If both schemes are accepted, there may be two `WWW-Authenticate` headers.
    #[must_use]
    pub fn into_response(self) -> Response {
        self.response
    }
}

debug_as_text!(ResourceError);

impl fmt::Display for ResourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.reason, f)
    }
}

impl std::error::Error for ResourceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.reason)
    }
}

/// The check of access tokens for one protected resource, in the process of the authorization server [RFC 8707, RFC
/// 9728].
///
/// Create it with [`AuthorizationServer::resource`](crate::AuthorizationServer::resource), once, when the service
/// starts. Clones share everything and are cheap.
///
/// # Examples
///
/// A guard that requires a scope. If the token is missing or does not have the scope, the response names the scope to
/// request:
///
/// ```
/// use grantor::scope::ScopeSet;
/// use grantor::wire::{Request, Response};
/// use grantor::{Authenticated, ResourceServer};
///
/// async fn guard(resource: &ResourceServer, request: &Request<'_>, needed: &ScopeSet) -> Result<Authenticated, Response> {
///     resource.authenticate_for(request, needed).await.map_err(|error| error.into_response())
/// }
/// ```
#[derive(Clone, Debug)]
pub struct ResourceServer {
    context: Arc<Context>,
    place: usize,
}

impl ResourceServer {
    /// Creates the check for the resource with that identifier.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if there is no such resource in the settings.
    pub(crate) fn new(context: Arc<Context>, identifier: &str) -> Result<Self, ConfigError> {
        match context.resources.place(identifier) {
            Some(place) => Ok(Self { context, place }),
            None => Err(ConfigError::unknown_resource(identifier, &context.config.resources)),
        }
    }

    /// Returns the resource as the settings describe it.
    #[must_use]
    pub fn settings(&self) -> Option<&ProtectedResource> {
        self.context.resources.entry(self.place).map(|entry| &*entry.settings)
    }

    /// Returns the URL of the resource's metadata, as challenges contain it [RFC 9728 section 5.1].
    #[must_use]
    pub fn metadata_url(&self) -> &str {
        self.context.resources.entry(self.place).map_or("", |entry| entry.metadata_url.as_str())
    }

    /// Parses the scope tokens that an operation needs, such as `["repo-code:rw"]`. Do this once, when the service
    /// starts.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if a token is not in the catalog, or if the resource does not serve it.
    pub fn scopes<'t>(&self, tokens: impl IntoIterator<Item = &'t str>) -> Result<ScopeSet, ConfigError> {
        let tokens: Vec<&str> = tokens.into_iter().collect();
        let scopes = self.context.config.scopes.select(tokens.iter().copied());
        let served = scopes.as_ref().is_ok_and(|scopes| self.context.resources.serves(self.place, scopes));
        match scopes {
            Ok(scopes) if served => Ok(scopes),
            Ok(_) => Err(ConfigError::scope_not_served(&tokens.join(" "))),
            Err(error) => Err(ConfigError::unknown_scope(&tokens.join(" "), &error)),
        }
    }

    /// Authenticates a request by its access token, and refuses every token that is not for this resource [RFC 6750,
    /// RFC 8707].
    ///
    /// A token that is bound to a key needs a DPoP proof, which names the method and the public URL of the request: set
    /// [`Request::path`], or [`Request::url`] if clients use another address [RFC 9449 section 7].
    ///
    /// # Errors
    ///
    /// [`ResourceError`], which contains the response. The challenge of a 401 names the resource's metadata and its
    /// basic scopes [RFC 9728 section 5.1].
    pub async fn authenticate(&self, request: &Request<'_>) -> Result<Authenticated, ResourceError> {
        let at = Some(self.place);
        let basic = self.context.resources.entry(self.place).map_or("", |entry| entry.basic.as_str());
        let refused = |reason| ResourceError::refused(&self.context, at, request, reason, basic);
        admit(&self.context, at, request, refused, |_| Ok(())).await
    }

    /// Authenticates a request by its access token, and requires that it has these scopes.
    ///
    /// [`scopes`](Self::scopes) parses them. If `needed` is empty, the response to a request without a token names the
    /// basic scopes.
    ///
    /// # Errors
    ///
    /// As [`authenticate`](Self::authenticate), and as [`require_scopes`](Self::require_scopes). The challenge of a 401
    /// names the scopes that are needed here. A [preflight](Request::is_preflight) is answered with 204 and no CORS
    /// headers, so pages of other origins may not call the resource. To allow them, put a CORS layer in front.
    pub async fn authenticate_for(
        &self,
        request: &Request<'_>,
        needed: &ScopeSet,
    ) -> Result<Authenticated, ResourceError> {
        refuse_preflight(&self.context, request)?;
        if needed.is_empty() {
            return self.authenticate(request).await;
        }
        let at = Some(self.place);
        let refused = |reason| {
            let needed = self.context.resources.scopes_at(at, needed);
            let scope = self.context.config.scopes.to_wire(&needed);
            ResourceError::refused(&self.context, at, request, reason, &scope)
        };
        admit(&self.context, at, request, refused, |token| self.require_scopes(token, needed)).await
    }

    /// Requires that a token has all of these scopes at this resource.
    ///
    /// # Errors
    ///
    /// [`ResourceError`] with 403. Its challenge names all scopes that are needed, and those that the token has here. A
    /// client that requests exactly these loses none [RFC 6750 section 3.1].
    pub fn require_scopes(&self, token: &Authenticated, needed: &ScopeSet) -> Result<(), ResourceError> {
        if token.at == Some(self.place) && needed.is_subset_of(&token.scopes()) {
            return Ok(());
        }
        Err(needs(&self.context, Some(self.place), token, needed))
    }
}

/// Authenticates a request by its access token, at the default resource if there is one.
pub(crate) async fn authenticate(context: &Context, request: &Request<'_>) -> Result<Authenticated, ResourceError> {
    let at = context.resources.default();
    let basic = context.resources.entry_at(at).map_or("", |entry| entry.basic.as_str());
    let refused = |reason| ResourceError::refused(context, at, request, reason, basic);
    admit(context, at, request, refused, |_| Ok(())).await
}

/// The same, and requires a scope for the account as a whole. With protected resources, the challenge of a 401 names
/// this scope.
pub(crate) async fn authenticate_for(
    context: &Context,
    request: &Request<'_>,
    scope: &str,
    permission: Option<Permission>,
) -> Result<Authenticated, ResourceError> {
    refuse_preflight(context, request)?;
    // No token can have a mistyped scope, and a client could only request it in vain.
    let unless_mistyped = |error| mistyped(context, scope, permission).unwrap_or(error);
    let at = context.resources.default();
    let refused = |reason| {
        let needed = ScopeSet::from_scopes(at.map(|_| Scope::new(scope, permission)));
        let needed = context.resources.scopes_at(at, &needed);
        unless_mistyped(ResourceError::refused(context, at, request, reason, &context.config.scopes.to_wire(&needed)))
    };
    let check = |token: &Authenticated| {
        let granted = match permission {
            Some(permission) => require(context, token, scope, permission, Resource::Account),
            None => require_scope(context, token, scope),
        };
        granted.map_err(unless_mistyped)
    };
    admit(context, at, request, refused, check).await
}

/// Returns the error for a scope that no token can have, and raises the event.
fn mistyped(context: &Context, scope: &str, permission: Option<Permission>) -> Option<ResourceError> {
    let reason = Reason::RequiredScope(check_required(context, scope, permission).err()?);
    if !context.has_unknown_scope.swap(true, Ordering::Relaxed) {
        context.raise(&Event::RequiredScopeUnknown { reason: &reason });
    }
    Some(ResourceError::new(context, None, TokenScheme::Bearer, reason, ""))
}

/// Checks that a token for the default resource can have a scope.
pub(crate) fn check_required(
    context: &Context,
    scope: &str,
    permission: Option<Permission>,
) -> Result<(), ConfigError> {
    let known = context.config.scopes.check_required(scope, permission);
    known.map_err(|error| ConfigError::unknown_scope(scope, &error))?;
    let required = ScopeSet::from_scopes([Scope::new(scope, permission)]);
    let is_served = context.resources.default().is_none_or(|at| context.resources.serves(at, &required));
    if is_served { Ok(()) } else { Err(ConfigError::scope_not_served(scope)) }
}

/// Refuses a preflight before any token is required.
fn refuse_preflight(context: &Context, request: &Request<'_>) -> Result<(), ResourceError> {
    if !request.is_preflight() {
        return Ok(());
    }
    Err(ResourceError::refused(context, None, request, Reason::Preflight, ""))
}

/// Refuses a token that does not cover this, and names what is needed [RFC 6750 section 3.1].
pub(crate) fn require(
    context: &Context,
    token: &Authenticated,
    scope: &str,
    permission: Permission,
    resource: Resource<'_>,
) -> Result<(), ResourceError> {
    if token.permits(scope, permission, resource) {
        return Ok(());
    }
    // More scopes cannot help if only the user's choice of resources excludes it.
    if token.at.is_some() && token.scopes().contains(scope, permission) {
        return Err(ResourceError::new(context, token.at, token.scheme(), Reason::ResourceNotReached, ""));
    }
    let definition = context.config.scopes.definition(scope);
    let plain = definition.is_some_and(|definition| definition.permissions().least().is_none());
    let needed = ScopeSet::from_scopes([Scope::new(scope, (!plain).then_some(permission))]);
    Err(needs(context, token.at, token, &needed))
}

/// Refuses a token without this scope without a permission.
pub(crate) fn require_scope(context: &Context, token: &Authenticated, scope: &str) -> Result<(), ResourceError> {
    if token.has_scope(scope) {
        return Ok(());
    }
    Err(needs(context, token.at, token, &ScopeSet::from_scopes([Scope::new(scope, None)])))
}

/// Creates the error for missing scopes. At a protected resource, it also names the scopes that the token has there, in
/// the order of the catalog.
fn needs(context: &Context, at: Option<usize>, token: &Authenticated, needed: &ScopeSet) -> ResourceError {
    let scopes = &context.config.scopes;
    let all = at.map(|_| context.resources.scopes_at(at, &scopes.union(&[needed, &token.scopes()])));
    let reason = Reason::InsufficientScope;
    ResourceError::new(context, at, token.scheme(), reason, &scopes.to_wire(all.as_ref().unwrap_or(needed)))
}

/// Refuses a token without a user.
pub(crate) fn require_subject<'t>(context: &Context, token: &'t Authenticated) -> Result<&'t Subject, ResourceError> {
    let reason = || ResourceError::new(context, token.at, token.scheme(), Reason::InsufficientScope, "");
    token.subject().ok_or_else(reason)
}

/// Authenticates a request, checks its token, and only then records that its proof was used: a request that is refused
/// here records nothing, so its sender may send the proof again.
async fn admit(
    context: &Context,
    at: Option<usize>,
    request: &Request<'_>,
    refused: impl Fn(Reason) -> ResourceError,
    check: impl FnOnce(&Authenticated) -> Result<(), ResourceError>,
) -> Result<Authenticated, ResourceError> {
    let (token, proof) = look_up(context, at, request).await.map_err(&refused)?;
    check(&token)?;
    if let Some(proof) = proof {
        context.use_proof(proof).await.map_err(&refused)?;
    }
    Ok(token)
}

/// Looks up the token at the resource in that place, and verifies the proof of one that is bound to a key. If there are
/// protected resources, a token is always for one.
///
/// > such a protected resource MUST reject a DPoP-bound access token received as a bearer token
///
/// [RFC 9449 section 7.2]
async fn look_up(
    context: &Context,
    at: Option<usize>,
    request: &Request<'_>,
) -> Result<(Authenticated, Option<Replay>), Reason> {
    let in_body = if context.config.bearer_in_body { form(context, request)? } else { None };
    let in_body = in_body.as_ref().and_then(|params| params.bytes("access_token"));
    let is_accepted = |scheme| scheme == TokenScheme::Bearer || context.config.dpop.reads_proofs();
    let (scheme, sent) = match (bearer::token(request, is_accepted)?, in_body) {
        (Some(_), Some(_)) => return Err(Reason::MalformedBearer),
        (Some(in_header), None) => in_header,
        (None, Some(token)) => (TokenScheme::Bearer, token),
        (None, None) => return Err(Reason::NoAccessToken),
    };
    let Some(token) = access_token::find(context, sent).await? else { return Err(Reason::InvalidAccessToken) };
    let is_for_it = match at {
        Some(place) => context.resources.covers(token.audience(), &token.client, place),
        None => context.resources.is_empty(),
    };
    if !is_for_it {
        return Err(Reason::AnotherAudience);
    }
    let proof = match (scheme, token.key()) {
        (TokenScheme::Bearer, None) => None,
        (TokenScheme::Dpop, Some(key)) => Some(possession::prove(context, at, request, sent, key)?),
        (TokenScheme::Bearer, Some(_)) | (TokenScheme::Dpop, None) => return Err(Reason::WrongTokenScheme),
    };
    let serves = context.resources.entry_at(at).and_then(|entry| entry.serves.clone());
    Ok((Authenticated { token, at, serves }, proof))
}

/// § 2.2: a single-part form, not with GET.
fn form<'a>(context: &Context, request: &Request<'a>) -> Result<Option<Params<'a>>, Reason> {
    let Body::Bytes(bytes) = request.body else { return Ok(None) };
    if request.method == "GET" || !request.is_form() {
        return Ok(None);
    }
    let limits = ParamLimits { bytes: context.config.limits.body_bytes, parameters: PARAMETERS };
    // A malformed form is left to the resource.
    let Ok(params) = Params::parse(bytes, &["access_token"], &limits) else { return Ok(None) };
    if params.is_repeated("access_token") { Err(Reason::MalformedBearer) } else { Ok(Some(params)) }
}
