//! First-party clients: your service describes them, and writes them at each start.
//!
//! Such a client has no owner, by which it is recognized: a client that was submitted is never taken over. Its id
//! cannot have the form of a generated id or of a document's URL. Steps that change what the description states are
//! refused, since the next start would undo them. A suspension survives every start.

use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::claim::{ATTEMPTS, After, Claim, Effect, Seen, claim_record, draw_version};
use crate::context::Context;
use crate::hooks::ApplicationChange;
use crate::model::application::Application;
use crate::model::client::{Client, ClientState};
use crate::registration::Registrar;
use crate::registration::error::RegistrarError;

impl Registrar {
    /// Registers a first-party client, or updates it to match its description; call it at each start.
    ///
    /// The client has the id of the description, and needs no logo and no review. If it is missing, it is created. If
    /// it is as described, nothing is written. If it differs, it is replaced in one write; its tokens stay valid.
    /// Processes that start at the same time create one client. A suspension and revoked grants stay as they are:
    /// state, epoch and version of the description are ignored.
    ///
    /// To replace the secret without an interruption, describe both: the builder's
    /// [`secret`](crate::client::ClientBuilder::secret) keeps the previous one.
    ///
    /// Returns the client as it is now. Check its [`state`](Client::state) where a suspended client matters.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::Invalid`] with everything that is wrong with the description: an id in the form of generated
    /// ids ([`Problem::ServerMadeId`](crate::application::Problem::ServerMadeId)) or of a document's address; no name;
    /// a confidential client without a secret or keys; and anything that a form would be refused for. A missing website
    /// is accepted, and so are missing resources where no user is involved. [`RegistrarError::NotFirstParty`] if a
    /// client of that id was submitted; [`RegistrarError::PublicClient`] if only a confidential web application may
    /// have its privileges; [`RegistrarError::Reserved`] if it was deleted; or [`RegistrarError::Store`].
    ///
    /// # Examples
    ///
    /// ```
    /// use grantor::scope::ResourceScope;
    /// use grantor::{AuthorizationServer, Client, ClientId, ClientSecret, Config, MemoryStore};
    /// use grantor::redirect_uri::RegisteredRedirectUri;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = AuthorizationServer::new(Config::platform("https://auth.example"), MemoryStore::new())?;
    /// let config = server.config();
    /// let secret = ClientSecret::new("thirty-two characters or more, from the environment");
    /// let wiki = Client::builder(ClientId::new("wiki")?)
    ///     .name("Wiki")
    ///     .redirect_uri(RegisteredRedirectUri::parse("https://wiki.example/cb", &config.redirect_uris)?)
    ///     .scopes(config.scopes.parse(b"account-profile:r")?)
    ///     .resource_scope(ResourceScope::All)
    ///     .secret(&secret)?
    ///     .build();
    /// let registrar = server.registrar().ok_or("the store takes no registrations")?;
    /// let client = registrar.ensure_client(&wiki).await?;
    /// assert_eq!(registrar.ensure_client(&wiki).await?.version(), client.version());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn ensure_client(&self, description: &Client) -> Result<Arc<Client>, RegistrarError> {
        self.rules().check_description(description)?;
        let (context, now) = (&*self.context, self.context.now());
        let mut ensuring = Ensuring { context, description, now, version: draw_version(&*context.entropy) };
        let (is_written, record) = claim_record(context, &mut ensuring, Some(ATTEMPTS)).await?;
        let is_written = is_written?;
        let client = record.ok_or(RegistrarError::NotFound)?.client().clone();
        if is_written {
            self.raise(&client.id, None, ApplicationChange::Ensured);
        }
        Ok(client)
    }
}

/// Updates a client to match its description.
struct Ensuring<'a> {
    context: &'a Context,
    description: &'a Client,
    now: Timestamp,
    /// The version of a first record.
    version: u32,
}

impl Claim for Ensuring<'_> {
    type Row = Application;
    /// Whether anything was written.
    type Won = Result<bool, RegistrarError>;
    type Error = RegistrarError;

    async fn read(&mut self) -> Result<Seen<Application>, RegistrarError> {
        Ok(self.context.stores.applications.find(&self.description.id).await?.into())
    }

    fn judge(&mut self, seen: &Seen<Application>) -> Result<Effect<Application, Self::Won>, RegistrarError> {
        let current = seen.found();
        match self.next(current.map(|current| &**current)) {
            Ok(None) => Ok(Effect::Confirm(Ok(false))),
            Ok(Some(next)) => {
                let next = Arc::new(next);
                Ok(if current.is_some() { Effect::Replace(next, Ok(true)) } else { Effect::Insert(next, Ok(true)) })
            }
            Err(error @ (RegistrarError::NotFirstParty | RegistrarError::Reserved { .. })) => {
                Ok(Effect::Confirm(Err(error)))
            }
            Err(error) => Err(error),
        }
    }

    fn is_done(&self, found: &Application, meant: &Application, _: After) -> bool {
        found == meant
    }
}

impl Ensuring<'_> {
    /// Returns the next record; `None` if the client is as described.
    fn next(&self, current: Option<&Application>) -> Result<Option<Application>, RegistrarError> {
        let Some(current) = current else {
            // A deleted client of this id may have been removed meanwhile. Its epochs are lower, so none of its tokens
            // becomes valid again.
            let (version, epoch) = (self.version, self.now.seconds());
            let client = Client { version, state: ClientState::Approved, epoch, ..self.description.clone() };
            return Ok(Some(Application::new(Arc::new(client), self.now)));
        };
        let state = match (current.state(), current.reserved_until) {
            (ClientState::Deleted, Some(until)) if self.now < until => return Err(RegistrarError::Reserved { until }),
            (ClientState::Deleted, _) => ClientState::Approved,
            _ if !current.is_first_party() => return Err(RegistrarError::NotFirstParty),
            (state, _) => state,
        };
        let Client { version, epoch, .. } = *current.client;
        let as_described = Client { version, state, epoch, ..self.description.clone() };
        if *current.client == as_described {
            return Ok(None);
        }
        Ok(Some(Application::new(Arc::new(as_described), current.submitted)))
    }
}
