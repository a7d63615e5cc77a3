//! The table of endpoints: path, methods, CORS, proofs, whether the settings switch it on, its member of the metadata.

use crate::config::Config;
use crate::wire::Cors;
use crate::wire::message::Metadata;

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
    /// Where APIs read the public keys that tokens are signed with [RFC 7517 section 5]. It responds with 404 unless a
    /// protected resource has [`AccessTokenFormat::Jwt`](crate::protected_resource::AccessTokenFormat::Jwt).
    Jwks,
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
    /// The path below the issuer. That of metadata is inserted between host and base path.
    path: &'static str,
    methods: Methods,
    /// Whether [`Cors`] covers it. It covers only endpoints that a page calls without credentials that the browser adds
    /// by itself [RFC 9700 section 2.6, CORS-02, CORS-03].
    cors: bool,
    /// Whether it reads DPoP proofs [RFC 9449 sections 5 and 10.1].
    proofs: bool,
    /// Whether the settings switch it on.
    is_on: fn(&Config) -> bool,
    /// The member of the metadata that has its URL.
    member: Option<fn(&mut Metadata) -> &mut Option<String>>,
}

impl Row {
    const fn new(name: &'static str, path: &'static str, methods: Methods) -> Self {
        Self { name, path, methods, cors: false, proofs: false, is_on: |_| true, member: None }
    }
}

/// The methods of an endpoint, and as the `Allow` header lists them.
struct Methods(&'static [&'static str], &'static str);

const READ: Methods = Methods(&["GET", "HEAD"], "GET, HEAD");
const POST: Methods = Methods(&["POST"], "POST");
const MANAGE: Methods = Methods(&["GET", "PUT", "DELETE"], "GET, PUT, DELETE");

impl Endpoint {
    /// The table.
    const fn row(self) -> Row {
        match self {
            Self::Authorization => Row {
                member: Some(|metadata| &mut metadata.authorization_endpoint),
                ..Row::new("authorization", "/oauth2/auth", READ)
            },
            Self::Token => Row {
                cors: true,
                proofs: true,
                member: Some(|metadata| &mut metadata.token_endpoint),
                ..Row::new("token", "/oauth2/token", POST)
            },
            Self::PushedAuthorization => Row {
                cors: true,
                proofs: true,
                is_on: |config| config.pushed_requests.are_taken(),
                member: Some(|metadata| &mut metadata.pushed_authorization_request_endpoint),
                ..Row::new("pushed_authorization", "/oauth2/par", POST)
            },
            // Devices without a browser need no CORS. With it, any page could ask in the network of its visitor, whose consent page
            // would then show that network.
            Self::DeviceAuthorization => Row {
                is_on: |config| config.devices.on,
                member: Some(|metadata| &mut metadata.device_authorization_endpoint),
                ..Row::new("device_authorization", "/oauth2/device_authorization", POST)
            },
            Self::Revocation => Row {
                cors: true,
                member: Some(|metadata| &mut metadata.revocation_endpoint),
                ..Row::new("revocation", "/oauth2/revoke", POST)
            },
            Self::Introspection => Row {
                member: Some(|metadata| &mut metadata.introspection_endpoint),
                ..Row::new("introspection", "/oauth2/introspect", POST)
            },
            Self::Jwks => Row {
                cors: true,
                is_on: Config::issues_jwts,
                member: Some(|metadata| &mut metadata.jwks_uri),
                ..Row::new("jwks", "/oauth2/jwks", READ)
            },
            Self::Metadata => {
                Row { cors: true, ..Row::new("metadata", "/.well-known/oauth-authorization-server", READ) }
            }
            Self::ResourceMetadata => {
                Row { cors: true, ..Row::new("resource_metadata", "/.well-known/oauth-protected-resource", READ) }
            }
            Self::Registration => Row {
                cors: true,
                is_on: |config| config.registration.is_dynamic(),
                member: Some(|metadata| &mut metadata.registration_endpoint),
                ..Row::new("registration", "/oauth2/register", POST)
            },
            Self::ClientConfiguration => Row {
                is_on: |config| config.registration.management,
                ..Row::new("client_configuration", "/oauth2/register/{client_id}", MANAGE)
            },
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

    /// Returns the whole published path. The issuer's path comes first, or last for the metadata [RFC 8414 section 3.1].
    pub(crate) fn path(self, issuer: &str) -> String {
        let (issuer, own) = (path_of(issuer), self.row().path);
        if self == Self::ResourceMetadata {
            return own.to_owned();
        }
        if self == Self::Metadata { format!("{own}{issuer}") } else { format!("{issuer}{own}") }
    }

    /// Returns whether the settings switch the endpoint on.
    pub(crate) fn is_on(self, config: &Config) -> bool {
        (self.row().is_on)(config)
    }

    /// Returns whether the endpoint reads DPoP proofs where the settings accept them.
    pub(crate) const fn reads_proofs(self) -> bool {
        self.row().proofs
    }

    /// Returns which pages of other origins may call it, if any may.
    pub(crate) fn cors(self, config: &Config) -> Option<&Cors> {
        Some(&config.cors).filter(|cors| **cors != Cors::Off && self.row().cors)
    }
}

impl Config {
    /// Returns the published URL of an endpoint below the issuer. Those of metadata are elsewhere: see [`Endpoint::path`].
    pub(crate) fn url_of(&self, endpoint: Endpoint) -> String {
        format!("{}{}", self.issuer.trim_end_matches('/'), endpoint.row().path)
    }

    /// Writes the URL of each endpoint that is on into the metadata.
    pub(crate) fn publish_endpoints(&self, metadata: &mut Metadata) {
        for endpoint in Endpoint::MACHINE.iter().chain(&[Endpoint::Authorization]) {
            if let Some(member) = endpoint.row().member.filter(|_| endpoint.is_on(self)) {
                *member(metadata) = Some(self.url_of(*endpoint));
            }
        }
    }
}

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
