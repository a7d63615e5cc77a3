//! Authenticates the client [RFC 6749 sections 2.3 and 3.2.1, RFC 7523 section 2.2]: one credential is extracted, then
//! verified. The use of an assertion is recorded in a later step, when everything else about the request is right.
//!
//! An unknown client, a wrong secret and a disabled client get the same answer. If a secret is sent, they also cost the
//! same work. The signature of an assertion is checked, and a key set fetched, only for a client that exists and is
//! registered for it.

mod assertion;
mod credentials;
pub(crate) mod dpop;
mod private_key_jwt;
pub(crate) mod proof;

use std::sync::Arc;

use crate::base::id::ClientId;
use crate::client_auth::credentials::{Credentials, Evidence, Presented, Reading, read_basic};
use crate::client_auth::private_key_jwt::{ASSERTION, ASSERTION_TYPE};
use crate::config::Config;
use crate::context::Context;
use crate::context::uses::Uses;
use crate::error::{ErrorCode, Reason};
use crate::hooks::observed::note_client;
use crate::hooks::{Attempt, AttemptKind, Credential};
use crate::jose::{JwkThumbprint, SigningAlgorithm};
use crate::model::Replay;
use crate::model::client::{AuthenticationMethod, Client, ClientSecrets, ClientType};
use crate::secret::Digest;
use crate::wire::params::Params;
use crate::wire::request::HeaderLine;
use crate::wire::{Endpoint, Request};

const CLIENT_ID: &str = "client_id";
const CLIENT_SECRET: &str = "client_secret";

/// The parameters that authentication reads from a form.
pub(crate) const PARAMETERS: [&str; 4] = [CLIENT_ID, CLIENT_SECRET, ASSERTION, ASSERTION_TYPE];

/// The methods that an endpoint accepts under these settings.
pub(crate) fn offered(config: &Config, endpoint: Endpoint) -> impl Iterator<Item = AuthenticationMethod> {
    AuthenticationMethod::ALL.iter().copied().filter(move |method| is_offered(*method, config, endpoint))
}

/// The names of the algorithms that assertions at an endpoint may be signed with; none if it accepts no assertions.
pub(crate) fn algorithms(config: &Config, endpoint: Endpoint) -> impl Iterator<Item = &'static str> {
    let is_offered = is_offered(AuthenticationMethod::PrivateKeyJwt, config, endpoint);
    let algorithms = config.assertion_algorithms().filter(move |_| is_offered);
    algorithms.flat_map(SigningAlgorithm::names).copied()
}

/// Returns whether an endpoint accepts a method under these settings.
fn is_offered(method: AuthenticationMethod, config: &Config, endpoint: Endpoint) -> bool {
    match method {
        AuthenticationMethod::ClientSecretBasic | AuthenticationMethod::ClientSecretPost => {
            config.client_authentication.methods.contains(method)
        }
        AuthenticationMethod::PrivateKeyJwt => config.client_authentication.accepts_assertions(),
        // RFC 7662 section 2.1: introspection must be authorized, and an id alone proves nothing.
        AuthenticationMethod::None => config.serves(ClientType::Public) && endpoint != Endpoint::Introspection,
    }
}

/// Returns whether a request uses a method. It uses `none` if it uses no other.
fn is_used(method: AuthenticationMethod, presented: &Presented<'_>) -> bool {
    let has = |name| presented.form.bytes(name).is_some();
    match method {
        // An `Authorization` header of any scheme is an attempt to authenticate.
        AuthenticationMethod::ClientSecretBasic => !matches!(presented.header, HeaderLine::Absent),
        AuthenticationMethod::ClientSecretPost => presented.form.text(CLIENT_SECRET).is_some(),
        AuthenticationMethod::PrivateKeyJwt => has(ASSERTION) || has(ASSERTION_TYPE),
        AuthenticationMethod::None => false,
    }
}

/// The sender of a request.
pub(crate) struct Caller {
    pub(crate) client: Arc<Client>,
    /// The key of the DPoP proof [RFC 9449 section 5].
    pub(crate) key: Option<JwkThumbprint>,
    /// What must be recorded before the request has an effect.
    pub(crate) uses: Uses,
}

/// Authenticates the client and verifies its DPoP proof. Nothing is recorded: see [`Uses`].
///
/// # Errors
///
/// The [`Reason`] why the client or its proof is refused.
pub(crate) async fn identify(
    context: &Context,
    request: &Request<'_>,
    endpoint: Endpoint,
    form: &Params<'_>,
) -> Result<Caller, Reason> {
    let header = proof::header(context, request, endpoint)?;
    let (client, mut uses) = authenticate(context, request, endpoint, form).await?;
    note_client(&client.id);
    let key = match header {
        None => {
            proof::check_absence(context, endpoint, &client)?;
            None
        }
        Some(header) => {
            let proof = proof::verify(context, request, endpoint, header)?;
            uses.proof = Some(proof.replay);
            Some(proof.key)
        }
    };
    Ok(Caller { client, key, uses })
}

/// Verifies the credentials of a request whose form was read, or finds the public client that it names. Records
/// nothing.
///
/// # Errors
///
/// The [`Reason`] why the client is refused.
async fn authenticate<'a>(
    context: &'a Context,
    request: &Request<'a>,
    endpoint: Endpoint,
    form: &'a Params<'a>,
) -> Result<(Arc<Client>, Uses), Reason> {
    let named = form.text(CLIENT_ID);
    let presented = Presented { header: request.authorization, form, named, config: &context.config };
    let method = method_of(&presented)?;
    let (credentials, unreadable) = match read(method, &presented, endpoint) {
        Ok(credentials) => (credentials, None),
        Err(reason) if reason.code() != ErrorCode::InvalidClient => return Err(reason),
        Err(reason) => (Credentials::default(), Some(reason)),
    };
    // If the form names a client, it must be the client of the credentials.
    if unreadable.is_none() && named.is_some_and(|id| !credentials.may_be_of(id)) {
        return Err(Reason::ClientIdMismatch);
    }
    let begun = Attempt::new(AttemptKind::Authentication, endpoint);
    let (client, credential) = (credentials.first_id().or(named), credentials.presented());
    let attempt = Attempt { client, credential, peer: request.peer, from_page: request.is_of_page(), ..begun };
    context.check_throttle(&attempt).await?;
    let outcome = match unreadable {
        None => verify(context, &attempt, method, &credentials).await,
        Some(reason) => Err(reason),
    };
    match outcome.and_then(|verified| admit(context, endpoint, verified)) {
        Ok(Verified { client, assertion }) => {
            // A public client does not authenticate, and an assertion counts once it is recorded.
            let authenticates = client.form.client_type != ClientType::Public;
            if authenticates && assertion.is_none() {
                context.note_success(&attempt).await;
            }
            Ok((client, Uses::new(&attempt, authenticates, assertion)))
        }
        // No guess was answered.
        Err(reason @ (Reason::Store(_) | Reason::KeysUnavailable(_) | Reason::Throttled { .. })) => Err(reason),
        Err(reason) => {
            if attempt.guesses_nothing() {
                // It was not counted, so that a page locks no public client out. But it did not come from one.
                context.check_throttle(&Attempt { credential: Credential::None, ..attempt }).await?;
            }
            context.note_failed_authentication(&attempt, &reason).await;
            if let [Some(_), Some(second)] = &credentials.readings {
                // Two readings are two guesses.
                let (client, credential) = (Some(&*second.id), second.presented());
                context.note_failure(&Attempt { client, credential, ..attempt }).await;
            }
            Err(reason)
        }
    }
}

/// Reads the credentials, if the endpoint accepts the method. Whether it accepts `none` is decided later.
fn read<'a>(
    method: AuthenticationMethod,
    presented: &Presented<'a>,
    endpoint: Endpoint,
) -> Result<Credentials<'a>, Reason> {
    if method != AuthenticationMethod::None && !is_offered(method, presented.config, endpoint) {
        return Err(Reason::UnsupportedAuthentication);
    }
    let secret = match method {
        AuthenticationMethod::ClientSecretBasic => return read_basic(presented),
        AuthenticationMethod::PrivateKeyJwt => return private_key_jwt::read(presented),
        AuthenticationMethod::ClientSecretPost => presented.form.text(CLIENT_SECRET).unwrap_or_default(),
        AuthenticationMethod::None => "",
    };
    let id = presented.named.ok_or(Reason::NoCredentials)?;
    Ok(Credentials::one(Reading::new(id, secret.as_bytes())))
}

/// § 2.3: the client uses at most one method in a request.
fn method_of(presented: &Presented<'_>) -> Result<AuthenticationMethod, Reason> {
    if matches!(presented.header, HeaderLine::Several) {
        return Err(Reason::SeveralCredentials);
    }
    let mut used = AuthenticationMethod::ALL.iter().copied().filter(|method| is_used(*method, presented));
    match (used.next(), used.next()) {
        (Some(_), Some(_)) => Err(Reason::SeveralCredentials),
        (method, _) => Ok(method.unwrap_or(AuthenticationMethod::None)),
    }
}

/// A client that was authenticated, and the use of its assertion if it sent one.
struct Verified {
    client: Arc<Client>,
    assertion: Option<Replay>,
}

/// Tries every reading of the credentials, and returns the first that authenticates its client.
async fn verify(
    context: &Context,
    attempt: &Attempt<'_>,
    method: AuthenticationMethod,
    credentials: &Credentials<'_>,
) -> Result<Verified, Reason> {
    let mut failure = Reason::NoCredentials;
    for (position, reading) in credentials.readings.iter().flatten().enumerate() {
        let (client, credential) = (Some(&*reading.id), reading.presented());
        // Another client is guessed at.
        let other = (client != attempt.client).then_some(Attempt { client, credential, ..*attempt });
        if let Some(other) = &other {
            context.check_throttle(other).await?;
        }
        match verify_reading(context, attempt, method, reading).await {
            Ok(verified) => {
                if let Some(other) = other.filter(|_| matches!(reading.evidence, Evidence::Secret(_))) {
                    context.note_success(&other).await;
                }
                return Ok(verified);
            }
            Err(reason @ (Reason::Store(_) | Reason::KeysUnavailable(_))) => return Err(reason),
            Err(reason) if position == 0 => failure = reason,
            Err(_) => {}
        }
    }
    Err(failure)
}

async fn verify_reading(
    context: &Context,
    attempt: &Attempt<'_>,
    method: AuthenticationMethod,
    reading: &Reading<'_>,
) -> Result<Verified, Reason> {
    let client = match ClientId::new(&*reading.id) {
        Ok(id) => context.client(&id).await?,
        Err(_) => None,
    };
    match &reading.evidence {
        Evidence::Name => Ok(Verified { client: named(context, client)?, assertion: None }),
        Evidence::Secret(secret) => Ok(Verified { client: proven(client, method, secret)?, assertion: None }),
        Evidence::Assertion(assertion) => {
            let client = registered(client.ok_or(Reason::UnknownClient)?, method)?;
            let verified = private_key_jwt::verify(context, attempt, &client, assertion);
            let assertion = verified.await?;
            Ok(Verified { client, assertion: Some(assertion) })
        }
    }
}

/// Returns a client that only sends its id, if it is public. If it can sign its requests, it must.
fn named(context: &Context, client: Option<Arc<Client>>) -> Result<Arc<Client>, Reason> {
    let client = client.ok_or(Reason::UnknownClient)?;
    match client.form.client_type {
        ClientType::Public if context.config.serves(ClientType::Public) => {}
        ClientType::Public => return Err(Reason::PublicClientsOff),
        ClientType::Confidential => return Err(Reason::MissingSecret),
    }
    let signs = client.form.authentication_methods.contains(AuthenticationMethod::PrivateKeyJwt);
    if signs && context.config.client_authentication.accepts_assertions() {
        return Err(Reason::ClientAssertion("it is missing".into()));
    }
    // Basic without a secret only contains the client id.
    registered(client, AuthenticationMethod::None)
}

fn proven(client: Option<Arc<Client>>, method: AuthenticationMethod, secret: &Digest) -> Result<Arc<Client>, Reason> {
    let secrets = client.as_ref().map_or_else(ClientSecrets::default, |client| client.secrets);
    let is_right = secrets.prove(secret);
    let client = client.ok_or(Reason::UnknownClient)?;
    if client.form.client_type == ClientType::Public || !is_right {
        return Err(Reason::WrongSecret);
    }
    registered(client, method)
}

/// Returns the client if it is registered for this method, and approved.
fn registered(client: Arc<Client>, method: AuthenticationMethod) -> Result<Arc<Client>, Reason> {
    if !client.form.authentication_methods.contains(method) {
        return Err(Reason::UnregisteredAuthentication);
    }
    if !client.is_approved() {
        return Err(Reason::ClientNotApproved);
    }
    Ok(client)
}

/// Refuses a client that only sends its id, unless `none` is offered. At introspection the secret of a native
/// application proves no more than its id, since it is in every copy [RFC 8252 section 8.5]. An assertion proves its
/// sender, unless the client may also come without a key.
fn admit(context: &Context, endpoint: Endpoint, verified: Verified) -> Result<Verified, Reason> {
    let client = &verified.client;
    let proves_nothing = if endpoint == Endpoint::Introspection {
        client.form.client_type == ClientType::Public || client.counts_as_public() && verified.assertion.is_none()
    } else {
        client.form.client_type == ClientType::Public
    };
    let none_is_offered = is_offered(AuthenticationMethod::None, &context.config, endpoint);
    if proves_nothing && !none_is_offered { Err(Reason::MissingSecret) } else { Ok(verified) }
}
