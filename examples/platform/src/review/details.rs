//! One application, as administrators see it.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect, Response};
use grantor::application::LogoSlot;
use grantor::client::{ClientOrigin, ClientState, SelfRegistration};
use grantor::client_metadata::MoreMetadata;
use grantor::{Application, Client, ClientId, Config, Registrar, RegistrarError};
use tower_sessions::Session;

use crate::accounts::Account;
use crate::pages::{Failure, Frame, page, segment};
use crate::registration::form_words::{Difference, FormWords, differences, scope_lines};
use crate::registration::problems::words as problem_words;
use crate::registration::{Named, failure, notice};
use crate::review::namesakes::{self, Namesake};
use crate::session::Administrator;
use crate::web::Platform;
use crate::words::{self, ScopeGroup, When};

#[derive(Template)]
#[template(path = "review/details.html")]
struct DetailsPage {
    frame: Frame,
    notice: Option<String>,
    refusal: Refusal,
    id: String,
    /// The id in the paths of this page.
    segment: String,
    version: u32,
    state: &'static str,
    state_class: &'static str,
    owner: Option<Owner>,
    /// Set for an application that registered itself.
    open: Option<Open>,
    submitted: When,
    decided: Option<When>,
    rejection: Option<String>,
    form: FormWords,
    differences: Vec<Difference>,
    /// Others of this name, while there is something to decide.
    namesakes: Vec<Namesake>,
    has_proposed_logo: bool,
    /// What may be approved, if there is something to decide.
    decision: Option<DecisionForm>,
    standing: Standing,
    is_in_use: bool,
    is_suspended: bool,
}

struct Owner {
    id: String,
    name: String,
    email: String,
}

/// What is shown about an application that registered itself. Its links are shown as text, and nothing is fetched from
/// them.
struct Open {
    how: &'static str,
    registered: When,
    is_unreviewed: bool,
    /// When it is removed, unless it is used or reviewed before.
    gone_at: Option<When>,
    /// This and the next field are about the proposed change, if there is one.
    has_foreign_links: bool,
    looks_like_another: bool,
    /// What else it says about itself.
    claims: Vec<(&'static str, String)>,
}

impl Open {
    fn of(application: &Application, client: &Client) -> Option<Self> {
        let (open, more) = (client.open()?, application.more_metadata()?);
        let newest = application.proposed_registration().unwrap_or_else(|| open.clone());
        let claims = claims(more).into_iter().filter(|(_, text)| !text.is_empty());
        let how = match open.origin {
            ClientOrigin::DynamicRegistration => "It registered itself",
            ClientOrigin::MetadataDocument => "Its id is the address of its metadata document",
            _ => "No developer submitted it",
        };
        Some(Self {
            how,
            registered: words::when(open.registered),
            is_unreviewed: client.is_unreviewed(),
            gone_at: open.gone_at.map(words::when),
            has_foreign_links: newest.has_foreign_links,
            looks_like_another: newest.looks_like_another,
            claims: claims.collect(),
        })
    }
}

/// What an application says about itself besides its form.
fn claims(more: &MoreMetadata) -> [(&'static str, String); 5] {
    let software = [&more.software_id, &more.software_version].into_iter().flatten().cloned().collect::<Vec<_>>();
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    [
        ("Contacts", more.contacts.join(", ")),
        ("Software", software.join(" ")),
        ("Terms of service", text(&more.tos_uri)),
        ("Privacy policy", text(&more.policy_uri)),
        ("Logo, not fetched", text(&more.logo_uri)),
    ]
}

/// Compares what the change of an application that registered itself has besides its form.
fn open_differences(application: &Application, client: &Client, config: &Config) -> Option<Vec<Difference>> {
    let (old, new) = (client.open()?, application.proposed_registration()?);
    let (old_more, new_more) = (application.more_metadata()?, application.proposed_more_metadata()?);
    let defaults = |own: &SelfRegistration| scope_lines(&words::scope_groups(&config.scopes, &own.default_scopes));
    let resources = |own: &SelfRegistration| match &own.resources {
        None => vec!["All".to_owned()],
        Some(resources) => resources.iter().map(|identifier| identifier.clone().into()).collect(),
    };
    let own = [
        Difference::new("Scopes of a request that names none", &defaults(old), &defaults(&new)),
        Difference::new("Protected resources", &resources(old), &resources(&new)),
    ];
    let claimed = claims(old_more).into_iter().zip(claims(new_more));
    let claimed = claimed.map(|((label, old), (_, new))| Difference::new(label, &[old], &[new]));
    Some(own.into_iter().chain(claimed).collect())
}

struct DecisionForm {
    is_change: bool,
    /// Whether it can be rejected: one that is in use already is suspended instead.
    is_rejectable: bool,
    /// Whether the administrator supplies what users see of it.
    supplies_words: bool,
    name: String,
    website: String,
    scopes: Vec<ScopeGroup>,
}

/// What administrators allow or require besides its scopes.
struct Standing {
    can_introspect: bool,
    has_secret: bool,
    requires_pkce: bool,
    is_trusted: bool,
    may_introspect: bool,
}

impl Standing {
    const fn has_everything(&self) -> bool {
        self.requires_pkce && self.is_trusted && (self.may_introspect || !self.can_introspect)
    }

    fn of(client: &Client) -> Self {
        Self {
            can_introspect: !client.counts_as_public(),
            has_secret: client.has_secret(),
            requires_pkce: client.privileges().require_pkce,
            is_trusted: client.privileges().trusted,
            may_introspect: client.may_introspect(),
        }
    }
}

/// Why a form had no effect, with the typed values.
#[derive(Debug, Default)]
pub(super) struct Refusal {
    pub(super) text: Option<String>,
    pub(super) reason: String,
    pub(super) reason_problem: Option<String>,
}

impl From<&'static str> for Refusal {
    fn from(text: &'static str) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }
}

pub(super) async fn details(
    State(platform): State<Platform>,
    Administrator(account): Administrator,
    Named(id): Named,
    session: Session,
) -> Result<Response, Failure> {
    let notice = notice::take(&session, &id).await?;
    show(&platform, &account, &id, notice, Refusal::default()).await
}

/// Redirects from an address that only accepts forms to the page that sends them.
pub(super) async fn back(_: Administrator, Named(id): Named) -> Redirect {
    Redirect::to(&format!("/review/{}", segment(id.as_str())))
}

/// Shows the application as it is now, and why nothing was done.
pub(super) async fn refuse(
    platform: &Platform,
    account: &Account,
    id: &ClientId,
    refusal: impl Into<Refusal>,
) -> Result<Response, Failure> {
    let refusal = refusal.into();
    let is_typing = refusal.reason_problem.is_some();
    let mut response = show(platform, account, id, None, refusal).await?;
    *response.status_mut() = if is_typing { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::CONFLICT };
    Ok(response)
}

/// The registrar, whose events name the administrator.
pub(super) fn acting(platform: &Platform, account: &Account) -> Result<Registrar, Failure> {
    Ok(platform.registrar()?.with_actor(account.subject.clone()))
}

/// Redirects to the application with a notice of what was done, or shows why it was not.
pub(super) async fn conclude(
    platform: &Platform,
    account: &Account,
    id: &ClientId,
    session: &Session,
    outcome: Result<&'static str, RegistrarError>,
) -> Result<Response, Failure> {
    match outcome {
        Ok(done) => {
            notice::leave(session, id, done).await?;
            Ok(Redirect::to(&format!("/review/{}", segment(id.as_str()))).into_response())
        }
        Err(error) => explain(platform, account, id, error).await,
    }
}

/// Shows a refusal of the registrar in words. Other errors are failures.
pub(super) async fn explain(
    platform: &Platform,
    account: &Account,
    id: &ClientId,
    error: RegistrarError,
) -> Result<Response, Failure> {
    let text = match error {
        RegistrarError::Invalid(errors) => {
            let application = platform.registrar()?.application(id).await.map_err(failure)?;
            let form = application.proposed.as_ref().unwrap_or_else(|| application.form());
            let form = form.to_form(&platform.server.config().scopes);
            errors.iter().map(|error| problem_words(error, &form)).collect::<Vec<_>>().join(" ")
        }
        other => plain_words(other)?.to_owned(),
    };
    refuse(platform, account, id, Refusal { text: Some(text), ..Refusal::default() }).await
}

fn plain_words(error: RegistrarError) -> Result<&'static str, Failure> {
    Ok(match error {
        RegistrarError::ChangedMeanwhile => {
            "Nothing was done: the application was changed after you opened this page. This is how it is now."
        }
        RegistrarError::NothingProposed => {
            "Nothing was done: this was decided already, and nothing else awaits review."
        }
        RegistrarError::NoSecret => "Nothing was done: the application authenticates with its key and has no secret.",
        RegistrarError::FirstParty => "The platform describes this application itself: change its description.",
        RegistrarError::PublicClient => {
            "Only a web application with its own secret can introspect. A native application has none: every \
             copy has the same."
        }
        RegistrarError::Extends(_) => {
            "It can keep only scopes that it has. More scopes need a change by its developer."
        }
        RegistrarError::ScopesNotAsked => "Only scopes that the application asks for can be approved.",
        RegistrarError::WrongState(ClientState::Pending) => {
            "Nothing was done: the application awaits its first review."
        }
        RegistrarError::WrongState(ClientState::Approved) => "Nothing was done: the application is in use already.",
        RegistrarError::WrongState(ClientState::Rejected) => {
            "Nothing was done: the application is rejected, until its developer sends it again."
        }
        RegistrarError::WrongState(ClientState::Suspended) => "Nothing was done: the application is suspended already.",
        other => return Err(failure(other)),
    })
}

async fn show(
    platform: &Platform,
    account: &Account,
    id: &ClientId,
    notice: Option<String>,
    refusal: Refusal,
) -> Result<Response, Failure> {
    let (registrar, config) = (platform.registrar()?, platform.server.config());
    let application = registrar.application(id).await.map_err(failure)?;
    let client = registrar.client(id).await.map_err(failure)?;
    let proposed_logo = registrar.logo(id, LogoSlot::Proposed).await.map_err(failure)?;
    let state = application.state();
    let form = FormWords::new(application.form(), config);
    let proposed = application.proposed.as_ref().map(|proposed| FormWords::new(proposed, config));
    let awaits_review = application.awaits_review();
    let open = Open::of(&application, &client);
    let is_unreviewed = client.is_unreviewed();
    let is_to_decide = awaits_review || is_unreviewed;
    let namesakes = if is_to_decide { namesakes::of(platform, &application).await? } else { Vec::new() };
    let newest = proposed.as_ref().unwrap_or(&form);
    let decision = is_to_decide.then(|| DecisionForm {
        is_change: proposed.is_some(),
        is_rejectable: awaits_review,
        supplies_words: is_unreviewed || (open.is_some() && application.owner.is_none()),
        name: newest.name.clone(),
        website: newest.website.clone(),
        scopes: newest.scopes.clone(),
    });
    let mut changed = proposed.as_ref().map(|proposed| differences(&form, proposed)).unwrap_or_default();
    changed.extend(open_differences(&application, &client, config).unwrap_or_default());
    Ok(page(&DetailsPage {
        frame: Frame::for_account(account),
        notice,
        refusal,
        id: id.to_string(),
        segment: segment(id.as_str()),
        version: application.version(),
        state: words::state(state),
        state_class: words::state_class(state),
        owner: owner(platform, &application).await?,
        open,
        submitted: words::when(application.submitted),
        decided: application.decided.map(words::when),
        rejection: application.rejection.clone(),
        differences: changed,
        namesakes,
        form,
        has_proposed_logo: proposed_logo.is_some(),
        decision,
        standing: Standing::of(&client),
        is_in_use: matches!(state, ClientState::Approved | ClientState::Suspended),
        is_suspended: state == ClientState::Suspended,
    }))
}

/// Returns the owner. If the account no longer exists, only its id is known.
async fn owner(platform: &Platform, application: &Application) -> Result<Option<Owner>, Failure> {
    let Some(owner) = application.owner.as_ref() else { return Ok(None) };
    let id = owner.to_string();
    let account = Account::find(&platform.database, &id).await?;
    let (name, email) = account.map_or_else(Default::default, |account| (account.name, account.email));
    Ok(Some(Owner { id, name, email }))
}
