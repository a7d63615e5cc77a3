//! What a reviewer grants, and the result.

use crate::base::id::ClientId;
use crate::model::application::Logo;
use crate::model::client::{AskConsent, CheckedForm, Privileges, RefreshRotation};
use crate::scope::ResourceScope;

/// What a reviewer grants to an application; by default everything that it requested, except [`ResourceScope::All`] for
/// tokens without a user: see [`client_resources`](Self::client_resources).
///
/// When a change is approved, `require_pkce`, `trusted`, `may_introspect`, `refresh_rotation` and `ask_consent` of an
/// earlier approval stay. [`Registrar::set_privileges`](crate::Registrar::set_privileges) withdraws them. Scopes and
/// resources are those of the changed form.
///
/// # Errors
///
/// [`Registrar::approve`](crate::Registrar::approve) returns
/// [`RegistrarError::ScopesNotAsked`](crate::RegistrarError::ScopesNotAsked) for anything that the application did not
/// request, [`RegistrarError::PublicClient`](crate::RegistrarError::PublicClient) for anything that a public client
/// cannot have, and [`RegistrarError::MustAsk`](crate::RegistrarError::MustAsk) if the users of the client must be
/// asked for consent each time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approval {
    pub(super) scopes: Option<String>,
    pub(super) client_scopes: Option<String>,
    pub(super) client_resources: Option<ResourceScope>,
    pub(super) privileges: Privileges,
    pub(super) name: Option<String>,
    pub(super) website: Option<String>,
    pub(super) logo: Option<Logo>,
}

impl Approval {
    /// Approves these scopes only, written as in a request [RFC 6749 section 3.3]; the application must have requested
    /// all of them.
    #[must_use]
    pub fn scopes(self, wire: impl Into<String>) -> Self {
        Self { scopes: Some(wire.into()), ..self }
    }

    /// Approves only these scopes for tokens without a user [RFC 6749 section 4.4]; the application must have requested
    /// all of them.
    #[must_use]
    pub fn client_scopes(self, wire: impl Into<String>) -> Self {
        Self { client_scopes: Some(wire.into()), ..self }
    }

    /// Approves only these resources for tokens without a user; the application must have requested all of them.
    ///
    /// An application that requests [`ResourceScope::All`], every resource that has a name, gets none of them unless
    /// this is `All` too.
    #[must_use]
    pub fn client_resources(self, resources: ResourceScope) -> Self {
        Self { client_resources: Some(resources), ..self }
    }

    /// Sets whether a refresh replaces the refresh token of a confidential web application: see [`RefreshRotation`]. If
    /// it is not set, [`Config::refresh.rotation`](field@crate::Config::refresh.rotation) decides.
    /// [`RefreshRotation::Keep`] is refused for public and native clients.
    #[must_use]
    pub fn refresh_rotation(mut self, rotation: RefreshRotation) -> Self {
        self.privileges.refresh_rotation = Some(rotation);
        self
    }

    /// Requires PKCE for every authorization of the client [RFC 7636].
    #[must_use]
    pub fn require_pkce(mut self) -> Self {
        self.privileges.require_pkce = true;
        self
    }

    /// Sets when users are asked for consent: see [`AskConsent`], also for who must not have it. A later approval of a
    /// change never makes the server ask more often.
    #[must_use]
    pub fn ask_consent(mut self, ask_consent: AskConsent) -> Self {
        self.privileges.ask_consent = ask_consent;
        self
    }

    /// Marks the client as trusted: see [`Privileges::trusted`].
    #[must_use]
    pub fn trusted(mut self) -> Self {
        self.privileges.trusted = true;
        self
    }

    /// Sets the name that users see, for a client that registered itself: it replaces the name that the client sent. It
    /// is ignored for other clients.
    #[must_use]
    pub fn name(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// Sets the address of the website, for a client that registered itself: it replaces the address that the client
    /// sent. It is ignored for other clients.
    #[must_use]
    pub fn website(self, website: impl Into<String>) -> Self {
        Self { website: Some(website.into()), ..self }
    }

    /// Supplies the logo of a client that registered itself. Its first review is refused without one. It is ignored for
    /// other clients.
    #[must_use]
    pub fn logo(self, logo: Logo) -> Self {
        Self { logo: Some(logo), ..self }
    }

    /// Returns the form with what the reviewer supplied.
    pub(super) fn supply(&self, form: &CheckedForm) -> CheckedForm {
        let text = |supplied: &Option<String>, own: &str| supplied.as_deref().unwrap_or(own).into();
        CheckedForm { name: text(&self.name, &form.name), website: text(&self.website, &form.website), ..form.clone() }
    }

    /// Makes a confidential web application a resource server: see
    /// [`Client::may_introspect`](crate::Client::may_introspect).
    #[must_use]
    pub fn may_introspect(mut self) -> Self {
        self.privileges.may_introspect = true;
        self
    }
}

/// An approval that took effect.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Approved {
    /// The id of the client.
    pub client_id: ClientId,
    /// Whether the client was in use before: a change was approved, or a client that a policy had approved was
    /// reviewed.
    pub is_change: bool,
}
