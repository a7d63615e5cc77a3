//! The client configuration endpoint [RFC 7592 section 2]: a client reads, replaces and deletes its own registration.
//!
//! Its answer repeats the registration access token [RFC 7592 section 3], which is taken from the request: the record
//! has only the digest. It cannot repeat the client secret, of which the record also has only the digest.

use std::sync::Arc;

use crate::base::id::ClientId;
use crate::context::Context;
use crate::endpoint::client_request;
use crate::endpoint::registration_request;
use crate::error::Reason;
use crate::hooks::registration_policy::RegistrationRequest;
use crate::hooks::{Attempt, AttemptKind, Credential, PresentedSecret};
use crate::model::application::Application;
use crate::model::client::ClientOrigin;
use crate::registration::{Decided, Registrar, RegistrarError};
use crate::resource::access_token;
use crate::secret::{Digest, RegistrationAccessToken};
use crate::wire::{Endpoint, Request, Response};

pub(crate) async fn serve(context: &Arc<Context>, request: &Request<'_>) -> Response {
    let Some(id) = client_id(request) else { return Response::new(404) };
    match answer(context, request, &id).await {
        Ok(response) => response,
        Err(reason) => {
            client_request::refused(context, request, Endpoint::ClientConfiguration, Some(&id), None, &reason)
        }
    }
}

/// The last segment of the path. It is not decoded, because ids of clients that register themselves consist of letters
/// and digits.
fn client_id(request: &Request<'_>) -> Option<ClientId> {
    let (_, id) = request.path?.rsplit_once('/')?;
    ClientId::new(id).ok()
}

async fn answer(context: &Arc<Context>, request: &Request<'_>, id: &ClientId) -> Result<Response, Reason> {
    if !Endpoint::ClientConfiguration.allows(request.method) {
        return Err(Reason::MethodNotAllowed);
    }
    let begun = Attempt::new(AttemptKind::Authentication, Endpoint::ClientConfiguration);
    let token = access_token::in_header(request)?.ok_or(Reason::NoAccessToken)?;
    let credential = Credential::Secret(PresentedSecret::of(token));
    let attempt = Attempt { client: Some(id.as_str()), credential, peer: request.peer, ..begun };
    context.check_throttle(&attempt).await?;
    let registrar = Registrar::required(context)?;
    let caller = Caller { context, registrar: &registrar, id, token };
    let own = registrar.own_registration(id, &caller.digest()).await.map_err(refusal);
    match &own {
        Ok(_) => context.note_success(&attempt).await,
        Err(reason @ Reason::WrongRegistrationAccessToken) => {
            context.note_failed_authentication(&attempt, reason).await;
        }
        // The token may be right, so this is not a failed authentication.
        Err(_) => {}
    }
    let own = own?;
    match request.method {
        "PUT" => caller.update(request).await,
        "DELETE" => caller.delete().await,
        _ => Ok(caller.describe(&own)),
    }
}

/// > If the client does not exist on this server, the server MUST respond with HTTP 401 Unauthorized and the
/// > registration access token used to make this request SHOULD be immediately revoked.
///
/// [RFC 7592 section 2.1]. The digest of the token is deleted with the registration.
fn refusal(error: RegistrarError) -> Reason {
    if matches!(error, RegistrarError::NotFound) {
        return Reason::WrongRegistrationAccessToken;
    }
    if matches!(error, RegistrarError::WrongState(_)) { Reason::ManagementNotAllowed } else { error.into() }
}

/// A request of a client that manages its registration.
struct Caller<'a> {
    context: &'a Arc<Context>,
    registrar: &'a Registrar,
    id: &'a ClientId,
    token: &'a [u8],
}

impl Caller<'_> {
    fn digest(&self) -> Digest {
        Digest::of(self.token)
    }

    /// § 3: the response repeats the token that the client presented.
    fn describe(&self, own: &Application) -> Response {
        let token = String::from_utf8_lossy(self.token);
        let token = Some(RegistrationAccessToken::new(token));
        let message = registration_request::information(&self.context.config, own, token);
        Response::json(200, &message)
    }

    /// § 2.2: the rules and the policy of a registration apply.
    async fn update(&self, request: &Request<'_>) -> Result<Response, Reason> {
        let context = self.context;
        let begun = Attempt::new(AttemptKind::Registration, Endpoint::ClientConfiguration);
        let from_page = request.is_of_page();
        context.check_throttle(&Attempt { peer: request.peer, from_page, ..begun }).await?;
        let body = registration_request::body(context, request)?;
        let replacement = registration_request::rules(context).judge_replacement(self.id, body);
        let replacement = replacement.map_err(Reason::ClientMetadata)?;
        let asked = RegistrationRequest {
            peer: request.peer,
            updated: Some(self.id),
            ..RegistrationRequest::new(ClientOrigin::DynamicRegistration, &replacement.metadata)
        };
        let (bounds, awaits_review) = registration_request::decide(context, &asked).await?;
        let decided = Decided { replacement, bounds, awaits_review };
        let own = self.registrar.update_own(self.id, &self.digest(), decided).await.map_err(refusal)?;
        Ok(self.describe(&own))
    }

    /// § 2.3: the grants and tokens of the client end too.
    async fn delete(&self) -> Result<Response, Reason> {
        self.registrar.delete_own_registration(self.id, &self.digest()).await.map_err(refusal)?;
        Ok(Response::new(204).with_header("Cache-Control", "no-store").with_header("Pragma", "no-cache"))
    }
}
