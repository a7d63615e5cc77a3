//! The resource API that applications call with an access token: no session, no cookie, JSON only.
//!
//! The token limits what the application can reach, and the tables limit what its user can reach: resources of other
//! users are not found.

use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{DefaultBodyLimit, FromRequestParts, Path};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use grantor::scope::{Permission, Resource};
use grantor::wire::Body;
use grantor::{Authenticated, ResourceError, ResourceServer, Subject};
use grantor_axum::{respond, to_request};
use serde::Deserialize;
use serde_json::json;
use tracing::{debug, error};

use crate::accounts::Account;
use crate::database::{Database, DatabaseError};
use crate::repositories::{self, Repository};

const BODY_BYTES: usize = 4096;
const TITLE_CHARACTERS: usize = 200;

/// The state of the handlers: the same in the process of the platform and in one of its own.
#[derive(Clone, Debug)]
pub(crate) struct Api {
    pub(crate) resource: ResourceServer,
    pub(crate) database: Database,
}

pub(crate) fn app(api: Api) -> Router {
    let routes = Router::new()
        .route("/me", get(me))
        .route("/email", get(email))
        .route("/repositories", get(list))
        .route("/repositories/{owner}/{name}/issues", get(issues).post(open_issue))
        .fallback(async || Refusal::NotFound)
        .method_not_allowed_fallback(async || Refusal::MethodNotAllowed)
        .layer(DefaultBodyLimit::max(BODY_BYTES));
    Router::new().nest("/api", routes).with_state(api)
}

type Answer = Result<Response, Refusal>;
type PathOf = Result<Path<(String, String)>, PathRejection>;

async fn me(call: Call) -> Answer {
    call.require("account-profile", Permission::Read, Resource::Account)?;
    let account = call.account().await?;
    let scope = call.token.scopes();
    Ok(Json(json!({ "user": account.subject.as_str(), "name": account.name, "scope": scope.as_str() })).into_response())
}

async fn email(call: Call) -> Answer {
    call.require("account-email", Permission::Read, Resource::Account)?;
    Ok(Json(json!({ "email": call.account().await?.email })).into_response())
}

async fn list(call: Call) -> Answer {
    const SCOPE: &str = "repo-basic-info";
    call.require(SCOPE, Permission::Read, Resource::Account)?;
    let mut repositories = repositories::all_of(&call.api.database, call.user()?).await?;
    repositories.retain(|repository| call.token.permits(SCOPE, Permission::Read, repository.resource()));
    Ok(Json(json!({ "repositories": repositories })).into_response())
}

async fn issues(call: Call, path: PathOf) -> Answer {
    let Path((owner, name)) = path.map_err(|_| Refusal::NotFound)?;
    call.repository(&owner, &name, "repo-issue", Permission::Read).await?;
    let issues = repositories::issues(&call.api.database, call.user()?, &name).await?;
    Ok(Json(json!({ "issues": issues })).into_response())
}

#[derive(Deserialize)]
struct NewIssue {
    title: String,
}

async fn open_issue(call: Call, path: PathOf, body: Result<Json<NewIssue>, JsonRejection>) -> Answer {
    let Path((owner, name)) = path.map_err(|_| Refusal::NotFound)?;
    call.repository(&owner, &name, "repo-issue", Permission::ReadWrite).await?;
    let Json(NewIssue { title }) = body.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Refusal::TooLarge,
        StatusCode::UNSUPPORTED_MEDIA_TYPE => Refusal::MediaType,
        _ => Refusal::BadRequest("the body must be a JSON object with a string \"title\""),
    })?;
    let title = title.trim();
    if title.is_empty() || title.chars().count() > TITLE_CHARACTERS || title.contains(char::is_control) {
        return Err(Refusal::BadRequest("the title must have 1 to 200 characters and no control characters"));
    }
    let issue = repositories::open_issue(&call.api.database, call.user()?, &name, title).await?;
    Ok((StatusCode::CREATED, Json(issue)).into_response())
}

/// A call with a valid access token.
struct Call {
    api: Api,
    token: Authenticated,
}

impl FromRequestParts<Api> for Call {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Refusal> {
        // Tokens are read from the header only. The handler reads the body.
        let token = api.resource.authenticate(&to_request(parts, Body::Empty)).await?;
        Ok(Self { api: api.clone(), token })
    }
}

impl Call {
    fn require(&self, scope: &str, permission: Permission, resource: Resource<'_>) -> Result<(), Refusal> {
        Ok(self.api.resource.require(&self.token, scope, permission, resource)?)
    }

    /// The user on whose behalf the application calls.
    fn user(&self) -> Result<&Subject, Refusal> {
        Ok(self.api.resource.require_subject(&self.token)?)
    }

    async fn account(&self) -> Result<Account, Refusal> {
        let found = Account::find(&self.api.database, self.user()?.as_str()).await?;
        found.ok_or(Refusal::NotFound)
    }

    /// Returns a repository of the user, if the token covers it.
    ///
    /// An unknown name counts as private. So a token that does not cover private repositories gets the same answer for
    /// a private repository and for none.
    async fn repository(
        &self,
        owner: &str,
        name: &str,
        scope: &str,
        permission: Permission,
    ) -> Result<Repository, Refusal> {
        let user = self.user()?;
        let is_own = owner == user.as_str();
        let found = if is_own { repositories::find(&self.api.database, user, name).await? } else { None };
        let asked = format!("{owner}/{name}");
        let resource = found.as_ref().map_or(Resource::Private(&asked), Repository::resource);
        self.require(scope, permission, resource)?;
        found.ok_or(Refusal::NotFound)
    }
}

/// Why a call is refused.
enum Refusal {
    /// The core's answer, with its challenge [RFC 6750 section 3].
    Token(Box<ResourceError>),
    NotFound,
    MethodNotAllowed,
    TooLarge,
    MediaType,
    BadRequest(&'static str),
    Database(DatabaseError),
}

impl From<ResourceError> for Refusal {
    fn from(error: ResourceError) -> Self {
        Self::Token(Box::new(error))
    }
}

impl From<DatabaseError> for Refusal {
    fn from(error: DatabaseError) -> Self {
        Self::Database(error)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, text) = match self {
            Self::Token(error) => return answer_of(*error),
            Self::NotFound => (StatusCode::NOT_FOUND, "the user has no such resource"),
            Self::MethodNotAllowed => (StatusCode::METHOD_NOT_ALLOWED, "the method is not allowed here"),
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "the body is too large"),
            Self::MediaType => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body must be application/json"),
            Self::BadRequest(text) => (StatusCode::BAD_REQUEST, text),
            Self::Database(error) => {
                error!("{error}");
                (StatusCode::INTERNAL_SERVER_ERROR, "the service failed")
            }
        };
        (status, Json(json!({ "error": text }))).into_response()
    }
}

/// Converts and logs a refusal. In the process of the platform the core raises no events for a resource, since each
/// call would raise one.
fn answer_of(error: ResourceError) -> Response {
    let reason = error.reason().to_string();
    let response = respond(error.into_response());
    if response.status().is_server_error() {
        error!("a call failed: {reason}");
    } else {
        debug!("a call was refused: {reason}");
    }
    response
}
