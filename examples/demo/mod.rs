//! What the example servers share: options, the demo application, the session cookie, the consent page,
//! the clean-up.

mod purge;
mod throttle;
mod times;

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use grantor::scope::ResourceScope;
use grantor::{
    ApplicationForm, Approval, AuthorizationHandle, AuthorizationServer, Config, Consent, Decision, Entropy, Logo,
    MemoryThrottle, PendingAuthorization, RegistrationLimits, Subject, SystemEntropy,
};
use serde::Serialize;

use self::times::Times;

/// Takes away the bounds for one user: here one account stands for all users of a test or a benchmark.
pub(crate) fn set_no_bounds(config: &mut Config) {
    config.held_requests = usize::MAX;
    config.held_requests_per_client = usize::MAX;
    config.grants_per_client = usize::MAX;
}

/// What the command line says.
pub(crate) struct Options {
    pub(crate) listen: String,
    pub(crate) redirect_uri: String,
    /// Whether requests over the loopback are slowed down too.
    throttle: bool,
    pub(crate) times: Times,
    pub(crate) json: bool,
}

const USAGE: &str = "\
Options
  --listen ADDR       where to listen, 127.0.0.1:8080 unless told
  --redirect-uri URI  the redirect URI of the demo application, http://127.0.0.1/callback unless told
  --json              print one line for programs
  -h, --help          print this";

/// Runs the example as the command line says; an error is told in words.
pub(crate) async fn start(serve: impl AsyncFnOnce(Options) -> Result<(), Box<dyn Error>>) -> ExitCode {
    let done = match Options::from_args() {
        Ok(Some(options)) => serve(options).await,
        Ok(None) => Ok(()),
        Err(error) => Err(error.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

impl Options {
    /// Reads the command line; nothing if it asked for help, which is printed then.
    fn from_args() -> Result<Option<Self>, String> {
        let mut options = Self {
            listen: "127.0.0.1:8080".into(),
            redirect_uri: "http://127.0.0.1/callback".into(),
            throttle: false,
            times: Times::default(),
            json: false,
        };
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "-h" | "--help" => {
                    println!("{USAGE}\n{}", throttle::USAGE);
                    println!("Options that let one watch tokens end\n{}", times::USAGE);
                    return Ok(None);
                }
                "--json" => options.json = true,
                "--throttle" => options.throttle = true,
                "--listen" => options.listen = args.next().ok_or("--listen needs an address")?,
                "--redirect-uri" => options.redirect_uri = args.next().ok_or("--redirect-uri needs a URI")?,
                other if options.times.take(other, || args.next())? => {}
                _ => return Err(format!("{arg} is no option of this example; --help lists them")),
            }
        }
        Ok(Some(options))
    }

    /// The throttle that the server is to have.
    pub(crate) fn throttle(&self) -> MemoryThrottle {
        throttle::throttle(self.throttle)
    }

    /// Says where it cannot listen, and what to do about it.
    pub(crate) fn cannot_listen(&self, error: std::io::Error) -> String {
        format!("cannot listen on {}: {error} (--listen chooses another address)", self.listen)
    }
}

/// Registers and approves the demo application, and prints how to reach everything.
pub(crate) async fn register(server: &AuthorizationServer, options: &Options) -> Result<(), Box<dyn Error>> {
    let registrar = server.registrar().ok_or("the store takes no registrations")?;
    let mut form = ApplicationForm::new("Demo Application", "https://demo.example/");
    form.redirect_uris = vec![options.redirect_uri.clone()];
    form.scopes = "repo-code:rw account-profile:r account-email:r".into();
    form.resource_scope = Some(ResourceScope::All);
    let logo = Logo::new(LOGO, &RegistrationLimits::default())?;
    let developer = Subject::new("developer")?;
    let id = registrar.submit(developer.clone(), form, Some(logo)).await?;
    registrar.approve(&id, 1, Approval::default()).await?;
    let made = registrar.claim_secret(&id, &developer, 2).await?;
    let secret = made.expose();
    let issuer = server.issuer();
    let redirect_uri = &options.redirect_uri;
    if options.json {
        let line = serde_json::json!({
            "issuer": issuer, "client_id": id.as_str(), "client_secret": secret,
            "redirect_uri": redirect_uri, "resource_url": format!("{issuer}/api/me"),
        });
        println!("{line}");
    } else {
        println!("{issuer}/oauth2/auth?response_type=code&client_id={id}\n");
        println!("issuer         {issuer}\nclient id      {id}\nclient secret  {secret}");
        println!("redirect URI   {redirect_uri} (any port)\nresource       {issuer}/api/me");
    }
    Ok(())
}

/// The browser's session. A service has its own, which refuses ids that it did not make; this one takes
/// any of the right form, and signs everybody in as the same user.
pub(crate) struct Session {
    pub(crate) user: Subject,
    pub(crate) id: String,
}

impl Session {
    /// Reads the session of the `Cookie` header, or begins one.
    pub(crate) fn of(cookies: Option<&str>) -> Self {
        let mut pairs = cookies.unwrap_or_default().split("; ").filter_map(|pair| pair.split_once('='));
        let id = pairs.find(|(name, value)| *name == "session" && is_session_id(value));
        let id = id.map_or_else(new_session_id, |(_, value)| value.to_owned());
        Self { user: Subject::new("alice").expect("a short text"), id }
    }

    pub(crate) fn set_cookie(&self) -> String {
        format!("session={}; Path=/; HttpOnly; SameSite=Lax", self.id)
    }
}

/// The id goes back into a header, where other characters would mean something.
fn is_session_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|octet| octet.is_ascii_hexdigit())
}

fn new_session_id() -> String {
    let mut octets = [0; 16];
    SystemEntropy.fill(&mut octets);
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// The page that asks the user.
pub(crate) fn consent_page(pending: &PendingAuthorization, session: &Session, handle: &AuthorizationHandle) -> String {
    let name = escape(pending.client().name());
    let website = escape(pending.client().website());
    let scopes: String = pending
        .requested()
        .map(|scope| {
            let words = scope.definition();
            checkbox("scope", scope.token(), &format!("{}: {}", words.title(), words.description()))
        })
        .collect();
    let (user, host) = (escape(session.user.as_str()), escape(pending.redirect_host()));
    let handle = escape(handle.expose());
    let resources = match pending.resource_scope() {
        ResourceScope::Specified(list) => list.iter().map(|name| checkbox("resource", name, name)).collect(),
        ResourceScope::All => "<li>all resources of the account</li>".to_owned(),
        ResourceScope::Public => "<li>all public resources of the account</li>".to_owned(),
    };
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Authorize {name}</title>\
         <meta name=\"viewport\" content=\"width=device-width\"></head><body><main><h1>Authorize {name}</h1>\
         <p>{name} ({website}) asks for access to the account <strong>{user}</strong>:</p>\
         <form method=\"post\" action=\"/consent\"><ul>{scopes}</ul><p>on these resources:</p><ul>{resources}</ul><p>You will be sent to <strong>{host}</strong>.</p>\
         <input type=\"hidden\" name=\"handle\" value=\"{handle}\">\
         <button name=\"decision\" value=\"allow\">Allow</button> <button name=\"decision\" value=\"deny\">Deny</button>\
         </form></main></body></html>"
    )
}

fn checkbox(name: &str, value: &str, text: &str) -> String {
    let (value, text) = (escape(value), escape(text));
    format!(
        "<li><label><input type=\"checkbox\" name=\"{name}\" value=\"{value}\" checked> {text} ({value})</label></li>"
    )
}

/// Reads what that page's form sent: the handle and the decision.
pub(crate) fn decision(body: &[u8]) -> Option<(String, Decision)> {
    let fields: Vec<(String, String)> = serde_urlencoded::from_bytes(body).ok()?;
    let value = |wanted: &str| fields.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
    let ticked =
        |wanted: &'static str| fields.iter().filter(move |(name, _)| name == wanted).map(|(_, value)| value.as_str());
    let decision = match value("decision")?.as_str() {
        "allow" => Decision::Approve(Consent::ticked(ticked("scope"), ticked("resource"))),
        _ => Decision::Deny,
    };
    Some((value("handle")?, decision))
}

/// What the resource answers: who the token speaks for, and what it is good for.
#[derive(Serialize)]
pub(crate) struct Me<'a> {
    pub(crate) user: &'a str,
    pub(crate) scope: &'a str,
}

/// Removes what is over, once a minute of the server's clock; the store would only grow without it.
pub(crate) async fn purge(server: AuthorizationServer, minute: Duration) {
    loop {
        tokio::time::sleep(minute).await;
        let (removed, outcome) = purge::once(&server).await;
        if let Err(error) = outcome {
            eprintln!("purge: {error}");
        }
        // tests/soak reads this line.
        if removed > 0 {
            eprintln!("purge: {removed} records removed");
        }
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

/// One transparent pixel.
const LOGO: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\nIDATx\
\x9cc\0\x01\0\0\x05\0\x01\r\n-\xb4\0\0\0\0IEND\xaeB`\x82";
