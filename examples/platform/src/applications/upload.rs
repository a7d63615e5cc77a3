//! The registration form as a browser sends it: texts and a file.

use axum::extract::multipart::{Field, Multipart, MultipartError};
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use crate::pages::Failure;
use crate::web::Platform;

/// The maximum size of a request. A file that is too large for a logo is read to its end and dropped: a browser shows
/// the answer only then, and the rest of the form is kept.
pub(super) const BODY_BYTES: usize = 16 * 1024 * 1024;

/// The maximum size of all texts together. The longest form that can be approved has less than half of it.
const TEXT_BYTES: usize = 256 * 1024;

/// The page has fewer than fifty.
const FIELDS: usize = 200;

/// What was sent.
#[derive(Debug, Default)]
pub(super) struct Upload {
    pub(super) texts: Vec<(String, String)>,
    /// The file, if one was chosen; cut off after the first byte that is too much.
    pub(super) logo: Option<Vec<u8>>,
}

/// Why a form cannot be read at all.
#[derive(Debug)]
pub(super) enum UploadError {
    Malformed,
    TooLarge,
}

impl FromRequest<Platform> for Upload {
    type Rejection = UploadError;

    async fn from_request(request: Request, platform: &Platform) -> Result<Self, UploadError> {
        let logo_limit = platform.server.config().registration.form.logo;
        let mut multipart = Multipart::from_request(request, platform).await.map_err(|_| UploadError::Malformed)?;
        let mut upload = Self::default();
        let (mut room, mut fields) = (TEXT_BYTES, 0);
        while let Some(field) = multipart.next_field().await? {
            fields += 1;
            if fields > FIELDS {
                return Err(UploadError::Malformed);
            }
            let name = field.name().unwrap_or_default().to_owned();
            let is_chosen = field.file_name().is_some_and(|name| !name.is_empty());
            if name == "logo" {
                let bytes = first_bytes(field, logo_limit + 1).await?;
                upload.logo = (is_chosen || !bytes.is_empty()).then_some(bytes);
                continue;
            }
            let bytes = first_bytes(field, room + 1).await?;
            room = room.checked_sub(bytes.len()).ok_or(UploadError::TooLarge)?;
            let text = String::from_utf8(bytes).map_err(|_| UploadError::Malformed)?;
            upload.texts.push((name, text));
        }
        Ok(upload)
    }
}

/// Reads a field to its end and keeps its beginning.
async fn first_bytes(mut field: Field<'_>, limit: usize) -> Result<Vec<u8>, MultipartError> {
    let mut kept = Vec::new();
    while let Some(chunk) = field.chunk().await? {
        let room = limit.saturating_sub(kept.len());
        kept.extend(chunk.iter().take(room));
    }
    Ok(kept)
}

impl From<MultipartError> for UploadError {
    fn from(error: MultipartError) -> Self {
        if error.status() == StatusCode::PAYLOAD_TOO_LARGE { Self::TooLarge } else { Self::Malformed }
    }
}

impl IntoResponse for UploadError {
    fn into_response(self) -> Response {
        let (status, text) = match self {
            Self::Malformed => (StatusCode::BAD_REQUEST, "The form did not arrive whole. Go back and send it again."),
            Self::TooLarge => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "What you sent is far too large. Go back, choose a smaller logo or shorten the texts, and send it again.",
            ),
        };
        let mut response = Failure::BadRequest(text.into()).into_response();
        *response.status_mut() = status;
        response
    }
}
