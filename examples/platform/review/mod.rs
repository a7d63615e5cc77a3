//! What administrators do: look at applications, decide, and look after those in force.

mod administer;
mod decide;
mod details;
mod namesakes;
mod queue;
mod secret;

use axum::Router;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, FromRequest, Request, State};
use axum::response::Response;
use axum::routing::get;
use grantor::LogoSlot;

use crate::pages::Failure;
use crate::registration::{Named, logo};
use crate::session::Administrator;
use crate::web::Platform;

pub(crate) fn routes() -> Router<Platform> {
    Router::new()
        .route("/review", get(queue::queue))
        .route("/review/{id}", get(details::details))
        .route("/review/{id}/approve", get(details::back).post(decide::approve))
        .route("/review/{id}/reject", get(details::back).post(decide::reject))
        .route("/review/{id}/suspend", get(details::back).post(administer::suspend))
        .route("/review/{id}/resume", get(details::back).post(administer::resume))
        .route("/review/{id}/rotate-secret", get(details::back).post(administer::rotate_secret))
        .route("/review/{id}/retire-secret", get(details::back).post(administer::retire_secret))
        .route("/review/{id}/withdraw-grants", get(details::back).post(administer::withdraw_grants))
        .route("/review/{id}/logo/in-force", get(logo_in_force))
        .route("/review/{id}/logo/proposed", get(proposed_logo))
}

async fn logo_in_force(
    State(platform): State<Platform>,
    _: Administrator,
    Named(id): Named,
) -> Result<Response, Failure> {
    logo::of(&platform, &id, LogoSlot::InForce).await
}

async fn proposed_logo(
    State(platform): State<Platform>,
    _: Administrator,
    Named(id): Named,
) -> Result<Response, Failure> {
    logo::of(&platform, &id, LogoSlot::Proposed).await
}

/// The controls of a form as they were sent, boxes of one name each for itself.
#[derive(Debug)]
struct Controls(Vec<(String, String)>);

impl Controls {
    fn all(&self, name: &'static str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| &**value)
    }

    fn one(&self, name: &'static str) -> &str {
        self.all(name).next().unwrap_or_default()
    }

    fn has(&self, name: &'static str) -> bool {
        self.all(name).next().is_some()
    }

    /// The version of the application that the administrator saw.
    fn version(&self) -> Result<u32, Failure> {
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
