//! The authorization server over HTTP, and its clients: every token comes from requests that clients send.

use std::future::pending;

use grantor::client::{GrantType, GrantTypes};
use grantor::config::{DpopBoundTokens, Profile};
use grantor::hooks::SigningKey;
use grantor::jose::SigningAlgorithm;
use grantor::protected_resource::{AccessTokenFormat, ProtectedResource};
use grantor::{Clock as _, SystemClock, Timestamp};
use serde_json::{Value, json};
use support::keys::{Signer, unchanged};
use support::world::{PKCE, VERIFIER, World, config_at, form};
use support_servers::http::{Page, Request};
use tokio::net::TcpListener;
use url::Url;

use crate::verifiers::token::{Token, claims_of};
use crate::verifiers::wrong;

/// A key of the server.
pub(crate) struct Key {
    pub(crate) algorithm: SigningAlgorithm,
    pub(crate) pkcs8: &'static [u8],
    /// The same key, for the test.
    signer: fn() -> Signer,
}

/// One of each algorithm.
pub(crate) const KEYS: [Key; 3] = [
    Key {
        algorithm: SigningAlgorithm::Es256,
        pkcs8: include_bytes!("../../../../data/keys/p256-1.pk8"),
        signer: Signer::es256,
    },
    Key {
        algorithm: SigningAlgorithm::Rs256,
        pkcs8: include_bytes!("../../../../data/keys/rsa-1.pk8"),
        signer: Signer::rs256,
    },
    Key {
        algorithm: SigningAlgorithm::EdDsa,
        pkcs8: include_bytes!("../../../../data/keys/ed25519-1.pk8"),
        signer: Signer::ed25519,
    },
];

/// The running server.
pub(crate) struct Service {
    world: World,
    /// The server's key, for the test.
    signer: Signer,
    resource: String,
    /// Another resource of the same server.
    another: String,
}

const SCOPE: &str = "account-profile:r repo-code:r";
/// The lifetime of the tokens in seconds.
const LIFETIME: u32 = 300;

impl Service {
    /// Starts a server that publishes all keys, and signs with that one.
    pub(crate) async fn start(signing: &Key) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let [resource, another] = ["/api/notes", "/api/issues"].map(|path| format!("{issuer}{path}"));
        let mut config = config_at(Profile::Platform, &issuer);
        config.development = true;
        config.client_credentials.on = true;
        config.dpop.tokens = DpopBoundTokens::Optional;
        config.resources = [&resource, &another].map(|identifier| with_jwts(identifier)).to_vec();
        config.resources[0].is_default = true;
        let keys = KEYS.iter().map(|key| {
            let own = SigningKey::from_pkcs8(key.algorithm, key.pkcs8).unwrap();
            if key.algorithm == signing.algorithm { own } else { own.signs_from(Timestamp::from_seconds(u32::MAX)) }
        });
        let keys: Vec<_> = keys.collect();
        let mut world = World::built(config, |builder| builder.signing_keys(keys)).await;
        world.clock.set(SystemClock.now());
        let mut form = form();
        form.grant_types = GrantTypes::default().with(GrantType::ClientCredentials);
        form.client_scopes = SCOPE.to_owned();
        world.client = world.register(form).await;
        let routes = demo::axum::routes(world.server.clone());
        tokio::spawn(grantor_axum::accept::serve(listener, routes, pending()));
        Self { world, signer: (signing.signer)(), resource, another }
    }

    pub(crate) fn issuer(&self) -> &str {
        self.world.server.issuer()
    }

    /// The resource that the tokens are for.
    pub(crate) fn resource(&self) -> &str {
        &self.resource
    }

    /// Right tokens of each kind, and wrong ones.
    pub(crate) async fn tokens(&self) -> Vec<Token> {
        let first = self.exchange(None).await;
        let refresh = [("grant_type", "refresh_token"), ("refresh_token", text(&first, "refresh_token"))];
        let second = self.token(&refresh, None).await;
        // In the grace: the same pair, signed once more.
        let again = self.token(&refresh, None).await;
        let machine = self.machine(&self.resource).await;
        let proof_key = Signer::fresh();
        let bound = self.exchange(Some(&proof_key)).await;
        let for_client = format!("client:{}", self.world.client.id);
        let first = self.access_token(&first, "alice");
        let second = self.access_token(&second, "alice");
        let again = self.access_token(&again, "alice");
        let machine = self.access_token(&machine, &for_client);
        let bound = self.access_token(&bound, "alice");
        assert_ne!(claims_of(first)["jti"], claims_of(second)["jti"]);
        assert_eq!(claims_of(second), claims_of(again));
        assert_eq!(claims_of(bound)["cnf"], json!({"jkt": proof_key.thumbprint()}));
        let mut tokens = vec![
            Token::right("of a user", first),
            Token::right("refreshed", second),
            Token::right("signed again", again),
            Token::right("of a client", machine),
            Token::right("bound to a key", bound),
            // As the wrong ones are made, but without a change.
            Token::right("signed by the test", wrong::changed(first, &self.signer, unchanged)),
            Token::wrong("for another resource", text(&self.machine(&self.another).await, "access_token")),
            Token::wrong("expired", text(&self.expired().await, "access_token")),
        ];
        tokens.extend(wrong::all(first, &self.signer));
        tokens
    }

    /// The access token of an answer, with the claims that it must have.
    fn access_token<'a>(&self, answer: &'a Value, subject: &str) -> &'a str {
        let token = text(answer, "access_token");
        let (mut claims, now) = (claims_of(token), self.world.clock.now().seconds());
        let jti = claims["jti"].take();
        assert!(jti.as_str().is_some_and(|jti| !jti.is_empty()), "{jti}");
        for (name, value) in [
            ("iss", json!(self.issuer())),
            ("aud", json!(self.resource)),
            ("sub", json!(subject)),
            ("client_id", json!(self.world.client.id)),
            ("iat", json!(now)),
            ("exp", json!(now + LIFETIME)),
            ("scope", answer["scope"].clone()),
        ] {
            assert_eq!(claims[name], value, "{name}");
        }
        assert_eq!(answer["expires_in"], LIFETIME);
        token
    }

    /// The answer with a token that expired 120 s ago. PyJWT has a leeway of 60 s.
    async fn expired(&self) -> Value {
        let now = self.world.clock.now();
        self.world.clock.set(Timestamp::from_seconds(now.seconds() - LIFETIME - 120));
        let answer = self.machine(&self.resource).await;
        self.world.clock.set(now);
        answer
    }

    /// What the user's browser and the client do.
    async fn exchange(&self, proof_key: Option<&Signer>) -> Value {
        let query = [&PKCE[..], &[("scope", SCOPE), ("resource", &self.resource)]].concat();
        let link = format!("{}/oauth2/auth?{}", self.issuer(), self.world.query(&query));
        let page = Page::open(&Url::parse(&link).unwrap(), "").await;
        let callback = page.decide(&[("decision", "allow")]).await;
        let (_, code) = callback.query_pairs().find(|(name, _)| name == "code").expect("a code");
        let fields = [("grant_type", "authorization_code"), ("code", &*code), ("code_verifier", VERIFIER)];
        self.token(&fields, proof_key).await
    }

    async fn machine(&self, resource: &str) -> Value {
        self.token(&[("grant_type", "client_credentials"), ("resource", resource)], None).await
    }

    /// The answer to a token request, with a DPoP proof by that key.
    async fn token(&self, fields: &[(&str, &str)], proof_key: Option<&Signer>) -> Value {
        let (url, client) = (format!("{}/oauth2/token", self.issuer()), &self.world.client);
        let mut request = Request::to("POST", &url).basic(&client.id, &client.secret).fields(fields);
        if let Some(key) = proof_key {
            let now = self.world.clock.now().seconds().into();
            request = request.header("DPoP", key.proof("POST", &url, now, unchanged));
        }
        let answer = request.send().await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }
}

fn with_jwts(identifier: &str) -> ProtectedResource {
    let mut resource = ProtectedResource::new(identifier, "Notes");
    resource.access_tokens = AccessTokenFormat::Jwt;
    resource
}

fn text<'a>(answer: &'a Value, name: &str) -> &'a str {
    answer[name].as_str().unwrap_or_else(|| panic!("{name} in {answer}"))
}
