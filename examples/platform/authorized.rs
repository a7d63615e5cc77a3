//! What a user has authorized, and how it is taken back.

use askama::Template;
use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::response::{Redirect, Response};
use axum::routing::get;
use grantor::store::StoreError;
use grantor::{AuthorizationServer, Client, ClientId, ClientState, GrantId, Subject};

use crate::logos;
use crate::pages::{Failure, Frame, page};
use crate::session::SignedIn;
use crate::web::Platform;
use crate::words::{self, Resources, ScopeGroup, When};

pub(crate) fn routes() -> Router<Platform> {
    let back = async || Redirect::to("/authorized");
    Router::new()
        .route("/authorized", get(list))
        .route("/authorized/{grant}/withdraw", get(back).post(withdraw))
        .route("/authorized/applications/{client_id}/withdraw", get(back).post(withdraw_all))
}

#[derive(Template)]
#[template(path = "authorized.html", config = "examples/platform/askama.toml")]
struct AuthorizedPage {
    frame: Frame,
    notice: Option<&'static str>,
    applications: Vec<Application>,
}

/// An application with all that the user granted it.
struct Application {
    id: ClientId,
    name: String,
    website: Option<String>,
    logo: Option<String>,
    is_suspended: bool,
    grants: Vec<Grant>,
}

struct Grant {
    id: GrantId,
    groups: Vec<ScopeGroup>,
    resources: Resources,
    since: When,
    refreshed: When,
    until: When,
}

async fn list(
    State(platform): State<Platform>,
    signed_in: SignedIn,
    RawQuery(query): RawQuery,
) -> Result<Response, Failure> {
    let notice = match query.as_deref() {
        Some("withdrawn") => Some("The authorization is withdrawn. Its tokens no longer work."),
        Some("withdrawn-all") => {
            Some("All authorizations of the application are withdrawn. Its tokens no longer work.")
        }
        Some("over") => Some("That authorization was over already."),
        _ => None,
    };
    let applications = applications_of(&platform.server, &signed_in.account.subject).await?;
    Ok(page(&AuthorizedPage { frame: Frame::for_account(&signed_in.account), notice, applications }))
}

async fn withdraw(
    State(platform): State<Platform>,
    signed_in: SignedIn,
    grant: Result<Path<String>, PathRejection>,
) -> Result<Redirect, Failure> {
    let Path(grant) = grant.map_err(|_| Failure::NotFound)?;
    let id: GrantId = grant.parse().map_err(|_| Failure::NotFound)?;
    let was_alive = platform.server.revoke_grant(id, &signed_in.account.subject).await?;
    Ok(Redirect::to(if was_alive { "/authorized?withdrawn" } else { "/authorized?over" }))
}

async fn withdraw_all(
    State(platform): State<Platform>,
    signed_in: SignedIn,
    client_id: Result<Path<String>, PathRejection>,
) -> Result<Redirect, Failure> {
    let Path(client_id) = client_id.map_err(|_| Failure::NotFound)?;
    let subject = &signed_in.account.subject;
    let mut was_alive = false;
    for grant in platform.server.grants_of(subject).await? {
        if grant.client().as_str() == client_id {
            was_alive |= platform.server.revoke_grant(grant.id(), subject).await?;
        }
    }
    Ok(Redirect::to(if was_alive { "/authorized?withdrawn-all" } else { "/authorized?over" }))
}

/// In the order in which each application was first authorized.
async fn applications_of(server: &AuthorizationServer, subject: &Subject) -> Result<Vec<Application>, StoreError> {
    let mut applications = Vec::<Application>::new();
    for grant in server.grants_of(subject).await? {
        let client = server.client(grant.client()).await?;
        let shown = Grant::new(server, &grant, client.as_deref());
        match applications.iter_mut().find(|application| application.id == *grant.client()) {
            Some(application) => application.grants.push(shown),
            None => applications.push(Application::new(grant.client(), client.as_deref(), shown)),
        }
    }
    Ok(applications)
}

impl Application {
    fn new(id: &ClientId, client: Option<&Client>, grant: Grant) -> Self {
        Self {
            id: id.clone(),
            name: client.map_or_else(|| "An application that is gone".to_owned(), |client| client.name().to_owned()),
            website: client.map(|client| client.website().to_owned()),
            logo: client.and_then(logos::address),
            is_suspended: client.is_some_and(|client| client.state() == ClientState::Suspended),
            grants: vec![grant],
        }
    }
}

impl Grant {
    /// As far as the application may still have it: its registration bounds what tokens do.
    fn new(server: &AuthorizationServer, grant: &grantor::store::Grant, client: Option<&Client>) -> Self {
        let (mut scopes, mut resources) = (grant.scopes().clone(), grant.resource_scope().clone());
        if let Some(client) = client {
            scopes = scopes.intersection(client.scopes());
            resources = resources.narrowed_to(client.resource_scope());
        }
        Self {
            id: grant.id(),
            groups: words::scope_groups(&server.config().scopes, &scopes),
            resources: words::resources(&resources),
            since: words::when(grant.created()),
            refreshed: words::when(grant.refreshed()),
            until: words::when(grant.ends()),
        }
    }
}
