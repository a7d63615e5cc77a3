//! The authorization server: one-line delegations.

mod builder;
mod hosts;
pub(crate) mod purge;
mod ready;

use std::sync::Arc;

use crate::authorization::decide::Decision;
use crate::authorization::judge::Asked;
use crate::authorization::pending::{Answer, AuthorizationError, PendingAuthorization};
use crate::authorization::signed_in::DecidingUser;
use crate::authorization::step::NextStep;
use crate::authorization::user_code::{DeviceConsent, TypedUserCode};
use crate::authorization::{decide, document_client, hold, step, user_code};
use crate::base::id::{ClientId, GrantId, Subject};
use crate::config::Config;
use crate::config::report::{LOOPBACK, NO_THROTTLE, SecurityReport};
use crate::config::rule::ConfigError;
use crate::context::Context;
use crate::endpoint;
use crate::endpoint::authorize;
use crate::fetch::documents::Documents;
use crate::fetch::key_sets::KeySets;
pub use crate::grant::client_credentials::ClientCredentialsToken;
pub use crate::grant::data::DataChange;
use crate::grant::revocation::Extent;
use crate::grant::{client_credentials, data, revocation};
use crate::hooks::observed::observed;
use crate::model::client::Client;
use crate::model::client_metadata::DocumentError;
use crate::model::grant_data::GrantData;
use crate::model::{Authorization, Grant};
use crate::registration::{OwnClient, Registrar};
use crate::resource::ResourceServer;
use crate::secret::ConsentTicket;
pub use crate::server::builder::Builder;
pub use crate::server::hosts::Hosts;
pub use crate::server::purge::PurgeError;
pub use crate::server::ready::NotReady;
use crate::store::{Purge, StoreError};
use crate::wire::endpoint::path_of;
use crate::wire::{Endpoint, Request, Response};

/// An OAuth 2.0 authorization server [RFC 6749] that works with any framework, runtime and clock.
///
/// Clones are cheap and share everything. All its futures may be dropped at any time: nothing is lost or done twice.
#[derive(Clone, Debug)]
pub struct AuthorizationServer {
    pub(crate) context: Arc<Context>,
    /// The check at the default resource.
    pub(crate) resource: ResourceServer,
}

/// The check at the default resource, or of all tokens if there are no protected resources.
impl From<AuthorizationServer> for ResourceServer {
    fn from(server: AuthorizationServer) -> Self {
        server.resource
    }
}

impl AuthorizationServer {
    /// Returns the settings that it was built with.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.context.config
    }

    /// Returns the issuer [RFC 8414 section 2].
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.context.config.issuer
    }

    /// Returns the path of the issuer without a slash at its end: `/notes` for `https://example.com/notes`, and nothing
    /// for `https://example.com`. It belongs in front of the paths of the service's own pages.
    #[must_use]
    pub fn issuer_path(&self) -> &str {
        path_of(self.issuer())
    }

    /// Returns the host names of the issuer and of all [`Config::resources`], for a check of the `Host` header.
    #[must_use]
    pub fn hosts(&self) -> Hosts {
        let resources = self.config().resources.iter().map(|resource| resource.identifier.as_str());
        Hosts::of(self.issuer(), resources).reporting(Arc::clone(&self.context.clock), self.context.events.clone())
    }

    /// Lists the settings that are weaker than the current best practice [RFC 9700].
    #[must_use]
    pub fn security_report(&self) -> SecurityReport {
        let mut report = self.context.config.security_report();
        if self.context.throttle.is_none() {
            report.findings.push(NO_THROTTLE);
        }
        let of_documents = self.context.documents.as_ref().is_some_and(Documents::reach_loopback);
        if of_documents || self.context.key_sets.as_ref().is_some_and(KeySets::reach_loopback) {
            report.findings.push(LOOPBACK);
        }
        report
    }

    /// Fetches the metadata document of a client and checks it, as an authorization request of a signed-in user does.
    /// It is for an operator who wants to know why a client cannot connect: every call asks the policy, and sends a
    /// request if the document is not cached.
    ///
    /// # Errors
    ///
    /// [`DocumentError`], which is [`Policy`](DocumentError::Policy) also if
    /// [`registration.metadata_documents`](Config::registration) is off.
    pub async fn check_document(&self, url: &str) -> Result<(), Arc<DocumentError>> {
        document_client::check(&self.context, url).await
    }

    /// Returns the complete public path of an endpoint. The issuer's path comes first, or last for the metadata [RFC
    /// 8414 section 3.1]. For [`Endpoint::ResourceMetadata`] it is the start of its [`paths`](Self::paths).
    #[must_use]
    pub fn path(&self, endpoint: Endpoint) -> String {
        endpoint.path(self.issuer())
    }

    /// Returns every path under which an adapter routes an endpoint, [`path`](Self::path) first.
    ///
    /// The metadata has two, since some clients keep the slash at the end of an issuer. Every other path belongs to the
    /// service, or is answered with 404. This includes the path without that of the issuer, which would serve another
    /// issuer's document [RFC 8414 section 3.3].
    ///
    /// [`Endpoint::ResourceMetadata`] has those of all [`Config::resources`], and none without any. Pass the path of
    /// such a request with [`Request::path`]. [`Endpoint::Registration`] has none while
    /// [`registration.dynamic`](Config::registration) is `Off`, [`Endpoint::PushedAuthorization`] none while
    /// [`pushed_requests`](Config::pushed_requests) is off, [`Endpoint::Jwks`] none while no resource has JWT access
    /// tokens, [`Endpoint::DeviceAuthorization`] none while [`devices.on`](Config::devices) is off, and
    /// [`Endpoint::ClientConfiguration`] none while [`registration.management`](Config::registration) is off. The path
    /// of the latter has `{client_id}` as its last segment, and its requests also need [`Request::path`].
    #[must_use]
    pub fn paths(&self, endpoint: Endpoint) -> Vec<String> {
        endpoint::paths(&self.context, endpoint)
    }

    /// Returns how many bytes of a body an adapter must read. A longer body is
    /// [`Body::TooLarge`](crate::wire::Body::TooLarge).
    #[must_use]
    pub fn body_limit(&self) -> usize {
        self.context.config.limits.body_bytes
    }

    /// Answers a machine endpoint: token, pushed requests, device requests, revocation, introspection, keys, metadata,
    /// registration and its management.
    ///
    /// The answer is complete, errors included: 400, 401, 403, 405, 413, 429, and 500 or 503 if the store failed. It is
    /// 404 at the authorization endpoint, which needs a user. It is also 404 at the registration endpoint while
    /// [`registration.dynamic`](Config::registration) is `Off`, at the client configuration endpoint while
    /// [`registration.management`](Config::registration) is off, at the endpoint for pushed requests while
    /// [`pushed_requests`](Config::pushed_requests) is off, at that for devices while [`devices.on`](Config::devices)
    /// is off, and at that for keys while no resource has JWT access tokens.
    ///
    /// It has the headers that [`Config::cors`] asks for, preflights included.
    pub async fn serve(&self, endpoint: Endpoint, request: &Request<'_>) -> Response {
        endpoint::serve(&self.context, endpoint, request).await
    }

    /// Checks an authorization request [RFC 6749 section 4.1.1], for [`hold`](Self::hold) to store it.
    ///
    /// It stores nothing itself but the [session](Request::session) that presents a pushed request before its user has
    /// signed in.
    ///
    /// If no user is signed in, show the sign-in page, and retry the request afterwards.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError`], which makes the response: a page, or a redirect to the client.
    pub async fn authorize(&self, request: &Request<'_>) -> Result<PendingAuthorization, AuthorizationError> {
        observed("authorization", authorize::authorize(&self.context, request)).await
    }

    /// Holds a request for the user who will decide it, and returns the ticket for the page's form. If the client has a
    /// metadata document, what that says now is stored as well. If a person must [review](crate::Registrar::approve) it
    /// first, the request is refused with a page that says so.
    ///
    /// Beyond 50 requests of one user, or 10 of one user and client, the user's oldest request ends.
    ///
    /// `session` is a secret that identifies the browser's session, such as the value of its cookie. A digest of it is
    /// kept. Ticket, subject and session must match at the decision. This protects the form against requests forged by
    /// other sites [RFC 6749 section 10.12].
    ///
    /// # Errors
    ///
    /// [`AuthorizationError`] if the throttle refused, the session is empty, the sign-in is in the future, the client
    /// was suspended or deleted or its redirect URI removed since the check, the pushed request was decided since, or
    /// the store failed.
    pub async fn hold(
        &self,
        pending: &PendingAuthorization,
        user: impl Into<DecidingUser<'_>> + Send,
        session: &[u8],
    ) -> Result<ConsentTicket, AuthorizationError> {
        observed("hold", hold::hold(&self.context, pending, Asked { user: user.into(), session })).await
    }

    /// Says what a request needs next: the choice of an account, the sign-in, the consent page, or nothing, with the
    /// redirect to the client. Call it before [`hold`](Self::hold), whose session it takes. Without a user, pass
    /// `None::<&Subject>`.
    ///
    /// The user is asked unless a client's [`AskConsent`](crate::client::AskConsent) says more, which also lists when
    /// the page is shown nevertheless. Pass all headers with [`Request::header`]: a browser says there whether its user
    /// navigates. A pushed request [RFC 9126] is used up by a code. Sent again within a minute by the same user and
    /// session, it returns the same response, unless the code was exchanged.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError`] as from [`hold`](Self::hold) and [`decide`](Self::decide), and if a page is needed that
    /// the request forbids with `prompt=none` [OpenID Connect Core section 3.1.2.1].
    pub async fn step(
        &self,
        pending: &PendingAuthorization,
        signed_in: Option<impl Into<DecidingUser<'_>> + Send>,
        session: &[u8],
    ) -> Result<NextStep, AuthorizationError> {
        observed("step", step::step(&self.context, pending, signed_in.map(Into::into), session)).await
    }

    /// Records the user's decision, once, and returns the redirect to the client [RFC 6749 section 4.1.2]. For a device
    /// it is a page that says what the user decided. The same decision, sent again within a minute, returns the same
    /// response, unless the code was exchanged.
    ///
    /// Client, redirect URI and scopes are checked again, as they are at that time. Of several pages for one pushed
    /// request [RFC 9126], only the first decision counts.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError`] if the ticket is unknown to this subject and session, too old or decided already, if more
    /// was granted than requested, if the client has lost all of it since, if the user may not be given tokens, or if
    /// the store failed.
    pub async fn decide(
        &self,
        ticket: &str,
        user: impl Into<DecidingUser<'_>> + Send,
        session: &[u8],
        decision: &Decision,
    ) -> Result<Response, AuthorizationError> {
        Ok(self.decide_with_link(ticket, user.into(), session, decision).await?.0)
    }

    /// The same. If the response is the page before the redirect to an unreviewed client, its link too.
    pub(crate) async fn decide_with_link(
        &self,
        ticket: &str,
        user: DecidingUser<'_>,
        session: &[u8],
        decision: &Decision,
    ) -> Result<Answer, AuthorizationError> {
        observed("decision", decide::decide(&self.context, ticket, user, session, decision)).await
    }

    /// Finds the request of the device that shows a code, claims it for the user who typed the code, and holds it
    /// [RFC 8628 section 3.3]. The answer has what the consent page shows. [`decide`](Self::decide) takes the decision.
    ///
    /// A code belongs to the first user who types it; that user may type it again, in any session. A form of the page
    /// must send it, never a link alone.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError`] if the code is unknown, mistyped or expired, or was typed by another user; if the
    /// throttle refused; if its client may not ask any more; if the session is empty; if the user has decided; or if
    /// the store failed.
    pub async fn enter_user_code(
        &self,
        typed: &TypedUserCode<'_>,
        user: impl Into<DecidingUser<'_>> + Send,
        session: &[u8],
    ) -> Result<DeviceConsent, AuthorizationError> {
        observed("user_code", user_code::enter(&self.context, typed, Asked { user: user.into(), session })).await
    }

    /// The same again, for a user who was shown the consent page of the code.
    pub(crate) async fn enter_user_code_again(
        &self,
        ticket: &str,
        typed: &TypedUserCode<'_>,
        user: DecidingUser<'_>,
        session: &[u8],
    ) -> Result<DeviceConsent, AuthorizationError> {
        let again = user_code::enter_again(&self.context, ticket, typed, Asked { user, session });
        observed("user_code", again).await
    }

    /// Gives a user code back, so that another account may type it: for a user who was signed in with the wrong one.
    /// The ticket is then of no use.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError`] if the ticket is unknown to this subject and session, too old, decided or not of a
    /// device, or if the store failed.
    pub async fn release_user_code(
        &self,
        ticket: &str,
        subject: &Subject,
        session: &[u8],
    ) -> Result<(), AuthorizationError> {
        observed(
            "user_code_release",
            user_code::release(&self.context, ticket, Asked { user: subject.into(), session }),
        )
        .await
    }

    /// Returns the check of access tokens at the default one of [`Config::resources`]; of all tokens if there are none.
    ///
    /// If there are protected resources and none is the default, it refuses every token.
    ///
    /// # Examples
    ///
    /// ```
    /// use grantor::wire::Request;
    /// use grantor::{AuthorizationServer, ResourceError};
    ///
    /// async fn list_orders(server: &AuthorizationServer, request: &Request<'_>) -> Result<(), ResourceError> {
    ///     let token = server.resource().authenticate(request).await?;
    ///     server.resource().require_scope(&token, "orders")?;
    ///     // Return the orders of the user here.
    ///     Ok(())
    /// }
    /// ```
    #[must_use]
    pub const fn resource(&self) -> &ResourceServer {
        &self.resource
    }

    /// Returns the check of access tokens for one of the protected resources in [`Config::resources`], by its
    /// identifier as it is written there. Create it once, when the service starts.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if there is no such resource.
    pub fn protected_resource(&self, identifier: &str) -> Result<ResourceServer, ConfigError> {
        ResourceServer::new(self.context.clone(), identifier)
    }

    /// Returns the registrar, with which applications are submitted and reviewed; `None` if the stores have no
    /// registry. So its methods need no error for that case.
    #[must_use]
    pub fn registrar(&self) -> Option<Registrar> {
        Registrar::new(self.context.clone())
    }

    /// Describes a client of your own, to be registered at each start.
    ///
    /// # Examples
    ///
    /// ```
    /// use grantor::scope::{ScopeCatalog, ScopeDefinition};
    /// use grantor::{AuthorizationServer, Config, MemoryStore};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut config = Config::strict("https://auth.example");
    /// config.scopes = ScopeCatalog::builder().scope(ScopeDefinition::plain("notes")).build()?;
    /// let server = AuthorizationServer::new(config, MemoryStore::new())?;
    /// let wiki = server
    ///     .own_client("wiki")
    ///     .name("Wiki")
    ///     .secret("32-or-more-random-characters-from-your-configuration")
    ///     .scopes("notes")
    ///     .redirect_uri("https://wiki.example/callback")
    ///     .ensure()
    ///     .await?;
    /// assert_eq!(wiki.id().as_str(), "wiki");
    /// # Ok(())
    /// # }
    /// ```
    pub fn own_client(&self, id: impl Into<String>) -> OwnClient {
        OwnClient::new(self.context.clone(), id.into())
    }

    /// Returns the current client with that id, bypassing caches. A page that lists grants can use it.
    ///
    /// For some time after a deletion it returns what is left: a client without a name, in the state
    /// [`Deleted`](crate::client::ClientState::Deleted). [`Registrar::client`] returns an error for it.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    pub async fn client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        self.context.stores.clients.current_client(id).await
    }

    /// Returns the live grants of a subject, the oldest first.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed, or if a grant cannot be read. It returns no partial list, which would
    /// hide an application that has access.
    pub async fn grants_of(&self, subject: &Subject) -> Result<Vec<Arc<Grant>>, StoreError> {
        revocation::grants_of(&self.context, subject).await
    }

    /// Returns the live access tokens that a client got for itself [RFC 6749 section 4.4], the oldest first. Each entry
    /// states times and scopes, and does not hold the token.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    pub async fn client_credentials_tokens_of(
        &self,
        client: &ClientId,
    ) -> Result<Vec<ClientCredentialsToken>, StoreError> {
        client_credentials::tokens_of(&self.context, client).await
    }

    /// Returns the requests that a subject approved and whose codes can still be exchanged, or whose devices have not
    /// fetched their tokens, the oldest first. A code that was exchanged is not among them:
    /// [`grants_of`](Self::grants_of) returns its grant.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed, or if a record cannot be read. It returns no partial list, as with
    /// [`grants_of`](Self::grants_of).
    pub async fn authorizations_of(&self, subject: &Subject) -> Result<Vec<Arc<Authorization>>, StoreError> {
        revocation::authorizations_of(&self.context, subject).await
    }

    /// Replaces what your service keeps with a grant of a user, with one compare-and-swap. `id` is
    /// [`Authenticated::grant`](crate::Authenticated::grant), and `seen` its [`data`](crate::Authenticated::data): if
    /// the grant has something else by now, nothing is written, so that no two writers undo each other.
    /// [`NotLive`](DataChange::NotLive) ignores the state of the client.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed. The data may have been written: call it again with the same arguments.
    pub async fn set_grant_data(
        &self,
        id: GrantId,
        seen: Option<&GrantData>,
        data: Option<GrantData>,
    ) -> Result<DataChange, StoreError> {
        data::set(&self.context, id, seen, data).await
    }

    /// Revokes a grant with all its tokens, for the user who gave it. Returns whether it was live, ignoring the
    /// client's state. It also returns `false` if that user gave no such grant.
    ///
    /// The id may also be that of a request that has not become a grant. The code of an approved request can then no
    /// longer be exchanged, and a consent request can no longer be approved. An
    /// [`AuthorizationId`](crate::id::AuthorizationId) and the [`GrantId`] of the same record convert into each other.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; the grant may still be live.
    pub async fn revoke_grant(&self, id: GrantId, subject: &Subject) -> Result<bool, StoreError> {
        revocation::revoke_grant(&self.context, id, subject).await
    }

    /// Revokes everything of a subject: consent requests, codes and grants. Returns how many were live, ignoring the
    /// states of their clients.
    ///
    /// Lock the user or end the sessions first, so that nothing new is granted meanwhile.
    /// Where the store's reads are not settled, it confirms what was revoked before, so a call that succeeds is
    /// durable.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed anywhere, or a record could not be read; all else is revoked.
    /// Call it again.
    pub async fn revoke_subject(&self, subject: &Subject) -> Result<usize, StoreError> {
        revocation::revoke_all(&self.context, subject, Extent::Subject).await
    }

    /// Revokes what a subject granted to one client: consent requests, codes and grants. Returns how many were live,
    /// ignoring the client's state.
    ///
    /// Nothing that existed when the call began gives access after it has succeeded, not even a decision, an exchange
    /// or a refresh that was under way. What the user approves afterwards does. Other users and other clients keep what
    /// they have. The client keeps what it got for itself [RFC 6749 section 4.4].
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed anywhere, or a record could not be read; all else is revoked.
    /// Call it again.
    pub async fn revoke_application(&self, subject: &Subject, client: &ClientId) -> Result<usize, StoreError> {
        revocation::revoke_all(&self.context, subject, Extent::Application(client)).await
    }

    /// Stops using a [signing key](crate::server::Builder::signing_keys) that has leaked, by its
    /// [`kid`](crate::hooks::SigningKey::key_id). It signs nothing more and is no longer published. Returns `false` if
    /// there is no such key, or if it was dropped before.
    ///
    /// This server refuses the tokens of the key at once. An API that verifies JWTs itself refuses them when it next
    /// fetches the key set: within 300 s, and within 600 s if its requests fail. A shared cache in front of the key set
    /// adds the age of its copy.
    ///
    /// The key is dropped until this process ends. First remove it from what servers are built with, so that none
    /// publishes it again, then call this on every server. If no other key may sign, requests for JWTs are answered
    /// with 503.
    #[must_use]
    pub fn drop_key(&self, key_id: &str) -> bool {
        self.context.signing_keys.drop_key(key_id)
    }

    /// Checks whether this server can answer requests now: the store answers a read and would take a write, no other
    /// server of the store has another clock, and a key may sign. Ask it every few seconds, and log why not.
    ///
    /// # Errors
    ///
    /// [`NotReady`], which says why not.
    pub async fn ready(&self) -> Result<(), NotReady> {
        ready::ready(&self.context).await
    }

    /// Returns the answer to a load balancer that asks whether this server is [ready](Self::ready): 204, or 503. It
    /// says nothing else, so strangers may ask. A server whose store takes no writes still checks access tokens, and
    /// counts as ready.
    pub async fn readiness_response(&self) -> Response {
        let status = match self.ready().await {
            Ok(()) | Err(NotReady::ReadOnly(_)) => 204,
            Err(NotReady::ClockDiffers { .. } | NotReady::NoSigningKey | NotReady::Store(_)) => 503,
        };
        Response::new(status).with_header("Cache-Control", "no-store")
    }

    /// Removes expired records, examining at most `limit` in each store. Call it about once a minute, and repeat it
    /// until [`Purge::is_finished`] returns `true`.
    ///
    /// It affects only the size of the store: expiry is checked when a record is read.
    ///
    /// It cannot be undone, so it is refused while the clock is more than [`clock_jump`](Config::clock_jump) beyond the
    /// newest time that this process and the store have seen. The store keeps the time of the last purge that was
    /// accepted. The first call on a store writes that time and removes nothing.
    ///
    /// # Errors
    ///
    /// [`PurgeError::ClockAhead`] if the clock seems to have jumped forward, or if the service was stopped for as long;
    /// nothing was removed. [`PurgeError::Store`] if a store failed, after the others did their part; call again. Each
    /// raises an event: [`PurgeRefused`](crate::Event::PurgeRefused), [`PurgeFailed`](crate::Event::PurgeFailed).
    pub async fn purge_expired(&self, limit: usize) -> Result<Purge, PurgeError> {
        purge::purge_expired(&self.context, limit).await
    }

    /// Confirms the clock when a purge was refused with [`PurgeError::ClockAhead`]: the time of the clock becomes the
    /// time of the last purge, and [`purge_expired`](Self::purge_expired) works again. It removes nothing itself.
    ///
    /// If a wrong clock was confirmed, correct the clock and call it again: the time may also be an earlier one.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; call again.
    ///
    /// # Security
    ///
    /// Only a person who has compared the clock with another one may call it. A call at each start would delete live
    /// grants on a machine whose clock is wrong.
    pub async fn confirm_clock(&self) -> Result<(), StoreError> {
        purge::confirm_clock(&self.context).await
    }
}

#[cfg(test)]
impl AuthorizationServer {
    pub(crate) fn context(&self) -> Arc<Context> {
        Arc::clone(&self.context)
    }
}
