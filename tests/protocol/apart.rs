//! The check of tokens in a separate process: its responses are those of the check in the process of the authorization
//! server, by introspection [RFC 7662] and by the tokens themselves [RFC 9068].

use grantor::client::{GrantType, GrantTypes};
use grantor::config::{DpopBoundTokens, Profile};
use grantor::hooks::SigningKey;
use grantor::jose::SigningAlgorithm;
use grantor::protected_resource::AccessTokenFormat;
use grantor::resource::{ExpectedAudience, IntrospectionSettings, JwtSettings, JwtVerifier, ResourceClient};
use grantor::scope::{Permission, Resource, ResourceScope, ScopeSet};
use grantor::secret::NonceKey;
use grantor::wire::{Cors, Request, Response};
use grantor::{
    Authenticated, AuthorizationServer, ClientId, ClientSecret, Config, MemoryStore, ResourceError, ResourceServer,
};

use crate::rfc8707::{own_scopes, resource};
use crate::rfc9449::at_resource::{PATH, proof_for};
use crate::rfc9449::bound_pair_of;
use support::keys::Signer;
use support::to_server::ToServer;
use support::world::{ISSUER, PKCE, START, World, config_of, form, ok, pair};

const A: &str = "https://a.example/api";
const B: &str = "https://b.example/api";
const SECRET: &str = "the secret of the API, from its configuration";

/// A resource server in the process of the authorization server, and the same in other processes.
struct All {
    world: World,
    here: ResourceServer,
    /// Asks about each token.
    apart: ResourceServer,
    /// Verifies JWTs, and asks about opaque tokens. `None` if the resource has no JWTs.
    by_jwt: Option<ResourceServer>,
}

impl All {
    async fn new(profile: Profile, audience: &str, change: impl FnOnce(&mut Config)) -> Self {
        let mut config = config_of(profile);
        change(&mut config);
        // As the resource server of its resource it needs no privilege.
        if let Some(own) = config.resources.iter_mut().find(|own| own.identifier == audience) {
            own.resource_servers = vec![ClientId::new("api").unwrap()];
        }
        let keys = keys(&config);
        let world = World::built(config.clone(), |builder| builder.signing_keys(keys)).await;
        world.server.own_client("api").name("API").secret(SECRET).resource_server().ensure().await.unwrap();
        let server = world.server.clone();
        Self::of(world, &server, audience)
    }

    /// The resource server of that server, and the same with its settings in separate processes.
    fn of(world: World, server: &AuthorizationServer, audience: &str) -> Self {
        let config = server.config();
        let settings = IntrospectionSettings::of_server(config, "api", ClientSecret::new(SECRET), audience);
        let client = ResourceClient::new(settings, ToServer(server.clone())).unwrap();
        let client = client.with_clock(world.clock.clone());
        let reads_proofs = config.dpop.tokens != DpopBoundTokens::Off;
        let apart = match reads_proofs {
            true => {
                ResourceServer::introspecting_with_proofs(config.clone(), client.clone(), MemoryStore::new()).unwrap()
            }
            false => ResourceServer::introspecting(config.clone(), client.clone()).unwrap(),
        };
        let by_jwt = config.resources.iter().any(has_jwts).then(|| {
            let verifier = JwtVerifier::new(JwtSettings::of_server(config, A), ToServer(server.clone())).unwrap();
            let verifier = verifier.with_clock(world.clock.clone());
            let by_jwt = match reads_proofs {
                true => ResourceServer::jwt_with_proofs(config.clone(), verifier, MemoryStore::new()),
                false => ResourceServer::jwt(config.clone(), verifier),
            };
            by_jwt.unwrap().or_introspect(client).unwrap()
        });
        let here = match config.resources.is_empty() {
            true => ResourceServer::from(server.clone()),
            false => server.protected_resource(A).unwrap(),
        };
        Self { world, here, apart, by_jwt }
    }

    fn servers(&self) -> Vec<&ResourceServer> {
        [&self.here, &self.apart].into_iter().chain(&self.by_jwt).collect()
    }

    /// Compares the responses to one request, asked for in every way. Returns the last status.
    async fn compare(&self, request: &Request<'_>, needed: &[&str], case: &str) -> u16 {
        let scopes = self.here.scopes(needed.iter().copied()).unwrap();
        let (name, permission) = scope_of(&scopes);
        let mut status = 0;
        for way in 0..3 {
            let mut answers = Vec::new();
            for server in self.servers() {
                let outcome = match way {
                    0 => server.authenticate(request).await,
                    1 => server.authenticate_for(request, &scopes).await,
                    _ => server.authenticate_for_account(request, &name, permission).await,
                };
                answers.push(describe(server, outcome, &name));
            }
            for (number, answer) in answers.iter().enumerate() {
                assert_eq!(*answer, answers[0], "{case}, way {way}, server {number}");
            }
            status = answers[0].0;
        }
        status
    }
}

/// The keys of a server with these settings.
fn keys(config: &Config) -> Option<SigningKey> {
    let key = SigningKey::from_pkcs8(SigningAlgorithm::Es256, include_bytes!("../data/keys/p256-2.pk8")).unwrap();
    config.resources.iter().any(has_jwts).then_some(key)
}

/// The token with another last character.
fn flipped(token: &str) -> String {
    let last = if token.ends_with('A') { "B" } else { "A" };
    format!("{}{last}", &token[..token.len() - 1])
}

fn has_jwts(resource: &grantor::protected_resource::ProtectedResource) -> bool {
    resource.access_tokens == AccessTokenFormat::Jwt
}

fn scope_of(scopes: &ScopeSet) -> (String, Option<Permission>) {
    let scope = scopes.iter().next().unwrap();
    (scope.name().to_owned(), scope.permission())
}

type Described = (u16, Vec<(String, String)>, Vec<u8>, Option<String>);

/// The response, or the facts of the token and the responses to what the handler requires.
fn describe(server: &ResourceServer, outcome: Result<Authenticated, ResourceError>, scope: &str) -> Described {
    let bytes = |response: Response| {
        let headers = response.headers().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        (response.status(), headers, response.into_body())
    };
    match outcome {
        Err(error) => {
            let (status, headers, body) = bytes(error.into_response());
            (status, headers, body, None)
        }
        Ok(token) => {
            let mut required = Vec::new();
            for resource in [Resource::Account, Resource::Public("one"), Resource::Private("two")] {
                for permission in [Permission::Read, Permission::ReadWrite] {
                    let refused = server.require(&token, scope, permission, resource).err();
                    required.push(refused.map(|refused| bytes(refused.into_response())));
                }
            }
            required.push(server.require_scope(&token, scope).err().map(|refused| bytes(refused.into_response())));
            required.push(server.require_subject(&token).err().map(|refused| bytes(refused.into_response())));
            let facts = format!(
                "{:?} {:?} {} {:?} {:?} {:?} {:?} {required:?}",
                token.client_id(),
                token.subject(),
                token.scopes(),
                token.resource_scope(),
                token.key(),
                token.issued(),
                token.expires(),
            );
            (200, Vec::new(), Vec::new(), Some(facts))
        }
    }
}

fn with_resources(config: &mut Config) {
    config.scopes = own_scopes();
    let mut a = resource(A, &["repo-code:rw", "repo-issue:rw"]);
    a.basic_scopes = vec!["repo-code:r".into()];
    a.is_default = true;
    config.resources = vec![a, resource(B, &[])];
    config.dpop.tokens = DpopBoundTokens::Off;
}

fn with_jwts(config: &mut Config) {
    with_resources(config);
    config.resources[0].access_tokens = AccessTokenFormat::Jwt;
}

/// RSC-16, RSC-12, 9068-4-01
#[tokio::test]
async fn all_processes_give_the_same_responses() {
    for (profile, audience, change) in [
        (Profile::Platform, ISSUER, (|_| ()) as fn(&mut Config)),
        (Profile::Platform, ISSUER, |config| config.cors = Cors::AnyOrigin),
        (Profile::Strict, ISSUER, |config| config.scopes = own_scopes()),
        (Profile::Strict, A, with_resources),
        (Profile::Mcp, A, with_resources),
        (Profile::Strict, A, with_jwts),
        (Profile::Mcp, A, with_jwts),
    ] {
        let all = All::new(profile, audience, change).await;
        let world = &all.world;
        let token = world.pair().await.access;
        assert_eq!(token.split('.').count() == 3, all.by_jwt.is_some(), "{token}");
        let narrow = pair(
            &world
                .exchange(&world.code_for(&world.query(&[&PKCE[..], &[("scope", "repo-code:r")]].concat())).await)
                .await,
        );
        let reduced = narrow.access;
        let revoked = world.pair().await;
        world.revoke(&revoked.access).await;
        let refresh = world.pair().await.refresh;
        let document = |server: &ResourceServer| {
            let response = server.metadata_response(&Request::new("GET"));
            (response.status(), response.into_body(), server.metadata_url().to_owned(), server.metadata_paths())
        };
        for server in all.servers() {
            assert_eq!(document(&all.here), document(server));
        }
        let case = |header: String| async {
            let request = Request::new("GET").path("/api").header("Authorization", header.as_bytes());
            let seen = [
                all.compare(&request, &["repo-code:r"], &header).await,
                all.compare(&request, &["repo-code:rw"], &header).await,
                all.compare(&request, &["repo-issue:rw"], &header).await,
            ];
            (header, seen)
        };
        let revoked = format!("Bearer {}", revoked.access);
        if all.by_jwt.is_some() {
            // A JWT does not show whether it was revoked.
            let request = Request::new("GET").path("/api").header("Authorization", revoked.as_bytes());
            for (server, expected) in all.servers().into_iter().zip([401, 401, 200]) {
                let outcome = server.authenticate(&request).await;
                let status = outcome.map_or_else(|error| error.into_response().status(), |_| 200);
                assert_eq!(status, expected, "{profile:?} {server:?}");
            }
        } else {
            assert_eq!(case(revoked).await.1, [401; 3], "{profile:?} revoked");
        }
        for (header, expected) in [
            (format!("Bearer {token}"), [200, 200, 200]),
            (format!("bearer  {token} "), [200, 200, 200]),
            (format!("Bearer {reduced}"), [200, 403, 403]),
            (format!("Bearer {refresh}"), [401; 3]),
            ("Bearer unknown".into(), [401; 3]),
            (format!("Bearer {}.{}", flipped(&token), &token[1..]), [401; 3]),
            (format!("Bearer {}", flipped(&token)), [401; 3]),
            (format!("Bearer {token}x"), [401; 3]),
            ("Bearer".into(), [400; 3]),
            (format!("Bearer {token} {token}"), [400; 3]),
            (format!("Basic {token}"), [401; 3]),
            (format!("DPoP {token}"), [401; 3]),
        ] {
            let (header, seen) = case(header).await;
            assert_eq!(seen, expected, "{profile:?} {header}");
        }
        let bare = Request::new("GET").path("/api");
        assert_eq!(all.compare(&bare, &["repo-code:r"], "no token").await, 401);
        let value = format!("Bearer {token}");
        let twice = bare.header("Authorization", value.as_bytes()).header("Authorization", value.as_bytes());
        assert_eq!(all.compare(&twice, &["repo-code:r"], "two headers").await, 400);
        let preflight = Request::new("OPTIONS").header("Access-Control-Request-Method", b"GET");
        assert_eq!(all.compare(&preflight, &["repo-code:r"], "preflight").await, 204);
        world.advance(u64::from(u32::MAX - START) / 2);
        assert_eq!(case(format!("Bearer {token}")).await.1, [401; 3], "expired");
    }
}

/// RSC-16
///
/// A token for two resources may have no scope at one of them.
#[tokio::test]
async fn a_token_without_a_scope_of_the_resource_is_refused_alike() {
    let all = All::new(Profile::Strict, A, |config| {
        with_resources(config);
        config.resources[1].scopes = vec!["account-profile:rw".into()];
    })
    .await;
    let world = &all.world;
    let asked = [&PKCE[..], &[("scope", "account-profile:r"), ("resource", A), ("resource", B)]].concat();
    let token = pair(&world.exchange(&world.code_for(&world.query(&asked)).await).await).access;
    let value = format!("Bearer {token}");
    let request = Request::new("GET").path("/api").header("Authorization", value.as_bytes());
    assert_eq!(all.compare(&request, &["repo-code:r"], "a scope of the other resource").await, 403);
}

/// RSC-16, GUARD-02
#[tokio::test]
async fn a_mistyped_scope_is_found_in_all_processes() {
    let all = All::new(Profile::Strict, A, with_jwts).await;
    let token = all.world.pair().await.access;
    let value = format!("Bearer {token}");
    let request = Request::new("GET").path("/api").header("Authorization", value.as_bytes());
    for (name, permission) in [("mistyped", None), ("account-profile", Some(Permission::Read))] {
        assert_eq!(all.servers().len(), 3);
        for server in all.servers() {
            assert!(server.check_scope(name, permission).is_err() && server.scopes([name]).is_err(), "{name}");
            let refused = server.authenticate_for_account(&request, name, permission).await.unwrap_err();
            assert_eq!(refused.into_response().status(), 503, "{name}");
        }
    }
}

/// RSC-16, 9068-4-01
#[tokio::test]
async fn a_client_that_acts_for_itself_is_described_alike() {
    for change in [with_resources, with_jwts] {
        let all = All::new(Profile::Strict, A, |config| {
            change(config);
            config.client_credentials.on = true;
        })
        .await;
        let mut form = form();
        form.grant_types = GrantTypes::default().with(GrantType::ClientCredentials);
        form.client_scopes = "repo-code:rw".into();
        form.client_resources = Some(ResourceScope::specified(["one"]).unwrap());
        let machine = all.world.register(form).await;
        let response = all.world.token(&[("grant_type", "client_credentials")]).client(&machine).send().await;
        let value = format!("Bearer {}", ok(&response).access_token.expose());
        let request = Request::new("GET").path("/api").header("Authorization", value.as_bytes());
        assert_eq!(all.compare(&request, &["repo-code:r"], "no user").await, 403);
        for server in all.servers() {
            let token = server.authenticate(&request).await.unwrap();
            assert_eq!((token.client_id(), token.subject()), (&machine.client_id(), None));
            assert_eq!(token.resource_scope(), ResourceScope::specified(["one"]).unwrap());
        }
    }
}

/// RSC-16, 9449-7.1-02, 9449-11.1-01, 9068-4-01
#[tokio::test]
async fn proofs_are_checked_in_all_processes() {
    let opaque: (&str, fn(&mut Config)) = (ISSUER, |config| config.scopes = own_scopes());
    for (tokens, (audience, change), url) in [
        (DpopBoundTokens::Optional, opaque, format!("{ISSUER}{PATH}")),
        (DpopBoundTokens::Required, opaque, format!("{ISSUER}{PATH}")),
        (DpopBoundTokens::Optional, (A, with_jwts), format!("https://a.example{PATH}")),
        (DpopBoundTokens::Required, (A, with_jwts), format!("https://a.example{PATH}")),
    ] {
        let all = All::new(Profile::Strict, audience, |config| {
            change(config);
            config.dpop.tokens = tokens;
        })
        .await;
        let (world, key) = (&all.world, Signer::es256());
        let token = bound_pair_of(world, &world.client, &key).await.access;
        let proof = |key: &Signer| proof_for(world, key, &token, "GET", &url);
        let (own, other) = (proof(&key), proof(&key.another()));
        let (dpop, bearer) = (format!("DPoP {token}"), format!("Bearer {token}"));
        for (header, proofs) in [
            (&dpop, vec![]),
            (&dpop, vec![""]),
            (&dpop, vec![&*own, &*own]),
            (&dpop, vec![&*other]),
            (&bearer, vec![&*own]),
            (&bearer, vec![]),
        ] {
            let bare = Request::new("GET").path(PATH).header("Authorization", header.as_bytes());
            let request = proofs.iter().fold(bare, |request, proof| request.header("DPoP", proof.as_bytes()));
            let case = format!("{tokens:?} {header} {proofs:?}");
            assert_eq!(all.compare(&request, &["repo-code:r"], &case).await, 401, "{case}");
        }
        // Each process has its own store here, so each accepts the proof once.
        for server in all.servers() {
            let bare = Request::new("GET").path(PATH).header("Authorization", dpop.as_bytes());
            let request = bare.header("DPoP", own.as_bytes());
            let needed = server.scopes(["repo-code:rw"]).unwrap();
            let seen =
                [server.authenticate_for(&request, &needed).await, server.authenticate_for(&request, &needed).await];
            let seen = seen.map(|seen| seen.map(|token| token.key().is_some()));
            let [first, second] = seen.map(|seen| seen.map_err(|error| error.into_response().status()));
            assert_eq!((first, second), (Ok(true), Err(401)), "{tokens:?}");
        }
    }
}

/// RSC-16, 9449-9-01
#[tokio::test]
async fn all_processes_hand_out_the_same_nonce() {
    let opaque: (&str, fn(&mut Config)) = (ISSUER, |config| config.scopes = own_scopes());
    for ((audience, change), url, count) in
        [(opaque, format!("{ISSUER}{PATH}"), 2), ((A, with_jwts), format!("https://a.example{PATH}"), 3)]
    {
        let All { world, .. } = All::new(Profile::Strict, audience, |config| {
            change(config);
            config.dpop.tokens = DpopBoundTokens::Optional;
        })
        .await;
        let token = bound_pair_of(&world, &world.client, &Signer::es256()).await.access;
        let own = proof_for(&world, &Signer::es256(), &token, "GET", &url);
        // The nonce is required from now on.
        let mut config = world.server.config().clone();
        config.dpop.nonce_keys = vec![NonceKey::new([7; 32])];
        let builder = world.builder(config.clone(), world.store.clone()).signing_keys(keys(&config));
        let all = All::of(world, &builder.build().unwrap(), audience);
        let value = format!("DPoP {token}");
        let bare = Request::new("GET").path(PATH).header("Authorization", value.as_bytes());
        let request = bare.header("DPoP", own.as_bytes());
        assert_eq!(all.compare(&request, &["repo-code:r"], "no nonce").await, 401);
        let nonce = all.here.dpop_nonce();
        assert!(nonce.is_some());
        assert_eq!(all.servers().len(), count);
        for server in all.servers() {
            let refused = server.authenticate(&request).await.unwrap_err().into_response();
            assert_eq!((refused.header("DPoP-Nonce"), server.dpop_nonce()), (nonce.as_deref(), nonce.clone()));
        }
    }
}

/// RSC-02
#[tokio::test]
async fn settings_that_do_not_fit_the_client_are_refused() {
    let client = |issuer: &str, audience: ExpectedAudience| {
        let endpoint = format!("{ISSUER}/oauth2/introspect");
        let settings = IntrospectionSettings::new(endpoint, "api", ClientSecret::new("a-secret"), issuer, audience);
        ResourceClient::new(settings, ToServer(server())).unwrap()
    };
    let mut config = config_of(Profile::Strict);
    with_resources(&mut config);
    let is = |audience: &str| ExpectedAudience::Is(audience.to_owned());
    let refused = |config: &Config, client| ResourceServer::introspecting(config.clone(), client).map(drop);
    assert_eq!(refused(&config, client("https://other.example", is(A))).unwrap_err().field(), "issuer");
    assert_eq!(refused(&config, client(ISSUER, is("https://c.example"))).unwrap_err().field(), "resources");
    assert_eq!(refused(&config, client(ISSUER, is(B))), Ok(()));
    let any = ResourceServer::introspecting(config.clone(), client(ISSUER, ExpectedAudience::Any)).unwrap();
    assert_eq!(any.settings().unwrap().identifier, A, "the default resource");
    let mut without_default = config.clone();
    without_default.resources[0].is_default = false;
    assert_eq!(refused(&without_default, client(ISSUER, ExpectedAudience::Any)).unwrap_err().field(), "resources");
    config.dpop.tokens = DpopBoundTokens::Optional;
    assert_eq!(refused(&config, client(ISSUER, is(A))).unwrap_err().field(), "dpop.tokens");
    config.issuer = "https://auth.example/?x".into();
    assert_eq!(refused(&config, client(ISSUER, is(A))).unwrap_err().field(), "issuer");
}

fn server() -> AuthorizationServer {
    AuthorizationServer::new(config_of(Profile::Strict), MemoryStore::new()).unwrap()
}

/// A program may check the tokens of two servers. Neither takes a token that the other one has checked.
#[tokio::test]
async fn a_token_counts_only_where_it_was_checked() {
    let all = All::new(Profile::Strict, ISSUER, |config| config.scopes = own_scopes()).await;
    let token = all.world.pair().await.access;
    let value = format!("Bearer {token}");
    let request = Request::new("GET").path("/api").header("Authorization", value.as_bytes());
    let checked = all.here.authenticate(&request).await.unwrap();
    for (server, expected) in [(&all.here, true), (&all.apart, false)] {
        let is_accepted = [
            server.require(&checked, "repo-code", Permission::Read, Resource::Account).is_ok(),
            server.require_scopes(&checked, &server.scopes(["repo-code:r"]).unwrap()).is_ok(),
            server.require_subject(&checked).is_ok(),
        ];
        assert_eq!(is_accepted, [expected; 3]);
    }
}
