//! A step of each kind, and what it must have done once it was acknowledged.

use grantor::client::ClientState;
use grantor::{Approval, ClientId, Subject};

use support::intercepted::step::{Answer, NARROWER, Step};
use support::world::{Credentials, Pair, Reviewer as _, With as _, World, form, logo};

/// A world in which a step can be taken.
pub(super) struct Scene {
    pub(super) world: World,
    /// Of another grant: only the withdrawal of everything may affect it.
    pub(super) bystander: Pair,
    pub(super) pair: Pair,
    pub(super) step: Step,
}

impl Scene {
    pub(super) async fn new(kind: Kind) -> Self {
        let world = World::platform().await;
        Self::of(world, kind).await
    }

    pub(super) async fn of(world: World, kind: Kind) -> Self {
        let bystander = world.pair().await;
        let pair = world.pair().await;
        let step = kind.step(&world, &pair).await;
        Self { world, bystander, pair, step }
    }

    pub(super) async fn live_grants(&self) -> usize {
        self.world.server.grants_of(&self.world.alice).await.unwrap().len()
    }

    pub(super) async fn client_opens(&self, client: &Credentials) -> bool {
        self.world.opens(&self.world.pair_of(client).await.access).await
    }

    /// Asserts what the step must have done once it was acknowledged.
    pub(super) async fn holds(&self, answer: Answer, case: &str) {
        let Self { world, pair, .. } = self;
        let live = self.live_grants().await;
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
                assert_eq!(Step::Agree(handle.clone()).run(world).await.status, 400, "{case}: a second code");
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
            Step::WithdrawApplication | Step::WithdrawSubject => assert!(!opens && live == 0, "{case}"),
            Step::Poll(_) | Step::AskForDevice | Step::TypeUserCode(_) | Step::GiveUserCodeBack(_) | Step::By(..) => {
                unreachable!("no kind of these: see `devices`")
            }
        }
        if !matches!(self.step, Step::WithdrawClient | Step::WithdrawApplication | Step::WithdrawSubject) {
            self.bystander_lives(case).await;
        }
    }

    pub(super) async fn bystander_lives(&self, case: &str) {
        assert!(self.world.opens(&self.bystander.access).await, "{case}: a bystander was hurt");
        assert!(Step::Refresh(self.bystander.refresh.clone()).run(&self.world).await.is_good(), "{case}");
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
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
    pub(super) const OF_TOKENS: [Self; 8] = [
        Self::Exchange,
        Self::Refresh,
        Self::RefreshInGrace,
        Self::ReduceInGrace,
        Self::RevokeRefreshToken,
        Self::RevokeAccessToken,
        Self::Introspect,
        Self::Authenticate,
    ];

    pub(super) const ALL: [Self; 28] = [
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

    pub(super) const WITHOUT_GRACE: [Self; 5] =
        [Self::Agree, Self::Exchange, Self::Refresh, Self::RevokeRefreshToken, Self::RevokeAccessToken];

    /// Whether everything of the scene is withdrawn.
    pub(super) fn withdraws_all(self) -> bool {
        matches!(self, Self::WithdrawApplication | Self::WithdrawSubject)
    }

    pub(super) async fn step(self, world: &World, pair: &Pair) -> Step {
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
            Self::WithdrawApplication | Self::WithdrawSubject => {
                // Something of each kind to withdraw.
                let _ = (handle().await, world.code().await);
                if self == Self::WithdrawSubject { Step::WithdrawSubject } else { Step::WithdrawApplication }
            }
            Self::ListGrants => Step::ListGrants,
            Self::Purge => Step::Purge,
        }
    }
}

/// An application that waits for its review.
pub(super) async fn submitted(world: &World) -> ClientId {
    let developer = Subject::new("developer").unwrap();
    world.server.registrar().unwrap().submit(developer, form(), Some(logo())).await.unwrap()
}
