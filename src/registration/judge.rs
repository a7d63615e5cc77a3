//! The effect of each step on an application: pure functions from the current records to the next ones.

use std::sync::Arc;

use crate::clock::Timestamp;
use crate::config::ClientLifetimes;
use crate::model::application::{Application, CheckedForm, Field, FieldError, Logo, MARK_BYTES, Problem};
use crate::model::client::{Client, ClientKeys, ClientSecrets, ClientState, ClientType, Privileges, SelfRegistration};
use crate::model::subject::Subject;
use crate::registration::approval::Approval;
use crate::registration::deletion;
use crate::registration::error::{RegistrarError, VersionsUsedUp};
use crate::registration::idle;
use crate::registration::in_force::{put_in_force, set_state};
use crate::registration::keys;
use crate::registration::reduction::Reduction;
use crate::registration::rules::{RegistrationRules, check_privileges};
use crate::registration::update::{Update, check_token, management, put_update_in_force};
use crate::scope::ResourceScope;
use crate::secret::Digest;
use crate::store::{LogoWrite, Registration};

/// The records that a step is judged by, all of one version.
#[derive(Clone, Debug)]
pub(super) struct Current {
    pub(super) client: Arc<Client>,
    pub(super) application: Arc<Application>,
    /// Read only if a step may put it in force.
    pub(super) proposed_logo: Option<Arc<Logo>>,
}

/// A change of one application.
#[derive(Debug)]
pub(super) struct Step<'a> {
    pub(super) mark: [u8; MARK_BYTES],
    /// The subject who must own the application; `None` if an administrator takes the step.
    pub(super) owner: Option<&'a Subject>,
    /// The version that the caller read, if the step names it.
    pub(super) version: Option<u32>,
    pub(super) action: Action,
}

/// What a step does.
#[derive(Debug)]
pub(super) enum Action {
    Change {
        form: Box<CheckedForm>,
        logo: Option<Arc<Logo>>,
    },
    Approve(Box<Approval>),
    Reject {
        reason: Box<str>,
    },
    Suspend,
    Resume,
    SetPrivileges(Privileges),
    Reduce(Box<Reduction>),
    ClaimSecret {
        digest: Digest,
    },
    RotateSecret {
        digest: Digest,
    },
    RevokePreviousSecret,
    EndSecrets,
    ReplaceKeys {
        keys: ClientKeys,
    },
    Transfer {
        to: Subject,
    },
    RevokeGrants,
    Delete,
    /// Notes that a client that registered itself is used until that time.
    NoteUse {
        until: Timestamp,
        limits: ClientLifetimes,
    },
    /// Evicts a client that registered itself and was never used: another client needs its place.
    Evict,
    /// Replaces the registration of a client that registered itself, at its request.
    Update(Box<Update>),
    /// Deletes the registration of a client that registered itself, at its request.
    Deregister {
        token: Digest,
    },
}

impl Step<'_> {
    /// Returns the next registration, or why the step is refused.
    ///
    /// A caller who does not own the application learns nothing about it. For any other caller, a wrong state is
    /// reported before a change since the read.
    pub(super) fn judge(
        &self,
        current: &Current,
        rules: &RegistrationRules,
        now: Timestamp,
    ) -> Result<Registration, RegistrarError> {
        let application = &current.application;
        let is_owner = self.owner.is_none() || application.owner.as_ref() == self.owner;
        if application.state == ClientState::Deleted || !is_owner || self.would_revive(&current.client, now) {
            return Err(RegistrarError::NotFound);
        }
        let mut next = successor(current)?;
        next.application.mark = self.mark;
        self.act(&mut next, current, rules, now)?;
        if self.version.is_some_and(|version| version != application.version) {
            return Err(RegistrarError::ChangedMeanwhile);
        }
        if matches!(self.action, Action::ClaimSecret { .. }) && current.client.has_secret() {
            return Err(RegistrarError::SecretExists);
        }
        Ok(next)
    }

    fn act(
        &self,
        next: &mut Registration,
        current: &Current,
        rules: &RegistrationRules,
        now: Timestamp,
    ) -> Result<(), RegistrarError> {
        match &self.action {
            Action::Change { form, logo } => change(next, form, logo.as_ref(), now)?,
            Action::Approve(approval) => {
                approve(next, approval, rules)?;
                next.application.decided = Some(now);
                if let Some(logo) = &current.proposed_logo {
                    next.logo = LogoWrite::Put(Arc::clone(logo));
                }
            }
            Action::Reject { reason } => {
                reject(next)?;
                next.application.decided = Some(now);
                next.application.rejection = Some(reason.clone());
            }
            Action::Suspend => turn(next, ClientState::Approved, ClientState::Suspended)?,
            Action::Resume => turn(next, ClientState::Suspended, ClientState::Approved)?,
            Action::SetPrivileges(privileges) => {
                refuse_first_party(&next.application)?;
                require_approved(&next.client)?;
                check_privileges(&next.client, privileges)?;
                next.client.privileges = *privileges;
            }
            Action::Reduce(reducing) => {
                refuse_first_party(&next.application)?;
                require_approved(&next.client)?;
                next.application.form = reducing.judge(&next.application.form, &rules.catalog)?;
                put_in_force(&mut next.client, &next.application.form);
                // The client must not regain by itself what a person removed.
                let_updates_await_review(&mut next.application);
            }
            Action::ClaimSecret { digest } | Action::RotateSecret { digest } => {
                require_secret(&next.client)?;
                next.client.secrets = next.client.secrets.rotated(*digest);
            }
            Action::RevokePreviousSecret => {
                require_secret(&next.client)?;
                next.client.secrets = next.client.secrets.without_previous();
            }
            Action::EndSecrets => {
                refuse_first_party(&next.application)?;
                require_secret(&next.client)?;
                next.client.secrets = ClientSecrets::default();
            }
            Action::ReplaceKeys { keys } => {
                refuse_first_party(&next.application)?;
                require_approved(&next.client)?;
                keys::replace(next, keys, &rules.keys)?;
            }
            Action::Transfer { to } => transfer(next, to)?,
            Action::RevokeGrants => next.client.revoke_grants(),
            Action::Delete => *next = deletion::tombstone(next, now.plus(rules.reservation)),
            Action::NoteUse { until, limits } => note_use(next, *until, limits),
            Action::Evict if idle::may_give_way(&next.application) => {
                // Its id is random, and no token of it was ever issued.
                *next = deletion::tombstone(next, now);
            }
            Action::Evict => return Err(RegistrarError::ChangedMeanwhile),
            Action::Update(update) => update.judge(next, rules, now)?,
            Action::Deregister { token } => {
                check_token(&next.client, &next.application, token, now)?;
                *next = deletion::tombstone(next, now.plus(rules.reservation));
            }
        }
        Ok(())
    }

    /// Returns whether the step would revive tokens that ended with the registration, since a reviewed client has no
    /// end.
    fn would_revive(&self, client: &Client, now: Timestamp) -> bool {
        let is_gone = client.is_gone_at(now);
        let was_used = client.open().is_some_and(|open| open.used_until.is_some());
        is_gone && was_used && matches!(self.action, Action::Approve(_))
    }

    /// Returns whether the step may put the proposed logo in force. The logo must then be read.
    pub(super) const fn may_move_logo(&self) -> bool {
        matches!(self.action, Action::Approve(_))
    }

    /// Returns whether the step would change nothing, because the use is already noted.
    pub(super) fn is_needless(&self, client: &Client) -> bool {
        let Action::NoteUse { until, .. } = &self.action else { return false };
        client.state != ClientState::Deleted && !idle::must_note_use(client, *until)
    }

    /// Returns whether the client has the secret that this step creates: then the step took effect.
    pub(super) fn is_carried_by(&self, client: &Client) -> bool {
        match &self.action {
            Action::ClaimSecret { digest } | Action::RotateSecret { digest } => client.secrets.prove(digest),
            Action::Change { .. }
            | Action::Approve(_)
            | Action::Reject { .. }
            | Action::Suspend
            | Action::Resume
            | Action::SetPrivileges(_)
            | Action::Reduce(_)
            | Action::RevokePreviousSecret
            | Action::EndSecrets
            | Action::ReplaceKeys { .. }
            | Action::Transfer { .. }
            | Action::RevokeGrants
            | Action::Delete
            | Action::NoteUse { .. }
            | Action::Evict
            | Action::Update(_)
            | Action::Deregister { .. } => false,
        }
    }
}

fn successor(current: &Current) -> Result<Registration, RegistrarError> {
    let version = current.client.version.checked_add(1).ok_or(VersionsUsedUp)?;
    Ok(Registration {
        client: Client { version, ..Client::clone(&current.client) },
        application: Application { version, ..Application::clone(&current.application) },
        logo: LogoWrite::Keep,
        proposed_logo: LogoWrite::Keep,
    })
}

fn change(
    next: &mut Registration,
    form: &CheckedForm,
    logo: Option<&Arc<Logo>>,
    now: Timestamp,
) -> Result<(), RegistrarError> {
    let logo = logo.map_or(LogoWrite::Keep, |logo| LogoWrite::Put(Arc::clone(logo)));
    next.application.submitted = now;
    match next.application.state {
        ClientState::Pending | ClientState::Rejected => {
            set_state(next, ClientState::Pending);
            put_in_force(&mut next.client, form);
            next.application.form = form.clone();
            next.logo = logo;
        }
        ClientState::Approved | ClientState::Suspended => {
            let fixed = [
                (Field::ClientType, form.client_type == next.client.client_type),
                (Field::ApplicationType, form.application_type == next.client.application_type),
            ];
            let changed = fixed.iter().filter(|(_, is_same)| !is_same);
            let errors: Vec<_> = changed.map(|(field, _)| FieldError::new(*field, Problem::Fixed)).collect();
            if !errors.is_empty() {
                return Err(RegistrarError::Invalid(errors));
            }
            next.application.proposed = Some(form.clone());
            next.proposed_logo = logo;
        }
        ClientState::Deleted => return Err(RegistrarError::WrongState(ClientState::Deleted)),
    }
    Ok(())
}

fn approve(next: &mut Registration, approval: &Approval, rules: &RegistrationRules) -> Result<(), RegistrarError> {
    let proposed = next.application.proposed.take();
    let first_review = next.application.is_unreviewed();
    let asked = match (next.application.state, &proposed) {
        (ClientState::Pending, _) => &next.application.form,
        // A policy approved it before; now a person does.
        (ClientState::Approved | ClientState::Suspended, None) if first_review => &next.application.form,
        (ClientState::Approved | ClientState::Suspended, Some(proposed)) => proposed,
        (ClientState::Approved | ClientState::Suspended, None) => return Err(RegistrarError::NothingProposed),
        (state @ (ClientState::Rejected | ClientState::Deleted), _) => return Err(RegistrarError::WrongState(state)),
    };
    let mut form = match &next.application.open {
        Some(_) if first_review => rules.check_open(asked, approval)?,
        Some(_) => rules.check_again(&approval.supply(asked))?,
        None => rules.check_again(asked)?,
    };
    for (field, approved, asked) in [
        (Field::Scopes, &approval.scopes, &mut form.scopes),
        (Field::ClientScopes, &approval.client_scopes, &mut form.client_scopes),
    ] {
        let Some(approved) = approved else { continue };
        let refused = |error| RegistrarError::Invalid(vec![FieldError::new(field, Problem::Scope(error))]);
        let scopes = rules.catalog.parse(approved.as_bytes()).map_err(refused)?;
        if !scopes.is_subset_of(asked) {
            return Err(RegistrarError::ScopesNotAsked);
        }
        *asked = scopes;
    }
    let had_all = next.application.state != ClientState::Pending && next.client.client_resources == ResourceScope::All;
    match &approval.client_resources {
        Some(ResourceScope::Public) => {
            let refused = FieldError::new(Field::ClientResources, Problem::NotOffered);
            return Err(RegistrarError::Invalid(vec![refused]));
        }
        Some(resources) if form.client_resources.covers(resources) => form.client_resources = resources.clone(),
        Some(_) => return Err(RegistrarError::ScopesNotAsked),
        // `All` must be approved explicitly.
        None if form.client_resources == ResourceScope::All && !had_all => {
            form.client_resources = ResourceScope::none();
        }
        None => {}
    }
    put_in_force(&mut next.client, &form);
    put_update_in_force(next);
    check_privileges(&next.client, &approval.privileges)?;
    next.client.privileges = next.client.privileges.with(approval.privileges);
    next.application.form = form;
    next.application.rejection = None;
    next.proposed_logo = LogoWrite::Clear;
    if first_review {
        mark_reviewed(next, approval);
    }
    if next.application.state == ClientState::Pending {
        set_state(next, ClientState::Approved);
    }
    Ok(())
}

/// Marks the client as reviewed: it frees its place, and its registration does not end.
fn mark_reviewed(next: &mut Registration, approval: &Approval) {
    next.logo = approval.logo.as_ref().map_or(LogoWrite::Keep, |logo| LogoWrite::Put(Arc::new(logo.clone())));
    if let Some(open) = &mut next.client.open {
        let reviewed =
            SelfRegistration { is_reviewed: true, end: None, gone_at: None, ..SelfRegistration::clone(open) };
        *open = Arc::new(reviewed);
    }
    if let Some(open) = &mut next.application.open {
        (open.slot, open.gone_at) = (None, None);
    }
    let_updates_await_review(&mut next.application);
}

/// Makes every later update that the client sends await review.
fn let_updates_await_review(application: &mut Application) {
    if let Some(management) = management(application) {
        management.updates_await_review = true;
    }
}

/// Keeps the client until that time plus a day, so that this is written at most once a day.
fn note_use(next: &mut Registration, until: Timestamp, limits: &ClientLifetimes) {
    let (Some(client), Some(application)) = (&mut next.client.open, &mut next.application.open) else { return };
    let used_until = Some(until.plus(idle::DAY));
    let noted = idle::with_end(&SelfRegistration { used_until, ..SelfRegistration::clone(client) }, limits);
    (application.is_used, application.gone_at) = (true, noted.gone_at);
    *client = Arc::new(noted);
}

/// Transfers the application as it is, without a change that the previous owner proposed.
fn transfer(next: &mut Registration, to: &Subject) -> Result<(), RegistrarError> {
    refuse_first_party(&next.application)?;
    next.application.proposed = None;
    next.proposed_logo = LogoWrite::Clear;
    if let Some(open) = &mut next.application.open {
        // The owner manages it from here on, not the client.
        open.management = None;
    }
    if next.application.owner.as_ref() != Some(to) {
        next.client.secrets = next.client.secrets.under_another_owner();
        next.client.mark_keys_of_previous_owner();
        next.application.owner = Some(to.clone());
    }
    Ok(())
}

fn reject(next: &mut Registration) -> Result<(), RegistrarError> {
    match next.application.state {
        ClientState::Pending => set_state(next, ClientState::Rejected),
        state @ (ClientState::Rejected | ClientState::Deleted) => return Err(RegistrarError::WrongState(state)),
        ClientState::Approved | ClientState::Suspended => {
            next.application.proposed.take().ok_or(RegistrarError::NothingProposed)?;
            if let Some(management) = management(&mut next.application) {
                management.proposed = None;
            }
            next.proposed_logo = LogoWrite::Clear;
        }
    }
    Ok(())
}

fn turn(next: &mut Registration, from: ClientState, to: ClientState) -> Result<(), RegistrarError> {
    if next.application.state != from {
        return Err(RegistrarError::WrongState(next.application.state));
    }
    set_state(next, to);
    Ok(())
}

fn require_secret(client: &Client) -> Result<(), RegistrarError> {
    if client.client_type == ClientType::Public {
        return Err(RegistrarError::PublicClient);
    }
    if !client.authentication_methods.use_secret() {
        return Err(RegistrarError::NoSecret);
    }
    require_approved(client)
}

const fn require_approved(client: &Client) -> Result<(), RegistrarError> {
    match client.state {
        ClientState::Approved | ClientState::Suspended => Ok(()),
        state @ (ClientState::Pending | ClientState::Rejected | ClientState::Deleted) => {
            Err(RegistrarError::WrongState(state))
        }
    }
}

/// Refuses the step for a first-party client: the next start would undo it.
const fn refuse_first_party(application: &Application) -> Result<(), RegistrarError> {
    if application.is_first_party() { Err(RegistrarError::FirstParty) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::model::application::{ApplicationForm, RegistrationLimits};
    use crate::model::client::{ApplicationType, GrantType, GrantTypes, KeyRules, RefreshRotation};
    use crate::model::id::ClientId;
    use crate::model::redirect_uri::{LoopbackHttp, RedirectUriPolicy};
    use crate::registration::submission::Submission;
    use crate::scope::{ScopeCatalog, ScopeDefinition};

    const NOW: Timestamp = Timestamp::from_seconds(100);
    const STATES: [ClientState; 4] =
        [ClientState::Pending, ClientState::Approved, ClientState::Rejected, ClientState::Suspended];

    fn alice() -> Subject {
        Subject::new("alice").unwrap()
    }

    /// Returns a step of an administrator who names no version.
    fn step(action: Action) -> Step<'static> {
        Step { mark: [1; 16], owner: None, version: None, action }
    }

    fn change_to(form: &ApplicationForm, logo: Option<Arc<Logo>>) -> Step<'static> {
        step(Action::Change { form: Box::new(checked(form)), logo })
    }

    fn rules() -> RegistrationRules {
        RegistrationRules {
            catalog: ScopeCatalog::platform(),
            limits: RegistrationLimits::default(),
            redirect_uris: RedirectUriPolicy::default(),
            public_clients: true,
            grant_types: GrantType::ALL.iter().copied().collect(),
            keys: KeyRules::of_tests(),
            reservation: Duration::from_secs(1000),
        }
    }

    fn form() -> ApplicationForm {
        let mut form = ApplicationForm::new("Demo", "https://demo.example");
        form.redirect_uris = vec!["https://demo.example/cb".to_owned()];
        form.scopes = "repo-code:rw account-email".to_owned();
        form.resource_scope = Some(ResourceScope::All);
        form
    }

    fn checked(form: &ApplicationForm) -> CheckedForm {
        let rules = rules();
        form.check(&rules.limits, &rules.catalog, &rules.redirect_uris).unwrap()
    }

    fn logo() -> Arc<Logo> {
        Arc::new(Logo::decode(*b"GIF89a\x01\0\x01\0\x80\0\0").unwrap())
    }

    fn current(form: &ApplicationForm, state: ClientState) -> Current {
        let (owner, now) = (Some(alice()), Timestamp::from_seconds(1));
        let submission = Submission { owner, form: checked(form), logo: Some(logo()), now, mark: [0; 16], open: None };
        let mut registration = submission.registration(ClientId::new("demo").unwrap());
        assert_eq!(registration.client.secrets.current, None);
        set_state(&mut registration, state);
        if matches!(state, ClientState::Approved | ClientState::Suspended) {
            registration.client.secrets = registration.client.secrets.rotated(Digest::of(b"first"));
        }
        into_current(registration)
    }

    fn into_current(registration: Registration) -> Current {
        assert_eq!(registration.client.version, registration.application.version);
        assert_eq!(registration.client.state, registration.application.state);
        let (client, application) = (Arc::new(registration.client), Arc::new(registration.application));
        Current { client, application, proposed_logo: None }
    }

    fn with_proposed(form: &ApplicationForm, proposed: &ApplicationForm, state: ClientState) -> Current {
        let next = change_to(proposed, Some(logo())).judge(&current(form, state), &rules(), NOW).unwrap();
        assert!(matches!((&next.logo, &next.proposed_logo), (LogoWrite::Keep, LogoWrite::Put(_))));
        Current { proposed_logo: Some(logo()), ..into_current(next) }
    }

    fn renamed(name: &str) -> ApplicationForm {
        ApplicationForm { name: name.to_owned(), ..form() }
    }

    /// Returns a step of a reviewer who read the current version.
    fn approve_with(current: &Current, approval: Approval) -> Step<'static> {
        Step { version: Some(current.application.version), ..step(Action::Approve(Box::new(approval))) }
    }

    fn reject_as_read(current: &Current) -> Step<'static> {
        Step { version: Some(current.application.version), ..step(Action::Reject { reason: "no".into() }) }
    }

    /// D-25: a form that the reviewer has not read is not decided.
    #[test]
    fn what_changed_since_it_was_read_is_not_decided() {
        let read = current(&form(), ClientState::Pending);
        let step = change_to(&renamed("Other"), None);
        let changed = into_current(step.judge(&read, &rules(), NOW).unwrap());
        for step in [approve_with(&read, Approval::default()), reject_as_read(&read)] {
            assert!(matches!(step.judge(&changed, &rules(), NOW), Err(RegistrarError::ChangedMeanwhile)));
            assert!(step.judge(&read, &rules(), NOW).is_ok());
        }
    }

    /// D-25: what each step does in each state, without a proposed change.
    #[test]
    fn states_move_as_described() {
        use ClientState::{Approved, Deleted, Pending, Rejected, Suspended};
        let (pending, approved) = (Err("the application is pending"), Err("the application is approved"));
        let (rejected, suspended) = (Err("the application is rejected"), Err("the application is suspended"));
        let nothing = Err("the application has no change that awaits review");
        let exists = Err("the application has a secret: rotate_secret makes the next one");
        let digest = Digest::of(b"next");
        let in_use = [pending, Ok(Approved), rejected, Ok(Suspended)];
        let always = [Ok(Pending), Ok(Approved), Ok(Rejected), Ok(Suspended)];
        let rows = [
            (change_to(&form(), None).action, [Ok(Pending), Ok(Approved), Ok(Pending), Ok(Suspended)]),
            (Action::Approve(Box::default()), [Ok(Approved), nothing, rejected, nothing]),
            (Action::Reject { reason: "no".into() }, [Ok(Rejected), nothing, rejected, nothing]),
            (Action::Suspend, [pending, Ok(Suspended), rejected, suspended]),
            (Action::Resume, [pending, approved, rejected, Ok(Approved)]),
            (Action::SetPrivileges(Privileges::default()), in_use),
            (Action::Reduce(Box::default()), in_use),
            (Action::ClaimSecret { digest }, [pending, exists, rejected, exists]),
            (Action::RotateSecret { digest }, in_use),
            (Action::RevokePreviousSecret, in_use),
            (Action::EndSecrets, in_use),
            (Action::Transfer { to: alice() }, always),
            (Action::RevokeGrants, always),
            (Action::Delete, [Ok(Deleted); 4]),
        ];
        for (action, expected) in rows {
            let step = step(action);
            for (state, expected) in STATES.into_iter().zip(expected) {
                let next = step.judge(&current(&form(), state), &rules(), NOW);
                let versions = next.as_ref().map_or((2, 2), |next| (next.client.version, next.application.version));
                assert_eq!(versions, (2, 2));
                let outcome = next.map(|next| into_current(next).client.state).map_err(|error| error.to_string());
                assert_eq!(outcome, expected.map_err(str::to_owned), "{step:?} when {state:?}");
            }
            let deleted = deleted(&current(&form(), Approved));
            assert!(matches!(step.judge(&deleted, &rules(), NOW), Err(RegistrarError::NotFound)), "{step:?}");
        }
    }

    fn deleted(current: &Current) -> Current {
        into_current(step(Action::Delete).judge(current, &rules(), NOW).unwrap())
    }

    /// ADM-12
    #[test]
    fn a_step_that_names_the_owner_is_the_owners() {
        let current = current(&form(), ClientState::Pending);
        let (owner, other) = (alice(), Subject::new("bob").unwrap());
        let owned = |owner| Step { owner: Some(owner), version: Some(7), ..step(Action::RevokeGrants) };
        assert!(matches!(owned(&owner).judge(&current, &rules(), NOW), Err(RegistrarError::ChangedMeanwhile)));
        assert!(matches!(owned(&other).judge(&current, &rules(), NOW), Err(RegistrarError::NotFound)));
        let application = Arc::new(Application { owner: None, ..Application::clone(&current.application) });
        let ownerless = Current { application, ..current };
        assert!(matches!(owned(&owner).judge(&ownerless, &rules(), NOW), Err(RegistrarError::NotFound)));
    }

    /// D-26, ADM-11
    #[test]
    fn an_approval_makes_no_secret_and_a_claim_the_first() {
        let pending = current(&form(), ClientState::Pending);
        let next = approve_with(&pending, Approval::default().require_pkce().trusted().may_introspect())
            .judge(&pending, &rules(), NOW)
            .unwrap();
        assert_eq!(next.client.secrets, ClientSecrets::default());
        let Privileges { require_pkce, trusted, may_introspect, .. } = next.client.privileges;
        assert!(require_pkce && trusted && may_introspect);
        assert_eq!(next.application.decided, Some(NOW));
        let approved = into_current(next);
        let claim =
            |version| Step { version: Some(version), ..step(Action::ClaimSecret { digest: Digest::of(b"secret") }) };
        assert!(matches!(claim(1).judge(&approved, &rules(), NOW), Err(RegistrarError::ChangedMeanwhile)));
        let next = claim(2).judge(&approved, &rules(), NOW).unwrap();
        assert!(claim(2).is_carried_by(&next.client));
        let claimed = into_current(next);
        assert!(matches!(claim(2).judge(&claimed, &rules(), NOW), Err(RegistrarError::ChangedMeanwhile)));
        assert!(matches!(claim(3).judge(&claimed, &rules(), NOW), Err(RegistrarError::SecretExists)));
        let next = step(Action::EndSecrets).judge(&claimed, &rules(), NOW).unwrap();
        assert_eq!(next.client.secrets, ClientSecrets::default());
    }

    /// ADM-05
    #[test]
    fn only_a_confidential_web_application_gets_what_needs_a_secret_of_its_own() {
        let public = ApplicationForm { client_type: ClientType::Public, ..form() };
        let native = ApplicationForm { application_type: ApplicationType::Native, ..form() };
        let introspects = Privileges { may_introspect: true, ..Privileges::default() };
        let keeps = Privileges { refresh_rotation: Some(RefreshRotation::Keep), ..Privileges::default() };
        let others = Privileges { trusted: true, require_pkce: true, ..Privileges::default() };
        for (form, is_refused) in [(public, true), (native, true), (form(), false)] {
            let pending = current(&form, ClientState::Pending);
            let approved = current(&form, ClientState::Approved);
            for (privileges, is_refused) in [(introspects, is_refused), (keeps, is_refused), (others, false)] {
                let outcome = step(Action::SetPrivileges(privileges)).judge(&approved, &rules(), NOW);
                assert_eq!(matches!(outcome, Err(RegistrarError::PublicClient)), is_refused);
                if let Ok(next) = outcome {
                    assert_eq!(next.client.privileges(), privileges);
                    let taken = step(Action::SetPrivileges(Privileges::default()));
                    let next = taken.judge(&into_current(next), &rules(), NOW).unwrap();
                    assert_eq!(next.client.privileges(), Privileges::default());
                }
            }
            for approval in
                [Approval::default().may_introspect(), Approval::default().refresh_rotation(RefreshRotation::Keep)]
            {
                let outcome = approve_with(&pending, approval).judge(&pending, &rules(), NOW);
                assert_eq!(matches!(outcome, Err(RegistrarError::PublicClient)), is_refused);
            }
        }
    }

    /// ADM-08
    #[test]
    fn a_transfer_drops_what_was_proposed_and_marks_the_secrets() {
        let before = with_proposed(&form(), &renamed("New"), ClientState::Approved);
        let bob = Subject::new("bob").unwrap();
        let next = step(Action::Transfer { to: bob.clone() }).judge(&before, &rules(), NOW).unwrap();
        assert!(matches!((&next.logo, &next.proposed_logo), (LogoWrite::Keep, LogoWrite::Clear)));
        assert_eq!((next.application.owner(), next.application.proposed()), (Some(&bob), None));
        assert!(next.client.has_secret_of_previous_owner());
        let rotated = step(Action::RotateSecret { digest: Digest::of(b"new") });
        let next = rotated.judge(&into_current(next), &rules(), NOW).unwrap();
        assert!(next.client.has_secret_of_previous_owner());
        let next = step(Action::RevokePreviousSecret).judge(&into_current(next), &rules(), NOW).unwrap();
        assert!(!next.client.has_secret_of_previous_owner() && next.client.has_secret());
        let same = step(Action::Transfer { to: alice() }).judge(&before, &rules(), NOW).unwrap();
        assert!(!same.client.has_secret_of_previous_owner());
    }

    /// ADM-07
    #[test]
    fn a_deletion_leaves_the_id_alone() {
        let before = with_proposed(&form(), &renamed("New"), ClientState::Approved);
        let next = step(Action::Delete).judge(&before, &rules(), NOW).unwrap();
        assert!(matches!((&next.logo, &next.proposed_logo), (LogoWrite::Clear, LogoWrite::Clear)));
        let id = before.client.id.clone();
        let blank = Client { version: 3, epoch: 1, state: ClientState::Deleted, ..Client::blank(id) };
        assert_eq!(next.client, blank);
        assert_eq!(next.application.reserved_until, Some(Timestamp::from_seconds(1100)));
        let text = format!("{:?}", next.application);
        assert!(["alice", "Demo", "New", "demo.example", "repo"].iter().all(|erased| !text.contains(erased)), "{text}");
    }

    /// D-25
    #[test]
    fn a_change_waits_beside_the_version_in_force() {
        for state in [ClientState::Approved, ClientState::Suspended] {
            let changed = with_proposed(&form(), &renamed("New"), state);
            let before = current(&form(), state);
            assert_eq!(Client { version: 1, ..Client::clone(&changed.client) }, *before.client);
            assert_eq!(changed.application.form.name(), "Demo");
            assert_eq!(changed.application.proposed.as_ref().unwrap().name(), "New");

            let next = approve_with(&changed, Approval::default()).judge(&changed, &rules(), NOW).unwrap();
            assert_eq!((&*next.client.name, next.client.state), ("New", state));
            assert_eq!((next.application.form.name(), &next.application.proposed), ("New", &None));
            assert!(matches!((&next.logo, &next.proposed_logo), (LogoWrite::Put(_), LogoWrite::Clear)));

            let next = reject_as_read(&changed).judge(&changed, &rules(), NOW).unwrap();
            assert_eq!((&*next.client.name, next.client.state), ("Demo", state));
            assert_eq!((next.application.proposed(), next.application.rejection()), (None, Some("no")));
            assert!(matches!((&next.logo, &next.proposed_logo), (LogoWrite::Keep, LogoWrite::Clear)));
        }
    }

    #[test]
    fn a_rejected_form_can_be_submitted_again() {
        let pending = current(&form(), ClientState::Pending);
        let rejected = into_current(reject_as_read(&pending).judge(&pending, &rules(), NOW).unwrap());
        let step = change_to(&renamed("New"), Some(logo()));
        let next = step.judge(&rejected, &rules(), NOW).unwrap();
        assert_eq!((next.client.name(), next.client.state), ("New", ClientState::Pending));
        assert_eq!((next.application.form.name(), next.application.rejection()), ("New", Some("no")));
        assert!(matches!((&next.logo, &next.proposed_logo), (LogoWrite::Put(_), LogoWrite::Keep)));
        let again = into_current(next);
        let next = approve_with(&again, Approval::default()).judge(&again, &rules(), NOW).unwrap();
        assert_eq!(next.application.rejection(), None);
    }

    #[test]
    fn the_kind_of_an_approved_application_is_fixed() {
        let mut other = form();
        other.client_type = ClientType::Public;
        other.application_type = ApplicationType::Native;
        let step = change_to(&other, None);
        let error = step.judge(&current(&form(), ClientState::Approved), &rules(), NOW).unwrap_err();
        assert_eq!(
            error.to_string(),
            "refused: client_type: cannot change once the application is approved; \
             application_type: cannot change once the application is approved"
        );
        let next = step.judge(&current(&form(), ClientState::Pending), &rules(), NOW).unwrap();
        assert_eq!(
            (next.client.client_type, next.client.application_type),
            (ClientType::Public, ApplicationType::Native)
        );
    }

    #[test]
    fn no_more_scopes_are_approved_than_asked_for() {
        let pending = current(&form(), ClientState::Pending);
        let approve = |wire: &str| {
            let next = approve_with(&pending, Approval::default().scopes(wire)).judge(&pending, &rules(), NOW);
            next.map(|next| {
                assert_eq!(next.client.scopes, next.application.form.scopes);
                next.client.scopes.as_str().to_owned()
            })
        };
        assert_eq!(approve("repo-code:r").unwrap(), "repo-code:r");
        assert_eq!(approve("account-email repo-code:rw").unwrap(), "repo-code:rw account-email:r");
        assert!(matches!(approve("repo-code:r account-email:rw"), Err(RegistrarError::ScopesNotAsked)));
        assert!(matches!(approve("repo-delete:rw"), Err(RegistrarError::ScopesNotAsked)));
        assert!(matches!(approve(""), Err(RegistrarError::Invalid(_))));
        assert!(matches!(approve("nothing"), Err(RegistrarError::Invalid(_))));
    }

    #[test]
    fn approval_checks_the_form_under_the_rules_of_now() {
        let public = ApplicationForm { client_type: ClientType::Public, ..form() };
        let loopback = ApplicationForm { redirect_uris: vec!["http://localhost/cb".to_owned()], ..form() };
        let refusal = |form: &ApplicationForm, rules: &RegistrationRules| {
            let next = approve_with(&current(form, ClientState::Pending), Approval::default()).judge(
                &current(form, ClientState::Pending),
                rules,
                NOW,
            );
            next.unwrap_err().to_string()
        };
        let fewer = ["repo-code"].map(|name| {
            let platform = ScopeCatalog::platform();
            let definition: &ScopeDefinition = platform.definition(name).unwrap();
            definition.clone()
        });
        let catalog = ScopeCatalog::builder().scopes(fewer).build().unwrap();
        assert_eq!(
            refusal(&form(), &RegistrationRules { catalog, ..rules() }),
            "refused: scopes: unknown scope \"account-email:r\""
        );
        let redirect_uris =
            RedirectUriPolicy { loopback_http: LoopbackHttp::Addresses, ..RedirectUriPolicy::default() };
        assert_eq!(
            refusal(&loopback, &RegistrationRules { redirect_uris, ..rules() }),
            "refused: redirect_uris: value 1: the redirect URI uses plain http and does not lead to the loopback interface: write https://"
        );
        assert_eq!(
            refusal(&public, &RegistrationRules { public_clients: false, ..rules() }),
            "refused: client_type: is public, and the server setting \
             public_clients is off; a confidential one is accepted"
        );
    }

    #[test]
    fn public_clients_have_no_secret_to_rotate() {
        let public = ApplicationForm { client_type: ClientType::Public, grant_types: GrantTypes::CODE_ONLY, ..form() };
        let digest = Digest::of(b"x");
        for action in [
            Action::ClaimSecret { digest },
            Action::RotateSecret { digest },
            Action::RevokePreviousSecret,
            Action::EndSecrets,
        ] {
            let step = step(action);
            for state in STATES {
                let next = step.judge(&current(&public, state), &rules(), NOW);
                assert!(matches!(next, Err(RegistrarError::PublicClient)));
            }
        }
    }

    #[test]
    fn counters_end_without_going_round() {
        let mut last = current(&form(), ClientState::Approved);
        let client = Client { epoch: u32::MAX, ..Client::clone(&last.client) };
        last.client = Arc::new(client.clone());
        assert_eq!(step(Action::RevokeGrants).judge(&last, &rules(), NOW).unwrap().client.epoch, u32::MAX);
        last.client = Arc::new(Client { version: u32::MAX, ..client });
        assert!(matches!(step(Action::Suspend).judge(&last, &rules(), NOW), Err(RegistrarError::Store(_))));
    }

    /// SVC-2.1-02
    #[test]
    fn a_submission_needs_a_logo() {
        let rules = RegistrationRules { public_clients: false, ..rules() };
        let bad = ApplicationForm { name: String::new(), client_type: ClientType::Public, ..form() };
        assert_eq!(
            rules.check_new(&bad, None).unwrap_err().to_string(),
            "refused: name: is missing; logo: is missing; client_type: is public, and the server setting \
             public_clients is off; a confidential one is accepted"
        );
        let small = RegistrationLimits { logo: 12, ..RegistrationLimits::default() };
        let rules = RegistrationRules { limits: small, ..rules };
        let logo = Logo::clone(&logo());
        let refused = rules.check_new(&form(), Some(logo.clone())).unwrap_err().to_string();
        assert_eq!(refused, "refused: logo: has more than 12 bytes");
        assert!(rules.check_change(&form(), Some(logo)).is_err());
        assert!(rules.check_change(&form(), None).is_ok());
    }
}
