//! What a valid access token grants at a resource.

use std::fmt;
use std::sync::{Arc, LazyLock, OnceLock};

use serde_json::{Map, Value};

use crate::base::clock::Timestamp;
use crate::base::id::{ClientId, GrantId, Subject};
use crate::context::Context;
use crate::error::response::{self, Challenge};
use crate::hooks::TokenContext;
use crate::jose::JwkThumbprint;
use crate::model::Grant;
use crate::model::client::Client;
use crate::model::grant_data::GrantData;
use crate::resource::access_token::UsableToken;
use crate::resource::error::ResourceError;
use crate::resource::facts::TokenFacts;
use crate::scope::{Permission, Resource, ResourceScope, ScopeSet};
use crate::wire::response::TokenScheme;

/// The client, user, scopes and resources of a valid access token.
///
/// It is a snapshot. Authenticate every request anew.
#[derive(Clone, Debug)]
pub struct Authenticated {
    client_id: ClientId,
    subject: Option<Subject>,
    /// At a protected resource, only scopes that it serves.
    scopes: ScopeSet,
    /// The resources that the user granted, and those that the client may still have. A request must be within both.
    resources: [ResourceScope; 2],
    key: Option<JwkThumbprint>,
    issued: Option<Timestamp>,
    expires: Option<Timestamp>,
    own: Option<Own>,
    claims: Option<Arc<OwnClaims>>,
    pub(super) place: Place,
}

/// Where a token was presented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The number of the server whose settings and tokens these are. A program may have several.
    pub(super) server: u64,
    /// The index of the protected resource, if there are any.
    pub(super) at: Option<usize>,
}

/// What only the process of the authorization server knows.
#[derive(Clone, Debug)]
struct Own {
    client: Arc<Client>,
    grant: Arc<Grant>,
}

/// The claims of the service, which are read when they are asked for.
struct OwnClaims {
    from: ClaimsFrom,
    read: OnceLock<Map<String, Value>>,
}

enum ClaimsFrom {
    /// The hook of this process.
    Hook(Arc<Context>),
    /// What the authorization server said.
    Json(Arc<str>),
}

impl OwnClaims {
    fn new(from: ClaimsFrom) -> Arc<Self> {
        Arc::new(Self { from, read: OnceLock::new() })
    }
}

impl fmt::Debug for OwnClaims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnClaims").finish_non_exhaustive()
    }
}

impl Authenticated {
    /// A token that was found in the store. `serves` are the scopes of the resource there; `None` means all. `hook` has
    /// the claims of the service, if it adds any.
    pub(super) fn found(
        token: UsableToken,
        place: Place,
        serves: Option<&ScopeSet>,
        hook: Option<&Arc<Context>>,
    ) -> Self {
        Self {
            client_id: token.client.id.clone(),
            subject: token.subject().cloned(),
            scopes: served(token.scopes(), serves),
            resources: token.resources().map(Clone::clone),
            key: token.key().copied(),
            issued: Some(token.issued()),
            expires: Some(token.end()),
            own: Some(Own { grant: token.grant, client: token.client }),
            claims: hook.map(|context| OwnClaims::new(ClaimsFrom::Hook(Arc::clone(context)))),
            place,
        }
    }

    /// A token that the authorization server described, in an answer or in the token itself. `scopes` are those of its
    /// scopes that the catalog has.
    pub(super) fn described(token: &TokenFacts, scopes: ScopeSet, place: Place, serves: Option<&ScopeSet>) -> Self {
        Self {
            client_id: token.client_id.clone(),
            subject: token.subject.clone(),
            scopes: served(scopes, serves),
            resources: [token.resource_scope.clone(), ResourceScope::All],
            key: token.key,
            issued: token.issued,
            expires: token.expires,
            own: None,
            claims: token.claims.clone().map(|json| OwnClaims::new(ClaimsFrom::Json(json))),
            place,
        }
    }

    /// Returns the user on whose behalf the client acts; `None` if the client acts for itself [RFC 6749 section 4.4].
    ///
    /// [`ResourceServer::require_subject`](crate::ResourceServer::require_subject) refuses a token without a
    /// user. Code that ignores the `None` does not compile:
    ///
    /// ```compile_fail,E0308
    /// fn user(token: &grantor::Authenticated) -> &grantor::Subject {
    ///     token.subject()
    /// }
    /// ```
    #[must_use]
    pub fn subject(&self) -> Option<&Subject> {
        self.subject.as_ref()
    }

    /// Returns the registration of the client that holds the token; `None` in a separate
    /// process.
    #[must_use]
    pub fn client(&self) -> Option<&Client> {
        self.own.as_ref().map(|own| &*own.client)
    }

    /// Returns the id of the client that holds the token.
    #[must_use]
    pub fn client_id(&self) -> &ClientId {
        &self.client_id
    }

    /// Returns the id of the grant that the token belongs to; `None` in a separate process.
    #[must_use]
    pub fn grant(&self) -> Option<GrantId> {
        self.own.as_ref().map(|own| own.grant.id)
    }

    /// Returns what your service keeps with the token: with its [grant](crate::interaction::SignedIn::data), or with
    /// its [client](Client::data) if there is no user. `None` in a separate process, which gets the
    /// [claims](Self::claims) alone.
    #[must_use]
    pub fn data(&self) -> Option<&GrantData> {
        self.own.as_ref().and_then(|own| own.grant.data_of(&own.client))
    }

    /// Returns the claims of your service: in the process of the authorization server those of its
    /// [hook](crate::hooks::Claims), which is asked at the first call, and elsewhere the members of the JWT or of the
    /// answer to introspection that this library does not read itself. They are the same everywhere.
    ///
    /// # Errors
    ///
    /// [`ResourceError`], which is answered with 503, if the hook returned claims that no token may have.
    ///
    /// # Security
    ///
    /// A token may lack a claim, such as one that was issued before the hook was set. Check a claim that restricts as
    /// present and equal.
    pub fn claims(&self) -> Result<&Map<String, Value>, ResourceError> {
        static NONE: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
        let Some(claims) = self.claims.as_deref() else { return Ok(&NONE) };
        if let Some(read) = claims.read.get() {
            return Ok(read);
        }
        let read = match &claims.from {
            ClaimsFrom::Hook(context) => self.ask(context)?,
            ClaimsFrom::Json(json) => serde_json::from_str(json).unwrap_or_default(),
        };
        Ok(claims.read.get_or_init(|| read))
    }

    fn ask(&self, context: &Context) -> Result<Map<String, Value>, ResourceError> {
        let Some(Own { client, grant }) = &self.own else { return Ok(Map::new()) };
        let at = context.resources.entry_at(self.place.at);
        let audience = [at.map_or(&*context.config.issuer, |entry| &*entry.settings.identifier)];
        let token = TokenContext {
            grant: grant.id,
            data: self.data(),
            client,
            subject: self.subject(),
            audience: &audience,
            scopes: &self.scopes,
        };
        let asked = context.own_claims(&token).map(|(claims, _)| claims);
        asked.map_err(|reason| {
            let with = Challenge { scope: "", resource_metadata: "", scheme: self.scheme() };
            ResourceError { response: response::at_resource(&reason, with, None, &context.config), reason }
        })
    }

    /// Returns the scopes of the token that the client may still have. At a protected resource, only those that it
    /// serves are included.
    #[must_use]
    pub fn scopes(&self) -> ScopeSet {
        self.scopes.clone()
    }

    /// Returns the resources of the token that the client may still have.
    #[must_use]
    pub fn resource_scope(&self) -> ResourceScope {
        let [granted, bound] = &self.resources;
        granted.reduced_to(bound)
    }

    /// Returns the key that the token is bound to; `None` for a bearer token [RFC 9449 section 6]. The request has
    /// proved possession of the key.
    #[must_use]
    pub fn key(&self) -> Option<&JwkThumbprint> {
        self.key.as_ref()
    }

    /// The scheme that the token was sent with.
    pub(super) fn scheme(&self) -> TokenScheme {
        if self.key().is_some() { TokenScheme::Dpop } else { TokenScheme::Bearer }
    }

    /// Returns when the token was issued; `None` if an authorization server in another process did not say.
    #[must_use]
    pub const fn issued(&self) -> Option<Timestamp> {
        self.issued
    }

    /// Returns when the token expires, unless it is revoked before; `None` if an authorization server in another
    /// process did not say.
    #[must_use]
    pub const fn expires(&self) -> Option<Timestamp> {
        self.expires
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
        // Without a user there is no account.
        let has_resource = self.subject.is_some() || !matches!(resource, Resource::Account);
        has_resource
            && self.scopes.contains(scope, permission)
            && self.resources.iter().all(|resources| resources.permits(resource))
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
        self.scopes.contains_name(scope)
    }
}

fn served(scopes: ScopeSet, serves: Option<&ScopeSet>) -> ScopeSet {
    match serves {
        None => scopes,
        Some(serves) => scopes.intersection(serves),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grant::fixtures::{Line, at, client, scopes};
    use crate::model::{AccessRecord, Restrictions};

    #[test]
    fn a_token_permits_what_grant_and_client_both_have() {
        let line = Line::new();
        let usable = |reduced: Option<&str>, registered: &str| {
            let mut client = client("own");
            client.form.scopes = scopes(registered);
            let restrictions = Restrictions { scopes: reduced.map(scopes), ..Restrictions::default() };
            let access = AccessRecord::new(line.access[0], at(0), at(9), restrictions);
            let token = UsableToken { grant: Arc::new(line.grant.clone()), client: Arc::new(client), access };
            Authenticated::found(token, Place { server: 0, at: None }, None, None)
        };
        let rows = [
            (None, "repo-code:rw repo-issue:rw", [true, true, true]),
            (Some("repo-code:r"), "repo-code:rw repo-issue:rw", [true, false, false]),
            (None, "repo-code:r", [true, false, false]),
            (Some("repo-code:rw"), "repo-issue:rw", [false, false, false]),
        ];
        for (reduced, registered, expected) in rows {
            let token = usable(reduced, registered);
            let permits = |scope, permission| token.permits(scope, permission, Resource::Public("any"));
            let seen = [
                permits("repo-code", Permission::Read),
                permits("repo-code", Permission::ReadWrite),
                permits("repo-issue", Permission::Read),
            ];
            assert_eq!(seen, expected, "{reduced:?}, {registered}");
            let shown = token.scopes();
            assert_eq!(shown.contains("repo-code", Permission::Read), expected[0]);
        }
    }
}
