//! TLS settings.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Mozilla's root certificates. Those of the machine are not used: an authority of your company would make internal
/// hosts with public addresses reachable, and environment variables choose the machine's roots.
pub(crate) fn public_roots() -> RootCertStore {
    RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned())
}

/// Adds the certificates of a text in PEM.
pub(crate) fn add_roots(roots: &mut RootCertStore, pem: &[u8]) -> Result<(), SetupError> {
    let mut number = 0;
    for certificate in CertificateDer::pem_slice_iter(pem) {
        number += 1;
        let certificate = certificate.map_err(|source| SetupError::Root { number, source: Box::new(source) })?;
        roots.add(certificate).map_err(|source| SetupError::Root { number, source: Box::new(source) })?;
    }
    if number == 0 { Err(SetupError::NoRoot) } else { Ok(()) }
}

/// TLS 1.2 and 1.3, without a client certificate and without session resumption.
pub(crate) fn client_config(roots: RootCertStore) -> Result<ClientConfig, SetupError> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|source| SetupError::Tls(Box::new(source)))?;
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.resumption = Resumption::disabled();
    Ok(config)
}

/// Why a [`Fetch`](crate::Fetch) or a [`ConfiguredHost`](crate::ConfiguredHost) could not be made.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The text of further roots has no certificate.
    #[error(
        "the roots have no certificate; expected are one or more blocks that begin with -----BEGIN CERTIFICATE-----"
    )]
    NoRoot,
    /// A further root cannot be read.
    #[error("certificate {number} of the roots cannot be read")]
    Root {
        /// The number of the certificate in the text, from 1.
        number: usize,
        /// What is wrong with it.
        source: Box<dyn Error + Send + Sync>,
    },
    /// TLS cannot be set up.
    #[error("TLS cannot be set up")]
    Tls(#[source] Box<dyn Error + Send + Sync>),
    /// No requests can be sent to the URL.
    #[error("the URL cannot be used")]
    Url(#[source] Box<dyn Error + Send + Sync>),
}

/// The text and its cause: a program whose `main` returns the error prints it so.
impl fmt::Debug for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source() {
            Some(source) => write!(f, "{self}: {source}"),
            None => write!(f, "{self}"),
        }
    }
}
