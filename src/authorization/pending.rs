//! Valid and refused authorization requests.

use std::error::Error;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use crate::authorization::identity_request::{IdentityRequest, SignInHints};
use crate::base::debug_as_text;
use crate::base::id::{ClientId, Subject};
use crate::context::Context;
use crate::error::{ErrorCode, Reason, response};
use crate::jose::JwkThumbprint;
use crate::model::client::{AskConsent, Client, ClientOrigin};
use crate::model::client_metadata::DocumentUrl;
use crate::model::protected_resource::ProtectedResource;
use crate::model::redirect_uri::RedirectUri;
use crate::model::terms::Terms;
use crate::model::{Authorization, Destination, PushedFrom, Redirection, Stage};
use crate::registration::DocumentAdmission;
use crate::scope::{OPENID, Permission, ResourceScope, ScopeCatalog, ScopeDefinition, ScopeSet};
use crate::secret::Digest;
use crate::secret::pkce::CodeChallenge;
use crate::wire::page::ErrorKind;
use crate::wire::params::append_query;
use crate::wire::{Endpoint, Response};

/// A valid authorization request that awaits the user's decision. Nothing is stored yet.
///
/// It cannot be altered between the request and the decision. It contains what a consent page must show. All texts come
/// from the application, and the page must escape them.
#[derive(Clone)]
pub struct PendingAuthorization {
    pub(crate) client: Arc<Client>,
    pub(crate) destination: Destination,
    pub(crate) challenge: Option<CodeChallenge>,
    /// What the client asks for.
    pub(crate) terms: Terms,
    /// Whether the request named scopes that the client may not have.
    pub(crate) has_dropped_scopes: bool,
    pub(crate) protected_resources: Vec<Arc<ProtectedResource>>,
    pub(crate) catalog: ScopeCatalog,
    pub(crate) peer: Option<IpAddr>,
    /// What must be stored for the client's metadata document when the request is held; `None` if nothing.
    pub(crate) document: Option<Arc<DocumentAdmission>>,
    /// The key that the code will be bound to [RFC 9449 section 10].
    pub(crate) key: Option<JwkThumbprint>,
    /// The pushed request that it came from.
    pub(crate) pushed: Option<Presented>,
    /// When users of the client are asked.
    pub(crate) ask_consent: AskConsent,
    /// Whether a page must be shown: users are asked each time, the request wants it, or no user navigates to it.
    pub(crate) needs_page: bool,
    /// Whether a user navigates to the address, as far as the browser says so.
    pub(crate) is_navigation: bool,
    /// What the request says about the sign-in; `None` while OpenID Connect is off.
    pub(crate) identity: Option<Box<IdentityRequest>>,
}

/// A pushed request as a browser presents it.
#[derive(Clone)]
pub(crate) struct Presented {
    pub(crate) from: PushedFrom,
    /// The code of a decision without a page derives from it, so that the same browser can get that code again.
    pub(crate) request_uri: Box<str>,
    /// The ticket of the consent request that was decided without a page, a moment ago.
    pub(crate) used_by: Option<Digest>,
}

impl PendingAuthorization {
    /// Creates an error that goes to the client, if a browser may go there.
    pub(crate) fn redirect(&self, context: &Context, reason: Reason) -> AuthorizationError {
        let error = AuthorizationError::answer(context, &self.client, &self.destination, reason);
        if self.is_silent() { error.silently() } else { error }
    }

    /// Whether the request permits no page [OpenID Connect Core section 3.1.2.1].
    pub(crate) fn is_silent(&self) -> bool {
        self.identity.as_ref().is_some_and(|identity| identity.is_silent())
    }

    /// Returns what the client suggests for the sign-in; `None` while OpenID Connect is off.
    #[must_use]
    pub fn sign_in_hints(&self) -> Option<&SignInHints> {
        self.identity.as_ref().map(|identity| &identity.hints)
    }

    /// Returns the request with the consent page, for a user who was shown it before: whatever happened since, the
    /// answer may have been lost.
    #[must_use]
    pub fn asking_again(self) -> Self {
        Self { needs_page: true, ..self }
    }

    /// Returns the request without the choice of an account, for a service that has no page for it.
    #[must_use]
    pub fn without_account_selection(mut self) -> Self {
        if let Some(identity) = &mut self.identity {
            identity.has_selected = true;
        }
        self
    }

    /// Returns the client that sent the request.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the requested scopes.
    #[must_use]
    pub const fn scopes(&self) -> &ScopeSet {
        &self.terms.scopes
    }

    /// Returns the requested scopes with their definitions, in the order of the catalog.
    pub fn requested(&self) -> impl Iterator<Item = RequestedScope<'_>> {
        RequestedScope::each(&self.catalog, &self.terms.scopes)
    }

    /// Returns the requested resources. If they are specified, the user picks some of them.
    #[must_use]
    pub const fn resource_scope(&self) -> &ResourceScope {
        &self.terms.resources
    }

    /// Returns the protected resources that the tokens will be for [RFC 8707]; none if the settings have none. A page
    /// shows each with its [`shown_name`](ProtectedResource::shown_name) and its identifier.
    pub fn protected_resources(&self) -> impl Iterator<Item = &ProtectedResource> {
        self.protected_resources.iter().map(|resource| &**resource)
    }

    /// Returns the redirect URI that the response goes to [RFC 6749 section 3.1.2]; `None` for a device.
    #[must_use]
    pub fn redirect_uri(&self) -> Option<&RedirectUri> {
        self.destination.browser().map(|to| &to.redirect_uri)
    }

    /// Returns where the browser will go: a host, or the scheme of an app; empty for a device.
    #[must_use]
    pub fn redirect_host(&self) -> &str {
        self.redirect_uri().map_or("", RedirectUri::host)
    }

    /// Returns the sources that a page must list in `form-action` besides `'self'`, if its Content-Security-Policy has
    /// this directive [Content Security Policy section 6.4.1].
    ///
    /// They are `https: http:`, or the scheme of an app. A single host is not enough, because browsers apply the
    /// directive to every redirect that follows the form, including those of the client itself.
    #[must_use]
    pub fn form_action_sources(&self) -> String {
        self.redirect_uri().map_or_else(String::new, RedirectUri::form_action_sources)
    }

    /// Returns the host of the client id, if that is the URL of a metadata document. It is the only verified fact about
    /// the client. Show it first [draft-ietf-oauth-client-id-metadata-document section 8.5].
    ///
    /// An international name is in its ASCII form (A-labels), and an IPv6 address in brackets.
    #[must_use]
    pub fn client_id_host(&self) -> Option<&str> {
        let is_document = self.client.open().is_some_and(|open| open.origin == ClientOrigin::MetadataDocument);
        let url = DocumentUrl::parse(self.client.id.as_str()).ok().filter(|_| is_document)?;
        Some(url.host())
    }

    /// Returns whether the client pushed the request, so that no other party can have written or altered it [RFC 9126
    /// section 1].
    #[must_use]
    pub const fn is_pushed(&self) -> bool {
        self.pushed.is_some()
    }

    /// Returns whether a device asks, to which no browser goes [RFC 8628].
    #[must_use]
    pub const fn is_for_device(&self) -> bool {
        matches!(self.destination, Destination::Device(_))
    }

    /// Returns a digest of what a remembered consent relies on: the client's type, redirect URIs, authentication
    /// methods and default scopes.
    ///
    /// Store it with each remembered consent, and compare it. If it differs, the client has changed: say so on the
    /// page, and ignore earlier consents [draft-ietf-oauth-client-id-metadata-document section 8.4]. Existing grants
    /// stay valid.
    #[must_use]
    pub fn client_digest(&self) -> [u8; 32] {
        self.client.consent_digest()
    }

    /// Returns whether the client registered itself or has a metadata document, and no person has approved it [RFC 7591
    /// section 5].
    ///
    /// Say so on the page. Its name and website are its own claims. Do not show its logo.
    /// [`Client::open`](crate::Client::open) returns how and when it was registered, whether its links lead to other
    /// hosts than its redirect URIs, and whether its name looks like another client's.
    #[must_use]
    pub fn is_client_unreviewed(&self) -> bool {
        self.client.is_unreviewed()
    }

    /// Returns whether every redirect URI of the client leads to the user's own device by plain `http`
    /// [RFC 8252 section 7.3]. Any program there can claim to be this client: warn the user.
    #[must_use]
    pub fn is_loopback_only(&self) -> bool {
        let uris = &self.client.form.redirect_uris;
        !uris.is_empty() && uris.iter().all(|uri| uri.as_requested().is_loopback())
    }

    /// Returns whether the client's identity is assured, so that an earlier consent may replace the user's click [RFC
    /// 8252 section 8.6]: the client is confidential and not unreviewed, and the browser does not go to the user's own
    /// device. Of public clients, only those are assured whose users need not be asked each time: see [`AskConsent`].
    #[must_use]
    pub fn is_client_identity_assured(&self) -> bool {
        let client = &self.client;
        let is_confidential = !client.counts_as_public() && !client.is_unreviewed();
        let is_elsewhere = self.redirect_uri().is_none_or(|uri| !uri.is_loopback() && !uri.is_private_use());
        is_confidential && is_elsewhere || self.ask_consent != AskConsent::Always
    }
}

impl fmt::Debug for PendingAuthorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingAuthorization")
            .field("client", &self.client.id)
            .field("redirect_uri", &self.redirect_uri())
            .field("scopes", &self.terms.scopes)
            .finish_non_exhaustive()
    }
}

/// A requested scope with its definition.
#[derive(Clone, Debug)]
pub struct RequestedScope<'a> {
    token: String,
    permission: Option<Permission>,
    definition: &'a ScopeDefinition,
}

impl<'a> RequestedScope<'a> {
    /// The scopes of a set with their definitions, in the order of the set. Those that the catalog no longer has are
    /// left out.
    pub(crate) fn each(catalog: &'a ScopeCatalog, scopes: &ScopeSet) -> impl Iterator<Item = Self> {
        scopes.iter().filter_map(|scope| {
            let definition = catalog.definition(scope.name())?;
            let token = catalog.to_wire(&ScopeSet::from_scopes([scope])).into_owned();
            Some(Self { token, permission: scope.permission(), definition })
        })
    }

    /// Returns the token of the scope, for the wire and for a form in which the user can untick it.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Returns whether the scope is requested read-only or read-write; `None` in a catalog without permissions.
    #[must_use]
    pub const fn permission(&self) -> Option<Permission> {
        self.permission
    }

    /// Returns whether the page shows the scope without a box, in a hidden field: an approval without `openid` is a
    /// refusal, since the client is owed an ID token [OpenID Connect Core section 3.1.3.3].
    #[must_use]
    pub fn is_fixed(&self) -> bool {
        self.definition.name() == OPENID
    }

    /// Returns the title, the description and the group.
    #[must_use]
    pub const fn definition(&self) -> &ScopeDefinition {
        self.definition
    }
}

/// A refused authorization request or decision, with the response for the user.
pub struct AuthorizationError(Box<Refusal>);

struct Refusal {
    reason: Reason,
    redirect: Option<Redirect>,
    trusted: bool,
    /// Whether nobody has reviewed the client.
    unreviewed: bool,
    /// Whether the request permits no page of sign-in.
    silent: bool,
    page: response::UserPage,
}

impl Refusal {
    fn page(context: &Context, reason: Reason) -> Self {
        Self {
            page: response::to_user(&reason, &context.config),
            reason,
            redirect: None,
            trusted: false,
            unreviewed: true,
            silent: false,
        }
    }
}

/// The response that goes to the client.
struct Redirect {
    response: Response,
    form_action_sources: String,
    /// Set if the response is the page before the redirect to an unreviewed client.
    link: Option<Link>,
}

/// The response to a decision. Unless it is a redirect, also what a page of the service says in its place.
pub(crate) type Answer = (Response, Option<Shows>);

/// What a page says instead of a redirect.
#[derive(Clone)]
pub(crate) enum Shows {
    /// The link to an unreviewed client.
    Link(Link),
    /// Whether a device may fetch its tokens.
    Device { is_allowed: bool },
}

impl Shows {
    fn link(self) -> Option<Link> {
        match self {
            Self::Link(link) => Some(link),
            Self::Device { .. } => None,
        }
    }
}

/// The host of an unreviewed client, and the redirect to it.
#[derive(Clone)]
pub(crate) struct Link {
    pub(crate) host: String,
    pub(crate) location: String,
}

#[cfg(any(feature = "tracing", feature = "metrics"))]
impl<T> crate::hooks::observed::Answered for Result<T, AuthorizationError> {
    fn status(&self) -> u16 {
        self.as_ref().err().map_or(200, |error| error.0.reason.refusal().status)
    }
}

impl AuthorizationError {
    /// An error that shows a page: client or redirect URI are not established.
    pub(crate) fn page(context: &Context, reason: Reason) -> Self {
        Self::raise(context, None, None, Refusal::page(context, reason))
    }

    /// An error that shows a page although the client is known. The event contains its id.
    pub(crate) fn page_for(context: &Context, client: &ClientId, reason: Reason) -> Self {
        Self::raise(context, Some(client), None, Refusal::page(context, reason))
    }

    /// An error that shows what was decided about a request before, and names the client if a person has reviewed it.
    pub(crate) fn answered(
        context: &Context,
        id: &ClientId,
        client: Option<Arc<Client>>,
        answered: Option<&Authorization>,
    ) -> Self {
        let mut refusal = Refusal::page(context, Reason::AlreadyDecided);
        refusal.page.kind = match answered.map(|answered| &answered.stage) {
            Some(Stage::CodeIssued(_)) => ErrorKind::AlreadyAllowed,
            Some(Stage::Denied) => ErrorKind::AlreadyDenied,
            Some(Stage::Held) | None => ErrorKind::AlreadyAnswered,
        };
        refusal.page.client = client.filter(|client| client.is_approved() && !client.is_unreviewed());
        Self::raise(context, Some(id), None, refusal)
    }

    /// An error that shows a page because this redirect URI may not be used.
    pub(crate) fn page_for_uri(context: &Context, client: &ClientId, uri: &[u8], reason: Reason) -> Self {
        Self::raise(context, Some(client), Some(uri), Refusal::page(context, reason))
    }

    /// Adds the registered redirect URIs to the cause, which only the page of a service in development shows. The event
    /// has the requested one: a page repeats nothing of a request.
    pub(crate) fn naming_registered(mut self, client: &Client) -> Self {
        if let Some(cause) = &mut self.0.page.cause {
            let registered: Vec<_> = client.form.redirect_uris.iter().map(|uri| uri.as_str()).collect();
            *cause += &format!(". Registered: {}", registered.join(" "));
        }
        self
    }

    /// An error that goes to the client if a browser may go there, or else shows a page.
    pub(crate) fn answer(context: &Context, client: &Client, destination: &Destination, reason: Reason) -> Self {
        match destination {
            Destination::Browser(to) => Self::redirect(context, client, to, reason),
            Destination::Device(_) => Self::page_for(context, &client.id, reason),
        }
    }

    /// An error that goes to the client. That of an unreviewed client is a page first, whose one link is the redirect:
    /// anyone can register one, and would otherwise make this server redirect to any site [RFC 9700 section 4.11.2].
    pub(crate) fn redirect(context: &Context, client: &Client, to: &Redirection, reason: Reason) -> Self {
        let (response, shows) = to.error(context, client, &reason);
        let link = shows.and_then(Shows::link);
        let form_action_sources = to.redirect_uri.form_action_sources();
        let redirect = Some(Redirect { response, form_action_sources, link });
        let (trusted, unreviewed) = (client.privileges.trusted, client.is_unreviewed());
        let refusal = Refusal { redirect, trusted, unreviewed, ..Refusal::page(context, reason) };
        Self::raise(context, Some(&client.id), None, refusal)
    }

    fn raise(context: &Context, client: Option<&ClientId>, uri: Option<&[u8]>, refusal: Refusal) -> Self {
        context.note_refusal(Endpoint::Authorization, client, uri, &refusal.reason);
        Self(Box::new(refusal))
    }

    /// The same for a request that permits no page of sign-in. Without a user, the answer goes to a client that a
    /// person has reviewed.
    ///
    /// > The authorization server MUST always authenticate the user first and, with the exception of the silent
    /// > authentication use case, prompt the user for credentials when needed, before redirecting the user.
    ///
    /// [RFC 9700 section 4.11.2]
    pub(crate) fn silently(mut self) -> Self {
        self.0.silent = true;
        self.0.trusted |= !self.0.unreviewed;
        self
    }

    /// Returns exactly what was wrong.
    #[must_use]
    pub const fn reason(&self) -> &Reason {
        &self.0.reason
    }

    /// Returns whether the response leads to the client if the user is signed in: by a redirect, or for an unreviewed
    /// client by a page with a link to it. Otherwise it is the error page, and a service may show its own page instead.
    #[must_use]
    pub const fn redirects(&self) -> bool {
        self.0.redirect.is_some()
    }

    /// Returns whether the user must sign in before the response is sent. Show the sign-in page, then retry the request
    /// with [`Request::subject`](crate::wire::Request::subject).
    ///
    /// Without this, a link of a third party could make the server redirect any visitor [RFC 9700 section 4.11.2], or
    /// fetch a metadata document.
    #[must_use]
    pub const fn needs_sign_in(&self) -> bool {
        !self.0.silent && (self.waits_for_document() || self.0.redirect.is_some() && !self.0.trusted)
    }

    /// Whether nothing is known about the client before its document is read.
    const fn waits_for_document(&self) -> bool {
        matches!(self.0.reason, Reason::SignInNeeded)
    }

    /// Returns the sources that the sign-in page must list in `form-action` besides `'self'` if the response is a
    /// redirect, as [`PendingAuthorization::form_action_sources`] does for the consent page.
    #[must_use]
    pub fn form_action_sources(&self) -> Option<&str> {
        if self.waits_for_document() {
            return Some("https: http:");
        }
        self.0.redirect.as_ref().map(|redirect| redirect.form_action_sources.as_str())
    }

    /// Returns the response for the user who is signed in, if any: a redirect to the client, a page with a link to an
    /// unreviewed client, or the error page.
    #[must_use]
    pub fn response(self, signed_in: Option<&Subject>) -> Response {
        let reaches_client = self.reaches_client(signed_in.is_some());
        let Refusal { reason, page, redirect, .. } = *self.0;
        redirect.filter(|_| reaches_client).map_or_else(|| page.response(&reason), |redirect| redirect.response)
    }

    /// Whether the response leads to the client, by a redirect or by a page with a link.
    const fn reaches_client(&self, is_signed_in: bool) -> bool {
        self.0.redirect.is_some() && (is_signed_in || self.0.trusted)
    }

    /// Returns what the page says; `None` if the response is a redirect.
    pub(crate) fn shown(&self, is_signed_in: bool) -> Option<Shown<'_>> {
        let cause = self.0.page.cause.as_deref();
        let Some(redirect) = self.0.redirect.as_ref().filter(|_| self.reaches_client(is_signed_in)) else {
            let client = self.0.page.client.as_deref();
            return Some(Shown { kind: self.0.page.kind, cause, link: None, client });
        };
        let link = redirect.link.as_ref()?;
        Some(Shown { kind: response::page_before_redirect(&self.0.reason).1, cause, link: Some(link), client: None })
    }
}

/// What a page says about an error.
pub(crate) struct Shown<'a> {
    pub(crate) kind: ErrorKind,
    pub(crate) cause: Option<&'a str>,
    /// The unreviewed client that the page links to.
    pub(crate) link: Option<&'a Link>,
    /// The reviewed client that the user answered before.
    pub(crate) client: Option<&'a Client>,
}

debug_as_text!(AuthorizationError);

impl fmt::Display for AuthorizationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0.reason, f)
    }
}

impl Error for AuthorizationError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.reason.source()
    }
}

/// The authorization responses [RFC 6749 section 4.1.2].
impl Redirection {
    /// § 4.1.2: `code`, then `state` and `iss`.
    pub(crate) fn code(&self, context: &Context, code: &str) -> Response {
        let location = self.location(context, &[("code", code)]);
        Response::redirect(context.config.authorization.redirect_status, location)
    }

    /// § 4.1.2.1: `error` and its description, then `state` and `iss`.
    pub(crate) fn error(&self, context: &Context, client: &Client, reason: &Reason) -> Answer {
        let code = response::code_in_redirect(reason);
        let is_denied = code == ErrorCode::AccessDenied;
        let description = if is_denied { "the request was denied".into() } else { reason.refusal().description };
        let location = self.location(context, &[("error", code.as_str()), ("error_description", &description)]);
        // No site is on the loopback, and programs wait there for the answer.
        if client.is_unreviewed() && !self.redirect_uri.is_loopback() {
            let host = self.redirect_uri.host();
            let response = response::before_redirect(reason, host, &location);
            return (response, Some(Shows::Link(Link { host: host.to_owned(), location })));
        }
        (Response::redirect(context.config.authorization.redirect_status, location), None)
    }

    /// The redirect URI itself plus parameters, never a re-serialized URL.
    fn location(&self, context: &Context, parameters: &[(&str, &str)]) -> String {
        let own = self.redirect_uri.as_str();
        let mut location = String::with_capacity(own.len() + 192);
        location.push_str(own);
        for (name, value) in parameters {
            append_query(&mut location, name, value.as_bytes());
        }
        if let Some(state) = &self.state {
            append_query(&mut location, "state", state);
        }
        append_query(&mut location, "iss", context.config.issuer.as_bytes());
        location
    }
}
