//! Your service's decisions about clients that register themselves or have a metadata document.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;

use crate::base::id::ClientId;
use crate::model::client::ClientOrigin;
use crate::model::client_metadata::{ClientMetadata, RegistrationBounds};

/// Decides about each client that registers itself [RFC 7591 section 5], or has a metadata document.
///
/// [`ApproveWithin`] and [`QueueAll`] are ready to use. Pass one, or your own, to
/// [`Builder::registration_policy`](crate::server::Builder::registration_policy).
///
/// # Security
///
/// Anyone may register, and nothing in a registration is verified. A client counts as unreviewed until a person
/// approves it with [`Registrar::approve`](crate::Registrar::approve), even if the policy approves it.
///
/// # Examples
///
/// ```
/// use grantor::client_metadata::RegistrationBounds;
/// use grantor::hooks::{RegistrationDecision, RegistrationPolicy, RegistrationRequest};
///
/// /// Approves clients of one company, and asks a person about all others.
/// #[derive(Debug)]
/// struct OfCompany(RegistrationBounds);
///
/// #[async_trait::async_trait]
/// impl RegistrationPolicy for OfCompany {
///     async fn decide(&self, request: &RegistrationRequest<'_>) -> RegistrationDecision {
///         let uris = &request.metadata.redirect_uris;
///         let is_own = |uri: &str| uri.starts_with("https://apps.company.example/");
///         if !uris.is_empty() && uris.iter().all(|uri| is_own(uri.as_str())) {
///             return RegistrationDecision::Approve(self.0.clone());
///         }
///         RegistrationDecision::Queue(self.0.clone())
///     }
/// }
/// ```
#[async_trait]
pub trait RegistrationPolicy: fmt::Debug + Send + Sync + 'static {
    /// Decides about one registration. Nothing is stored yet.
    ///
    /// The request waits for the decision without a timeout, and there is no error to return. If the policy asks
    /// another service, bound that call, and queue or refuse the client if it fails.
    ///
    /// It is called for a metadata document at each authorization request, even if the document is cached and the
    /// client is stored. After [`Queue`](RegistrationDecision::Queue), a client that a person has approved can be used
    /// until its document changes.
    async fn decide(&self, request: &RegistrationRequest<'_>) -> RegistrationDecision;

    /// Decides from the URL alone whether a metadata document is accepted, before it is fetched
    /// [draft-ietf-oauth-client-id-metadata-document section 8.6]. Every URL is admitted by default.
    ///
    /// It is called at each authorization request, even if the document is cached. [`DocumentHosts`] admits known
    /// hosts.
    async fn admits_document(&self, request: &DocumentRequest<'_>) -> bool {
        let _ = request;
        true
    }
}

/// What a [`RegistrationPolicy`] knows about a metadata document before it is fetched.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct DocumentRequest<'a> {
    /// The client id, which is the URL of the document.
    pub url: &'a str,
    /// The host of the URL in lower case. An international name is in its ASCII form (A-labels), and an IPv6 address in
    /// brackets.
    pub host: &'a str,
    /// The address that the request came from, as the adapter passed it.
    pub peer: Option<IpAddr>,
}

impl<'a> DocumentRequest<'a> {
    /// Returns a request without a peer address, for tests of a [`RegistrationPolicy`].
    #[must_use]
    pub const fn new(url: &'a str, host: &'a str) -> Self {
        Self { url, host, peer: None }
    }
}

/// What a [`RegistrationPolicy`] decides about.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RegistrationRequest<'a> {
    /// How the client registered.
    pub origin: ClientOrigin,
    /// The client's metadata, without values that the server does not offer. None of it is verified.
    pub metadata: &'a ClientMetadata,
    /// The client id, if it is the URL of a metadata document. Its host is verified, the metadata are not: a policy may
    /// require redirect URIs on the same host.
    pub document_url: Option<&'a str>,
    /// The address that the request came from, as the adapter passed it.
    pub peer: Option<IpAddr>,
    /// The client that replaces its registration [RFC 7592 section 2.2]; `None` for a new client.
    ///
    /// A replacement never gets more than the client has, even if the bounds of the decision are wider.
    pub updated: Option<&'a ClientId>,
    /// The id of the initial access token in the request. It is set for a new client if
    /// [`DynamicRegistration::WithToken`](crate::config::DynamicRegistration::WithToken) is set.
    pub initial_access_token: Option<&'a ClientId>,
}

impl<'a> RegistrationRequest<'a> {
    /// Returns a request without the optional members, for tests of a [`RegistrationPolicy`].
    #[must_use]
    pub const fn new(origin: ClientOrigin, metadata: &'a ClientMetadata) -> Self {
        Self { origin, metadata, document_url: None, peer: None, updated: None, initial_access_token: None }
    }
}

/// What a [`RegistrationPolicy`] decides.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegistrationDecision {
    /// The client can be used at once, within these bounds.
    Approve(RegistrationBounds),
    /// The client awaits review, as submitted applications do. Until then its users see a page that says so.
    Queue(RegistrationBounds),
    /// The client is refused, and nothing is stored. If the client has a metadata document and is stored already, its
    /// row and its grants stay as they are.
    Refuse,
}

impl RegistrationDecision {
    /// Returns what the client may have at most, and whether it awaits review; `None` if it is refused.
    pub(crate) fn into_bounds(self) -> Option<(RegistrationBounds, bool)> {
        match self {
            Self::Approve(bounds) => Some((bounds, false)),
            Self::Queue(bounds) => Some((bounds, true)),
            Self::Refuse => None,
        }
    }
}

/// A [`RegistrationPolicy`] that approves every client within fixed bounds.
#[derive(Clone, Debug)]
pub struct ApproveWithin(RegistrationBounds);

impl ApproveWithin {
    /// Approves every client within these bounds.
    #[must_use]
    pub const fn new(bounds: RegistrationBounds) -> Self {
        Self(bounds)
    }
}

#[async_trait]
impl RegistrationPolicy for ApproveWithin {
    async fn decide(&self, _: &RegistrationRequest<'_>) -> RegistrationDecision {
        RegistrationDecision::Approve(self.0.clone())
    }
}

/// A [`RegistrationPolicy`] that lets a person decide about every client, within fixed bounds.
#[derive(Clone, Debug)]
pub struct QueueAll(RegistrationBounds);

impl QueueAll {
    /// Queues every client for the review, which can approve these bounds or less.
    #[must_use]
    pub const fn new(bounds: RegistrationBounds) -> Self {
        Self(bounds)
    }
}

#[async_trait]
impl RegistrationPolicy for QueueAll {
    async fn decide(&self, _: &RegistrationRequest<'_>) -> RegistrationDecision {
        RegistrationDecision::Queue(self.0.clone())
    }
}

/// A [`RegistrationPolicy`] that admits only metadata documents from known hosts, and asks another policy about them.
///
/// The other policy alone decides about clients that register themselves.
///
/// # Examples
///
/// ```
/// use grantor::scope::{ResourceScope, ScopeCatalog};
/// use grantor::client_metadata::RegistrationBounds;
/// use grantor::hooks::{ApproveWithin, DocumentHosts};
///
/// # fn main() -> Result<(), grantor::scope::ScopeError> {
/// let bounds = RegistrationBounds::new(ScopeCatalog::platform().parse(b"repo-code:r")?, ResourceScope::All);
/// let policy = DocumentHosts::new(ApproveWithin::new(bounds)).host("client.example").below("apps.example.com");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct DocumentHosts {
    policy: Arc<dyn RegistrationPolicy>,
    hosts: Vec<String>,
    domains: Vec<String>,
}

impl DocumentHosts {
    /// Admits no host yet.
    #[must_use]
    pub fn new(policy: impl RegistrationPolicy) -> Self {
        Self { policy: Arc::new(policy), hosts: Vec::new(), domains: Vec::new() }
    }

    /// Admits this host, in upper or lower case, on any port.
    #[must_use]
    pub fn host(mut self, host: impl AsRef<str>) -> Self {
        self.hosts.push(host.as_ref().to_ascii_lowercase());
        self
    }

    /// Admits every subdomain of this domain, but not the domain itself: with `example.com`, `a.example.com` is
    /// admitted, and `evil-example.com` is not.
    #[must_use]
    pub fn below(mut self, domain: impl AsRef<str>) -> Self {
        self.domains.push(domain.as_ref().to_ascii_lowercase());
        self
    }

    fn admits(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let is_below = |domain: &String| {
            let name = host.strip_suffix(domain.as_str()).and_then(|name| name.strip_suffix('.'));
            !domain.is_empty() && name.is_some_and(|name| !name.is_empty())
        };
        self.hosts.contains(&host) || self.domains.iter().any(is_below)
    }
}

#[async_trait]
impl RegistrationPolicy for DocumentHosts {
    async fn decide(&self, request: &RegistrationRequest<'_>) -> RegistrationDecision {
        self.policy.decide(request).await
    }

    async fn admits_document(&self, request: &DocumentRequest<'_>) -> bool {
        self.admits(request.host) && self.policy.admits_document(request).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::{ResourceScope, ScopeSet};

    /// CIMD-8.9-01
    #[test]
    fn hosts_are_admitted_exactly_or_below_a_domain() {
        let bounds = RegistrationBounds::new(ScopeSet::empty(), ResourceScope::All);
        let policy = DocumentHosts::new(QueueAll::new(bounds)).host("Client.example").below("example.com").below("");
        for (host, is_admitted) in [
            ("client.example", true),
            ("CLIENT.example", true),
            ("a.client.example", false),
            ("evil-client.example", false),
            ("example.com", false),
            ("a.example.com", true),
            ("a.b.Example.com", true),
            ("evil-example.com", false),
            (".example.com", false),
            ("a.example.com.evil.test", false),
            ("127.0.0.1", false),
            ("", false),
        ] {
            assert_eq!(policy.admits(host), is_admitted, "{host}");
        }
    }
}
