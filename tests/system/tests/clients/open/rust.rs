//! The Rust SDK, `rmcp`, in the process of the test.

use rmcp::model::{CallToolRequestParams, ClientConfig, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::auth::{AuthClient, AuthorizationManager, AuthorizationRequest, AuthorizationSession};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientServiceExt as _, RoleClient};
use serde_json::{Value, json};
use url::Url;

use crate::open::service::Service;

/// A host of the SDK, which signs its user in when the SDK asks for it.
pub(crate) struct Rmcp {
    job: Value,
    auth: Option<AuthClient<reqwest::Client>>,
    session: Option<RunningService<RoleClient, ClientConfig>>,
}

impl Rmcp {
    pub(crate) fn start(job: Value) -> Self {
        Self { job, auth: None, session: None }
    }

    pub(crate) async fn ask(&mut self, service: &Service, command: &str) -> Value {
        let done = match command.split_once(' ') {
            None => self.connect(service).await,
            Some(("try", tool)) => self.call(tool).await.map(|()| json!({ "ok": true })),
            Some((_, tool)) => self.call_with_sign_in(service, tool).await,
        };
        done.unwrap_or_else(|error| json!({ "ok": false, "error": error }))
    }

    async fn connect(&mut self, service: &Service) -> Result<Value, String> {
        self.sign_in(service).await?;
        self.open().await?;
        let session = self.session.as_ref().expect("it is open");
        let tools = session.list_all_tools().await.map_err(in_words)?;
        let tools: Vec<_> = tools.iter().map(|tool| tool.name.to_string()).collect();
        let revision = session.peer_info().map(|info| info.protocol_version.to_string());
        Ok(json!({ "ok": true, "tools": tools, "revision": revision }))
    }

    /// The host's part: asks the user for the scopes that the SDK reports as missing, and then tries again.
    async fn call_with_sign_in(&mut self, service: &Service, tool: &str) -> Result<Value, String> {
        let Err(error) = self.call(tool).await else { return Ok(json!({ "ok": true })) };
        if error.contains("InsufficientScope") {
            self.extend(service, &error).await?;
        } else if error.contains("AuthRequired") || error.contains("AuthorizationRequired") {
            self.sign_in(service).await?;
        } else {
            return Err(error);
        }
        self.session = None;
        self.call(tool).await.map(|()| json!({ "ok": true }))
    }

    async fn call(&mut self, tool: &str) -> Result<(), String> {
        if self.session.is_none() {
            self.open().await?;
        }
        let session = self.session.as_ref().expect("it is open");
        let arguments = json!({ "note": "bread" }).as_object().cloned().unwrap_or_default();
        let request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let called = session.call_tool(request).await;
        called.map(drop).map_err(|error| {
            // A transport that failed stays closed.
            self.session = None;
            in_words(error)
        })
    }

    async fn open(&mut self) -> Result<(), String> {
        let auth = self.auth.clone().expect("it has signed in");
        let config = StreamableHttpClientTransportConfig::with_uri(self.text("server"));
        let transport = StreamableHttpClientTransport::with_client(auth, config);
        let lifecycle = if self.job["modern"] == true {
            ClientLifecycleMode::Auto { preferred_versions: vec![ProtocolVersion::V_2026_07_28], legacy_version: None }
        } else {
            ClientLifecycleMode::Initialize
        };
        let opened = ClientConfig::default().serve_with_lifecycle(transport, lifecycle).await;
        self.session = Some(opened.map_err(in_words)?);
        Ok(())
    }

    /// Discovers, registers where necessary, and lets the user sign in.
    async fn sign_in(&mut self, service: &Service) -> Result<(), String> {
        let mut manager = AuthorizationManager::new(self.text("server")).await.map_err(in_words)?;
        let resolution = manager.resolve_metadata().await.map_err(in_words)?;
        manager.set_metadata(resolution.metadata);
        let mut request = AuthorizationRequest::new(self.text("redirect_uri")).with_client_name("Judge");
        if let Some(document) = self.job["document"].as_str() {
            request = request.with_client_metadata_url(document);
        }
        if let Some(id) = self.job["client"]["client_id"].as_str() {
            request = request.with_preregistered_client(id);
        }
        if let Some(secret) = self.job["client"]["client_secret"].as_str() {
            request = request.with_client_secret(secret);
        }
        let session = AuthorizationSession::new(manager, request).await.map_err(|(_, error)| in_words(error))?;
        let callback = service.sign_in(&Url::parse(session.get_authorization_url()).unwrap()).await;
        session.handle_callback_url(callback.as_str()).await.map_err(in_words)?;
        let mut manager = session.auth_manager;
        repeat_scopes(&mut manager).await;
        self.auth = Some(AuthClient::new(reqwest::Client::default(), manager));
        Ok(())
    }

    /// Asks for the scopes that the client has and those that the challenge named.
    async fn extend(&self, service: &Service, challenge: &str) -> Result<(), String> {
        let scope = challenge.split("scope=\\\"").nth(1).and_then(|rest| rest.split("\\\"").next());
        let scope = scope.ok_or_else(|| format!("no scope in {challenge}"))?;
        let auth = self.auth.clone().expect("it has signed in");
        let link = auth.auth_manager.lock().await.request_scope_upgrade(scope).await.map_err(in_words)?;
        let callback = service.sign_in(&Url::parse(&link).unwrap()).await;
        let returned =
            |name: &str| callback.query_pairs().find(|(own, _)| own == name).map(|(_, value)| value.into_owned());
        let [code, state, issuer] = ["code", "state", "iss"].map(returned);
        let (code, state) = (code.unwrap_or_default(), state.unwrap_or_default());
        let mut manager = auth.auth_manager.lock().await;
        let exchanged = manager.exchange_code_for_token_with_issuer(&code, &state, issuer.as_deref()).await;
        exchanged.map_err(in_words)?;
        repeat_scopes(&mut manager).await;
        Ok(())
    }

    fn text(&self, name: &str) -> &str {
        self.job[name].as_str().expect("the job names it")
    }
}

/// Makes a refresh name the granted scopes, as older releases do.
async fn repeat_scopes(manager: &mut AuthorizationManager) {
    let granted = manager.get_current_scopes().await;
    manager.set_refresh_scopes(granted);
}

/// The whole chain of causes.
fn in_words(error: impl std::fmt::Debug) -> String {
    format!("{error:?}")
}
