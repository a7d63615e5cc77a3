//! Access tokens in the form of JWTs [RFC 9068], which the described service does not have.

use std::error::Error;
use std::io;
use std::path::Path;

use grantor::Config;
use grantor::hooks::SigningKey;
use grantor::jose::SigningAlgorithm;
use grantor::protected_resource::{AccessTokenFormat, ProtectedResource};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use tracing::warn;

use crate::{api_apart, key_file};

/// The API as a protected resource: only tokens for one can be JWTs.
pub(crate) fn resource(base: &str) -> ProtectedResource {
    let mut api = ProtectedResource::new(format!("{base}/api"), "Platform API");
    api.access_tokens = AccessTokenFormat::Jwt;
    api.is_default = true;
    api.resource_servers.extend(api_apart::client_id());
    api
}

/// Says at the start what the form of the tokens costs.
pub(crate) fn warn(config: &Config) {
    warn!(
        "access tokens are JWTs, which leaves the described service: an API in a process of its own accepts a revoked \
         token until it expires, for up to {} s",
        config.tokens.jwt_lifetime.as_secs()
    );
}

/// Returns the key that signs access tokens. It lasts, so that tokens are still valid after a restart.
pub(crate) fn signing_key(database: &Path) -> Result<SigningKey, Box<dyn Error>> {
    let key = key_file::read_or_make(database, "-signing-key.pk8", make_key)?;
    Ok(SigningKey::from_pkcs8(SigningAlgorithm::Es256, &key)?)
}

fn make_key() -> io::Result<Vec<u8>> {
    let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
    let key = key.map_err(|error| io::Error::other(error.to_string()))?;
    Ok(key.as_ref().to_vec())
}
