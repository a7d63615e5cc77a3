//! Who decides about clients that register themselves.

use std::fmt;
use std::net::IpAddr;

use async_trait::async_trait;

use crate::client::ClientOrigin;
use crate::client::metadata::{ClientMetadata, RegistrationBounds};

/// Decides about each client that registers itself [RFC 7591 section 5].
///
/// [`ApproveWithin`] and [`QueueAll`] are ready to use. Pass one, or your own, to
/// [`Builder::registration_policy`](crate::Builder::registration_policy).
///
/// # Security
///
/// Anyone may register, and every word of a registration is the stranger's own. No decision here makes a client known:
/// it counts as unreviewed until a person approves it with [`Registrar::approve`](crate::Registrar::approve).
///
/// # Examples
///
/// ```
/// use grantor::{RegistrationBounds, RegistrationDecision, RegistrationPolicy, RegistrationRequest};
///
/// /// Approves clients of one company, and asks a person about all others.
/// #[derive(Debug)]
/// struct OfCompany(RegistrationBounds);
///
/// #[async_trait::async_trait]
/// impl RegistrationPolicy for OfCompany {
///     async fn decide(&self, request: &RegistrationRequest<'_>) -> RegistrationDecision {
///         let mut uris = request.metadata.redirect_uris().iter();
///         if uris.all(|uri| uri.as_str().starts_with("https://apps.company.example/")) {
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
    /// The request waits for the decision without a time-out, and there is no error to return. If the policy asks another
    /// service, bound that call, and queue or refuse the client if it fails.
    async fn decide(&self, request: &RegistrationRequest<'_>) -> RegistrationDecision;
}

/// What a [`RegistrationPolicy`] decides about.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RegistrationRequest<'a> {
    /// How the client registered.
    pub origin: ClientOrigin,
    /// The client's metadata, without what the server does not offer. None of it is verified.
    pub metadata: &'a ClientMetadata,
    /// The address that the request came from, as the adapter passed it.
    pub peer: Option<IpAddr>,
}

impl<'a> RegistrationRequest<'a> {
    /// Returns a request without a peer address, for tests of a [`RegistrationPolicy`].
    #[must_use]
    pub const fn new(origin: ClientOrigin, metadata: &'a ClientMetadata) -> Self {
        Self { origin, metadata, peer: None }
    }
}

/// What a [`RegistrationPolicy`] decides.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegistrationDecision {
    /// The client can be used at once, within these bounds.
    Approve(RegistrationBounds),
    /// The client awaits the review that submitted applications await too. Until then its users see a page that says so.
    Queue(RegistrationBounds),
    /// The client is refused, and nothing is stored.
    Refuse,
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
