//! The check of access tokens at a resource [RFC 6750, RFC 9449 section 7], in the process of the authorization server
//! or in another one [RFC 7662, RFC 9068].

pub(crate) mod access_token;
pub(crate) mod authenticated;
mod environment;
pub(crate) mod error;
mod facts;
mod introspection;
mod jwt;
pub(crate) mod possession;
pub(crate) mod source;

use std::sync::Arc;

pub(crate) use crate::resource::authenticated::Authenticated;
pub(crate) use crate::resource::error::ResourceError;
pub use crate::resource::introspection::{ExpectedAudience, IntrospectionError, IntrospectionSettings, ResourceClient};
pub use crate::resource::jwt::{JwtSettings, JwtVerifier, KeySetError};

use crate::base::clock::Clock;
use crate::base::id::Subject;
use crate::base::measure;
use crate::config::rule::ConfigError;
use crate::config::{Config, SecurityReport};
use crate::context::Context;
use crate::error::response::Challenge;
use crate::error::{Reason, response};
use crate::hooks::Events;
use crate::hooks::observed::{note_client, observed};
use crate::model::Replay;
use crate::model::protected_resource::ProtectedResource;
use crate::resource::source::{Remote, RemoteSource, Source};
use crate::scope::{Permission, Resource, Scope, ScopeSet};
use crate::store::RecordStore;
use crate::wire::params::{PARAMETERS, ParamLimits, Params};
use crate::wire::response::TokenScheme;
use crate::wire::{Body, Request, Response};

/// The check of access tokens for one API: a protected resource of the settings [RFC 8707, RFC 9728], or everything if
/// there are none.
///
/// In the process of the authorization server, [`AuthorizationServer::resource`](crate::AuthorizationServer::resource)
/// returns it for the default one of [`Config::resources`], and
/// [`protected_resource`](crate::AuthorizationServer::protected_resource) creates it for any. In a separate process,
/// [`introspecting`](Self::introspecting) or [`jwt`](Self::jwt) creates it. All give the same responses. Create it
/// once, when the service starts. Clones share everything and are cheap.
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
/// async fn guard(
///     resource: &ResourceServer,
///     request: &Request<'_>,
///     needed: &ScopeSet,
/// ) -> Result<Authenticated, Response> {
///     resource.authenticate_for(request, needed).await.map_err(|error| error.into_response())
/// }
/// ```
#[derive(Clone, Debug)]
pub struct ResourceServer {
    source: Source,
    /// The place of the protected resource in the settings. `None` if there are none, or if none is the default: then
    /// every token is refused.
    at: Option<usize>,
}

impl ResourceServer {
    pub(crate) const fn in_process(context: Arc<Context>, at: Option<usize>) -> Self {
        Self { source: Source::InProcess(context), at }
    }

    /// Creates the check for the resource with that identifier.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if there is no such resource in the settings.
    pub(crate) fn new(context: Arc<Context>, identifier: &str) -> Result<Self, ConfigError> {
        match context.resources.place(identifier) {
            None => Err(ConfigError::unknown_resource(identifier, &context.config.resources)),
            at => Ok(Self::in_process(context, at)),
        }
    }

    /// Creates the check in a separate process, which asks the authorization server about each token [RFC 7662].
    ///
    /// `config` are the settings of the authorization server, made by the same function there and here: catalog,
    /// resources and issuer make the challenges. If there are [`Config::resources`], the audience that `client` expects
    /// says which of them this is; with [`ExpectedAudience::Any`] it is the default one.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if a setting is refused, if `client` has another issuer, if its audience is not one of the
    /// resources, or if the settings accept DPoP proofs: see
    /// [`introspecting_with_proofs`](Self::introspecting_with_proofs).
    pub fn introspecting(config: Config, client: ResourceClient) -> Result<Self, ConfigError> {
        Self::remote(config, RemoteSource::Introspection(client), None)
    }

    /// The same, for settings that accept DPoP-bound tokens. `replays` stores which proofs were used, so that each is
    /// accepted once [RFC 9449 section 11.1]. All processes of this API need the same store. It may be the store of the
    /// authorization server, which then removes expired proofs. From any other store,
    /// [`purge`](RecordStore::purge) must remove them once a minute, or it grows.
    ///
    /// # Security
    ///
    /// An attacker who controls the API can write all that it may write. Give it a store of its own, or a database role
    /// that may write used proofs alone.
    ///
    /// # Errors
    ///
    /// As [`introspecting`](Self::introspecting).
    pub fn introspecting_with_proofs(
        config: Config,
        client: ResourceClient,
        replays: impl RecordStore<Replay>,
    ) -> Result<Self, ConfigError> {
        Self::remote(config, RemoteSource::Introspection(client), Some(Arc::new(replays)))
    }

    /// Creates the check in a separate process for JWT access tokens, which it verifies without the authorization
    /// server [RFC 9068 section 4].
    ///
    /// `config` are the settings of the authorization server, as for [`introspecting`](Self::introspecting). The
    /// audience of `verifier` says which of the [`Config::resources`] this is. Opaque tokens are refused, unless
    /// [`or_introspect`](Self::or_introspect) adds a client for them.
    ///
    /// # Security
    ///
    /// A revoked token is accepted until it expires: see
    /// [`tokens.jwt_lifetime`](crate::config::TokenSettings::jwt_lifetime).
    ///
    /// # Examples
    ///
    /// An API that verifies JWTs, and asks about tokens that were too large for one:
    ///
    /// ```
    /// use grantor::fetch::Transport;
    /// use grantor::resource::{IntrospectionSettings, JwtSettings, JwtVerifier, ResourceClient};
    /// use grantor::{ClientSecret, Config, ConfigError, ResourceServer};
    ///
    /// /// `config` are the settings of the authorization server.
    /// fn orders<T>(config: Config, secret: ClientSecret, to: T) -> Result<ResourceServer, ConfigError>
    /// where
    ///     T: Transport + Clone,
    /// {
    ///     let own = "https://orders.example";
    ///     let verifier = JwtVerifier::new(JwtSettings::of_server(&config, own), to.clone())?;
    ///     let asks = IntrospectionSettings::of_server(&config, "orders-api", secret, own);
    ///     ResourceServer::jwt(config, verifier)?.or_introspect(ResourceClient::new(asks, to)?)
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if a setting is refused, if `verifier` has another issuer, if its audience is not a resource
    /// with JWT access tokens, or if the settings accept DPoP proofs: see [`jwt_with_proofs`](Self::jwt_with_proofs).
    pub fn jwt(config: Config, verifier: JwtVerifier) -> Result<Self, ConfigError> {
        Self::remote(config, RemoteSource::Jwt(verifier, None), None)
    }

    /// The same, for settings that accept DPoP-bound tokens. `replays` stores which proofs were used, as for
    /// [`introspecting_with_proofs`](Self::introspecting_with_proofs).
    ///
    /// # Errors
    ///
    /// As [`jwt`](Self::jwt).
    pub fn jwt_with_proofs(
        config: Config,
        verifier: JwtVerifier,
        replays: impl RecordStore<Replay>,
    ) -> Result<Self, ConfigError> {
        Self::remote(config, RemoteSource::Jwt(verifier, None), Some(Arc::new(replays)))
    }

    /// Returns the check of JWTs with a client that introspects opaque tokens. The authorization server issues an
    /// opaque token in place of a JWT of more than 4096 bytes, and for a user whose name begins with `client:`. Tokens
    /// from before the resource had JWTs are opaque too.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if this was not made by [`jwt`](Self::jwt) or [`jwt_with_proofs`](Self::jwt_with_proofs), or if
    /// `client` has another issuer or audience than the verifier.
    pub fn or_introspect(self, client: ResourceClient) -> Result<Self, ConfigError> {
        let (source, at) = self.source.or_introspect(client)?;
        Ok(Self { source, at })
    }

    fn remote(
        config: Config,
        from: RemoteSource,
        replays: Option<Arc<dyn RecordStore<Replay>>>,
    ) -> Result<Self, ConfigError> {
        let (own, at) = Remote::new(config, from, replays)?;
        Ok(Self { source: Source::Remote(Arc::new(own)), at })
    }

    /// Lists the settings that are weaker than the current best practice: in the process of the authorization server,
    /// those of the server; in a separate process, those of the [`ResourceClient`] and of the [`JwtVerifier`].
    ///
    /// A check of JWTs without [`or_introspect`](Self::or_introspect) is a finding: it refuses the opaque token that is
    /// issued in place of a JWT of more than 4096 bytes.
    #[must_use]
    pub fn security_report(&self) -> SecurityReport {
        self.source.security_report()
    }

    /// Returns the resource as the settings describe it; `None` without protected resources.
    #[must_use]
    pub fn settings(&self) -> Option<&ProtectedResource> {
        self.source.resources().entry_at(self.at).map(|entry| &*entry.settings)
    }

    /// The URL of the resource, or the issuer without protected resources.
    pub(crate) fn url(&self) -> &str {
        match self.settings() {
            Some(own) => &own.identifier,
            None => &self.source.config().issuer,
        }
    }

    /// Returns the URL of the resource's metadata, as challenges contain it [RFC 9728 section 5.1]; empty without
    /// protected resources.
    #[must_use]
    pub fn metadata_url(&self) -> &str {
        self.source.resources().entry_at(self.at).map_or("", |entry| entry.metadata_url.as_str())
    }

    /// Returns the paths at which an API in a process of its own serves [`metadata_response`](Self::metadata_response):
    /// that of [`metadata_url`](Self::metadata_url), first, and those that some clients request instead. There are none
    /// without protected resources.
    #[must_use]
    pub fn metadata_paths(&self) -> Vec<String> {
        self.settings().map_or_else(Vec::new, ProtectedResource::metadata_paths)
    }

    /// Returns the response to a request for the resource's metadata: 200 with the document, or 405 [RFC 9728 section
    /// 3.2]. It is 404 without protected resources.
    ///
    /// In the process of the authorization server, [`AuthorizationServer::serve`](crate::AuthorizationServer::serve)
    /// answers these requests.
    #[must_use]
    pub fn metadata_response(&self, request: &Request<'_>) -> Response {
        self.source.resources().metadata_at(self.at, request).unwrap_or_else(|| Response::new(404))
    }

    /// Returns the nonce that DPoP proofs for this resource must contain now, while
    /// [`dpop.nonce_keys`](crate::config::DpopSettings::nonce_keys) is set [RFC 9449 section 9].
    ///
    /// A request with another nonce gets it with a 401. A resource may put it into its other answers too, as the only
    /// `DPoP-Nonce` header, with `Cache-Control: no-store`: that saves its clients a request in each period.
    #[must_use]
    pub fn dpop_nonce(&self) -> Option<String> {
        possession::nonce(self.source.config(), self.source.now())
    }

    /// Parses the scope tokens that an operation needs, such as `["repo-code:rw"]`. Do this once, when the service
    /// starts. For an operation that any valid token may call, write [`ScopeSet::empty`].
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if there is no token, if one is not in the catalog, or if the resource does not serve it.
    pub fn scopes<'t>(&self, tokens: impl IntoIterator<Item = &'t str>) -> Result<ScopeSet, ConfigError> {
        let tokens: Vec<&str> = tokens.into_iter().collect();
        match self.source.config().scopes.select(tokens.iter().copied()) {
            Ok(scopes) if scopes.is_empty() => Err(ConfigError::no_scope_named()),
            Ok(scopes) if self.serves(&scopes) => Ok(scopes),
            Ok(_) => Err(ConfigError::scope_not_served(&tokens.join(" "))),
            Err(error) => Err(ConfigError::unknown_scope(&tokens.join(" "), &error)),
        }
    }

    /// Checks that tokens can have a scope that a route will require with
    /// [`authenticate_for_account`](Self::authenticate_for_account). Call it when the service starts: a mistyped name
    /// would be answered with 503.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if the scope is not in the catalog, cannot be granted with this permission, or is not served by
    /// the resource.
    pub fn check_scope(&self, scope: &str, permission: Option<Permission>) -> Result<(), ConfigError> {
        let known = self.source.config().scopes.check_required(scope, permission);
        known.map_err(|error| ConfigError::unknown_scope(scope, &error))?;
        let required = ScopeSet::from_scopes([Scope::new(scope, permission)]);
        if self.serves(&required) { Ok(()) } else { Err(ConfigError::scope_not_served(scope)) }
    }

    fn serves(&self, scopes: &ScopeSet) -> bool {
        self.at.is_none_or(|place| self.source.resources().serves(place, scopes))
    }

    /// Authenticates a request by its access token, and refuses every token that is not for this resource [RFC 6750,
    /// RFC 8707].
    ///
    /// A token that is bound to a key needs a DPoP proof, which names the method and the public URL of the request: set
    /// [`Request::path`], or [`Request::url`] if clients use another address [RFC 9449 section 7].
    ///
    /// # Errors
    ///
    /// [`ResourceError`], which contains the response. At a protected resource, the challenge of a 401 names the
    /// resource's metadata and its basic scopes [RFC 9728 section 5.1].
    pub async fn authenticate(&self, request: &Request<'_>) -> Result<Authenticated, ResourceError> {
        let basic = self.source.resources().entry_at(self.at).map_or("", |entry| entry.basic.as_str());
        let refused = |reason| self.refused(request, reason, basic);
        self.admit(request, refused, |_| Ok(())).await
    }

    /// Authenticates a request by its access token, and requires that it has these scopes.
    ///
    /// [`scopes`](Self::scopes) parses them. If `needed` is empty, any valid token for this resource is accepted, and
    /// the response to a request without a token names the basic scopes.
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
        self.refuse_preflight(request)?;
        if needed.is_empty() {
            return self.authenticate(request).await;
        }
        let refused = |reason| {
            let needed = self.source.resources().scopes_at(self.at, needed);
            self.refused(request, reason, &self.source.config().scopes.to_wire(&needed))
        };
        self.admit(request, refused, |token| self.require_scopes(token, needed)).await
    }

    /// Authenticates a request by its access token, and requires a scope for the account as a whole: with this
    /// permission, or a plain one. The guard of a route needs only this call.
    ///
    /// # Errors
    ///
    /// As [`authenticate`](Self::authenticate), and as [`require`](Self::require) or
    /// [`require_scope`](Self::require_scope). If no token can have the scope, for example because it is mistyped, the
    /// answer is 503: [`check_scope`](Self::check_scope) finds that when the service starts. At a protected resource,
    /// the challenge of a 401 names the scope. A [preflight](Request::is_preflight) is answered as by
    /// [`authenticate_for`](Self::authenticate_for).
    pub async fn authenticate_for_account(
        &self,
        request: &Request<'_>,
        scope: &str,
        permission: Option<Permission>,
    ) -> Result<Authenticated, ResourceError> {
        self.refuse_preflight(request)?;
        // No token can have a mistyped scope, and a client could only request it in vain.
        let unless_mistyped = |error| self.mistyped(scope, permission).unwrap_or(error);
        let refused = |reason| {
            let needed = ScopeSet::from_scopes(self.at.map(|_| Scope::new(scope, permission)));
            let needed = self.source.resources().scopes_at(self.at, &needed);
            let needed = self.source.config().scopes.to_wire(&needed);
            unless_mistyped(self.refused(request, reason, &needed))
        };
        let check = |token: &Authenticated| {
            let granted = match permission {
                Some(permission) => self.require(token, scope, permission, Resource::Account),
                None => self.require_scope(token, scope),
            };
            granted.map_err(unless_mistyped)
        };
        self.admit(request, refused, check).await
    }

    /// Requires that a token has all of these scopes at this resource.
    ///
    /// # Errors
    ///
    /// [`ResourceError`] with 403. Its challenge names all scopes that are needed, and at a protected resource those
    /// that the token has here. A client that requests exactly these loses none [RFC 6750 section 3.1].
    pub fn require_scopes(&self, token: &Authenticated, needed: &ScopeSet) -> Result<(), ResourceError> {
        if self.has_checked(token) && needed.is_subset_of(&token.scopes()) {
            return Ok(());
        }
        Err(self.needs(token, needed))
    }

    /// Requires that a token covers this scope, with this permission, on this resource of the user.
    ///
    /// # Errors
    ///
    /// [`ResourceError`] with 403 and the scope that is needed [RFC 6750 section 3.1]. If a token at a protected
    /// resource has the scope, but does not cover this one of the user's resources, the 403 has no error: more scopes
    /// would not help.
    ///
    /// # Security
    ///
    /// As with [`Authenticated::permits`], it does not check whether the user may reach the resource: check that
    /// elsewhere.
    pub fn require(
        &self,
        token: &Authenticated,
        scope: &str,
        permission: Permission,
        resource: Resource<'_>,
    ) -> Result<(), ResourceError> {
        let is_here = self.has_checked(token);
        if is_here && token.permits(scope, permission, resource) {
            return Ok(());
        }
        // More scopes cannot help if only the user's choice of resources excludes it.
        if is_here && self.at.is_some() && token.scopes().contains(scope, permission) {
            return Err(self.error(token.scheme(), Reason::ResourceNotReached, ""));
        }
        let definition = self.source.config().scopes.definition(scope);
        let plain = definition.is_some_and(|definition| definition.permissions().least().is_none());
        let needed = ScopeSet::from_scopes([Scope::new(scope, (!plain).then_some(permission))]);
        Err(self.needs(token, &needed))
    }

    /// Requires that a token covers this scope without a permission: one that the catalog defines with
    /// [`ScopeDefinition::plain`](crate::scope::ScopeDefinition::plain), without permissions.
    ///
    /// # Errors
    ///
    /// [`ResourceError`] with 403 and the scope that is needed [RFC 6750 section 3.1]. A scope with permissions is
    /// always refused here: [`require`](Self::require) checks it.
    ///
    /// # Security
    ///
    /// It checks neither the resource nor what the user may do: check both elsewhere.
    pub fn require_scope(&self, token: &Authenticated, scope: &str) -> Result<(), ResourceError> {
        if self.has_checked(token) && token.has_scope(scope) {
            return Ok(());
        }
        Err(self.needs(token, &ScopeSet::from_scopes([Scope::new(scope, None)])))
    }

    /// Returns the user on whose behalf the client acts, for a resource that belongs to users.
    ///
    /// # Errors
    ///
    /// [`ResourceError`] with 403 if the client acts for itself [RFC 6749 section 4.4], or if the token was not
    /// presented here.
    ///
    /// # Security
    ///
    /// A client id is never a user: do not look one up in place of a missing subject [RFC 9700 section 4.15].
    pub fn require_subject<'t>(&self, token: &'t Authenticated) -> Result<&'t Subject, ResourceError> {
        let reason = || self.error(token.scheme(), Reason::InsufficientScope, "");
        token.subject().filter(|_| self.has_checked(token)).ok_or_else(reason)
    }

    /// Returns the clock, and the sink of events if there is one.
    pub(crate) fn clock_and_events(&self) -> (Arc<dyn Clock>, Events) {
        self.source.clock_and_events()
    }

    /// Returns whether the token was presented here.
    fn has_checked(&self, token: &Authenticated) -> bool {
        token.place == self.source.place(self.at)
    }

    /// Returns the check at the resource where a token was presented, which may be another one of the same server. It
    /// is for what several resources of a service share: there, [`require`](Self::require) judges the token.
    #[must_use]
    pub fn where_presented(&self, token: &Authenticated) -> Self {
        Self { source: self.source.clone(), at: token.place.at }
    }

    /// Returns the error for a scope that no token can have, and raises the event.
    fn mistyped(&self, scope: &str, permission: Option<Permission>) -> Option<ResourceError> {
        let reason = Reason::RequiredScope(self.check_scope(scope, permission).err()?);
        self.source.report_unknown_scope(&reason);
        Some(self.error(TokenScheme::Bearer, reason, ""))
    }

    /// Refuses a preflight before any token is required.
    fn refuse_preflight(&self, request: &Request<'_>) -> Result<(), ResourceError> {
        if !request.is_preflight() {
            return Ok(());
        }
        Err(self.refused(request, Reason::Preflight, ""))
    }

    /// Creates the error for missing scopes. At a protected resource, it also names the scopes that the token has
    /// there, in the order of the catalog.
    fn needs(&self, token: &Authenticated, needed: &ScopeSet) -> ResourceError {
        let scopes = &self.source.config().scopes;
        let all =
            self.at.map(|_| self.source.resources().scopes_at(self.at, &scopes.union(&[needed, &token.scopes()])));
        let named = scopes.to_wire(all.as_ref().unwrap_or(needed));
        self.error(token.scheme(), Reason::InsufficientScope, &named)
    }

    /// Creates the response of this resource. Its challenge names the scope that is needed, and has the error under
    /// that scheme.
    fn error(&self, scheme: TokenScheme, reason: Reason, scope: &str) -> ResourceError {
        let with = Challenge { scope, resource_metadata: self.metadata_url(), scheme };
        let nonce = if matches!(reason, Reason::DpopNonceNeeded) { self.dpop_nonce() } else { None };
        ResourceError { response: response::at_resource(&reason, with, nonce, self.source.config()), reason }
    }

    /// Creates the response to a request whose token was not accepted.
    fn refused(&self, request: &Request<'_>, reason: Reason, scope: &str) -> ResourceError {
        self.source.note(&reason);
        // A request without a token has used no scheme.
        let is_silent = matches!(reason, Reason::NoAccessToken);
        let scheme = if is_silent { TokenScheme::Bearer } else { access_token::scheme(request) };
        self.error(scheme, reason, scope)
    }

    /// Authenticates a request, checks its token, and only then records that its proof was used: a request that is
    /// refused here records nothing, so its sender may send the proof again.
    async fn admit(
        &self,
        request: &Request<'_>,
        refused: impl Fn(Reason) -> ResourceError + Send + Sync,
        check: impl FnOnce(&Authenticated) -> Result<(), ResourceError> + Send,
    ) -> Result<Authenticated, ResourceError> {
        let admitted = observed("check", async {
            let (token, proof) = self.look_up(request).await.map_err(&refused)?;
            note_client(token.client_id());
            check(&token)?;
            if let Some(proof) = proof {
                self.source.use_proof(proof).await.map_err(&refused)?;
            }
            Ok(token)
        });
        admitted.await.inspect_err(|error: &ResourceError| measure::refusal("check", error.reason.label()))
    }

    /// Looks up the token of a request, and verifies the proof of one that is bound to a key. If there are protected
    /// resources, a token is always for one.
    async fn look_up(&self, request: &Request<'_>) -> Result<(Authenticated, Option<Replay>), Reason> {
        let config = self.source.config();
        let form = form_token(config, request)?;
        let (scheme, sent) = access_token::presented(config, request, form.as_ref())?;
        let token = self.source.look_up(self.at, sent).await?;
        let proof = possession::check(scheme, token.key(), |key| {
            let entry = self.source.resources().entry_at(self.at);
            possession::prove(config, entry, request, sent, key, self.source.now())
        })?;
        Ok((token, proof))
    }
}

/// § 2.2: a single-part form, not with GET, if the settings accept tokens there.
pub(crate) fn form_token<'a>(config: &Config, request: &Request<'a>) -> Result<Option<Params<'a>>, Reason> {
    let Body::Bytes(bytes) = request.body else { return Ok(None) };
    if !config.bearer_in_body || request.method == "GET" || !request.is_form() {
        return Ok(None);
    }
    let limits = ParamLimits { bytes: config.limits.body_bytes, parameters: PARAMETERS };
    // A malformed form is left to the resource.
    let Ok(params) = Params::parse_body(bytes, &["access_token"], &limits) else { return Ok(None) };
    if params.is_repeated("access_token") { Err(Reason::MalformedBearer) } else { Ok(Some(params)) }
}
