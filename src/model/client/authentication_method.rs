//! The methods of client authentication by their registered names [RFC 7591 section 2].

use std::fmt;

/// A value of `token_endpoint_auth_method` [RFC 7591 section 2].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum AuthenticationMethod {
    /// `client_secret_basic`: HTTP Basic [RFC 6749 section 2.3.1].
    ClientSecretBasic,
    /// `client_secret_post`: the secret as a parameter of the form [RFC 6749 section 2.3.1].
    ClientSecretPost,
    /// `private_key_jwt`: an assertion that the client signed with its key [RFC 7523 section 2.2].
    PrivateKeyJwt,
    /// `none`: a public client sends its id and does not authenticate [RFC 6749 section 2.1].
    None,
}

impl AuthenticationMethod {
    /// All of them, in the order of the enum.
    pub(crate) const ALL: &'static [Self] =
        &[Self::ClientSecretBasic, Self::ClientSecretPost, Self::PrivateKeyJwt, Self::None];

    /// Returns the registered name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
            Self::PrivateKeyJwt => "private_key_jwt",
            Self::None => "none",
        }
    }

    /// Returns the method with that name; names are compared byte for byte.
    #[must_use]
    pub fn parse(name: impl AsRef<[u8]>) -> Option<Self> {
        let name = name.as_ref();
        Self::ALL.iter().copied().find(|method| method.as_str().as_bytes() == name)
    }

    #[expect(clippy::as_conversions, reason = "the place of a variant, which is less than 16")]
    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

impl fmt::Display for AuthenticationMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The methods that a client may authenticate with; [`SECRET`](Self::SECRET) by default.
///
/// # Examples
///
/// ```
/// use grantor::client::{AuthenticationMethod, AuthenticationMethods};
///
/// let either = AuthenticationMethods::SECRET;
/// let basic = either.without(AuthenticationMethod::ClientSecretPost);
/// assert_eq!(basic, AuthenticationMethods::only(AuthenticationMethod::ClientSecretBasic));
/// assert_eq!(basic.iter().map(AuthenticationMethod::as_str).collect::<Vec<_>>(), ["client_secret_basic"]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct AuthenticationMethods(u16);

impl AuthenticationMethods {
    /// The client secret, either as `client_secret_basic` or as `client_secret_post`.
    pub const SECRET: Self =
        Self::only(AuthenticationMethod::ClientSecretBasic).with(AuthenticationMethod::ClientSecretPost);
    /// A signed assertion: `private_key_jwt`.
    pub const KEY: Self = Self::only(AuthenticationMethod::PrivateKeyJwt);
    /// The method of every public client: `none`.
    pub const PUBLIC: Self = Self::only(AuthenticationMethod::None);

    /// Returns the set of that method alone.
    #[must_use]
    pub const fn only(method: AuthenticationMethod) -> Self {
        Self(method.bit())
    }

    /// Returns whether the set has that method.
    #[must_use]
    pub const fn contains(self, method: AuthenticationMethod) -> bool {
        self.0 & method.bit() != 0
    }

    /// Returns the set with that method.
    #[must_use]
    pub const fn with(self, method: AuthenticationMethod) -> Self {
        Self(self.0 | method.bit())
    }

    /// Returns the set without that method.
    #[must_use]
    pub const fn without(self, method: AuthenticationMethod) -> Self {
        Self(self.0 & !method.bit())
    }

    /// Returns whether the set has no method.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether one of the methods is in the other set too.
    pub(crate) const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether one of the methods needs a secret.
    pub(crate) const fn use_secret(self) -> bool {
        self.meets(Self::SECRET)
    }

    /// Returns the methods, in the order of [`AuthenticationMethod`].
    pub fn iter(self) -> impl Iterator<Item = AuthenticationMethod> + Clone {
        AuthenticationMethod::ALL.iter().copied().filter(move |method| self.contains(*method))
    }
}

impl Default for AuthenticationMethods {
    fn default() -> Self {
        Self::SECRET
    }
}

impl FromIterator<AuthenticationMethod> for AuthenticationMethods {
    fn from_iter<I: IntoIterator<Item = AuthenticationMethod>>(methods: I) -> Self {
        methods.into_iter().fold(Self(0), Self::with)
    }
}

impl fmt::Debug for AuthenticationMethods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_rfc_7591_and_come_back() {
        for (method, name) in [
            (AuthenticationMethod::ClientSecretBasic, "client_secret_basic"),
            (AuthenticationMethod::ClientSecretPost, "client_secret_post"),
            (AuthenticationMethod::PrivateKeyJwt, "private_key_jwt"),
            (AuthenticationMethod::None, "none"),
        ] {
            assert_eq!((method.as_str(), method.to_string().as_str()), (name, name));
            assert_eq!(AuthenticationMethod::parse(name), Some(method));
        }
        for name in ["", "None", "client_secret_basic ", "client_secret_jwt"] {
            assert_eq!(AuthenticationMethod::parse(name), None, "{name}");
        }
        assert!(AuthenticationMethod::ALL.is_sorted());
    }

    #[test]
    fn sets_hold_what_was_put_in() {
        for method in AuthenticationMethod::ALL.iter().copied() {
            let only = AuthenticationMethods::only(method);
            assert!(only.contains(method) && !only.is_empty());
            assert_eq!(only.iter().collect::<Vec<_>>(), [method]);
            assert_eq!(only.with(method), only);
            assert!(only.without(method).is_empty());
        }
        let backwards: AuthenticationMethods = AuthenticationMethod::ALL.iter().rev().copied().collect();
        assert_eq!(backwards.iter().collect::<Vec<_>>(), AuthenticationMethod::ALL);
        let secret = backwards.without(AuthenticationMethod::None).without(AuthenticationMethod::PrivateKeyJwt);
        assert_eq!(secret, AuthenticationMethods::default());
        assert_eq!(format!("{:?}", AuthenticationMethods::PUBLIC), "{None}");
    }
}
