//! Why metadata are refused: those of a registration, those of a document, and the URL of a document.

use std::borrow::Cow;

use crate::base::ValueError;
use crate::base::id::CLIENT_ID_CHARACTERS;
use crate::jose::JwkSetError;
use crate::model::redirect_uri::{RedirectUriError, WebUri, check_host, has_dot_segment, uri_text};
use crate::wire::fetch::FetchError;
use crate::wire::refusal::refusals;

/// The most bytes that metadata takes in a record. 2 KiB stay for what the server adds, so that a registration takes at
/// most 8 KiB: the id, which may be a URL of 512 bytes, and twice the scopes that the policy admits.
pub(super) const METADATA_BYTES: usize = 6 * 1024;

refusals! {
    /// Why a registration is refused [RFC 7591 section 3.2.2]. Its text contains nothing from the request.
    #[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
    #[non_exhaustive]
    pub enum MetadataError {
        /// The body is not one JSON object: it is not JSON, has a duplicate member, or is nested too deeply.
        #[error("the body is not one JSON object")]
        NotAnObject => InvalidClientMetadata.says("the body must be one JSON object"),
        /// A member has the wrong JSON type.
        #[error("the member {0} has the wrong JSON type")]
        WrongType(name: &'static str) => InvalidClientMetadata.says(format!("{name} has another JSON type")),
        /// The name that users are shown could mislead them, or is blank.
        #[error("the text of {0} is blank, or has characters that are not accepted")]
        Text(name: &'static str) =>
            InvalidClientMetadata.says(format!("{name} is blank, or has characters that are not accepted")),
        /// A link is a program, such as `javascript:`, or `jwks_uri` is not an https address in its plain form.
        #[error("the member {0} is not a plain https address")]
        Link(name: &'static str) => InvalidClientMetadata.says(format!("{name} is not a plain https address")),
        /// A key of `jwks` is private or symmetric.
        #[error("a key of jwks is private or symmetric")]
        PrivateKey => InvalidClientMetadata.says("jwks has a private or symmetric key; only public keys are accepted"),
        /// The method is `private_key_jwt`, and there is neither `jwks` nor `jwks_uri` [RFC 7591 section 2].
        #[error("private_key_jwt needs jwks or jwks_uri")]
        NoKeys => InvalidClientMetadata.says("private_key_jwt needs jwks or jwks_uri"),
        /// The key set is refused.
        #[error("jwks was refused")]
        KeySet(#[source] _error: JwkSetError) =>
            InvalidClientMetadata.says("jwks is malformed, too large, has a kid twice, or has no key that can be used"),
        /// The key set has no key for an algorithm that is accepted, or none for the registered one.
        #[error("jwks has no key for an algorithm that is accepted and registered")]
        NoAcceptedKey =>
            InvalidClientMetadata.says(
                "jwks has no key for an algorithm that is supported, or none for \
                 token_endpoint_auth_signing_alg",
            ),
        /// The server has no fetcher, which would get keys from `jwks_uri`.
        #[error("the server cannot fetch jwks_uri")]
        NoFetcher => InvalidClientMetadata.says("jwks_uri is not supported; jwks is accepted in its place"),
        /// The algorithm of `token_endpoint_auth_signing_alg` is not accepted.
        #[error("token_endpoint_auth_signing_alg is not accepted")]
        SigningAlgorithm =>
            InvalidClientMetadata.says("token_endpoint_auth_signing_alg has a value that is not supported"),
        /// Both `jwks` and `jwks_uri` were sent.
        #[error("jwks and jwks_uri were both sent")]
        TwoKeySets => InvalidClientMetadata.says("jwks and jwks_uri cannot be combined"),
        /// The authentication method is not offered to clients that register themselves.
        #[error("the authentication method is not offered")]
        Method => InvalidClientMetadata.says("token_endpoint_auth_method has a value that is not supported"),
        /// The grant types include neither `authorization_code` nor, where it is offered, that of devices.
        #[error("the grant types include neither authorization_code nor an offered device_code")]
        NoGrantType =>
            InvalidClientMetadata.says(
                "grant_types needs authorization_code or, if the metadata lists it, \
                 urn:ietf:params:oauth:grant-type:device_code",
            ),
        /// The grant type `authorization_code` is not accompanied by the response type `code`.
        #[error("the response types do not include code")]
        NoResponseType => InvalidClientMetadata.says("response_types needs code"),
        /// The client may have none of the scopes.
        #[error("none of the scopes is offered")]
        NoScope => InvalidClientMetadata.says("scope has no value that is supported"),
        /// The metadata takes more than 6144 bytes in a store.
        #[error("the redirect URIs, keys and texts take more than {} bytes in all", METADATA_BYTES)]
        TooLarge =>
            InvalidClientMetadata.says(
                "redirect_uris, jwks and texts are too large in all; jwks_uri and fewer URIs are smaller",
            ),
        /// More redirect URIs were sent than are accepted.
        #[error("more than {0} redirect URIs were sent")]
        TooManyRedirectUris(limit: usize) =>
            InvalidRedirectUri.says(format!("redirect_uris has more than {limit} values")),
        /// A redirect URI is malformed, or has a scheme that the browser itself executes or opens.
        #[error("a redirect URI was refused")]
        RedirectUri(#[source] error: RedirectUriError) => InvalidRedirectUri.says(of_redirect_uri(error)),
        /// The update of a registration does not have the client's id as `client_id` [RFC 7592 section 2.2].
        #[error("the client_id of the update is missing or is not the client's")]
        OtherClient => InvalidRequest.says("client_id must be that of the client in the URL"),
        /// The update of a registration has a member that only the server may set [RFC 7592 section 2.2].
        #[error("the update has the member {0}, which only the server may set")]
        ServerMade(name: &'static str) =>
            InvalidRequest.says(format!("{name} was sent, which only the server makes")),
        /// The update of a registration has a secret that is not the client's [RFC 7592 section 2.2].
        #[error("the client_secret of the update is not the client's")]
        WrongSecret => InvalidRequest.says("client_secret is not that of the client"),
        /// The update of a registration changes a member that cannot change.
        #[error("the member {0} cannot change")]
        Fixed(name: &'static str) => InvalidClientMetadata.says(format!("{name} differs, and cannot change")),
        /// None of the redirect URIs is of an accepted kind.
        #[error("none of the redirect URIs is accepted")]
        NoRedirectUri => InvalidRedirectUri.says("redirect_uris needs a value of a kind that is supported"),
    }
}

fn of_redirect_uri(error: &RedirectUriError) -> Cow<'static, str> {
    if let RedirectUriError::HostNotAscii { a_label } = error {
        return format!("redirect_uris has a host with letters beyond ASCII; write it as {a_label}").into();
    }
    "redirect_uris has a value that is not accepted".into()
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
    Url(#[from] ValueError),
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

/// A client id that is the URL of a metadata document. It is compared byte by byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DocumentUrl<'a> {
    text: &'a str,
    host: &'a str,
}

impl<'a> DocumentUrl<'a> {
    /// The first bytes of every such id.
    pub(crate) const START: &'static str = "https://";

    /// > Client identifier URLs MUST have an "https" scheme, MUST contain a path component, MUST NOT contain single-dot
    /// > or double-dot path segments, MUST NOT contain a fragment component and MUST NOT contain a username or
    /// > password.
    ///
    /// [draft-ietf-oauth-client-id-metadata-document section 3]
    pub(crate) fn parse(text: &'a str) -> Result<Self, ValueError> {
        if !text.starts_with(Self::START) {
            return Err(SCHEME);
        }
        if text.len() > CLIENT_ID_CHARACTERS {
            return Err(TOO_LONG);
        }
        let text = uri_text(text.as_bytes()).map_err(|_| CHARACTER)?;
        let uri = WebUri::split(text).map_err(|_| AUTHORITY)?;
        check_host(uri.host).map_err(|_| AUTHORITY)?;
        if uri.path_and_query.contains(['[', ']']) {
            return Err(CHARACTER);
        }
        let path = uri.path_and_query.split('?').next().unwrap_or_default();
        if path.is_empty() {
            return Err(NO_PATH);
        }
        if has_dot_segment(path) {
            return Err(DOT_SEGMENT);
        }
        Ok(Self { text, host: uri.host })
    }

    /// The URL, as it was sent.
    pub(crate) const fn as_str(&self) -> &'a str {
        self.text
    }

    /// The host as written, in ASCII. An IPv6 address has its brackets.
    pub(crate) const fn host(&self) -> &'a str {
        self.host
    }
}

// Why a client id is not a valid URL of a metadata document.
const SCHEME: ValueError = ValueError("the URL does not begin with https://");
const TOO_LONG: ValueError = ValueError("the URL has more than 512 bytes");
const CHARACTER: ValueError =
    ValueError("the URL has a fragment, an invalid escape or a character that is not accepted");
const AUTHORITY: ValueError = ValueError("the URL has a host or port that is not in its plain form, or userinfo");
const NO_PATH: ValueError = ValueError("the URL has no path; at least a slash must follow the host");
const DOT_SEGMENT: ValueError = ValueError("the URL has a path segment that is . or ..");

#[cfg(test)]
mod tests {
    use super::*;

    /// CIMD-3-01, CIMD-3-02
    #[test]
    fn a_url_has_a_path_and_nothing_that_readers_disagree_on() {
        for (text, host) in [
            ("https://e.com/", "e.com"),
            ("https://e.com/c", "e.com"),
            ("https://e.com/c?x=1&code=2", "e.com"),
            ("https://e.com:443/c", "e.com"),
            ("https://e.com:8443/oauth/client.json", "e.com"),
            ("https://E.com/C", "E.com"),
            ("https://xn--bcher-kva.example/c", "xn--bcher-kva.example"),
            ("https://127.0.0.1/c", "127.0.0.1"),
            ("https://[::1]:8443/c", "[::1]"),
            ("https://e.com/...", "e.com"),
            ("https://e.com/%2fa/.b", "e.com"),
            ("https://e.com/?..", "e.com"),
        ] {
            let url = DocumentUrl::parse(text);
            assert_eq!(url.map(|url| (url.as_str(), url.host())), Ok((text, host)));
        }
        let long = |length: usize| format!("https://e.com/{}", "x".repeat(length - 14));
        assert!(DocumentUrl::parse(&long(512)).is_ok());
        for (text, error) in [
            ("", SCHEME),
            ("app", SCHEME),
            ("http://e.com/c", SCHEME),
            ("HTTPS://e.com/c", SCHEME),
            ("https:e.com/c", SCHEME),
            ("https:/e.com/c", SCHEME),
            (" https://e.com/c", SCHEME),
            (&long(513), TOO_LONG),
            ("https://e.com/c d", CHARACTER),
            ("https://e.com/c\t", CHARACTER),
            ("https://e.com\\c", CHARACTER),
            ("https://e.com/c\\..", CHARACTER),
            ("https://e.com/c#", CHARACTER),
            ("https://e.com/c#x", CHARACTER),
            ("https://e.com/%0a", CHARACTER),
            ("https://e.com/%zz", CHARACTER),
            ("https://e.com/[c]", CHARACTER),
            ("https://b\u{fc}cher.example/c", CHARACTER),
            ("https:///c", AUTHORITY),
            ("https://user@e.com/c", AUTHORITY),
            ("https://user:secret@e.com/c", AUTHORITY),
            ("https://@e.com/c", AUTHORITY),
            ("https://e.com:/c", AUTHORITY),
            ("https://e.com:0/c", AUTHORITY),
            ("https://e.com:0443/c", AUTHORITY),
            ("https://e.com:65536/c", AUTHORITY),
            ("https://e.com./c", AUTHORITY),
            ("https://e%2ecom/c", AUTHORITY),
            ("https://2130706433/c", AUTHORITY),
            ("https://0x7f.1/c", AUTHORITY),
            ("https://0177.0.0.1/c", AUTHORITY),
            ("https://127.1/c", AUTHORITY),
            ("https://[::ffff:127.0.0.1]/c", AUTHORITY),
            ("https://[::1/c", AUTHORITY),
            ("https://e.com", NO_PATH),
            ("https://e.com:8443", NO_PATH),
            ("https://e.com?x", NO_PATH),
            ("https://e.com/.", DOT_SEGMENT),
            ("https://e.com/a/../b", DOT_SEGMENT),
            ("https://e.com/a/%2e/b", DOT_SEGMENT),
            ("https://e.com/a/%2E.?x", DOT_SEGMENT),
        ] {
            assert_eq!(DocumentUrl::parse(text), Err(error), "{text}");
        }
    }
}
