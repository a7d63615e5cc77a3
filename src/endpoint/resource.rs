//! The check of access tokens at a resource in the same process [RFC 6750, RFC 9449 section 7].

use std::fmt;
use std::sync::Arc;

use crate::access_token::{self, UsableToken};
use crate::client::Client;
use crate::clock::Timestamp;
use crate::config::error::ConfigError;
use crate::context::Context;
use crate::endpoint::{bearer, possession};
use crate::error::Reason;
use crate::error::delivery::{self, Challenge};
use crate::id::{ClientId, GrantId};
use crate::jose::JwkThumbprint;
use crate::protected_resource::ProtectedResource;
use crate::scope::{Permission, Resource, ResourceScope, Scope, ScopeSet};
use crate::subject::Subject;
use crate::wire::challenge::TokenScheme;
use crate::wire::params::{ParamLimits, Params};
use crate::wire::{Body, Request, Response};

/// What a valid access token stands for.
///
/// It is a snapshot: authenticate every request anew.
#[derive(Clone, Debug)]
pub struct Authenticated {
    token: UsableToken,
    /// The place of the protected resource where it was presented, if there are any.
    at: Option<usize>,
    /// The scopes that this resource serves; all where nothing is set.
    serves: Option<ScopeSet>,
}

impl Authenticated {
    /// Returns the user on whose behalf the client acts; `None` where the client acts for itself
    /// [RFC 6749 section 4.4].
    ///
    /// [`AuthorizationServer::require_subject`](crate::AuthorizationServer::require_subject) answers the request where
    /// there has to be one. Without that, or a look at the `None`, nothing compiles:
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
        self.token.client()
    }

    /// Returns the id of the client that holds the token.
    #[must_use]
    pub fn client_id(&self) -> &ClientId {
        &self.token.client().id
    }

    /// Returns the id of the grant that the token belongs to.
    #[must_use]
    pub fn grant(&self) -> GrantId {
        self.token.grant()
    }

    /// Returns the scopes of the token that the client may still have, at a protected resource those that it serves.
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

    /// Returns the key that the token is bound to, whose possession the request has proved; `None` for a bearer token
    /// [RFC 9449 section 6].
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
    /// A scope of a catalog without permissions covers any.
    ///
    /// # Security
    ///
    /// This bounds the application alone. Whether the [`subject`](Self::subject) itself may reach the
    /// resource is the resource's own check: with [`ResourceScope::All`], a token covers every resource.
    #[must_use]
    pub fn permits(&self, scope: &str, permission: Permission, resource: Resource<'_>) -> bool {
        let is_served = self.serves.as_ref().is_none_or(|serves| serves.contains(scope, permission));
        is_served && self.token.permits(scope, permission, resource)
    }

    /// Returns whether the token covers this plain scope: one that the catalog defines with
    /// [`ScopeDefinition::plain`](crate::scope::ScopeDefinition::plain), without permissions.
    ///
    /// It is `false` for a scope with permissions. [`permits`](Self::permits) checks those.
    ///
    /// # Security
    ///
    /// It says nothing of resources, and nothing of what the user may do.
    #[must_use]
    pub fn has_scope(&self, scope: &str) -> bool {
        let is_served = self.serves.as_ref().is_none_or(|serves| serves.contains_plain(scope));
        is_served && self.token.permits_plain(scope)
    }
}

/// A request that a resource refuses; it knows its answer [RFC 6750 section 3, RFC 9449 section 7].
pub struct ResourceError {
    reason: Reason,
    response: Response,
}

impl ResourceError {
    /// The response of that resource. Its challenge names the scope that is needed, and has the error at that scheme.
    fn new(context: &Context, at: Option<usize>, scheme: TokenScheme, reason: Reason, scope: &str) -> Self {
        let resource_metadata = context.resources.entry_at(at).map_or("", |entry| entry.metadata_url.as_str());
        let with = Challenge { scope, resource_metadata, scheme };
        let nonce = if matches!(reason, Reason::DpopNonceNeeded) { possession::nonce(context) } else { None };
        Self { response: delivery::at_resource(&reason, with, nonce, &context.config), reason }
    }

    /// The answer to a request whose token was not accepted.
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

    /// Returns the answer: 401 or 403 with a challenge, 400 for a malformed request, 500 or 503 without one if the
    /// store failed, 500 if the embedder did not set the [path](Request::path) of a request with a bound token, and 204
    /// without a header to a preflight. If both schemes are accepted, there may be two `WWW-Authenticate` headers.
    #[must_use]
    pub fn into_response(self) -> Response {
        self.response
    }
}

impl fmt::Debug for ResourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ResourceError").field(&self.reason).finish()
    }
}

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

/// The check of access tokens for one protected resource, in the process of the authorization server [RFC 8707, RFC 9728].
///
/// [`AuthorizationServer::resource`](crate::AuthorizationServer::resource) makes one, once, when the service starts. A clone
/// shares everything and is cheap.
///
/// # Examples
///
/// A guard that needs a scope. A request without a token is told which scope to ask for, and so is one whose token has
/// too little:
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
    /// The check for the resource of that identifier, as the settings have it.
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

    /// Returns the URL of the resource's metadata, as challenges carry it [RFC 9728 section 5.1].
    #[must_use]
    pub fn metadata_url(&self) -> &str {
        self.context.resources.entry(self.place).map_or("", |entry| entry.metadata_url.as_str())
    }

    /// Reads scope tokens that an operation needs, such as `["repo-code:rw"]`, once, when the service starts.
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

    /// Finds out what the request's access token stands for, and refuses every token that is not for this resource
    /// [RFC 6750, RFC 8707].
    ///
    /// A token that is bound to a key needs a DPoP proof, which names the method and the public URL of the request: set
    /// [`Request::path`], or [`Request::url`] where clients use another address [RFC 9449 section 7].
    ///
    /// # Errors
    ///
    /// [`ResourceError`], which holds the answer. The challenge of a 401 names the resource's metadata and its basic
    /// scopes [RFC 9728 section 5.1].
    pub async fn authenticate(&self, request: &Request<'_>) -> Result<Authenticated, ResourceError> {
        let at = Some(self.place);
        let basic = self.context.resources.entry(self.place).map_or("", |entry| entry.basic.as_str());
        let refused = |reason| ResourceError::refused(&self.context, at, request, reason, basic);
        look_up(&self.context, at, request).await.map_err(refused)
    }

    /// Finds out what the request's access token stands for, and demands that it has these scopes.
    ///
    /// [`scopes`](Self::scopes) reads them. Without any, the answer to a request without a token names the basic scopes.
    ///
    /// # Errors
    ///
    /// As [`authenticate`](Self::authenticate), and as [`require_scopes`](Self::require_scopes). The challenge of a 401
    /// names the scopes that are needed here. A [preflight](Request::is_preflight) is answered with 204 and no CORS
    /// headers, so pages of other origins may not call the resource. To let them, put a CORS layer in front.
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
        let token = look_up(&self.context, at, request).await.map_err(|reason| {
            let needed = self.context.resources.scopes_at(at, needed);
            let scope = self.context.config.scopes.to_wire(&needed);
            ResourceError::refused(&self.context, at, request, reason, &scope)
        })?;
        self.require_scopes(&token, needed)?;
        Ok(token)
    }

    /// Demands that a token has all of these scopes at this resource.
    ///
    /// # Errors
    ///
    /// [`ResourceError`] with 403. Its challenge names all scopes that are needed, with those that the token has here, so
    /// that a client that asks for just these loses none [RFC 6750 section 3.1].
    pub fn require_scopes(&self, token: &Authenticated, needed: &ScopeSet) -> Result<(), ResourceError> {
        if token.at == Some(self.place) && needed.is_subset_of(&token.scopes()) {
            return Ok(());
        }
        Err(needs(&self.context, Some(self.place), token, needed))
    }
}

/// Finds out what the request's access token stands for, at the default resource if there is any.
pub(crate) async fn authenticate(context: &Context, request: &Request<'_>) -> Result<Authenticated, ResourceError> {
    let at = context.resources.default();
    look_up(context, at, request).await.map_err(|reason| {
        let basic = context.resources.entry_at(at).map_or("", |entry| entry.basic.as_str());
        ResourceError::refused(context, at, request, reason, basic)
    })
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
    let at = context.resources.default();
    let token = look_up(context, at, request).await.map_err(|reason| {
        let needed = ScopeSet::from_scopes(at.map(|_| Scope::new(scope, permission)));
        let needed = context.resources.scopes_at(at, &needed);
        ResourceError::refused(context, at, request, reason, &context.config.scopes.to_wire(&needed))
    })?;
    match permission {
        Some(permission) => require(context, &token, scope, permission, Resource::Account)?,
        None => require_scope(context, &token, scope)?,
    }
    Ok(token)
}

/// Refuses a preflight before any token is required.
fn refuse_preflight(context: &Context, request: &Request<'_>) -> Result<(), ResourceError> {
    if !request.is_preflight() {
        return Ok(());
    }
    Err(ResourceError::refused(context, None, request, Reason::Preflight, ""))
}

/// Refuses with what would have been needed [RFC 6750 section 3.1].
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
    // More scopes cannot help where only the user's choice of resources is in the way.
    if token.at.is_some() && token.scopes().contains(scope, permission) {
        return Err(ResourceError::new(context, token.at, token.scheme(), Reason::ResourceNotReached, ""));
    }
    let definition = context.config.scopes.definition(scope);
    let plain = definition.is_some_and(|definition| definition.permissions().least().is_none());
    let needed = ScopeSet::from_scopes([Scope::new(scope, (!plain).then_some(permission))]);
    Err(needs(context, token.at, token, &needed))
}

/// Refuses a token without this plain scope.
pub(crate) fn require_scope(context: &Context, token: &Authenticated, scope: &str) -> Result<(), ResourceError> {
    if token.has_scope(scope) {
        return Ok(());
    }
    Err(needs(context, token.at, token, &ScopeSet::from_scopes([Scope::new(scope, None)])))
}

/// What is needed; at a protected resource with what the token has there, in the order of the catalog.
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

/// Looks the token up at the resource in that place. Where there are protected resources, a token is always for one.
///
/// > such a protected resource MUST reject a DPoP-bound access token received as a bearer token
///
/// [RFC 9449 section 7.2]
async fn look_up(context: &Context, at: Option<usize>, request: &Request<'_>) -> Result<Authenticated, Reason> {
    let in_body = if context.config.bearer_in_body { form(context, request)? } else { None };
    let in_body = in_body.as_ref().and_then(|params| params.octets("access_token"));
    let is_accepted = |scheme| scheme == TokenScheme::Bearer || context.config.reads_proofs();
    let (scheme, sent) = match (bearer::token(request, is_accepted)?, in_body) {
        (Some(_), Some(_)) => return Err(Reason::MalformedBearer),
        (Some(in_header), None) => in_header,
        (None, Some(token)) => (TokenScheme::Bearer, token),
        (None, None) => return Err(Reason::NoAccessToken),
    };
    let Some(token) = access_token::find(context, sent).await? else { return Err(Reason::InvalidAccessToken) };
    let is_for_it = match at {
        Some(place) => context.resources.covers(token.audience(), token.client(), place),
        None => context.resources.is_empty(),
    };
    if !is_for_it {
        return Err(Reason::AnotherAudience);
    }
    match (scheme, token.key()) {
        (TokenScheme::Bearer, None) => {}
        // In a box: proofs are rare, and every request would have the room for one.
        (TokenScheme::Dpop, Some(key)) => Box::pin(possession::prove(context, at, request, sent, key)).await?,
        (TokenScheme::Bearer, Some(_)) | (TokenScheme::Dpop, None) => return Err(Reason::WrongTokenScheme),
    }
    let serves = context.resources.entry_at(at).and_then(|entry| entry.serves.clone());
    Ok(Authenticated { token, at, serves })
}

/// § 2.2: a single-part form, not with GET.
fn form<'a>(context: &Context, request: &Request<'a>) -> Result<Option<Params<'a>>, Reason> {
    let Body::Octets(octets) = request.body_octets() else { return Ok(None) };
    if request.method() == "GET" || !request.is_form() {
        return Ok(None);
    }
    let limits = ParamLimits { octets: context.config.body_octets, parameters: context.config.parameters };
    // A form that cannot be read is the resource's own business.
    let Ok(params) = Params::parse(octets, &["access_token"], &limits) else { return Ok(None) };
    if params.is_repeated("access_token") { Err(Reason::MalformedBearer) } else { Ok(Some(params)) }
}
