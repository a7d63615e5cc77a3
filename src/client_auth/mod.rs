//! Authenticates the client [RFC 6749 sections 2.3 and 3.2.1]: one credential is extracted, then
//! verified.
//!
//! Unknown client, wrong secret and disabled client give the same answer after the same work.

pub(crate) mod basic;
pub(crate) mod credentials;
pub(crate) mod none;
pub(crate) mod post;

use std::iter;
use std::sync::Arc;

use crate::client::{AuthenticationMethod, Client, ClientSecrets, ClientType};
use crate::client_auth::credentials::{CLIENT_ID, Credentials, Definition, Presented, Reading};
use crate::config::Config;
use crate::context::Context;
use crate::error::Reason;
use crate::hooks::{Attempt, AttemptKind};
use crate::id::ClientId;
use crate::secret::Digest;
use crate::wire::params::Params;
use crate::wire::request::HeaderLine;
use crate::wire::{Endpoint, Request};

/// The table of methods.
const fn definition(method: AuthenticationMethod) -> &'static Definition {
    match method {
        AuthenticationMethod::ClientSecretBasic => &basic::DEFINITION,
        AuthenticationMethod::ClientSecretPost => &post::DEFINITION,
        AuthenticationMethod::None => &none::DEFINITION,
    }
}

/// The parameters that authentication reads from a form.
pub(crate) fn parameters() -> impl Iterator<Item = &'static str> + Clone {
    let of_methods = AuthenticationMethod::ALL.iter().flat_map(|method| definition(*method).parameters);
    iter::once(CLIENT_ID).chain(of_methods.copied())
}

/// The methods that an endpoint accepts under these settings.
pub(crate) fn offered(config: &Config, endpoint: Endpoint) -> impl Iterator<Item = AuthenticationMethod> {
    AuthenticationMethod::ALL.iter().copied().filter(move |method| (definition(*method).is_offered)(config, endpoint))
}

/// Authenticates the client of a request whose form was read, or returns the public client that it
/// names.
pub(crate) async fn authenticate(
    context: &Context,
    request: &Request<'_>,
    endpoint: Endpoint,
    form: &Params<'_>,
) -> Result<Arc<Client>, Reason> {
    let presented = Presented { header: request.authorization(), form, config: &context.config };
    let method = method_of(&presented)?;
    let (credentials, unreadable) = match (definition(method).read)(&presented) {
        Ok(credentials) => (credentials, None),
        Err(reason) => (Credentials::default(), Some(reason)),
    };
    let named = presented.named();
    // The form may name the client that the credentials prove, and no other.
    if unreadable.is_none() && named.is_some_and(|id| !credentials.may_be_of(id)) {
        return Err(Reason::ClientIdMismatch);
    }
    let client = credentials.first_id().or(named);
    let begun = Attempt::new(AttemptKind::Authentication, endpoint);
    let attempt = Attempt { client, peer: request.peer_address(), ..begun };
    context.check_throttle(&attempt).await?;
    let outcome = match unreadable {
        None => verify(context, method, &credentials).await,
        Some(reason) => Err(reason),
    };
    let outcome = outcome.and_then(|client| admit(context, endpoint, client));
    match &outcome {
        // A public client proves nothing.
        Ok(client) if client.client_type == ClientType::Public => {}
        Ok(_) => context.note_authentication(&attempt).await,
        // It is not known whether the secret is right.
        Err(Reason::Store(_)) => {}
        Err(reason) => context.note_failed_authentication(&attempt, reason).await,
    }
    outcome
}

/// § 2.3: the client uses not more than one method in a request.
fn method_of(presented: &Presented<'_>) -> Result<AuthenticationMethod, Reason> {
    if matches!(presented.header, HeaderLine::Several) {
        return Err(Reason::SeveralCredentials);
    }
    let mut used = AuthenticationMethod::ALL.iter().copied().filter(|method| (definition(*method).is_used)(presented));
    match (used.next(), used.next()) {
        (Some(_), Some(_)) => Err(Reason::SeveralCredentials),
        (method, _) => Ok(method.unwrap_or(AuthenticationMethod::None)),
    }
}

/// Tries every reading; the first that proves its client wins.
async fn verify(
    context: &Context,
    method: AuthenticationMethod,
    credentials: &Credentials<'_>,
) -> Result<Arc<Client>, Reason> {
    let mut failure = Reason::NoCredentials;
    for (position, reading) in credentials.readings.iter().flatten().enumerate() {
        match verify_reading(context, method, reading).await {
            Ok(client) => return Ok(client),
            Err(reason @ Reason::Store(_)) => return Err(reason),
            Err(reason) if position == 0 => failure = reason,
            Err(_) => {}
        }
    }
    Err(failure)
}

async fn verify_reading(
    context: &Context,
    method: AuthenticationMethod,
    reading: &Reading<'_>,
) -> Result<Arc<Client>, Reason> {
    let presented = reading.secret.unwrap_or_else(|| Digest::of(b""));
    let client = match ClientId::new(&*reading.id) {
        Ok(id) => match context.stores.clients.find(&id).await? {
            Some(client) if context.is_gone(&client) => Box::pin(context.find_again(&id)).await?,
            found => found,
        },
        Err(_) => None,
    };
    let secrets = client.as_ref().map_or_else(ClientSecrets::default, |client| client.secrets);
    let proven = secrets.prove(&presented);
    let client = client.ok_or(Reason::UnknownClient)?;
    match (client.client_type, reading.secret) {
        (ClientType::Public, None) if context.config.serves(ClientType::Public) => {}
        (ClientType::Public, None) => return Err(Reason::PublicClientsOff),
        (ClientType::Confidential, None) => return Err(Reason::MissingSecret),
        (ClientType::Confidential, Some(_)) if proven => {}
        (ClientType::Public | ClientType::Confidential, Some(_)) => return Err(Reason::WrongSecret),
    }
    // Basic without a secret is a name and no more.
    let method = if reading.secret.is_some() { method } else { AuthenticationMethod::None };
    if !client.authentication_methods.contains(method) {
        return Err(Reason::UnregisteredAuthentication);
    }
    if !client.is_approved() {
        return Err(Reason::ClientNotApproved);
    }
    Ok(client)
}

/// A client that only names itself is let in where `none` is offered. At introspection a native application only names
/// itself, since its secret is in every copy of it [RFC 8252 section 8.5].
fn admit(context: &Context, endpoint: Endpoint, client: Arc<Client>) -> Result<Arc<Client>, Reason> {
    let proves_nothing = match endpoint {
        Endpoint::Introspection => client.counts_as_public(),
        Endpoint::Authorization
        | Endpoint::Token
        | Endpoint::Revocation
        | Endpoint::Metadata
        | Endpoint::Registration
        | Endpoint::ClientConfiguration
        | Endpoint::ResourceMetadata => client.client_type == ClientType::Public,
    };
    let none_is_offered = (none::DEFINITION.is_offered)(&context.config, endpoint);
    if proves_nothing && !none_is_offered { Err(Reason::MissingSecret) } else { Ok(client) }
}
