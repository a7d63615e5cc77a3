//! A form of buttons and checkboxes, as it was sent.

use axum::extract::rejection::FormRejection;
use axum::extract::{Form, FromRequest, Request};

use crate::pages::Failure;
use crate::web::Platform;

/// The controls of a form as they were sent. Checkboxes of the same name are separate entries.
#[derive(Debug)]
pub(crate) struct Controls(Vec<(String, String)>);

impl Controls {
    pub(crate) fn all(&self, name: &'static str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| &**value)
    }

    pub(crate) fn one(&self, name: &'static str) -> &str {
        self.all(name).next().unwrap_or_default()
    }

    pub(crate) fn has(&self, name: &'static str) -> bool {
        self.all(name).next().is_some()
    }

    /// The version of the application that the page showed.
    pub(crate) fn version(&self) -> Result<u32, Failure> {
        self.one("version").parse().map_err(|_| Failure::BadRequest("The form did not arrive whole.".into()))
    }
}

impl FromRequest<Platform> for Controls {
    type Rejection = Failure;

    async fn from_request(request: Request, platform: &Platform) -> Result<Self, Failure> {
        let form: Result<Form<Vec<(String, String)>>, FormRejection> = Form::from_request(request, platform).await;
        let Form(controls) = form.map_err(|_| Failure::BadRequest("The form did not arrive whole.".into()))?;
        Ok(Self(controls))
    }
}
