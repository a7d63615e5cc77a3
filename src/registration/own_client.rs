//! Your own clients in few words: texts in place of types.
//!
//! It wraps the builder of clients instead of repeating it, so a new setting of clients needs no method here. The
//! builder itself takes checked types: a directory of clients uses it too, and no registrar checks what is in it.

use std::sync::Arc;

use crate::base::id::ClientId;
use crate::context::Context;
use crate::model::application::{Field, FieldError, Problem};
use crate::model::client::{Client, ClientBuilder, GrantType, GrantTypes};
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
