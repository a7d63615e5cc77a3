//! What the routes of both thin servers share: the user, the pages and the resource.

use grantor::interaction::SignedIn;
use grantor::scope::{Permission, Resource, ScopeSet};
use grantor::{Authenticated, AuthorizationServer, ResourceError, ResourceServer, Subject};
use grantor_pages::Pages;
use serde::Serialize;

/// The user of the thin servers: every browser is signed in as Alice, without a sign-in page.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "there is nothing to know about her")]
pub struct Alice;

impl Alice {
    /// Returns the user of every browser.
    ///
    /// # Panics
    ///
    /// Never: the name is a valid subject.
    #[must_use]
    pub fn user() -> SignedIn {
        SignedIn::new(Subject::new("alice").expect("a short text"))
    }
}

/// Returns the pages of the thin servers.
#[must_use]
pub fn pages() -> Pages {
    Pages::new("Demo")
}

/// Returns the path of each protected resource in the settings, with the arguments for the guard of its routes.
///
/// # Panics
///
/// Panics if a resource does not serve the scope of the profile.
#[must_use]
pub fn protected_resources(server: &AuthorizationServer) -> Vec<(String, (ResourceServer, ScopeSet))> {
    let guarded = server.config().resources.iter().map(|settings| {
        let resource = server.protected_resource(&settings.identifier).expect("it is in the settings");
        let needed = resource.scopes(["account-profile:r"]).expect("it serves the scope");
        let metadata = settings.metadata_path();
        let path = metadata.strip_prefix("/.well-known/oauth-protected-resource").unwrap_or_default();
        (if path.is_empty() { "/" } else { path }.to_owned(), (resource, needed))
    });
    guarded.collect()
}

/// The answer of the resource: the user of the token, or the application if it has no user, and the scopes.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Me<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application: Option<&'a str>,
    pub scope: &'a str,
}

/// Requires the scope of the resource of any token: for the account of its user, or for the application if it has none.
///
/// # Errors
///
/// [`ResourceError`] if the token does not have the scope there.
pub(crate) fn require_profile(server: &AuthorizationServer, token: &Authenticated) -> Result<(), ResourceError> {
    let resource = match token.subject() {
        Some(_) => Resource::Account,
        None => Resource::Private(token.client_id().as_str()),
    };
    server.resource().where_presented(token).require(token, PROFILE, Permission::Read, resource)
}

/// The scope of the resource.
pub(crate) const PROFILE: &str = "account-profile";

/// The request header that the resource returns in its response, for tests of the FAPI profile.
pub(crate) const INTERACTION: &str = "x-fapi-interaction-id";
