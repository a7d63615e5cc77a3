//! What the pages show.

use std::sync::Arc;

use crate::authorization::decide::Consent;
use crate::authorization::pending::{PendingAuthorization, RequestedScope};
use crate::authorization::signed_in::SignedIn;
use crate::authorization::user_code::AskingDevice;
use crate::base::clock::Timestamp;
use crate::base::id::ClientId;
use crate::error::Reason;
use crate::interaction::consent_form::ConsentProblem;
use crate::interaction::return_to::ReturnTo;
use crate::model::client::Client;
use crate::scope::ResourceScope;
use crate::secret::ConsentTicket;
use crate::wire::page::ErrorKind;

/// The page that asks the user for a decision [RFC 6749 section 4.1.1].
///
/// Its form is sent with `POST` to [`action`](Self::action) and has these fields:
///
/// | field | value |
/// |---|---|
/// | `handle` | [`ticket`](Self::ticket) |
/// | `return_to` | [`return_to`](Self::return_to) |
/// | `decision` | `allow` or `deny`, by the button |
/// | `scope` | for each chosen scope, its [`token`](RequestedScope::token) |
/// | `resource` | for each chosen resource, if the request [specifies](crate::scope::ResourceScope::Specified) some |
/// | `lists` | `resources`, if the page lists resources to choose from |
///
/// If a [`device`](Self::device) asks, it also has these, and no `return_to`:
///
/// | field | value |
/// |---|---|
/// | `user_code` | [`AskingDevice::user_code`] |
/// | `in_link` | `yes`, if [`AskingDevice::is_in_link`] |
/// | `device_shows_code` | `yes`, if the user says so; a box that is not checked at first |
/// | `decision` | also `switch`, by a button that gives the code back and leads to [`switch_account`](Self::switch_account) |
#[derive(Debug)]
#[non_exhaustive]
pub struct ConsentPage<'a> {
    /// The languages that the browser prefers: its `Accept-Language` header.
    pub languages: &'a str,
    /// What is asked, and by which client.
    pub pending: &'a PendingAuthorization,
    /// The device that asks; `None` if a browser does. The page then says where the device asked from and when, and
    /// that the user should continue only after having started this.
    pub device: Option<&'a AskingDevice>,
    /// What is known about a client that a person has reviewed; `None` for an unreviewed one, whose name and links are
    /// its own claims.
    pub reviewed: Option<&'a Reviewed>,
    /// The user who is asked.
    pub user: &'a SignedIn,
    /// Where the user can sign in with another account, and then see the same request. For a device it is not a link:
    /// the button `switch` leads there.
    pub switch_account: Option<&'a str>,
    /// Where the form is sent.
    pub action: &'a str,
    /// The ticket of the request.
    pub ticket: &'a ConsentTicket,
    /// The address of this page.
    pub return_to: &'a ReturnTo,
    /// Why the answer that was sent before had no effect.
    pub problem: Option<ConsentProblem>,
    /// Whether the service is in development on this machine: a page may then explain itself to its developer.
    pub is_in_development: bool,
    /// What that answer chose.
    pub(super) chosen: Option<&'a Consent>,
}

impl ConsentPage<'_> {
    /// Returns whether the box of a scope is checked. At first every box is; when the page is shown again, those that
    /// the user had chosen are.
    #[must_use]
    pub fn is_scope_chosen(&self, scope: &RequestedScope<'_>) -> bool {
        is_chosen(self.chosen.map(|chosen| &chosen.scopes), scope.token())
    }

    /// Returns whether the box of a resource is checked.
    #[must_use]
    pub fn is_resource_chosen(&self, resource: &str) -> bool {
        is_chosen(self.chosen.map(|chosen| &chosen.resources), resource)
    }
}

fn is_chosen(before: Option<&Option<Vec<String>>>, own: &str) -> bool {
    before.is_none_or(|chosen| chosen.iter().flatten().any(|text| text == own))
}

/// What is known about a client that a person has reviewed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reviewed {
    /// The [public name](crate::hooks::Subjects::public_name) of the developer who submitted it.
    pub publisher: Option<String>,
    /// What the developer says about it.
    pub description: Option<String>,
    /// The address of its logo at this service.
    pub logo: Option<String>,
}

/// The page that asks for the code that a device shows [RFC 8628 section 3.3], or shows what the user decided.
///
/// Its form is sent with `POST` to [`action`](Self::action) and has these fields:
///
/// | field | value |
/// |---|---|
/// | `token` | [`form_token`](Self::form_token) |
/// | `user_code` | what the user types; at first [`user_code`](Self::user_code) |
/// | `in_link` | `yes`, if [`is_in_link`](Self::is_in_link) |
#[derive(Debug)]
#[non_exhaustive]
pub struct DevicePage<'a> {
    /// The languages that the browser prefers: its `Accept-Language` header.
    pub languages: &'a str,
    /// The user.
    pub user: &'a SignedIn,
    /// Where the form is sent.
    pub action: &'a str,
    /// The token that protects the form against requests forged by other sites.
    pub form_token: &'a str,
    /// The code of the link, or what the user typed before; usually empty.
    pub user_code: &'a str,
    /// Whether the code came in a link.
    pub is_in_link: bool,
    /// Why the code that was sent before had no effect.
    pub problem: Option<UserCodeProblem>,
    /// What the user has decided. The page then has no form.
    pub outcome: Option<DeviceOutcome>,
}

/// Why a user code had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UserCodeProblem {
    /// No device shows it now: it is mistyped, has expired, or was typed by somebody else.
    Unknown,
    /// There were too many wrong codes.
    TooMany {
        /// Seconds until the next one is accepted.
        retry_after: u32,
    },
}

impl UserCodeProblem {
    pub(super) const fn of(reason: &Reason) -> Option<Self> {
        if let Reason::Throttled { retry_after } = *reason {
            return Some(Self::TooMany { retry_after });
        }
        if matches!(reason, Reason::UnknownUserCode) { Some(Self::Unknown) } else { None }
    }
}

/// What a user has decided about a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a user allows or denies")]
pub enum DeviceOutcome {
    /// The device fetches its tokens within seconds.
    Allowed,
    /// Nothing was granted.
    Denied,
}

/// The page that explains an error.
#[derive(Debug)]
#[non_exhaustive]
pub struct ErrorPage<'a> {
    /// The languages that the browser prefers: its `Accept-Language` header.
    pub languages: &'a str,
    /// What happened.
    pub kind: ErrorKind,
    /// The address of the same request; only for a page that is stale, or a loop of the sign-in.
    pub again: Option<&'a ReturnTo>,
    /// The unreviewed client that the user may return to.
    pub link: Option<ErrorLink<'a>>,
    /// The client whose request the user answered before, if a person has reviewed it. The page names it, and links to
    /// its [`web_address`](Client::web_address).
    pub client: Option<&'a Client>,
    /// The cause, for developers; only with [`Config::development`](crate::Config::development) and a loopback issuer.
    pub cause: Option<&'a str>,
}

/// A link to an unreviewed client. The page must not lead there by itself [RFC 9700 section 4.11.2].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ErrorLink<'a> {
    /// The host, or the scheme of an app.
    pub host: &'a str,
    /// The address.
    pub location: &'a str,
}

/// The page that lists what the user has authorized.
///
/// Its forms are sent with `POST` to [`action`](Self::action). Each has the fields `token`, the
/// [`form_token`](Self::form_token), and `client_id`, the id of the client whose access is revoked.
#[derive(Debug)]
#[non_exhaustive]
pub struct ApplicationsPage<'a> {
    /// The languages that the browser prefers: its `Accept-Language` header.
    pub languages: &'a str,
    /// The user.
    pub user: &'a SignedIn,
    /// The applications, one entry for each, whatever the number of grants.
    pub applications: &'a [ConnectedApplication<'a>],
    /// Where the forms are sent.
    pub action: &'a str,
    /// The token that protects the forms against requests forged by other sites.
    pub form_token: &'a str,
    /// Whether the user has just revoked the access of one.
    pub is_revoked: bool,
    /// The time of the request.
    pub now: Timestamp,
}

/// An application that a user has authorized, with everything that it may do, whatever the number of grants.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConnectedApplication<'a> {
    /// Its id.
    pub client_id: ClientId,
    /// The client as it is now; `None` if it was removed.
    pub client: Option<Arc<Client>>,
    /// What is known about it, if a person has reviewed it.
    pub reviewed: Option<Reviewed>,
    /// What it may do: what the user allowed, as far as its registration still allows it.
    pub scopes: Vec<RequestedScope<'a>>,
    /// On which resources, each once.
    pub resources: Vec<ResourceScope>,
    /// When it last renewed its access; `None` if it has not used its authorization yet.
    pub renewed: Option<Timestamp>,
}
