//! Pages of other origins that call the endpoints from a browser [RFC 9700 section 2.6, Fetch standard].

use std::time::Duration;

use async_trait::async_trait;
use grantor::config::{DpopBoundTokens, Profile};
use grantor::hooks::{Attempt, Throttle, ThrottleDecision};
use grantor::scope::{Permission, Resource};
use grantor::store::Stores;
use grantor::wire::Cors;
use grantor::wire::{Body, Endpoint, Request, Response};
use grantor::{AuthorizationServer, Config, Decision, MemoryStore};

use support::attempts::Attempts;
use support::intercepted::{Failure, Fate, Intercepted, every};
use support::world::{AnyStore, ISSUER, PKCE, SESSION, World, config_of, e400, e401, ok, public_form};

const PAGE: &str = "https://page.example";
const OTHER: &str = "https://other.example";
const COVERED: [Endpoint; 3] = [Endpoint::Token, Endpoint::Revocation, Endpoint::Metadata];
const PROFILES: [Profile; 3] = [Profile::Platform, Profile::Strict, Profile::Mcp];

/// Returns the CORS headers of a response.
fn shared(response: &Response) -> Vec<(String, String)> {
    let own = |name: &str| name.starts_with("Access-Control-") || name == "Vary";
    let headers = response.headers().filter(|(name, _)| own(name));
    headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn headers(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn listed() -> Cors {
    Cors::Origins(vec!["http://localhost:6274".into(), PAGE.into()])
}

async fn world_of(cors: Cors) -> World {
    World::with(Profile::Mcp, |config| (config.cors, config.dpop.tokens) = (cors, DpopBoundTokens::Off)).await
}

fn preflight<'a>(origin: &'a str) -> Request<'a> {
    let request = Request::new("OPTIONS").header("Origin", origin.as_bytes());
    request.header("Access-Control-Request-Method", b"POST").header("Access-Control-Request-Headers", b"x-other")
}

/// CORS-01
#[tokio::test]
async fn where_it_is_off_no_answer_has_a_header_of_it() {
    for profile in PROFILES {
        let default = if profile == Profile::Mcp { Cors::AnyOrigin } else { Cors::Off };
        assert_eq!(config_of(profile).cors, default, "{profile:?}");
        let world = World::with(profile, |config| config.cors = Cors::Off).await;
        // Without a resource, its metadata has no path.
        for &endpoint in Endpoint::MACHINE.iter().filter(|endpoint| !world.server.paths(**endpoint).is_empty()) {
            for method in ["GET", "POST", "OPTIONS"] {
                let request = Request::new(method).header("Origin", PAGE.as_bytes());
                assert_eq!(shared(&world.server.serve(endpoint, &request).await), []);
            }
            let response = world.server.serve(endpoint, &preflight(PAGE)).await;
            assert_eq!((response.status(), shared(&response)), (405, vec![]), "{endpoint:?}");
            assert_eq!(response.header("Allow"), Some(endpoint.allow()));
        }
        let refused =
            world.server.resource().authenticate(&Request::new("GET").header("Origin", PAGE.as_bytes())).await;
        assert_eq!(shared(&refused.unwrap_err().into_response()), []);
    }
}

/// CORS-01
/// A page of another origin cannot keep a secret.
#[test]
fn the_report_tells_of_pages_that_would_need_a_secret() {
    for (cors, public_clients, reported) in [
        (Cors::Off, false, false),
        (Cors::AnyOrigin, true, false),
        (listed(), true, false),
        (Cors::AnyOrigin, false, true),
        (listed(), false, true),
    ] {
        let mut config = Config::mcp(ISSUER);
        (config.cors, config.public_clients) = (cors.clone(), public_clients);
        let report = AuthorizationServer::new(config, MemoryStore::new()).unwrap().security_report();
        assert_eq!(report.findings.iter().any(|finding| finding.setting == "cors"), reported, "{cors:?}");
    }
}

/// The answers of an endpoint to a page, one of each status that it has.
async fn answers(world: &World, endpoint: Endpoint) -> Vec<Response> {
    let pair = world.pair().await;
    let post = |form: &[(&str, &str)]| world.post(endpoint, form).header("Origin", PAGE.as_bytes());
    let too_large = Request::new("POST")
        .header("Origin", PAGE.as_bytes())
        .header("Content-Type", b"application/x-www-form-urlencoded")
        .body(Body::TooLarge);
    let good = [("grant_type", "refresh_token"), ("refresh_token", &*pair.refresh), ("token", &*pair.access)];
    vec![
        post(&good).client(&world.client).send().await,
        post(&[]).client(&world.client).send().await,
        post(&good).basic(&world.client.id, "wrong").send().await,
        post(&good).method("PUT").send().await,
        post(&[]).method("OPTIONS").send().await,
        world.server.serve(endpoint, &too_large).await,
    ]
}

/// CORS-02
#[tokio::test]
async fn what_is_covered_is_shared_whatever_the_answer() {
    let any =
        [("Access-Control-Allow-Origin", "*"), ("Access-Control-Expose-Headers", "WWW-Authenticate, Retry-After")];
    let one = [
        ("Vary", "Origin"),
        ("Access-Control-Allow-Origin", PAGE),
        ("Access-Control-Expose-Headers", "WWW-Authenticate, Retry-After"),
    ];
    for (cors, expected) in [(Cors::AnyOrigin, headers(&any)), (listed(), headers(&one))] {
        let world = world_of(cors.clone()).await;
        for (endpoint, is_covered) in
            [(Endpoint::Token, true), (Endpoint::Revocation, true), (Endpoint::Introspection, false)]
        {
            let mut seen = Vec::new();
            for response in answers(&world, endpoint).await {
                let expected = if is_covered { expected.clone() } else { vec![] };
                assert_eq!(shared(&response), expected, "{endpoint:?}: {}", response.status());
                seen.push(response.status());
            }
            assert_eq!(seen, [200, 400, 401, 405, 405, 413], "{endpoint:?}");
        }
        for (method, status) in [("GET", 200), ("HEAD", 200), ("POST", 405), ("OPTIONS", 405)] {
            let request = Request::new(method).header("Origin", PAGE.as_bytes());
            let response = world.server.serve(Endpoint::Metadata, &request).await;
            assert_eq!((response.status(), shared(&response)), (status, expected.clone()), "{method}");
        }

        // Too many requests, and a store that fails.
        let full = stopped(cors.clone(), Full);
        let down = stopped(cors, Attempts::default());
        for (server, status) in [(full, 429), (down, 503)] {
            for endpoint in [Endpoint::Token, Endpoint::Revocation, Endpoint::Introspection] {
                let form = b"grant_type=refresh_token&refresh_token=x&token=x&client_id=x";
                let request = Request::new("POST").header("Content-Type", b"application/x-www-form-urlencoded");
                let request = request.header("Origin", PAGE.as_bytes()).body(Body::Bytes(form));
                let response = server.serve(endpoint, &request).await;
                let expected = if endpoint == Endpoint::Introspection { vec![] } else { expected.clone() };
                assert_eq!((response.status(), shared(&response)), (status, expected), "{endpoint:?}");
                assert!(response.header("Retry-After").is_some());
            }
        }
    }
}

/// A throttle that refuses all.
#[derive(Debug)]
struct Full;

#[async_trait]
impl Throttle for Full {
    async fn check(&self, _attempt: &Attempt<'_>) -> ThrottleDecision {
        ThrottleDecision::Refuse { retry_after: Duration::from_secs(7) }
    }

    async fn failed(&self, _attempt: &Attempt<'_>) {}
}

/// A server whose clients cannot be read, with this throttle in front.
fn stopped(cors: Cors, throttle: impl Throttle) -> AuthorizationServer {
    let mut config = Config::mcp(ISSUER);
    (config.cors, config.dpop.tokens) = (cors, DpopBoundTokens::Off);
    let store = AnyStore::over(MemoryStore::new());
    let down = Intercepted::new(store.clone(), every("clients.find", Fate::FailsBefore(Failure::Transient)));
    let stores = Stores::new(store).with_clients(down);
    AuthorizationServer::builder(config, stores).throttle(throttle).build().unwrap()
}

/// CORS-03, 9700-2.6-02
#[tokio::test]
async fn the_authorization_endpoint_is_never_covered() {
    for cors in [Cors::Off, Cors::AnyOrigin, listed()] {
        let world = world_of(cors).await;
        let query = world.query(&PKCE);
        let get = |query: &str| {
            let query = query.to_owned();
            let server = world.server.clone();
            async move {
                let request = Request::new("GET").query(query.as_bytes()).header("Origin", PAGE.as_bytes());
                server.authorize(&request).await
            }
        };
        for bad in [format!("{query}&scope=nothing"), "client_id=x".to_owned(), String::new()] {
            assert_eq!(shared(&get(&bad).await.unwrap_err().response(Some(&world.alice))), []);
        }
        let pending = get(&query).await.unwrap();
        let handle = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
        let decided = world.server.decide(handle.expose(), &world.alice, SESSION, &Decision::Deny).await.unwrap();
        assert_eq!(shared(&decided), []);
        for options in [preflight(PAGE), Request::new("OPTIONS").header("Origin", PAGE.as_bytes())] {
            let refused = world.server.authorize(&options).await.unwrap_err().response(None);
            assert_eq!((refused.status(), shared(&refused)), (405, vec![]));
            assert_eq!(refused.header("Allow"), Some("GET, HEAD"));
            let served = world.server.serve(Endpoint::Authorization, &options).await;
            assert_eq!((served.status(), shared(&served)), (404, vec![]));
        }
    }
}

/// CORS-04
#[tokio::test]
async fn a_preflight_is_answered_by_settings_alone() {
    for (cors, origin, first) in
        [(Cors::AnyOrigin, "*", headers(&[])), (listed(), PAGE, headers(&[("Vary", "Origin")]))]
    {
        let world = world_of(cors.clone()).await;
        for (server, case) in [(&world.server, "all is well"), (&stopped(cors, Full), "nothing is")] {
            for endpoint in COVERED {
                let answer = [
                    ("Access-Control-Allow-Origin", origin),
                    ("Access-Control-Allow-Methods", endpoint.allow()),
                    ("Access-Control-Allow-Headers", "authorization, content-type, mcp-protocol-version"),
                    ("Access-Control-Max-Age", "7200"),
                ];
                let expected = [first.clone(), headers(&answer)].concat();
                for request in [
                    preflight(PAGE),
                    preflight(PAGE).body(Body::TooLarge),
                    preflight(PAGE).body(Body::Bytes(b"\xff")).header("Content-Type", b"text/plain"),
                    preflight(PAGE).header("Authorization", b"Basic !").header("Authorization", b"Basic !"),
                    preflight(PAGE).header("Access-Control-Request-Method", b"\xff").query(b"%zz"),
                ] {
                    let response = server.serve(endpoint, &request).await;
                    assert_eq!((response.status(), shared(&response)), (204, expected.clone()), "{endpoint:?}, {case}");
                    assert_eq!(response.headers().count(), expected.len());
                    assert_eq!(response.body(), b"");
                }
                // A request that asks for no method is not a preflight.
                for (method, status) in [("OPTIONS", 405), ("options", 405)] {
                    let request = Request::new(method).header("Origin", PAGE.as_bytes());
                    let response = server.serve(endpoint, &request).await;
                    assert_eq!((response.status(), response.header("Allow")), (status, Some(endpoint.allow())));
                }
            }
            let response = server.serve(Endpoint::Introspection, &preflight(PAGE)).await;
            assert_eq!((response.status(), shared(&response)), (405, vec![]));
        }
        world.events.take();
        world.server.serve(Endpoint::Token, &preflight(PAGE)).await;
        assert_eq!(world.events.take(), Vec::<String>::new(), "no request was refused");
    }
}

/// CORS-05
#[tokio::test]
async fn a_listed_origin_is_returned_alone_and_others_are_served_as_ever() {
    let (any, list) = (world_of(Cors::AnyOrigin).await, world_of(listed()).await);
    let off = world_of(Cors::Off).await;
    let near = [
        "null",
        OTHER,
        "https://page.example.evil.example",
        "https://page.example:443",
        "https://page.example/",
        "https://PAGE.example",
        "http://page.example",
        "page.example",
        "*",
        "",
        "https://page.example, https://other.example",
    ];
    for endpoint in COVERED {
        let method = if endpoint == Endpoint::Metadata { "GET" } else { "POST" };
        let plain = off.server.serve(endpoint, &Request::new(method)).await;
        let serve = async |world: &World, request: &Request<'_>| {
            let response = world.server.serve(endpoint, request).await;
            assert_eq!(response.header("Access-Control-Allow-Credentials"), None);
            assert_eq!((response.status(), response.body()), (plain.status(), plain.body()), "served as without CORS");
            shared(&response)
        };
        let vary = headers(&[("Vary", "Origin")]);
        for origin in near {
            let request = Request::new(method).header("Origin", origin.as_bytes());
            assert_eq!(serve(&list, &request).await, vary, "{origin:?}");
            assert_eq!(serve(&any, &request).await[0].1, "*", "{origin:?}");
            let refused = list.server.serve(endpoint, &preflight(origin)).await;
            assert_eq!((refused.status(), shared(&refused)), (204, vary.clone()), "{origin:?}");
            let allowed = any.server.serve(endpoint, &preflight(origin)).await;
            assert_eq!(allowed.header("Access-Control-Allow-Origin"), Some("*"), "{origin:?}");
        }
        assert_eq!(serve(&list, &Request::new(method)).await, vary);
        assert_eq!(serve(&any, &Request::new(method)).await[0].1, "*");
        for origin in [PAGE, "http://localhost:6274"] {
            let request = Request::new(method).header("Origin", origin.as_bytes());
            assert_eq!(serve(&list, &request).await[1].1, origin);
            assert_eq!(serve(&list, &request.header("origin", origin.as_bytes())).await, vary, "two count as none");
        }
    }
}

/// CORS-05
#[tokio::test]
async fn no_cookie_has_an_effect() {
    for cors in [Cors::AnyOrigin, listed()] {
        let world = world_of(cors).await;
        let client = world.register(public_form()).await;
        let pair = world.pair_of(&client).await;
        let cookie = format!("session={}; access_token={}", String::from_utf8_lossy(SESSION), pair.access);
        for origin in [PAGE, OTHER, "null"] {
            let call = |endpoint, form: &[(&str, &str)]| {
                world.post(endpoint, form).header("Origin", origin.as_bytes()).header("Cookie", cookie.as_bytes())
            };
            let refresh = [("grant_type", "refresh_token"), ("refresh_token", &*pair.refresh)];
            e401(&call(Endpoint::Token, &refresh).send().await, "invalid_client");
            let answer = call(Endpoint::Token, &refresh).client(&client).send().await;
            ok(&answer);
            assert_eq!(answer.header("Access-Control-Allow-Credentials"), None);
            e400(&call(Endpoint::Revocation, &[]).client(&client).send().await, "invalid_request");
            let request = Request::new("GET").header("Origin", origin.as_bytes()).header("Cookie", cookie.as_bytes());
            assert_eq!(world.server.resource().authenticate(&request).await.unwrap_err().into_response().status(), 401);
        }
        assert!(world.opens(&pair.access).await);
    }
}

/// CORS-06
#[tokio::test]
async fn a_resource_names_the_header_that_a_page_has_to_read() {
    for (cors, is_on) in [(Cors::AnyOrigin, true), (listed(), true), (Cors::Off, false)] {
        let world = world_of(cors).await;
        let pair = world.pair().await;
        let token = world.access(&pair.access).await.unwrap();
        let wanting = world.server.resource().require(&token, "repo-delete", Permission::ReadWrite, Resource::Account);
        let get = |authorization: &'static [u8]| {
            let server = world.server.clone();
            let request = Request::new("GET").header("Authorization", authorization);
            async move { server.resource().authenticate(&request).await }
        };
        for (error, status) in [
            (get(b"Basic x").await.unwrap_err(), 401),
            (get(b"Bearer unknown").await.unwrap_err(), 401),
            (get(b"Bearer ").await.unwrap_err(), 400),
            (wanting.unwrap_err(), 403),
        ] {
            let response = error.into_response();
            assert_eq!(response.status(), status);
            assert!(response.header("WWW-Authenticate").is_some());
            // Which origins may read the response is up to the resource.
            let expected = [("Access-Control-Expose-Headers", "WWW-Authenticate")];
            assert_eq!(shared(&response), if is_on { headers(&expected) } else { vec![] });
        }
    }
}

/// CORS-06
#[test]
fn a_preflight_is_known_before_the_token_is_checked() {
    assert!(preflight(PAGE).is_preflight());
    assert!(Request::new("OPTIONS").header("access-control-request-method", b"").is_preflight());
    for method in ["GET", "POST", "options", "OPTIONSX"] {
        assert!(!Request::new(method).header("Access-Control-Request-Method", b"GET").is_preflight(), "{method}");
    }
    let request = Request::new("OPTIONS").header("Origin", PAGE.as_bytes());
    assert!(!request.header("Access-Control-Request-Headers", b"authorization").is_preflight());
}
