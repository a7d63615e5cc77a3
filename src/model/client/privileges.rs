//! What an administrator grants to a client, or requires of it, in addition to what the application asked for.

/// What an administrator grants to a client, or requires of it, in addition to its scopes and resources.
///
/// [`Registrar::set_privileges`](crate::Registrar::set_privileges) writes them as given. By default a client has none.
///
/// # Examples
///
/// ```
/// use grantor::{ClientId, Registrar, RegistrarError};
/// use grantor::client::Privileges;
///
/// async fn distrust(registrar: &Registrar, id: &ClientId) -> Result<(), RegistrarError> {
///     let client = registrar.client(id).await?;
///     let mut privileges: Privileges = client.privileges();
///     privileges.trusted = false;
///     registrar.set_privileges(id, client.version(), privileges).await
/// }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Privileges {
    /// Errors of an authorization request are sent to the client even before the user has signed in:
    /// [`Client::is_trusted`](crate::Client::is_trusted).
    pub trusted: bool,
    /// The client is a resource server that may introspect every access token [RFC 7662 section 2.1]. It must be a
    /// confidential web application.
    pub may_introspect: bool,
    /// Every authorization of the client needs PKCE [RFC 7636]. Public and native clients need it anyway.
    pub require_pkce: bool,
    /// Whether a refresh replaces the refresh token. If it is not set,
    /// [`Config::refresh.rotation`](field@crate::Config::refresh.rotation) decides.
    /// [`RefreshRotation::Keep`] is for confidential web applications.
    pub refresh_rotation: Option<RefreshRotation>,
}

impl Privileges {
    /// Adds what an approval grants. Its rotation replaces the current one if it is set.
    pub(crate) fn with(self, granted: Self) -> Self {
        Self {
            trusted: self.trusted | granted.trusted,
            may_introspect: self.may_introspect | granted.may_introspect,
            require_pkce: self.require_pkce | granted.require_pkce,
            refresh_rotation: granted.refresh_rotation.or(self.refresh_rotation),
        }
    }
}

/// Whether a refresh replaces the refresh token [RFC 6749 section 6].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum RefreshRotation {
    /// Each refresh returns a new pair, and the old refresh token stays usable for its [grace](crate::config::RefreshSettings::grace).
    ///
    /// All workers of one grant must share one stored pair. The use of an old refresh token after its grace
    /// counts as theft, and revokes the grant.
    Rotate,
    /// Each refresh returns a new access token and repeats the refresh token, which stays valid until it expires.
    ///
    /// It is for workers with private copies of one refresh token. Access tokens live until they expire, at most 64 of
    /// a grant at once: a further refresh ends the oldest.
    ///
    /// # Security
    ///
    /// No token is superseded, so the theft of a refresh token is not noticed. It takes effect only for confidential
    /// web applications, whose secret a thief also needs.
    Keep,
}
