//! The options of the command line.

use std::fmt::Display;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;

use grantor::client::AuthenticationMethod;
use grantor::config::{DpopBoundTokens, DynamicRegistration, Profile};
use grantor::scope::ScopeCatalog;
use grantor::secret::{DerivationKey, Entropy as _, NonceKey, SystemEntropy};
use grantor::{Config, MemoryThrottle};

use crate::throttle;
use crate::times::{self, Times};

const USAGE: &str = "\
Options
  --listen ADDR       where to listen: on the loopback, 127.0.0.1:8080 by default
  --redirect-uri URI  the redirect URI of the demo application, http://127.0.0.1/callback by default
  --profile NAME      strict, platform, mcp or fapi; platform by default. fapi needs --clients and an https issuer
  --open-clients      let applications register themselves
  --devices           let devices without a browser ask for access; registers two clients for them
  --clients FILE      register applications with keys: a JSON array of client metadata [RFC 7591], each with client_id
                      and jwks
  --issuer URL        where browsers and applications reach it, http:// and where it listens by default
  --tls-cert FILE     the certificate chain as PEM, to serve https
  --tls-key FILE      its private key as PEM
  --dpop-nonce        demand nonces in DPoP proofs
  --json              print one line for programs
  -h, --help          print this";

/// The options of the command line.
#[derive(Debug)]
#[non_exhaustive]
pub struct Options {
    pub listen: String,
    pub redirect_uri: String,
    pub json: bool,
    pub times: Times,
    /// The files of the certificate chain and its key.
    pub(crate) tls: Option<[PathBuf; 2]>,
    /// The file of the applications with keys.
    pub(crate) clients: Option<PathBuf>,
    issuer: Option<String>,
    dpop_nonce: bool,
    /// Whether applications may register themselves.
    pub(crate) open_clients: bool,
    /// Whether there are clients on devices without a browser.
    pub(crate) devices: bool,
    profile: fn(String) -> Config,
    /// Whether the throttle counts requests over the loopback too.
    throttle: bool,
}

impl Options {
    /// Reads a command line. Prints the help and returns `None` if that was asked for.
    ///
    /// # Errors
    ///
    /// A message that says what is wrong.
    pub fn read(mut args: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut options = Self {
            listen: "127.0.0.1:8080".into(),
            redirect_uri: "http://127.0.0.1/callback".into(),
            json: false,
            times: Times::default(),
            tls: None,
            clients: None,
            issuer: None,
            dpop_nonce: false,
            open_clients: false,
            devices: false,
            profile: Config::platform,
            throttle: false,
        };
        let (mut certificate, mut key) = (None, None);
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "-h" | "--help" => {
                    println!("{USAGE}\n{}", throttle::USAGE);
                    println!("Options to watch tokens expire\n{}", times::usage(300));
                    return Ok(None);
                }
                "--json" => options.json = true,
                "--throttle" => options.throttle = true,
                "--open-clients" => options.open_clients = true,
                "--devices" => options.devices = true,
                "--listen" => options.listen = args.next().ok_or("--listen needs an address")?,
                "--redirect-uri" => options.redirect_uri = args.next().ok_or("--redirect-uri needs a URI")?,
                "--profile" => options.profile = profile(&args.next().unwrap_or_default())?,
                "--issuer" => options.issuer = Some(args.next().ok_or("--issuer needs a URL")?),
                "--clients" => options.clients = Some(args.next().ok_or("--clients needs a file")?.into()),
                "--tls-cert" => certificate = Some(args.next().ok_or("--tls-cert needs a file")?.into()),
                "--tls-key" => key = Some(args.next().ok_or("--tls-key needs a file")?.into()),
                "--dpop-nonce" => options.dpop_nonce = true,
                other if options.times.take(other, || args.next())? => {}
                _ => return Err(format!("unknown option {arg}; --help lists the options")),
            }
        }
        options.tls = match (certificate, key) {
            (Some(certificate), Some(key)) => Some([certificate, key]),
            (None, None) => None,
            _ => return Err("--tls-cert and --tls-key must be given together".into()),
        };
        Ok(Some(options))
    }

    /// Returns the URL at which browsers and applications reach a server that listens there.
    #[must_use]
    pub fn issuer(&self, address: SocketAddr) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        self.issuer.clone().unwrap_or_else(|| format!("{scheme}://{address}"))
    }

    /// The settings of the server.
    pub(crate) fn config(&self, issuer: String) -> Config {
        let mut config = (self.profile)(issuer);
        config.development = config.profile() != Profile::Fapi;
        config.scopes = ScopeCatalog::platform();
        // All users of a test or a benchmark share one account.
        config.limits.consent_requests = usize::MAX;
        config.limits.grants = usize::MAX;
        if self.open_clients {
            config.registration.dynamic = DynamicRegistration::Open;
        }
        if self.clients.is_some() {
            config.client_authentication.methods =
                config.client_authentication.methods.with(AuthenticationMethod::PrivateKeyJwt);
        }
        config.client_credentials.on = self.clients.is_some() || config.profile() == Profile::Fapi;
        if self.devices {
            config.devices.on = true;
            config.devices.verification_uri = format!("{}/device", config.issuer);
            // For one start, as is the store.
            config.refresh.derivation_keys = vec![DerivationKey::new(random_key())];
            config.public_clients = true;
        }
        if self.dpop_nonce {
            config.dpop.nonce_keys = vec![NonceKey::new(random_key())];
            if config.dpop.tokens == DpopBoundTokens::Off {
                config.dpop.tokens = DpopBoundTokens::Optional;
            }
        }
        self.times.apply(&mut config);
        config
    }

    /// The throttle of the server.
    pub(crate) fn throttle(&self, issuer: &str) -> MemoryThrottle {
        throttle::throttle(issuer, self.throttle)
    }

    /// Listens on the loopback alone: every browser is signed in. With the FAPI profile, which is for the conformance
    /// suite, other machines may reach the server.
    ///
    /// # Errors
    ///
    /// A message that says where it cannot listen, and what to do about it.
    pub fn bind(&self) -> Result<TcpListener, String> {
        let cannot =
            |why: &dyn Display| format!("cannot listen on {}: {why} (--listen chooses another address)", self.listen);
        let listener = TcpListener::bind(&self.listen).map_err(|error| cannot(&error))?;
        let address = listener.local_addr().map_err(|error| cannot(&error))?;
        if !address.ip().is_loopback() && (self.profile)(String::new()).profile() != Profile::Fapi {
            return Err(cannot(&"it is not a loopback address, and every browser is signed in as alice here"));
        }
        Ok(listener)
    }
}

fn random_key() -> [u8; 32] {
    let mut key = [0; 32];
    SystemEntropy.fill(&mut key);
    key
}

fn profile(name: &str) -> Result<fn(String) -> Config, String> {
    match name {
        "strict" => Ok(Config::strict),
        "platform" => Ok(Config::platform),
        "mcp" => Ok(Config::mcp),
        "fapi" => Ok(Config::fapi),
        _ => Err(format!("--profile must be strict, platform, mcp or fapi, not {name:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::Options;

    #[test]
    fn whoever_opens_a_page_is_alice_so_other_machines_reach_the_fapi_fixture_alone() {
        let bound = |options: &[&str]| {
            Options::read(options.iter().map(ToString::to_string)).unwrap().unwrap().bind().map(drop)
        };
        assert_eq!(bound(&["--listen", "127.0.0.1:0"]), Ok(()));
        assert_eq!(bound(&["--listen", "localhost:0"]), Ok(()));
        assert_eq!(bound(&["--listen", "0.0.0.0:0", "--profile", "fapi"]), Ok(()));
        let refused = bound(&["--listen", "0.0.0.0:0", "--profile", "strict"]).unwrap_err();
        assert!(refused.starts_with("cannot listen on 0.0.0.0:0: it is not a loopback address"), "{refused}");
    }
}
