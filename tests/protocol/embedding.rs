//! What a service relies on besides the protocol.

use grantor::client::ClientType;
use grantor::config::{PkceRequirement, Profile};
use grantor::protected_resource::ProtectedResource;
use grantor::redirect_uri::{RedirectUriComparison, RedirectUriError};
use grantor::scope::{Permission, Permissions, Resource, ResourceScope, ScopeCatalog, ScopeDefinition};
use grantor::wire::{Body, Endpoint, Request};
use grantor::{
    Approval, AuthorizationServer, Client, ClientId, ClientSecret, Config, Consent, Decision, MemoryStore, Subject,
};

use support::world::{
    FORM, ISSUER, PKCE, Reviewer as _, SESSION, With as _, World, code, config_of, e400, e401, encode, form, logo,
    page, pair, public_form, red, text,
};

/// 8414-3-01
#[tokio::test]
async fn endpoints_are_mounted_where_the_metadata_says() {
    for issuer in ["https://auth.example", "https://auth.example/tenant", "https://auth.example/a/b/"] {
        let server = AuthorizationServer::new(Config::platform(issuer), MemoryStore::new()).unwrap();
        let response = server.serve(Endpoint::Metadata, &Request::new("GET")).await;
        let metadata: grantor::wire::message::Metadata = serde_json::from_slice(response.body()).unwrap();
        for (endpoint, advertised) in [
            (Endpoint::Authorization, &metadata.authorization_endpoint),
            (Endpoint::Token, &metadata.token_endpoint),
            (Endpoint::Revocation, &metadata.revocation_endpoint),
            (Endpoint::Introspection, &metadata.introspection_endpoint),
        ] {
            let mounted = format!("https://auth.example{}", server.path(endpoint));
            assert_eq!(advertised.as_deref(), Some(mounted.as_str()));
        }
        let below = issuer.trim_end_matches('/').trim_start_matches("https://auth.example");
        assert_eq!(server.path(Endpoint::Metadata), format!("/.well-known/oauth-authorization-server{below}"));
    }
}

/// D-29
#[tokio::test]
async fn what_the_form_sent_can_be_passed_as_it_came() {
    let world = World::platform().await;
    let listed = form().with(|form| form.resource_scope = Some(ResourceScope::specified(["one", "two"]).unwrap()));
    let listed = world.register(listed).await;
    let scopes = ["repo-code:r", "repo-issue:rw"];
    let chosen = |resources: &[&str]| Decision::Approve(Consent::chosen(scopes, resources.iter().copied()));

    // Not asked for specified resources: the form has no boxes for them.
    let redirect = world.decide(&world.query(&PKCE), chosen(&[])).await;
    let all = pair(&world.exchange(&text(&code(&redirect), "code")).await);
    assert_eq!(all.scope, "repo-code:r repo-issue:rw");
    assert_eq!(world.access(&all.access).await.unwrap().resource_scope(), ResourceScope::All);

    // Asked for: the chosen ones are granted; if none is chosen, the request is denied.
    let redirect = world.decide(&world.query_of(&listed, &PKCE), chosen(&["two"])).await;
    let two = pair(&world.exchange_as(&listed, &text(&code(&redirect), "code")).await);
    let token = world.access(&two.access).await.unwrap();
    assert_eq!(token.resource_scope(), ResourceScope::specified(["two"]).unwrap());
    assert!(!token.resource_scope().permits(Resource::Private("one")));
    red(&world.decide(&world.query_of(&listed, &PKCE), chosen(&[])).await, "access_denied");
    let nothing = Decision::Approve(Consent::chosen([], ["one"]));
    red(&world.decide(&world.query_of(&listed, &PKCE), nothing).await, "access_denied");
}

/// SVC-5-02
#[tokio::test]
async fn a_client_of_a_directory_has_no_resource_unless_told() {
    let client = Client::builder(ClientId::new("directory").unwrap()).build();
    for resource in [Resource::Public("one"), Resource::Private("one")] {
        assert!(!client.form().resource_scope.permits(resource));
    }
    assert!(client.form().scopes.is_empty());
}

/// MCP-0618-05, 9700-2.1-01, D-01, D-18
#[test]
fn a_profile_keeps_its_promises_however_it_was_chosen() {
    let refused = |config: Config| AuthorizationServer::new(config, MemoryStore::new()).unwrap_err().field();
    for (own, profile) in [
        (Config::strict(ISSUER), Profile::Strict),
        (Config::mcp(ISSUER), Profile::Mcp),
        (Config::fapi(ISSUER), Profile::Fapi),
    ] {
        let server = AuthorizationServer::new(own, MemoryStore::new()).unwrap();
        assert_eq!(server.config().profile(), profile);
        let mut config = server.config().clone();
        config.authorization.pkce = PkceRequirement::PublicClients;
        assert_eq!(refused(config), "authorization.pkce");
        let mut config = server.config().clone();
        config.redirect_uris.comparison = RedirectUriComparison::DomainAnyPort;
        assert_eq!(refused(config), "redirect_uris.comparison");
    }
}

/// 9700-4.11.2-01
#[tokio::test]
async fn a_page_can_say_who_asks_for_what_and_where_the_browser_goes() {
    let world = World::platform().await;
    let pending = world.authorize(&world.query(&[("scope", "repo-code:rw account-profile:r")])).await.unwrap();
    let asked: Vec<_> = pending.requested().map(|scope| (scope.token().to_owned(), scope.permission())).collect();
    assert_eq!(
        asked,
        [
            ("repo-code:rw".to_owned(), Some(Permission::ReadWrite)),
            ("account-profile:r".to_owned(), Some(Permission::Read))
        ]
    );
    assert_eq!(pending.form_action_sources(), "https: http:");
    let shown = format!("{pending:?}");
    for part in ["PendingAuthorization", &world.client.id, "https://app.example.com/cb", "repo-code"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let redirected = world.authorize(&world.query(&[("scope", "nothing")])).await.unwrap_err();
    assert_eq!(redirected.form_action_sources(), Some("https: http:"));
    let shown = world.authorize(&world.query(&[("redirect_uri", "https://evil.test/")])).await.unwrap_err();
    assert_eq!(shown.form_action_sources(), None);
}

/// The event names the scope; the response repeats nothing of the request.
#[tokio::test]
async fn a_refused_scope_is_described_by_its_fault() {
    let world = World::platform().await;
    for (scope, description) in [
        ("repo-code:r\trepo-pr:r", "the scope is malformed"),
        ("repo-cod:r", "the scope has a token that is unknown"),
        ("repo-delete:r", "the scope has a token with a permission that cannot be granted"),
    ] {
        world.events.take();
        let refused = red(&world.refused(&world.query(&[("scope", scope)])).await, "invalid_scope");
        assert_eq!(text(&refused, "error_description"), description, "{scope}");
        let is_named = |event: &String| event.contains(scope) || description.ends_with("malformed");
        assert!(world.events.take().iter().any(is_named), "{scope}");
    }
}

/// A scope without a permission needs neither a permission nor a resource. A scope with permissions is not a scope
/// without a permission.
#[tokio::test]
async fn scopes_without_permissions_are_checked_by_their_name() {
    let mut config = config_of(Profile::Platform);
    config.scopes = ScopeCatalog::builder()
        .scope(ScopeDefinition::plain("orders"))
        .scope(ScopeDefinition::plain("invoices"))
        .scope(ScopeDefinition::new("notes", Permissions::ReadOnlyOrReadWrite))
        .build()
        .unwrap();
    let server = AuthorizationServer::new(config, MemoryStore::new()).unwrap();
    let registrar = server.registrar().unwrap();
    let mut asked = form();
    asked.scopes = "orders invoices notes:rw".into();
    let alice = Subject::new("alice").unwrap();
    let id = registrar.submit(Subject::new("developer").unwrap(), asked.clone(), Some(logo())).await.unwrap();
    registrar.approve_now(&id, Approval::default()).await.unwrap();
    let secret = registrar.claim_now(&id).await.unwrap().expose().to_owned();

    let query = encode(&[("response_type", "code"), ("client_id", id.as_str())]);
    let pending = server.authorize(&Request::new("GET").query(query.as_bytes())).await.unwrap();
    let handle = server.hold(&pending, &alice, SESSION).await.unwrap();
    let consent = Decision::Approve(Consent::chosen(["orders", "notes:rw"], []));
    let redirect = server.decide(handle.expose(), &alice, SESSION, &consent).await.unwrap();
    let code = text(&code(&redirect), "code").to_owned();
    let body = encode(&[
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("client_id", id.as_str()),
        ("client_secret", &secret),
    ]);
    let request = Request::new("POST").header("Content-Type", FORM.as_bytes()).body(Body::Bytes(body.as_bytes()));
    let tokens = pair(&server.serve(Endpoint::Token, &request).await);

    let bearer = format!("Bearer {}", tokens.access);
    let request = Request::new("GET").header("Authorization", bearer.as_bytes());
    let token = server.resource().authenticate(&request).await.unwrap();
    server.resource().require_scope(&token, "orders").unwrap();
    assert!(token.has_scope("orders"));
    for refused in ["invoices", "notes", "notes:rw", "notes:r", "unknown", "", "orders invoices"] {
        assert!(!token.has_scope(refused), "{refused}");
        let response = server.resource().require_scope(&token, refused).unwrap_err().into_response();
        assert_eq!(response.status(), 403, "{refused}");
    }
    let challenge = server.resource().require_scope(&token, "invoices").unwrap_err().into_response();
    let challenge = challenge.header("WWW-Authenticate").unwrap().to_owned();
    assert!(challenge.contains(r#"error="insufficient_scope""#) && challenge.ends_with(r#"scope="invoices""#));

    // A scope that is removed from the registration is lost at once.
    asked.scopes = "notes:rw".into();
    registrar.change_now(&id, asked, None).await.unwrap();
    registrar.approve_now(&id, Approval::default()).await.unwrap();
    let token = server.resource().authenticate(&request).await.unwrap();
    assert!(!token.has_scope("orders"));
}

/// Neither list needs a type annotation.
#[test]
fn a_consent_takes_empty_lists() {
    assert_ne!(Consent::chosen(["repo-code:r"], []), Consent::chosen([], []));
    assert_eq!(Consent::chosen([], []), Consent::to_everything().scopes([]).resources([]));
}

/// The error text states which secrets are accepted, and shows nothing of the secret.
#[test]
fn a_refused_client_secret_is_explained() {
    let refused = |client_type, secret: &str| {
        let builder = Client::builder(ClientId::new("own").unwrap()).client_type(client_type);
        builder.secret(&ClientSecret::new(secret)).unwrap_err().to_string()
    };
    let (confidential, public) = (ClientType::Confidential, ClientType::Public);
    for (text, expected) in [
        (refused(confidential, "hidden"), "the client secret has 6 characters; 32 to 255 random ones are accepted"),
        (
            refused(confidential, &"hidden".repeat(43)),
            "the client secret has 258 characters; 32 to 255 random ones are accepted",
        ),
        (
            refused(confidential, &format!("hidden\u{e9}{}", "x".repeat(40))),
            "byte 7 of the client secret is neither visible ASCII nor a space",
        ),
        (
            refused(public, &"hidden".repeat(6)),
            "a public client has no secret; set ClientType::Confidential, or leave the secret out",
        ),
    ] {
        assert_eq!(text, expected);
        assert!(!text.contains("hidden"));
    }
}

/// 8414-2-03
/// The operator learns which setting it is; the client does not.
#[tokio::test]
async fn a_public_client_where_none_are_served_names_the_setting() {
    let mut world = World::platform().await;
    let public = world.register(public_form()).await;
    world.server = world.builder(Config::platform(ISSUER), world.store.clone()).build().unwrap();
    world.events.take();
    let error = world.authorize(&world.query_of(&public, &PKCE)).await.unwrap_err();
    assert_eq!(error.to_string(), "the client is public, and Config::public_clients is off");
    page(&error.response(Some(&world.alice)));
    let form = [("grant_type", "refresh_token"), ("refresh_token", "x"), ("client_id", public.id.as_str())];
    e401(&world.token(&form).send().await, "invalid_client");
    let events = world.events.take();
    assert!(events.iter().all(|event| event.contains("PublicClientsOff")) && events.len() == 2, "{events:?}");
}

/// The operator learns which redirect URI was refused, at every endpoint.
#[tokio::test]
async fn a_refused_redirect_uri_is_in_its_event() {
    let world = World::platform().await;
    let raised = |expected: &str| {
        let events = world.events.take();
        let refused = events.iter().find(|event| event.starts_with("Refused")).unwrap();
        assert!(refused.contains(&world.client.id) && refused.contains(expected), "{refused}");
    };
    let elsewhere = "https://app.example.com.evil.test/cb";
    world.refused(&world.query(&[("redirect_uri", elsewhere)])).await;
    raised(&format!("redirect_uri: Some(\"{elsewhere}\"), reason: RedirectUri({:?})", RedirectUriError::Mismatch));

    let code = world.code().await;
    let fields = [("grant_type", "authorization_code"), ("code", &*code), ("redirect_uri", elsewhere)];
    e400(&world.token(&fields).client(&world.client).send().await, "invalid_grant");
    raised(&format!("redirect_uri: Some(\"{elsewhere}\"), reason: RedirectUriMismatch"));

    // The redirect URI of the application changes while the page is open.
    let pending = world.authorize(&world.query(&[])).await.unwrap();
    let handle = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
    let moved = form().with(|form| form.redirect_uris = vec!["https://elsewhere.example/cb".into()]);
    let registrar = world.server.registrar().unwrap();
    registrar.change_now(&world.client.client_id(), moved, None).await.unwrap();
    registrar.approve_now(&world.client.client_id(), Approval::default()).await.unwrap();
    world.server.decide(handle.expose(), &world.alice, SESSION, &Decision::Deny).await.unwrap_err();
    raised("redirect_uri: Some(\"https://app.example.com/cb\"), reason: MissingRedirectUri");
}

/// Behind a proxy that passes its own `Host`, every user gets 421: the log says why.
#[tokio::test]
async fn a_request_for_another_host_is_reported() {
    let world = World::strict().await;
    world.events.take();
    let hosts = world.server.hosts();
    for own in [Some(&b"auth.example"[..]), None] {
        assert_eq!(hosts.refusal(own), None);
    }
    assert_eq!(world.events.take(), [""; 0]);

    let reported = |host| [format!("OtherHost {{ host: {host:?}, origin: {ISSUER:?} }}")];
    for _ in 0..3 {
        assert_eq!(hosts.clone().refusal(Some(b"127.0.0.1:8080")).unwrap().status(), 421);
    }
    assert_eq!(world.events.take(), reported("127.0.0.1:8080"));
    world.advance(59);
    assert!(hosts.refusal(Some(b"127.0.0.1:8080")).is_some() && world.events.take().is_empty());
    world.advance(1);
    let long = [b"evil\n", [b'x'; 300].as_slice()].concat();
    assert!(hosts.refusal(Some(&long)).is_some());
    assert_eq!(world.events.take(), reported(&format!("evil\\n{}", "x".repeat(250))));
}

#[tokio::test]
async fn the_guard_reports_what_it_refuses() {
    let world = World::strict().await;
    let token = world.pair().await.access;
    world.events.take();
    assert!(world.opens(&token).await);
    assert_eq!(world.events.take(), [""; 0]);
    assert!(!world.opens("unknown").await);
    world.advance(100_000);
    assert!(!world.opens(&token).await);
    assert_eq!(world.events.take(), ["AccessTokenRefused { client: None, refusal: Inactive }"; 2]);

    let mut config = config_of(Profile::Strict);
    config.resources = vec![ProtectedResource::new("https://api.example", "API")];
    let world = World::built(config.clone(), |builder| builder).await;
    let pair = world.pair().await;
    config.resources.push(ProtectedResource::new("https://other.example", "Other"));
    let server = world.builder(config, world.store.clone()).build().unwrap();
    world.events.take();
    let bearer = format!("Bearer {}", pair.access);
    let request = Request::new("GET").header("Authorization", bearer.as_bytes());
    assert!(server.protected_resource("https://other.example").unwrap().authenticate(&request).await.is_err());
    let refused = format!("AccessTokenRefused {{ client: Some({}), refusal: AnotherAudience }}", world.client.id);
    assert_eq!(world.events.take(), [refused]);
}
