//! A step of each kind, and what it must have done once it was acknowledged.

use std::time::Duration;

use grantor::client::ClientState;
use grantor::config::Profile;
use grantor::{Approval, ClientId, Subject};

use support::intercepted::copy;
use support::intercepted::step::{Answer, NARROWER, Step};
use support::world::{Credentials, Pair, Reviewer as _, With as _, World, form, logo, public_form};

/// A world in which a step can be taken.
pub(crate) struct Scene {
    pub(crate) world: World,
    /// Of another grant, and of another user where everything of a user is withdrawn: no step may affect it.
    pub(crate) bystander: Pair,
    pub(crate) pair: Pair,
    pub(crate) step: Step,
    /// What a withdrawal of everything ends as well.
    pub(crate) withdrawn: Vec<Step>,
}

/// A strict world with a public client, whose refresh tokens have no grace.
pub(crate) async fn strict_public() -> World {
    let mut world = World::with(Profile::Strict, |config| config.refresh.grace = Duration::ZERO).await;
    world.client = world.register(public_form()).await;
    world
}

impl Scene {
    pub(crate) async fn new(kind: Kind) -> Self {
        let world = World::platform().await;
        Self::of(world, kind).await
    }

    pub(crate) async fn of(world: World, kind: Kind) -> Self {
        let mut bystander = world.pair().await;
        let pair = world.pair().await;
        let mut withdrawn = Vec::new();
        if kind.withdraws_all() {
            bystander = World { alice: Subject::new("bob").unwrap(), ..copy(&world) }.pair().await;
            let handle = Step::Hold.run(&world).await.good().given;
            withdrawn.extend([Step::Agree(handle), Step::Exchange(world.code().await)]);
        }
        let step = kind.step(&world, &pair).await;
        Self { world, bystander, pair, step, withdrawn }
    }

    pub(crate) async fn client_opens(&self, client: &Credentials) -> bool {
        self.world.opens(&self.world.pair_of(client).await.access).await
    }

    /// Asserts what the step must have done once it was acknowledged.
    pub(crate) async fn holds(&self, answer: Answer, case: &str) {
        let Self { world, pair, .. } = self;
        let live = self.world.live_grants().await;
        let opens = world.opens(&pair.access).await;
        match &self.step {
            Step::Authorize
            | Step::Introspect(_)
            | Step::Authenticate(_)
            | Step::ReadApplication
            | Step::ListGrants
            | Step::Purge => {
                assert!(opens && live == 2, "{case}");
            }
            Step::Hold => {
                let code = Step::Agree(answer.given).run(world).await.good().given;
                Step::Exchange(code).run(world).await.good();
            }
            Step::Agree(handle) => {
                let second = Step::Agree(handle.clone()).run(world).await.good();
                assert_eq!(second.given, answer.given, "{case}: a second code");
                let pair = Step::Exchange(answer.given).run(world).await.pair();
                assert!(world.opens(&pair.access).await, "{case}");
            }
            Step::Deny(handle) => {
                assert_eq!(Step::Agree(handle.clone()).run(world).await.status, 400, "{case}: it was denied");
            }
            Step::Exchange(_) => {
                let given = answer.pair();
                assert!(world.opens(&given.access).await && live == 3, "{case}");
                Step::Refresh(given.refresh).run(world).await.good();
            }
            Step::Refresh(_) | Step::Reduce(_) => {
                let given = answer.pair();
                assert!(world.opens(&given.access).await && opens && live == 2, "{case}");
                Step::Refresh(given.refresh).run(world).await.good();
            }
            Step::Revoke(token) if *token == pair.access => {
                assert!(!opens && live == 2, "{case}");
                Step::Refresh(pair.refresh.clone()).run(world).await.good();
            }
            Step::Revoke(_) | Step::WithdrawGrant(_) => {
                assert!(!opens && live == 1, "{case}");
                assert_eq!(Step::Refresh(pair.refresh.clone()).run(world).await.error, "invalid_grant", "{case}");
            }
            Step::Submit => {
                let id = ClientId::new(&answer.given).unwrap();
                let registrar = world.server.registrar().unwrap();
                registrar.approve_now(&id, Approval::default()).await.unwrap();
                let secret = registrar.claim_now(&id).await.unwrap().expose().to_owned();
                assert!(self.client_opens(&Credentials { id: answer.given, secret }).await, "{case}");
            }
            Step::ApproveApplication(id) => {
                let secret = world.server.registrar().unwrap().claim_now(id).await.unwrap().expose().to_owned();
                let client = Credentials { id: id.to_string(), secret };
                assert!(self.client_opens(&client).await, "{case}");
            }
            Step::ChangeApplication => {
                let application = world.server.registrar().unwrap().application(&world.client.client_id()).await;
                assert!(application.unwrap().awaits_review(), "{case}");
            }
            Step::ApproveChange => {
                let scopes = world.access(&pair.access).await.unwrap().scopes();
                assert_eq!(scopes.as_str(), NARROWER, "{case}");
            }
            Step::RejectApplication(id) => {
                let client = world.server.registrar().unwrap().client(id).await.unwrap();
                assert_eq!(client.state(), ClientState::Rejected, "{case}");
            }
            Step::Suspend => {
                assert!(!opens, "{case}");
                Step::Resume.run(world).await.good();
            }
            Step::Resume => assert!(opens, "{case}"),
            Step::RotateSecret => {
                let client = Credentials { secret: answer.given, ..world.client.clone() };
                assert!(self.client_opens(&client).await && self.client_opens(&world.client).await, "{case}");
            }
            Step::RetireSecret => {
                // The world continues with the secret that is left.
                assert_eq!(Step::Refresh(pair.refresh.clone()).run(world).await.status, 401, "{case}");
                return;
            }
            Step::WithdrawClient => {
                assert!(!opens && live == 0, "{case}");
                assert!(self.client_opens(&world.client).await, "{case}");
            }
            Step::WithdrawApplication | Step::WithdrawSubject => {
                assert!(!opens && live == 0, "{case}");
                for step in &self.withdrawn {
                    assert_eq!(step.run(world).await.status, 400, "{case}: {step:?}");
                }
            }
            Step::Poll(_) | Step::AskForDevice | Step::TypeUserCode(_) | Step::GiveUserCodeBack(_) | Step::By(..) => {
                unreachable!("no kind of these: see `devices`")
            }
        }
        if !matches!(self.step, Step::WithdrawClient) {
            self.bystander_lives(case).await;
        }
    }

    /// Takes the step again, after a first try that may have been applied and was not answered. It must be done then,
    /// or be reported as done.
    pub(crate) async fn again(&self, kind: Kind, case: &str) {
        let again = self.step.run(&self.world).await;
        let case = format!("{case}, again: {again:?}");
        // A third secret replaces the oldest, so the first one may be gone by now.
        if kind == Kind::RotateSecret {
            let client = Credentials { secret: again.good().given, ..self.world.client.clone() };
            return assert!(self.client_opens(&client).await, "{case}");
        }
        if again.is_good() {
            return self.holds(again, &case).await;
        }
        match kind {
            // This costs a new sign-in.
            Kind::Exchange => assert_eq!((again.status, again.error.as_str()), (400, "invalid_grant"), "{case}"),
            Kind::ApproveChange | Kind::RejectApplication => {
                assert_eq!(again.status, 409, "{case}");
                return self.holds(again, &case).await;
            }
            // The state is the wanted one already.
            Kind::ApproveApplication | Kind::Suspend | Kind::Resume => assert_eq!(again.status, 409, "{case}"),
            _ => panic!("{case}"),
        }
        if kind == Kind::Suspend {
            Step::Resume.run(&self.world).await.good();
        }
        if let Step::ApproveApplication(id) = &self.step {
            let registrar = self.world.server.registrar().unwrap();
            assert_eq!(registrar.client(id).await.unwrap().state(), ClientState::Approved, "{case}");
            let secret = registrar.claim_now(id).await.unwrap().expose().to_owned();
            assert!(self.client_opens(&Credentials { id: id.to_string(), secret }).await, "{case}");
        }
        self.bystander_lives(&case).await;
        assert_eq!(self.world.live_grants().await, if kind == Kind::ApproveApplication { 3 } else { 2 }, "{case}");
    }

    pub(crate) async fn bystander_lives(&self, case: &str) {
        assert!(self.world.opens(&self.bystander.access).await, "{case}: a bystander was hurt");
        assert!(Step::Refresh(self.bystander.refresh.clone()).run(&self.world).await.is_good(), "{case}");
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Authorize,
    Hold,
    Agree,
    Deny,
    Exchange,
    Refresh,
    /// With a token that was superseded.
    RefreshInGrace,
    /// The same for another scope, which writes.
    ReduceInGrace,
    RevokeRefreshToken,
    RevokeAccessToken,
    Introspect,
    Authenticate,
    Submit,
    ApproveApplication,
    ChangeApplication,
    ApproveChange,
    RejectApplication,
    Suspend,
    Resume,
    RotateSecret,
    RetireSecret,
    ReadApplication,
    WithdrawClient,
    WithdrawGrant,
    WithdrawApplication,
    WithdrawSubject,
    ListGrants,
    Purge,
}

impl Kind {
    /// Those that issue, read or revoke tokens.
    pub(crate) const OF_TOKENS: [Self; 8] = [
        Self::Exchange,
        Self::Refresh,
        Self::RefreshInGrace,
        Self::ReduceInGrace,
        Self::RevokeRefreshToken,
        Self::RevokeAccessToken,
        Self::Introspect,
        Self::Authenticate,
    ];

    pub(crate) const ALL: [Self; 28] = [
        Self::Authorize,
        Self::Hold,
        Self::Agree,
        Self::Deny,
        Self::Exchange,
        Self::Refresh,
        Self::RefreshInGrace,
        Self::ReduceInGrace,
        Self::RevokeRefreshToken,
        Self::RevokeAccessToken,
        Self::Introspect,
        Self::Authenticate,
        Self::Submit,
        Self::ApproveApplication,
        Self::ChangeApplication,
        Self::ApproveChange,
        Self::RejectApplication,
        Self::Suspend,
        Self::Resume,
        Self::RotateSecret,
        Self::RetireSecret,
        Self::ReadApplication,
        Self::WithdrawClient,
        Self::WithdrawGrant,
        Self::WithdrawApplication,
        Self::WithdrawSubject,
        Self::ListGrants,
        Self::Purge,
    ];

    pub(crate) const WITHOUT_GRACE: [Self; 5] =
        [Self::Agree, Self::Exchange, Self::Refresh, Self::RevokeRefreshToken, Self::RevokeAccessToken];

    /// Whether everything of the scene is withdrawn.
    pub(crate) fn withdraws_all(self) -> bool {
        matches!(self, Self::WithdrawApplication | Self::WithdrawSubject)
    }

    pub(crate) async fn step(self, world: &World, pair: &Pair) -> Step {
        let handle = async || Step::Hold.run(world).await.good().given;
        match self {
            Self::Authorize => Step::Authorize,
            Self::Hold => Step::Hold,
            Self::Agree => Step::Agree(handle().await),
            Self::Deny => Step::Deny(handle().await),
            Self::Exchange => Step::Exchange(world.code().await),
            Self::Refresh => Step::Refresh(pair.refresh.clone()),
            Self::RefreshInGrace => {
                Step::Refresh(pair.refresh.clone()).run(world).await.good();
                Step::Refresh(pair.refresh.clone())
            }
            Self::ReduceInGrace => {
                Step::Refresh(pair.refresh.clone()).run(world).await.good();
                Step::Reduce(pair.refresh.clone())
            }
            Self::RevokeRefreshToken => Step::Revoke(pair.refresh.clone()),
            Self::RevokeAccessToken => Step::Revoke(pair.access.clone()),
            Self::Introspect => Step::Introspect(pair.access.clone()),
            Self::Authenticate => Step::Authenticate(pair.access.clone()),
            Self::Submit => Step::Submit,
            Self::ApproveApplication => Step::ApproveApplication(submitted(world).await),
            Self::ChangeApplication => Step::ChangeApplication,
            Self::ApproveChange => {
                let smaller = form().with(|form| form.scopes = NARROWER.into());
                let registrar = world.server.registrar().unwrap();
                registrar.change_now(&world.client.client_id(), smaller, None).await.unwrap();
                Step::ApproveChange
            }
            Self::RejectApplication => Step::RejectApplication(submitted(world).await),
            Self::Suspend => Step::Suspend,
            Self::Resume => {
                Step::Suspend.run(world).await.good();
                Step::Resume
            }
            Self::RotateSecret => Step::RotateSecret,
            Self::RetireSecret => {
                Step::RotateSecret.run(world).await.good();
                Step::RetireSecret
            }
            Self::ReadApplication => Step::ReadApplication,
            Self::WithdrawClient => Step::WithdrawClient,
            Self::WithdrawGrant => Step::WithdrawGrant(world.access(&pair.access).await.unwrap().grant().unwrap()),
            Self::WithdrawApplication => Step::WithdrawApplication,
            Self::WithdrawSubject => Step::WithdrawSubject,
            Self::ListGrants => Step::ListGrants,
            Self::Purge => Step::Purge,
        }
    }
}

/// An application that waits for its review.
pub(crate) async fn submitted(world: &World) -> ClientId {
    let developer = Subject::new("developer").unwrap();
    world.server.registrar().unwrap().submit(developer, form(), Some(logo())).await.unwrap()
}
