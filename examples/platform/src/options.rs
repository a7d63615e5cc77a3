//! The options of the command line.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use axum::http::Uri;
use demo::throttle;
use demo::times::{self, Times};

const USAGE: &str = "\
Options of the platform example
  --listen ADDR              where the platform listens: on the loopback, 127.0.0.1:8080 by default
  --third-party-listen ADDR  where the third-party application listens, 127.0.0.1:8081 by default
  --database PATH            the file that keeps everything, target/platform.sqlite by default
  --redirect-uri URI         another redirect URI of the demo application
  --issuer URL               the https address that a TLS proxy on this machine gives the platform
  --jwt                      issue access tokens as JWTs, which leaves the described service
  --api-apart                run the resource API alone, on 127.0.0.1:8082 by default. It asks the platform at --issuer,
                             http://localhost:8080 by default, about each token
  --api-apart=jwt            the same for a platform with --jwt. The API verifies JWTs by itself, so it accepts a
                             revoked one until it expires
  --open-clients HOW         applications may register themselves: HOW is approve (at once) or review
  --metrics ADDR             where to serve /metrics for Prometheus, on the loopback; --json prints the address
  --confirm-clock            the clock is right: remove expired grants again after some days without the platform
  --json                     print one line for programs
  -h, --help                 print this";
const TIMES: &str = "Options to watch tokens expire (on a database that is deleted afterwards)";

/// Where to listen, where to keep what must last, and how to print it.
pub(crate) struct Options {
    pub(crate) listen: SocketAddr,
    pub(crate) third_party_listen: SocketAddr,
    pub(crate) database: PathBuf,
    /// Another redirect URI of the demo application, besides the third-party application's.
    pub(crate) redirect_uri: Option<String>,
    /// Where browsers reach the platform, if not where it listens.
    pub(crate) issuer: Option<String>,
    /// Whether access tokens are JWTs.
    pub(crate) jwt: bool,
    /// Whether to run the resource API alone.
    pub(crate) api_apart: bool,
    /// Whether the throttle counts requests over the loopback too.
    pub(crate) throttle: bool,
    /// Whether applications may register themselves, and who approves them.
    pub(crate) open_clients: Option<OpenClients>,
    /// Where to serve the figures.
    pub(crate) metrics: Option<SocketAddr>,
    /// Whether the operator confirms that the clock is right.
    pub(crate) confirm_clock: bool,
    pub(crate) times: Times,
    pub(crate) json: bool,
}

/// What happens to an application that registers itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenClients {
    /// It can be used at once.
    Approve,
    /// It awaits review, like all applications.
    Review,
}

impl Options {
    /// Reads the command line. Prints the help and returns `None` if that was asked for.
    pub(crate) fn from_args() -> Result<Option<Self>, String> {
        let mut options = Self {
            listen: (Ipv4Addr::LOCALHOST, 8080).into(),
            third_party_listen: (Ipv4Addr::LOCALHOST, 8081).into(),
            database: "target/platform.sqlite".into(),
            redirect_uri: None,
            issuer: None,
            jwt: false,
            api_apart: false,
            open_clients: None,
            throttle: false,
            metrics: None,
            confirm_clock: false,
            times: Times::default(),
            json: false,
        };
        let (mut listen, mut issuer) = (None, None);
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            if options.times.take(&arg, || args.next())? {
                continue;
            }
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "-h" | "--help" => {
                    println!("{USAGE}\n{}\n{}\n{}", throttle::USAGE, TIMES, times::usage(300));
                    return Ok(None);
                }
                "--json" => options.json = true,
                "--confirm-clock" => options.confirm_clock = true,
                "--metrics" => options.metrics = Some(loopback(&value()?)?),
                "--listen" => listen = Some(loopback(&value()?)?),
                "--third-party-listen" => options.third_party_listen = loopback(&value()?)?,
                "--database" => options.database = file(&value()?)?,
                "--issuer" => issuer = Some(value()?),
                "--jwt" => options.jwt = true,
                "--api-apart" => options.api_apart = true,
                "--api-apart=jwt" => (options.api_apart, options.jwt) = (true, true),
                "--open-clients" => options.open_clients = Some(open_clients(&value()?)?),
                "--throttle" => options.throttle = true,
                "--redirect-uri" => options.redirect_uri = Some(value()?),
                _ => return Err(format!("unknown option {arg}; --help lists the options")),
            }
        }
        if options.api_apart {
            options.listen = (Ipv4Addr::LOCALHOST, 8082).into();
        }
        options.listen = listen.unwrap_or(options.listen);
        options.issuer = issuer.map(|issuer| local(&issuer, options.api_apart)).transpose()?;
        Ok(Some(options))
    }
}

/// Reads the path of the database. The store and the platform's tables open it separately, so it must be a file.
fn file(path: &str) -> Result<PathBuf, String> {
    if path.is_empty() || path == ":memory:" {
        return Err("--database needs the path of a file: this example has no database in memory".into());
    }
    Ok(path.into())
}

fn open_clients(how: &str) -> Result<OpenClients, String> {
    match how {
        "approve" => Ok(OpenClients::Approve),
        "review" => Ok(OpenClients::Review),
        _ => Err(format!("--open-clients must be approve or review, not {how:?}")),
    }
}

/// Accepts only a loopback address: the passwords of the demo accounts are public.
fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr = text.parse().map_err(|_| format!("{text} is not an address like 127.0.0.1:8080"))?;
    if !address.ip().is_loopback() {
        return Err(format!("{address} is not a loopback address; the demo accounts have well-known passwords"));
    }
    Ok(address)
}

/// Accepts only a URL on this machine, for the same reason. With TLS, unless the API asks the platform without a proxy.
fn local(text: &str, may_be_plain: bool) -> Result<String, String> {
    let uri: Option<Uri> = text.trim_end_matches('/').parse().ok();
    let is_local = |uri: &Uri| matches!(uri.host(), Some("localhost" | "127.0.0.1" | "[::1]"));
    let is_safe = |uri: &Uri| uri.scheme_str() == Some("https") || may_be_plain && uri.scheme_str() == Some("http");
    let uri = uri.filter(|uri| is_safe(uri) && is_local(uri) && uri.path() == "/");
    let uri = uri.ok_or_else(|| format!("{text} is not a loopback URL like https://localhost:8443"))?;
    Ok(uri.to_string().trim_end_matches('/').to_owned())
}
