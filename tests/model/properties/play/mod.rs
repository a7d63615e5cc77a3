//! Plays a sequence on a server and on the model, and compares what both say after each step.

mod hooks;
mod look;
mod request;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use grantor::client::RefreshRotation;
use grantor::config::Profile;
use grantor::id::GrantId;
use grantor::store::{Authorization, Grant, Page, RecordStore, Store};
use grantor::testing::SeededEntropy;
use grantor::{Approval, AuthorizationServer, Decision, Subject, Timestamp};

use crate::properties::action::{Action, By, CLIENTS, Reached, USERS};
use crate::properties::model::{self, Answerer, Model, Rights, Rules, Said, Sent};
use crate::properties::play::hooks::{Noticed, Standings};
use support::world::{Credentials, Pair, Reviewer as _, START, World, config_of, form, public_form};

/// Where a handle has the id of its record, which is that of the grant too.
const ID: Range<usize> = 3..25;
/// More records than a sequence makes.
const MANY: usize = 1000;

/// A server and the model of it, and what clients and browsers keep.
pub(crate) struct Play {
    world: World,
    model: Model,
    clients: Vec<Credentials>,
    users: Vec<Subject>,
    standings: Standings,
    noticed: Noticed,
    /// Handles and codes of the requests, tokens of the pairs, ids of the families, by the model's numbers.
    handles: Vec<String>,
    codes: Vec<String>,
    pairs: Vec<Pair>,
    grants: Vec<GrantId>,
    servers: u64,
    may_keep: bool,
    /// What happened how often.
    pub(crate) tally: BTreeMap<&'static str, usize>,
}

impl Play {
    pub(crate) async fn new(profile: Profile, rules: Rules) -> Self {
        let rotation = if rules.keeps { RefreshRotation::Keep } else { RefreshRotation::Rotate };
        let (standings, noticed) = (Standings::default(), Noticed::default());
        let (asked, heard) = (standings.clone(), noticed.clone());
        let mut config = config_of(profile);
        config.public_clients = true;
        config.refresh.rotation = rotation;
        let world = World::built(config, |builder| builder.subjects(asked).events(heard)).await;
        let clients = vec![world.client.clone(), world.register(form()).await, world.register(public_form()).await];
        let described = [false, false, true].map(|is_public| model::Client {
            is_public,
            is_suspended: false,
            registered: Rights::ALL,
            withdrawals: 0,
        });
        let users = ["alice", "bob"].map(|name| Subject::new(name).unwrap()).to_vec();
        assert_eq!((clients.len(), users.len()), (CLIENTS, USERS));
        let mut model = Model::new(rules, START, described.to_vec(), USERS);
        model.revoked_for = if world.store.reads_settled() { 0 } else { model::PLACE_KEPT };
        noticed.take();
        Self {
            world,
            model,
            clients,
            users,
            standings,
            noticed,
            handles: Vec::new(),
            codes: Vec::new(),
            pairs: Vec::new(),
            grants: Vec::new(),
            servers: 0,
            may_keep: rules.keeps,
            tally: BTreeMap::new(),
        }
    }

    /// Does one thing on both sides; returns a difference as an error.
    pub(crate) async fn act(&mut self, action: &Action) -> Result<(), String> {
        match action {
            Action::Connect { client, user } => self.connect(*client, *user, Reached::Tokens).await?,
            Action::Ask { client, user, rights, has_challenge } => {
                self.ask(*client, *user, *rights, *has_challenge).await?;
            }
            Action::Approve { request, chosen, by } => {
                if let Some(request) = request.among(self.model.requests.len()) {
                    self.approve(request, *chosen, *by).await?;
                }
            }
            Action::Deny { request, by } => {
                if let Some(request) = request.among(self.model.requests.len()) {
                    let expected = self.model.deny(request, *by);
                    let (answer, _) = self.decide(request, Decision::Deny, *by).await;
                    self.agree(expected, answer)?;
                }
            }
            Action::ClickTwice { client, user } => {
                self.connect(*client, *user, Reached::Code).await?;
                let last = self.model.requests.len().checked_sub(1);
                if let Some(request) = last.filter(|request| self.model.requests[*request].is_unused()) {
                    self.approve(request, None, Answerer::TheUser).await?;
                    for _ in 0..2 {
                        self.exchange(request, By::ItsClient, Sent::Right, Sent::Right).await?;
                    }
                }
            }
            Action::ClickAgain { request } => {
                let Some(request) = request.among(self.model.requests.len()) else { return Ok(()) };
                match self.model.requests[request].given.map(|given| given.said) {
                    Some(Said::Yes(chosen)) => self.approve(request, chosen, Answerer::TheUser).await?,
                    Some(Said::No) => {
                        let expected = self.model.deny(request, Answerer::TheUser);
                        let (answer, _) = self.decide(request, Decision::Deny, Answerer::TheUser).await;
                        self.agree(expected, answer)?;
                    }
                    None => {}
                }
            }
            Action::Exchange { request, again, by, verifier, redirect_uri } => {
                let mut coded: Vec<_> =
                    (0..self.codes.len()).filter(|request| !self.codes[*request].is_empty()).collect();
                coded.retain(|request| *again || self.model.requests[*request].is_unused());
                if let Some(place) = request.among(coded.len()) {
                    self.exchange(coded[place], *by, *verifier, *redirect_uri).await?;
                }
            }
            Action::Refresh { pair, by, rights } => {
                if let Some(pair) = pair.among(self.pairs.len()) {
                    self.refresh(pair, *by, *rights).await?;
                }
            }
            Action::Burst { pair, count } => {
                if let Some(pair) = pair.among(self.pairs.len()) {
                    let family = self.model.pairs[pair].family;
                    for _ in 0..*count {
                        self.refresh(self.model.newest(family), By::ItsClient, None).await?;
                        self.compare_notices()?;
                    }
                }
            }
            Action::Forge { pair, other, place, by } => {
                let count = self.pairs.len();
                if let (Some(pair), Some(other)) = (pair.among(count), other.among(count)) {
                    self.forge(pair, other, *place, *by).await?;
                }
            }
            Action::Revoke { pair, kind, by } => {
                if let Some(pair) = pair.among(self.pairs.len()) {
                    self.revoke(pair, *kind, *by).await?;
                }
            }
            Action::Introspect { pair, by } => {
                if let Some(pair) = pair.among(self.pairs.len()) {
                    self.introspect(pair, *by).await?;
                }
            }
            Action::Withdraw { family, user } => {
                if let Some(family) = family.among(self.grants.len()) {
                    let expected = self.model.withdraw(family, *user);
                    let did = self.world.server.revoke_grant(self.grants[family], &self.users[*user]).await.unwrap();
                    self.equal("a withdrawal", &did, &expected)?;
                }
            }
            Action::WithdrawRequest { request, user } => {
                if let Some(request) = request.among(self.handles.len()) {
                    let id = &self.handles[request][ID];
                    // The record may be that of a newer request since.
                    let last = self.handles.iter().rposition(|own| own[ID] == *id).ok_or("no handle")?;
                    let expected = self.model.withdraw_request(last, *user);
                    let id = id.parse().unwrap();
                    let did = self.world.server.revoke_grant(id, &self.users[*user]).await.unwrap();
                    self.equal("a withdrawal of a request", &did, &expected)?;
                }
            }
            Action::WithdrawApplication { client, user } => {
                let expected = self.model.withdraw_all(*user, Some(*client));
                let client = self.clients[*client].client_id();
                let count = self.world.server.revoke_application(&self.users[*user], &client).await.unwrap();
                self.equal("a withdrawal of an application", &count, &expected)?;
            }
            Action::WithdrawUser { user } => {
                let expected = self.model.withdraw_all(*user, None);
                let count = self.world.server.revoke_subject(&self.users[*user]).await.unwrap();
                self.equal("a withdrawal of a user", &count, &expected)?;
            }
            Action::WithdrawClient { client } => {
                self.model.withdraw_client(*client);
                let id = self.clients[*client].client_id();
                self.world.server.registrar().unwrap().revoke_grants(&id).await.unwrap();
            }
            Action::Suspend { client } => {
                let expected = self.model.suspend(*client);
                let id = self.clients[*client].client_id();
                let did = self.world.server.registrar().unwrap().suspend(&id).await.is_ok();
                self.equal("a suspension", &did, &expected)?;
            }
            Action::Resume { client } => {
                let expected = self.model.resume(*client);
                let id = self.clients[*client].client_id();
                let did = self.world.server.registrar().unwrap().resume(&id).await.is_ok();
                self.equal("a resumption", &did, &expected)?;
            }
            Action::RegisterAnew { client, rights } => self.register_anew(*client, *rights).await,
            Action::Standing { user, standing } => {
                self.model.users[*user] = *standing;
                self.standings.set(&self.users[*user], *standing);
            }
            Action::ClockJump { seconds, client, user, reached } => {
                *self.tally.entry("a clock jump").or_default() += 1;
                let now = self.model.now;
                self.set_clock(now + seconds);
                self.connect(*client, *user, *reached).await?;
                self.set_clock(now);
            }
            Action::Advance { seconds } => self.set_clock(self.model.now + seconds),
            Action::ToAnEnd { ahead, beside } => {
                let times = self.model.boundaries().into_iter();
                let times = times.filter_map(|time| u32::try_from(i64::from(time) + beside).ok());
                let ahead_of_now: Vec<_> = times.filter(|time| *time >= self.model.now).collect();
                if let Some(time) = ahead_of_now.get(ahead % ahead_of_now.len().max(1)) {
                    self.set_clock(*time);
                }
            }
            Action::Purge => self.purge().await?,
            Action::Restart => self.restart(),
        }
        self.compare_notices()?;
        self.compare_all().await
    }

    /// Goes from the request up to that step, for a client in use.
    async fn connect(&mut self, client: usize, user: usize, reached: Reached) -> Result<(), String> {
        self.ask(client, user, None, true).await?;
        let request = self.model.requests.len().checked_sub(1);
        let request = request.filter(|_| !self.model.clients[client].is_suspended);
        let Some(request) = request.filter(|_| reached != Reached::Page) else { return Ok(()) };
        self.approve(request, None, Answerer::TheUser).await?;
        if reached == Reached::Tokens && !self.codes[request].is_empty() {
            self.exchange(request, By::ItsClient, Sent::Right, Sent::Right).await?;
        }
        Ok(())
    }

    /// Uses every refresh token and every code that was ever given, the oldest first, as their clients would.
    pub(crate) async fn use_everything(&mut self) -> Result<(), String> {
        for pair in 0..self.pairs.len() {
            self.refresh(pair, By::ItsClient, None).await?;
            self.compare_notices()?;
        }
        self.compare_all().await?;
        for request in 0..self.codes.len() {
            if !self.codes[request].is_empty() {
                self.exchange(request, By::ItsClient, Sent::Right, Sent::Right).await?;
                self.compare_notices()?;
            }
        }
        self.compare_all().await
    }

    async fn register_anew(&mut self, client: usize, rights: Rights) {
        self.model.register_anew(client, rights);
        let mut changed = if self.model.clients[client].is_public { public_form() } else { form() };
        changed.scopes = rights.text();
        let registrar = self.world.server.registrar().unwrap();
        let id = self.clients[client].client_id();
        registrar.change_now(&id, changed, None).await.unwrap();
        registrar.approve_now(&id, Approval::default()).await.unwrap();
    }

    async fn purge(&mut self) -> Result<(), String> {
        while !self.world.purge(1000).await.is_finished() {}
        let (mut requests, mut families) = (BTreeSet::new(), BTreeSet::new());
        for user in &self.users {
            let store = &self.world.store;
            let authorizations =
                RecordStore::<Authorization>::list(store, user.as_str(), Page::first(MANY)).await.unwrap();
            requests.extend(authorizations.iter().map(|authorization| authorization.id().to_string()));
            let grants = RecordStore::<Grant>::list(store, user.as_str(), Page::first(MANY)).await.unwrap();
            families.extend(grants.iter().map(|grant| grant.id().to_string()));
        }
        let among = |found: &BTreeSet<String>| {
            self.handles.iter().map(|handle| found.contains(&handle[ID])).collect::<Vec<_>>()
        };
        self.model.purged(&among(&requests), &among(&families))
    }

    /// Another server over the same store. Where clients keep their refresh token, every other one rotates it.
    fn restart(&mut self) {
        self.servers += 1;
        let mut config = self.world.server.config().clone();
        if self.may_keep {
            self.model.rules.keeps = !self.model.rules.keeps;
            let keeps = self.model.rules.keeps;
            config.refresh.rotation = if keeps { RefreshRotation::Keep } else { RefreshRotation::Rotate };
        }
        let builder = AuthorizationServer::builder(config, self.world.store.clone());
        let builder = builder.clock(self.world.clock.clone());
        let builder = builder.entropy(SeededEntropy::new(1000 + self.servers));
        let builder = builder.subjects(self.standings.clone()).events(self.noticed.clone());
        self.world.server = builder.build().unwrap();
    }

    fn set_clock(&mut self, now: u32) {
        self.model.now = now;
        self.world.clock.set(Timestamp::from_seconds(now));
    }
}
