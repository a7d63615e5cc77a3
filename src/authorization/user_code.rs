//! The code that a user types for a device, and what the consent page then shows [RFC 8628 section 3.3].
//!
//! A user code belongs to the first user who types it. That user's request is then held like any other, and points to
//! the device's.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use crate::authorization::decide::find_held;
use crate::authorization::document_client::{Found, Visitor};
use crate::authorization::hold::{check_user, store_request};
use crate::authorization::judge::Asked;
use crate::authorization::pending::{AuthorizationError, PendingAuthorization};
use crate::authorization::{check_client, consent_requests, document_client};
use crate::base::clock::Timestamp;
use crate::base::id::Subject;
use crate::config::DeviceSettings;
use crate::context::Context;
use crate::error::Reason;
use crate::grant::{release, revocation};
use crate::hooks::{Attempt, AttemptKind, Event};
use crate::model::client::{AskConsent, Client, GrantType};
use crate::model::protected_resource::Named;
use crate::model::terms::Terms;
use crate::model::user_code::UserCode;
use crate::model::{Destination, DeviceRequest};
use crate::secret::ConsentTicket;
use crate::wire::Endpoint;

/// What a user typed on the page for user codes.
///
/// ```
/// use grantor::authorization::TypedUserCode;
///
/// // The form of the page, and the address of the browser.
/// let typed = TypedUserCode::new("wdjb-mjht").peer([192, 0, 2, 1].into());
/// // The code was filled in by a link.
/// let linked = TypedUserCode::new("WDJB-MJHT").in_link();
/// ```
#[derive(Clone, Copy)]
pub struct TypedUserCode<'a> {
    code: &'a str,
    in_link: bool,
    peer: Option<IpAddr>,
}

impl<'a> TypedUserCode<'a> {
    /// Creates it from the text of the form. Case, blanks and hyphens do not matter.
    #[must_use]
    pub const fn new(code: &'a str) -> Self {
        Self { code, in_link: false, peer: None }
    }

    /// Says that the code came in a link, and was not typed [RFC 8628 section 3.3.1]. The user must then confirm that
    /// the device shows it: see [`Consent::device_shows_code`](crate::Consent::device_shows_code).
    #[must_use]
    pub const fn in_link(mut self) -> Self {
        self.in_link = true;
        self
    }

    /// Sets the address of the browser. Wrong codes are counted by it.
    #[must_use]
    pub const fn peer(mut self, address: IpAddr) -> Self {
        self.peer = Some(address);
        self
    }
}

impl fmt::Debug for TypedUserCode<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedUserCode")
            .field("in_link", &self.in_link)
            .field("peer", &self.peer)
            .finish_non_exhaustive()
    }
}

/// A device's request whose code its user has typed: what a consent page shows [RFC 8628 section 5.4].
///
/// Show the code in the form that the device shows, where the device asked from and when. Say that the user should
/// continue only after having started this on a device. Refusing must be as easy as agreeing.
#[derive(Clone)]
pub struct DeviceConsent {
    pub(crate) pending: PendingAuthorization,
    pub(crate) ticket: ConsentTicket,
    pub(crate) device: AskingDevice,
}

impl DeviceConsent {
    /// Returns what is asked, and by which client.
    #[must_use]
    pub const fn pending(&self) -> &PendingAuthorization {
        &self.pending
    }

    /// Returns the ticket for the form.
    #[must_use]
    pub const fn ticket(&self) -> &ConsentTicket {
        &self.ticket
    }

    /// Returns the device that asks.
    #[must_use]
    pub const fn device(&self) -> &AskingDevice {
        &self.device
    }
}

impl fmt::Debug for DeviceConsent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceConsent")
            .field("pending", &self.pending)
            .field("device", &self.device)
            .finish_non_exhaustive()
    }
}

/// A device that asks for access: what its user can compare.
#[derive(Clone)]
pub struct AskingDevice {
    pub(crate) user_code: String,
    pub(crate) in_link: bool,
    pub(crate) network: Option<IpAddr>,
    pub(crate) user_agent: Option<Box<str>>,
    pub(crate) asked: Timestamp,
    pub(crate) age: u32,
}

impl AskingDevice {
    /// Returns the code as the device shows it, such as `WDJB-MJHT`.
    #[must_use]
    pub fn user_code(&self) -> &str {
        &self.user_code
    }

    /// Returns whether the code came in a link. The page must then ask whether the device shows it: without
    /// [`Consent::device_shows_code`](crate::Consent::device_shows_code), an approval is refused.
    #[must_use]
    pub const fn is_in_link(&self) -> bool {
        self.in_link
    }

    /// Returns the network that the device asked from, if the adapter passed its address: an IPv4 address, or the first
    /// 64 bits of an IPv6 address.
    #[must_use]
    pub const fn network(&self) -> Option<IpAddr> {
        self.network
    }

    /// Returns the product that the `User-Agent` header of the device names first, such as `tv/2.1`, of at most 40
    /// bytes. It is the device's own claim.
    #[must_use]
    pub fn user_agent(&self) -> Option<&str> {
        self.user_agent.as_deref()
    }

    /// Returns when the device asked.
    #[must_use]
    pub const fn asked(&self) -> Timestamp {
        self.asked
    }

    /// Returns the seconds since the device asked.
    #[must_use]
    pub const fn age(&self) -> u32 {
        self.age
    }
}

impl fmt::Debug for AskingDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AskingDevice")
            .field("network", &self.network)
            .field("asked", &self.asked)
            .finish_non_exhaustive()
    }
}

/// Finds the request of a typed code, claims it for the user, and holds it.
pub(crate) async fn enter(
    context: &Arc<Context>,
    typed: &TypedUserCode<'_>,
    asked: Asked<'_>,
) -> Result<DeviceConsent, AuthorizationError> {
    let page = |reason| AuthorizationError::page(context, reason);
    check_user(context, asked).map_err(page)?;
    let (code, request) = find(context, typed, asked.user.subject).await.map_err(page)?;
    let page = |reason| AuthorizationError::page_for(context, &request.client, reason);
    let client = match document_client::named(context, Some(request.client.as_str().as_bytes())) {
        Some(id) => of_document(context, typed, id, asked.user.subject).await?,
        None => {
            let client = context.current_client(&request.client).await.map_err(|error| page(error.into()))?;
            client.ok_or_else(|| page(Reason::UnknownClient))?
        }
    };
    let pending = pending(context, typed, &request, &client).map_err(page)?;
    let room = consent_requests::find_room(context, asked.user.subject, &client.id)
        .await
        .map_err(|error| page(error.into()))?;
    let held = store_request(context, &pending, asked, Some(client), room, None).await?;
    context.raise(&Event::UserCodeTyped { client: &request.client, subject: asked.user.subject });
    let device = AskingDevice {
        user_code: code.shown(),
        in_link: typed.in_link,
        network: request.network,
        user_agent: request.user_agent.clone(),
        asked: request.created,
        age: context.now().seconds_since(request.created),
    };
    Ok(DeviceConsent { pending, ticket: held.ticket, device })
}

/// Enters a code again whose consent page is shown to the user. The ticket of that page belongs to the same device, so
/// that no form of another site begins this; the page keeps whether the code came in a link.
pub(crate) async fn enter_again(
    context: &Arc<Context>,
    ticket: &str,
    typed: &TypedUserCode<'_>,
    asked: Asked<'_>,
) -> Result<DeviceConsent, AuthorizationError> {
    let page = |reason| AuthorizationError::page(context, reason);
    let held = find_held(context, ticket, asked).await.map_err(page)?;
    let device = held.device().ok_or_else(|| page(Reason::UnknownConsentTicket))?;
    let request = context.stores.device_requests.find(&device.id).await.map_err(|error| page(error.into()))?;
    let code = UserCode::read(context.config.devices.user_code, typed.code);
    let is_its_code = request.zip(code).is_some_and(|(request, code)| {
        let keys = &context.config.refresh.derivation_keys;
        request.is_of(device) && keys.iter().any(|key| request.user_code == code.key(key))
    });
    if !is_its_code {
        return Err(page(Reason::UnknownConsentTicket));
    }
    enter(context, &TypedUserCode { in_link: device.in_link, ..*typed }, asked).await
}

/// Returns the open request of a code. A wrong code counts, and so does one that another user typed first. A text that
/// cannot be a code does not.
async fn find(
    context: &Context,
    typed: &TypedUserCode<'_>,
    subject: &Subject,
) -> Result<(UserCode, Arc<DeviceRequest>), Reason> {
    let devices = &context.config.devices;
    let code = UserCode::read(devices.user_code, typed.code).filter(|_| devices.on).ok_or(Reason::UnknownUserCode)?;
    let attempt = Attempt {
        subject: Some(subject),
        peer: typed.peer,
        ..Attempt::new(AttemptKind::UserCode, Endpoint::Authorization)
    };
    // Each attempt counts before the look-up, so that guesses at one moment count too. A right code is not counted.
    context.check_throttle(&attempt).await?;
    match look_up(context, &code).await?.filter(|request| request.is_for(subject)) {
        Some(request) => {
            context.note_success(&attempt).await;
            Reason::clock_differs(request.created, context.now()).map_or(Ok((code, request)), Err)
        }
        None => {
            context.note_failure(&attempt).await;
            context.raise(&Event::UserCodeMissed { subject, peer: typed.peer });
            Err(Reason::UnknownUserCode)
        }
    }
}

/// Returns a client as its metadata document describes it now.
async fn of_document(
    context: &Arc<Context>,
    typed: &TypedUserCode<'_>,
    id: &str,
    subject: &Subject,
) -> Result<Arc<Client>, AuthorizationError> {
    let visitor = Visitor { subject: Some(subject), peer: typed.peer };
    let Found { client, document } = document_client::find(context, visitor, id).await?;
    if let Some(admission) = &document {
        let stored = document_client::store(context, &client, admission).await;
        stored.map_err(|reason| AuthorizationError::page_for(context, &client.id, reason))?;
    }
    Ok(client)
}

/// Looks under every key, since another server may have another first one.
async fn look_up(context: &Context, code: &UserCode) -> Result<Option<Arc<DeviceRequest>>, Reason> {
    let now = context.now();
    for key in context.config.refresh.derivation_keys.iter().map(|key| code.key(key)) {
        let Some(record) = context.stores.user_codes.find(&key).await? else { continue };
        let Some(request) = context.stores.device_requests.find(&record.request).await? else { continue };
        // The code of a request that a server with a clock ahead holds is right, too.
        if request.user_code == key && request.keeps_place(now) && now.plus(DeviceSettings::LAST_DECISION) < request.end
        {
            return Ok(Some(request));
        }
    }
    Ok(None)
}

/// Returns what the user is asked: what the device asked for, as far as its client may still have it.
fn pending(
    context: &Context,
    typed: &TypedUserCode<'_>,
    request: &DeviceRequest,
    client: &Arc<Client>,
) -> Result<PendingAuthorization, Reason> {
    check_client(context, client)?;
    if !client.form.grant_types.contains(GrantType::DeviceCode) {
        return Err(Reason::ClientNotApproved);
    }
    if client.has_revoked(request.epoch)? {
        return Err(Reason::UnknownUserCode);
    }
    let asked = Terms {
        scopes: context.config.scopes.known_part(&request.scopes),
        resources: client.form.resource_scope.clone(),
        audience: request.audience.clone(),
        extra: None,
    };
    let target = context.resources.granted(&request.audience, client, Named::NONE)?;
    Ok(PendingAuthorization {
        client: client.clone(),
        destination: Destination::Device(request.reference(typed.in_link)),
        challenge: None,
        terms: asked.left_for(client).ok_or(Reason::ExcessScope)?,
        has_dropped_scopes: false,
        protected_resources: target.entries().iter().map(|entry| entry.settings.clone()).collect(),
        catalog: context.config.scopes.clone(),
        peer: typed.peer,
        document: None,
        key: None,
        pushed: None,
        ask_consent: AskConsent::Always,
        needs_page: true,
        is_navigation: true,
        identity: None,
    })
}

/// Gives a code back, so that another user may type it: ends the user's request, then frees the device's.
pub(crate) async fn release(context: &Context, ticket: &str, asked: Asked<'_>) -> Result<(), AuthorizationError> {
    let page = |reason| AuthorizationError::page(context, reason);
    let held = find_held(context, ticket, asked).await.map_err(page)?;
    let Some(device) = held.device().copied() else { return Err(page(Reason::UnknownConsentTicket)) };
    revocation::end_held(context, held).await.map_err(|error| page(error.into()))?;
    release::device(context, &device, asked.user.subject).await.map_err(page)
}
