//! The endpoint for pushed authorization requests [RFC 9126 section 2].
//!
//! The requests of a client are stored in [places](crate::claim::bounds): each request takes a free place, and a client
//! has as many places as it may have open requests. A push reads only some of the places. If none of these is free, the push is
//! refused. Anyone can push for a public client, so the requests of a public client replace each other instead.

use std::sync::Arc;

use crate::authorization::pushed_request::REQUEST_URI_PREFIX;
use crate::authorization::request::{self, Fault, NoDestination, WANTS_PAGE, names, wants_page};
use crate::claim::bounds::{Met, draw_places, key_of_place};
use crate::claim::{ATTEMPTS, After, Claim, Effect, Seen, claim, draw_version};
use crate::client_auth::{Caller, proof};
use crate::context::Context;
use crate::context::uses::Uses;
use crate::endpoint::client_request;
use crate::endpoint::client_request::Names;
use crate::error::Reason;
use crate::model::PushedRequest;
use crate::model::client::Client;
use crate::model::id::{ClientId, IdText, PushedRequestId};
use crate::secret::Digest;
use crate::secret::opaque::{self, MintedOpaque};
use crate::wire::message::PushedAuthorizationResponse;
use crate::wire::params::Params;
use crate::wire::{Body, Endpoint, Request, Response};

/// The parameters that are refused in a pushed request.
const REFUSED: [&str; 2] = ["request_uri", "request"];
/// Separates these places from those of other records.
const LABEL: &[u8] = b"pushed request";

pub(crate) async fn serve(context: &Context, request: &Request<'_>) -> Response {
    const ENDPOINT: Endpoint = Endpoint::PushedAuthorization;
    let names = Names::new(names(&context.config).iter().copied().chain(REFUSED));
    let (form, caller) = match client_request::read(context, request, ENDPOINT, &names).await {
        Ok(read) => read,
        Err(response) => return response,
    };
    let judged = match judge(context, &caller, &form) {
        Ok(()) => push(context, &caller, parameters(context, request, &form)).await,
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

/// Returns the parameters that the authorization endpoint reads. No credential is among them.
fn parameters(context: &Context, request: &Request<'_>, form: &Params<'_>) -> Box<str> {
    let wants_page = matches!(request.body, Body::Bytes(body) if wants_page(body));
    let parameters = form.to_query(names(&context.config));
    (parameters + if wants_page { WANTS_PAGE } else { "" }).into()
}

/// Stores the request in a free place, and returns its `request_uri`.
async fn push(context: &Context, caller: &Caller, parameters: Box<str>) -> Result<String, Reason> {
    let (client, now) = (&*caller.client, context.now());
    let end = now.plus(context.config.pushed_requests.lifetime);
    let minted = opaque::mint(&*context.entropy);
    let places = draw_places(&*context.entropy, context.config.limits.pushed_requests);
    let record = PushedRequest {
        id: id_of_place(&client.id, 0),
        version: draw_version(&*context.entropy),
        client: client.id.clone(),
        epoch: client.epoch,
        secret: minted.digest,
        created: now,
        end,
        open_until: end,
        parameters,
        key: caller.key,
        visits: Vec::new(),
        used_by: None,
    };
    let mut met = Met::nobody();
    for place in places {
        let record = PushedRequest { id: id_of_place(&client.id, place), ..record.clone() };
        match fill(context, &caller.uses, record, None).await? {
            Filled::Pushed(request) => return Ok(uri_of(&minted, request)),
            Filled::Open(open) => note(&mut met, &open, client),
        }
    }
    if let Some(open) = met.take_first_to_go() {
        match fill(context, &caller.uses, PushedRequest { id: open.id, ..record }, Some(open.secret)).await? {
            Filled::Pushed(request) => return Ok(uri_of(&minted, request)),
            Filled::Open(open) => note(&mut met, &open, client),
        }
    }
    Err(Reason::TooManyPushedRequests { retry_after: met.retry_after(now) })
}

/// Notes an open request that was met. One for a public client gives way, unless it awaits the decision of a signed-in
/// user. A visit does not protect it: a visit costs an attacker no more than a push.
fn note(met: &mut Met<Arc<PushedRequest>>, open: &Arc<PushedRequest>, client: &Client) {
    met.note_end(open.last_use());
    if client.counts_as_public() && !open.is_held() {
        met.note_giving_way(open.created, Arc::clone(open));
    }
}

fn uri_of(minted: &MintedOpaque, id: PushedRequestId) -> String {
    minted.text(REQUEST_URI_PREFIX, &IdText::of(id.as_bytes()))
}

async fn fill(
    context: &Context,
    uses: &Uses,
    record: PushedRequest,
    replaced: Option<Digest>,
) -> Result<Filled, Reason> {
    claim(context, &mut Filling { context, uses, record, replaced }, Some(ATTEMPTS)).await
}

/// Puts one request into a place.
struct Filling<'a> {
    context: &'a Context,
    uses: &'a Uses,
    record: PushedRequest,
    /// The secret of the open request that it replaces, if any.
    replaced: Option<Digest>,
}

enum Filled {
    Pushed(PushedRequestId),
    /// Another request is in the place.
    Open(Arc<PushedRequest>),
}

impl Claim for Filling<'_> {
    type Row = PushedRequest;
    type Won = Filled;
    type Error = Reason;

    async fn read(&mut self) -> Result<Seen<PushedRequest>, Reason> {
        Ok(self.context.stores.pushed_requests.find(&self.record.id).await?.into())
    }

    fn judge(&mut self, seen: &Seen<PushedRequest>) -> Result<Effect<PushedRequest, Filled>, Reason> {
        let (now, pushed) = (self.record.created, Filled::Pushed(self.record.id));
        Ok(match seen {
            Seen::Found(found) => {
                let is_replaced = self.replaced == Some(found.secret) && !found.is_held();
                if found.is_open(now) && !is_replaced {
                    return Ok(Effect::Leave(Filled::Open(Arc::clone(found))));
                }
                Effect::Replace(Arc::new(self.record.clone()), pushed)
            }
            Seen::Unread | Seen::Missing => Effect::Insert(Arc::new(self.record.clone()), pushed),
        })
    }

    async fn prepare(&mut self, _: &PushedRequest, _: &mut Self::Won) -> Result<bool, Reason> {
        self.uses.record(self.context).await?;
        Ok(false)
    }

    fn is_done(&self, found: &PushedRequest, meant: &PushedRequest, _: After) -> bool {
        found.secret == meant.secret
    }
}

/// The id of a place. Successive requests in the place share it.
fn id_of_place(client: &ClientId, place: u32) -> PushedRequestId {
    PushedRequestId::from_bytes(key_of_place(LABEL, place, client))
}

/// § 2.2
fn created(context: &Context, request_uri: String) -> Response {
    // At most 599 s.
    let expires_in = u32::try_from(context.config.pushed_requests.lifetime.as_secs()).unwrap_or(u32::MAX);
    Response::json(201, &PushedAuthorizationResponse { request_uri, expires_in })
}
