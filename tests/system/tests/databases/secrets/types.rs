//! `Debug` output of the types that hold or carry secrets.

use std::time::Duration;

use grantor::secret::{AccessToken, CodeVerifier, RefreshToken};
use grantor::wire::message::TokenResponse;
use grantor::wire::{Body, Request};
use grantor::{CachedClients, Client, ClientId, ClientSecret, MemoryStore};

use crate::secrets::flow::Flow;
use support::world::{Pair, VERIFIER, encode};

pub(crate) fn shown(flow: &mut Flow, code: &str, pair: &Pair) {
    let secret = flow.world.client.secret.as_str();
    let exposure = &mut flow.exposure;
    exposure.debug("AccessToken", &AccessToken::new(&*pair.access));
    exposure.debug("RefreshToken", &RefreshToken::new(&*pair.refresh));
    exposure.debug("ClientSecret", &ClientSecret::new(secret));
    exposure.debug("CodeVerifier", &CodeVerifier::new(VERIFIER).unwrap());
    exposure.error("ValueError", &CodeVerifier::new(format!("{VERIFIER}\n")).unwrap_err());
    let Pair { access, refresh, scope } = pair;
    let json =
        format!(r#"{{"access_token":"{access}","token_type":"bearer","refresh_token":"{refresh}","scope":"{scope}"}}"#);
    exposure.debug("TokenResponse", &serde_json::from_str::<TokenResponse>(&json).unwrap());
    exposure.error("an error of serde", &serde_json::from_str::<TokenResponse>(&format!("{json}x")).unwrap_err());

    let form = encode(&[("code", code), ("client_secret", secret)]);
    let request = Request::new("POST").header("Authorization", secret.as_bytes()).query(form.as_bytes());
    exposure.debug("Request", &request.body(Body::Bytes(form.as_bytes())));
    exposure.debug("Body", &Body::Bytes(form.as_bytes()));
    let builder = || Client::builder(ClientId::new("client").unwrap());
    let client = builder().secret(&ClientSecret::new(secret)).unwrap();
    exposure.debug("ClientBuilder", &client);
    exposure.debug("Client", &client.build());
    let refused = builder().secret(&ClientSecret::new(&secret[..20])).unwrap_err();
    exposure.error("ClientSecretError", &refused);
    exposure.debug("CachedClients", &CachedClients::new(MemoryStore::new(), Duration::from_secs(1)));
}
