//! The addresses of a flow.

use crate::model::redirect_uri::WebUri;
use crate::server::AuthorizationServer;
use crate::wire::Endpoint;

/// An address of a [`Flow`](crate::interaction::Flow).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Route {
    /// The authorization endpoint, which asks the user.
    Authorization,
    /// Where the consent page sends its form.
    Consent,
    /// Where users type the code that a device shows [RFC 8628 section 3.3].
    Device,
    /// The list of authorized applications, and where its forms are sent.
    Applications,
    /// The logo of an application that a person has approved.
    Logo,
}

impl Route {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Authorization, Self::Consent, Self::Device, Self::Applications, Self::Logo];

    /// Returns whether the answer depends on the browser and the user. That of the logo does not, and caches keep it,
    /// so it must have no cookie.
    #[must_use]
    pub const fn has_visitor(self) -> bool {
        !matches!(self, Self::Logo)
    }

    /// The methods, as the `Allow` header lists them.
    pub(super) const fn allow(self) -> &'static str {
        match self {
            Self::Authorization | Self::Logo => "GET, HEAD",
            Self::Consent => "POST",
            Self::Device | Self::Applications => "GET, HEAD, POST",
        }
    }
}

/// Returns the path of the page for user codes: that of the published address, if that has the issuer's origin.
pub(super) fn device_path(server: &AuthorizationServer) -> String {
    let page = WebUri::split(server.config().devices.verification_uri.as_str());
    // "/" alone is the start page of the service.
    let page = page.ok().filter(|page| page.path_and_query.len() > 1);
    let is_own = |page: &WebUri<'_>| {
        WebUri::split(server.issuer()).is_ok_and(|issuer| issuer.plain_origin() == page.plain_origin())
    };
    match page.filter(is_own) {
        Some(page) => page.path_and_query.to_owned(),
        None => server.path(Endpoint::Authorization) + "/device",
    }
}
