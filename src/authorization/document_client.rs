//! The client of an authorization request whose id is the URL of a metadata document
//! [draft-ietf-oauth-client-id-metadata-document].
//!
//! The order: a client that an administrator stored under that id; the signed-in user; the row of the document's
//! client; the URL; the policy; the document; the policy again. If the URL, the policy, the fetch or the document is
//! refused, the user sees the same page.

use std::net::IpAddr;
use std::sync::Arc;

use crate::authorization::check_client;
use crate::authorization::pending::AuthorizationError;
use crate::base::id::{ClientId, Subject};
use crate::context::Context;
use crate::error::Reason;
use crate::hooks::registration_policy::{DocumentRequest, RegistrationPolicy, RegistrationRequest};
use crate::hooks::{Attempt, AttemptKind};
use crate::model::client::{Client, ClientOrigin, ClientState};
use crate::model::client_metadata::{ClientMetadata, DocumentError, DocumentUrl};
use crate::registration::{DocumentAdmission, DocumentClient, Registrar, RegistrarError};
use crate::wire::Endpoint;

/// The client of the request.
pub(crate) struct Found {
    pub(crate) client: Arc<Client>,
    /// What must be stored when the request is held; `None` if nothing has changed.
    pub(crate) document: Option<Arc<DocumentAdmission>>,
}

impl Found {
    pub(crate) const fn stored(client: Arc<Client>) -> Self {
        Self { client, document: None }
    }
}

/// Who asks for the client.
#[derive(Clone, Copy)]
pub(crate) struct Visitor<'a> {
    /// The user who is signed in.
    pub(crate) subject: Option<&'a Subject>,
    pub(crate) peer: Option<IpAddr>,
}

/// Returns the client id, if documents are on and the id begins like the URL of one.
pub(crate) fn named<'a>(context: &Context, id: Option<&'a [u8]>) -> Option<&'a str> {
    let id = id.filter(|_| context.documents.is_some()).and_then(|id| str::from_utf8(id).ok())?;
    id.starts_with(DocumentUrl::START).then_some(id)
}

/// Finds the client of a request that names a document.
pub(crate) async fn find(context: &Arc<Context>, visitor: Visitor<'_>, id: &str) -> Result<Found, AuthorizationError> {
    let url = DocumentUrl::parse(id).map_err(|error| Reason::from(DocumentError::from(error)));
    let Ok(id) = ClientId::new(id) else {
        let reason = url.err().unwrap_or(Reason::UnknownClient);
        return Err(AuthorizationError::page(context, reason));
    };
    found(context, visitor, &id, url).await.map_err(|reason| AuthorizationError::page_for(context, &id, reason))
}

async fn found(
    context: &Arc<Context>,
    visitor: Visitor<'_>,
    id: &ClientId,
    url: Result<DocumentUrl<'_>, Reason>,
) -> Result<Found, Reason> {
    let row = context.client(id).await?;
    if let Some(client) = row.as_ref().filter(|client| client.state != ClientState::Deleted && !client.is_of_document())
    {
        check_client(context, client)?;
        return Ok(Found::stored(Arc::clone(client)));
    }
    // > The authorization server SHOULD NOT fetch the metadata document before the user has been authenticated.
    let subject = visitor.subject.ok_or(Reason::SignInNeeded)?;
    let registrar = Registrar::required(context)?;
    let row = match row {
        Some(client) if client.state == ClientState::Deleted => {
            if registrar.is_reserved(id).await? {
                return Err(Reason::UnknownClient);
            }
            None
        }
        // Only these states do not depend on the document.
        Some(client) if matches!(client.state, ClientState::Rejected | ClientState::Suspended) => {
            return Err(Reason::ClientNotApproved);
        }
        row => row,
    };
    let is_approved = row.as_ref().is_some_and(|client| client.is_approved());
    let asked = Asked { url: url?, subject, peer: visitor.peer, is_approved };
    let metadata = metadata(context, &asked).await?;
    let admission = admitted(context, id, &asked, &metadata).await?;
    match registrar.document_client(&admission, row.as_ref()).await.map_err(refusal)? {
        DocumentClient::Stored(client) => Ok(Found::stored(client)),
        DocumentClient::Described(client) => Ok(Found { client, document: Some(Arc::new(admission)) }),
    }
}

/// A document, and the request that needs it.
struct Asked<'a> {
    url: DocumentUrl<'a>,
    subject: &'a Subject,
    peer: Option<IpAddr>,
    /// Whether the client is stored and approved.
    is_approved: bool,
}

/// Fetches a document that is not cached, if the policy admits its URL.
pub(crate) async fn check(context: &Context, url: &str) -> Result<(), Arc<DocumentError>> {
    let url = DocumentUrl::parse(url).map_err(DocumentError::from)?;
    let host = url.host().to_ascii_lowercase();
    let (Some(documents), Ok(policy)) = (&context.documents, policy(context)) else {
        return Err(DocumentError::Policy.into());
    };
    if !policy.admits_document(&DocumentRequest::new(url.as_str(), &host)).await {
        return Err(DocumentError::Policy.into());
    }
    let judged = match documents.without_fetch(url).await {
        Some(judged) => judged,
        None => documents.fetch(url).await,
    };
    judged.map(|_| ())
}

/// Asks the policy, then reads the cache. If the document is not cached, asks the throttle and fetches it.
async fn metadata(context: &Context, asked: &Asked<'_>) -> Result<Arc<ClientMetadata>, Reason> {
    let (documents, url) = (context.documents.as_ref().ok_or(Reason::UnknownClient)?, asked.url);
    let (host, peer) = (url.host().to_ascii_lowercase(), asked.peer);
    let about = DocumentRequest { peer, ..DocumentRequest::new(url.as_str(), &host) };
    if !policy(context)?.admits_document(&about).await {
        return Err(DocumentError::Policy.into());
    }
    let judged = match documents.without_fetch(url).await {
        Some(judged) => judged,
        None => {
            let begun = Attempt::new(AttemptKind::MetadataDocument, Endpoint::Authorization);
            // Requests for other documents of the host do not lock out the users of a client that is approved.
            let host = Some(&*host).filter(|_| !asked.is_approved);
            let (client, subject) = (Some(url.as_str()), Some(asked.subject));
            context.check_throttle(&Attempt { client, subject, host, peer, ..begun }).await?;
            documents.fetch(url).await
        }
    };
    judged.map_err(Reason::MetadataDocument)
}

/// Asks the policy on every request, because its decision may change.
async fn admitted(
    context: &Context,
    id: &ClientId,
    asked: &Asked<'_>,
    metadata: &ClientMetadata,
) -> Result<DocumentAdmission, Reason> {
    let about = RegistrationRequest {
        document_url: Some(asked.url.as_str()),
        peer: asked.peer,
        ..RegistrationRequest::new(ClientOrigin::MetadataDocument, metadata)
    };
    let decision = policy(context)?.decide(&about).await;
    let (bounds, awaits_review) = decision.into_bounds().ok_or(DocumentError::Policy)?;
    let admitted = bounds.admit(metadata.clone(), &context.config.scopes).map_err(DocumentError::Metadata)?;
    Ok(DocumentAdmission::new(id.clone(), metadata, admitted, awaits_review))
}

/// Stores the client that a document describes.
///
/// # Errors
///
/// [`Reason::ClientAwaitsReview`] if it was stored for a review that must come first; the reason why it was not stored.
pub(crate) async fn store(context: &Arc<Context>, client: &Client, document: &DocumentAdmission) -> Result<(), Reason> {
    Registrar::required(context)?.store_document(document).await.map_err(refusal)?;
    check_client(context, client)
}

fn refusal(error: RegistrarError) -> Reason {
    let is_refused = matches!(error, RegistrarError::WrongState(_));
    let refused = if is_refused { Reason::ClientNotApproved } else { error.into() };
    if let Reason::ClientMetadata(error) = refused { DocumentError::Metadata(error).into() } else { refused }
}

fn policy(context: &Context) -> Result<&dyn RegistrationPolicy, Reason> {
    // The server is not built without a policy.
    context.registration_policy.as_deref().ok_or(Reason::RegistrationRefused)
}
