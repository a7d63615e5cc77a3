//! Encrypted connections.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::store::postgres::error::{PostgresError, PostgresProblem};

/// Trusts servers whose certificate names them and was issued by one of these authorities.
pub(super) fn trusting(pem: &[u8]) -> Result<MakeRustlsConnect, PostgresError> {
    let configuration =
        |error: Box<dyn std::error::Error + Send + Sync>| PostgresError::new(PostgresProblem::Configuration, error);
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| configuration(error.into()))?;
        roots.add(certificate).map_err(|error| configuration(error.into()))?;
    }
    if roots.is_empty() {
        return Err(configuration("the PEM text contains no certificate".into()));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| configuration(error.into()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}
