//! Everything that can be asked of a server, as data.

use grantor::application::{ApplicationFilter, LogoSlot};
use grantor::id::GrantId;
use grantor::server::PurgeError;
use grantor::store::{Page, RecordStore, StoreError};
use grantor::wire::message::{DeviceAuthorizationResponse, TokenResponse};
use grantor::wire::{Endpoint, Response};
use grantor::{
    Application, Approval, AuthorizationError, ClientId, Consent, Decision, PendingAuthorization, Registrar,
    RegistrarError, Subject,
};

use crate::devices;
use crate::intercepted::copy;
use crate::world::{PKCE, Pair, Reviewer as _, SESSION, World, form, logo, parameters};

/// One of the scopes of the world's client.
pub const NARROWER: &str = "repo-code:r";

/// One request or one call of your service.
#[derive(Clone, Debug)]
pub enum Step {
    Authorize,
    Hold,
    /// The user of the handle agrees to everything.
    Agree(String),
    Deny(String),
    Exchange(String),
    /// A poll with a device code.
    Poll(String),
    /// A device of the world's client asks. Its two codes are given, with a blank between them.
    AskForDevice,
    /// The world's user types a user code.
    TypeUserCode(String),
    /// The world's user gives the code of a ticket back.
    GiveUserCodeBack(String),
    /// That user takes the step in place of the world's user.
    By(Subject, Box<Self>),
    Refresh(String),
    /// A refresh that asks for one scope alone.
    Reduce(String),
    Revoke(String),
    Introspect(String),
    Authenticate(String),
    Submit,
    ApproveApplication(ClientId),
    /// Submits a change of the world's client.
    ChangeApplication,
    /// Approves the change that waits.
    ApproveChange,
    RejectApplication(ClientId),
    Suspend,
    Resume,
    RotateSecret,
    /// Retires the secret before the newest.
    RetireSecret,
    /// Everything that a registrar reads of the world's client.
    ReadApplication,
    /// Withdraws everything that the world's client has.
    WithdrawClient,
    /// Withdraws a grant, or a request or code that has not become one.
    WithdrawGrant(GrantId),
    /// Withdraws what the world's user granted to the world's client.
    WithdrawApplication,
    /// Withdraws everything of the world's user.
    WithdrawSubject,
    /// What the world's user is shown.
    ListGrants,
    /// Confirms the clock and removes expired records.
    Purge,
}

impl World {
    /// How many grants of the world's user are live.
    pub async fn live_grants(&self) -> usize {
        self.server.grants_of(&self.alice).await.unwrap().len()
    }

    /// Whether neither token of the pair works.
    pub async fn is_dead(&self, pair: &Pair) -> bool {
        let refreshed = Step::Refresh(pair.refresh.clone()).run(self).await;
        !self.opens(&pair.access).await && refreshed.error == "invalid_grant"
    }
}

/// The result of a step, in whatever way it was returned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    /// The error code of a body or a redirect.
    pub error: String,
    /// A handle, a code, a client id or a client secret.
    pub given: String,
    pub pair: Option<Pair>,
}

impl Answer {
    pub fn is_good(&self) -> bool {
        self.error.is_empty() && matches!(self.status, 200 | 302 | 303)
    }

    /// Whether it is 503 or 500, or the same error in a redirect to the client.
    pub fn is_trouble(&self) -> bool {
        self.is_transient() || self.is_permanent()
    }

    pub fn is_transient(&self) -> bool {
        match self.status {
            503 => matches!(self.error.as_str(), "" | "temporarily_unavailable"),
            status => matches!(status, 302 | 303) && self.error == "temporarily_unavailable",
        }
    }

    pub fn is_permanent(&self) -> bool {
        match self.status {
            500 => matches!(self.error.as_str(), "" | "server_error"),
            status => matches!(status, 302 | 303) && self.error == "server_error",
        }
    }

    #[track_caller]
    pub fn good(self) -> Self {
        assert!(self.is_good(), "{self:?}");
        self
    }

    #[track_caller]
    pub fn pair(self) -> Pair {
        self.good().pair.expect("a pair")
    }

    fn given(text: impl Into<String>) -> Self {
        Self { status: 200, given: text.into(), ..Self::default() }
    }

    fn done() -> Self {
        Self::given("")
    }

    fn refused(status: u16, error: impl Into<String>) -> Self {
        Self { status, error: error.into(), ..Self::default() }
    }
}

impl Step {
    pub async fn run(&self, world: &World) -> Answer {
        let registrar = || world.server.registrar().expect("the store has a registry");
        let client = world.client.client_id();
        match self {
            Self::Authorize => match pending(world).await {
                Ok(_) => Answer::done(),
                Err(error) => error.into(),
            },
            Self::Hold => hold(world, &world.alice).await,
            Self::Agree(handle) => decide(world, handle, Decision::Approve(Consent::to_everything())).await,
            Self::Deny(handle) => decide(world, handle, Decision::Deny).await,
            Self::Exchange(code) => world.exchange(code).await.into(),
            Self::Poll(code) => devices::poll(world, code).await.into(),
            Self::AskForDevice => ask_for_device(world).await,
            Self::TypeUserCode(code) => match devices::typed_by(world, code, &world.alice).await {
                Ok(ticket) => Answer::given(ticket),
                Err(error) => error.into(),
            },
            Self::GiveUserCodeBack(ticket) => {
                world.server.release_user_code(ticket, &world.alice, SESSION).await.into()
            }
            Self::By(user, step) => Box::pin(step.run(&World { alice: user.clone(), ..copy(world) })).await,
            Self::Refresh(token) => world.refresh(token).await.into(),
            Self::Reduce(token) => {
                let form = [("grant_type", "refresh_token"), ("refresh_token", token), ("scope", NARROWER)];
                world.token(&form).client(&world.client).send().await.into()
            }
            Self::Revoke(token) => world.revoke(token).await.into(),
            Self::Introspect(token) => {
                world.post(Endpoint::Introspection, &[("token", token)]).client(&world.client).send().await.into()
            }
            Self::Authenticate(token) => match world.access(token).await {
                Ok(_) => Answer::done(),
                Err(error) => error.into_response().into(),
            },
            Self::Submit => {
                let developer = Subject::new("developer").unwrap();
                let submitted = registrar().submit(developer, form(), Some(logo())).await;
                submitted.map(|id| Answer::given(id.as_str())).unwrap_or_else(Answer::from)
            }
            Self::ApproveApplication(id) => {
                let approved = registrar().approve(id, version(world, id).await, Approval::default()).await;
                approved.map(|approved| Answer::given(approved.client_id.as_str())).unwrap_or_else(Answer::from)
            }
            Self::ChangeApplication => registrar().change_now(&client, form(), None).await.into(),
            Self::ApproveChange => registrar().approve_now(&client, Approval::default()).await.into(),
            Self::RejectApplication(id) => registrar().reject(id, version(world, id).await, "not yet").await.into(),
            Self::Suspend => registrar().suspend(&client).await.into(),
            Self::Resume => registrar().resume(&client).await.into(),
            Self::RotateSecret => {
                let secret = registrar().rotate_now(&client).await;
                secret.map(|secret| Answer::given(secret.expose())).unwrap_or_else(Answer::from)
            }
            Self::RetireSecret => registrar().retire_now(&client).await.into(),
            Self::ReadApplication => read_application(&registrar(), &client).await.into(),
            Self::WithdrawClient => registrar().revoke_grants(&client).await.into(),
            Self::WithdrawGrant(id) => world.server.revoke_grant(*id, &world.alice).await.into(),
            Self::WithdrawApplication => world.server.revoke_application(&world.alice, &client).await.into(),
            Self::WithdrawSubject => world.server.revoke_subject(&world.alice).await.into(),
            Self::ListGrants => world.server.grants_of(&world.alice).await.into(),
            Self::Purge => match world.server.confirm_clock().await {
                Ok(()) => world.server.purge_expired(100).await.into(),
                Err(error) => error.into(),
            },
        }
    }
}

async fn read_application(registrar: &Registrar, id: &ClientId) -> Result<(), RegistrarError> {
    registrar.application(id).await?;
    registrar.client(id).await?;
    registrar.logo(id, LogoSlot::InForce).await?;
    registrar.list(&ApplicationFilter::AwaitingReview, Page::first(10)).await?;
    Ok(())
}

async fn ask_for_device(world: &World) -> Answer {
    let response = devices::ask(world).await;
    let codes: Option<DeviceAuthorizationResponse> = serde_json::from_slice(response.body()).ok();
    let given = codes.map(|codes| format!("{} {}", codes.device_code, codes.user_code));
    Answer { given: given.unwrap_or_default(), ..response.into() }
}

/// A valid request of the world's client.
pub async fn pending(world: &World) -> Result<PendingAuthorization, AuthorizationError> {
    world.authorize(&world.query(&PKCE)).await
}

/// A handle for that user.
pub async fn hold(world: &World, subject: &Subject) -> Answer {
    let pending = match pending(world).await {
        Ok(pending) => pending,
        Err(error) => return error.into(),
    };
    match world.server.hold(&pending, subject, SESSION).await {
        Ok(handle) => Answer::given(handle.expose()),
        Err(error) => error.into(),
    }
}

async fn decide(world: &World, handle: &str, decision: Decision) -> Answer {
    match world.server.decide(handle, &world.alice, SESSION, &decision).await {
        // A refusal is an error to the client, but the wanted result here.
        Ok(response) if decision == Decision::Deny => {
            let answer = Answer::from(response);
            if answer.error == "access_denied" { Answer::done() } else { answer }
        }
        Ok(response) => response.into(),
        Err(error) => error.into(),
    }
}

impl From<Response> for Answer {
    fn from(response: Response) -> Self {
        let status = response.status();
        if let Some(location) = response.header("Location") {
            let text = |name: &str| {
                let value = parameters(location).into_iter().find(|(own, _)| own == name);
                value.map(|(_, value)| String::from_utf8(value).unwrap()).unwrap_or_default()
            };
            return Self { status, error: text("error"), given: text("code"), pair: None };
        }
        let json: serde_json::Value = serde_json::from_slice(response.body()).unwrap_or_default();
        let token: Option<TokenResponse> = serde_json::from_slice(response.body()).ok();
        let pair = token.map(|token| Pair {
            access: token.access_token.expose().to_owned(),
            refresh: token.refresh_token.map(|token| token.expose().to_owned()).unwrap_or_default(),
            scope: token.scope.unwrap_or_default(),
        });
        Self { status, error: json["error"].as_str().unwrap_or_default().to_owned(), given: String::new(), pair }
    }
}

impl From<AuthorizationError> for Answer {
    fn from(error: AuthorizationError) -> Self {
        error.response(Some(&Subject::new("alice").unwrap())).into()
    }
}

impl From<StoreError> for Answer {
    fn from(error: StoreError) -> Self {
        Self::refused(if error.is_transient() { 503 } else { 500 }, "")
    }
}

impl From<PurgeError> for Answer {
    fn from(error: PurgeError) -> Self {
        match error {
            PurgeError::Store(error) => error.into(),
            other => Self::refused(409, other.to_string()),
        }
    }
}

impl From<RegistrarError> for Answer {
    fn from(error: RegistrarError) -> Self {
        match error {
            RegistrarError::Store(error) => error.into(),
            other => Self::refused(409, other.to_string()),
        }
    }
}

impl<T, E: Into<Self>> From<Result<T, E>> for Answer {
    fn from(result: Result<T, E>) -> Self {
        result.map_or_else(Into::into, |_| Self::done())
    }
}

/// The newest version of an application, read beside the calls that may fail.
async fn version(world: &World, id: &ClientId) -> u32 {
    RecordStore::<Application>::find(&world.store, id).await.unwrap().unwrap().version()
}
