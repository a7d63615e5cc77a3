//! The grant types by their names on the wire [RFC 6749 section 1.3]. They are here and not in `grant`, since clients
//! are registered for them.

use std::fmt;

/// A grant type: a value of `grant_type` [RFC 6749 section 1.3, RFC 7591 section 2].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum GrantType {
    /// `authorization_code`: the exchange of a code [RFC 6749 section 4.1.3].
    AuthorizationCode,
    /// `refresh_token`: the refresh; without it no refresh token is issued [RFC 6749 section 6].
    RefreshToken,
    /// `client_credentials`: an access token for the client itself, without a user [RFC 6749 section 4.4].
    ///
    /// It is for confidential web applications, and needs
    /// [`Config::client_credentials.on`](crate::Config::client_credentials). The client also needs client scopes and
    /// client resources: see [`ApplicationForm::client_scopes`](crate::ApplicationForm::client_scopes) and
    /// [`ClientBuilder::client_scopes`](crate::client::ClientBuilder::client_scopes).
    ClientCredentials,
    /// `urn:ietf:params:oauth:grant-type:device_code`: a device without a browser fetches tokens after its user has
    /// decided elsewhere [RFC 8628 section 3.4].
    ///
    /// It needs [`Config::devices.on`](crate::Config::devices). A client with it [counts as
    /// public](crate::Client::counts_as_public), whatever it authenticates with: its secret is on every device.
    DeviceCode,
}

impl GrantType {
    /// All of them, in the order of the enum.
    pub(crate) const ALL: &'static [Self] =
        &[Self::AuthorizationCode, Self::RefreshToken, Self::ClientCredentials, Self::DeviceCode];

    /// Returns the name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AuthorizationCode => "authorization_code",
            Self::RefreshToken => "refresh_token",
            Self::ClientCredentials => "client_credentials",
            Self::DeviceCode => "urn:ietf:params:oauth:grant-type:device_code",
        }
    }

    /// Returns the grant type with that name; names are compared byte for byte.
    #[must_use]
    pub fn parse(name: impl AsRef<[u8]>) -> Option<Self> {
        let name = name.as_ref();
        Self::ALL.iter().copied().find(|grant_type| grant_type.as_str().as_bytes() == name)
    }

    #[expect(clippy::as_conversions, reason = "the place of a variant, which is less than 16")]
    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

impl fmt::Display for GrantType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The grant types that a client may use; authorization code and refresh by default.
///
/// # Examples
///
/// ```
/// use grantor::client::{GrantType, GrantTypes};
///
/// let types = GrantTypes::CODE_ONLY.with(GrantType::RefreshToken);
/// assert_eq!(types, GrantTypes::default());
/// assert_eq!(types.iter().map(GrantType::as_str).collect::<Vec<_>>(), ["authorization_code", "refresh_token"]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct GrantTypes(u16);

impl GrantTypes {
    /// The authorization code alone: no refresh token is issued.
    pub const CODE_ONLY: Self = Self::NONE.with(GrantType::AuthorizationCode);
    /// No grant type: for resource servers that only introspect, or to build a set with [`with`](Self::with).
    pub const NONE: Self = Self(0);

    /// Returns whether the set has that grant type.
    #[must_use]
    pub const fn contains(self, grant_type: GrantType) -> bool {
        self.0 & grant_type.bit() != 0
    }

    /// Returns the set with that grant type.
    #[must_use]
    pub const fn with(self, grant_type: GrantType) -> Self {
        Self(self.0 | grant_type.bit())
    }

    /// Returns the set without that grant type.
    #[must_use]
    pub const fn without(self, grant_type: GrantType) -> Self {
        Self(self.0 & !grant_type.bit())
    }

    /// Returns whether the set has no grant type.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns whether any of these grant types asks a user.
    pub(crate) const fn ask_users(self) -> bool {
        self.contains(GrantType::AuthorizationCode) || self.contains(GrantType::DeviceCode)
    }

    /// Returns the grant types, in the order of [`GrantType`].
    pub fn iter(self) -> impl Iterator<Item = GrantType> + Clone {
        GrantType::ALL.iter().copied().filter(move |grant_type| self.contains(*grant_type))
    }
}

impl Default for GrantTypes {
    fn default() -> Self {
        Self::CODE_ONLY.with(GrantType::RefreshToken)
    }
}

impl FromIterator<GrantType> for GrantTypes {
    fn from_iter<I: IntoIterator<Item = GrantType>>(grant_types: I) -> Self {
        grant_types.into_iter().fold(Self::NONE, Self::with)
    }
}

impl fmt::Debug for GrantTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_wire_and_come_back() {
        for (grant_type, name) in [
            (GrantType::AuthorizationCode, "authorization_code"),
            (GrantType::RefreshToken, "refresh_token"),
            (GrantType::ClientCredentials, "client_credentials"),
            (GrantType::DeviceCode, "urn:ietf:params:oauth:grant-type:device_code"),
        ] {
            assert_eq!((grant_type.as_str(), grant_type.to_string().as_str()), (name, name));
            assert_eq!(GrantType::parse(name), Some(grant_type));
        }
        for name in ["", "Refresh_Token", "refresh_token ", "password"] {
            assert_eq!(GrantType::parse(name), None, "{name}");
        }
        assert!(GrantType::ALL.is_sorted());
    }

    #[test]
    fn sets_hold_what_was_put_in() {
        for grant_type in GrantType::ALL.iter().copied() {
            let only = GrantTypes::NONE.with(grant_type);
            assert!(only.contains(grant_type) && !only.is_empty());
            assert_eq!(only.iter().collect::<Vec<_>>(), [grant_type]);
            assert_eq!(only.with(grant_type), only);
            assert!(only.without(grant_type).is_empty());
            assert!(!GrantTypes::default().with(grant_type).without(grant_type).contains(grant_type));
        }
        let backwards: GrantTypes = GrantType::ALL.iter().rev().copied().collect();
        assert_eq!(backwards.iter().collect::<Vec<_>>(), GrantType::ALL);
        assert_eq!(format!("{:?} {:?}", GrantTypes::CODE_ONLY, GrantTypes::NONE), "{AuthorizationCode} {}");
    }
}
