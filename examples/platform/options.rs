//! What the command line says.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use crate::times::{self, Times};

const USAGE: &str = "\
Options of the platform example
  --listen ADDR              where the platform listens: on the loopback, 127.0.0.1:8080 unless told
  --third-party-listen ADDR  where the third-party application listens, 127.0.0.1:8081 unless told
  --database PATH            the file that keeps everything, target/platform.sqlite unless told
  --redirect-uri URI         a further redirect URI of the demo application
  --json                     print one line for programs
  -h, --help                 print this
Options that let one watch tokens end (on a database that is deleted afterwards)";

/// Where to listen, where to keep what must last, and how to print it.
pub(crate) struct Options {
    pub(crate) listen: SocketAddr,
    pub(crate) third_party_listen: SocketAddr,
    pub(crate) database: PathBuf,
    /// A further redirect URI of the demo application, beside the third-party application's own.
    pub(crate) redirect_uri: Option<String>,
    pub(crate) times: Times,
    pub(crate) json: bool,
}

impl Options {
    /// Reads the command line; nothing if it asked for help, which is printed then.
    pub(crate) fn from_args() -> Result<Option<Self>, String> {
        let mut options = Self {
            listen: (Ipv4Addr::LOCALHOST, 8080).into(),
            third_party_listen: (Ipv4Addr::LOCALHOST, 8081).into(),
            database: "target/platform.sqlite".into(),
            redirect_uri: None,
            times: Times::default(),
            json: false,
        };
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            if options.times.take(&arg, || args.next())? {
                continue;
            }
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "-h" | "--help" => {
                    println!("{USAGE}\n{}", times::USAGE);
                    return Ok(None);
                }
                "--json" => options.json = true,
                "--listen" => options.listen = loopback(&value()?)?,
                "--third-party-listen" => options.third_party_listen = loopback(&value()?)?,
                "--database" => options.database = file(&value()?)?,
                "--redirect-uri" => options.redirect_uri = Some(value()?),
                _ => return Err(format!("{arg} is no option of this example; --help lists them")),
            }
        }
        Ok(Some(options))
    }
}

/// Both the store and the platform's tables are in it, and each opens it for itself.
fn file(path: &str) -> Result<PathBuf, String> {
    if path.is_empty() || path == ":memory:" {
        return Err("--database needs the path of a file: this example keeps nothing in memory alone".into());
    }
    Ok(path.into())
}

/// The passwords of the demo accounts are known to everybody, so nobody else's machine may reach them.
fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr = text.parse().map_err(|_| format!("{text} is no address such as 127.0.0.1:8080"))?;
    if !address.ip().is_loopback() {
        return Err(format!("{address} is not on the loopback, and the demo accounts have well-known passwords"));
    }
    Ok(address)
}
