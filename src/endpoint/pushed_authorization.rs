//! The endpoint for pushed authorization requests [RFC 9126 section 2].
//!
//! The requests of a client lie in its [places](crate::claim::places).
//!
//! They replace each other. Anyone can make a client push, by a click on its page or with the id of a public client,
//! and visit the result: if either reserved a place, an attacker could keep the client's users out. Only a request
//! whose consent request waits for a signed-in user stays, and of these one user has at most ten. A flood still
//! shortens the time in which a user must sign in: with 1000 places and 10 pushes a second, to more than a minute.

use crate::authorization::pushed_request::REQUEST_URI_PREFIX;
use crate::authorization::request::{self, Fault, NoDestination, WANTS_PAGE, names, wants_page};
use crate::base::clock::Timestamp;
use crate::base::id::{ClientId, IdText, PushedRequestId};
use crate::claim::draw_version;
use crate::claim::places::{Occupant, Placed, place};
use crate::client_auth::{Caller, proof};
use crate::context::Context;
use crate::endpoint::client_request;
use crate::endpoint::client_request::Names;
use crate::error::Reason;
use crate::model::PushedRequest;
use crate::secret::Digest;
use crate::secret::MintedOpaque;
use crate::wire::message::PushedAuthorizationResponse;
use crate::wire::params::Params;
use crate::wire::{Body, Endpoint, Request, Response};

/// The parameters that are refused in a pushed request.
const REFUSED: [&str; 2] = ["request_uri", "request"];

pub(crate) async fn serve(context: &Context, request: &Request<'_>) -> Response {
    const ENDPOINT: Endpoint = Endpoint::PushedAuthorization;
    let names = names(&context.config);
    let names = Names::new(names.iter().copied().chain(REFUSED.into_iter().filter(|name| !names.contains(name))));
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
    let is_kept = context.config.has_identity();
    let wants_page = !is_kept && matches!(request.body, Body::Bytes(body) if wants_page(body));
    let parameters = form.to_query(names(&context.config));
    (parameters + if wants_page { WANTS_PAGE } else { "" }).into()
}

/// Stores the request in a place of its client, and returns its `request_uri`.
async fn push(context: &Context, caller: &Caller, parameters: Box<str>) -> Result<String, Reason> {
    let (client, now) = (&*caller.client, context.now());
    let end = now.plus(context.config.pushed_requests.lifetime);
    let minted = MintedOpaque::random(&*context.entropy);
    let request = PushedRequest {
        id: PushedRequestId::from_bytes([0; 16]),
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
    match place(context, &caller.uses, request, context.config.limits.pushed_requests, None).await? {
        Placed::In(request) => Ok(minted.text(REQUEST_URI_PREFIX, &IdText::of(request.id.as_bytes()))),
        Placed::Full { retry_after } => Err(Reason::TooManyPushedRequests { retry_after }),
    }
}

impl Occupant for PushedRequest {
    const LABEL: &'static [u8] = b"pushed request";

    fn client(&self) -> &ClientId {
        &self.client
    }

    fn in_place(&self, id: [u8; 16]) -> Self {
        Self { id: PushedRequestId::from_bytes(id), ..self.clone() }
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
        self.last_use()
    }

    /// Not if it awaits the decision of a signed-in user. A visit does not protect it: a visit costs an attacker no
    /// more than a push.
    fn may_give_way(&self) -> bool {
        !self.is_held()
    }
}

/// § 2.2
fn created(context: &Context, request_uri: String) -> Response {
    // At most 599 s.
    let expires_in = u32::try_from(context.config.pushed_requests.lifetime.as_secs()).unwrap_or(u32::MAX);
    Response::json(201, &PushedAuthorizationResponse { request_uri, expires_in })
}
