//! The grant types: a row for each, with its name on the wire [RFC 6749 section 1.3] and what it needs of a client.
//! The setting that switches each on is in `Config::switch_of` (`config/mod.rs`); the function that answers is in
//! `grant/mod.rs`.

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

/// What is known about a grant type.
struct GrantRow {
    name: &'static str,
    /// Whether a user is asked, so that the client needs scopes and resources of users.
    asks_user: bool,
    /// Whether the answer reaches the client at a redirect URI, with the response type `code` [RFC 7591 section 2.1].
    redirects: bool,
    /// Whether a refresh token may come with its access token.
    refreshes: bool,
    /// Whether the client gets tokens for itself, so that it needs scopes and resources of its own.
    acts_for_itself: bool,
    holders: Holders,
    /// The parameters of the token request that no other grant type has.
    parameters: &'static [&'static str],
    /// Which clients that registered themselves, or have a metadata document, may have it.
    open_clients: OpenClients,
}

/// Which clients may have a grant type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holders {
    Any,
    /// Those that do not [count as public](crate::Client::counts_as_public).
    Confidential,
    /// Any, and they count as public, since their secret is on every device.
    CountAsPublic,
}

/// Which clients that no person described may have a grant type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenClients {
    /// All that ask for it.
    Admitted,
    /// Those whose [bounds](crate::client_metadata::RegistrationBounds) admit it.
    IfBoundsAdmit,
    Never,
}

impl GrantType {
    /// The table.
    const fn row(self) -> GrantRow {
        match self {
            Self::AuthorizationCode => GrantRow {
                asks_user: true,
                redirects: true,
                refreshes: true,
                parameters: &["code", "redirect_uri", "code_verifier"],
                ..GrantRow::new("authorization_code")
            },
            Self::RefreshToken => GrantRow { parameters: &["refresh_token"], ..GrantRow::new("refresh_token") },
            Self::ClientCredentials => GrantRow {
                acts_for_itself: true,
                holders: Holders::Confidential,
                open_clients: OpenClients::Never,
                ..GrantRow::new("client_credentials")
            },
            // Such a client has no redirect URI that shows whose it is.
            Self::DeviceCode => GrantRow {
                asks_user: true,
                refreshes: true,
                holders: Holders::CountAsPublic,
                parameters: &["device_code"],
                open_clients: OpenClients::IfBoundsAdmit,
                ..GrantRow::new("urn:ietf:params:oauth:grant-type:device_code")
            },
        }
    }

    /// All of them, in the order of the enum.
    pub(crate) const ALL: &'static [Self] =
        &[Self::AuthorizationCode, Self::RefreshToken, Self::ClientCredentials, Self::DeviceCode];

    /// Returns the name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.row().name
    }

    /// Returns the grant type with that name; names are compared byte for byte.
    #[must_use]
    pub fn parse(name: impl AsRef<[u8]>) -> Option<Self> {
        let name = name.as_ref();
        Self::ALL.iter().copied().find(|grant_type| grant_type.as_str().as_bytes() == name)
    }

    /// Returns the parameters of the token request that no other grant type has.
    pub(crate) const fn parameters(self) -> &'static [&'static str] {
        self.row().parameters
    }

    #[expect(clippy::as_conversions, reason = "the place of a variant, which is less than 16")]
    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

impl GrantRow {
    const fn new(name: &'static str) -> Self {
        Self {
            name,
            asks_user: false,
            redirects: false,
            refreshes: false,
            acts_for_itself: false,
            holders: Holders::Any,
            parameters: &[],
            open_clients: OpenClients::Admitted,
        }
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
    pub(crate) fn ask_users(self) -> bool {
        self.iter().any(|grant_type| grant_type.row().asks_user)
    }

    /// Returns whether a client with any of these grant types counts as public.
    pub(crate) fn count_as_public(self) -> bool {
        self.iter().any(|grant_type| grant_type.row().holders == Holders::CountAsPublic)
    }

    /// Returns the first of these grant types that only confidential clients may have.
    pub(crate) fn of_confidential_clients(self) -> Option<GrantType> {
        self.iter().find(|grant_type| grant_type.row().holders == Holders::Confidential)
    }

    /// Returns whether any of these grant types needs a redirect URI.
    pub(crate) fn redirect(self) -> bool {
        self.iter().any(|grant_type| grant_type.row().redirects)
    }

    /// Returns whether any of these grant types may issue refresh tokens.
    pub(crate) fn refresh(self) -> bool {
        self.iter().any(|grant_type| grant_type.row().refreshes)
    }

    /// Returns the names of the grant types that may issue refresh tokens, for a message.
    pub(crate) fn that_refresh() -> String {
        let all = GrantType::ALL.iter().filter(|grant_type| grant_type.row().refreshes);
        all.map(|grant_type| grant_type.as_str()).collect::<Vec<_>>().join(" or ")
    }

    /// Returns whether any of these grant types issues tokens for the client itself.
    pub(crate) fn act_for_client(self) -> bool {
        self.iter().any(|grant_type| grant_type.row().acts_for_itself)
    }

    /// Returns the grant types that every client may have that registered itself.
    pub(crate) fn admitted_by_default() -> Self {
        let all = GrantType::ALL.iter().copied();
        all.filter(|grant_type| grant_type.row().open_clients == OpenClients::Admitted).collect()
    }

    /// Returns those of the grant types that a client may have that registered itself, if its bounds admit them.
    pub(crate) fn of_open_clients(self) -> Self {
        self.iter().filter(|grant_type| grant_type.row().open_clients != OpenClients::Never).collect()
    }

    /// Returns the grant types that are in both sets.
    pub(crate) const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
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
