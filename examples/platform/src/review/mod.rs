//! The administrator's pages: view applications, decide, and administer those in force.

mod administer;
mod decide;
mod details;
mod namesakes;
mod queue;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use grantor::application::LogoSlot;

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
        .route("/review/{id}/privileges", get(details::back).post(administer::set_privileges))
        .route("/review/{id}/reduce", get(details::back).post(administer::reduce))
        .route("/review/{id}/end-secrets", get(details::back).post(administer::end_secrets))
        .route("/review/{id}/transfer", get(details::back).post(administer::transfer))
        .route("/review/{id}/revoke-grants", get(details::back).post(administer::revoke_grants))
        .route("/review/{id}/delete", get(details::back).post(administer::delete))
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
