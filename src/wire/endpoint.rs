//! The endpoints: names, paths, methods, and whether they read DPoP proofs.

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
    /// Where devices without a browser ask for access [RFC 8628 section 3.1]. It responds with 404 unless
    /// [`Config::devices.on`](crate::Config::devices) is set.
    DeviceAuthorization,
    /// Where clients revoke tokens [RFC 7009].
    Revocation,
    /// Where resource servers introspect tokens [RFC 7662].
    Introspection,
    /// Where APIs and clients read the public keys that tokens are signed with [RFC 7517 section 5]. It responds with
    /// 404 unless a protected resource has
    /// [`AccessTokenFormat::Jwt`](crate::protected_resource::AccessTokenFormat::Jwt), or
    /// [`Config::identity`](crate::Config::identity) is on.
    Jwks,
    /// Where clients read who the user is [OpenID Connect Core section 5.3]. It responds with 404 unless
    /// [`Config::identity`](crate::Config::identity) is on.
    UserInfo,
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

/// What is known about an endpoint.
struct Row {
    /// One word, for logs and metrics.
    name: &'static str,
    /// The published path. `{issuer}` stands for the path of the issuer.
    path: &'static str,
    /// The other paths under which it is served.
    others: &'static [&'static str],
    /// Those under which it is served while clients can learn who signed in.
    openid: &'static [&'static str],
    methods: Methods,
    /// Whether it reads DPoP proofs [RFC 9449 sections 5 and 10.1].
    proofs: bool,
}

impl Row {
    const fn new(name: &'static str, path: &'static str, methods: Methods) -> Self {
        Self { name, path, others: &[], openid: &[], methods, proofs: false }
    }
}

/// The methods of an endpoint, and as the `Allow` header lists them.
struct Methods(&'static [&'static str], &'static str);

const READ: Methods = Methods(&["GET", "HEAD"], "GET, HEAD");
const POST: Methods = Methods(&["POST"], "POST");
const READ_OR_POST: Methods = Methods(&["GET", "POST"], "GET, POST");
const MANAGE: Methods = Methods(&["GET", "PUT", "DELETE"], "GET, PUT, DELETE");

impl Endpoint {
    /// The table.
    const fn row(self) -> Row {
        match self {
            Self::Authorization => Row::new("authorization", "{issuer}/oauth2/auth", READ),
            Self::Token => Row { proofs: true, ..Row::new("token", "{issuer}/oauth2/token", POST) },
            Self::PushedAuthorization => {
                Row { proofs: true, ..Row::new("pushed_authorization", "{issuer}/oauth2/par", POST) }
            }
            Self::DeviceAuthorization => Row::new("device_authorization", "{issuer}/oauth2/device_authorization", POST),
            Self::Revocation => Row::new("revocation", "{issuer}/oauth2/revoke", POST),
            Self::Introspection => Row::new("introspection", "{issuer}/oauth2/introspect", POST),
            Self::Jwks => Row::new("jwks", "{issuer}/oauth2/jwks", READ),
            // Some clients keep the slash at the end of an issuer.
            Self::Metadata => Row {
                others: &["/.well-known/oauth-authorization-server{issuer}/"],
                openid: &[
                    "{issuer}/.well-known/openid-configuration",
                    "{issuer}/.well-known/openid-configuration/",
                    "/.well-known/openid-configuration{issuer}",
                    "/.well-known/openid-configuration{issuer}/",
                ],
                ..Row::new("metadata", "/.well-known/oauth-authorization-server{issuer}", READ)
            },
            Self::UserInfo => Row { proofs: true, ..Row::new("userinfo", "{issuer}/oauth2/userinfo", READ_OR_POST) },
            Self::ResourceMetadata => Row::new("resource_metadata", "/.well-known/oauth-protected-resource", READ),
            Self::Registration => Row::new("registration", "{issuer}/oauth2/register", POST),
            Self::ClientConfiguration => {
                Row::new("client_configuration", "{issuer}/oauth2/register/{client_id}", MANAGE)
            }
        }
    }

    /// The endpoints that [`serve`](crate::AuthorizationServer::serve) handles by itself.
    pub const MACHINE: &'static [Self] = &[
        Self::Token,
        Self::PushedAuthorization,
        Self::DeviceAuthorization,
        Self::Revocation,
        Self::Introspection,
        Self::Jwks,
        Self::UserInfo,
        Self::Metadata,
        Self::ResourceMetadata,
        Self::Registration,
        Self::ClientConfiguration,
    ];

    /// Returns the endpoint as one word, for example for a log or a metric.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.row().name
    }

    /// Returns the allowed methods, as the `Allow` header lists them [RFC 9110 section 10.2.1].
    #[must_use]
    pub const fn allow(self) -> &'static str {
        self.row().methods.1
    }

    pub(crate) fn allows(self, method: &str) -> bool {
        self.row().methods.0.contains(&method)
    }

    /// Returns the published path. The issuer's path comes first, or last for the metadata [RFC 8414 section 3.1].
    pub(crate) fn path(self, issuer: &str) -> String {
        self.row().path.replace(ISSUER, path_of(issuer))
    }

    /// Returns every path under which the endpoint is served, the published one first.
    pub(crate) fn paths(self, issuer: &str, has_identity: bool) -> Vec<String> {
        let Row { path, others, openid, .. } = self.row();
        let openid = if has_identity { openid } else { &[] };
        let mut paths: Vec<String> = Vec::new();
        for path in [path].iter().chain(others).chain(openid).map(|path| path.replace(ISSUER, path_of(issuer))) {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        paths
    }

    /// Returns whether the endpoint reads DPoP proofs where the settings accept them.
    pub(crate) const fn reads_proofs(self) -> bool {
        self.row().proofs
    }

    /// Returns the URL below the issuer. Those of metadata are elsewhere: see [`path`](Self::path).
    pub(crate) fn url(self, issuer: &str) -> String {
        self.row().path.replace(ISSUER, issuer.trim_end_matches('/'))
    }
}

/// What stands for the issuer in a path.
const ISSUER: &str = "{issuer}";

/// Returns the path of the issuer, without a slash at its end.
pub(crate) fn path_of(issuer: &str) -> &str {
    let path = issuer.split_once("://").and_then(|(_, rest)| rest.find('/').and_then(|start| rest.get(start..)));
    path.unwrap_or_default().trim_end_matches('/')
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

    #[test]
    fn the_issuers_path_has_no_slash_at_its_end() {
        for (issuer, expected) in [
            ("https://auth.example", ""),
            ("https://auth.example/", ""),
            ("https://auth.example/tenant", "/tenant"),
            ("https://auth.example/a/b/", "/a/b"),
        ] {
            assert_eq!(path_of(issuer), expected);
        }
    }
}
