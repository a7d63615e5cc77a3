//! The flow between the pages. An adapter translates requests and responses, and adds nothing.

use std::fmt;
use std::sync::Arc;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::authorization::identity_request::SIGNED_IN_SINCE;
use crate::authorization::pending::{AuthorizationError, Link, PendingAuthorization, Shows};
use crate::authorization::signed_in::SignedIn;
use crate::authorization::step::NextStep;
use crate::base::id::ClientId;
use crate::error::Reason;
use crate::hooks::Event;
use crate::interaction::Pages;
use crate::interaction::browser::{Browser, BrowserCookie, SignInLoops};
use crate::interaction::consent_form::ConsentForm;
use crate::interaction::page::{ConsentPage, ErrorLink, ErrorPage, Reviewed};
use crate::interaction::return_to::{ReturnTo, Route, device_path};
use crate::model::application::{Application, LogoSlot};
use crate::model::client::{AskConsent, Client, ClientState};
use crate::server::AuthorizationServer;
use crate::store::StoreError;
use crate::wire::page::{COMMON_HEADERS, ErrorKind};
use crate::wire::params::{Fields, QUERY_BYTES, parameters_named};
use crate::wire::{Body, Endpoint, RedirectStatus, Request, Response};

/// What an adapter does with a request.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "an adapter must handle both")]
pub enum Step {
    /// It sends this response.
    Respond(Response),
    /// It sends the user to the sign-in, and from there to this address.
    SignIn(ReturnTo),
}

/// Who sent a request, as the adapter found out.
#[derive(Clone, Copy, Debug)]
pub struct Visitor<'a> {
    pub(super) browser: &'a Browser,
    pub(super) user: Option<&'a SignedIn>,
    pub(super) languages: &'a str,
    pub(super) switch_account: Option<&'a str>,
}

impl<'a> Visitor<'a> {
    /// Creates a visitor who is not signed in.
    #[must_use]
    pub const fn new(browser: &'a Browser) -> Self {
        Self { browser, user: None, languages: "", switch_account: None }
    }

    /// Sets the user who is signed in.
    #[must_use]
    pub const fn user(mut self, user: &'a SignedIn) -> Self {
        self.user = Some(user);
        self
    }

    /// Sets the value of the `Accept-Language` header [RFC 9110 section 12.5.4].
    #[must_use]
    pub const fn languages(mut self, header: &'a str) -> Self {
        self.languages = header;
        self
    }

    /// Sets the path where a user can change to another account. The parameter `return_to` is added to it.
    #[must_use]
    pub const fn switch_account(mut self, path: &'a str) -> Self {
        self.switch_account = Some(path);
        self
    }
}

/// The pages of one server, and the flow between them.
///
/// An adapter routes every method of each [`Route`] at its [`path`](Self::path) to [`serve`](Self::serve). It reads
/// [`FORM_BYTES`](Self::FORM_BYTES) of a body. It adds the [cookie](Browser::set_cookie) of the
/// [`browser`](Self::browser) to the response, to that of the sign-in too. It keeps the flow itself, never a server
/// that it finds elsewhere, so that two servers can run in one program.
#[derive(Clone)]
pub struct Flow {
    pub(super) server: AuthorizationServer,
    pub(super) pages: Arc<dyn Pages>,
    cookie: BrowserCookie,
    /// The part of the policy that is the same for every page.
    policy: Arc<str>,
    device_path: Arc<str>,
    loops: Arc<SignInLoops>,
}

impl Flow {
    /// How many bytes of a form an adapter must read. The consent form contains its own address, in which every byte of
    /// `state` may be escaped twice.
    pub const FORM_BYTES: usize = 256 * 1024;

    /// Creates the flow of a server.
    #[must_use]
    pub fn new(server: &AuthorizationServer, pages: impl Pages) -> Self {
        let sources: String = pages.sources().chars().filter(|own| *own == ' ' || own.is_ascii_graphic()).collect();
        Self {
            server: server.clone(),
            cookie: BrowserCookie::of(server.issuer()),
            // The first directive of a name counts [CSP3 section 2.2.1].
            policy: format!("; frame-ancestors 'none'; base-uri 'none'; default-src 'none'; {sources}").into(),
            pages: Arc::new(pages),
            device_path: device_path(server).into(),
            loops: Arc::default(),
        }
    }

    /// Returns the server.
    #[must_use]
    pub const fn server(&self) -> &AuthorizationServer {
        &self.server
    }

    /// Returns the public path of a page. Each begins with the path of the authorization endpoint, except that of the
    /// page for user codes, which [`devices.verification_uri`](crate::config::DeviceSettings::verification_uri) may
    /// set.
    #[must_use]
    pub fn path(&self, route: Route) -> String {
        let start = self.server.path(Endpoint::Authorization);
        match route {
            Route::Authorization => start,
            Route::Consent => start + "/consent",
            Route::Device => self.device_path.to_string(),
            Route::Applications => start + "/applications",
            Route::Logo => start + "/logo",
        }
    }

    /// Recognizes a browser by the values of its `Cookie` headers.
    #[must_use]
    pub fn browser<'c>(&self, cookies: impl IntoIterator<Item = &'c [u8]>) -> Browser {
        self.cookie.read(cookies, &*self.server.context.entropy)
    }

    /// Returns the `Set-Cookie` header for the response that signs a user out: another user may use the browser next,
    /// and must not find a request that the browser had begun.
    #[must_use]
    pub fn forget_browser(&self) -> String {
        self.cookie.removal()
    }

    /// Answers a request.
    pub async fn serve(&self, route: Route, request: &Request<'_>, visitor: &Visitor<'_>) -> Step {
        let is_form = route == Route::Authorization && request.method == "POST";
        if is_form && self.server.config().has_identity() {
            return Step::Respond(self.as_query(request, visitor));
        }
        if !route.allow().split(", ").any(|method| method == request.method) {
            let page = self.error(405, ErrorKind::LinkCannotBeAccessed, visitor);
            return Step::Respond(page.with_header("Allow", route.allow()));
        }
        let step = match route {
            Route::Authorization => self.ask(request, visitor, None).await,
            Route::Consent => self.decide(request, visitor).await,
            Route::Device => self.device(request, visitor).await,
            Route::Applications => self.applications(request, visitor).await,
            Route::Logo => Step::Respond(self.logo(request.query).await),
        };
        if let Step::SignIn(to) = &step
            && self.loops.is_one(visitor.browser, to, self.server.context.now())
        {
            self.server.context.raise(&Event::SignInLoop {});
            // With a link of this service, the browser sends a cookie with `SameSite=Strict` too.
            let page = ErrorPage { again: Some(to), ..error_page(ErrorKind::SignInLoop, visitor) };
            return Step::Respond(self.page(400, self.pages.error(&page), ""));
        }
        step
    }

    /// Redirects a request that was sent as a form to the same address with the form as its query, before anything is
    /// judged. The browser then sends its cookie with `SameSite=Lax`.
    ///
    /// > Authorization Servers MUST support the use of the HTTP GET and POST methods
    ///
    /// [OpenID Connect Core section 3.1.2.1]
    fn as_query(&self, request: &Request<'_>, visitor: &Visitor<'_>) -> Response {
        match request.body {
            Body::Bytes(form) if form.len() > QUERY_BYTES => self.error(413, ErrorKind::LinkCannotBeAccessed, visitor),
            Body::TooLarge => self.error(413, ErrorKind::LinkCannotBeAccessed, visitor),
            Body::Bytes(form) if request.is_form() => {
                let to = ReturnTo::of(&self.path(Route::Authorization), form);
                Response::redirect(RedirectStatus::SeeOther, to.to_string())
            }
            Body::Bytes(_) | Body::Empty => self.error(400, ErrorKind::LinkCannotBeAccessed, visitor),
        }
    }

    /// Checks the request, lets the user sign in, and shows the consent page. After an answer with a problem, `before`,
    /// it shows the page again.
    async fn ask(&self, request: &Request<'_>, visitor: &Visitor<'_>, before: Option<&ConsentForm>) -> Step {
        let return_to = ReturnTo::of(&self.path(Route::Authorization), request.query);
        let session = visitor.browser.session();
        let subject = visitor.user.map(SignedIn::subject);
        let query = request.query;
        let request = subject.into_iter().fold(request.session(session), Request::subject);
        let pending = match self.server.authorize(&request).await {
            Ok(pending) => pending,
            Err(error) if subject.is_none() && error.needs_sign_in() => {
                return Step::SignIn(if self.may_need_time(query) { self.since_now(return_to) } else { return_to });
            }
            Err(error) => return Step::Respond(self.refuse(error, visitor, None)),
        };
        // A user who was asked before is asked again, whatever happened since: an answer may have been lost.
        let pending = if before.is_some() || return_to.asks() { pending.asking_again() } else { pending };
        let pending = if visitor.switch_account.is_none() { pending.without_account_selection() } else { pending };
        let user = match (self.server.step(&pending, visitor.user, session).await, visitor.user) {
            (Ok(NextStep::Ask), Some(user)) => user,
            (Ok(NextStep::SignIn | NextStep::Ask), _) => return Step::SignIn(self.to_sign_in(return_to, &pending)),
            (Ok(NextStep::SelectAccount), _) => {
                let location = self.since_now(return_to).query(visitor.switch_account.unwrap_or_default());
                return Step::Respond(Response::redirect(RedirectStatus::SeeOther, location));
            }
            (Ok(NextStep::Respond(response)), _) => return Step::Respond(response),
            (Err(error), _) => return Step::Respond(self.refuse(error, visitor, None)),
        };
        let Ok(reviewed) = self.reviewed(&pending.client).await else {
            return Step::Respond(self.error(503, ErrorKind::Unavailable, visitor));
        };
        let ticket = match self.server.hold(&pending, user, session).await {
            Ok(ticket) => ticket,
            Err(error) => return Step::Respond(self.refuse(error, visitor, None)),
        };
        let return_to = if pending.ask_consent == AskConsent::Always { return_to } else { return_to.asking() };
        let problem = before.and_then(ConsentForm::problem);
        let html = self.pages.consent(&ConsentPage {
            languages: visitor.languages,
            pending: &pending,
            device: None,
            reviewed: reviewed.as_ref(),
            user,
            switch_account: visitor.switch_account.map(|path| return_to.query(path)).as_deref(),
            action: &self.path(Route::Consent),
            ticket: &ticket,
            return_to: &return_to,
            problem,
            is_in_development: self.server.config().is_development_on_loopback(),
            chosen: before.and_then(ConsentForm::consent),
        });
        let status = if problem.is_some() { 422 } else { 200 };
        Step::Respond(self.page(status, html, &pending.form_action_sources()))
    }

    /// Returns where the user continues after the sign-in. If its time matters, the address says since when it is new,
    /// and keeps what it says already.
    fn to_sign_in(&self, return_to: ReturnTo, pending: &PendingAuthorization) -> ReturnTo {
        let identity = pending.identity.as_deref().filter(|identity| identity.needs_time());
        let is_first = identity.is_some_and(|identity| identity.since.is_none());
        if is_first { self.since_now(return_to) } else { return_to }
    }

    fn since_now(&self, return_to: ReturnTo) -> ReturnTo {
        return_to.signed_in_since(self.server.context.now())
    }

    /// Returns whether the time of the sign-in may matter for a query that was not judged.
    fn may_need_time(&self, query: &[u8]) -> bool {
        let has = |names: &[&str]| !parameters_named(query, names).is_empty();
        self.server.config().has_identity() && has(&["prompt", "max_age"]) && !has(&[SIGNED_IN_SINCE])
    }

    /// Applies the decision. The ticket belongs to this user and this browser, which protects the form against requests
    /// forged by other sites [RFC 6749 section 10.12].
    async fn decide(&self, request: &Request<'_>, visitor: &Visitor<'_>) -> Step {
        let path = self.path(Route::Authorization);
        let Some(form) = body(request).and_then(|body| ConsentForm::read(body, &path)) else {
            return Step::Respond(self.error(400, ErrorKind::MalformedForm, visitor));
        };
        // A user who has signed out meanwhile is asked the same again.
        let Some(user) = visitor.user else {
            let elsewhere = match form.device {
                Some(_) => self.return_to_device(b""),
                None => ReturnTo::of(&self.path(Route::Applications), b""),
            };
            return Step::SignIn(form.return_to.unwrap_or(elsewhere));
        };
        if let Some(typed) = &form.device {
            if form.switches {
                return self.switch(&form.ticket, user, visitor).await;
            }
            if form.problem().is_some() {
                return self.enter(typed, request.peer, user, visitor, Some(&form)).await;
            }
        } else if form.problem().is_some() {
            let Some(query) = form.return_to.as_ref().and_then(|return_to| return_to.query_at(&path)) else {
                return Step::Respond(self.error(400, ErrorKind::MalformedForm, visitor));
            };
            let again = Request::new("GET").query(query.as_bytes());
            let again = request.peer.into_iter().fold(again, Request::peer);
            return self.ask(&again, visitor, Some(&form)).await;
        }
        let session = visitor.browser.session();
        let decided = self.server.decide_with_link(&form.ticket, user.into(), session, &form.decision).await;
        Step::Respond(match decided {
            Ok((response, None)) => response,
            Ok((response, Some(Shows::Link(link)))) => {
                self.page_with_link(response, ErrorKind::NotGranted, &link, visitor)
            }
            Ok((_, Some(Shows::Device { is_allowed }))) => self.after_device(is_allowed, user, visitor),
            Err(error) => {
                let of_device = form.device.as_ref().map(|_| self.return_to_device(b""));
                self.refuse(error, visitor, of_device.or(form.return_to).as_ref())
            }
        })
    }

    /// Reads what is known about a client; `None` if no person has reviewed it.
    pub(super) async fn reviewed(&self, client: &Client) -> Result<Option<Reviewed>, StoreError> {
        if client.is_unreviewed() {
            return Ok(None);
        }
        let application = self.application(client.id()).await?;
        Ok(Some(self.described(client, application).await))
    }

    /// Reads an application; `None` if a directory of the service has the client, and no registry.
    pub(super) async fn application(&self, id: &ClientId) -> Result<Option<Arc<Application>>, StoreError> {
        let stores = &self.server.context.stores;
        if stores.has_registry { stores.applications.find(id).await } else { Ok(None) }
    }

    /// Returns what a page shows of a client that a person has reviewed.
    pub(super) async fn described(&self, client: &Client, application: Option<Arc<Application>>) -> Reviewed {
        let application = application.filter(|application| application.state() != ClientState::Deleted);
        let Some(application) = application else { return Reviewed::default() };
        let publisher = match (&self.server.context.subjects, &application.owner) {
            (Some(subjects), Some(owner)) => subjects.public_name(owner).await,
            (_, _) => None,
        };
        let logo = application.logo.filter(|_| client.state == ClientState::Approved).map(|_| {
            let id = utf8_percent_encode(client.id().as_str(), NON_ALPHANUMERIC);
            format!("{}?v={}&client={id}", self.path(Route::Logo), client.version())
        });
        Reviewed { publisher, description: client.form().description.clone(), logo }
    }

    /// Answers with the logo of an approved application. Its address changes with the application.
    async fn logo(&self, query: &[u8]) -> Response {
        let fields = Fields::read(query);
        let missing = || Response::new(404).with_header("Cache-Control", "no-store");
        let (Ok(id), Some(registrar)) = (ClientId::new(fields.first("client")), self.server.registrar()) else {
            return missing();
        };
        let Ok(Some(client)) = self.server.client(&id).await else { return missing() };
        if client.state != ClientState::Approved || client.is_unreviewed() {
            return missing();
        }
        let Ok(Some(logo)) = registrar.logo(&id, LogoSlot::InForce).await else { return missing() };
        let is_current = fields.first("v") == client.version().to_string();
        Response::new(200)
            .with_header("Content-Type", logo.media_type())
            .with_header("Cache-Control", if is_current { "max-age=31536000, immutable" } else { "no-cache" })
            // A browser must treat the file as an image, even if it contains more.
            .with_header("X-Content-Type-Options", "nosniff")
            .with_header("Content-Security-Policy", "default-src 'none'; sandbox")
            .with_body(logo.bytes().to_vec())
    }

    /// Returns the redirect to the client, or a page.
    pub(super) fn refuse(
        &self,
        error: AuthorizationError,
        visitor: &Visitor<'_>,
        again: Option<&ReturnTo>,
    ) -> Response {
        let subject = visitor.user.map(SignedIn::subject);
        let Some(shown) = error.shown(subject.is_some()) else { return error.response(subject) };
        let is_stale = matches!(error.reason(), Reason::UnknownConsentTicket | Reason::HoldExpired);
        let html = self.pages.error(&ErrorPage {
            again: again.filter(|_| is_stale),
            link: shown.link.map(error_link),
            client: shown.client,
            cause: shown.cause,
            ..error_page(if is_stale { ErrorKind::Stale } else { shown.kind }, visitor)
        });
        self.in_place_of(error.response(subject), html)
    }

    fn page_with_link(&self, response: Response, kind: ErrorKind, link: &Link, visitor: &Visitor<'_>) -> Response {
        let page = ErrorPage { link: Some(error_link(link)), ..error_page(kind, visitor) };
        self.in_place_of(response, self.pages.error(&page))
    }

    /// Returns the page with the status of the core's own page, and the headers that say when and how to retry.
    fn in_place_of(&self, core: Response, html: String) -> Response {
        let page = self.page(core.status(), html, "");
        let kept = ["Allow", "Retry-After"].into_iter();
        kept.filter_map(|name| core.header(name).map(|value| (name, value.to_owned())))
            .fold(page, |page, (name, value)| page.with_header(name, value))
    }

    pub(super) fn error(&self, status: u16, kind: ErrorKind, visitor: &Visitor<'_>) -> Response {
        self.page(status, self.pages.error(&error_page(kind, visitor)), "")
    }

    /// Returns a page whose forms go to this service, and from there to the other sources of `form_action`.
    pub(super) fn page(&self, status: u16, html: String, form_action: &str) -> Response {
        let own = format!("form-action 'self' {form_action}");
        let page = Response::new(status)
            .with_header("Content-Type", "text/html;charset=UTF-8")
            .with_header("Content-Security-Policy", format!("{}{}", own.trim_end(), self.policy))
            // A link must not scroll the page past what the user allows [WICG, Scroll to text].
            .with_header("Document-Policy", "force-load-at-top");
        COMMON_HEADERS
            .into_iter()
            .fold(page, |page, (name, value)| page.with_header(name, value))
            .with_body(html.into())
    }
}

impl fmt::Debug for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flow").field("issuer", &self.server.issuer()).finish_non_exhaustive()
    }
}

const fn error_page<'a>(kind: ErrorKind, visitor: &Visitor<'a>) -> ErrorPage<'a> {
    ErrorPage { languages: visitor.languages, kind, again: None, link: None, client: None, cause: None }
}

fn error_link(link: &Link) -> ErrorLink<'_> {
    ErrorLink { host: &link.host, location: &link.location }
}

/// Fields of a form. A page sends one for each scope, one for each of at most 100 resources, and five more.
const MAX_FIELDS: usize = 1024;

/// Returns the form, if it has no more fields than a page sends.
pub(super) fn body<'a>(request: &Request<'a>) -> Option<&'a [u8]> {
    let Body::Bytes(bytes) = request.body else { return None };
    let fields = bytes.split(|byte| *byte == b'&').count();
    Some(bytes).filter(|_| fields <= MAX_FIELDS)
}
