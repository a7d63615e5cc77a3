use actix_session::{Session, SessionExt, SessionMiddleware, storage::CookieSessionStore};
use actix_web::web::{self, Data, Query};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, cookie::Key, http::header::LOCATION};
use grantor::interaction::{ReturnTo, SignedIn};
use grantor::scope::{ScopeCatalog, ScopeDefinition};
use grantor::{AuthorizationServer, Config, MemoryThrottle, SqliteStore, Subject, TracingEvents};
use grantor_actix::{Interaction, Refused, RequireScope, RequiredScope, Users};
use grantor_pages::Pages;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt().init();
    let mut config = Config::strict("http://127.0.0.1:8080"); // In production, your https URL.
    config.development = config.issuer.starts_with("http:"); // `build` accepts http on the loopback alone.
    config.scopes = ScopeCatalog::builder().scope(ScopeDefinition::plain("notes").with_title("Read notes")).build()?;
    let secret = std::env::var("NOTES_SECRET").ok().or_else(|| config.development.then(|| "development".repeat(3)));
    let builder = AuthorizationServer::builder(config, SqliteStore::open("notes.sqlite")?);
    let server = builder.throttle(MemoryThrottle::new()).events(TracingEvents).build()?;
    let client = server.own_client("notes-app").name("Notes App").redirect_uri("http://127.0.0.1:8081/callback");
    client.scopes("notes").secret(secret.ok_or("set NOTES_SECRET, 32 or more random characters")?).ensure().await?;
    tokio::spawn(grantor_actix::purge(server.clone()));

    let interaction = Interaction::new(&server, Pages::new("Notes"), MyUsers);
    let key = Key::generate(); // Of the session cookies: keep one in your configuration, or a restart signs users out.
    let app = move || {
        let sessions = SessionMiddleware::builder(CookieSessionStore::default(), key.clone());
        App::new()
            .wrap(sessions.cookie_secure(server.issuer().starts_with("https:")).build())
            .app_data(Data::new(server.clone()))
            .configure(interaction.configure())
            .route("/notes", web::get().to(notes))
            .route("/sign-in", web::get().to(sign_in))
    };
    let http = HttpServer::new(app).bind("127.0.0.1:8080").map_err(|error| format!("port 8080: {error}"))?;
    println!("Notes is at http://127.0.0.1:8080");
    Ok(http.run().await?)
}

#[derive(Clone)]
struct MyUsers;

impl Users for MyUsers {
    async fn signed_in(&self, request: &HttpRequest) -> Result<Option<SignedIn>, actix_web::Error> {
        Ok(request.get_session().get("user")?.and_then(|user: String| Subject::new(user).ok()).map(SignedIn::new))
    }

    fn sign_in(&self, return_to: &ReturnTo) -> HttpResponse {
        HttpResponse::SeeOther().insert_header((LOCATION, return_to.query("/sign-in"))).finish()
    }
}

#[derive(serde::Deserialize)]
struct SignIn {
    return_to: ReturnTo,
}

/// In place of your sign-in page: whoever opens it is Alice.
async fn sign_in(session: Session, Query(form): Query<SignIn>) -> Result<HttpResponse, actix_web::Error> {
    session.renew();
    session.insert("user", "alice")?;
    Ok(HttpResponse::SeeOther().insert_header((LOCATION, form.return_to.as_str())).finish())
}

struct Notes;

impl RequiredScope for Notes {
    const NAME: &str = "notes";
}

async fn notes(server: Data<AuthorizationServer>, guard: RequireScope<Notes>) -> Result<String, Refused> {
    Ok(format!("the notes of {}\n", server.resource().require_subject(&guard.token)?))
}
