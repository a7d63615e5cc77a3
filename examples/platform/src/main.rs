//! The whole service, with pages for developers, administrators and users, and a third-party application on a second
//! port.
//!
//! `cargo run -p platform` prints the addresses and the accounts. `cargo run -p platform --bin sign-in` is a program
//! without a browser, which signs its user in there.

mod accounts;
mod api;
mod api_apart;
mod applications;
mod console;
mod cookies;
mod database;
mod demo_application;
mod devices;
mod guesses;
mod jwt;
mod key_file;
mod known_browsers;
mod metrics;
mod options;
mod pages;
mod purge;
mod registration;
mod repositories;
mod review;
mod session;
mod sign_in;
mod third_party;
mod users;
mod web;
mod words;

use std::error::Error;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use grantor::client::{AuthenticationMethod, AuthenticationMethods};
use grantor::client_metadata::RegistrationBounds;
use grantor::config::{DynamicRegistration, PushedRequests};
use grantor::hooks::{ApproveWithin, QueueAll};
use grantor::interaction::Flow;
use grantor::scope::ResourceScope;
use grantor::{AuthorizationServer, Config, SqliteStore, TracingEvents};
use grantor_fetch::Fetch;
use grantor_pages::Pages;
use tokio::net::TcpListener;

use crate::console::Addresses;
use crate::database::Database;
use crate::demo_application::DemoApplication;
use crate::guesses::Guesses;
use crate::metrics::Figures;
use crate::options::{OpenClients, Options};
use crate::third_party::Registration;
use crate::users::Accounts;
use crate::web::Platform;

#[tokio::main]
async fn main() -> ExitCode {
    let done = match Options::from_args() {
        Ok(Some(options)) => run(options).await,
        Ok(None) => Ok(()),
        Err(error) => Err(error.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("platform: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: Options) -> Result<(), Box<dyn Error>> {
    console::start_log();
    if options.api_apart {
        return api_apart::run(&options).await;
    }
    let figures = Figures::default();
    let metrics_listener = match options.metrics {
        Some(address) => {
            ::metrics::set_global_recorder(figures.clone())?;
            grantor::describe_metrics();
            Some(listen(address, "--metrics").await?)
        }
        None => None,
    };
    let listener = listen(options.listen, "--listen").await?;
    let third_party_listener = listen(options.third_party_listen, "--third-party-listen").await?;
    // Browsers send cookies to every port of a host. So this service uses the name and the third-party application the
    // number. Otherwise that application would receive this service's sessions.
    let own_base = format!("http://localhost:{}", listener.local_addr()?.port());
    let base = options.issuer.clone().unwrap_or(own_base);
    let third_party = format!("http://{}", third_party_listener.local_addr()?);

    let (store, database) =
        open(&options.database).map_err(|error| format!("{error} (--database chooses another file)"))?;
    accounts::create_demo_accounts(&database).await?;
    let mut config = config(&base, &options);
    devices::switch_on(&mut config, &base, &options.database)?;
    let scopes = config.scopes.parse(demo_application::SCOPES.as_bytes())?;
    let bounds = RegistrationBounds::new(scopes, ResourceScope::All);
    let builder = AuthorizationServer::builder(config, store)
        .clock(options.times.clock())
        .events(TracingEvents)
        .fetcher(Fetch::new()?)
        .subjects(Accounts(database.clone()))
        .throttle(demo::throttle::throttle(&base, options.throttle));
    let builder = if options.jwt { builder.signing_keys([jwt::signing_key(&options.database)?]) } else { builder };
    let builder = match options.open_clients {
        Some(OpenClients::Approve) => builder.registration_policy(ApproveWithin::new(bounds)),
        Some(OpenClients::Review) => builder.registration_policy(QueueAll::new(bounds)),
        None => builder,
    };
    let server = builder.build()?;
    if options.jwt {
        jwt::warn(server.config());
    }
    if options.confirm_clock {
        server.confirm_clock().await?;
    }
    api_apart::register(&server).await?;
    devices::register_terminal(&server).await?;
    let redirect_uri = options.redirect_uri.as_deref();
    let demo = DemoApplication::prepare(&server, &database, &third_party, redirect_uri).await?;
    tokio::spawn(purge::now_and_then(server.clone(), database.clone(), options.times.minute()));

    let own_redirect_uri = format!("{third_party}/callback");
    let redirect_uri = redirect_uri.unwrap_or(&own_redirect_uri);
    let addresses = Addresses {
        platform: &base,
        listen: listener.local_addr()?,
        third_party: &third_party,
        redirect_uri,
        metrics: metrics_listener.as_ref().map(TcpListener::local_addr).transpose()?,
    };
    let print = if options.json { console::print_json } else { console::print_plain };
    print(&addresses, demo.as_ref());

    let application = third_party::app(third_party::Settings {
        platform: base.clone(),
        own: third_party.clone(),
        registration: demo
            .map(|DemoApplication { client_id, client_secret }| Registration { client_id, client_secret }),
        file: Some(beside(&options.database, "-release-notes.json")),
    })?;
    let pages = Pages::new("Platform").logo("/icon.svg").home("/");
    let platform = Platform {
        flow: Flow::new(&server, pages.clone()),
        pages,
        server,
        database,
        base: base.into(),
        third_party: third_party.into(),
        guesses: Arc::new(Guesses::new(options.throttle)),
    };
    let measured = async {
        let Some(listener) = metrics_listener else { return Ok(()) };
        // Prometheus asks here, and nobody else: the figures are no page of the platform.
        let text = move || async move { ([(CONTENT_TYPE, "text/plain; version=0.0.4")], figures.text()) };
        serve(listener, Router::new().route("/metrics", get(text))).await
    };
    tokio::try_join!(serve(listener, web::app(platform)), serve(third_party_listener, application), measured)?;
    Ok(())
}

/// The settings, in the process of the platform and in that of its API.
fn config(base: &str, options: &Options) -> Config {
    let mut config = Config::platform(base);
    config.development = true;
    config.public_clients = true;
    // Applications authenticate with a secret or with a key.
    config.client_authentication.methods = AuthenticationMethods::SECRET.with(AuthenticationMethod::PrivateKeyJwt);
    config.pushed_requests.mode = PushedRequests::Optional;
    options.times.apply(&mut config);
    if options.jwt {
        config.resources = vec![jwt::resource(base)];
    }
    if options.open_clients.is_some() {
        config.registration.dynamic = DynamicRegistration::Open;
        config.registration.service_name = "Platform".into();
        config.registration.management = true;
    }
    config
}

/// Returns the path of a file beside the database, with another ending.
fn beside(database: &Path, ending: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

async fn listen(address: SocketAddr, option: &str) -> Result<TcpListener, String> {
    let listener = TcpListener::bind(address).await;
    listener.map_err(|error| format!("cannot listen on {address}: {error} ({option} chooses another address)"))
}

/// Opens the file for the store first, since the store accepts only a new file or its own. The platform's tables are
/// then added.
fn open(path: &Path) -> Result<(SqliteStore, Database), Box<dyn Error>> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    }
    Ok((SqliteStore::open(path)?, Database::open(path)?))
}

/// Serves until Ctrl-C, and then completes the requests that have begun. It has no timeout for the head of a request,
/// which is acceptable only on the loopback. `grantor_axum::accept::serve` has one.
async fn serve(listener: TcpListener, app: Router) -> std::io::Result<()> {
    let service = app.into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, service).with_graceful_shutdown(stopped()).await
}

async fn stopped() {
    if let Err(error) = tokio::signal::ctrl_c().await {
        tracing::error!("cannot listen for Ctrl-C: {error}");
        std::future::pending::<()>().await;
    }
}
