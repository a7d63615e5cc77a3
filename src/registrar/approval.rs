//! What a reviewer grants, and the result.

use crate::client::application::{CheckedForm, Logo};
use crate::client::{Privileges, RefreshRotation};
use crate::id::ClientId;
use crate::scope::ResourceScope;

/// What a reviewer grants to an application; by default what it asked for.
///
/// When a change is approved, `require_pkce`, `trusted`, `may_introspect` and `refresh_rotation` of an earlier approval
/// stay. [`Registrar::set_privileges`](crate::Registrar::set_privileges) withdraws them. Scopes and resources are those
/// of the changed form.
///
/// # Errors
///
/// [`Registrar::approve`](crate::Registrar::approve) refuses what the application did not ask for with
/// [`RegistrarError::ScopesNotAsked`](crate::RegistrarError::ScopesNotAsked), and with
/// [`RegistrarError::PublicClient`](crate::RegistrarError::PublicClient) what a public client cannot have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approval {
    pub(super) scopes: Option<String>,
    pub(super) machine_scopes: Option<String>,
    pub(super) machine_resources: Option<ResourceScope>,
    pub(super) privileges: Privileges,
    pub(super) name: Option<String>,
    pub(super) website: Option<String>,
    pub(super) logo: Option<Logo>,
}

impl Approval {
    /// Approves these scopes only, written as in a request [RFC 6749 section 3.3]; the application must
    /// have asked for all of them.
    #[must_use]
    pub fn scopes(self, wire: impl Into<String>) -> Self {
        Self { scopes: Some(wire.into()), ..self }
    }

    /// Approves these scopes only for tokens without a user [RFC 6749 section 4.4]; the application must have asked
    /// for all of them.
    #[must_use]
    pub fn machine_scopes(self, wire: impl Into<String>) -> Self {
        Self { machine_scopes: Some(wire.into()), ..self }
    }

    /// Approves these resources only for tokens without a user; the application must have asked for all of them.
    ///
    /// An application that asks for [`ResourceScope::All`], every resource that has a name, gets none of them unless
    /// this says `All` too.
    #[must_use]
    pub fn machine_resources(self, resources: ResourceScope) -> Self {
        Self { machine_resources: Some(resources), ..self }
    }

    /// Sets whether a refresh of a confidential web application replaces its refresh token: see
    /// [`RefreshRotation`]. If it is not set, [`Config::refresh_rotation`](field@crate::Config::refresh_rotation) decides.
    /// [`RefreshRotation::Keep`] is refused for public and native clients.
    #[must_use]
    pub fn refresh_rotation(mut self, rotation: RefreshRotation) -> Self {
        self.privileges.refresh_rotation = Some(rotation);
        self
    }

    /// Demands PKCE for every authorization of the client [RFC 7636].
    #[must_use]
    pub fn require_pkce(mut self) -> Self {
        self.privileges.require_pkce = true;
        self
    }

    /// Makes the client a trusted one: see [`Client::is_trusted`](crate::Client::is_trusted).
    #[must_use]
    pub fn trusted(mut self) -> Self {
        self.privileges.trusted = true;
        self
    }

    /// Sets the name that users see, in place of what a client says that registered itself. It is not used for others.
    #[must_use]
    pub fn name(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// Sets the address of the website, in place of what a client says that registered itself. It is not used for
    /// others.
    #[must_use]
    pub fn website(self, website: impl Into<String>) -> Self {
        Self { website: Some(website.into()), ..self }
    }

    /// Supplies the logo of a client that registered itself, whose first review is refused without one. It is not used
    /// for others.
    #[must_use]
    pub fn logo(self, logo: Logo) -> Self {
        Self { logo: Some(logo), ..self }
    }

    /// The form with what the reviewer supplied.
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
pub struct Approved {
    pub(super) client_id: ClientId,
    pub(super) is_change: bool,
}

impl Approved {
    /// Returns the id of the client.
    #[must_use]
    pub const fn client_id(&self) -> &ClientId {
        &self.client_id
    }

    /// Returns whether this approved a change, and not a first submission.
    #[must_use]
    pub const fn is_change(&self) -> bool {
        self.is_change
    }
}
