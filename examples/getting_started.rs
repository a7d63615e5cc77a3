//! The program of the guide "Getting started", from its first line to its last: the guide's steps are these lines.
//!
//! Run: `cargo run --example getting_started`

use std::collections::HashMap;
use std::error::Error;

use grantor::application::Logo;
use grantor::scope::{Permission, Permissions, Resource, ResourceScope, ScopeCatalog, ScopeDefinition};
use grantor::secret::CodeVerifier;
use grantor::wire::message::TokenResponse;
use grantor::wire::{Body, Endpoint, Request};
use grantor::{ApplicationForm, Approval, AuthorizationServer, ClientId, ClientSecret, Config};
use grantor::{Consent, Decision, MemoryStore, Subject};

fn build() -> Result<AuthorizationServer, Box<dyn Error>> {
    let mut config = Config::strict("https://auth.example");
    config.scopes = ScopeCatalog::builder()
        .scope(ScopeDefinition::plain("orders").with_title("Your orders"))
        .scope(ScopeDefinition::new("notes", Permissions::ReadOnlyOrReadWrite).with_title("Your notes"))
        .build()?;
    // For step 8; without it, no client gets tokens of its own.
    config.client_credentials.on = true;
    let server = AuthorizationServer::new(config, MemoryStore::new())?;
    println!("1. scopes: {}", server.config().scopes.supported().join(" "));
    Ok(server)
}

/// For the developer: what the page with the form does.
async fn submit(server: &AuthorizationServer) -> Result<ClientId, Box<dyn Error>> {
    let registrar = server.registrar().ok_or("the store takes no registrations")?;
    let mut form = ApplicationForm::new("Shop Assistant", "https://app.example/");
    form.redirect_uris = vec!["https://app.example/callback".into()];
    form.scopes = "orders notes:rw".into();
    form.resource_scope = Some(ResourceScope::All);
    let logo = Logo::new(LOGO, registrar.limits())?;
    Ok(registrar.submit(Subject::new("developer-7")?, form, Some(logo)).await?)
}

/// The file that the developer uploaded: here an image of one pixel.
const LOGO: [u8; 67] = *b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\
    \0\0\0\nIDATx\x9cc\0\x01\0\0\x05\0\x01\r\n-\xb4\0\0\0\0IEND\xaeB`\x82";

/// For the administrator: what the page of the review does.
async fn approve(server: &AuthorizationServer, app: &ClientId) -> Result<(), Box<dyn Error>> {
    let registrar = server.registrar().ok_or("the store takes no registrations")?;
    let application = registrar.application(app).await?;
    registrar.approve(app, application.version(), Approval::default()).await?;
    println!("2. {} is approved", application.form().name);
    Ok(())
}

/// For the developer: what the page of the application does.
async fn make_secret(server: &AuthorizationServer, app: &ClientId) -> Result<ClientSecret, Box<dyn Error>> {
    let registrar = server.registrar().ok_or("the store takes no registrations")?;
    let version = registrar.application(app).await?.version();
    Ok(registrar.claim_secret(app, &Subject::new("developer-7")?, version).await?)
}

/// In the application: the query of the address that it sends the browser to, and what it keeps until the answer.
fn connect(app: &ClientId) -> Result<(String, CodeVerifier), Box<dyn Error>> {
    // A real application takes random bytes, and a random state.
    let verifier = CodeVerifier::new("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")?;
    let request = serde_urlencoded::to_string([
        ("response_type", "code"),
        ("client_id", app.as_str()),
        ("scope", "orders notes:r"),
        ("state", "af0ifjsldkj"),
        ("code_challenge", verifier.challenge().as_str()),
        ("code_challenge_method", "S256"),
    ])?;
    Ok((request, verifier))
}

/// In your service, `GET /oauth2/auth`: the consent page. It returns the ticket that stands in the page's form.
async fn ask(server: &AuthorizationServer, query: &str, user: &Subject) -> Result<String, Box<dyn Error>> {
    let pending = server.authorize(&Request::new("GET").query(query.as_bytes())).await?;
    let ticket = server.hold(&pending, user, SESSION).await?;
    println!("3. {} asks for:", pending.client().form().name);
    for scope in pending.requested() {
        println!("   [x] {} ({})", scope.definition().title(), scope.token());
    }
    Ok(ticket.expose().to_owned())
}

const SESSION: &[u8] = b"the value of the session cookie";

/// In your service, where the form of the consent page is sent to. It returns where the browser goes.
async fn decide(server: &AuthorizationServer, ticket: &str, user: &Subject) -> Result<String, Box<dyn Error>> {
    let consent = Consent::chosen(["orders", "notes:r"], []);
    let redirect = server.decide(ticket, user, SESSION, &Decision::Approve(consent)).await?;
    let location = redirect.header("Location").ok_or("a decision is answered with a redirect")?;
    println!("   the browser goes to {}", location.split('?').next().unwrap_or_default());
    Ok(location.to_owned())
}

/// In the application, at its redirect URI: the form that it sends to `POST /oauth2/token`.
fn exchange(
    location: &str,
    verifier: &CodeVerifier,
    app: &ClientId,
    secret: &ClientSecret,
) -> Result<String, Box<dyn Error>> {
    let (_, query) = location.split_once('?').ok_or("the code is in the query")?;
    let answer: HashMap<String, String> = serde_urlencoded::from_str(query)?;
    assert_eq!(answer["state"], "af0ifjsldkj");
    Ok(serde_urlencoded::to_string([
        ("grant_type", "authorization_code"),
        ("code", &answer["code"]),
        ("code_verifier", verifier.expose()),
        ("client_id", app.as_str()),
        ("client_secret", secret.expose()),
    ])?)
}

/// In your service: `POST /oauth2/token`.
async fn tokens(server: &AuthorizationServer, form: &str) -> Result<TokenResponse, Box<dyn Error>> {
    let request = Request::new("POST")
        .header("Content-Type", b"application/x-www-form-urlencoded")
        .body(Body::Bytes(form.as_bytes()));
    let response = server.serve(Endpoint::Token, &request).await;
    Ok(serde_json::from_slice(response.body())?)
}

/// In your API: a call with an access token.
async fn call(server: &AuthorizationServer, tokens: &TokenResponse) -> Result<(), Box<dyn Error>> {
    let bearer = format!("Bearer {}", tokens.access_token.expose());
    let request = Request::new("GET").header("Authorization", bearer.as_bytes());
    let token = server.resource().authenticate(&request).await?;

    server.resource().require_scope(&token, "orders")?;
    let user = server.resource().require_subject(&token)?;
    println!("5. the application may read the orders of {user}");

    let note = Resource::Private("alice/shopping list");
    server.resource().require(&token, "notes", Permission::Read, note)?;
    println!("   it may read the note");
    if let Err(refused) = server.resource().require(&token, "notes", Permission::ReadWrite, note) {
        println!("   it may not change the note: {}", refused.into_response().status());
    }
    Ok(())
}

/// In the application, before the access token expires: the form that it sends to `POST /oauth2/token`.
fn refresh(tokens: &TokenResponse, app: &ClientId, secret: &ClientSecret) -> Result<String, Box<dyn Error>> {
    let refresh_token = tokens.refresh_token.as_ref().ok_or("there is a refresh token")?;
    Ok(serde_urlencoded::to_string([
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh_token.expose()),
        ("client_id", app.as_str()),
        ("client_secret", secret.expose()),
    ])?)
}

/// In your service: the page "Applications with access", and its button "Revoke".
async fn revoke(server: &AuthorizationServer, user: &Subject, app: &ClientId) -> Result<(), Box<dyn Error>> {
    for grant in server.grants_of(user).await? {
        let client = server.client(grant.client()).await?.ok_or("the application was deleted")?;
        println!("7. {} has {}", client.form().name, grant.scopes());
    }
    for approved in server.authorizations_of(user).await? {
        println!("   approved, and not used yet: {}", approved.scopes());
    }
    let ended = server.revoke_application(user, app).await?;
    println!("   revoked: {ended}");
    Ok(())
}

/// At each start of your service: a client of your own.
async fn ensure_export(server: &AuthorizationServer) -> Result<(ClientId, ClientSecret), Box<dyn Error>> {
    // For this program alone, whose store is empty at each start. A service reads it from its configuration.
    let secret = ClientSecret::new("an-example-of-32-to-255-random-characters");
    let export = server.own_client("nightly-export").name("Nightly export").client_scopes("orders");
    Ok((export.secret(secret.expose()).ensure().await?.id().clone(), secret))
}

/// In your API: a call for which no user is needed.
async fn call_of_export(server: &AuthorizationServer, tokens: &TokenResponse) -> Result<(), Box<dyn Error>> {
    let bearer = format!("Bearer {}", tokens.access_token.expose());
    let request = Request::new("GET").header("Authorization", bearer.as_bytes());
    let token = server.resource().authenticate(&request).await?;
    server.resource().require_scope(&token, "orders")?;
    assert_eq!(token.subject(), None);
    println!("8. {} may read orders", token.client_id());
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = build()?;

    let app = submit(&server).await?;
    approve(&server, &app).await?;
    let secret = make_secret(&server, &app).await?;

    let alice = Subject::new("alice")?;
    let (query, verifier) = connect(&app)?;
    let ticket = ask(&server, &query, &alice).await?;
    let location = decide(&server, &ticket, &alice).await?;

    let first = tokens(&server, &exchange(&location, &verifier, &app, &secret)?).await?;
    println!("4. tokens for: {}", first.scope.as_deref().unwrap_or_default());
    call(&server, &first).await?;
    let second = tokens(&server, &refresh(&first, &app, &secret)?).await?;
    println!("6. new tokens for: {}", second.scope.as_deref().unwrap_or_default());

    revoke(&server, &alice, &app).await?;
    match call(&server, &second).await {
        Ok(()) => return Err("a revoked token still works".into()),
        Err(refused) => println!("   the next call: {refused}"),
    }

    let (export, secret) = ensure_export(&server).await?;
    let form = format!("grant_type=client_credentials&client_id={export}&client_secret={}", secret.expose());
    call_of_export(&server, &tokens(&server, &form).await?).await?;
    Ok(())
}
