//! oauth-as 1.0 through its own methods, with `MemoryStorage`.
//!
//! Its documentation offers two ways: an HTTP service over `http::Request`, and the methods of
//! `AuthorizationServer`, which take parsed parameters. The methods are faster, so they are measured, with the code
//! that a service needs around them: it parses the form and the Basic header, and writes the answer as JSON. Best
//! settings: opaque tokens, no optional feature, no hooks, its own SHA-256 for the client's secret.
//!
//! It keeps codes and tokens as plain text, and does not read the client in a check. It detects reuse and revokes token
//! families. For that it keeps each spent refresh token for 30 days. Grace is only an option.

use std::time::{Duration, SystemTime};

use ::oauth_as::server::UserApproval;
use ::oauth_as::{
    AuthorizationRequest, AuthorizationServer, Client, ClientAuth, ClientId, GrantType, MemoryStorage, ScopeSet,
    SecretHash, ServerConfig, Storage, TokenRequest,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{Peer, at_once};
use crate::material::{CLIENT_ID, CLIENT_SECRET, Credentials, REDIRECT_URI, SCOPE, pairs};

pub(super) struct OauthAs {
    server: AuthorizationServer<MemoryStorage>,
    credentials: Credentials,
}

impl OauthAs {
    pub(super) fn new() -> Self {
        let mut config = ServerConfig::new("https://auth.example", "https://auth.example/device");
        // The same as grantor's.
        config.access_token_ttl = Duration::from_secs(8 * 3600);
        let server = AuthorizationServer::new(config, MemoryStorage::new());
        at_once(server.register_client(client())).expect("memory");
        Self { server, credentials: Credentials::new(CLIENT_ID, CLIENT_SECRET) }
    }

    fn token(&self, basic: &str, form: &str) -> Vec<u8> {
        let response = at_once(self.server.token(token_request(basic, form))).expect("a valid request");
        serde_json::to_vec(&response).expect("JSON")
    }
}

fn client() -> Client {
    let scopes = ScopeSet::parse(SCOPE).expect("a scope");
    Client {
        client_id: ClientId::new(CLIENT_ID),
        auth: ClientAuth::ConfidentialSecretHash { hash: SecretHash::sha256(CLIENT_SECRET) },
        grant_types: vec![GrantType::AuthorizationCode, GrantType::RefreshToken],
        redirect_uris: vec![REDIRECT_URI.to_owned()],
        allowed_scopes: scopes.clone(),
        default_scopes: scopes,
        name: None,
        registration: None,
    }
}

/// Parses the bytes as a service would, with no other allocations than the request type needs.
fn token_request(basic: &str, form: &str) -> TokenRequest {
    let credentials = STANDARD.decode(basic.strip_prefix("Basic ").expect("a Basic header")).expect("Base64");
    let credentials = String::from_utf8(credentials).expect("letters");
    let (id, secret) = credentials.split_once(':').expect("id and secret");
    let (client_id, client_secret) = (ClientId::new(id), Some(secret.to_owned()));
    let (mut grant_type, mut code, mut redirect_uri, mut code_verifier, mut refresh_token) =
        (None, None, None, None, None);
    for (name, value) in pairs(form) {
        match &*name {
            "grant_type" => grant_type = Some(value),
            "code" => code = Some(value.into_owned()),
            "redirect_uri" => redirect_uri = Some(value.into_owned()),
            "code_verifier" => code_verifier = Some(value.into_owned()),
            "refresh_token" => refresh_token = Some(value.into_owned()),
            _ => {}
        }
    }
    match grant_type.as_deref() {
        Some("authorization_code") => {
            let code = code.expect("a code");
            TokenRequest::AuthorizationCode { client_id, client_secret, code, redirect_uri, code_verifier }
        }
        Some("refresh_token") => {
            let refresh_token = refresh_token.expect("a refresh token");
            TokenRequest::RefreshToken { client_id, client_secret, refresh_token, scope: None }
        }
        other => panic!("{other:?} is not a grant type of the rounds"),
    }
}

impl Peer for OauthAs {
    fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    fn authorize(&mut self, query: &str, owner: &str) -> String {
        let request = AuthorizationRequest::from_pairs(pairs(query));
        at_once(async {
            let valid = self.server.validate_authorization_request(&request).await.expect("a valid request");
            let approval = UserApproval::granted(&valid, owner);
            let response = self.server.issue_authorization_code(approval).await.expect("a valid request");
            response.location(&valid.redirect_uri)
        })
    }

    fn exchange(&mut self, basic: &str, form: &str) -> Vec<u8> {
        self.token(basic, form)
    }

    fn refresh(&mut self, basic: &str, form: &str) -> Vec<u8> {
        self.token(basic, form)
    }

    fn authenticate(&mut self, bearer: &str, owner: &str) {
        let token = bearer.strip_prefix("Bearer ").expect("a Bearer header");
        let token = at_once(self.server.introspect(token)).expect("memory").expect("a valid token");
        assert_eq!(token.subject.as_deref(), Some(owner));
    }

    fn clean_up(&mut self) {
        // Codes live for a minute, access tokens for eight hours.
        let later = SystemTime::now() + Duration::from_secs(2 * 3600);
        at_once(self.server.store().sweep_expired(later)).expect("memory");
    }
}
