//! What a user has authorized, and how to withdraw it.

use askama::Template;
use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use grantor::client::ClientState;
use grantor::id::GrantId;
use grantor::scope::{ResourceScope, ScopeSet};
use grantor::store::{Authorization, StoreError};
use grantor::{AuthorizationServer, Client, ClientId, Subject};

use crate::logos;
use crate::pages::{Failure, Frame, page, segment};
use crate::session::SignedIn;
use crate::web::Platform;
use crate::words::{self, Resources, ScopeGroup, When};

pub(crate) fn routes() -> Router<Platform> {
    Router::new()
        .route("/authorized", get(list))
        .route("/authorized/{grant}/withdraw", get(confirm).post(withdraw))
        .route("/authorized/applications/{client_id}/withdraw", get(confirm_all).post(withdraw_all))
}

#[derive(Template)]
#[template(path = "authorized.html")]
struct AuthorizedPage {
    frame: Frame,
    notice: Option<&'static str>,
    applications: Vec<Application>,
}

/// The page that asks for confirmation before something is withdrawn.
#[derive(Template)]
#[template(path = "withdraw.html")]
struct WithdrawPage {
    frame: Frame,
    /// The address that withdraws.
    action: String,
    /// The application, with what would be withdrawn.
    application: Application,
}

/// An application with all that the user granted it.
struct Application {
    id: ClientId,
    /// The id in paths.
    segment: String,
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
    /// `None` if the application has not fetched its tokens yet.
    used: Option<When>,
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
        Some("over") => Some("That authorization had already ended."),
        _ => None,
    };
    let applications = applications_of(&platform.server, &signed_in.account.subject).await?;
    Ok(page(&AuthorizedPage { frame: Frame::for_account(&signed_in.account), notice, applications }))
}

async fn confirm(
    State(platform): State<Platform>,
    signed_in: SignedIn,
    grant: Result<Path<String>, PathRejection>,
) -> Result<Response, Failure> {
    let Path(grant) = grant.map_err(|_| Failure::NotFound)?;
    let id: GrantId = grant.parse().map_err(|_| Failure::NotFound)?;
    let mut applications = applications_of(&platform.server, &signed_in.account.subject).await?;
    for application in &mut applications {
        application.grants.retain(|grant| grant.id == id);
    }
    let found = applications.into_iter().find(|application| !application.grants.is_empty());
    Ok(ask_to_confirm(&signed_in, format!("/authorized/{id}/withdraw"), found))
}

async fn confirm_all(
    State(platform): State<Platform>,
    signed_in: SignedIn,
    client_id: Result<Path<String>, PathRejection>,
) -> Result<Response, Failure> {
    let Path(client_id) = client_id.map_err(|_| Failure::NotFound)?;
    let applications = applications_of(&platform.server, &signed_in.account.subject).await?;
    let found = applications.into_iter().find(|application| application.id.as_str() == client_id);
    Ok(ask_to_confirm(&signed_in, format!("/authorized/applications/{}/withdraw", segment(&client_id)), found))
}

fn ask_to_confirm(signed_in: &SignedIn, action: String, found: Option<Application>) -> Response {
    match found {
        Some(application) => page(&WithdrawPage { frame: Frame::for_account(&signed_in.account), action, application }),
        None => Redirect::to("/authorized?over").into_response(),
    }
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
    let client_id = ClientId::new(client_id).map_err(|_| Failure::NotFound)?;
    let ended = platform.server.revoke_application(&signed_in.account.subject, &client_id).await?;
    Ok(Redirect::to(if ended > 0 { "/authorized?withdrawn-all" } else { "/authorized?over" }))
}

/// Returns what was granted, and then what was approved and not used yet, each in the order of time.
async fn applications_of(server: &AuthorizationServer, subject: &Subject) -> Result<Vec<Application>, StoreError> {
    // Read before the grants: an approval that becomes a grant in between is found twice, but not missed.
    let waiting = server.authorizations_of(subject).await?;
    let mut applications = Vec::<Application>::new();
    for grant in server.grants_of(subject).await? {
        let client = server.client(grant.client()).await?;
        let shown = Grant::new(server, &grant, client.as_deref());
        add(&mut applications, grant.client(), client.as_deref(), shown);
    }
    for authorization in waiting {
        let client = server.client(authorization.client()).await?;
        let shown = Grant::of_approved(server, &authorization, client.as_deref());
        if !applications.iter().flat_map(|application| &application.grants).any(|grant| grant.id == shown.id) {
            add(&mut applications, authorization.client(), client.as_deref(), shown);
        }
    }
    Ok(applications)
}

fn add(applications: &mut Vec<Application>, id: &ClientId, client: Option<&Client>, shown: Grant) {
    match applications.iter_mut().find(|application| application.id == *id) {
        Some(application) => application.grants.push(shown),
        None => applications.push(Application::new(id, client, shown)),
    }
}

impl Application {
    fn new(id: &ClientId, client: Option<&Client>, grant: Grant) -> Self {
        Self {
            id: id.clone(),
            segment: segment(id.as_str()),
            name: client.map_or_else(|| "An application that was removed".to_owned(), words::called),
            // The page has no links of unreviewed applications.
            website: client.filter(|client| !client.is_unreviewed()).map(|client| client.form().website.clone()),
            logo: client.and_then(logos::address),
            is_suspended: client.is_some_and(|client| client.state() == ClientState::Suspended),
            grants: vec![grant],
        }
    }
}

impl Grant {
    fn new(server: &AuthorizationServer, grant: &grantor::store::Grant, client: Option<&Client>) -> Self {
        let (groups, resources) = in_force(server, client, grant.scopes(), grant.resource_scope());
        Self {
            id: grant.id(),
            groups,
            resources,
            since: words::when(grant.created()),
            used: Some(words::when(grant.refreshed())),
            until: words::when(grant.ends()),
        }
    }

    fn of_approved(server: &AuthorizationServer, approved: &Authorization, client: Option<&Client>) -> Self {
        let (groups, resources) = in_force(server, client, approved.scopes(), approved.resource_scope());
        Self {
            id: approved.id().into(),
            groups,
            resources,
            since: words::when(approved.created()),
            used: None,
            until: words::when(approved.ends()),
        }
    }
}

/// Returns what was granted, as far as the registration still allows it: the registration limits what tokens can do.
fn in_force(
    server: &AuthorizationServer,
    client: Option<&Client>,
    scopes: &ScopeSet,
    resources: &ResourceScope,
) -> (Vec<ScopeGroup>, Resources) {
    let Some(client) = client else {
        return (words::scope_groups(&server.config().scopes, scopes), words::no_resource());
    };
    let scopes = scopes.intersection(&client.form().scopes);
    let resources = resources.reduced_to(&client.form().resource_scope);
    (words::scope_groups(&server.config().scopes, &scopes), words::resources(&resources))
}
