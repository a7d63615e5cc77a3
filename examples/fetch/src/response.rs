//! The request for a document or key set, and how responses are read.

use std::future::poll_fn;
use std::pin::Pin;

use grantor::fetch::{FetchError, FetchErrorKind, FetchResponse};
use http_body_util::Full;
use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{self, HeaderMap, HeaderName};
use hyper::{Request, Response};

use crate::target::Target;

/// The maximum size in bytes of a response's head, and of the trailer of a chunked body. Hosts usually send one or two
/// thousand.
const MAX_HEAD: usize = 16 * 1024;

/// The maximum number of header lines. Hosts usually send about thirty.
const MAX_HEADERS: usize = 100;

/// Returns the request: a GET without cookies, credentials or body, which accepts no content coding.
pub(crate) fn request(target: &Target) -> Result<Request<Full<Bytes>>, FetchError> {
    Request::get(target.path.clone())
        .header(header::HOST, &target.authority)
        .header(header::ACCEPT, "application/json")
        .header(header::ACCEPT_ENCODING, "identity")
        .header(header::CONNECTION, "close")
        // Some hosts refuse requests without this header.
        .header(header::USER_AGENT, "grantor-fetch")
        .body(Full::default())
        .map_err(|error| FetchError::with_source(FetchErrorKind::Url, error))
}

/// HTTP/1.1 with bounds on heads and trailers.
pub(crate) fn http() -> http1::Builder {
    let mut http = http1::Builder::new();
    http.max_buf_size(MAX_HEAD).max_header_size(MAX_HEAD).max_headers(MAX_HEADERS);
    http
}

/// Reads the response to its end.
pub(crate) async fn read(response: Response<Incoming>, max_bytes: usize) -> Result<FetchResponse, FetchError> {
    judge(response.headers())?;
    let (head, mut incoming) = response.into_parts();
    let too_large = || FetchError::new(FetchErrorKind::TooLarge);
    let mut body = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut incoming).poll_frame(context)).await {
        // A trailer is not part of the body.
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        if data.len() > max_bytes.saturating_sub(body.len()) {
            return Err(too_large());
        }
        body.extend_from_slice(&data);
    }
    let mut fetched = FetchResponse::new(head.status.as_u16(), body);
    fetched.content_type = joined(&head.headers, &header::CONTENT_TYPE);
    fetched.cache_control = joined(&head.headers, &header::CACHE_CONTROL);
    fetched.expires = joined(&head.headers, &header::EXPIRES);
    fetched.date = joined(&head.headers, &header::DATE);
    fetched.age = joined(&head.headers, &header::AGE);
    Ok(fetched)
}

/// Refuses an encoded body.
fn judge(headers: &HeaderMap) -> Result<(), FetchError> {
    for (name, plain) in [(header::CONTENT_ENCODING, "identity"), (header::TRANSFER_ENCODING, "chunked")] {
        for value in headers.get_all(&name) {
            if !value.as_bytes().eq_ignore_ascii_case(plain.as_bytes()) {
                // The host may send kilobytes, which belong in no log.
                let start = value.as_bytes().get(..32).unwrap_or(value.as_bytes()).escape_ascii();
                let text = format!("{name} begins with \"{start}\"; accepted is {plain:?}");
                return Err(FetchError::with_source(FetchErrorKind::Response, text));
            }
        }
    }
    Ok(())
}

/// Several lines are one list [RFC 9110 section 5.3].
fn joined(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let values: Vec<_> = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
    if values.is_empty() { None } else { Some(values.join(", ")) }
}

pub(crate) fn broken(error: hyper::Error) -> FetchError {
    let kind = if error.is_parse() { FetchErrorKind::Response } else { FetchErrorKind::Connection };
    FetchError::with_source(kind, error)
}
