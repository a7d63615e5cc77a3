//! One application, as its owner sees it.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use grantor::application::LogoSlot;
use grantor::client::{ClientState, ClientType};
use grantor::{Client, ClientId};

use crate::applications::entered::{Entered, jwks, jwks_uri};
use crate::applications::own;
use crate::pages::{Failure, Frame, page_with_script};
use crate::registration::form_words::FormWords;
use crate::registration::problems::Problems;
use crate::registration::{Named, failure, notice};
use crate::session::SignedIn;
use crate::web::Platform;
use crate::words::{self, When};

#[derive(Template)]
#[template(path = "applications/details.html")]
struct DetailsPage<'a> {
    frame: Frame,
    notice: Option<String>,
    id: String,
    state: &'static str,
    state_class: &'static str,
    explanation: &'static str,
    submitted: When,
    decided: Option<When>,
    /// A heading, and the administrator's own words.
    rejection: Option<(&'static str, String)>,
    /// Whether it was ever approved.
    was_approved: bool,
    /// Its secrets, if it authenticates with one.
    secret: Option<Secret>,
    /// Its keys as stored or as typed, if it authenticates with them.
    keys: Option<Keys>,
    /// The problems of the keys that were sent.
    problems: &'a Problems,
    issuer: &'a str,
    version: u32,
    form: FormWords,
    proposed: Option<FormWords>,
    /// Whether the change contains a new logo.
    has_proposed_logo: bool,
}

/// The public keys of an application, and whether they are of its previous owner.
struct Keys {
    jwks: String,
    jwks_uri: String,
    is_of_previous_owner: bool,
}

impl Keys {
    fn of(client: &Client, entered: Option<&Entered>) -> Option<Self> {
        let keys = Some(client.form().keys.as_ref()?);
        let (jwks, jwks_uri) = match entered {
            Some(entered) => (entered.jwks.clone(), entered.jwks_uri.clone()),
            None => (jwks(keys), jwks_uri(keys)),
        };
        Some(Self { jwks, jwks_uri, is_of_previous_owner: client.has_keys_of_previous_owner() })
    }
}

struct Secret {
    is_made: bool,
    has_previous: bool,
    is_of_previous_owner: bool,
}

impl Secret {
    fn of(client: &Client) -> Option<Self> {
        let made = Self {
            is_made: client.has_secret(),
            has_previous: client.has_previous_secret(),
            is_of_previous_owner: client.has_secret_of_previous_owner(),
        };
        let has_one = client.form().client_type == ClientType::Confidential && client.form().keys.is_none();
        has_one.then_some(made)
    }
}

pub(super) async fn details(
    State(platform): State<Platform>,
    signed_in: SignedIn,
    Named(id): Named,
) -> Result<Response, Failure> {
    let notice = notice::take(&signed_in.visitor.session, &id).await?;
    show(&platform, &signed_in, &id, notice, Entered::default(), &Problems::default()).await
}

/// Shows the application, with the typed keys if something is wrong with them.
pub(super) async fn show(
    platform: &Platform,
    signed_in: &SignedIn,
    id: &ClientId,
    notice: Option<String>,
    entered: Entered,
    problems: &Problems,
) -> Result<Response, Failure> {
    let application = own(platform, &signed_in.account, id).await?;
    let config = platform.server.config();
    let proposed_logo = platform.registrar()?.logo(id, LogoSlot::Proposed).await.map_err(failure)?;
    let client = platform.registrar()?.client(id).await.map_err(failure)?;
    let state = application.state();
    let was_approved = matches!(state, ClientState::Approved | ClientState::Suspended);
    let mut response = page_with_script(&DetailsPage {
        frame: Frame::for_account(&signed_in.account),
        notice,
        id: id.to_string(),
        state: words::state(state),
        state_class: words::state_class(state),
        explanation: explanation(state),
        submitted: words::when(application.submitted),
        decided: application.decided.map(words::when),
        rejection: application.rejection.as_deref().map(|reason| (rejection_heading(state), reason.to_owned())),
        was_approved,
        secret: was_approved.then(|| Secret::of(&client)).flatten(),
        keys: was_approved.then(|| Keys::of(&client, Some(&entered).filter(|_| !problems.is_empty()))).flatten(),
        problems,
        issuer: platform.server.issuer(),
        version: application.version(),
        form: FormWords::new(application.form(), config),
        proposed: application.proposed.as_ref().map(|form| FormWords::new(form, config)),
        has_proposed_logo: proposed_logo.is_some(),
    });
    if !problems.is_empty() {
        *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
    }
    Ok(response)
}

const fn explanation(state: ClientState) -> &'static str {
    match state {
        ClientState::Pending => "An administrator will review it. It cannot be used until then.",
        ClientState::Approved => "It can be used.",
        ClientState::Rejected => "It was not approved. Change what the administrator asks for, and send it again.",
        ClientState::Suspended => {
            "An administrator has suspended it: it cannot be used, and its tokens are refused. Ask them why."
        }
        _ => "",
    }
}

const fn rejection_heading(state: ClientState) -> &'static str {
    match state {
        ClientState::Pending => "Why it was rejected the last time",
        ClientState::Rejected => "Why it was rejected",
        _ => "Why the last change was rejected",
    }
}
