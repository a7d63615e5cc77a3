//! The demo application, which is registered at the start.

use std::error::Error;

use grantor::application::Logo;
use grantor::client::ClientState;
use grantor::scope::ResourceScope;
use grantor::{ApplicationForm, Approval, AuthorizationServer, ClientId, Registrar, RegistrarError, Subject};
use rusqlite::OptionalExtension as _;
use tracing::warn;

use crate::accounts::DEMO_ACCOUNTS;
use crate::database::{Database, DatabaseError};

const NAME: &str = "Release Notes";
const DESCRIPTION: &str = "Drafts the notes of your next release from the issues of your repositories.";
/// The scopes that the demo application, and applications that register themselves, may ask for.
pub(crate) const SCOPES: &str = "account-profile:r account-email:r repo-basic-info:r repo-issue:rw";
const LOGO: &[u8] = include_bytes!("../assets/release_notes.png");

/// The credentials of the demo application.
pub(crate) struct DemoApplication {
    pub(crate) client_id: String,
    pub(crate) client_secret: String,
}

impl DemoApplication {
    /// Registers the application. If it exists, makes another secret for it, since only digests of secrets are kept.
    /// Returns `None` if it was deleted, or is not approved.
    pub(crate) async fn prepare(
        server: &AuthorizationServer,
        database: &Database,
        third_party: &str,
        redirect_uri: Option<&str>,
    ) -> Result<Option<Self>, Box<dyn Error>> {
        let registrar = server.registrar().ok_or("the store takes no registrations")?;
        let form = form(third_party, redirect_uri);
        let id = match remembered(database).await? {
            Some(id) => id,
            None => {
                let (developer, ..) = DEMO_ACCOUNTS[1];
                let logo = Logo::new(LOGO, registrar.limits())?;
                let id = registrar.submit(Subject::new(developer)?, form.clone(), Some(logo)).await?;
                remember(database, &id).await?;
                id
            }
        };
        let application = match registrar.application(&id).await {
            Err(RegistrarError::NotFound) => {
                warn!(client = %id, "the demo application was deleted");
                return Ok(None);
            }
            found => found?,
        };
        let client_secret = match application.state() {
            ClientState::Pending => {
                registrar.approve(&id, application.version(), Approval::default()).await?;
                Some(next_secret(&registrar, &id).await?)
            }
            ClientState::Approved => {
                follow(server, &registrar, &id, &form).await?;
                Some(next_secret(&registrar, &id).await?)
            }
            _ => None,
        };
        if client_secret.is_none() {
            warn!(client = %id, "the demo application is not approved");
        }
        Ok(client_secret.map(|client_secret| Self { client_id: id.to_string(), client_secret }))
    }
}

fn form(third_party: &str, redirect_uri: Option<&str>) -> ApplicationForm {
    let mut form = ApplicationForm::new(NAME, third_party);
    form.description = Some(DESCRIPTION.to_owned());
    form.redirect_uris = vec![format!("{third_party}/callback")];
    form.redirect_uris.extend(redirect_uri.map(str::to_owned).filter(|uri| !form.redirect_uris.contains(uri)));
    form.scopes = SCOPES.to_owned();
    form.resource_scope = Some(ResourceScope::All);
    form
}

/// Updates the addresses to where the application listens this time.
async fn follow(
    server: &AuthorizationServer,
    registrar: &Registrar,
    id: &ClientId,
    wanted: &ApplicationForm,
) -> Result<(), Box<dyn Error>> {
    let application = registrar.application(id).await?;
    let mut form = application.form().to_form(&server.config().scopes);
    if wanted.redirect_uris.iter().all(|uri| form.redirect_uris.contains(uri)) && form.website == wanted.website {
        return Ok(());
    }
    if application.proposed.is_some() {
        warn!(client = %id, "a change of the demo application awaits review: its addresses are not updated");
        return Ok(());
    }
    form.website.clone_from(&wanted.website);
    form.redirect_uris.clone_from(&wanted.redirect_uris);
    let owner = application.owner.as_ref().ok_or("the demo application has no owner")?;
    registrar.change(id, owner, form, None).await?;
    let version = registrar.application(id).await?.version();
    registrar.approve(id, version, Approval::default()).await?;
    Ok(())
}

/// Makes a secret on behalf of its current owner, who could also make one on the pages.
async fn next_secret(registrar: &Registrar, id: &ClientId) -> Result<String, Box<dyn Error>> {
    let application = registrar.application(id).await?;
    let owner = application.owner.as_ref().ok_or("the demo application has no owner")?;
    Ok(registrar.rotate_secret(id, owner, application.version()).await?.expose().to_owned())
}

async fn remembered(database: &Database) -> Result<Option<ClientId>, DatabaseError> {
    let query = "SELECT client_id FROM demo_application";
    let read = |connection: &mut rusqlite::Connection| connection.query_row(query, [], |row| row.get(0)).optional();
    let id: Option<String> = database.call(read).await?;
    Ok(id.and_then(|id| ClientId::new(id).ok()))
}

async fn remember(database: &Database, id: &ClientId) -> Result<(), DatabaseError> {
    let id = id.to_string();
    let insert = "INSERT INTO demo_application VALUES (?1)";
    database.call(move |connection| connection.execute(insert, [id]).map(drop)).await
}
