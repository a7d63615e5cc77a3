//! The pages of a service and the flow between them, mounted in one call.

use std::rc::Rc;

use actix_web::error::Error;
use actix_web::http::header::{ACCEPT_LANGUAGE, COOKIE, HeaderValue, SET_COOKIE};
use actix_web::web::{self, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use grantor::AuthorizationServer;
use grantor::interaction::{Flow, Pages, ReturnTo, Route, SignedIn, Step, Visitor};
use grantor::server::Hosts;
use grantor::wire::{Body, Endpoint};

use crate::hosts::refusal;
use crate::{read, respond, to_request};

/// Your service's users: who is signed in, and where to sign in. Each worker of actix-web has a copy.
pub trait Users: Clone + 'static {
    /// Returns the user who is signed in in the browser that sent the request, if any. Extractors such as that of a
    /// session read it.
    ///
    /// # Errors
    ///
    /// The response if that cannot be found out, such as 503.
    fn signed_in(&self, request: &HttpRequest) -> impl Future<Output = Result<Option<SignedIn>, Error>>;

    /// Sends the browser to the sign-in, usually by a redirect to [`return_to.query("/sign-in")`](ReturnTo::query).
    /// After the sign-in, redirect it to `return_to`.
    fn sign_in(&self, return_to: &ReturnTo) -> HttpResponse;

    /// Returns the path where a user can change to another account. The parameter `return_to` is added to it. By
    /// default the consent page offers no change.
    fn switch_account(&self) -> Option<&str> {
        None
    }
}

/// An authorization server with its pages: every endpoint, the consent page, the error page, and the list of authorized
/// applications.
///
/// ```
/// use actix_web::http::header::LOCATION;
/// use actix_web::{App, Error, HttpRequest, HttpResponse};
/// use grantor::AuthorizationServer;
/// use grantor::interaction::{Pages, ReturnTo, SignedIn};
/// use grantor_actix::{Interaction, Users};
///
/// #[derive(Clone)]
/// struct MyUsers;
///
/// impl Users for MyUsers {
///     async fn signed_in(&self, request: &HttpRequest) -> Result<Option<SignedIn>, Error> {
///         Ok(None) // Read your session here.
///     }
///
///     fn sign_in(&self, return_to: &ReturnTo) -> HttpResponse {
///         HttpResponse::SeeOther().insert_header((LOCATION, return_to.query("/sign-in"))).finish()
///     }
/// }
///
/// fn service(server: &AuthorizationServer, pages: impl Pages) {
///     let interaction = Interaction::new(server, pages, MyUsers);
///     let app = move || App::new().configure(interaction.configure());
///     # let _ = app();
/// }
/// ```
///
/// The routes have the server that they were made with, whatever the data of your application. Two servers can run in
/// one program if the paths of their issuers differ.
#[derive(Clone, Debug)]
pub struct Interaction<U> {
    flow: Flow,
    users: U,
    hosts: Hosts,
}

impl<U: Users> Interaction<U> {
    /// Creates it for a server. The package `grantor-pages` has pages.
    pub fn new(server: &AuthorizationServer, pages: impl Pages, users: U) -> Self {
        Self { flow: Flow::new(server, pages), users, hosts: server.hosts() }
    }

    /// Adds host names that requests may name besides those of the server, as [`Hosts::and`] does. Requests for any
    /// other host are refused with 421.
    #[must_use]
    pub fn hosts<N: Into<Box<str>>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.hosts = self.hosts.and(names);
        self
    }

    /// Returns the path of a page, such as that of the list of authorized applications for a link.
    pub fn path(&self, route: Route) -> String {
        self.flow.path(route)
    }

    /// Returns the `Set-Cookie` header for the response that signs a user out, as [`Flow::forget_browser`] does.
    /// It is the same for all browsers: read it once, for the handler of your sign-out.
    #[must_use]
    pub fn forget_browser(&self) -> String {
        self.flow.forget_browser()
    }

    /// Returns what [`App::configure`](actix_web::App::configure) takes: the routes of all endpoints and pages.
    pub fn configure(&self) -> impl FnOnce(&mut ServiceConfig) + use<U> {
        let own = Rc::new(self.clone());
        move |services| {
            for &endpoint in Endpoint::MACHINE {
                for path in own.flow.server().paths(endpoint) {
                    let own = own.clone();
                    let serve = move |request: HttpRequest, payload: Payload| {
                        let own = own.clone();
                        async move { own.serve(endpoint, &request, payload).await }
                    };
                    services.route(&path, web::to(serve));
                }
            }
            for route in Route::ALL {
                let (path, own) = (own.path(route), own.clone());
                let answer = move |request: HttpRequest, payload: Payload| {
                    let own = own.clone();
                    async move { own.answer(route, &request, payload).await }
                };
                services.route(&path, web::to(answer));
            }
        }
    }

    async fn serve(&self, endpoint: Endpoint, request: &HttpRequest, payload: Payload) -> HttpResponse {
        if let Some(refusal) = refusal(&self.hosts, request.headers(), request.uri()) {
            return refusal;
        }
        let server = self.flow.server();
        let body = read(payload, server.body_limit()).await;
        let body = body.as_deref().map_or(Body::TooLarge, Body::Bytes);
        respond(server.serve(endpoint, &to_request(request, body)).await)
    }

    async fn answer(&self, route: Route, request: &HttpRequest, payload: Payload) -> Result<HttpResponse, Error> {
        let headers = request.headers();
        if let Some(refusal) = refusal(&self.hosts, headers, request.uri()) {
            return Ok(refusal);
        }
        let body = read(payload, Flow::FORM_BYTES).await;
        let browser = self.flow.browser(headers.get_all(COOKIE).map(HeaderValue::as_bytes));
        let user = if route.has_visitor() { self.users.signed_in(request).await? } else { None };
        let languages = headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let visitor = Visitor::new(&browser).languages(languages);
        let visitor = self.users.switch_account().into_iter().fold(visitor, Visitor::switch_account);
        let visitor = user.iter().fold(visitor, Visitor::user);
        let seen = to_request(request, body.as_deref().map_or(Body::TooLarge, Body::Bytes));
        let mut response = match self.flow.serve(route, &seen, &visitor).await {
            Step::Respond(response) => respond(response),
            Step::SignIn(return_to) => self.users.sign_in(&return_to),
        };
        let cookie = browser.set_cookie(route, request.method().as_str());
        if let Some(cookie) = cookie.and_then(|cookie| HeaderValue::from_str(cookie).ok()) {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
        Ok(response)
    }
}
