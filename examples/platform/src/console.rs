//! The output of the process: the addresses on standard output, the log on standard error.

use std::io::IsTerminal as _;
use std::net::SocketAddr;

use serde_json::json;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::accounts::DEMO_ACCOUNTS;
use crate::demo_application::DemoApplication;

/// Writes one line per event; for libraries, only warnings.
pub(crate) fn start_log() {
    let own = Targets::new()
        .with_default(LevelFilter::WARN)
        .with_targets([("grantor", LevelFilter::INFO), ("platform", LevelFilter::INFO)]);
    let lines =
        tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal());
    tracing_subscriber::registry().with(own).with(lines).init();
}

/// Where the program `sign-in` looks for the platform.
const DEFAULT_ISSUER: &str = "http://localhost:8080";

/// The addresses of everything.
pub(crate) struct Addresses<'a> {
    pub(crate) platform: &'a str,
    pub(crate) listen: SocketAddr,
    pub(crate) third_party: &'a str,
    /// The redirect URI of the demo application for a client on the command line.
    pub(crate) redirect_uri: &'a str,
    /// Where the figures are.
    pub(crate) metrics: Option<SocketAddr>,
}

/// Prints one line for programs.
pub(crate) fn print_json(addresses: &Addresses<'_>, demo: Option<&DemoApplication>) {
    let Addresses { platform, listen, third_party, redirect_uri, metrics } = addresses;
    let (username, _, _, password) = DEMO_ACCOUNTS[0];
    let line = json!({
        "issuer": platform,
        "listen": listen.to_string(),
        "client_id": demo.map(|demo| &demo.client_id),
        "client_secret": demo.map(|demo| &demo.client_secret),
        "redirect_uri": redirect_uri,
        "resource_url": format!("{platform}/api/me"),
        "username": username,
        "password": password,
        "third_party": third_party,
        "metrics": metrics.map(|address| address.to_string()),
    });
    println!("{line}");
}

/// Prints the same for people.
pub(crate) fn print_plain(addresses: &Addresses<'_>, demo: Option<&DemoApplication>) {
    let Addresses { platform, third_party, redirect_uri, metrics, .. } = addresses;
    println!("Platform                 {platform}");
    println!("Release Notes            {third_party} (the third-party application)");
    if let Some(address) = metrics {
        println!("Figures                  http://{address}/metrics");
    }
    println!();
    println!("Accounts");
    for (id, name, role, password) in DEMO_ACCOUNTS {
        println!("  {id:<8} {password:<18} {name}, {role}");
    }
    println!("\nWhat to try");
    println!("  1. Open {third_party}/, connect, and sign in as alice.");
    println!("  2. Open {platform}/oauth2/auth/applications to see what was granted, and revoke it.");
    println!("  3. As devon, submit an application at {platform}/applications.");
    println!("  4. As admin, approve it at {platform}/review.");
    // It has no TLS.
    if platform.starts_with("http:") {
        let option = if *platform == DEFAULT_ISSUER { String::new() } else { format!(" -- --issuer {platform}") };
        println!("  5. In another terminal, run `cargo run -p platform --bin sign-in{option}`.");
        println!("     It has no browser: you sign in at {platform}/device, with the code that it shows.");
    }
    println!();
    match demo {
        Some(DemoApplication { client_id, client_secret }) => {
            println!("For a client of your own, the demo application");
            println!("  client id      {client_id}\n  client secret  {client_secret}");
            println!("                 (new at each start; the one before works until the next start)");
            println!("  redirect URI   {redirect_uri} (any port)\n  resource       {platform}/api/me");
        }
        None => println!("The demo application is not approved; an administrator may resume it."),
    }
}
