//! Between the consent page and the redirect: the request is held, the decision taken.

use std::sync::Arc;

use crate::claim::{ATTEMPTS, After, Contended, Flow, Seen, Step, claim};
use crate::client::{Client, GrantType, Granted, NotGranted};
use crate::clock::Timestamp;
use crate::config::Config;
use crate::context::Context;
use crate::endpoint::held;
use crate::endpoint::pending::{AuthorizationError, Destination, PendingAuthorization};
use crate::error::Reason;
use crate::grant;
use crate::grant::withdraw;
use crate::hooks::{Attempt, AttemptKind, Event};
use crate::id::{AuthorizationId, IdText};
use crate::record::{Authorization, Stage};
use crate::registrar::{Registrar, must_note_use};
use crate::scope::{ConsentedResources, ResourceScope};
use crate::secret::opaque::{self, Presented};
use crate::secret::{AuthorizationHandle, Digest};
use crate::store::StoreError;
use crate::subject::Subject;
use crate::wire::{Endpoint, Response};

/// What the user decided.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decision {
    /// The user agrees to all or to a part.
    Approve(Consent),
    /// The user refuses.
    Deny,
}

/// How much the user agrees to: all that was asked, unless told otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Consent {
    scopes: Option<Vec<String>>,
    resources: Option<Vec<String>>,
}

impl Consent {
    /// Agrees to what the boxes of the page's form sent, and to nothing else.
    ///
    /// `resources` counts only where the application asked for specified ones, so it can always be
    /// passed as it came; there, no resource means a refusal, as no scope does anywhere.
    ///
    /// ```
    /// # use grantor::Consent;
    /// let account_alone = Consent::ticked(["account-profile:r"], []);
    /// let form: Vec<String> = vec!["repo-code:r".into()];
    /// let from_a_form = Consent::ticked(form.iter().map(String::as_str), []);
    /// ```
    #[must_use]
    pub fn ticked<'s, 'r>(
        scopes: impl IntoIterator<Item = &'s str>,
        resources: impl IntoIterator<Item = &'r str>,
    ) -> Self {
        Self::to_everything().scopes(scopes).resources(resources)
    }

    /// Agrees to all that was asked.
    #[must_use]
    pub fn to_everything() -> Self {
        Self::default()
    }

    /// Agrees to these scopes alone, as their tokens in the form; none means a refusal.
    #[must_use]
    pub fn scopes<'s>(mut self, tokens: impl IntoIterator<Item = &'s str>) -> Self {
        self.scopes = Some(tokens.into_iter().map(Into::into).collect());
        self
    }

    /// Agrees to these resources alone, of those the application specified; none means a refusal.
    ///
    /// Where the application did not ask for specified resources, an empty list changes nothing. Where it asked for
    /// all resources, others may be named as well, of 256 bytes in all, each counted with 4 bytes more.
    #[must_use]
    pub fn resources<'r>(mut self, resources: impl IntoIterator<Item = &'r str>) -> Self {
        self.resources = Some(resources.into_iter().map(Into::into).collect());
        self
    }
}

/// Stores the request for this user and session and returns the handle for the form.
pub(crate) async fn hold(
    context: &Context,
    pending: &PendingAuthorization,
    subject: &Subject,
    session: &[u8],
) -> Result<AuthorizationHandle, AuthorizationError> {
    let client = &pending.client;
    let destination = Destination { redirect_uri: &pending.redirect_uri, state: pending.state.as_deref() };
    if session.is_empty() {
        return Err(AuthorizationError::page_for(context, client, Reason::MissingSession));
    }
    let attempt = Attempt {
        client: Some(client.id.as_str()),
        subject: Some(subject),
        peer: pending.peer,
        ..Attempt::new(AttemptKind::HeldRequest, Endpoint::Authorization)
    };
    context.check_throttle(&attempt).await.map_err(|reason| AuthorizationError::page_for(context, client, reason))?;
    let redirect = |reason| AuthorizationError::redirect(context, client, destination, reason);
    let room = held::find_room(context, subject, &client.id).await.map_err(|error| redirect(error.into()))?;
    let now = context.now();
    let id = AuthorizationId::new(now, &*context.entropy);
    let minted = opaque::mint(&*context.entropy);
    let mut record = Authorization {
        id,
        version: 1,
        client: client.id.clone(),
        epoch: client.epoch,
        subject: Some(subject.clone()),
        session: Digest::of(session),
        created: now,
        handle: minted.digest,
        stage: Stage::Held,
        since: now,
        end: now.plus(context.config.hold_lifetime),
        redirect_uri: pending.redirect_uri.clone(),
        redirect_uri_named: pending.redirect_uri_named,
        challenge: pending.challenge,
        state: pending.state.clone(),
        scopes: pending.scopes.clone(),
        resources: ConsentedResources::whole(&client.resource_scope),
        audience: pending.audience.clone(),
    };
    // The client of the request may come from a cache: no user is asked for one that is suspended or deleted by now.
    let page = |reason| AuthorizationError::page(context, reason);
    let current = context.stores.clients.current(&client.id).await.map_err(|error| page(error.into()))?;
    let current = current.filter(|client| !context.is_gone(client));
    record.epoch = judge_client(current, &record, &context.config).map_err(page)?.epoch;
    let mut flow = Holding::new(context, record, room.place);
    claim(&context.stores, &mut flow, Some(ATTEMPTS)).await.map_err(redirect)?;
    for surplus in room.surplus {
        // The request is held; what could not be ended now is ended with the next one.
        let _ = withdraw::end_held(context, surplus).await;
    }
    let id = IdText::of(flow.record.id.octets());
    Ok(AuthorizationHandle::new(minted.text(&context.config.prefixes.handle, &id)))
}

/// One write without a read before it: the record of another request is taken over, or one is inserted. The handle
/// shows whose row was found.
struct Holding<'a> {
    context: &'a Context,
    record: Arc<Authorization>,
    place: Option<Arc<Authorization>>,
    /// The id under which the record is inserted if there is no place, or another request took it.
    id: AuthorizationId,
    has_looked: bool,
}

impl<'a> Holding<'a> {
    fn new(context: &'a Context, record: Authorization, place: Option<Arc<Authorization>>) -> Self {
        let id = record.id;
        let record = match &place {
            Some(place) => Authorization { id: place.id, version: place.version.saturating_add(1), ..record },
            None => record,
        };
        Self { context, record: Arc::new(record), place, id, has_looked: false }
    }
}

impl Flow for Holding<'_> {
    type Row = Authorization;
    type Won = ();
    type Error = Reason;

    async fn look(&mut self) -> Result<Seen<Authorization>, Reason> {
        if !std::mem::replace(&mut self.has_looked, true) {
            return Ok(self.place.clone().map_or(Seen::Unread, Seen::Found));
        }
        Ok(self.context.stores.codes.find(&self.record.id).await?.into())
    }

    fn judge(&mut self, seen: &Seen<Authorization>) -> Result<Step<Authorization, ()>, Reason> {
        match (seen, self.place.take()) {
            (Seen::Unread, _) => Ok(Step::Insert(self.record.clone(), ())),
            (Seen::Found(found), Some(place)) if found.version == place.version => {
                self.place = Some(place);
                Ok(Step::Replace(self.record.clone(), ()))
            }
            // Another request took the place, or its user decided.
            (_, Some(_)) => {
                let record = Authorization { id: self.id, version: 1, ..Authorization::clone(&self.record) };
                self.record = Arc::new(record);
                Ok(Step::Insert(self.record.clone(), ()))
            }
            // Another request has the same 96 random bits in the same minute.
            (Seen::Missing | Seen::Torn | Seen::Found(_), None) => Err(StoreError::transient(Contended).into()),
        }
    }

    fn is_done(&self, found: &Authorization, meant: &Authorization, _: After) -> bool {
        found.handle == meant.handle
    }
}

/// Takes the decision of the user who was asked, once.
pub(crate) async fn decide(
    context: &Arc<Context>,
    handle: &str,
    subject: &Subject,
    session: &[u8],
    decision: &Decision,
) -> Result<Response, AuthorizationError> {
    let now = context.now();
    let page = |reason| AuthorizationError::page(context, reason);
    let held = find_held(context, handle, Asked { subject, session }, now).await.map_err(page)?;
    let client = context.stores.clients.current(&held.client).await.map_err(|error| page(error.into()))?;
    let client = client.filter(|client| !context.is_gone(client));
    let client = judge_client(client, &held, &context.config).map_err(|reason| {
        if matches!(reason, Reason::MissingRedirectUri) {
            let uri = held.redirect_uri.as_str().as_bytes();
            return AuthorizationError::page_for_uri(context, &held.client, uri, reason);
        }
        page(reason)
    })?;
    let fail = |reason| undecided(context, &held, &client, reason);
    match judge_decision(&held, &client, decision, &context.config) {
        Ok(granted) => match context.check_subject(held.subject(), &client).await {
            Ok(()) => approve(context, &held, &client, granted, now).await,
            Err(reason) => {
                if matches!(reason, Reason::SubjectRefused) {
                    // Not the user's refusal: no event says so.
                    take(context, &held, held.denied()).await.map_err(fail)?;
                }
                Err(fail(reason))
            }
        },
        Err(Reason::AccessDenied) => deny(context, &held, &client).await,
        Err(reason @ Reason::MissingChallenge) => Err(fail(reason)),
        Err(reason) => Err(AuthorizationError::page_for(context, &client, reason)),
    }
}

/// Who answers.
struct Asked<'a> {
    subject: &'a Subject,
    session: &'a [u8],
}

/// The handle, its user and its session have to agree: this is also the form's protection against
/// requests forged by other sites [RFC 6749 section 10.12].
async fn find_held(
    context: &Context,
    handle: &str,
    asked: Asked<'_>,
    now: Timestamp,
) -> Result<Arc<Authorization>, Reason> {
    let presented =
        Presented::parse(&context.config.prefixes.handle, handle.as_bytes()).ok_or(Reason::UnknownHandle)?;
    let id = AuthorizationId::from_octets(presented.id);
    let found = context.stores.codes.find(&id).await?.ok_or(Reason::UnknownHandle)?;
    judge_held(&found, &presented.digest, &asked, now)?;
    Ok(found)
}

fn judge_held(found: &Authorization, handle: &Digest, asked: &Asked<'_>, now: Timestamp) -> Result<(), Reason> {
    let proven = found.handle == *handle && found.session == Digest::of(asked.session);
    if !proven || found.subject() != Some(asked.subject) {
        return Err(Reason::UnknownHandle);
    }
    match found.stage {
        Stage::CodeIssued(_) | Stage::Denied => Err(Reason::AlreadyDecided),
        Stage::Held if !found.since.has_come(now) => Err(Reason::HeldInTheFuture),
        Stage::Held if now >= found.end => Err(Reason::HoldExpired),
        Stage::Held => Ok(()),
    }
}

/// The client as it is now, and its redirect URI once more.
fn judge_client(client: Option<Arc<Client>>, held: &Authorization, config: &Config) -> Result<Arc<Client>, Reason> {
    let client = client.ok_or(Reason::UnknownClient)?;
    if !client.is_approved() || !client.grant_types.contains(GrantType::AuthorizationCode) {
        return Err(Reason::ClientNotApproved);
    }
    let uri = held.redirect_uri.as_str().as_bytes();
    let policy = &*config.redirect_uris_of(&client);
    let mut registered = client.redirect_uris.iter();
    if !registered.any(|registered| registered.matches(uri, policy).is_ok()) {
        return Err(Reason::MissingRedirectUri);
    }
    Ok(client)
}

/// What is granted: at most what the user saw, and what the client may still have. Nothing of it is a refusal.
fn judge_decision(
    held: &Authorization,
    client: &Client,
    decision: &Decision,
    config: &Config,
) -> Result<Granted, Reason> {
    let Decision::Approve(consent) = decision else { return Err(Reason::AccessDenied) };
    if config.needs_pkce(client) && held.challenge.is_none() {
        return Err(Reason::MissingChallenge);
    }
    let chosen = match &consent.scopes {
        None => config.scopes.known_part(&held.scopes),
        Some(tokens) => {
            let tokens = tokens.iter().map(String::as_str);
            config.scopes.select(tokens).map_err(|_| Reason::ExcessDecision)?
        }
    };
    let asked = held.resource_scope(client);
    let resource_scope = match &consent.resources {
        None => asked.clone(),
        Some(resources) if resources.is_empty() => match asked {
            ResourceScope::Specified(_) => return Err(Reason::AccessDenied),
            ResourceScope::All | ResourceScope::Public => asked.clone(),
        },
        Some(resources) => ResourceScope::specified(resources).map_err(|_| Reason::ExcessDecision)?,
    };
    if !chosen.is_subset_of(&held.scopes) || !asked.covers(&resource_scope) {
        return Err(Reason::ExcessDecision);
    }
    client.still_granted(&chosen, &resource_scope).map_err(|error| match error {
        NotGranted::NothingLeft => Reason::AccessDenied,
        NotGranted::UnknownList => Reason::ExcessDecision,
    })
}

/// Makes the code by one swap.
async fn approve(
    context: &Arc<Context>,
    held: &Arc<Authorization>,
    client: &Client,
    granted: Granted,
    now: Timestamp,
) -> Result<Response, AuthorizationError> {
    let minted = opaque::mint(&*context.entropy);
    let end = now.plus(context.config.code_lifetime);
    let next = Authorization {
        epoch: client.epoch,
        scopes: granted.scopes,
        resources: granted.resources,
        ..held.with_code(minted.digest, now, end)
    };
    let scopes = next.scopes.clone();
    note_use(context, client, end).await.map_err(|reason| undecided(context, held, client, reason))?;
    take(context, held, next).await.map_err(|reason| undecided(context, held, client, reason))?;
    let grant = held.id.into();
    context.raise(&Event::CodeIssued { grant, client: &held.client, subject: held.subject(), scopes: &scopes });
    let code = minted.text(&context.config.prefixes.code, &IdText::of(held.id.octets()));
    Ok(destination(held).code(context, &code))
}

/// A client that registered itself is kept for as long as what it gets for the code may be valid. It is written before
/// there is a code, so no grant is ever of a client that is removed as never used.
async fn note_use(context: &Arc<Context>, client: &Client, code_end: Timestamp) -> Result<(), Reason> {
    let config = &context.config;
    let until = code_end.plus(config.refresh_token_lifetime.max(config.access_token_lifetime));
    if !must_note_use(client, until) {
        return Ok(());
    }
    match Registrar::new(Arc::clone(context), grant::offered(config).collect()) {
        Some(registrar) => Ok(Box::pin(registrar.note_use(client, until)).await?),
        None => Ok(()),
    }
}

/// § 4.1.2.1: the client learns that the user refused.
async fn deny(context: &Context, held: &Arc<Authorization>, client: &Client) -> Result<Response, AuthorizationError> {
    let taken = take(context, held, held.denied()).await;
    taken.map_err(|reason| undecided(context, held, client, reason))?;
    context.raise(&Event::Denied { client: &held.client, subject: held.subject() });
    Ok(destination(held).error(context, &Reason::AccessDenied))
}

/// What keeps a decision from being taken goes to the client, unless another decision was taken.
fn undecided(context: &Context, held: &Authorization, client: &Client, reason: Reason) -> AuthorizationError {
    if matches!(reason, Reason::AlreadyDecided) {
        return AuthorizationError::page_for(context, client, reason);
    }
    AuthorizationError::redirect(context, client, destination(held), reason)
}

/// Writes the decision by one swap of the request that was judged.
async fn take(context: &Context, held: &Arc<Authorization>, next: Authorization) -> Result<(), Reason> {
    let mut flow = Deciding { context, held: held.clone(), next: Arc::new(next), has_looked: false };
    claim(&context.stores, &mut flow, Some(ATTEMPTS)).await
}

struct Deciding<'a> {
    context: &'a Context,
    held: Arc<Authorization>,
    next: Arc<Authorization>,
    has_looked: bool,
}

impl Flow for Deciding<'_> {
    type Row = Authorization;
    type Won = ();
    type Error = Reason;

    async fn look(&mut self) -> Result<Seen<Authorization>, Reason> {
        if !std::mem::replace(&mut self.has_looked, true) {
            return Ok(Seen::Found(self.held.clone()));
        }
        Ok(self.context.stores.codes.find(&self.held.id).await?.into())
    }

    fn judge(&mut self, seen: &Seen<Authorization>) -> Result<Step<Authorization, ()>, Reason> {
        match seen {
            Seen::Found(found) if found.version == self.held.version => Ok(Step::Replace(self.next.clone(), ())),
            Seen::Found(_) | Seen::Missing | Seen::Unread | Seen::Torn => Err(Reason::AlreadyDecided),
        }
    }

    /// Two refusals of one request are one.
    fn is_done(&self, found: &Authorization, meant: &Authorization, _: After) -> bool {
        found.stage == meant.stage && found.handle == meant.handle
    }
}

fn destination(held: &Authorization) -> Destination<'_> {
    Destination { redirect_uri: &held.redirect_uri, state: held.state.as_deref() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::redirect_uri::{RedirectUri, RegisteredRedirectUri};
    use crate::client::{ClientState, GrantTypes};
    use crate::grant::fixtures::{at, client, scopes};
    use crate::pkce::CodeVerifier;
    use crate::protected_resource::Audience;
    use crate::scope::ScopeSet;

    const URI: &str = "https://app.example/cb";

    /// A held request, and who answers it.
    struct Scene {
        config: Config,
        client: Option<Client>,
        held: Authorization,
        handle: Digest,
        subject: Subject,
        session: &'static [u8],
        seconds: u32,
        decision: Decision,
    }

    fn faultless() -> Scene {
        let config = Config::platform("https://auth.example");
        let mut client = client("own");
        client.redirect_uris = vec![RegisteredRedirectUri::parse(URI, &config.redirect_uris).unwrap()];
        let subject = Subject::new("alice").unwrap();
        let held = Authorization {
            id: AuthorizationId::from_octets([7; 16]),
            version: 1,
            client: client.id.clone(),
            epoch: 0,
            subject: Some(subject.clone()),
            session: Digest::of(b"session"),
            created: at(0),
            handle: Digest::of(b"handle"),
            stage: Stage::Held,
            since: at(0),
            end: at(1800),
            redirect_uri: RedirectUri::read(URI).unwrap(),
            redirect_uri_named: true,
            challenge: None,
            state: None,
            scopes: client.scopes.clone(),
            resources: ConsentedResources::whole(&client.resource_scope),
            audience: Audience::UNSET,
        };
        Scene {
            config,
            client: Some(client),
            held,
            handle: Digest::of(b"handle"),
            subject,
            session: b"session",
            seconds: 1799,
            decision: Decision::Approve(Consent::to_everything()),
        }
    }

    /// The judgements in the order in which `decide` makes them.
    fn judge(scene: &Scene) -> Result<Granted, Reason> {
        let asked = Asked { subject: &scene.subject, session: scene.session };
        judge_held(&scene.held, &scene.handle, &asked, at(scene.seconds))?;
        let client = judge_client(scene.client.clone().map(Arc::new), &scene.held, &scene.config)?;
        judge_decision(&scene.held, &client, &scene.decision, &scene.config)
    }

    fn outcome(scene: &Scene) -> String {
        judge(scene).map_or_else(|reason| format!("{reason:?}"), |_| "granted".to_owned())
    }

    fn own(scene: &mut Scene) -> &mut Client {
        scene.client.as_mut().unwrap()
    }

    type Fault = (&'static str, fn(&mut Scene));

    const FAULTS: [Fault; 10] = [
        ("UnknownHandle", |scene| scene.handle = Digest::of(b"another")),
        ("UnknownHandle", |scene| scene.session = b"another"),
        ("UnknownHandle", |scene| scene.subject = Subject::new("bob").unwrap()),
        ("HoldExpired", |scene| scene.seconds = 1800),
        ("ClientNotApproved", |scene| own(scene).state = ClientState::Suspended),
        ("ClientNotApproved", |scene| own(scene).grant_types = GrantTypes::NONE),
        ("MissingRedirectUri", |scene| own(scene).redirect_uris = Vec::new()),
        ("MissingChallenge", |scene| own(scene).privileges.require_pkce = true),
        ("ExcessDecision", |scene| {
            scene.decision = Decision::Approve(Consent::to_everything().scopes(["account-profile:r"]));
        }),
        ("AccessDenied", |scene| own(scene).scopes = ScopeSet::empty()),
    ];

    #[test]
    fn a_decision_is_refused_in_order() {
        assert_eq!(outcome(&faultless()), "granted");
        for (place, (expected, fault)) in FAULTS.iter().enumerate() {
            let mut alone = faultless();
            fault(&mut alone);
            assert_eq!(outcome(&alone), *expected, "{place} alone");
            let mut all = faultless();
            FAULTS[place..].iter().for_each(|(_, fault)| fault(&mut all));
            assert_eq!(outcome(&all), *expected, "{place} with all later ones");
        }
        let mut scene = faultless();
        scene.client = None;
        assert_eq!(outcome(&scene), "UnknownClient");
    }

    #[test]
    fn a_decided_request_is_not_decided_again() {
        for (stage, seconds, expected) in [
            (Stage::Denied, 0, "AlreadyDecided"),
            (Stage::CodeIssued(Digest::of(b"code")), 0, "AlreadyDecided"),
            (Stage::Denied, 9999, "AlreadyDecided"),
        ] {
            let mut scene = faultless();
            (scene.held.stage, scene.seconds) = (stage, seconds);
            assert_eq!(outcome(&scene), expected);
            scene.handle = Digest::of(b"another");
            assert_eq!(outcome(&scene), "UnknownHandle", "who has no handle learns nothing");
        }
    }

    #[test]
    fn a_user_grants_at_most_what_was_asked() {
        let all = || Consent::to_everything();
        let public = || ResourceScope::Public;
        let two = || ResourceScope::specified(&["a".to_owned(), "b".to_owned()]).unwrap();
        type Resources = fn() -> ResourceScope;
        let everything: Resources = || ResourceScope::All;
        let rows: [(Resources, Decision, &str); 11] = [
            (everything, Decision::Deny, "AccessDenied"),
            (everything, Decision::Approve(all()), "granted"),
            (everything, Decision::Approve(all().scopes(["repo-code:r"])), "granted"),
            (everything, Decision::Approve(all().scopes(["repo-code:r", "account-profile:r"])), "ExcessDecision"),
            (everything, Decision::Approve(all().scopes(["no such scope"])), "ExcessDecision"),
            (everything, Decision::Approve(all().scopes([])), "AccessDenied"),
            (everything, Decision::Approve(all().resources([])), "granted"),
            (public, Decision::Approve(all().resources([])), "granted"),
            (two, Decision::Approve(all().resources(["a"])), "granted"),
            (two, Decision::Approve(all().resources([])), "AccessDenied"),
            (two, Decision::Approve(all().resources(["c"])), "ExcessDecision"),
        ];
        for (number, (resources, decision, expected)) in rows.into_iter().enumerate() {
            let mut scene = faultless();
            scene.held.resources = ConsentedResources::whole(&resources());
            own(&mut scene).resource_scope = resources();
            scene.decision = decision;
            assert_eq!(outcome(&scene), expected, "{number}");
        }
        let mut scene = faultless();
        scene.decision = Decision::Approve(all().scopes(["repo-code:r"]));
        assert_eq!(judge(&scene).ok().unwrap().scopes, scopes("repo-code:r"));
    }

    #[test]
    fn a_challenge_meets_a_requirement_that_came_later() {
        let mut scene = faultless();
        own(&mut scene).privileges.require_pkce = true;
        scene.held.challenge = Some(CodeVerifier::new("v".repeat(43)).unwrap().challenge());
        assert_eq!(outcome(&scene), "granted");
        scene.held.challenge = None;
        scene.decision = Decision::Deny;
        assert_eq!(outcome(&scene), "AccessDenied");
    }
}
