//! Between the consent page and the redirect: the request is held, the decision taken.

use std::sync::Arc;

use crate::client::{Client, Granted};
use crate::clock::Timestamp;
use crate::context::Context;
use crate::endpoint::pending::{AuthorizationError, Destination, PendingAuthorization};
use crate::error::Reason;
use crate::grant::confirm;
use crate::hooks::{Attempt, Event};
use crate::id::{AuthorizationId, IdText};
use crate::scope::ResourceScope;
use crate::secret::opaque::{self, Presented};
use crate::secret::{AuthorizationHandle, Digest};
use crate::store::record::{Authorization, Stage};
use crate::store::{Insertion, Replacement};
use crate::subject::Subject;
use crate::wire::{Endpoint, Response};

/// What the user decided.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decision {
    /// The user agrees to all or to a part.
    Approve(Consent),
    /// The user refuses.
    Deny,
}

/// How much the user agrees to: all that was asked, unless told otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Consent {
    scopes: Option<Vec<String>>,
    resources: Option<Vec<String>>,
}

impl Consent {
    /// Agrees to what the boxes of the page's form sent, and to nothing else.
    ///
    /// `resources` counts only where the application asked for specified ones, so it can always be
    /// passed as it came; there, no resource means a refusal, as no scope does anywhere.
    #[must_use]
    pub fn ticked(
        scopes: impl IntoIterator<Item: Into<String>>,
        resources: impl IntoIterator<Item: Into<String>>,
    ) -> Self {
        Self::to_everything().scopes(scopes).resources(resources)
    }

    /// Agrees to all that was asked.
    #[must_use]
    pub fn to_everything() -> Self {
        Self::default()
    }

    /// Agrees to these scopes alone, as their tokens in the form; none means a refusal.
    #[must_use]
    pub fn scopes(mut self, tokens: impl IntoIterator<Item: Into<String>>) -> Self {
        self.scopes = Some(tokens.into_iter().map(Into::into).collect());
        self
    }

    /// Agrees to these resources alone, of those the application specified; none means a refusal.
    ///
    /// Where the application did not ask for specified resources, an empty list changes nothing.
    #[must_use]
    pub fn resources(mut self, resources: impl IntoIterator<Item: Into<String>>) -> Self {
        self.resources = Some(resources.into_iter().map(Into::into).collect());
        self
    }
}

/// Stores the request for this user and session and gives the handle for the form.
pub(crate) async fn hold(
    context: &Context,
    pending: &PendingAuthorization,
    subject: &Subject,
    session: &[u8],
) -> Result<AuthorizationHandle, AuthorizationError> {
    let client = &pending.client;
    let destination = Destination { redirect_uri: &pending.redirect_uri, state: pending.state.as_deref() };
    let to_client = |reason| AuthorizationError::redirect(context, client, destination, reason);
    if session.is_empty() {
        return Err(AuthorizationError::page_for(context, client, Reason::MissingSession));
    }
    let attempt = Attempt {
        endpoint: Endpoint::Authorization,
        client: Some(client.id.as_str()),
        subject: Some(subject),
        peer: pending.peer,
    };
    context.check_throttle(&attempt).await.map_err(|reason| AuthorizationError::page_for(context, client, reason))?;
    let now = context.now();
    let id = AuthorizationId::new(now, &*context.entropy);
    let minted = opaque::mint(&*context.entropy);
    let record = Authorization {
        id,
        version: 1,
        client: client.id.clone(),
        epoch: client.epoch,
        subject: subject.clone(),
        session: Digest::of(session),
        created: now,
        handle: minted.digest,
        stage: Stage::Held,
        end: now.plus(context.config.hold_lifetime),
        redirect_uri: pending.redirect_uri.clone(),
        redirect_uri_named: pending.redirect_uri_named,
        challenge: pending.challenge,
        state: pending.state.clone(),
        scopes: pending.scopes.clone(),
        resource_scope: client.resource_scope.clone(),
    };
    insert(context, record, &minted.digest).await.map_err(to_client)?;
    Ok(AuthorizationHandle::new(minted.text(&context.config.prefixes.handle, &IdText::of(id.octets()))))
}

/// One insert; after `Exists` or an error the row tells whether it is this one.
async fn insert(context: &Context, record: Authorization, own: &Digest) -> Result<(), Reason> {
    let id = record.id;
    let failure = match context.stores.codes.insert(Arc::new(record)).await {
        Ok(Insertion::Inserted) => return Ok(()),
        Ok(Insertion::Exists) => Reason::Contended,
        Err(error) => error.into(),
    };
    let held = confirm::authorization(context, id, |found| found.handle == *own).await?;
    if held { Ok(()) } else { Err(failure) }
}

/// Takes the decision of the user who was asked, once.
pub(crate) async fn decide(
    context: &Context,
    handle: &str,
    subject: &Subject,
    session: &[u8],
    decision: &Decision,
) -> Result<Response, AuthorizationError> {
    let now = context.now();
    let held = find_held(context, handle, Asked { subject, session }, now)
        .await
        .map_err(|reason| AuthorizationError::page(context, reason))?;
    let client = current_client(context, &held).await.map_err(|reason| AuthorizationError::page(context, reason))?;
    match decision {
        Decision::Deny => deny(context, &held, &client).await,
        Decision::Approve(consent) => approve(context, &held, &client, consent, now).await,
    }
}

/// Who answers.
struct Asked<'a> {
    subject: &'a Subject,
    session: &'a [u8],
}

/// The handle, its user and its session have to agree: this is also the form's protection against
/// requests forged by other sites [RFC 6749 section 10.12].
async fn find_held(
    context: &Context,
    handle: &str,
    asked: Asked<'_>,
    now: Timestamp,
) -> Result<Arc<Authorization>, Reason> {
    let presented =
        Presented::parse(&context.config.prefixes.handle, handle.as_bytes()).ok_or(Reason::UnknownHandle)?;
    let id = AuthorizationId::from_octets(presented.id);
    let found = context.stores.codes.find(&id).await?.ok_or(Reason::UnknownHandle)?;
    let proven = found.handle == presented.digest && found.session == Digest::of(asked.session);
    if !proven || found.subject != *asked.subject {
        return Err(Reason::UnknownHandle);
    }
    match found.stage {
        Stage::CodeIssued(_) | Stage::Denied => Err(Reason::AlreadyDecided),
        Stage::Held if now >= found.end => Err(Reason::HoldExpired),
        Stage::Held => Ok(found),
    }
}

/// § 4.1.2.1: the client learns that the user refused.
async fn deny(context: &Context, held: &Authorization, client: &Client) -> Result<Response, AuthorizationError> {
    claim(context, held, held.denied()).await.map_err(|reason| undecided(context, held, client, reason))?;
    context.raise(&Event::Denied { client: &held.client, subject: &held.subject });
    Ok(destination(held).error(context, &Reason::AccessDenied))
}

/// What keeps a decision from being taken goes to the client, unless another decision was taken.
fn undecided(context: &Context, held: &Authorization, client: &Client, reason: Reason) -> AuthorizationError {
    if matches!(reason, Reason::AlreadyDecided) {
        return AuthorizationError::page_for(context, client, reason);
    }
    AuthorizationError::redirect(context, client, destination(held), reason)
}

/// One swap; after `Lost` or an error the row tells whether this decision was taken.
async fn claim(context: &Context, held: &Authorization, next: Authorization) -> Result<(), Reason> {
    let stage = next.stage.clone();
    let failure = match context.stores.codes.replace(held.version, Arc::new(next)).await {
        Ok(Replacement::Replaced) => return Ok(()),
        Ok(Replacement::Lost) => Reason::AlreadyDecided,
        Err(error) => error.into(),
    };
    let taken = confirm::authorization(context, held.id, |found| found.stage == stage).await?;
    if taken { Ok(()) } else { Err(failure) }
}

/// Checks everything again as it is now, then makes the code by one swap.
async fn approve(
    context: &Context,
    held: &Authorization,
    client: &Client,
    consent: &Consent,
    now: Timestamp,
) -> Result<Response, AuthorizationError> {
    let fail = |reason| undecided(context, held, client, reason);
    if context.config.needs_pkce(client) && held.challenge.is_none() {
        return Err(fail(Reason::MissingChallenge));
    }
    let granted = match judge_consent(context, held, client, consent) {
        Ok(granted) => granted,
        Err(Reason::AccessDenied) => return deny(context, held, client).await,
        Err(reason) => return Err(AuthorizationError::page_for(context, client, reason)),
    };
    if let Err(reason) = context.check_subject(&held.subject, client).await {
        if matches!(reason, Reason::SubjectRefused) {
            // Not the user's refusal: no event says so.
            claim(context, held, held.denied()).await.map_err(fail)?;
        }
        return Err(fail(reason));
    }

    let minted = opaque::mint(&*context.entropy);
    let end = now.plus(context.config.code_lifetime);
    let next = Authorization {
        epoch: client.epoch,
        scopes: granted.scopes,
        resource_scope: granted.resource_scope,
        ..held.with_code(minted.digest, end)
    };
    let scopes = next.scopes.clone();
    claim(context, held, next).await.map_err(fail)?;
    let grant = held.id.into();
    context.raise(&Event::CodeIssued { grant, client: &held.client, subject: &held.subject, scopes: &scopes });
    let code = minted.text(&context.config.prefixes.code, &IdText::of(held.id.octets()));
    Ok(destination(held).code(context, &code))
}

/// The client as it is now, and its redirect URI once more.
async fn current_client(context: &Context, held: &Authorization) -> Result<Arc<Client>, Reason> {
    let client = context.stores.clients.current(&held.client).await?.ok_or(Reason::UnknownClient)?;
    if !client.is_approved() || !client.grant_types.authorization_code {
        return Err(Reason::ClientNotApproved);
    }
    let policy = &context.config.redirect_uris;
    let uri = held.redirect_uri.as_str().as_bytes();
    let registered = client.redirect_uris.iter().any(|registered| registered.matches(uri, policy).is_ok());
    if registered { Ok(client) } else { Err(Reason::MissingRedirectUri) }
}

/// What the user saw is what is granted, at most; the client may have been narrowed since.
fn judge_consent(
    context: &Context,
    held: &Authorization,
    client: &Client,
    consent: &Consent,
) -> Result<Granted, Reason> {
    let chosen = match &consent.scopes {
        None => context.config.scopes.known_part(&held.scopes),
        Some(tokens) => {
            let tokens = tokens.iter().map(String::as_str);
            context.config.scopes.select(tokens).map_err(|_| Reason::ExcessDecision)?
        }
    };
    let resource_scope = match &consent.resources {
        None => held.resource_scope.clone(),
        Some(resources) if resources.is_empty() => match held.resource_scope {
            ResourceScope::Specified(_) => return Err(Reason::AccessDenied),
            ResourceScope::All | ResourceScope::Public => held.resource_scope.clone(),
        },
        Some(resources) => ResourceScope::specified(resources).map_err(|_| Reason::ExcessDecision)?,
    };
    if !chosen.is_subset_of(&held.scopes) || !held.resource_scope.covers(&resource_scope) {
        return Err(Reason::ExcessDecision);
    }
    client.still_granted(&chosen, &resource_scope).ok_or(Reason::AccessDenied)
}

fn destination(held: &Authorization) -> Destination<'_> {
    Destination { redirect_uri: &held.redirect_uri, state: held.state.as_deref() }
}
