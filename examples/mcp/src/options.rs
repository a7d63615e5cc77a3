//! The options of the command line.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use demo::throttle;
use demo::times::{self, Times};

const USAGE: &str = "\
Options of the MCP example
  --listen ADDR       where to listen: on the loopback, 127.0.0.1:8080 by default
  --issuer URL        where clients reach the authorization server, such as a proxy; where it listens by default
  --resource URL      where they reach the MCP server, /mcp at the issuer's host by default
  --resource-apart    run the MCP server alone, on 127.0.0.1:8083 by default. It asks the authorization server at --issuer,
                      http://127.0.0.1:8080 by default, about each token. Start that with the same --resource and --database
  --database FILE     the database file; by default a temporary one, removed at the end
  --origin ORIGIN     let web pages of this origin call the MCP server too, besides those on this machine
  --redirect-uri URI  the redirect URI of the preregistered client, http://127.0.0.1/callback by default
  --review            new clients await a review, at /review
  --fetch-root FILE   also trust these root certificates, and fetch metadata documents from this machine too
  --doctor            print which hosts could not connect and why, fetch their metadata documents, and stop
  --json              print one line for programs
  -h, --help          print this";
const TIMES: &str = "Options to watch tokens expire";

/// The options of the command line.
pub(crate) struct Options {
    pub(crate) listen: SocketAddr,
    pub(crate) issuer: Option<String>,
    pub(crate) resource: Option<String>,
    /// Whether to run the MCP server alone.
    pub(crate) resource_apart: bool,
    pub(crate) database: Option<PathBuf>,
    /// The origins of pages that may call the MCP server.
    pub(crate) origins: Vec<String>,
    pub(crate) redirect_uri: String,
    pub(crate) review: bool,
    /// Certificates of hosts on this machine, in PEM.
    pub(crate) fetch_root: Option<PathBuf>,
    /// Whether to print what keeps hosts from connecting, instead of serving.
    pub(crate) doctor: bool,
    pub(crate) json: bool,
    /// Whether the throttle counts requests over the loopback too.
    pub(crate) throttle: bool,
    pub(crate) times: Times,
}

impl Options {
    /// Reads the command line. Prints the help and returns `None` if that was asked for.
    pub(crate) fn read(mut args: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut options = Self {
            listen: (Ipv4Addr::LOCALHOST, 8080).into(),
            issuer: None,
            resource: None,
            resource_apart: false,
            database: None,
            origins: Vec::new(),
            redirect_uri: "http://127.0.0.1/callback".into(),
            review: false,
            fetch_root: None,
            doctor: false,
            json: false,
            throttle: false,
            times: Times::default(),
        };
        let mut listen = None;
        while let Some(arg) = args.next() {
            if options.times.take(&arg, || args.next())? {
                continue;
            }
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "-h" | "--help" => {
                    println!("{USAGE}\n{}\n{TIMES}\n{}", throttle::USAGE, times::usage(120));
                    return Ok(None);
                }
                "--listen" => listen = Some(loopback(&value()?)?),
                "--issuer" => options.issuer = Some(value()?),
                "--resource" => options.resource = Some(value()?),
                "--resource-apart" => options.resource_apart = true,
                "--database" => options.database = Some(value()?.into()),
                "--origin" => options.origins.push(value()?),
                "--redirect-uri" => options.redirect_uri = value()?,
                "--review" => options.review = true,
                "--fetch-root" => options.fetch_root = Some(value()?.into()),
                "--doctor" => options.doctor = true,
                "--json" => options.json = true,
                "--throttle" => options.throttle = true,
                _ => return Err(format!("unknown option {arg}; --help lists the options")),
            }
        }
        if options.resource_apart {
            options.listen = (Ipv4Addr::LOCALHOST, 8083).into();
        }
        options.listen = listen.unwrap_or(options.listen);
        Ok(Some(options))
    }
}

/// Accepts only a loopback address: every browser is signed in, and nothing is encrypted.
fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr = text.parse().map_err(|_| format!("{text} is not an address like 127.0.0.1:8080"))?;
    if !address.ip().is_loopback() {
        return Err(format!("{address} is not a loopback address; every browser is signed in as alice here"));
    }
    Ok(address)
}
