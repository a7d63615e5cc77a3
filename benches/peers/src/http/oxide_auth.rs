//! What both servers of oxide-auth share: its parts behind one lock, as its traits ask for.
//!
//! One worker thread serves, so no request waits for the lock. The endpoint is built for each request, as in the
//! examples of the project. Client secrets are compared as plain text. With its default, Argon2id, every request would
//! take a fifth of a second.

use std::sync::Mutex;

use chrono::Utc;
use oxide_auth::endpoint::{Endpoint, WebRequest};
use oxide_auth::frontends::simple::endpoint::{Error, Generic, Vacant};
use oxide_auth::primitives::generator::RandomGenerator;
use oxide_auth::primitives::grant::{Extensions, Grant};
use oxide_auth::primitives::issuer::{Issuer, TokenMap};
use oxide_auth::primitives::registrar::ClientMap;
use oxide_auth::primitives::scope::Scope;

use super::{CHAINS, RESOURCE_SCOPE};
use crate::in_process::oxide_auth::{PlainSecrets, client};
use crate::material::{CLIENT_ID, REDIRECT_URI, SCOPE, Tokens, owner};

pub(super) struct Parts {
    clients: ClientMap,
    issuer: TokenMap<RandomGenerator>,
    scopes: Vec<Scope>,
}

impl Parts {
    /// With live grants.
    pub(super) fn new() -> (Mutex<Self>, Vec<Tokens>) {
        let mut clients = ClientMap::new();
        clients.set_password_policy(PlainSecrets);
        clients.register_client(client());
        let mut issuer = TokenMap::new(RandomGenerator::new(32));
        let tokens = (0..CHAINS).map(|number| issue(&mut issuer, number)).collect();
        let scopes = vec![RESOURCE_SCOPE.parse().expect("a scope")];
        (Mutex::new(Self { clients, issuer, scopes }), tokens)
    }

    pub(super) fn endpoint<R: WebRequest<Response: Default>>(&mut self) -> impl Endpoint<R, Error = Error<R>> {
        let Self { clients, issuer, scopes } = self;
        Generic {
            registrar: &*clients,
            authorizer: Vacant,
            issuer,
            solicitor: Vacant,
            scopes: scopes.as_slice(),
            response: Vacant,
        }
    }
}

fn issue(issuer: &mut TokenMap<RandomGenerator>, number: usize) -> Tokens {
    let grant = Grant {
        owner_id: owner(number),
        client_id: CLIENT_ID.to_owned(),
        scope: SCOPE.parse().expect("a scope"),
        redirect_uri: REDIRECT_URI.parse().expect("a URL"),
        until: Utc::now() + chrono::Duration::hours(8),
        extensions: Extensions::new(),
    };
    let issued = issuer.issue(grant).expect("memory");
    Tokens { access: issued.token, refresh: issued.refresh.expect("a refresh token") }
}
