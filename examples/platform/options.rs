//! What the command line says.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

const USAGE: &str = "known: --listen ADDR, --third-party-listen ADDR, --database PATH, --redirect-uri URI, --json";

/// Where to listen, where to keep what must last, and how to print it.
pub(crate) struct Options {
    pub(crate) listen: SocketAddr,
    pub(crate) third_party_listen: SocketAddr,
    pub(crate) database: PathBuf,
    /// A further redirect URI of the demo application, beside the third-party application's own.
    pub(crate) redirect_uri: Option<String>,
    pub(crate) json: bool,
}

impl Options {
    pub(crate) fn from_args() -> Result<Self, String> {
        let mut options = Self {
            listen: (Ipv4Addr::LOCALHOST, 8080).into(),
            third_party_listen: (Ipv4Addr::LOCALHOST, 8081).into(),
            database: "target/platform.sqlite".into(),
            redirect_uri: None,
            json: false,
        };
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--json" => options.json = true,
                "--listen" => options.listen = loopback(&value()?)?,
                "--third-party-listen" => options.third_party_listen = loopback(&value()?)?,
                "--database" => options.database = value()?.into(),
                "--redirect-uri" => options.redirect_uri = Some(value()?),
                _ => return Err(format!("unknown option {arg}; {USAGE}")),
            }
        }
        Ok(options)
    }
}

/// The passwords of the demo accounts are known to everybody, so nobody else's machine may reach them.
fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr = text.parse().map_err(|_| format!("{text} is no address like 127.0.0.1:8080"))?;
    if !address.ip().is_loopback() {
        return Err(format!("{address} is not on the loopback, and the demo accounts have well-known passwords"));
    }
    Ok(address)
}
