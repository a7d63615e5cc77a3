//! First-party clients: your service describes them, and writes them at each start.

use std::sync::Arc;

use crate::claim::{ATTEMPTS, After, Flow, Seen, Step, claim};
use crate::clock::Timestamp;
use crate::hooks::ApplicationChange;
use crate::model::application::{Application, CheckedForm, MARK_BYTES};
use crate::model::client::{Client, ClientState};
use crate::registration::Registrar;
use crate::registration::error::{RegistrarError, VersionsUsedUp};
use crate::registration::flows::read_any;
use crate::registration::judge::Current;
use crate::store::{ClientRegistry, LogoWrite, Registration};

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
    /// ids ([`Problem::ServerMadeId`](crate::application::Problem::ServerMadeId)) or of a document's address; no name; a
    /// confidential client without a secret or keys; and anything that a form would be refused for. A missing website
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
        let form = self.rules.check_description(description)?;
        let (now, mark) = (self.context.now(), self.mark());
        let mut flow = Ensuring { registry: &*self.registry, description, form, now, mark, current: None };
        let Ensured { client, is_written } = claim(&self.context, &mut flow, Some(ATTEMPTS)).await??;
        if is_written {
            self.raise(&client.id, client.version, None, ApplicationChange::Ensured);
        }
        Ok(client)
    }
}

/// Updates a client to match its description.
struct Ensuring<'a> {
    registry: &'a dyn ClientRegistry,
    description: &'a Client,
    form: CheckedForm,
    now: Timestamp,
    mark: [u8; MARK_BYTES],
    current: Option<Current>,
}

struct Ensured {
    client: Arc<Client>,
    is_written: bool,
}

impl Flow for Ensuring<'_> {
    type Row = Registration;
    type Won = Result<Ensured, RegistrarError>;
    type Error = RegistrarError;

    async fn read(&mut self) -> Result<Seen<Registration>, RegistrarError> {
        let (seen, current) = read_any(self.registry, &self.description.id).await?;
        self.current = current;
        Ok(seen)
    }

    fn judge(&mut self, _: &Seen<Registration>) -> Result<Step<Registration, Self::Won>, RegistrarError> {
        let current = self.current.as_ref();
        match self.next(current) {
            Ok(None) => {
                let client = current.ok_or(RegistrarError::NotFound)?.client.clone();
                Ok(Step::Confirm(Ok(Ensured { client, is_written: false })))
            }
            Ok(Some(next)) => {
                let ensured = Ok(Ensured { client: Arc::new(next.client.clone()), is_written: true });
                let next = Arc::new(next);
                Ok(if current.is_some() { Step::Replace(next, ensured) } else { Step::Insert(next, ensured) })
            }
            Err(error @ (RegistrarError::NotFirstParty | RegistrarError::Reserved { .. })) => {
                Ok(Step::Confirm(Err(error)))
            }
            Err(error) => Err(error),
        }
    }

    fn is_done(&self, found: &Registration, meant: &Registration, _: After) -> bool {
        found.client == meant.client && found.application == meant.application
    }
}

impl Ensuring<'_> {
    /// Returns the next registration; `None` if the client is as described.
    fn next(&self, current: Option<&Current>) -> Result<Option<Registration>, RegistrarError> {
        let Some(Current { client, application, .. }) = current else {
            // A deleted client of this id may have been removed meanwhile. Its epochs are lower, so none of its tokens
            // becomes valid again.
            let epoch = self.now.seconds();
            let client = Client { version: 1, state: ClientState::Approved, epoch, ..self.description.clone() };
            return Ok(Some(self.registration(client, self.now, LogoWrite::Keep)));
        };
        let state = match (client.state, application.reserved_until) {
            (ClientState::Deleted, Some(until)) if self.now < until => return Err(RegistrarError::Reserved { until }),
            (ClientState::Deleted, _) => ClientState::Approved,
            _ if !application.is_first_party() => return Err(RegistrarError::NotFirstParty),
            (state, _) => state,
        };
        let Client { version, epoch, .. } = **client;
        let as_described = Client { version, state, epoch, ..self.description.clone() };
        if **client == as_described {
            return Ok(None);
        }
        let version = version.checked_add(1).ok_or(VersionsUsedUp)?;
        let next = Client { version, ..as_described };
        Ok(Some(self.registration(next, application.submitted, LogoWrite::Clear)))
    }

    fn registration(&self, client: Client, submitted: Timestamp, logo: LogoWrite) -> Registration {
        let application = Application {
            id: client.id.clone(),
            version: client.version,
            state: client.state,
            owner: None,
            submitted,
            decided: None,
            form: self.form.clone(),
            proposed: None,
            rejection: None,
            reserved_until: None,
            open: None,
            initial_token: None,
            mark: self.mark,
        };
        Registration { client, application, proposed_logo: logo.clone(), logo }
    }
}
