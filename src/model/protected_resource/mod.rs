//! Protected resources: the APIs that tokens are for, in the settings and in records, and which spellings of their
//! identifiers are equivalent [RFC 8707].
//!
//! A protected resource is an API. The [`ResourceScope`](crate::scope::ResourceScope) of a token is a separate limit:
//! which of the user's resources it reaches there.

mod table;

pub(crate) use table::{Entry, Named, ResourceTable, Target, TargetError};

use std::sync::Arc;

use crate::base::codec::{DecodeError, Reader, Writer};
use crate::base::field::{Codec, Tagged};
use crate::base::id::ClientId;
use crate::model::redirect_uri::{WebScheme, WebUri, check_host, check_path_and_query, uri_text};
use crate::wire::message::ResourceMetadata;
use crate::wire::{Request, Response};

/// The part of the metadata URL between the host and the path of a resource [RFC 9728 section 3].
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The scope of OpenID Connect that requests a refresh token. It belongs to no resource [OpenID Connect Core section
/// 11].
pub(crate) const OFFLINE_ACCESS: &str = "offline_access";

/// A protected resource: an API that access tokens are issued for [RFC 8707].
///
/// [`Config::resources`](crate::Config::resources) lists them. A token is for one or several of them, and all others
/// refuse it. The [`ResourceScope`](crate::scope::ResourceScope) is a separate limit: which of the user's resources a
/// token reaches. Both must allow a request.
///
/// # Examples
///
/// ```
/// use grantor::{AuthorizationServer, Config, MemoryStore};
/// use grantor::protected_resource::ProtectedResource;
///
/// # fn main() -> Result<(), grantor::ConfigError> {
/// let mut config = Config::platform("https://auth.example");
/// let mut api = ProtectedResource::new("https://api.example/mcp", "Example API");
/// api.basic_scopes = vec!["account-profile:r".into()];
/// config.resources = vec![api];
///
/// let server = AuthorizationServer::new(config, MemoryStore::new())?;
/// let resource = server.protected_resource("https://api.example/mcp")?;
/// assert_eq!(resource.metadata_url(), "https://api.example/.well-known/oauth-protected-resource/mcp");
/// assert!(server.protected_resource("https://api.example/mpc").is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProtectedResource {
    /// The https URL that clients connect to, without user, query and fragment [RFC 8707 section 2]. With
    /// [`development`](crate::Config::development), plain http on a loopback host is accepted.
    ///
    /// It is published and stored exactly as written. Do not change its spelling later: existing grants would no longer
    /// be for this resource. If clients connect to several endpoints, list each as a separate resource, since some
    /// clients compare the whole URL.
    pub identifier: String,
    /// The name that a consent page shows. If it is empty, the identifier is shown.
    pub name: String,
    /// The scope tokens that the resource serves, such as `repo-code:rw`. An empty list means all scopes of the
    /// catalog.
    ///
    /// A read-write scope includes the read-only one. Each scope of the catalog must be served by at least one
    /// resource.
    pub scopes: Vec<String>,
    /// The scope tokens that a client should request first: `scopes_supported` of the metadata, and the `scope` of a
    /// 401 if the operation names none [RFC 9728 section 2]. The list may be empty.
    pub basic_scopes: Vec<String>,
    /// Whether tokens are for this resource if a client names none. A single resource is the default in any case.
    ///
    /// Grants that were created before the first resource was configured count as grants for the default one.
    pub is_default: bool,
    /// Whether the metadata is also served at the well-known path without a resource path, which some clients request
    /// first. At most one resource may set this; a resource without a path is served there in any case.
    pub root_metadata: bool,
    /// The page for developers, `resource_documentation` [RFC 9728 section 2].
    pub documentation: Option<String>,
    /// How clients may use the data, `resource_policy_uri` [RFC 9728 section 2].
    pub policy_uri: Option<String>,
    /// The terms of service, `resource_tos_uri` [RFC 9728 section 2].
    pub tos_uri: Option<String>,
    /// The clients that introspect tokens for this resource [RFC 7662 section 2.1]. Each of them sees only tokens for
    /// its resources, even if [`may_introspect`](crate::Client::may_introspect) is set. Public clients are ignored.
    pub resource_servers: Vec<ClientId>,
    /// The form of access tokens for the resource: opaque, or JWTs, which it reads without asking the authorization
    /// server [RFC 9068].
    pub access_tokens: AccessTokenFormat,
}

/// The form of access tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AccessTokenFormat {
    /// A random text. Only the authorization server knows what it grants.
    #[default]
    Opaque,
    /// A JWT that is signed with one of the server's [`signing_keys`](crate::server::Builder::signing_keys), and valid
    /// for [`tokens.jwt_lifetime`](crate::config::TokenSettings::jwt_lifetime) [RFC 9068]. It is for this resource
    /// alone.
    ///
    /// Some tokens are opaque all the same: see
    /// [`ResourceServer::or_introspect`](crate::ResourceServer::or_introspect).
    ///
    /// # Security
    ///
    /// An API that verifies JWTs itself accepts a revoked token until it expires.
    Jwt,
}

impl ProtectedResource {
    /// Creates a resource that serves all scopes, from its identifier and its display name.
    #[must_use]
    pub fn new(identifier: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            identifier: identifier.into(),
            name: name.into(),
            scopes: Vec::new(),
            basic_scopes: Vec::new(),
            is_default: false,
            root_metadata: false,
            documentation: None,
            policy_uri: None,
            tos_uri: None,
            resource_servers: Vec::new(),
            access_tokens: AccessTokenFormat::Opaque,
        }
    }

    /// Returns whether its access tokens are JWTs.
    pub(crate) fn has_jwts(&self) -> bool {
        self.access_tokens == AccessTokenFormat::Jwt
    }

    /// Returns the name that a consent page shows. It is plain text; the page must escape it.
    #[must_use]
    pub fn shown_name(&self) -> &str {
        if self.name.is_empty() { &self.identifier } else { &self.name }
    }

    /// Returns the path of the metadata document at the resource's own host [RFC 9728 section 3.1].
    ///
    /// > inserting /.well-known/oauth-protected-resource into the protected resource's resource identifier between the
    /// > host component and the path and/or query components, if any
    #[must_use]
    pub fn metadata_path(&self) -> String {
        let path = Identifier::parse(&self.identifier).map(|own| own.path().to_owned()).unwrap_or_default();
        format!("{WELL_KNOWN}{path}")
    }

    /// Returns the paths at which the resource's own host serves the document: also with a slash at the end, and
    /// with [`root_metadata`](Self::root_metadata) also without the path of the resource.
    pub(crate) fn metadata_paths(&self) -> Vec<String> {
        let own = self.metadata_path();
        let root = Some(WELL_KNOWN.to_owned()).filter(|root| self.root_metadata && *root != own);
        [own].into_iter().chain(root).flat_map(spellings).collect()
    }

    /// Returns the URL of the metadata document, as challenges contain it in `resource_metadata` [RFC 9728 section
    /// 5.1].
    #[must_use]
    pub fn metadata_url(&self) -> String {
        format!("{}{}", origin_of(&self.identifier), self.metadata_path())
    }

    /// Returns the metadata of the resource, whose tokens are issued by `issuer` [RFC 9728 section 2], without the
    /// members about DPoP.
    pub(crate) fn metadata(&self, issuer: &str) -> ResourceMetadata {
        let mut metadata = ResourceMetadata::new(self.identifier.as_str());
        metadata.authorization_servers = vec![issuer.to_owned()];
        metadata.scopes_supported.clone_from(&self.basic_scopes);
        metadata.bearer_methods_supported = vec!["header".to_owned()];
        metadata.resource_name = Some(self.name.clone()).filter(|name| !name.is_empty());
        metadata.resource_documentation.clone_from(&self.documentation);
        metadata.resource_policy_uri.clone_from(&self.policy_uri);
        metadata.resource_tos_uri.clone_from(&self.tos_uri);
        metadata
    }
}

/// Returns the path as it is, and with a slash at its end, which some clients keep.
fn spellings(path: String) -> impl Iterator<Item = String> {
    let with_slash = (!path.ends_with('/')).then(|| format!("{path}/"));
    [path].into_iter().chain(with_slash)
}

/// Encodes the document.
fn document(metadata: &ResourceMetadata) -> Box<[u8]> {
    serde_json::to_vec(metadata).unwrap_or_default().into()
}

/// Responds to GET and HEAD with the document. It is the same for all clients, so it may be cached.
fn answer(request: &Request<'_>, document: &[u8]) -> Response {
    if !matches!(request.method, "GET" | "HEAD") {
        return Response::new(405).with_header("Allow", "GET, HEAD").with_header("Cache-Control", "no-store");
    }
    Response::new(200)
        .with_header("Content-Type", "application/json")
        .with_header("Cache-Control", "max-age=3600")
        .with_body(document.to_vec())
}

/// The identifier of a protected resource, in a form for comparison [RFC 8707 section 2].
///
/// Comparison ignores only what URL libraries change in a valid identifier: the case of scheme and host, the default
/// port, and an empty path instead of `/`. Everything else is compared byte by byte, and nothing by prefix.
#[derive(Clone, Debug)]
pub(crate) struct Identifier(Box<str>);

impl Identifier {
    /// Parses an identifier of the settings.
    ///
    /// > The identifier of the resource … MUST be an absolute URI … MUST NOT include a fragment component … SHOULD NOT
    /// > include a query component
    ///
    /// [RFC 8707 section 2]
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = uri_text(text.as_bytes()).ok().filter(|text| !text.contains('?'))?;
        let uri = WebUri::split(text).ok()?;
        check_host(uri.host).ok()?;
        check_path_and_query(uri.path_and_query).ok()?;
        Some(Self(text.into()))
    }

    /// Returns whether a value that a client sent is this identifier.
    pub(crate) fn is(&self, sent: &WebUri<'_>) -> bool {
        let is_same =
            |own: WebUri<'_>| own.has_origin_of(sent) && or_slash(own.path_and_query) == or_slash(sent.path_and_query);
        self.uri().is_some_and(is_same)
    }

    /// Returns whether two identifiers are the same.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        other.uri().is_some_and(|other| self.is(&other))
    }

    pub(crate) fn is_https(&self) -> bool {
        self.uri().is_some_and(|uri| uri.scheme == WebScheme::Https)
    }

    pub(crate) fn host(&self) -> &str {
        self.uri().map_or("", |uri| uri.host)
    }

    /// Returns the path, empty for a bare origin.
    pub(crate) fn path(&self) -> &str {
        match self.uri().map_or("", |uri| uri.path_and_query) {
            "/" => "",
            path => path,
        }
    }

    /// Returns whether scheme, host and port are the same as in another URL.
    pub(crate) fn has_origin_of(&self, url: &str) -> bool {
        let other = WebUri::split(url).ok();
        other.zip(self.uri()).is_some_and(|(other, own)| own.has_origin_of(&other))
    }

    fn uri(&self) -> Option<WebUri<'_>> {
        WebUri::split(&self.0).ok()
    }
}

/// Splits a value that a client sent; `None` if it cannot be an identifier.
fn split_sent(sent: &[u8]) -> Option<WebUri<'_>> {
    let text = str::from_utf8(sent).ok().filter(|text| text.len() <= MAX_BYTES)?;
    WebUri::split(text).ok()
}

/// Returns the part of a valid URL before its path: scheme, host and port, as they are written.
pub(crate) fn origin_of(url: &str) -> &str {
    let host = url.find("://").map_or(0, |scheme| scheme + "://".len());
    let path = url.get(host..).and_then(|rest| rest.find('/')).map(|path| host + path);
    url.get(..path.unwrap_or(url.len())).unwrap_or_default()
}

fn or_slash(path: &str) -> &str {
    if path.is_empty() { "/" } else { path }
}

/// The maximum length in bytes of one value of `resource`.
const MAX_BYTES: usize = 2048;

/// The identifiers of the protected resources that a consent or a token is for [RFC 8707], as they were configured.
///
/// Unset in records that are older than the first protected resource of the server: they are for the default one, so
/// that no sign-in ends when resources are configured. If all resources are removed from the settings, a record with an
/// audience is refused. Otherwise a token for one API would be valid at all of them again. A clone shares the list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Audience(Option<Arc<Box<[Box<str>]>>>);

impl Audience {
    /// No protected resource was configured.
    pub(crate) const UNSET: Self = Self(None);

    /// Creates an audience from distinct identifiers. An empty list is the same as unset.
    pub(crate) fn new<'i>(identifiers: impl IntoIterator<Item = &'i str>) -> Self {
        let identifiers: Box<[Box<str>]> = identifiers.into_iter().map(Into::into).collect();
        if identifiers.is_empty() { Self::UNSET } else { Self(Some(Arc::new(identifiers))) }
    }

    pub(crate) const fn is_unset(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|identifiers| identifiers.iter()).map(AsRef::as_ref)
    }

    pub(crate) fn contains(&self, identifier: &str) -> bool {
        self.iter().any(|own| own == identifier)
    }

    /// Returns whether a consent for this audience includes one for the other.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        self.is_unset() == other.is_unset() && other.iter().all(|identifier| self.contains(identifier))
    }

    fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |identifiers| identifiers.len())
    }
}

/// The unset audience, for borrowing.
pub(crate) static NO_AUDIENCE: Audience = Audience::UNSET;

/// The order has no meaning.
impl PartialEq for Audience {
    fn eq(&self, other: &Self) -> bool {
        let is_same = || self.0.as_ref().zip(other.0.as_ref()).is_some_and(|(own, others)| Arc::ptr_eq(own, others));
        is_same() || self.len() == other.len() && self.iter().all(|own| other.contains(own))
    }
}

impl Eq for Audience {}

impl Audience {
    fn write_list(&self, writer: &mut Writer) {
        writer.count(self.len());
        self.iter().for_each(|identifier| writer.text(identifier));
    }

    /// Reads a list that is not empty and has no duplicates.
    fn read_list(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let list = reader.list(Reader::text)?;
        let repeats = list.iter().enumerate().any(|(place, own)| list.iter().take(place).any(|before| before == own));
        if list.is_empty() || repeats { Err(DecodeError::Malformed) } else { Ok(Self::new(list)) }
    }
}

/// The identifiers, if there are any, without the consent.
impl Codec for Audience {
    fn write(&self, writer: &mut Writer) {
        writer.optional(Some(self).filter(|own| !own.is_unset()), |writer, own| own.write_list(writer));
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.optional(Self::read_list).map(Option::unwrap_or_default)
    }
}

impl Tagged for Audience {
    fn write_tagged(&self, tag: u8, writer: &mut Writer) {
        if !self.is_unset() {
            writer.tagged(tag, |writer| self.write_list(writer));
        }
    }

    fn read_tagged(tag: u8, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.tagged(tag, Self::read_list).map(Option::unwrap_or_default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 9728-3.1-01, 9728-3.1-02
    #[test]
    fn the_metadata_is_between_host_and_path() {
        for (identifier, path) in [
            ("https://a.example", ""),
            ("https://a.example/", ""),
            ("https://a.example/mcp", "/mcp"),
            ("https://a.example:8443/a/b", "/a/b"),
            ("https://a.example/mcp/", "/mcp/"),
        ] {
            let resource = ProtectedResource::new(identifier, "");
            assert_eq!(resource.metadata_path(), format!("/.well-known/oauth-protected-resource{path}"));
            let origin = identifier.strip_suffix(path).unwrap().trim_end_matches('/');
            assert_eq!(resource.metadata_url(), format!("{origin}/.well-known/oauth-protected-resource{path}"));
        }
    }

    #[test]
    fn identifiers_are_absolute_without_user_query_fragment_and_dots() {
        for good in ["https://a.example", "https://a.example/", "http://[::1]:8080/mcp", "https://A.example/a%20b/"] {
            assert!(Identifier::parse(good).is_some(), "{good}");
        }
        for bad in [
            "",
            "/mcp",
            "a.example",
            "//a.example/x",
            "urn:example:a",
            "https://",
            "https://a.example#",
            "https://a.example/#x",
            "https://a.example/?x",
            "https://a.example?",
            "https://user@a.example",
            "https://a.example/a/../b",
            "https://a.example/%2e",
            "https://a.example/%zz",
            "https://a.example/a b",
            "https://a.example/\"",
            "https://b\u{fc}cher.example",
            "https://a.example:0443",
            "https://127.1/",
        ] {
            assert!(Identifier::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn only_what_url_libraries_change_is_forgiven() {
        let is = |own: &str, sent: &str| {
            split_sent(sent.as_bytes()).is_some_and(|sent| Identifier::parse(own).unwrap().is(&sent))
        };
        for same in
            ["https://mcp.example", "https://mcp.example/", "HTTPS://MCP.Example:443/", "https://mcp.example:443"]
        {
            assert!(is("https://mcp.example", same) && is("https://mcp.example/", same), "{same}");
        }
        for other in [
            "http://mcp.example",
            "https://mcp.example:8443",
            "https://mcp.example//",
            "https://mcp.example?",
            "https://mcp.example/?",
            "https://mcp.example/#",
            "https://mcp.example#",
            "https://user@mcp.example",
            "https://mcp.example.",
            "mcp.example",
            "//mcp.example",
            "https:mcp.example",
            "https://mcp.example:",
        ] {
            assert!(!is("https://mcp.example", other), "{other}");
        }
        assert!(is("https://mcp.example/mcp", "https://MCP.example/mcp"));
        for other in ["", "/", "/mcp/", "/MCP", "/%6dcp", "/mcp?x", "/mcp/x", "/mcp2", "/mc"] {
            assert!(!is("https://mcp.example/mcp", &format!("https://mcp.example{other}")), "{other}");
        }
        let longest = format!("https://mcp.example/{}", "a".repeat(2028));
        assert!(split_sent(longest.as_bytes()).is_some());
        assert!(split_sent(format!("{longest}a").as_bytes()).is_none() && split_sent(b"https://\xff").is_none());
    }

    #[test]
    fn audiences_are_equal_in_any_order() {
        let (a, ab, ba) = (Audience::new(["a"]), Audience::new(["a", "b"]), Audience::new(["b", "a"]));
        assert_eq!(ab, ba);
        assert_eq!(a, a.clone());
        assert_ne!(a, ab);
        assert_ne!(a, Audience::new(["b"]));
        assert_ne!(a, Audience::UNSET);
        assert_eq!(Audience::new([]), Audience::UNSET);
    }

    #[test]
    fn a_consent_includes_one_for_fewer_resources() {
        let (a, ab) = (Audience::new(["a"]), Audience::new(["a", "b"]));
        assert!(ab.covers(&a) && ab.covers(&ab) && Audience::UNSET.covers(&Audience::UNSET));
        assert!(!a.covers(&ab) && !Audience::UNSET.covers(&a) && !a.covers(&Audience::UNSET));
    }

    #[test]
    fn a_record_has_at_least_one_and_each_once() {
        let read = |list: &[&str]| {
            let mut writer = Writer::new(b'X');
            writer.count(list.len());
            list.iter().for_each(|text| writer.text(text));
            let bytes = writer.finish();
            Audience::read_list(&mut Reader::new(&bytes, b'X').unwrap())
        };
        assert_eq!(read(&["a", "b"]), Ok(Audience::new(["a", "b"])));
        assert_eq!(read(&[]), Err(DecodeError::Malformed));
        assert_eq!(read(&["a", "b", "a"]), Err(DecodeError::Malformed));
    }
}
