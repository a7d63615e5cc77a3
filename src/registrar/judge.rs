//! What each step makes of an application: pure functions from the records of now to the next ones.

use std::sync::Arc;

use crate::client::application::{Application, CheckedForm, Field, FieldError, Logo, Problem};
use crate::client::{Client, ClientState, ClientType, RefreshRotation, counts_as_public};
use crate::clock::Timestamp;
use crate::id::ClientId;
use crate::registrar::approval::Approval;
use crate::registrar::error::{RegistrarError, VersionsUsedUp};
use crate::registrar::rules::RegistrationRules;
use crate::scope::ResourceScope;
use crate::secret::Digest;
use crate::store::{LogoWrite, Registration};
use crate::subject::Subject;

/// A new application, checked.
#[derive(Debug)]
pub(super) struct Submission {
    pub(super) applicant: Subject,
    pub(super) form: CheckedForm,
    pub(super) logo: Arc<Logo>,
    pub(super) now: Timestamp,
}

impl Submission {
    pub(super) fn registration(&self, id: ClientId) -> Registration {
        let mut client = Client::builder(id.clone()).build();
        client.state = ClientState::Pending;
        put_in_force(&mut client, &self.form);
        let application = Application {
            id,
            version: client.version,
            state: client.state,
            applicant: self.applicant.clone(),
            submitted: self.now,
            decided: None,
            form: self.form.clone(),
            proposed: None,
            rejection: None,
        };
        Registration {
            client,
            application,
            logo: LogoWrite::Put(Arc::clone(&self.logo)),
            proposed_logo: LogoWrite::Keep,
        }
    }
}

/// What a step is judged by: records of one version.
#[derive(Debug)]
pub(super) struct Current {
    pub(super) client: Arc<Client>,
    pub(super) application: Arc<Application>,
    /// Read only where a step may put it in force.
    pub(super) proposed_logo: Option<Arc<Logo>>,
}

/// A change of one application.
#[derive(Debug)]
pub(super) enum Step {
    Change { form: Box<CheckedForm>, logo: Option<Arc<Logo>> },
    Approve { version: u32, approval: Approval, digest: Digest },
    Reject { version: u32, reason: Box<str> },
    Suspend,
    Resume,
    RotateSecret { version: u32, digest: Digest },
    RetirePreviousSecret { version: u32 },
    WithdrawGrants,
}

impl Step {
    /// Makes the next registration, or says why there is none.
    pub(super) fn judge(
        &self,
        current: &Current,
        rules: &RegistrationRules,
        now: Timestamp,
    ) -> Result<Registration, RegistrarError> {
        let mut next = successor(current)?;
        match self {
            Self::Change { form, logo } => change(&mut next, form, logo.as_ref(), now)?,
            Self::Approve { version, approval, digest } => {
                approve(&mut next, approval, *digest, rules)?;
                require_version(current, *version)?;
                next.application.decided = Some(now);
                if let Some(logo) = &current.proposed_logo {
                    next.logo = LogoWrite::Put(Arc::clone(logo));
                }
            }
            Self::Reject { version, reason } => {
                reject(&mut next)?;
                require_version(current, *version)?;
                next.application.decided = Some(now);
                next.application.rejection = Some(reason.clone());
            }
            Self::Suspend => turn(&mut next, ClientState::Approved, ClientState::Suspended)?,
            Self::Resume => turn(&mut next, ClientState::Suspended, ClientState::Approved)?,
            Self::RotateSecret { version, digest } => {
                require_secret(&next.client)?;
                require_version(current, *version)?;
                next.client.secrets = next.client.secrets.rotated(*digest);
            }
            Self::RetirePreviousSecret { version } => {
                require_secret(&next.client)?;
                require_version(current, *version)?;
                next.client.secrets = next.client.secrets.without_previous();
            }
            Self::WithdrawGrants => next.client.epoch = next.client.epoch.saturating_add(1),
        }
        Ok(next)
    }

    /// Returns whether the step may put the proposed logo in force, which has to be read for it.
    pub(super) const fn may_move_logo(&self) -> bool {
        matches!(self, Self::Approve { .. })
    }

    /// Returns whether the client has the secret that this step makes: then the step took effect.
    pub(super) fn is_carried_by(&self, client: &Client) -> bool {
        match self {
            Self::Approve { digest, .. } | Self::RotateSecret { digest, .. } => client.secrets.prove(digest),
            Self::Change { .. }
            | Self::Reject { .. }
            | Self::Suspend
            | Self::Resume
            | Self::RetirePreviousSecret { .. }
            | Self::WithdrawGrants => false,
        }
    }
}

/// What is decided is what the reviewer read, not what came since.
fn require_version(current: &Current, version: u32) -> Result<(), RegistrarError> {
    if current.application.version == version { Ok(()) } else { Err(RegistrarError::ChangedMeanwhile) }
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
    }
    Ok(())
}

fn approve(
    next: &mut Registration,
    approval: &Approval,
    digest: Digest,
    rules: &RegistrationRules,
) -> Result<(), RegistrarError> {
    let proposed = next.application.proposed.take();
    let asked = match (next.application.state, &proposed) {
        (ClientState::Pending, _) => &next.application.form,
        (ClientState::Approved | ClientState::Suspended, Some(proposed)) => proposed,
        (ClientState::Approved | ClientState::Suspended, None) => return Err(RegistrarError::NothingProposed),
        (ClientState::Rejected, _) => return Err(RegistrarError::WrongState(ClientState::Rejected)),
    };
    let mut form = rules.check_again(asked)?;
    for (field, approved, asked) in [
        (Field::Scopes, &approval.scopes, &mut form.scopes),
        (Field::MachineScopes, &approval.machine_scopes, &mut form.machine_scopes),
    ] {
        let Some(approved) = approved else { continue };
        let refused = |error| RegistrarError::Invalid(vec![FieldError::new(field, Problem::Scope(error))]);
        let scopes = rules.catalog.parse(approved.as_bytes()).map_err(refused)?;
        if !scopes.is_subset_of(asked) {
            return Err(RegistrarError::ScopesNotAsked);
        }
        *asked = scopes;
    }
    let had_all = next.application.state != ClientState::Pending && next.client.machine_resources == ResourceScope::All;
    match &approval.machine_resources {
        Some(ResourceScope::Public) => {
            let refused = FieldError::new(Field::MachineResources, Problem::NotOffered);
            return Err(RegistrarError::Invalid(vec![refused]));
        }
        Some(resources) if form.machine_resources.covers(resources) => form.machine_resources = resources.clone(),
        Some(_) => return Err(RegistrarError::ScopesNotAsked),
        // Every named resource has to be approved in so many words.
        None if form.machine_resources == ResourceScope::All && !had_all => {
            form.machine_resources = ResourceScope::none();
        }
        None => {}
    }
    let counts_as_public = counts_as_public(form.client_type, form.application_type);
    let keeps = approval.refresh_rotation == Some(RefreshRotation::Keep);
    if approval.may_introspect && form.client_type == ClientType::Public || keeps && counts_as_public {
        return Err(RegistrarError::PublicClient);
    }
    put_in_force(&mut next.client, &form);
    next.client.require_pkce |= approval.require_pkce;
    next.client.trusted |= approval.trusted;
    next.client.may_introspect |= approval.may_introspect;
    next.client.refresh_rotation = approval.refresh_rotation.or(next.client.refresh_rotation);
    next.application.form = form;
    next.application.rejection = None;
    next.proposed_logo = LogoWrite::Clear;
    if next.application.state == ClientState::Pending {
        set_state(next, ClientState::Approved);
        if next.client.client_type == ClientType::Confidential {
            next.client.secrets = next.client.secrets.rotated(digest);
        }
    }
    Ok(())
}

fn reject(next: &mut Registration) -> Result<(), RegistrarError> {
    match next.application.state {
        ClientState::Pending => set_state(next, ClientState::Rejected),
        ClientState::Rejected => return Err(RegistrarError::WrongState(ClientState::Rejected)),
        ClientState::Approved | ClientState::Suspended => {
            next.application.proposed.take().ok_or(RegistrarError::NothingProposed)?;
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
    match client.state {
        ClientState::Approved | ClientState::Suspended => Ok(()),
        state @ (ClientState::Pending | ClientState::Rejected) => Err(RegistrarError::WrongState(state)),
    }
}

fn set_state(next: &mut Registration, state: ClientState) {
    next.client.state = state;
    next.application.state = state;
}

fn put_in_force(client: &mut Client, form: &CheckedForm) {
    client.name = form.name.clone();
    client.website = form.website.clone();
    client.redirect_uris.clone_from(&form.redirect_uris);
    client.scopes = form.scopes.clone();
    client.resource_scope = form.resource_scope.clone();
    client.client_type = form.client_type;
    client.application_type = form.application_type;
    client.machine_scopes = form.machine_scopes.clone();
    client.machine_resources = form.machine_resources.clone();
    client.grant_types = form.grant_types;
    client.authentication_methods = form.authentication_methods;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::application::{ApplicationForm, RegistrationLimits};
    use crate::client::redirect_uri::RedirectUriPolicy;
    use crate::client::{ApplicationType, GrantType, GrantTypes};
    use crate::scope::{ScopeCatalog, ScopeDefinition};

    const NOW: Timestamp = Timestamp::from_seconds(100);
    const STATES: [ClientState; 4] =
        [ClientState::Pending, ClientState::Approved, ClientState::Rejected, ClientState::Suspended];

    fn rules() -> RegistrationRules {
        RegistrationRules {
            catalog: ScopeCatalog::platform(),
            limits: RegistrationLimits::default(),
            redirect_uris: RedirectUriPolicy::default(),
            public_clients: true,
            grant_types: GrantType::ALL.iter().copied().collect(),
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
        let applicant = Subject::new("alice").unwrap();
        let submission = Submission { applicant, form: checked(form), logo: logo(), now: Timestamp::from_seconds(1) };
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
        let step = Step::Change { form: Box::new(checked(proposed)), logo: Some(logo()) };
        let next = step.judge(&current(form, state), &rules(), NOW).unwrap();
        assert!(matches!((&next.logo, &next.proposed_logo), (LogoWrite::Keep, LogoWrite::Put(_))));
        Current { proposed_logo: Some(logo()), ..into_current(next) }
    }

    fn renamed(name: &str) -> ApplicationForm {
        ApplicationForm { name: name.to_owned(), ..form() }
    }

    /// The step of a reviewer who read what is there.
    fn approve_with(current: &Current, approval: Approval) -> Step {
        Step::Approve { version: current.application.version, approval, digest: Digest::of(b"secret") }
    }

    fn reject_as_read(current: &Current) -> Step {
        Step::Reject { version: current.application.version, reason: "no".into() }
    }

    /// D-25: a form that nobody read is not decided.
    #[test]
    fn what_changed_since_it_was_read_is_not_decided() {
        let read = current(&form(), ClientState::Pending);
        let step = Step::Change { form: Box::new(checked(&renamed("Other"))), logo: None };
        let changed = into_current(step.judge(&read, &rules(), NOW).unwrap());
        for step in [approve_with(&read, Approval::default()), reject_as_read(&read)] {
            assert!(matches!(step.judge(&changed, &rules(), NOW), Err(RegistrarError::ChangedMeanwhile)));
            assert!(step.judge(&read, &rules(), NOW).is_ok());
        }
    }

    /// D-25: what each step does in each state, without a proposed change.
    #[test]
    fn states_move_as_described() {
        let steps: [(Step, [Result<ClientState, &str>; 4]); 8] = {
            use ClientState::{Approved, Pending, Rejected, Suspended};
            let (pending, approved) = ("the application is pending", "the application is approved");
            let (rejected, suspended) = ("the application is rejected", "the application is suspended");
            let nothing = "the application has no change that awaits review";
            [
                (
                    Step::Change { form: Box::new(checked(&form())), logo: None },
                    [Ok(Pending), Ok(Approved), Ok(Pending), Ok(Suspended)],
                ),
                (
                    approve_with(&current(&form(), Pending), Approval::default()),
                    [Ok(Approved), Err(nothing), Err(rejected), Err(nothing)],
                ),
                (reject_as_read(&current(&form(), Pending)), [Ok(Rejected), Err(nothing), Err(rejected), Err(nothing)]),
                (Step::Suspend, [Err(pending), Ok(Suspended), Err(rejected), Err(suspended)]),
                (Step::Resume, [Err(pending), Err(approved), Err(rejected), Ok(Approved)]),
                (
                    Step::RotateSecret { version: 1, digest: Digest::of(b"next") },
                    [Err(pending), Ok(Approved), Err(rejected), Ok(Suspended)],
                ),
                (Step::RetirePreviousSecret { version: 1 }, [Err(pending), Ok(Approved), Err(rejected), Ok(Suspended)]),
                (Step::WithdrawGrants, [Ok(Pending), Ok(Approved), Ok(Rejected), Ok(Suspended)]),
            ]
        };
        for (step, expected) in steps {
            for (state, expected) in STATES.into_iter().zip(expected) {
                let next = step.judge(&current(&form(), state), &rules(), NOW);
                let versions = next.as_ref().map_or((2, 2), |next| (next.client.version, next.application.version));
                assert_eq!(versions, (2, 2));
                let outcome = next.map(|next| into_current(next).client.state).map_err(|error| error.to_string());
                assert_eq!(outcome, expected.map_err(str::to_owned), "{step:?} when {state:?}");
            }
        }
    }

    /// D-26
    #[test]
    fn only_the_first_approval_of_a_confidential_client_makes_a_secret() {
        let pending = current(&form(), ClientState::Pending);
        let step = approve_with(&pending, Approval::default().require_pkce().trusted().may_introspect());
        let next = step.judge(&pending, &rules(), NOW).unwrap();
        assert!(step.is_carried_by(&next.client));
        assert!(next.client.require_pkce && next.client.trusted && next.client.may_introspect);
        assert_eq!(next.application.decided, Some(NOW));
        let public = ApplicationForm { client_type: ClientType::Public, ..form() };
        let public = current(&public, ClientState::Pending);
        assert!(matches!(step.judge(&public, &rules(), NOW), Err(RegistrarError::PublicClient)));
        let next = approve_with(&public, Approval::default()).judge(&public, &rules(), NOW).unwrap();
        assert_eq!((next.client.secrets.current, next.client.secrets.previous), (None, None));
        let changed = with_proposed(&form(), &renamed("New"), ClientState::Approved);
        let step = approve_with(&changed, Approval::default());
        let next = step.judge(&changed, &rules(), NOW).unwrap();
        assert!(!step.is_carried_by(&next.client));
        assert_eq!(next.client.secrets, changed.client.secrets);
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
        let step = Step::Change { form: Box::new(checked(&renamed("New"))), logo: Some(logo()) };
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
        let step = Step::Change { form: Box::new(checked(&other)), logo: None };
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
            "refused: scopes: the scope names something that does not exist"
        );
        let redirect_uris = RedirectUriPolicy { localhost: false, ..RedirectUriPolicy::default() };
        assert_eq!(
            refusal(&loopback, &RegistrationRules { redirect_uris, ..rules() }),
            "refused: redirect_uris: value 1: the redirect URI uses plain http and does not lead to the loopback interface"
        );
        assert_eq!(
            refusal(&public, &RegistrationRules { public_clients: false, ..rules() }),
            "refused: client_type: has a value that is not offered"
        );
    }

    #[test]
    fn public_clients_have_no_secret_to_rotate() {
        let public = ApplicationForm { client_type: ClientType::Public, grant_types: GrantTypes::CODE_ONLY, ..form() };
        for step in
            [Step::RotateSecret { version: 1, digest: Digest::of(b"x") }, Step::RetirePreviousSecret { version: 1 }]
        {
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
        assert_eq!(Step::WithdrawGrants.judge(&last, &rules(), NOW).unwrap().client.epoch, u32::MAX);
        last.client = Arc::new(Client { version: u32::MAX, ..client });
        assert!(matches!(Step::Suspend.judge(&last, &rules(), NOW), Err(RegistrarError::Store(_))));
    }

    /// SVC-2.1-02
    #[test]
    fn a_submission_needs_a_logo() {
        let rules = RegistrationRules { public_clients: false, ..rules() };
        let bad = ApplicationForm { name: String::new(), client_type: ClientType::Public, ..form() };
        assert_eq!(
            rules.check_new(&bad, None).unwrap_err().to_string(),
            "refused: name: is missing; logo: is missing; client_type: has a value that is not offered"
        );
        let small = RegistrationLimits { logo: 12, ..RegistrationLimits::default() };
        let rules = RegistrationRules { limits: small, ..rules };
        let logo = Logo::clone(&logo());
        let refused = rules.check_new(&form(), Some(logo.clone())).unwrap_err().to_string();
        assert_eq!(refused, "refused: logo: has more than 12 octets");
        assert!(rules.check_change(&form(), Some(logo)).is_err());
        assert!(rules.check_change(&form(), None).is_ok());
    }
}
