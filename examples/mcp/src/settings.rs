//! The authorization server: its scopes, its one protected resource, and who may register.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use grantor::client::{ApplicationType, AuthenticationMethod, AuthenticationMethods, ClientType};
use grantor::client_metadata::RegistrationBounds;
use grantor::config::DynamicRegistration;
use grantor::hooks::{ApproveWithin, QueueAll};
use grantor::protected_resource::ProtectedResource;
use grantor::redirect_uri::{PrivateUseSchemes, RegisteredRedirectUri};
use grantor::scope::{Permissions, ResourceScope, ScopeCatalog, ScopeDefinition, ScopeError, ScopeSet};
use grantor::{AuthorizationServer, Client, ClientId, Config, SqliteStore};
use grantor_fetch::Fetch;

use crate::apart;
use crate::options::Options;

/// The scope that a client asks for first. A tool that needs more answers with a 403 that names its scopes.
const BASIC_SCOPE: &str = "notes:r";
const ALL_SCOPES: &str = "notes:rw publish";

/// Builds the authorization server.
pub(crate) fn authorization_server(
    options: &Options,
    issuer: &str,
    store: SqliteStore,
) -> Result<AuthorizationServer, Box<dyn Error>> {
    let resource = options.resource.clone().unwrap_or_else(|| format!("{}/mcp", origin(issuer)));
    let config = config(options, issuer, resource)?;
    let (basic, all) = (config.scopes.parse(BASIC_SCOPE.as_bytes())?, allowed_scopes(&config)?);
    let bounds = RegistrationBounds::new(all, ResourceScope::All).default_scopes(basic);
    let builder = AuthorizationServer::builder(config, store)
        // Only for `--clock-speed`; the default is the system's clock.
        .clock(options.times.clock())
        .throttle(demo::throttle::throttle(issuer, options.throttle))
        .fetcher(fetcher(options.fetch_root.as_deref())?);
    let builder = match options.review {
        true => builder.registration_policy(QueueAll::new(bounds)),
        false => builder.registration_policy(ApproveWithin::new(bounds)),
    };
    Ok(builder.build()?)
}

/// The scopes that a client may have at most.
pub(crate) fn allowed_scopes(config: &Config) -> Result<ScopeSet, ScopeError> {
    config.scopes.parse(ALL_SCOPES.as_bytes())
}

/// The fetcher of metadata documents and key sets: from public hosts only, unless a root certificate is given.
fn fetcher(root: Option<&Path>) -> Result<Fetch, Box<dyn Error>> {
    let Some(root) = root else { return Ok(Fetch::new()?) };
    let named = |error: &dyn Error| format!("{}: {error} (--fetch-root names the file)", root.display());
    let certificates = std::fs::read(root).map_err(|error| named(&error))?;
    Ok(Fetch::for_development(certificates).map_err(|error| named(&error))?)
}

/// The settings, in the process of the authorization server and in that of the MCP server.
pub(crate) fn config(options: &Options, issuer: &str, resource: String) -> Result<Config, Box<dyn Error>> {
    let mut config = Config::mcp(issuer);
    config.development = true;
    config.scopes = ScopeCatalog::builder()
        .scope(
            ScopeDefinition::new("notes", Permissions::ReadOnlyOrReadWrite)
                .with_title("Notes")
                .with_verbs("Read your notes", "Read and write your notes"),
        )
        .scope(
            ScopeDefinition::plain("publish")
                .with_title("Publish")
                .with_verbs("Show notes to everybody, in your name", ""),
        )
        .build()?;
    let mut resource = ProtectedResource::new(resource, "Notes");
    resource.basic_scopes = vec![BASIC_SCOPE.into()];
    // Some clients request the metadata only at the well-known path without a suffix.
    resource.root_metadata = true;
    resource.resource_servers = vec![ClientId::new(apart::CLIENT_ID)?];
    config.resources = vec![resource];
    // The redirect URI of the editor Cursor has this scheme.
    config.redirect_uris.private_use_schemes = PrivateUseSchemes::Named(vec!["cursor".into()]);
    config.registration.dynamic = DynamicRegistration::Open;
    config.registration.metadata_documents = true;
    // Documents may have keys, as that of ChatGPT has.
    config.client_authentication.methods = AuthenticationMethods::SECRET.with(AuthenticationMethod::PrivateKeyJwt);
    // All users of this example share one account.
    config.limits.consent_requests = usize::MAX;
    config.limits.grants = usize::MAX;
    options.times.apply(&mut config);
    Ok(config)
}

/// The URL that clients connect to.
pub(crate) fn mcp_url(server: &AuthorizationServer) -> Result<&str, &'static str> {
    server.config().resources.first().map(|resource| resource.identifier.as_str()).ok_or("there is no resource")
}

/// The path of that URL.
pub(crate) fn mcp_path(url: &str) -> &str {
    url.strip_prefix(origin(url)).filter(|path| !path.is_empty()).unwrap_or("/")
}

/// The part of a URL before its path.
fn origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |colon| colon + 3);
    url.get(host..).and_then(|rest| rest.find('/')).and_then(|path| url.get(..host + path)).unwrap_or(url)
}

/// The preregistered client: a public one, which any program can use.
pub(crate) async fn ensure_client(
    server: &AuthorizationServer,
    redirect_uri: &str,
) -> Result<Arc<Client>, Box<dyn Error>> {
    let config = server.config();
    let client = Client::builder(ClientId::new("demo-client")?)
        .name("Demo Client")
        .website("https://demo.example/")
        .client_type(ClientType::Public)
        .application_type(ApplicationType::Native)
        .redirect_uri(RegisteredRedirectUri::parse(redirect_uri, &config.redirect_uris)?)
        .scopes(allowed_scopes(config)?)
        .resource_scope(ResourceScope::All)
        .build();
    let registrar = server.registrar().ok_or("the store does not support registered clients")?;
    Ok(registrar.ensure_client(&client).await?)
}
