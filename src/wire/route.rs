//! The one table of endpoints: path and methods.

/// An endpoint of the authorization server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Endpoint {
    /// Where the user's browser arrives [RFC 6749 section 3.1]; the embedder serves it, since it knows
    /// the user.
    Authorization,
    /// Where clients exchange codes and refresh tokens [RFC 6749 section 3.2].
    Token,
    /// Where clients revoke tokens [RFC 7009].
    Revocation,
    /// Where resource servers ask about tokens [RFC 7662].
    Introspection,
    /// Where clients learn about the server [RFC 8414].
    Metadata,
}

impl Endpoint {
    /// The endpoints that [`serve`](crate::AuthorizationServer::serve) answers by itself.
    pub const MACHINE: &'static [Self] = &[Self::Token, Self::Revocation, Self::Introspection, Self::Metadata];

    /// The path below the base address; that of the metadata comes between host and base path
    /// [RFC 8414 section 3.1].
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Authorization => "/oauth2/auth",
            Self::Token => "/oauth2/token",
            Self::Revocation => "/oauth2/revoke",
            Self::Introspection => "/oauth2/introspect",
            Self::Metadata => "/.well-known/oauth-authorization-server",
        }
    }

    /// Returns the endpoint as one word, such as for a log or a metric.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Authorization => "authorization",
            Self::Token => "token",
            Self::Revocation => "revocation",
            Self::Introspection => "introspection",
            Self::Metadata => "metadata",
        }
    }

    /// Returns the methods that are answered, as the `Allow` header lists them [RFC 9110 section
    /// 10.2.1].
    #[must_use]
    pub const fn allow(self) -> &'static str {
        match self {
            Self::Authorization | Self::Metadata => "GET, HEAD",
            Self::Token | Self::Revocation | Self::Introspection => "POST",
        }
    }

    pub(crate) fn allows(self, method: &str) -> bool {
        match self {
            Self::Authorization | Self::Metadata => matches!(method, "GET" | "HEAD"),
            Self::Token | Self::Revocation | Self::Introspection => method == "POST",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_case_sensitive() {
        assert!(Endpoint::Token.allows("POST"));
        assert!(Endpoint::Metadata.allows("HEAD"));
        for endpoint in [Endpoint::Authorization, Endpoint::Token, Endpoint::Metadata] {
            assert!(endpoint.allow().split(", ").all(|method| endpoint.allows(method)));
            assert_eq!(endpoint.allows(endpoint.allow()), endpoint == Endpoint::Token, "one method, not a list");
        }
        for method in ["post", "GET", "HEAD", "", ", ", "POST, "] {
            assert!(!Endpoint::Token.allows(method), "{method:?}");
        }
    }
}
