//! Devices without a browser [RFC 8628], and the program `sign-in`, which signs its user in as one.

use std::error::Error;
use std::path::Path;

use grantor::client::ClientType;
use grantor::secret::{DerivationKey, Entropy as _, SystemEntropy};
use grantor::{AuthorizationServer, Config};

use crate::key_file;

/// The page where users type the code of their device.
const PAGE: &str = "/device";
/// What the program `sign-in` asks for.
const SCOPES: &str = "account-profile:r account-email:r repo-basic-info:r";

/// Switches the grant on.
pub(crate) fn switch_on(config: &mut Config, base: &str, database: &Path) -> Result<(), Box<dyn Error>> {
    config.devices.on = true;
    config.devices.verification_uri = format!("{base}{PAGE}");
    config.refresh.derivation_keys = vec![derivation_key(database)?];
    Ok(())
}

/// Registers the program `sign-in`. It has no secret, which anybody could read in the program.
pub(crate) async fn register_terminal(server: &AuthorizationServer) -> Result<(), Box<dyn Error>> {
    let terminal = server.own_client("terminal").name("Terminal").device_scopes(SCOPES);
    terminal.with(|client| client.client_type(ClientType::Public)).ensure().await?;
    Ok(())
}

/// A real service keeps this key with its other secrets, and not beside the database: a copy of both reveals tokens.
fn derivation_key(database: &Path) -> Result<DerivationKey, String> {
    const ENDING: &str = "-derivation-key";
    let make = || {
        let mut bytes = vec![0; 32];
        SystemEntropy.fill(&mut bytes);
        Ok(bytes)
    };
    let key: Result<[u8; 32], _> = key_file::read_or_make(database, ENDING, make)?.try_into();
    let refused = |key: Vec<u8>| format!("{}{ENDING} has {} bytes; a key has 32", database.display(), key.len());
    key.map(DerivationKey::new).map_err(refused)
}
