//! The scopes of OpenID Connect, and the claims about the user that each one covers [OpenID Connect Core section 5.4].

use std::borrow::Cow;

use crate::scope::ScopeDefinition;

/// The scope that makes a request one of OpenID Connect.
pub(crate) const OPENID: &str = "openid";

const PROFILE: &[&str] = &[
    "name",
    "family_name",
    "given_name",
    "middle_name",
    "nickname",
    "preferred_username",
    "profile",
    "picture",
    "website",
    "gender",
    "birthdate",
    "zoneinfo",
    "locale",
    "updated_at",
];
const EMAIL: &[&str] = &["email", "email_verified"];
const PHONE: &[&str] = &["phone_number", "phone_number_verified"];
const ADDRESS: &[&str] = &["address"];

/// Returns whether a scope of the standard covers the claim.
pub(crate) fn is_standard_claim(name: &str) -> bool {
    [PROFILE, EMAIL, PHONE, ADDRESS].iter().any(|claims| claims.contains(&name))
}

/// A scope that lets a client read who the user is, with the claims that it covers. `openid` is always offered, and is
/// not one of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityScope {
    definition: ScopeDefinition,
    claims: Vec<Cow<'static, str>>,
}

impl IdentityScope {
    /// Returns the scope `profile`: name, picture, language and more.
    #[must_use]
    pub fn profile() -> Self {
        Self::standard("profile", "Profile", "See your name and your profile", PROFILE)
    }

    /// Returns the scope `email`: the e-mail address, and whether it was verified.
    #[must_use]
    pub fn email() -> Self {
        Self::standard("email", "E-mail address", "See your e-mail address", EMAIL)
    }

    /// Returns the scope `phone`: the telephone number, and whether it was verified.
    #[must_use]
    pub fn phone() -> Self {
        Self::standard("phone", "Telephone number", "See your telephone number", PHONE)
    }

    /// Returns the scope `address`: the postal address.
    #[must_use]
    pub fn address() -> Self {
        Self::standard("address", "Postal address", "See your postal address", ADDRESS)
    }

    /// Creates a scope of your service's own: a definition [without permissions](ScopeDefinition::plain), and the names
    /// of its claims.
    pub fn new<C: Into<String>>(definition: ScopeDefinition, claims: impl IntoIterator<Item = C>) -> Self {
        Self { definition, claims: claims.into_iter().map(|claim| Cow::Owned(claim.into())).collect() }
    }

    fn standard(name: &'static str, title: &'static str, verb: &'static str, claims: &[&'static str]) -> Self {
        let definition = ScopeDefinition::plain(name).with_title(title).with_verbs(verb, "");
        Self { definition, claims: claims.iter().copied().map(Cow::Borrowed).collect() }
    }

    /// Returns the name that clients send.
    pub fn name(&self) -> &str {
        self.definition.name()
    }

    /// Returns the texts that a consent page shows.
    pub fn definition(&self) -> &ScopeDefinition {
        &self.definition
    }

    /// Replaces the texts that a consent page shows; the name stays.
    #[must_use]
    pub fn with_words(mut self, words: impl FnOnce(ScopeDefinition) -> ScopeDefinition) -> Self {
        self.definition = words(self.definition);
        self
    }

    /// Returns the names of the claims that the scope covers.
    pub fn claims(&self) -> impl Iterator<Item = &str> {
        self.claims.iter().map(|claim| &**claim)
    }
}

/// Returns the definition of `openid`.
pub(super) fn openid() -> ScopeDefinition {
    ScopeDefinition::plain(OPENID)
        .with_title("Sign in")
        .with_verbs("Know who you are by an identifier of your account", "")
}
