//! The pages of a service and the flow between them, mounted in one call.

use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRequest, Request};
use axum::http::HeaderValue;
use axum::http::header::{ACCEPT_LANGUAGE, COOKIE, SET_COOKIE};
use axum::http::request::Parts;
use axum::response::Response;
use axum::routing::any;
use grantor::AuthorizationServer;
use grantor::interaction::{Flow, Pages, ReturnTo, Route, SignedIn, Step, Visitor};
use grantor::server::Hosts;
use grantor::wire::{Body, Endpoint};

use crate::hosts::refusal;
use crate::{Incoming, at_their_paths, read, respond, to_request};

/// Your service's users: who is signed in, and where to sign in.
pub trait Users: Send + Sync + 'static {
    /// Returns the user who is signed in in the browser that sent the request, if any. Extractors such as that of a
    /// session read it: `Session::from_request_parts(request, &())`.
    ///
    /// # Errors
    ///
    /// The response if that cannot be found out, such as 503.
    fn signed_in(&self, request: &mut Parts) -> impl Future<Output = Result<Option<SignedIn>, Response>> + Send;

    /// Sends the browser to the sign-in, usually by a redirect to [`return_to.query("/sign-in")`](ReturnTo::query).
    /// After the sign-in, redirect it to `return_to`.
    fn sign_in(&self, return_to: &ReturnTo) -> Response;

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
/// use axum::Router;
/// use axum::http::request::Parts;
/// use axum::response::{IntoResponse, Redirect, Response};
/// use grantor::AuthorizationServer;
/// use grantor::interaction::{Pages, ReturnTo, SignedIn};
/// use grantor_axum::{Interaction, Users};
///
/// struct MyUsers;
///
/// impl Users for MyUsers {
///     async fn signed_in(&self, request: &mut Parts) -> Result<Option<SignedIn>, Response> {
///         Ok(None) // Read your session here.
///     }
///
///     fn sign_in(&self, return_to: &ReturnTo) -> Response {
///         Redirect::to(&return_to.query("/sign-in")).into_response()
///     }
/// }
///
/// fn app(server: &AuthorizationServer, pages: impl Pages) -> Router {
///     Router::new().merge(Interaction::new(server, pages, MyUsers).routes())
/// }
/// ```
///
/// Merge the routes first, and then add the layer of your sessions. A session cookie needs `SameSite=Lax`: with
/// `Strict`, users who arrive from a client look signed out.
///
/// The routes have the server that they were made with, whatever the state of your router. Two servers can run in one
/// program if the paths of their issuers differ.
#[derive(Debug)]
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
    /// It is the same for all browsers: read it before [`routes`](Self::routes), for the handler of your sign-out.
    #[must_use]
    pub fn forget_browser(&self) -> String {
        self.flow.forget_browser()
    }

    /// Returns the routes of all endpoints and pages.
    pub fn routes<S: Clone + Send + Sync + 'static>(self) -> Router<S> {
        let shared = Arc::new(self);
        let endpoints = at_their_paths(shared.flow.server(), |endpoint| {
            let shared = shared.clone();
            any(async move |request: Request| shared.serve(endpoint, request).await)
        });
        Route::ALL.into_iter().fold(endpoints, |router, route| {
            let (path, shared) = (shared.path(route), shared.clone());
            router.route(&path, any(async move |request: Request| shared.answer(route, request).await))
        })
    }

    async fn serve(&self, endpoint: Endpoint, request: Request) -> Response {
        if let Some(refusal) = refusal(&self.hosts, &request) {
            return refusal;
        }
        let server = self.flow.server();
        let Ok(request) = Incoming::from_request(request, server).await;
        respond(server.serve(endpoint, &request.to_request()).await)
    }

    async fn answer(&self, route: Route, request: Request) -> Response {
        if let Some(refusal) = refusal(&self.hosts, &request) {
            return refusal;
        }
        let (mut parts, body) = request.into_parts();
        let body = read(body, Flow::FORM_BYTES).await;
        let browser = self.flow.browser(parts.headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes));
        let user = match route.has_visitor() {
            true => match self.users.signed_in(&mut parts).await {
                Ok(user) => user,
                Err(response) => return response,
            },
            false => None,
        };
        let languages = parts.headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let visitor = Visitor::new(&browser).languages(languages);
        let visitor = self.users.switch_account().into_iter().fold(visitor, Visitor::switch_account);
        let visitor = user.iter().fold(visitor, Visitor::user);
        let request = to_request(&parts, body.as_deref().map_or(Body::TooLarge, Body::Bytes));
        let mut response = match self.flow.serve(route, &request, &visitor).await {
            Step::Respond(response) => respond(response),
            Step::SignIn(return_to) => self.users.sign_in(&return_to),
        };
        let cookie = browser.set_cookie(route, parts.method.as_str());
        if let Some(cookie) = cookie.and_then(|cookie| HeaderValue::from_str(cookie).ok()) {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
        response
    }
}
