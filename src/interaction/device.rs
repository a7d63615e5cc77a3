//! The page where users type the code that a device shows [RFC 8628 section 3.3].

use std::net::IpAddr;

use crate::authorization::signed_in::SignedIn;
use crate::authorization::user_code::TypedUserCode;
use crate::interaction::consent_form::{ConsentForm, TypedCode};
use crate::interaction::flow::{Flow, Step, Visitor, body};
use crate::interaction::page::{ConsentPage, DeviceOutcome, DevicePage, UserCodeProblem};
use crate::interaction::return_to::{ReturnTo, Route};
use crate::model::user_code::UserCode;
use crate::wire::page::ErrorKind;
use crate::wire::params::Fields;
use crate::wire::{RedirectStatus, Request, Response};

impl Flow {
    /// Shows the page, and takes its form. Opening it changes nothing, even if the link has a code.
    pub(super) async fn device(&self, request: &Request<'_>, visitor: &Visitor<'_>) -> Step {
        if !self.server.config().devices.on {
            return Step::Respond(self.error(404, ErrorKind::LinkCannotBeAccessed, visitor));
        }
        let is_form = request.method == "POST";
        let Some(user) = visitor.user else {
            return Step::SignIn(self.return_to_device(if is_form { b"" } else { request.query }));
        };
        if !is_form {
            return Step::Respond(self.device_page(request.query, user, visitor));
        }
        let fields = body(request).map(Fields::read);
        let fields = fields.filter(|fields| visitor.browser.accepts(fields.first("token"), user.subject()));
        match fields {
            Some(fields) => self.enter(&TypedCode::of(&fields), request.peer, user, visitor, None).await,
            None => Step::Respond(self.error(400, ErrorKind::MalformedForm, visitor)),
        }
    }

    fn device_page(&self, query: &[u8], user: &SignedIn, visitor: &Visitor<'_>) -> Response {
        let outcomes = [DeviceOutcome::Allowed, DeviceOutcome::Denied];
        let outcome = outcomes.into_iter().find(|own| query == outcome_query(*own, user, visitor).as_bytes());
        // A link with a code is offered only where the settings say so.
        let query = if self.server.config().devices.complete_uri { query } else { b"" };
        let fields = Fields::read(query);
        // Only what can be a code is repeated, in the form that devices show.
        let code = UserCode::read(self.server.config().devices.user_code, fields.first("user_code"));
        let code = code.map(|code| code.shown()).unwrap_or_default();
        let typed = TypedCode { in_link: !code.is_empty(), code };
        self.page(200, self.draw_device_page(&typed, None, outcome, user, visitor), "")
    }

    fn draw_device_page(
        &self,
        typed: &TypedCode,
        problem: Option<UserCodeProblem>,
        outcome: Option<DeviceOutcome>,
        user: &SignedIn,
        visitor: &Visitor<'_>,
    ) -> String {
        self.pages.device(&DevicePage {
            languages: visitor.languages,
            user,
            action: &self.path(Route::Device),
            form_token: &visitor.browser.form_token(user.subject()),
            user_code: &typed.code,
            is_in_link: typed.in_link,
            problem,
            outcome,
        })
    }

    /// Claims the device of a code for the user, and shows the consent page. After an answer with a problem, `before`,
    /// it shows the page again.
    pub(super) async fn enter(
        &self,
        typed: &TypedCode,
        peer: Option<IpAddr>,
        user: &SignedIn,
        visitor: &Visitor<'_>,
        before: Option<&ConsentForm>,
    ) -> Step {
        let entered = TypedUserCode::new(&typed.code);
        let entered = if typed.in_link { entered.in_link() } else { entered };
        let entered = peer.into_iter().fold(entered, TypedUserCode::peer);
        let session = visitor.browser.session();
        let entered = match before {
            Some(form) => self.server.enter_user_code_again(&form.ticket, &entered, user.into(), session).await,
            None => self.server.enter_user_code(&entered, user, session).await,
        };
        let consent = match entered {
            Ok(consent) => consent,
            Err(error) => {
                let Some(problem) = UserCodeProblem::of(error.reason()) else {
                    let again = self.return_to_device(b"");
                    return Step::Respond(self.refuse(error, visitor, Some(&again)));
                };
                let draw =
                    |status| self.page(status, self.draw_device_page(typed, Some(problem), None, user, visitor), "");
                return Step::Respond(match problem {
                    UserCodeProblem::Unknown => draw(400),
                    UserCodeProblem::TooMany { retry_after } => {
                        draw(429).with_header("Retry-After", retry_after.to_string())
                    }
                });
            }
        };
        let Ok(reviewed) = self.reviewed(&consent.pending.client).await else {
            return Step::Respond(self.error(503, ErrorKind::Unavailable, visitor));
        };
        let return_to = self.return_to_device(b"");
        let problem = before.and_then(ConsentForm::problem);
        let html = self.pages.consent(&ConsentPage {
            languages: visitor.languages,
            pending: &consent.pending,
            device: Some(&consent.device),
            reviewed: reviewed.as_ref(),
            user,
            switch_account: visitor.switch_account.map(|path| return_to.query(path)).as_deref(),
            action: &self.path(Route::Consent),
            ticket: &consent.ticket,
            return_to: &return_to,
            problem,
            is_in_development: self.server.config().is_development_on_loopback(),
            chosen: before.and_then(ConsentForm::consent),
        });
        Step::Respond(self.page(if problem.is_some() { 422 } else { 200 }, html, ""))
    }

    /// Gives the code back, and leads to another account.
    pub(super) async fn switch(&self, ticket: &str, user: &SignedIn, visitor: &Visitor<'_>) -> Step {
        let session = visitor.browser.session();
        let return_to = self.return_to_device(b"");
        Step::Respond(match self.server.release_user_code(ticket, user.subject(), session).await {
            Ok(()) => {
                let to = visitor.switch_account.map(|path| return_to.query(path));
                Response::redirect(RedirectStatus::SeeOther, to.unwrap_or_else(|| return_to.to_string()))
            }
            Err(error) => self.refuse(error, visitor, Some(&return_to)),
        })
    }

    /// Leads from the form to a page that can be loaded again.
    pub(super) fn after_device(&self, is_allowed: bool, user: &SignedIn, visitor: &Visitor<'_>) -> Response {
        let outcome = if is_allowed { DeviceOutcome::Allowed } else { DeviceOutcome::Denied };
        let query = outcome_query(outcome, user, visitor);
        Response::redirect(RedirectStatus::SeeOther, format!("{}?{query}", self.path(Route::Device)))
    }

    pub(super) fn return_to_device(&self, query: &[u8]) -> ReturnTo {
        ReturnTo::of(&self.path(Route::Device), query)
    }
}

/// Returns the query after a decision. It has a token of the browser, so that a link on another site cannot make the
/// page show an outcome.
fn outcome_query(outcome: DeviceOutcome, user: &SignedIn, visitor: &Visitor<'_>) -> String {
    let name = match outcome {
        DeviceOutcome::Allowed => "allowed",
        DeviceOutcome::Denied => "denied",
    };
    format!("{name}={}", visitor.browser.token(&format!("a device was {name}"), user.subject()))
}
