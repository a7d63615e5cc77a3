//! The endpoint for pushed authorization requests [RFC 9126 section 2].
//!
//! The requests of a client are stored in slots, whose ids derive from the client id. So they are counted by primary
//! key, without a list: each request takes a free slot, and a client has as many slots as it may have open requests. A
//! push reads only some of the slots. If none of these is free, the push is refused. Anyone can push for a public
//! client, so the requests of a public client replace each other instead.

use std::sync::Arc;

use crate::authorization::pushed_request::REQUEST_URI_PREFIX;
use crate::authorization::request::{self, Fault, NoDestination, names};
use crate::bounds;
use crate::claim::{ATTEMPTS, After, Flow, Seen, Step, claim, draw_version};
use crate::client_auth::proof;
use crate::client_auth::sender::Caller;
use crate::clock::Timestamp;
use crate::context::Context;
use crate::endpoint::client_request;
use crate::endpoint::client_request::Names;
use crate::error::Reason;
use crate::model::PushedRequest;
use crate::model::id::{ClientId, IdText, PushedRequestId};
use crate::secret::Digest;
use crate::secret::entropy::Entropy;
use crate::secret::opaque::{self, MintedOpaque};
use crate::wire::message::PushedAuthorizationResponse;
use crate::wire::params::Params;
use crate::wire::{Endpoint, Request, Response};

/// The parameters that are refused in a pushed request.
const REFUSED: [&str; 2] = ["request_uri", "request"];
/// Slots that are tried at random. While half of all slots are free, 255 of 256 requests find one.
const DRAWS: usize = 8;
/// Slots that are then tried in turn. While one slot in ten is free, 29 of 30 requests find one. With more steps, each
/// push for a client at its limit would cost the store more.
const STEPS: usize = 24;
/// Separates these slots from those of other records.
const LABEL: &[u8] = b"pushed request";

pub(crate) async fn serve(context: &Context, request: &Request<'_>) -> Response {
    const ENDPOINT: Endpoint = Endpoint::PushedAuthorization;
    let names = Names::new(names(&context.config).iter().copied().chain(REFUSED));
    let (form, caller) = match client_request::read(context, request, ENDPOINT, &names).await {
        Ok(read) => read,
        Err(response) => return response,
    };
    let judged = match judge(context, &caller, &form) {
        Ok(()) => push(context, &caller, &form).await,
        Err(reason) => Err(reason),
    };
    match judged {
        Ok(request_uri) => {
            let response = created(context, request_uri);
            if caller.key.is_some() { proof::with_nonce(context, response) } else { response }
        }
        Err(reason) => {
            let client = Some(&caller.client.id);
            client_request::refused(context, request, ENDPOINT, client, Some(&form), &reason)
        }
    }
}

/// § 2.1: refuses what may not be pushed, and then everything that the authorization endpoint would refuse.
fn judge(context: &Context, caller: &Caller, form: &Params<'_>) -> Result<(), Reason> {
    let client = &caller.client;
    // > The request_uri authorization request parameter is one exception, and it MUST NOT be provided.
    if form.bytes("request_uri").is_some() {
        return Err(Reason::PushedRequestUri);
    }
    if form.bytes("request").is_some() {
        return Err(Reason::RequestObject);
    }
    // Client authentication has compared it with the credentials.
    if form.bytes("client_id").is_none() {
        return Err(Reason::MissingParameter("client_id"));
    }
    if context.config.needs_pushed_redirect_uri() && form.bytes("redirect_uri").is_none() {
        return Err(Reason::MissingRedirectUri);
    }
    request::redirect_uri(context, client, form).map_err(|refused| match refused {
        NoDestination::Missing => Reason::MissingRedirectUri,
        NoDestination::Refused(_, error) => Reason::RedirectUri(error),
    })?;
    let asked = request::judge(context, client, form).map_err(Fault::into_reason)?;
    // > If both mechanisms are used at the same time, the authorization server MUST reject the request if the JWK
    // > Thumbprint in dpop_jkt does not match the public key in the DPoP header.
    //
    // RFC 9449 section 10.1
    match (asked.key, caller.key) {
        (Some(named), Some(proven)) if named != proven => Err(Reason::DpopKey),
        (Some(_) | None, _) => Ok(()),
    }
}

/// Stores the request in a free slot, and returns its `request_uri`.
async fn push(context: &Context, caller: &Caller, form: &Params<'_>) -> Result<String, Reason> {
    let (client, now) = (&*caller.client, context.now());
    let end = now.plus(context.config.pushed_requests.lifetime);
    let minted = opaque::mint(&*context.entropy);
    let slots = draw(&*context.entropy, context.config.limits.pushed_requests);
    let record = PushedRequest {
        id: slot_id(&client.id, 0),
        version: draw_version(&*context.entropy),
        client: client.id.clone(),
        epoch: client.epoch,
        secret: minted.digest,
        created: now,
        end,
        open_until: end,
        // No credential is among these names.
        parameters: form.to_query(names(&context.config)).into(),
        key: caller.key,
        visits: Vec::new(),
        used_by: None,
    };
    let mut met = Met { first_end: Timestamp::from_seconds(u32::MAX), replaceable: None };
    let is_public = client.counts_as_public();
    for slot in slots {
        let record = PushedRequest { id: slot_id(&client.id, slot), ..record.clone() };
        match fill(context, record, is_public, None).await? {
            Filled::Pushed(request) => return Ok(uri_of(&minted, request)),
            Filled::Open(open) => met.note(open),
        }
    }
    if let Some(replaceable) = met.replaceable {
        let record = PushedRequest { id: replaceable.id, ..record };
        match fill(context, record, is_public, Some(replaceable.secret)).await? {
            Filled::Pushed(request) => return Ok(uri_of(&minted, request)),
            Filled::Open(open) => met.note(open),
        }
    }
    Err(Reason::TooManyPushedRequests { retry_after: met.first_end.seconds_since(now).max(1) })
}

fn uri_of(minted: &MintedOpaque, id: PushedRequestId) -> String {
    minted.text(REQUEST_URI_PREFIX, &IdText::of(id.as_bytes()))
}

async fn fill(
    context: &Context,
    record: PushedRequest,
    is_public: bool,
    replaced: Option<Digest>,
) -> Result<Filled, Reason> {
    claim(context, &mut Filling { context, record, is_public, replaced }, Some(ATTEMPTS)).await
}

/// Puts one request into a slot.
struct Filling<'a> {
    context: &'a Context,
    record: PushedRequest,
    /// Whether anyone may push for the client.
    is_public: bool,
    /// The secret of the open request that it replaces, if any.
    replaced: Option<Digest>,
}

enum Filled {
    Pushed(PushedRequestId),
    /// Another request is in the slot.
    Open(Open),
}

/// A request that is in a slot.
struct Open {
    /// Until when it may be decided.
    until: Timestamp,
    /// What a push for a public client may replace.
    replaceable: Option<Replaceable>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Replaceable {
    /// The oldest goes first.
    created: Timestamp,
    id: PushedRequestId,
    secret: Digest,
}

impl Replaceable {
    /// A consent request awaits the decision of a signed-in user, so it is not replaced. A visit does not protect a
    /// request, because a visit costs an attacker no more than a push.
    fn of(found: &PushedRequest) -> Option<Self> {
        let replaceable = Self { created: found.created, id: found.id, secret: found.secret };
        (!found.is_held()).then_some(replaceable)
    }
}

/// The open requests that a push has found.
struct Met {
    first_end: Timestamp,
    replaceable: Option<Replaceable>,
}

impl Met {
    fn note(&mut self, open: Open) {
        self.first_end = self.first_end.min(open.until);
        self.replaceable = self.replaceable.into_iter().chain(open.replaceable).min_by_key(|found| found.created);
    }
}

impl Flow for Filling<'_> {
    type Row = PushedRequest;
    type Won = Filled;
    type Error = Reason;

    async fn read(&mut self) -> Result<Seen<PushedRequest>, Reason> {
        Ok(self.context.stores.pushed_requests.find(&self.record.id).await?.into())
    }

    fn judge(&mut self, seen: &Seen<PushedRequest>) -> Result<Step<PushedRequest, Filled>, Reason> {
        let (now, pushed) = (self.record.created, Filled::Pushed(self.record.id));
        Ok(match seen {
            Seen::Found(found) => {
                let replaceable = Replaceable::of(found).filter(|_| self.is_public);
                let is_replaced = replaceable.is_some_and(|found| self.replaced == Some(found.secret));
                if found.is_open(now) && !is_replaced {
                    return Ok(Step::Leave(Filled::Open(Open { until: found.last_use(), replaceable })));
                }
                Step::Replace(Arc::new(self.record.clone()), pushed)
            }
            Seen::Unread | Seen::Missing => Step::Insert(Arc::new(self.record.clone()), pushed),
        })
    }

    fn is_done(&self, found: &PushedRequest, meant: &PushedRequest, _: After) -> bool {
        found.secret == meant.secret
    }
}

/// The id of a slot. Successive requests in the slot share it.
fn slot_id(client: &ClientId, slot: usize) -> PushedRequestId {
    let slot = u16::try_from(slot).unwrap_or_default().to_be_bytes();
    PushedRequestId::from_bytes(bounds::id(LABEL, &slot, client))
}

/// Draws the slots in the order in which they are tried.
fn draw(entropy: &dyn Entropy, slots: usize) -> impl Iterator<Item = usize> + Send {
    let mut drawn = [[0; 4]; DRAWS];
    entropy.fill(drawn.as_flattened_mut());
    let drawn = drawn.map(|four| usize::try_from(u32::from_be_bytes(four)).unwrap_or_default() % slots);
    let start = drawn.into_iter().sum::<usize>();
    let in_turn = (0..slots.min(STEPS)).map(move |step| (start + step) % slots);
    drawn.into_iter().chain(in_turn)
}

/// § 2.2
fn created(context: &Context, request_uri: String) -> Response {
    // At most 599 s.
    let expires_in = u32::try_from(context.config.pushed_requests.lifetime.as_secs()).unwrap_or(u32::MAX);
    Response::json(201, &PushedAuthorizationResponse { request_uri, expires_in })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::secret::entropy::SystemEntropy;

    /// 9126-2.3-01
    #[test]
    fn few_slots_are_all_tried_and_of_many_no_more_than_32() {
        for slots in [1, 2, 7, STEPS] {
            let tried: Vec<_> = draw(&SystemEntropy, slots).collect();
            assert_eq!(tried.len(), DRAWS + slots);
            assert_eq!(tried.into_iter().collect::<BTreeSet<_>>(), (0..slots).collect());
        }
        let tried: Vec<_> = draw(&SystemEntropy, 1000).collect();
        assert_eq!(tried.len(), 32);
        assert!(tried.into_iter().all(|slot| slot < 1000));
    }

    #[test]
    fn the_slots_of_a_client_are_its_own() {
        let clients = ["own", "other"].map(|id| ClientId::new(id).unwrap());
        let ids = clients.iter().flat_map(|client| (0..1000).map(|slot| slot_id(client, slot)));
        assert_eq!(ids.collect::<BTreeSet<_>>().len(), 2000);
    }
}
