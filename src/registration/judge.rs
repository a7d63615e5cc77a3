//! The effect of each step on an application: pure functions from the current record to the next one.

use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::base::id::{LogoId, Subject};
use crate::config::ClientLifetimes;
use crate::context::RegistrationRules;
use crate::model::application::{Application, Asked, Field, FieldError, Problem};
use crate::model::client::{
    AskConsent, CheckedForm, Client, ClientKeys, ClientSecrets, ClientState, ClientType, Privileges, SelfRegistration,
};
use crate::model::grant_data::GrantData;
use crate::registration::approval::Approval;
use crate::registration::error::RegistrarError;
use crate::registration::reduction::Reduction;
use crate::registration::rules::replace_keys;
use crate::registration::submission::deleted_record;
use crate::registration::update::{Update, check_token, management, put_update_in_force};
use crate::registration::user_approval::{UserApproval, must_note_request, must_note_use, used_until};
use crate::scope::ResourceScope;
use crate::secret::Digest;

/// A change of one application.
#[derive(Debug)]
pub(super) struct Step<'a> {
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
        logo: Option<LogoId>,
    },
    Approve {
        approval: Box<Approval>,
        /// The logo that the reviewer supplied.
        logo: Option<LogoId>,
    },
    Reject {
        reason: String,
    },
    Suspend,
    Resume,
    SetPrivileges(Privileges),
    SetData(Option<GrantData>),
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
    /// Notes that a user approved a client that registered itself.
    NoteApproval(UserApproval),
    /// Notes that a user is asked about a client that registered itself, until that time.
    NoteRequest {
        asked: Asked,
        until: Timestamp,
    },
    /// Evicts a client that registered itself: another client needs its place.
    Evict,
    /// Replaces the registration of a client that registered itself, at its request.
    Update(Box<Update>),
    /// Deletes the registration of a client that registered itself, at its request.
    Deregister {
        token: Digest,
    },
}

impl Step<'_> {
    /// Returns the next record, or why the step is refused.
    ///
    /// A caller who does not own the application learns nothing about it. For any other caller, a wrong state is
    /// reported before a change since the read.
    pub(super) fn judge(
        &self,
        current: &Application,
        rules: &RegistrationRules,
        now: Timestamp,
    ) -> Result<Application, RegistrarError> {
        let is_owner = self.owner.is_none() || current.owner.as_ref() == self.owner;
        if current.state() == ClientState::Deleted || !is_owner || self.would_revive(&current.client, now) {
            return Err(RegistrarError::NotFound);
        }
        let mut next = current.clone();
        self.act(&mut next, rules, now)?;
        if self.version.is_some_and(|version| version != current.version()) {
            return Err(RegistrarError::ChangedMeanwhile);
        }
        if matches!(self.action, Action::ClaimSecret { .. }) && current.client.has_secret() {
            return Err(RegistrarError::SecretExists);
        }
        Ok(next)
    }

    fn act(&self, next: &mut Application, rules: &RegistrationRules, now: Timestamp) -> Result<(), RegistrarError> {
        match &self.action {
            Action::Change { form, logo } => change(next, form, *logo, now)?,
            Action::Approve { approval, logo } => {
                approve(next, approval, *logo, rules)?;
                next.decided = Some(now);
            }
            Action::Reject { reason } => {
                reject(next)?;
                next.decided = Some(now);
                next.rejection = Some(reason.clone());
            }
            Action::Suspend => turn(next, ClientState::Approved, ClientState::Suspended)?,
            Action::Resume => turn(next, ClientState::Suspended, ClientState::Approved)?,
            Action::SetPrivileges(privileges) => {
                refuse_first_party(next)?;
                require_approved(&next.client)?;
                rules.check_privileges(&next.client, *privileges)?;
                next.client_mut().privileges = *privileges;
            }
            Action::SetData(data) => {
                refuse_first_party(next)?;
                require_approved(&next.client)?;
                next.client_mut().data = data.clone();
            }
            Action::Reduce(reducing) => {
                refuse_first_party(next)?;
                require_approved(&next.client)?;
                let left = reducing.judge(next.form(), &rules.catalog)?;
                next.client_mut().put_form(left);
                // The client must not regain by itself what a person removed.
                let_updates_await_review(next);
            }
            Action::ClaimSecret { digest } | Action::RotateSecret { digest } => {
                require_secret(&next.client)?;
                next.client_mut().secrets = next.client.secrets.rotated(*digest);
            }
            Action::RevokePreviousSecret => {
                require_secret(&next.client)?;
                next.client_mut().secrets = next.client.secrets.without_previous();
            }
            Action::EndSecrets => {
                refuse_first_party(next)?;
                require_secret(&next.client)?;
                next.client_mut().secrets = ClientSecrets::default();
            }
            Action::ReplaceKeys { keys } => {
                refuse_first_party(next)?;
                require_approved(&next.client)?;
                replace_keys(next, keys, &rules.keys)?;
            }
            Action::Transfer { to } => transfer(next, to)?,
            Action::RevokeGrants => next.client_mut().revoke_grants(),
            Action::Delete => *next = deleted_record(next, now.plus(rules.reservation)),
            Action::NoteUse { until, limits } => {
                if let Some(open) = &mut next.client_mut().open {
                    *open = Arc::new(used_until(open, *until, limits));
                }
            }
            Action::NoteApproval(approval) => approval.judge(next, now)?,
            Action::NoteRequest { asked, .. } => {
                if let Some(open) = &mut next.open {
                    open.note_request(asked);
                }
            }
            // Its id is random, or that of a document whose next client has a higher epoch: no token comes back.
            Action::Evict => *next = deleted_record(next, now),
            Action::Update(update) => update.judge(next, rules, now)?,
            Action::Deregister { token } => {
                check_token(next, token, now)?;
                *next = deleted_record(next, now.plus(rules.reservation));
            }
        }
        Ok(())
    }

    /// Returns whether the step would revive tokens that ended with the registration, since a reviewed client has no
    /// end.
    fn would_revive(&self, client: &Client, now: Timestamp) -> bool {
        let is_gone = client.is_gone_at(now);
        let was_used = client.open().is_some_and(|open| open.used_until.is_some());
        is_gone && was_used && matches!(self.action, Action::Approve { .. })
    }

    /// Returns whether the step would change nothing, because what it notes is noted already.
    pub(super) fn is_needless(&self, current: &Application, now: Timestamp) -> bool {
        let is_noted = if let Action::NoteUse { until, .. } = &self.action {
            !must_note_use(&current.client, *until)
        } else if let Action::NoteRequest { asked, until } = &self.action {
            !must_note_request(current, asked, *until)
        } else {
            matches!(&self.action, Action::NoteApproval(approval) if approval.is_noted(current, now))
        };
        is_noted && current.state() != ClientState::Deleted
    }

    /// Returns whether the client has the secret that this step creates: then the step took effect.
    pub(super) fn is_carried_by(&self, client: &Client) -> bool {
        match &self.action {
            Action::ClaimSecret { digest } | Action::RotateSecret { digest } => client.secrets.prove(digest),
            Action::Change { .. }
            | Action::Approve { .. }
            | Action::Reject { .. }
            | Action::Suspend
            | Action::Resume
            | Action::SetPrivileges(_)
            | Action::SetData(_)
            | Action::Reduce(_)
            | Action::RevokePreviousSecret
            | Action::EndSecrets
            | Action::ReplaceKeys { .. }
            | Action::Transfer { .. }
            | Action::RevokeGrants
            | Action::Delete
            | Action::NoteUse { .. }
            | Action::NoteApproval(_)
            | Action::NoteRequest { .. }
            | Action::Evict
            | Action::Update(_)
            | Action::Deregister { .. } => false,
        }
    }
}

fn change(
    next: &mut Application,
    form: &CheckedForm,
    logo: Option<LogoId>,
    now: Timestamp,
) -> Result<(), RegistrarError> {
    next.submitted = now;
    match next.state() {
        ClientState::Pending | ClientState::Rejected => {
            next.client_mut().state = ClientState::Pending;
            next.client_mut().put_form(form.clone());
            next.logo = logo.or(next.logo);
        }
        ClientState::Approved | ClientState::Suspended => {
            let fixed = [
                (Field::ClientType, form.client_type == next.form().client_type),
                (Field::ApplicationType, form.application_type == next.form().application_type),
            ];
            let changed = fixed.iter().filter(|(_, is_same)| !is_same);
            let errors: Vec<_> = changed.map(|(field, _)| FieldError::new(*field, Problem::Fixed)).collect();
            if !errors.is_empty() {
                return Err(RegistrarError::Invalid(errors));
            }
            let logo = logo.or(next.proposed_logo);
            // Nothing of another change is approved with this one.
            next.drop_proposed();
            (next.proposed, next.proposed_logo) = (Some(form.clone()), logo);
        }
        ClientState::Deleted => return Err(RegistrarError::WrongState(ClientState::Deleted)),
    }
    Ok(())
}

fn approve(
    next: &mut Application,
    approval: &Approval,
    logo: Option<LogoId>,
    rules: &RegistrationRules,
) -> Result<(), RegistrarError> {
    let proposed = next.proposed.take();
    let first_review = next.is_unreviewed();
    let asked = match (next.state(), &proposed) {
        (ClientState::Pending, _) => next.form(),
        // A policy approved it before; now a person does.
        (ClientState::Approved | ClientState::Suspended, None) if first_review => next.form(),
        (ClientState::Approved | ClientState::Suspended, Some(proposed)) => proposed,
        (ClientState::Approved | ClientState::Suspended, None) => return Err(RegistrarError::NothingProposed),
        (state @ (ClientState::Rejected | ClientState::Deleted), _) => return Err(RegistrarError::WrongState(state)),
    };
    let mut form = match &next.open {
        Some(_) => rules.check_open(asked, approval, first_review)?,
        None => rules.check_again(asked)?,
    };
    for (field, approved, asked) in [
        (Field::Scopes, &approval.scopes, &mut form.scopes),
        (Field::ClientScopes, &approval.client_scopes, &mut form.client_scopes),
    ] {
        let Some(approved) = approved else { continue };
        let refused = |problem| RegistrarError::Invalid(vec![FieldError::new(field, problem)]);
        let scopes = rules.catalog.parse(approved.as_bytes()).map_err(|error| refused(Problem::Scope(error)))?;
        if scopes.is_empty() {
            return Err(refused(Problem::Missing));
        }
        if !scopes.is_subset_of(asked) {
            return Err(RegistrarError::ScopesNotAsked);
        }
        *asked = scopes;
    }
    let had_all = next.state() != ClientState::Pending && next.form().client_resources == ResourceScope::All;
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
    next.client_mut().put_form(form);
    put_update_in_force(next);
    let privileges = next.client.privileges.with(approval.privileges);
    rules.check_privileges(&next.client, privileges)?;
    next.client_mut().privileges = privileges;
    next.rejection = None;
    next.logo = next.proposed_logo.take().or(next.logo);
    if next.open.is_some() {
        next.logo = logo.or(next.logo);
    }
    if first_review {
        mark_reviewed(next);
    }
    if next.state() == ClientState::Pending {
        next.client_mut().state = ClientState::Approved;
    }
    Ok(())
}

/// Marks the client as reviewed: it frees its place, and its registration does not end.
fn mark_reviewed(next: &mut Application) {
    if let Some(open) = &mut next.client_mut().open {
        let reviewed =
            SelfRegistration { is_reviewed: true, end: None, gone_at: None, ..SelfRegistration::clone(open) };
        *open = Arc::new(reviewed);
    }
    if let Some(open) = &mut next.open {
        (open.place, open.approver, open.is_shared, open.asked) = (None, None, false, Vec::new());
    }
    let_updates_await_review(next);
}

/// Makes every later update that the client sends await review.
fn let_updates_await_review(application: &mut Application) {
    if let Some(management) = management(application) {
        management.updates_await_review = true;
    }
}

/// Transfers the application as it is, without a change that the previous owner proposed.
fn transfer(next: &mut Application, to: &Subject) -> Result<(), RegistrarError> {
    refuse_first_party(next)?;
    next.drop_proposed();
    if let Some(open) = &mut next.open {
        // The owner manages it from here on, not the client.
        open.management = None;
    }
    if next.owner.as_ref() != Some(to) {
        next.client_mut().secrets = next.client.secrets.under_another_owner();
        let keys = next.form().keys.clone();
        next.client_mut().keys_of_previous_owner = keys;
        next.owner = Some(to.clone());
        // Users agreed to an application of the previous owner.
        next.client_mut().privileges.ask_consent = AskConsent::Always;
    }
    Ok(())
}

fn reject(next: &mut Application) -> Result<(), RegistrarError> {
    match next.state() {
        ClientState::Pending => next.client_mut().state = ClientState::Rejected,
        state @ (ClientState::Rejected | ClientState::Deleted) => return Err(RegistrarError::WrongState(state)),
        ClientState::Approved | ClientState::Suspended => {
            if next.proposed.is_none() {
                return Err(RegistrarError::NothingProposed);
            }
            let document = next.proposed_update().and_then(|update| update.document);
            if let Some(open) = &mut next.open {
                open.rejected = document.or(open.rejected);
            }
            next.drop_proposed();
        }
    }
    Ok(())
}

fn turn(next: &mut Application, from: ClientState, to: ClientState) -> Result<(), RegistrarError> {
    if next.state() != from {
        return Err(RegistrarError::WrongState(next.state()));
    }
    next.client_mut().state = to;
    Ok(())
}

fn require_secret(client: &Client) -> Result<(), RegistrarError> {
    if client.form.client_type == ClientType::Public {
        return Err(RegistrarError::PublicClient);
    }
    if !client.form.authentication_methods.use_secret() {
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
    use crate::base::id::ClientId;
    use crate::model::application::{ApplicationForm, Logo, RegistrationLimits};
    use crate::model::client::{ApplicationType, GrantType, GrantTypes, KeyRules, RefreshRotation};
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
        Step { owner: None, version: None, action }
    }

    fn change_to(form: &ApplicationForm, logo: Option<LogoId>) -> Step<'static> {
        step(Action::Change { form: Box::new(checked(form)), logo })
    }

    fn rules() -> RegistrationRules {
        RegistrationRules {
            catalog: ScopeCatalog::platform(),
            limits: RegistrationLimits::default(),
            redirect_uris: RedirectUriPolicy::default(),
            public_clients: true,
            always_asks: false,
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

    const FIRST: LogoId = LogoId::from_bytes([1; 16]);
    const SECOND: LogoId = LogoId::from_bytes([2; 16]);

    fn current(form: &ApplicationForm, state: ClientState) -> Application {
        let (owner, now) = (Some(alice()), Timestamp::from_seconds(1));
        let submission = Submission { owner, form: checked(form), logo: Some(FIRST), now, version: 1, open: None };
        let mut application = submission.application(ClientId::new("demo").unwrap());
        assert_eq!(application.client.secrets.current, None);
        application.client_mut().state = state;
        if matches!(state, ClientState::Approved | ClientState::Suspended) {
            application.client_mut().secrets = application.client.secrets.rotated(Digest::of(b"first"));
        }
        application
    }

    /// Returns the record as it is once it is written.
    fn written(mut next: Application) -> Application {
        next.client_mut().version += 1;
        next
    }

    fn with_proposed(form: &ApplicationForm, proposed: &ApplicationForm, state: ClientState) -> Application {
        let next = change_to(proposed, Some(SECOND)).judge(&current(form, state), &rules(), NOW).unwrap();
        assert_eq!((next.logo, next.proposed_logo), (Some(FIRST), Some(SECOND)));
        written(next)
    }

    fn renamed(name: &str) -> ApplicationForm {
        ApplicationForm { name: name.to_owned(), ..form() }
    }

    /// Returns a step of a reviewer who read the current version.
    fn approve_with(current: &Application, approval: Approval) -> Step<'static> {
        let action = Action::Approve { approval: Box::new(approval), logo: None };
        Step { version: Some(current.version()), ..step(action) }
    }

    fn reject_as_read(current: &Application) -> Step<'static> {
        Step { version: Some(current.version()), ..step(Action::Reject { reason: "no".into() }) }
    }

    /// D-25: a form that the reviewer has not read is not decided.
    #[test]
    fn what_changed_since_it_was_read_is_not_decided() {
        let read = current(&form(), ClientState::Pending);
        let step = change_to(&renamed("Other"), None);
        let changed = written(step.judge(&read, &rules(), NOW).unwrap());
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
            (Action::Approve { approval: Box::default(), logo: None }, [Ok(Approved), nothing, rejected, nothing]),
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
                let outcome = next.map(|next| next.state()).map_err(|error| error.to_string());
                assert_eq!(outcome, expected.map_err(str::to_owned), "{step:?} when {state:?}");
            }
            let deleted = deleted(&current(&form(), Approved));
            assert!(matches!(step.judge(&deleted, &rules(), NOW), Err(RegistrarError::NotFound)), "{step:?}");
        }
    }

    fn deleted(current: &Application) -> Application {
        written(step(Action::Delete).judge(current, &rules(), NOW).unwrap())
    }

    /// ADM-12
    #[test]
    fn a_step_that_names_the_owner_is_the_owners() {
        let current = current(&form(), ClientState::Pending);
        let (owner, other) = (alice(), Subject::new("bob").unwrap());
        let owned = |owner| Step { owner: Some(owner), version: Some(7), ..step(Action::RevokeGrants) };
        assert!(matches!(owned(&owner).judge(&current, &rules(), NOW), Err(RegistrarError::ChangedMeanwhile)));
        assert!(matches!(owned(&other).judge(&current, &rules(), NOW), Err(RegistrarError::NotFound)));
        let ownerless = Application { owner: None, ..current };
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
        assert_eq!(next.decided, Some(NOW));
        let approved = written(next);
        let claim =
            |version| Step { version: Some(version), ..step(Action::ClaimSecret { digest: Digest::of(b"secret") }) };
        assert!(matches!(claim(1).judge(&approved, &rules(), NOW), Err(RegistrarError::ChangedMeanwhile)));
        let next = claim(2).judge(&approved, &rules(), NOW).unwrap();
        assert!(claim(2).is_carried_by(&next.client));
        let claimed = written(next);
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
                    let next = taken.judge(&written(next), &rules(), NOW).unwrap();
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
        assert_eq!((next.logo, next.proposed_logo), (Some(FIRST), None));
        assert_eq!((next.owner.as_ref(), next.proposed.as_ref()), (Some(&bob), None));
        assert!(next.client.has_secret_of_previous_owner());
        let rotated = step(Action::RotateSecret { digest: Digest::of(b"new") });
        let next = rotated.judge(&written(next), &rules(), NOW).unwrap();
        assert!(next.client.has_secret_of_previous_owner());
        let next = step(Action::RevokePreviousSecret).judge(&written(next), &rules(), NOW).unwrap();
        assert!(!next.client.has_secret_of_previous_owner() && next.client.has_secret());
        let same = step(Action::Transfer { to: alice() }).judge(&before, &rules(), NOW).unwrap();
        assert!(!same.client.has_secret_of_previous_owner());
    }

    /// ADM-07
    #[test]
    fn a_deletion_leaves_the_id_alone() {
        let before = with_proposed(&form(), &renamed("New"), ClientState::Approved);
        let next = step(Action::Delete).judge(&before, &rules(), NOW).unwrap();
        assert_eq!((next.logo, next.proposed_logo), (None, None));
        let id = before.client.id.clone();
        let blank = Client { version: 2, epoch: 1, state: ClientState::Deleted, ..Client::blank(id) };
        assert_eq!(*next.client, blank);
        assert_eq!(next.reserved_until, Some(Timestamp::from_seconds(1100)));
        let text = format!("{next:?}");
        assert!(["alice", "Demo", "New", "demo.example", "repo"].iter().all(|erased| !text.contains(erased)), "{text}");
    }

    /// D-25
    #[test]
    fn a_change_waits_beside_the_version_in_force() {
        for state in [ClientState::Approved, ClientState::Suspended] {
            let changed = with_proposed(&form(), &renamed("New"), state);
            let before = current(&form(), state);
            assert_eq!(Client { version: 1, ..Client::clone(&changed.client) }, *before.client);
            assert_eq!(&*changed.form().name, "Demo");
            assert_eq!(&*changed.proposed.as_ref().unwrap().name, "New");

            let next = approve_with(&changed, Approval::default()).judge(&changed, &rules(), NOW).unwrap();
            assert_eq!((&*next.form().name, next.state(), &next.proposed), ("New", state, &None));
            assert_eq!((next.logo, next.proposed_logo), (Some(SECOND), None));

            let next = reject_as_read(&changed).judge(&changed, &rules(), NOW).unwrap();
            assert_eq!((&*next.client.form.name, next.client.state), ("Demo", state));
            assert_eq!((next.proposed.as_ref(), next.rejection.as_deref()), (None, Some("no")));
            assert_eq!((next.logo, next.proposed_logo), (Some(FIRST), None));
        }
    }

    #[test]
    fn a_rejected_form_can_be_submitted_again() {
        let pending = current(&form(), ClientState::Pending);
        let rejected = written(reject_as_read(&pending).judge(&pending, &rules(), NOW).unwrap());
        let step = change_to(&renamed("New"), Some(SECOND));
        let next = step.judge(&rejected, &rules(), NOW).unwrap();
        assert_eq!((&*next.form().name, next.state()), ("New", ClientState::Pending));
        assert_eq!(next.rejection.as_deref(), Some("no"));
        assert_eq!((next.logo, next.proposed_logo), (Some(SECOND), None));
        let again = written(next);
        let next = approve_with(&again, Approval::default()).judge(&again, &rules(), NOW).unwrap();
        assert_eq!(next.rejection, None);
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
            (next.client.form.client_type, next.client.form.application_type),
            (ClientType::Public, ApplicationType::Native)
        );
    }

    #[test]
    fn no_more_scopes_are_approved_than_asked_for() {
        let pending = current(&form(), ClientState::Pending);
        let approve = |wire: &str| {
            let next = approve_with(&pending, Approval::default().scopes(wire)).judge(&pending, &rules(), NOW);
            next.map(|next| next.form().scopes.as_str().to_owned())
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
            "refused: redirect_uris: value 1: the redirect URI uses plain http and does not lead to the loopback \
             interface: write https://"
        );
        assert_eq!(
            refusal(&public, &RegistrationRules { public_clients: false, ..rules() }),
            "refused: client_type: is public, and this server accepts only \
             confidential clients: Config::public_clients is off"
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
    fn an_epoch_ends_without_going_round() {
        let mut last = current(&form(), ClientState::Approved);
        last.client_mut().epoch = u32::MAX;
        assert_eq!(step(Action::RevokeGrants).judge(&last, &rules(), NOW).unwrap().client.epoch, u32::MAX);
    }

    /// SVC-2.1-02
    #[test]
    fn a_submission_needs_a_logo() {
        let rules = RegistrationRules { public_clients: false, ..rules() };
        let bad = ApplicationForm { name: String::new(), client_type: ClientType::Public, ..form() };
        assert_eq!(
            rules.check_new(&bad, None).unwrap_err().to_string(),
            "refused: name: is missing; logo: is missing; client_type: is public, and this server accepts only \
             confidential clients: Config::public_clients is off"
        );
        let small = RegistrationLimits { logo: 12, ..RegistrationLimits::default() };
        let rules = RegistrationRules { limits: small, ..rules };
        let logo = Logo::decode(*b"GIF89a\x01\0\x01\0\x80\0\0").unwrap();
        let refused = rules.check_new(&form(), Some(logo.clone())).unwrap_err().to_string();
        assert_eq!(refused, "refused: logo: has more than 12 bytes");
        assert!(rules.check_change(&form(), Some(logo)).is_err());
        assert!(rules.check_change(&form(), None).is_ok());
    }
}
