//! Why a metadata document is refused.

use crate::fetch::FetchError;
use crate::model::client_metadata::document_url::DocumentUrlError;
use crate::model::client_metadata::error::MetadataError;

/// Why a client id that is the URL of a metadata document is refused
/// [draft-ietf-oauth-client-id-metadata-document section 5.1].
///
/// Users see the same page for all of them, so that an attacker cannot explore a network through this server. The cause
/// is in [`Event::Refused`](crate::Event::Refused).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// The client id is not a valid URL of a document.
    #[error("the client id is not a valid URL of a metadata document")]
    Url(#[from] DocumentUrlError),
    /// The registration policy refused the URL or the client.
    #[error("the registration policy refused the URL or the client")]
    Policy,
    /// The fetcher returned an error.
    #[error("the document could not be fetched")]
    Fetch(#[from] FetchError),
    /// The status is not 200.
    #[error("the status is {0}, not 200")]
    Status(u16),
    /// The media type is not `application/json`, and does not end in `+json`.
    #[error("the media type is neither application/json nor a type that ends in +json")]
    MediaType,
    /// The document has more than 5120 bytes.
    #[error("the document is too large")]
    TooLarge,
    /// The document's `client_id` is missing or differs from its URL.
    #[error("the client_id of the document is missing or differs from its URL")]
    ClientId,
    /// The document has a secret, or an authentication method with one.
    #[error("the document has a secret, or an authentication method with one")]
    SharedSecret,
    /// A key in the document is private or symmetric.
    #[error("the document has a private or symmetric key")]
    PrivateKey,
    /// The document has no `client_name`, which the MCP specification requires.
    #[error("the document has no client_name")]
    NoName,
    /// The metadata was refused, as in a registration.
    #[error("the metadata of the document was refused")]
    Metadata(#[from] MetadataError),
    /// The fetcher panicked.
    #[error("the fetcher panicked")]
    Panicked,
}
