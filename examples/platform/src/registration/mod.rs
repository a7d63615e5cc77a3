//! The common parts of the developer's and the administrator's pages.

mod controls;
pub(crate) mod form_words;
pub(crate) mod logo;
pub(crate) mod notice;
pub(crate) mod problems;

use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use grantor::store::Page;
use grantor::{ClientId, Registrar, RegistrarError};
use serde::Deserialize;

use crate::pages::Failure;
use crate::web::Platform;

pub(crate) use controls::Controls;

impl Platform {
    pub(crate) fn registrar(&self) -> Result<Registrar, Failure> {
        self.server.registrar().ok_or_else(|| Failure::internal("the stores have no registry"))
    }
}

/// Converts an error for which the page has no text.
pub(crate) fn failure(error: RegistrarError) -> Failure {
    match error {
        RegistrarError::NotFound => Failure::NotFound,
        other => Failure::internal(other),
    }
}

/// The application that the path names, which may not exist.
#[derive(Clone, Debug)]
pub(crate) struct Named(pub(crate) ClientId);

impl FromRequestParts<Platform> for Named {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, platform: &Platform) -> Result<Self, Failure> {
        let path = Path::<String>::from_request_parts(parts, platform).await;
        let Path(id) = path.map_err(|_| Failure::NotFound)?;
        ClientId::new(id).map(Self).map_err(|_| Failure::NotFound)
    }
}

/// Which part of a list is asked for.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Listing {
    #[serde(default)]
    pub(crate) state: String,
    after: Option<String>,
}

impl Listing {
    pub(crate) fn of(query: Result<Query<Self>, QueryRejection>) -> Result<Self, Failure> {
        query.map(|Query(listing)| listing).map_err(|_| Failure::NotFound)
    }

    pub(crate) const fn is_first(&self) -> bool {
        self.after.is_none()
    }

    /// Returns the page to read: one row more than is shown, to see whether there are more.
    pub(crate) fn page(&self) -> Result<Page<ClientId>, Failure> {
        match &self.after {
            None => Ok(Page::first(ROWS + 1)),
            Some(id) => ClientId::new(id).map(|id| Page::after(id, ROWS + 1)).map_err(|_| Failure::NotFound),
        }
    }
}

/// Rows that a list shows at once.
pub(crate) const ROWS: usize = 25;
