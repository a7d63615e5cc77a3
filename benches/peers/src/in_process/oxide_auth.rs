//! oxide-auth 0.6 with `frontends::simple`, its own way to run without a framework.
//!
//! `Generic` over `ClientMap`, `AuthMap` and `TokenMap`, with the PKCE extension required, as its documentation
//! combines them; 256-bit tokens. Best settings: the server is owned by its only caller, so it needs no lock. The
//! endpoint is built once and lent to each flow. The user's consent is given in the same call. For client secrets there
//! are two rows: a policy that compares plain text, and its default, Argon2id.
//!
//! It keeps codes and tokens as plain text, and does not read the client in a check. It forgets a refresh token when it
//! is rotated, so it detects no reuse and has no grace. It has no revocation of a pair and no cleanup.

use oxide_auth::endpoint::{
    AccessTokenFlow, AuthorizationFlow, OwnerConsent, OwnerSolicitor, RefreshFlow, ResourceFlow, Solicitation,
};
use oxide_auth::frontends::simple::endpoint::{Generic, Vacant};
use oxide_auth::frontends::simple::extensions::{AddonList, Extended, Pkce};
use oxide_auth::frontends::simple::request::{Body, Request, Response, Status};
use oxide_auth::primitives::authorizer::AuthMap;
use oxide_auth::primitives::generator::RandomGenerator;
use oxide_auth::primitives::issuer::TokenMap;
use oxide_auth::primitives::registrar::{Client, ClientMap, ExactUrl, PasswordPolicy, RegisteredUrl, RegistrarError};
use oxide_auth::primitives::scope::Scope;

use super::Peer;
use crate::material::{CLIENT_ID, CLIENT_SECRET, Credentials, REDIRECT_URI, SCOPE, pairs};

pub(super) struct OxideAuth {
    endpoint: Endpoint,
    credentials: Credentials,
}

type Parts = Generic<ClientMap, AuthMap<RandomGenerator>, TokenMap<RandomGenerator>, Owner, Vec<Scope>, Vacant>;
type Endpoint = Extended<Parts, AddonList>;

/// The signed-in user, who agrees.
struct Owner(String);

impl OwnerSolicitor<Request> for Owner {
    fn check_consent(&mut self, _: &mut Request, _: Solicitation<'_>) -> OwnerConsent<Response> {
        OwnerConsent::Authorized(self.0.clone())
    }
}

/// Compares the secret as it is.
pub(crate) struct PlainSecrets;

impl PasswordPolicy for PlainSecrets {
    fn store(&self, _: &str, passphrase: &[u8]) -> Vec<u8> {
        passphrase.to_vec()
    }

    fn check(&self, _: &str, passphrase: &[u8], stored: &[u8]) -> Result<(), RegistrarError> {
        if passphrase == stored { Ok(()) } else { Err(RegistrarError::Unspecified) }
    }
}

impl OxideAuth {
    pub(super) fn with_plain_secrets() -> Self {
        let mut clients = ClientMap::new();
        clients.set_password_policy(PlainSecrets);
        Self::new(clients)
    }

    pub(super) fn with_default_secrets() -> Self {
        Self::new(ClientMap::new())
    }

    fn new(mut clients: ClientMap) -> Self {
        clients.register_client(client());
        let generic = Generic {
            registrar: clients,
            authorizer: AuthMap::new(RandomGenerator::new(32)),
            issuer: TokenMap::new(RandomGenerator::new(32)),
            solicitor: Owner(String::new()),
            scopes: vec![SCOPE.parse().expect("a scope")],
            response: Vacant,
        };
        let mut addons = AddonList::new();
        addons.push_code(Pkce::required());
        let endpoint = Extended::extend_with(generic, addons);
        Self { endpoint, credentials: Credentials::new(CLIENT_ID, CLIENT_SECRET) }
    }
}

/// The client of the rounds; its redirect URI is compared as text, which is the cheapest of the three ways.
pub(crate) fn client() -> Client {
    let redirect_uri = RegisteredUrl::Exact(ExactUrl::new(REDIRECT_URI.to_owned()).expect("a URL"));
    Client::confidential(CLIENT_ID, redirect_uri, SCOPE.parse().expect("a scope"), CLIENT_SECRET.as_bytes())
}

fn post(basic: &str, form: &str) -> Request {
    let urlbody = pairs(form).map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
    Request { urlbody, auth: Some(basic.to_owned()), ..Request::default() }
}

fn json(response: Response) -> Vec<u8> {
    assert_eq!(response.status, Status::Ok);
    match response.body {
        Some(Body::Json(json)) => json.into_bytes(),
        other => panic!("{other:?} is not JSON"),
    }
}

impl Peer for OxideAuth {
    fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    fn authorize(&mut self, query: &str, owner: &str) -> String {
        owner.clone_into(&mut self.endpoint.inner.solicitor.0);
        let query = pairs(query).map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
        let request = Request { query, ..Request::default() };
        let mut flow = AuthorizationFlow::prepare(&mut self.endpoint).expect("all parts are there");
        let response = flow.execute(request).expect("a valid request");
        assert_eq!(response.status, Status::Redirect);
        response.location.expect("a redirect").into()
    }

    fn exchange(&mut self, basic: &str, form: &str) -> Vec<u8> {
        let mut flow = AccessTokenFlow::prepare(&mut self.endpoint).expect("all parts are there");
        json(flow.execute(post(basic, form)).expect("a valid request"))
    }

    fn refresh(&mut self, basic: &str, form: &str) -> Vec<u8> {
        let mut flow = RefreshFlow::prepare(&mut self.endpoint).expect("all parts are there");
        json(flow.execute(post(basic, form)).expect("a valid request"))
    }

    fn authenticate(&mut self, bearer: &str, owner: &str) {
        let request = Request { auth: Some(bearer.to_owned()), ..Request::default() };
        let mut flow = ResourceFlow::prepare(&mut self.endpoint).expect("all parts are there");
        let Ok(grant) = flow.execute(request) else { panic!("a valid token was refused") };
        assert_eq!(grant.owner_id, owner);
    }
}
