//! Clients that your service keeps itself.

use std::num::NonZeroU32;

use crate::base::id::ClientId;
use crate::model::client::credentials::{ClientSecretError, ClientSecrets, check_secret};
use crate::model::client::{
    ApplicationType, AskConsent, AuthenticationMethods, Client, ClientKeys, ClientOptions, ClientState, ClientType,
    GrantTypes, RefreshRotation,
};
use crate::model::grant_data::GrantData;
use crate::model::redirect_uri::RegisteredRedirectUri;
use crate::scope::{ResourceScope, ScopeSet};
use crate::secret::{ClientSecret, Digest};

impl Client {
    /// Returns a builder for a client that your service stores, such as in a fixed list or a directory.
    ///
    /// By default it is approved, confidential and a web application, and may use authorization code and refresh. It
    /// may authenticate with its secret in the header or in the form. It has no redirect URI, no scope, no resource
    /// and no secret.
    ///
    /// To let it get tokens without a user, add
    /// [`GrantType::ClientCredentials`](crate::client::GrantType::ClientCredentials) to its
    /// [`grant_types`](ClientBuilder::grant_types), and set [`client_scopes`](ClientBuilder::client_scopes) and
    /// [`client_resources`](ClientBuilder::client_resources). The server's
    /// [`Config::client_credentials.on`](crate::Config::client_credentials) must be on.
    ///
    /// # Examples
    ///
    /// ```
    /// use grantor::scope::ResourceScope;
    /// use grantor::{Client, ClientId, ClientSecret, Config};
    /// use grantor::redirect_uri::RegisteredRedirectUri;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let config = Config::platform("https://auth.example");
    /// let client = Client::builder(ClientId::new("reports")?)
    ///     .name("Reports")
    ///     .redirect_uri(RegisteredRedirectUri::parse("https://reports.example/cb", &config.redirect_uris)?)
    ///     .scopes(config.scopes.parse(b"repo-code:r account-profile:r")?)
    ///     .resource_scope(ResourceScope::All)
    ///     .secret(&ClientSecret::new("eighteen random words would do as well"))?
    ///     .build();
    /// // A directory keeps the record, which has only digests in place of secrets.
    /// assert_eq!(Client::decode(&client.encode())?, client);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn builder(id: ClientId) -> ClientBuilder {
        ClientBuilder { client: Self::blank(id) }
    }
}

/// Builds a client that your service stores. [`Client::builder`] returns it.
#[derive(Clone, Debug)]
pub struct ClientBuilder {
    client: Client,
}

impl ClientBuilder {
    /// Sets the name shown to the user.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.client.form.name = name.into();
        self
    }

    /// Sets the address of the official website.
    #[must_use]
    pub fn website(mut self, website: impl Into<String>) -> Self {
        self.client.form.website = website.into();
        self
    }

    /// Adds a redirect URI.
    #[must_use]
    pub fn redirect_uri(mut self, uri: RegisteredRedirectUri) -> Self {
        self.client.form.redirect_uris.push(uri);
        self
    }

    /// Sets the scopes that the client may ask for.
    #[must_use]
    pub fn scopes(mut self, scopes: ScopeSet) -> Self {
        self.client.form.scopes = scopes;
        self
    }

    /// Sets the resource scope that the client may ask for.
    #[must_use]
    pub fn resource_scope(mut self, resource_scope: ResourceScope) -> Self {
        self.client.form.resource_scope = resource_scope;
        self
    }

    /// Sets the scopes that a token without a user may have [RFC 6749 section 4.4]; none by default. A request that
    /// names no scope gets all of them.
    #[must_use]
    pub fn client_scopes(mut self, scopes: ScopeSet) -> Self {
        self.client.form.client_scopes = scopes;
        self
    }

    /// Sets the resources that a token without a user may reach: see
    /// [`CheckedForm::client_resources`]. None by default. [`ResourceScope::Public`] counts as none.
    ///
    /// [`CheckedForm::client_resources`]: crate::client::CheckedForm::client_resources
    #[must_use]
    pub fn client_resources(mut self, resources: ResourceScope) -> Self {
        self.client.form.client_resources =
            if resources == ResourceScope::Public { ResourceScope::none() } else { resources };
        self
    }

    /// Sets the grant types that the client may use.
    #[must_use]
    pub const fn grant_types(mut self, grant_types: GrantTypes) -> Self {
        self.client.form.grant_types = grant_types;
        self
    }

    /// Sets whether the client can keep a secret. A public one loses its secrets and keys, and its method of
    /// authentication becomes `none`.
    #[must_use]
    pub fn client_type(mut self, client_type: ClientType) -> Self {
        if client_type == ClientType::Public {
            self.client.secrets = ClientSecrets::default();
            self.client.form.keys = None;
            self.client.form.options.signing_algorithm = None;
            self.client.form.authentication_methods = AuthenticationMethods::PUBLIC;
        } else if self.client.form.authentication_methods == AuthenticationMethods::PUBLIC {
            self.client.form.authentication_methods = AuthenticationMethods::default();
        }
        self.client.form.client_type = client_type;
        self
    }

    /// Sets whether the application runs on a server or on its user's device.
    #[must_use]
    pub const fn application_type(mut self, application_type: ApplicationType) -> Self {
        self.client.form.application_type = application_type;
        self
    }

    /// Sets the methods that the client may authenticate with.
    #[must_use]
    pub const fn authentication_methods(mut self, methods: AuthenticationMethods) -> Self {
        self.client.form.authentication_methods = methods;
        self
    }

    /// Sets the secret of a confidential client, kept as a SHA-256 digest. The previous secret stays valid as well.
    ///
    /// # Errors
    ///
    /// [`ClientSecretError`] if the client is public or has keys, or if the secret is shorter than 32 characters,
    /// longer than 255, or has a character that is not visible ASCII or a space. A digest without a slow hash is safe
    /// for random secrets only.
    pub fn secret(mut self, secret: &ClientSecret) -> Result<Self, ClientSecretError> {
        let text = secret.expose().as_bytes();
        if self.client.form.client_type == ClientType::Public {
            return Err(ClientSecretError::PublicClient);
        }
        if self.client.form.keys.is_some() {
            return Err(ClientSecretError::HasKeys);
        }
        check_secret(text)?;
        self.client.secrets = self.client.secrets.rotated(Digest::of(text));
        Ok(self)
    }

    /// Sets the client's public keys: it then authenticates with
    /// [`AuthenticationMethod::PrivateKeyJwt`](crate::client::AuthenticationMethod::PrivateKeyJwt), and has no secret.
    /// The client becomes confidential.
    ///
    /// # Examples
    ///
    /// ```
    /// use grantor::{Client, ClientId};
    /// use grantor::client::{AuthenticationMethods, ClientKeys};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let client = Client::builder(ClientId::new("reports")?)
    ///     .name("Reports")
    ///     .keys(ClientKeys::Url("https://reports.example/jwks.json".into()))
    ///     .build();
    /// assert_eq!(client.form().authentication_methods, AuthenticationMethods::KEY);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn keys(mut self, keys: ClientKeys) -> Self {
        self.client.form.client_type = ClientType::Confidential;
        self.client.form.authentication_methods = AuthenticationMethods::KEY;
        self.client.secrets = ClientSecrets::default();
        self.client.form.keys = Some(keys);
        self
    }

    /// Sets what the client registers about its own requests and tokens: see [`ClientOptions`].
    ///
    /// # Examples
    ///
    /// ```
    /// use grantor::{Client, ClientId};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let client = Client::builder(ClientId::new("reports")?)
    ///     .name("Reports")
    ///     .options(|options| options.requires_dpop_bound_tokens = true)
    ///     .build();
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn options(mut self, set: impl FnOnce(&mut ClientOptions)) -> Self {
        set(&mut self.client.form.options);
        self
    }

    /// Requires PKCE for every authorization of this client.
    #[must_use]
    pub const fn require_pkce(mut self) -> Self {
        self.client.privileges.require_pkce = true;
        self
    }

    /// Marks the client as trusted: see [`Privileges::trusted`](crate::client::Privileges::trusted).
    #[must_use]
    pub const fn trusted(mut self) -> Self {
        self.client.privileges.trusted = true;
        self
    }

    /// Makes the client a resource server: see [`Client::may_introspect`].
    #[must_use]
    pub const fn may_introspect(mut self) -> Self {
        self.client.privileges.may_introspect = true;
        self
    }

    /// Sets whether a refresh replaces the refresh token. If it is not set, [`Config::refresh.rotation`] decides.
    ///
    /// It takes effect for confidential web applications, and for native ones that authenticate with a key alone: other
    /// native clients and public ones always get a new one. [`ensure_client`] refuses [`RefreshRotation::Keep`] for
    /// native clients.
    ///
    /// [`Config::refresh.rotation`]: field@crate::Config::refresh.rotation
    /// [`ensure_client`]: crate::Registrar::ensure_client
    #[must_use]
    pub const fn refresh_rotation(mut self, rotation: RefreshRotation) -> Self {
        self.client.privileges.refresh_rotation = Some(rotation);
        self
    }

    /// Sets when users are asked for consent: see [`AskConsent`]. [`ensure_client`] refuses other values than
    /// [`AskConsent::Always`] for a client that does not qualify. Elsewhere they have no effect for such a client.
    ///
    /// [`ensure_client`]: crate::Registrar::ensure_client
    #[must_use]
    pub const fn ask_consent(mut self, ask_consent: AskConsent) -> Self {
        self.client.privileges.ask_consent = ask_consent;
        self
    }

    /// Numbers the description: give it a higher number with each change. [`ensure_client`] never replaces a client by
    /// a description with a lower number, so that an older process that is started again undoes nothing. To go back,
    /// give the old description a higher number. 0, the default, is lower than any other.
    ///
    /// [`ensure_client`]: crate::Registrar::ensure_client
    #[must_use]
    pub const fn revision(mut self, revision: u32) -> Self {
        self.client.revision = NonZeroU32::new(revision);
        self
    }

    /// Sets what your service keeps with the tokens that the client gets for itself: see [`Client::data`].
    #[must_use]
    pub fn data(mut self, data: GrantData) -> Self {
        self.client.data = Some(data);
        self
    }

    /// Sets the epoch. To revoke all grants, increase it by one.
    #[must_use]
    pub const fn epoch(mut self, epoch: u32) -> Self {
        self.client.epoch = epoch;
        self
    }

    /// Suspends the client.
    #[must_use]
    pub const fn suspended(mut self) -> Self {
        self.client.state = ClientState::Suspended;
        self
    }

    /// Returns the client.
    #[must_use]
    pub fn build(self) -> Client {
        self.client
    }
}
