//! The check of access tokens at a resource in the same process [RFC 6750].

use std::fmt;

use crate::access_token::{self, UsableToken};
use crate::client::Client;
use crate::clock::Timestamp;
use crate::context::Context;
use crate::error::{Reason, delivery};
use crate::id::{ClientId, GrantId};
use crate::scope::{Permission, Resource, ResourceScope, Scope, ScopeSet};
use crate::subject::Subject;
use crate::wire::params::{ParamLimits, Params};
use crate::wire::request::{HeaderLine, split_scheme};
use crate::wire::{Body, Request, Response};

/// What a valid access token stands for.
///
/// It is a snapshot: authenticate every request anew.
#[derive(Clone, Debug)]
pub struct Authenticated {
    token: UsableToken,
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

    /// Returns the scopes of the token that the client may still have.
    #[must_use]
    pub fn scopes(&self) -> ScopeSet {
        self.token.scopes()
    }

    /// Returns the resources of the token that the client may still have.
    #[must_use]
    pub fn resource_scope(&self) -> ResourceScope {
        self.token.resource_scope()
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
        self.token.permits(scope, permission, resource)
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
        self.token.permits_plain(scope)
    }
}

/// A request that a resource refuses; it knows its answer [RFC 6750 section 3].
pub struct ResourceError {
    reason: Reason,
    response: Response,
}

impl ResourceError {
    fn new(context: &Context, reason: Reason) -> Self {
        Self { response: delivery::at_resource(&reason, None, &context.config), reason }
    }

    /// Returns exactly what was wrong.
    #[must_use]
    pub const fn reason(&self) -> &Reason {
        &self.reason
    }

    /// Returns the answer: 401 or 403 with a challenge, 400 for a malformed request, 500 or 503 without
    /// one if the store failed.
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

/// Finds out what the request's access token stands for.
pub(crate) async fn authenticate(context: &Context, request: &Request<'_>) -> Result<Authenticated, ResourceError> {
    look_up(context, request).await.map_err(|reason| ResourceError::new(context, reason))
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
    let definition = context.config.scopes.definition(scope);
    let plain = definition.is_some_and(|definition| definition.permissions().least().is_none());
    Err(needs(context, Scope::new(scope, (!plain).then_some(permission))))
}

/// Refuses a token without this plain scope.
pub(crate) fn require_scope(context: &Context, token: &Authenticated, scope: &str) -> Result<(), ResourceError> {
    if token.has_scope(scope) { Ok(()) } else { Err(needs(context, Scope::new(scope, None))) }
}

fn needs(context: &Context, scope: Scope<'_>) -> ResourceError {
    let needed = ScopeSet::from_scopes([scope]);
    let reason = Reason::InsufficientScope;
    let response = delivery::at_resource(&reason, Some(&context.config.scopes.to_wire(&needed)), &context.config);
    ResourceError { reason, response }
}

/// Refuses a token without a user.
pub(crate) fn require_subject<'t>(context: &Context, token: &'t Authenticated) -> Result<&'t Subject, ResourceError> {
    let reason = || ResourceError::new(context, Reason::InsufficientScope);
    token.subject().ok_or_else(reason)
}

async fn look_up(context: &Context, request: &Request<'_>) -> Result<Authenticated, Reason> {
    let in_body = if context.config.bearer_in_body { form(context, request)? } else { None };
    let in_body = in_body.as_ref().and_then(|params| params.octets("access_token"));
    let token = match (in_header(request)?, in_body) {
        (Some(_), Some(_)) => return Err(Reason::MalformedBearer),
        (Some(token), None) | (None, Some(token)) => token,
        (None, None) => return Err(Reason::NoAccessToken),
    };
    let token = access_token::find(context, token).await?.ok_or(Reason::InvalidAccessToken)?;
    Ok(Authenticated { token })
}

/// § 2.1: the scheme in any case, then exactly one token of the allowed characters.
fn in_header<'a>(request: &Request<'a>) -> Result<Option<&'a [u8]>, Reason> {
    let header = match request.authorization() {
        HeaderLine::Absent => return Ok(None),
        HeaderLine::One(header) => header,
        HeaderLine::Several => return Err(Reason::MalformedBearer),
    };
    let (scheme, rest) = split_scheme(header);
    if !scheme.eq_ignore_ascii_case(b"bearer") {
        return Ok(None);
    }
    let token = rest.trim_ascii();
    // Other characters than those of § 2.1 are in no token that the server made. Looking at all octets is what
    // a processor can do for many at once.
    let blank = token.iter().fold(false, |found, octet| found | octet.is_ascii_whitespace());
    if token.is_empty() || blank { Err(Reason::MalformedBearer) } else { Ok(Some(token)) }
}

/// § 2.2: a single-part form, not with GET.
fn form<'a>(context: &Context, request: &Request<'a>) -> Result<Option<Params<'a>>, Reason> {
    let Body::Octets(octets) = request.body_octets() else { return Ok(None) };
    if request.method() == "GET" || !request.is_form() {
        return Ok(None);
    }
    let limits = ParamLimits { octets: context.config.body_octets, parameters: context.config.parameters };
    // A form that cannot be read is the resource's own business.
    let Ok(params) = Params::parse(octets, ["access_token"].into_iter(), &limits) else { return Ok(None) };
    if params.is_repeated("access_token") { Err(Reason::MalformedBearer) } else { Ok(Some(params)) }
}
