//! Your own clients: your service describes them, and writes them at each start.
//!
//! Such a client has no owner, by which it is recognized: a client that was submitted is never taken over. Its id
//! cannot have the form of a generated id or of a document's URL. Steps that change what the description states are
//! refused, since the next start would undo them. A suspension survives every start.
//!
//! [`OwnClient`] takes texts in place of types. It wraps the builder of clients instead of repeating it, so a new
//! setting of clients needs no method here. The builder itself takes checked types: a directory of clients uses it too,
//! and no registrar checks what is in it.

use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::base::id::ClientId;
use crate::claim::{ATTEMPTS, After, Claim, Effect, Seen, claim_record, draw_version};
use crate::context::Context;
use crate::hooks::ApplicationChange;
use crate::model::application::{Application, Field, FieldError, Problem};
use crate::model::client::{Client, ClientBuilder, ClientState, GrantType, GrantTypes};
use crate::model::redirect_uri::RegisteredRedirectUri;
use crate::registration::Registrar;
use crate::registration::error::RegistrarError;
use crate::scope::{ResourceScope, ScopeSet};
use crate::secret::ClientSecret;

/// Describes a client of your own and registers it: the short form of [`Client::builder`] and
/// [`Registrar::ensure_client`]. [`AuthorizationServer::own_client`] returns it.
///
/// It takes texts, and reads them under the settings of the server. By default the client is confidential, and its
/// scopes are for all resources. [`with`](Self::with) sets everything else.
///
/// [`AuthorizationServer::own_client`]: crate::AuthorizationServer::own_client
#[derive(Clone, Debug)]
#[must_use = "`ensure` registers the client"]
pub struct OwnClient {
    /// The id as it was given, valid or not.
    id: String,
    context: Arc<Context>,
    builder: ClientBuilder,
    grant_types: GrantTypes,
    user_scopes: ScopeSet,
    redirect_uris: usize,
    refused: Vec<FieldError>,
}

impl OwnClient {
    pub(crate) fn new(context: Arc<Context>, id: String) -> Self {
        let (client_id, refused) = match ClientId::new(&*id) {
            Ok(id) => (id, Vec::new()),
            // A client with a refused field is not registered.
            Err(error) => {
                let refused = FieldError::new(Field::ClientId, Problem::ClientId(error));
                (ClientId::generate(&*context.entropy), vec![refused])
            }
        };
        let builder = Client::builder(client_id).resource_scope(ResourceScope::All);
        let (grant_types, user_scopes) = (GrantTypes::NONE, ScopeSet::empty());
        Self { id, context, builder, grant_types, user_scopes, redirect_uris: 0, refused }
    }

    /// Sets the name shown to the user.
    pub fn name(self, name: impl Into<String>) -> Self {
        self.with(|client| client.name(name))
    }

    /// Adds a redirect URI.
    pub fn redirect_uri(mut self, uri: impl Into<String>) -> Self {
        self.redirect_uris += 1;
        let number = self.redirect_uris;
        match RegisteredRedirectUri::parse(&uri.into(), &self.context.config.redirect_uris) {
            Ok(uri) => self.with(|client| client.redirect_uri(uri)),
            Err(error) => self.refuse(Field::RedirectUris, Problem::RedirectUri { number, error }),
        }
    }

    /// Sets the scopes that the client may ask users for, separated by spaces. It then may use codes and refresh
    /// tokens.
    pub fn scopes(mut self, scopes: impl Into<String>) -> Self {
        self.grant_types = self.grant_types.with(GrantType::AuthorizationCode).with(GrantType::RefreshToken);
        self.with_user_scopes(&scopes.into())
    }

    /// Sets the scopes that the client may ask users for on devices without a browser [RFC 8628], separated by spaces.
    /// It then may use device codes and refresh tokens, and needs no redirect URI. The server's
    /// [`Config::devices.on`](crate::Config::devices) must be on.
    ///
    /// A client has one set of scopes for its users: with [`scopes`](Self::scopes) too, it has those of both.
    pub fn device_scopes(mut self, scopes: impl Into<String>) -> Self {
        self.grant_types = self.grant_types.with(GrantType::DeviceCode).with(GrantType::RefreshToken);
        self.with_user_scopes(&scopes.into())
    }

    /// Sets the scopes of its tokens without a user [RFC 6749 section 4.4], separated by spaces. The server's
    /// [`Config::client_credentials.on`](crate::Config::client_credentials) must be on.
    pub fn client_scopes(mut self, scopes: impl Into<String>) -> Self {
        self.grant_types = self.grant_types.with(GrantType::ClientCredentials);
        let set = |client: ClientBuilder, scopes| client.client_scopes(scopes).client_resources(ResourceScope::All);
        self.with_scopes(Field::ClientScopes, &scopes.into(), set)
    }

    /// Makes the client a resource server in another process, which introspects tokens [RFC 7662] and gets none itself.
    ///
    /// If there are [`Config::resources`](crate::Config::resources), it sees tokens for those whose
    /// [`resource_servers`](crate::protected_resource::ProtectedResource::resource_servers) list it. If there are none,
    /// it sees all tokens.
    pub fn resource_server(self) -> Self {
        let sees_all = self.context.config.resources.is_empty();
        self.with(|client| {
            let client = client.grant_types(GrantTypes::NONE);
            if sees_all { client.may_introspect() } else { client }
        })
    }

    /// Sets the secret: 32 to 255 random characters from your configuration. To replace it without an interruption,
    /// call this with the previous one first, and then with the new one.
    pub fn secret(self, secret: impl Into<String>) -> Self {
        match self.builder.clone().secret(&ClientSecret::new(secret)) {
            Ok(builder) => self.with(|_| builder),
            Err(error) => self.refuse(Field::ClientSecret, Problem::ClientSecret(error)),
        }
    }

    /// Numbers the description: see [`ClientBuilder::revision`].
    pub fn revision(self, revision: u32) -> Self {
        self.with(|client| client.revision(revision))
    }

    /// Sets what has no method here, such as `.with(|client| client.client_type(ClientType::Public))`.
    pub fn with(mut self, set: impl FnOnce(ClientBuilder) -> ClientBuilder) -> Self {
        self.builder = set(self.builder);
        self
    }

    fn with_user_scopes(mut self, scopes: &str) -> Self {
        let catalog = self.context.config.scopes.clone();
        match catalog.parse(scopes.as_bytes()) {
            Ok(scopes) => self.user_scopes = catalog.union(&[&self.user_scopes, &scopes]),
            Err(error) => return self.refuse(Field::Scopes, Problem::Scope(error)),
        }
        let (grant_types, scopes) = (self.grant_types, self.user_scopes.clone());
        self.with(|client| client.grant_types(grant_types).scopes(scopes))
    }

    fn with_scopes(
        self,
        field: Field,
        scopes: &str,
        set: impl FnOnce(ClientBuilder, ScopeSet) -> ClientBuilder,
    ) -> Self {
        let grant_types = self.grant_types;
        let own = self.with(|client| client.grant_types(grant_types));
        match own.context.config.scopes.parse(scopes.as_bytes()) {
            Ok(scopes) => own.with(|client| set(client, scopes)),
            Err(error) => own.refuse(field, Problem::Scope(error)),
        }
    }

    fn refuse(mut self, field: Field, problem: Problem) -> Self {
        self.refused.push(FieldError::new(field, problem));
        self
    }

    /// Registers the client, or updates it to match the description, as [`Registrar::ensure_client`] does. Call it at
    /// each start.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::OwnClient`], which names the client, with an error as from [`Registrar::ensure_client`].
    /// [`RegistrarError::Invalid`] lists all that is wrong. [`RegistrarError::Store`] also if the clients are in a
    /// [directory of your own](crate::store::Stores::with_clients).
    pub async fn ensure(self) -> Result<Arc<Client>, RegistrarError> {
        let client = self.id.clone();
        self.registered().await.map_err(|error| RegistrarError::OwnClient { client, error: Box::new(error) })
    }

    async fn registered(self) -> Result<Arc<Client>, RegistrarError> {
        let registrar = Registrar::required(&self.context)?;
        let (client, mut refused) = (self.builder.build(), self.refused);
        if refused.is_empty() {
            return registrar.ensure_client(&client).await;
        }
        // The client lacks what was refused above.
        if let Err(RegistrarError::Invalid(others)) = registrar.rules().check_description(&client) {
            let fields: Vec<_> = refused.iter().map(FieldError::field).collect();
            refused.extend(others.into_iter().filter(|other| !fields.contains(&other.field())));
        }
        refused.sort_by_key(FieldError::field);
        Err(RegistrarError::Invalid(refused))
    }
}

impl Registrar {
    /// Registers a first-party client, or updates it to match its description; call it at each start.
    ///
    /// The client has the id of the description, and needs no logo and no review. If it is missing, it is created. If
    /// it is as described, nothing is written. If it differs, it is replaced in one write; its tokens stay valid.
    /// Processes that start at the same time create one client. A suspension and revoked grants stay as they are:
    /// state, epoch and version of the description are ignored.
    ///
    /// Where two processes may have different descriptions, as during a roll-out, number them with
    /// [`revision`](crate::client::ClientBuilder::revision). A client with a higher number stays as it is, and a
    /// deleted one stays deleted for that number and lower ones while its id is reserved: neither is an error, so an
    /// older process starts.
    ///
    /// To replace the secret without an interruption, describe both: the builder's
    /// [`secret`](crate::client::ClientBuilder::secret) keeps the previous one.
    ///
    /// Returns the client as it is now. Check its [`state`](Client::state) where a suspended or deleted client matters.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::Invalid`] with everything that is wrong with the description: an id in the form of generated
    /// ids ([`Problem::ServerMadeId`]) or of a document's address; no name; a confidential client without a secret or
    /// keys; and anything that a form would be refused for. A missing website is accepted, and so are missing resources
    /// where no user is involved. [`RegistrarError::NotFirstParty`] if a client of that id was submitted;
    /// [`RegistrarError::PublicClient`] if only a confidential web application may have its privileges;
    /// [`RegistrarError::Reserved`] if it was deleted, its id is still reserved, and the description has no number or a
    /// higher one; or [`RegistrarError::Store`], also if the store has the records of [another
    /// issuer](crate::Config::former_issuers).
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
        context.check_issuer().await?;
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
    /// Returns the next record; `None` if the client is as described, or by a newer description.
    fn next(&self, current: Option<&Application>) -> Result<Option<Application>, RegistrarError> {
        let Some(current) = current else {
            // A deleted client of this id may have been removed meanwhile. Its epochs are lower, so none of its tokens
            // becomes valid again.
            let (version, epoch) = (self.version, self.now.seconds());
            let client = Client { version, state: ClientState::Approved, epoch, ..self.description.clone() };
            return Ok(Some(Application::new(Arc::new(client), self.now)));
        };
        let (written, own) = (current.client.revision, self.description.revision);
        let is_deleted = current.state() == ClientState::Deleted;
        let is_newer = if is_deleted { written.is_some() && written >= own } else { written > own };
        if is_newer && (is_deleted || current.is_first_party()) {
            return Ok(None);
        }
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
