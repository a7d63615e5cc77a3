//! The table of endpoints: paths, methods, and whether pages of other origins may call them.

/// An endpoint of the authorization server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Endpoint {
    /// Where the client sends the user's browser [RFC 6749 section 3.1]. Your service serves it, since it knows the
    /// user.
    Authorization,
    /// Where clients exchange codes and refresh tokens [RFC 6749 section 3.2].
    Token,
    /// Where clients push authorization requests [RFC 9126]. It responds with 404 unless
    /// [`Config::pushed_requests`](crate::Config::pushed_requests) is on.
    PushedAuthorization,
    /// Where clients revoke tokens [RFC 7009].
    Revocation,
    /// Where resource servers introspect tokens [RFC 7662].
    Introspection,
    /// Where clients read the metadata of the server [RFC 8414].
    Metadata,
    /// Where clients read the metadata of a protected resource [RFC 9728]. It has a path for each resource, and none
    /// without [`Config::resources`](crate::Config::resources).
    ResourceMetadata,
    /// Where clients register themselves [RFC 7591]. It responds with 404 unless
    /// [`Config::registration.dynamic`](crate::Config::registration) is on.
    Registration,
    /// Where clients that registered themselves read, replace and delete their registration [RFC 7592 section 2]. It
    /// responds with 404 unless [`Config::registration.management`](crate::Config::registration) is on.
    ///
    /// Its path ends in `{client_id}`, which matches any single segment, in the syntax of many routers.
    ClientConfiguration,
}

impl Endpoint {
    /// The endpoints that [`serve`](crate::AuthorizationServer::serve) handles by itself.
    pub const MACHINE: &'static [Self] = &[
        Self::Token,
        Self::PushedAuthorization,
        Self::Revocation,
        Self::Introspection,
        Self::Metadata,
        Self::ResourceMetadata,
        Self::Registration,
        Self::ClientConfiguration,
    ];

    /// Returns the path below the base address. The metadata path is inserted between host and base path [RFC 8414
    /// section 3.1].
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Authorization => "/oauth2/auth",
            Self::Token => "/oauth2/token",
            Self::PushedAuthorization => "/oauth2/par",
            Self::Revocation => "/oauth2/revoke",
            Self::Introspection => "/oauth2/introspect",
            Self::Metadata => "/.well-known/oauth-authorization-server",
            Self::ResourceMetadata => "/.well-known/oauth-protected-resource",
            Self::Registration => "/oauth2/register",
            Self::ClientConfiguration => "/oauth2/register/{client_id}",
        }
    }

    /// Returns the whole published path, under an issuer with this path.
    pub(crate) fn path_at(self, issuer_path: &str) -> String {
        let own = self.path();
        match self {
            Self::Metadata => format!("{own}{issuer_path}"),
            Self::ResourceMetadata => own.to_owned(),
            Self::Authorization
            | Self::Token
            | Self::PushedAuthorization
            | Self::Revocation
            | Self::Introspection
            | Self::Registration
            | Self::ClientConfiguration => format!("{issuer_path}{own}"),
        }
    }

    /// Returns the published path, followed by variants that clients use: some keep the slash at the end of an issuer
    /// [8414-3-02].
    pub(crate) fn paths_at(self, issuer_path: &str) -> Vec<String> {
        let published = self.path_at(issuer_path);
        if self == Self::Metadata { vec![published.clone(), format!("{published}/")] } else { vec![published] }
    }

    /// Returns whether [`Cors`](crate::wire::Cors) covers it. It covers only endpoints that a page calls without credentials
    /// that the browser adds by itself [RFC 9700 section 2.6, CORS-02, CORS-03].
    pub(crate) const fn is_covered_by_cors(self) -> bool {
        match self {
            Self::Token
            | Self::PushedAuthorization
            | Self::Revocation
            | Self::Metadata
            | Self::ResourceMetadata
            | Self::Registration => true,
            Self::Authorization | Self::Introspection | Self::ClientConfiguration => false,
        }
    }

    /// Returns whether the endpoint reads DPoP proofs [RFC 9449 sections 5 and 10.1].
    pub(crate) const fn reads_proofs(self) -> bool {
        match self {
            Self::Token | Self::PushedAuthorization => true,
            Self::Authorization
            | Self::Revocation
            | Self::Introspection
            | Self::Metadata
            | Self::ResourceMetadata
            | Self::Registration
            | Self::ClientConfiguration => false,
        }
    }

    /// Returns the endpoint as one word, for example for a log or a metric.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Authorization => "authorization",
            Self::Token => "token",
            Self::PushedAuthorization => "pushed_authorization",
            Self::Revocation => "revocation",
            Self::Introspection => "introspection",
            Self::Metadata => "metadata",
            Self::ResourceMetadata => "resource_metadata",
            Self::Registration => "registration",
            Self::ClientConfiguration => "client_configuration",
        }
    }

    /// Returns the allowed methods, as the `Allow` header lists them [RFC 9110 section 10.2.1].
    #[must_use]
    pub const fn allow(self) -> &'static str {
        match self {
            Self::Authorization | Self::Metadata | Self::ResourceMetadata => "GET, HEAD",
            Self::Token | Self::PushedAuthorization | Self::Revocation | Self::Introspection | Self::Registration => {
                "POST"
            }
            Self::ClientConfiguration => "GET, PUT, DELETE",
        }
    }

    pub(crate) fn allows(self, method: &str) -> bool {
        match self {
            Self::Authorization | Self::Metadata | Self::ResourceMetadata => matches!(method, "GET" | "HEAD"),
            Self::Token | Self::PushedAuthorization | Self::Revocation | Self::Introspection | Self::Registration => {
                method == "POST"
            }
            Self::ClientConfiguration => matches!(method, "GET" | "PUT" | "DELETE"),
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
        for endpoint in [Endpoint::Authorization, Endpoint::Token, Endpoint::Metadata, Endpoint::ClientConfiguration] {
            assert!(endpoint.allow().split(", ").all(|method| endpoint.allows(method)));
            assert_eq!(endpoint.allows(endpoint.allow()), endpoint == Endpoint::Token, "one method, not a list");
        }
        for method in ["post", "GET", "HEAD", "", ", ", "POST, "] {
            assert!(!Endpoint::Token.allows(method), "{method:?}");
        }
    }
}
