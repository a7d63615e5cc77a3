//! Why the metadata of a client or its document is refused.

use crate::jose::JwkSetError;
use crate::model::client_metadata::METADATA_BYTES;
use crate::model::client_metadata::document_url::DocumentUrlError;
use crate::model::redirect_uri::RedirectUriError;
use crate::wire::fetch::FetchError;

/// Why a registration is refused [RFC 7591 section 3.2.2]. Its text contains nothing from the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum MetadataError {
    /// The body is not one JSON object: it is not JSON, has a duplicate member, or is nested too deeply.
    #[error("the body is not one JSON object")]
    NotAnObject,
    /// A member has the wrong JSON type.
    #[error("the member {0} has the wrong JSON type")]
    WrongType(&'static str),
    /// A text that users are shown could mislead them, is too long or is blank.
    #[error("the text of {0} is blank, too long, or has characters that are not accepted")]
    Text(&'static str),
    /// A link is not an https address in its plain form.
    #[error("the member {0} is not a plain https address")]
    Link(&'static str),
    /// A key of `jwks` is private or symmetric.
    #[error("a key of jwks is private or symmetric")]
    PrivateKey,
    /// The method is `private_key_jwt`, and there is neither `jwks` nor `jwks_uri` [RFC 7591 section 2].
    #[error("private_key_jwt needs jwks or jwks_uri")]
    NoKeys,
    /// The key set is refused.
    #[error("jwks was refused")]
    KeySet(#[source] JwkSetError),
    /// The key set has no key for an algorithm that is accepted, or none for the registered one.
    #[error("jwks has no key for an algorithm that is accepted and registered")]
    NoAcceptedKey,
    /// The server has no fetcher, which would get keys from `jwks_uri`.
    #[error("the server cannot fetch jwks_uri")]
    NoFetcher,
    /// The algorithm of `token_endpoint_auth_signing_alg` is not accepted.
    #[error("token_endpoint_auth_signing_alg is not accepted")]
    SigningAlgorithm,
    /// Both `jwks` and `jwks_uri` were sent.
    #[error("jwks and jwks_uri were both sent")]
    TwoKeySets,
    /// The authentication method is not offered to clients that register themselves.
    #[error("the authentication method is not offered")]
    Method,
    /// The grant types include neither `authorization_code` nor, where it is offered, that of devices.
    #[error("the grant types include neither authorization_code nor an offered device_code")]
    NoGrantType,
    /// The grant type `authorization_code` is not accompanied by the response type `code`.
    #[error("the response types do not include code")]
    NoResponseType,
    /// The client may have none of the scopes.
    #[error("none of the scopes is offered")]
    NoScope,
    /// The metadata takes more than 6144 bytes in a store.
    #[error("the redirect URIs, keys and texts take more than {} bytes in all", METADATA_BYTES)]
    TooLarge,
    /// More redirect URIs were sent than are accepted.
    #[error("too many redirect URIs were sent")]
    TooManyRedirectUris,
    /// A redirect URI is malformed, or has a scheme that the browser itself executes or opens.
    #[error("a redirect URI was refused")]
    RedirectUri(#[source] RedirectUriError),
    /// The update of a registration does not have the client's id as `client_id` [RFC 7592 section 2.2].
    #[error("the client_id of the update is missing or is not the client's")]
    OtherClient,
    /// The update of a registration has a member that only the server may set [RFC 7592 section 2.2].
    #[error("the update has the member {0}, which only the server may set")]
    ServerMade(&'static str),
    /// The update of a registration has a secret that is not the client's [RFC 7592 section 2.2].
    #[error("the client_secret of the update is not the client's")]
    WrongSecret,
    /// The update of a registration changes a member that cannot change.
    #[error("the member {0} cannot change")]
    Fixed(&'static str),
    /// None of the redirect URIs is of an accepted kind.
    #[error("none of the redirect URIs is accepted")]
    NoRedirectUri,
}

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
