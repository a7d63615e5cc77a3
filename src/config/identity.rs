//! The settings of OpenID Connect: which claims clients may read, and how ID tokens are signed.

use std::time::Duration;

use crate::jose::access_jwt::is_reserved;
use crate::scope::{IdentityScope, Permissions};
use crate::text::language_tag;

/// Tells clients who signed in, as OpenID Connect describes it: see [`Config::identity`](crate::Config::identity).
///
/// # Examples
///
/// ```
/// use grantor::Config;
/// use grantor::config::Identity;
/// use grantor::scope::IdentityScope;
///
/// let mut config = Config::mcp("https://auth.example");
/// config.identity = Some(Identity::new([IdentityScope::profile(), IdentityScope::email()]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Identity {
    /// The scopes that are offered beside `openid`. Each is added to the catalog.
    pub scopes: Vec<IdentityScope>,
    /// Whether the server may do without RS256; off. Clients that register no algorithm expect RS256, and so do all
    /// that follow the discovery specification to the letter, so without a key for it the server is not built. If it is
    /// on and there is no such key, ID tokens are signed with ES256, or else with EdDSA. The FAPI profile never uses
    /// RS256.
    pub without_rs256: bool,
    /// How long ID tokens are valid; 600 s. A client reads one at once, so the time is for clocks that differ and for
    /// slow callbacks. 60 to 3600 s are accepted.
    pub id_token_lifetime: Duration,
    /// Whether the answer to a refresh has an ID token too; on. Many clients renew their sessions by it. It costs a
    /// signature.
    pub id_token_on_refresh: bool,
    /// The values of `acr` that the metadata lists; none. Your service says which one a sign-in has.
    pub acr_values: Vec<String>,
    /// The languages of your service's pages, as tags of RFC 5646 such as `en-GB`, which the metadata lists; none.
    pub ui_locales: Vec<String>,
}

impl Identity {
    /// Returns the settings for these scopes, beside `openid`.
    #[must_use]
    pub fn new(scopes: impl IntoIterator<Item = IdentityScope>) -> Self {
        let id_token_lifetime = Duration::from_secs(600);
        Self {
            scopes: scopes.into_iter().collect(),
            without_rs256: false,
            id_token_lifetime,
            id_token_on_refresh: true,
            acr_values: Vec::new(),
            ui_locales: Vec::new(),
        }
    }

    /// Returns whether a claim is offered, so that a hook must say what it is.
    pub(super) fn has_claims(&self) -> bool {
        !self.scopes.is_empty()
    }

    /// Returns the first scope that is refused, in words: claims that no scope may have, or permissions.
    pub(super) fn refused_scope(&self) -> Option<String> {
        let is_plain = |scope: &IdentityScope| scope.definition().permissions() == Permissions::Plain;
        if let Some(scope) = self.scopes.iter().find(|scope| !is_plain(scope)) {
            return Some(format!("a list with {:?}, which has permissions", scope.name()));
        }
        let claims = self.scopes.iter().flat_map(|scope| scope.claims().map(move |claim| (scope, claim)));
        let mut refused = claims.filter(|(_, claim)| is_reserved(claim));
        refused.next().map(|(scope, claim)| format!("a list with {:?}, which has the claim {claim:?}", scope.name()))
    }

    /// Returns the first value of `acr` that is empty, too long, or has blanks.
    pub(super) fn refused_acr_value(&self) -> Option<&str> {
        let is_plain = |value: &str| !value.contains(|own: char| own.is_whitespace() || own.is_control());
        let mut values = self.acr_values.iter().map(String::as_str);
        values.find(|value| !(1..=255).contains(&value.len()) || !is_plain(value))
    }

    /// Returns the first language that is no tag.
    pub(super) fn refused_locale(&self) -> Option<&str> {
        self.ui_locales.iter().map(String::as_str).find(|locale| language_tag(locale).is_none())
    }
}
