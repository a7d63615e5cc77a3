//! The endpoint where devices without a browser ask for access [RFC 8628 section 3.1].
//!
//! The requests of a client lie in its [places](crate::claim::places).

use std::sync::{Arc, LazyLock};

use crate::authorization::request;
use crate::base::clock::Timestamp;
use crate::base::id::{ClientId, DeviceRequestId, IdText};
use crate::claim::places::{Occupant, Placed, place};
use crate::claim::{ATTEMPTS, After, Claim, Effect, Seen, claim, draw_version};
use crate::client_auth::Caller;
use crate::config::DeviceSettings;
use crate::context::Context;
use crate::endpoint::client_request;
use crate::endpoint::client_request::Names;
use crate::error::Reason;
use crate::hooks::{Attempt, AttemptKind, Event, network_of};
use crate::model::client::{Client, GrantType};
use crate::model::protected_resource::{Audience, Named};
use crate::model::user_code::UserCode;
use crate::model::{DeviceDecision, DeviceRequest, USER_AGENT_BYTES, UserCodeRecord};
use crate::scope::ScopeSet;

use crate::secret::derive::DerivationKey;
use crate::secret::{Digest, MintedOpaque};
use crate::store::StoreError;
use crate::wire::message::DeviceAuthorizationResponse;
use crate::wire::params::{Params, RESOURCE};
use crate::wire::request::HeaderLine;
use crate::wire::{Endpoint, Request, Response};

static NAMES: LazyLock<Names> = LazyLock::new(|| Names::new(["scope", RESOURCE]));
/// How often a user code is drawn before the request fails. With 1000 stored codes of 8 letters, one draw in 25 million
/// meets one of them. Expired ones stay until the next purge.
const DRAWS: usize = 8;

pub(crate) async fn serve(context: &Context, request: &Request<'_>) -> Response {
    const ENDPOINT: Endpoint = Endpoint::DeviceAuthorization;
    let refused = |reason| client_request::refused(context, request, ENDPOINT, None, None, &reason);
    // Before the throttle: a page of the same site sends no `Origin` with an image.
    if !ENDPOINT.allows(request.method) {
        return refused(Reason::MethodNotAllowed);
    }
    // Anyone can ask, and each request takes a place of its client. A page would ask in the network of its visitor,
    // whose consent page would show that network, and whose own devices would then be throttled.
    let is_admitted = !request.is_of_page() || context.config.devices.cors.covers(request);
    let attempt = Attempt { peer: request.peer, ..Attempt::new(AttemptKind::DeviceRequest, ENDPOINT) };
    let admitted = if is_admitted { context.check_throttle(&attempt).await } else { Err(Reason::PageNotForDevices) };
    if let Err(reason) = admitted {
        return refused(reason);
    }
    let (form, caller) = match client_request::read(context, request, ENDPOINT, &NAMES).await {
        Ok(read) => read,
        Err(response) => return response,
    };
    let asked = match judge(context, &caller.client, &form) {
        Ok(asked) => ask(context, &caller, request, asked).await,
        Err(reason) => Err(reason),
    };
    match asked {
        Ok(answer) => {
            context.raise(&Event::DeviceRequested { client: &caller.client.id, peer: request.peer });
            Response::json(200, &answer)
        }
        Err(reason) => {
            let client = Some(&caller.client.id);
            client_request::refused(context, request, ENDPOINT, client, Some(&form), &reason)
        }
    }
}

/// What a device asks for, after all checks.
struct Asked {
    scopes: ScopeSet,
    audience: Audience,
}

/// Checks the scope now, and not after the user has typed the code.
fn judge(context: &Context, client: &Client, form: &Params<'_>) -> Result<Asked, Reason> {
    if !client.form.grant_types.contains(GrantType::DeviceCode) {
        return Err(Reason::GrantTypeNotRegistered);
    }
    let catalog = &context.config.scopes;
    let registered = catalog.for_devices(&client.form.scopes);
    let asked = form.bytes("scope").and_then(|scope| catalog.read(scope).ok());
    let is_barred = |asked: &ScopeSet| asked.is_subset_of(&client.form.scopes) && !asked.is_subset_of(&registered);
    if registered.is_empty() || asked.as_ref().is_some_and(is_barred) {
        return Err(Reason::ScopeNotForDevices);
    }
    let target = context.resources.requested(Named::of(form), client, &registered)?;
    let (scopes, _) = request::scopes(context, client, &registered, form, &target)?;
    Ok(Asked { scopes, audience: target.audience().clone() })
}

/// Stores the request, then its user code. If another request has the code, a new request with new codes takes the
/// place of the first one.
async fn ask(
    context: &Context,
    caller: &Caller,
    request: &Request<'_>,
    asked: Asked,
) -> Result<DeviceAuthorizationResponse, Reason> {
    let (devices, now) = (&context.config.devices, context.now());
    let end = now.plus(devices.lifetime);
    let [first, others @ ..] = context.config.refresh.derivation_keys.as_slice() else {
        return Err(Reason::MissingDerivationKey);
    };
    let mut earlier: Option<Arc<DeviceRequest>> = None;
    for _ in 0..DRAWS {
        let minted = MintedOpaque::random(&*context.entropy);
        let version = draw_version(&*context.entropy);
        let code = UserCode::random(devices.user_code, &*context.entropy);
        let record = DeviceRequest {
            id: DeviceRequestId::from_bytes([0; 16]),
            version,
            client: caller.client.id.clone(),
            epoch: caller.client.epoch,
            secret: minted.digest,
            user_code: code.key(first),
            created: now,
            end,
            open_until: end,
            scopes: asked.scopes.clone(),
            audience: asked.audience.clone(),
            network: request.peer.map(network_of),
            user_agent: user_agent(request),
            typed_by: None,
            decision: None,
        };
        let most = context.config.limits.device_requests;
        let placed = match place(context, &caller.uses, record, most, earlier.as_deref()).await? {
            Placed::In(placed) => placed,
            Placed::Full { retry_after } => return Err(Reason::TooManyDeviceRequests { retry_after }),
        };
        if is_only_one(context, &code, others, &placed).await? {
            return Ok(answer(context, &minted, &code, placed.id));
        }
        earlier = Some(placed);
    }
    Err(StoreError::transient(NoFreeCode).into())
}

/// Inserts the code, and returns whether no other request has it. While keys are replaced, another server may store the
/// same code under another key. So the other keys are read after the insert: of two requests at once, at least one
/// finds the other.
async fn is_only_one(
    context: &Context,
    code: &UserCode,
    others: &[DerivationKey],
    request: &DeviceRequest,
) -> Result<bool, StoreError> {
    let record = UserCodeRecord { key: request.user_code, request: request.id, end: request.end };
    let mut inserting = InsertingCode { context, record: Arc::new(record), has_read: false };
    if !claim(context, &mut inserting, Some(ATTEMPTS)).await? {
        return Ok(false);
    }
    for key in others {
        let found = context.stores.user_codes.find(&code.key(key)).await?;
        if found.is_some_and(|found| request.created < found.end) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Inserts a code, and wins `true` unless another request has it.
struct InsertingCode<'a> {
    context: &'a Context,
    record: Arc<UserCodeRecord>,
    has_read: bool,
}

impl Claim for InsertingCode<'_> {
    type Row = UserCodeRecord;
    type Won = bool;
    type Error = StoreError;

    async fn read(&mut self) -> Result<Seen<UserCodeRecord>, StoreError> {
        if !std::mem::replace(&mut self.has_read, true) {
            return Ok(Seen::Unread);
        }
        Ok(self.context.stores.user_codes.find(&self.record.key).await?.into())
    }

    fn judge(&mut self, seen: &Seen<UserCodeRecord>) -> Result<Effect<UserCodeRecord, bool>, StoreError> {
        Ok(match seen {
            Seen::Unread | Seen::Missing => Effect::Insert(self.record.clone(), true),
            Seen::Found(_) => Effect::Leave(false),
        })
    }

    fn is_done(&self, found: &UserCodeRecord, meant: &UserCodeRecord, _: After) -> bool {
        found == meant
    }
}

fn answer(
    context: &Context,
    minted: &MintedOpaque,
    code: &UserCode,
    id: DeviceRequestId,
) -> DeviceAuthorizationResponse {
    let (devices, user_code) = (&context.config.devices, code.shown());
    let complete = devices.complete_uri.then(|| format!("{}?user_code={user_code}", devices.verification_uri));
    DeviceAuthorizationResponse {
        device_code: minted.text(&context.prefixes.device_code, &IdText::of(id.as_bytes())),
        user_code,
        verification_uri: devices.verification_uri.clone(),
        verification_uri_complete: complete,
        // At most 1800 s.
        expires_in: u32::try_from(devices.lifetime.as_secs()).unwrap_or(u32::MAX),
        interval: DeviceSettings::INTERVAL,
    }
}

/// Returns the first product of the `User-Agent` header, with its version, such as `gh/2.62.0`. The whole header could
/// be a sentence that talks the user into agreeing.
///
/// > User-Agent = product *( RWS ( product / comment ) )
///
/// [RFC 9110 section 10.1.5]
fn user_agent(request: &Request<'_>) -> Option<Box<str>> {
    let HeaderLine::One(sent) = request.user_agent else { return None };
    let first = sent.trim_ascii().split(|byte| matches!(byte, b' ' | b'\t')).next()?;
    let product = str::from_utf8(first).ok().filter(|product| product.len() <= USER_AGENT_BYTES)?;
    let (name, version) = product.split_once('/')?;
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._+".contains(&byte))
    };
    (is_part(name) && is_part(version)).then(|| product.into())
}

impl Occupant for DeviceRequest {
    const LABEL: &'static [u8] = b"device request";

    fn client(&self) -> &ClientId {
        &self.client
    }

    fn in_place(&self, id: [u8; 16]) -> Self {
        Self { id: DeviceRequestId::from_bytes(id), ..self.clone() }
    }

    fn id(&self) -> &[u8; 16] {
        self.id.as_bytes()
    }

    fn secret(&self) -> &Digest {
        &self.secret
    }

    fn created(&self) -> Timestamp {
        self.created
    }

    fn keeps_place(&self, now: Timestamp) -> bool {
        Self::keeps_place(self, now)
    }

    fn leaves_at(&self) -> Timestamp {
        self.open_until
    }

    /// Not while a user decides who has typed its code, or after the approval. Anyone can send requests for a public
    /// client, so all others may be replaced.
    fn may_give_way(&self) -> bool {
        self.typed_by.is_none() || self.decision == Some(DeviceDecision::Denied)
    }
}

/// Every drawn code was that of another request.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("no free user code was found")]
struct NoFreeCode;
