//! What the command line says.

use grantor::scope::ScopeCatalog;
use grantor::{Config, MemoryThrottle};

use crate::throttle;
use crate::times::{self, Times};

const USAGE: &str = "\
Options
  --listen ADDR       where to listen, 127.0.0.1:8080 by default
  --redirect-uri URI  the redirect URI of the demo application, http://127.0.0.1/callback by default
  --profile NAME      strict, platform or mcp; platform by default
  --open-clients      let applications register themselves
  --json              print one line for programs
  -h, --help          print this";

/// What the command line says.
#[derive(Debug)]
#[non_exhaustive]
pub struct Options {
    pub listen: String,
    pub redirect_uri: String,
    pub json: bool,
    pub times: Times,
    /// Whether applications may register themselves.
    pub(crate) open_clients: bool,
    profile: fn(String) -> Config,
    /// Whether requests over the loopback are slowed down too.
    throttle: bool,
}

impl Options {
    /// Reads a command line; nothing if it asked for help, which is printed then.
    ///
    /// # Errors
    ///
    /// What is wrong about it, in words.
    pub fn read(mut args: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut options = Self {
            listen: "127.0.0.1:8080".into(),
            redirect_uri: "http://127.0.0.1/callback".into(),
            json: false,
            times: Times::default(),
            open_clients: false,
            profile: Config::platform,
            throttle: false,
        };
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "-h" | "--help" => {
                    println!("{USAGE}\n{}", throttle::USAGE);
                    println!("Options that let one watch tokens end\n{}", times::USAGE);
                    return Ok(None);
                }
                "--json" => options.json = true,
                "--throttle" => options.throttle = true,
                "--open-clients" => options.open_clients = true,
                "--listen" => options.listen = args.next().ok_or("--listen needs an address")?,
                "--redirect-uri" => options.redirect_uri = args.next().ok_or("--redirect-uri needs a URI")?,
                "--profile" => options.profile = profile(&args.next().unwrap_or_default())?,
                other if options.times.take(other, || args.next())? => {}
                _ => return Err(format!("unknown option {arg}; --help lists the options")),
            }
        }
        Ok(Some(options))
    }

    /// The settings that the server is to have.
    pub(crate) fn config(&self, issuer: String) -> Config {
        let mut config = (self.profile)(issuer);
        config.development = true;
        config.scopes = ScopeCatalog::platform();
        // Here one account stands for all users of a test or a benchmark.
        config.held_requests = usize::MAX;
        config.held_requests_per_client = usize::MAX;
        config.grants_per_client = usize::MAX;
        config.dynamic_registration = self.open_clients;
        self.times.apply(&mut config);
        config
    }

    /// The throttle that the server is to have.
    pub(crate) fn throttle(&self) -> MemoryThrottle {
        throttle::throttle(self.throttle)
    }

    /// Says where it cannot listen, and what to do about it.
    #[must_use]
    pub fn cannot_listen(&self, error: std::io::Error) -> String {
        format!("cannot listen on {}: {error} (--listen chooses another address)", self.listen)
    }
}

fn profile(name: &str) -> Result<fn(String) -> Config, String> {
    match name {
        "strict" => Ok(Config::strict),
        "platform" => Ok(Config::platform),
        "mcp" => Ok(Config::mcp),
        _ => Err(format!("--profile is strict, platform or mcp, not {name:?}")),
    }
}
