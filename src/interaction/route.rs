//! The addresses of a flow.

/// An address of a [`Flow`](crate::interaction::Flow).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Route {
    /// The authorization endpoint, which asks the user.
    Authorization,
    /// Where the consent page sends its form.
    Consent,
    /// The list of authorized applications, and where its forms are sent.
    Applications,
    /// The logo of an application that a person has approved.
    Logo,
}

impl Route {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Authorization, Self::Consent, Self::Applications, Self::Logo];

    /// Returns whether the answer depends on the browser and the user. That of the logo does not, and caches keep it, so it
    /// must have no cookie.
    #[must_use]
    pub const fn has_visitor(self) -> bool {
        !matches!(self, Self::Logo)
    }

    /// The methods, as the `Allow` header lists them.
    pub(super) const fn allow(self) -> &'static str {
        match self {
            Self::Authorization | Self::Logo => "GET, HEAD",
            Self::Consent => "POST",
            Self::Applications => "GET, HEAD, POST",
        }
    }
}
