//! How the connections to PostgreSQL are opened.
//!
//! A connector returns the client of `tokio-postgres`. A trait that returns a stream of bytes would leave the
//! negotiation of TLS, channel binding and passwords to its implementor. The store takes the connection too, since a
//! notice is the only sign that a commit did not wait for its standby.

use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use async_trait::async_trait;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::NoTls;
use tokio_postgres::{AsyncMessage, Client, Config, Connection};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::store::postgres::error::{PostgresError, PostgresProblem};

/// Opens the connections of a [`PostgresStore`](crate::PostgresStore), in place of the store.
///
/// Implement it for what a connection string cannot express: a password that is fetched for each login, such as an IAM
/// token; another TLS library; a tunnel. The store calls it twice when it connects, and again after it lost a
/// connection.
///
/// [Your PostgreSQL](crate::guide::your_postgresql#connections-of-your-own) has an example.
#[async_trait]
pub trait PostgresConnector: Send + Sync {
    /// Opens a new connection. `config` is the connection string with the defaults of
    /// [`PostgresOptions::new`](crate::store::postgres::PostgresOptions::new). Keep its `application_name`, which ends
    /// in random letters of this connection: without them, the store takes the connection for one through a pooler,
    /// which is slower.
    ///
    /// The store limits the time: both connections, the check of the schema and the preparing of all statements
    /// together may take one `connect_timeout` (5 seconds by default) for each host, and one more.
    ///
    /// # Errors
    ///
    /// Any error. A [`tokio_postgres::Error`] or a [`PostgresError`] is reported as what it is, any other as
    /// [`Unreachable`](PostgresProblem::Unreachable).
    async fn connect(&self, config: &Config) -> Result<PostgresConnection, Box<dyn Error + Send + Sync>>;
}

/// An open connection, as a [`PostgresConnector`] returns it.
pub struct PostgresConnection {
    client: Client,
    messages: Mutex<Messages>,
}

/// Polls a connection, which moves its bytes.
pub(super) type Messages =
    Box<dyn FnMut(&mut Context<'_>) -> Poll<Option<Result<AsyncMessage, tokio_postgres::Error>>> + Send>;

impl PostgresConnection {
    /// Takes over what [`Config::connect`] or [`Config::connect_raw`] of the crate `tokio-postgres` returned. Do not
    /// spawn the connection: the store polls it.
    #[must_use]
    pub fn new<S, T>(client: Client, mut connection: Connection<S, T>) -> Self
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        Self { client, messages: Mutex::new(Box::new(move |context| connection.poll_message(context))) }
    }

    pub(super) fn split(self) -> (Client, Messages) {
        (self.client, self.messages.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for PostgresConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresConnection").finish_non_exhaustive()
    }
}

/// Connects as the connection string says. Trusts these authorities, or those of the system.
pub(super) async fn by_string(
    config: &Config,
    authorities: Option<&MakeRustlsConnect>,
) -> Result<PostgresConnection, PostgresError> {
    if config.get_ssl_mode() != SslMode::Require {
        let (client, connection) = config.connect(NoTls).await?;
        return Ok(PostgresConnection::new(client, connection));
    }
    let tls = authorities.cloned().map_or_else(trusting_system, Ok)?;
    let (client, connection) = config.connect(tls).await?;
    Ok(PostgresConnection::new(client, connection))
}

/// Returns the error of a connector as one of the store.
pub(super) fn failed(error: Box<dyn Error + Send + Sync>) -> PostgresError {
    let error = match error.downcast::<tokio_postgres::Error>() {
        Ok(error) => return (*error).into(),
        Err(error) => error,
    };
    error.downcast().map_or_else(|error| PostgresError::new(PostgresProblem::Unreachable, error), |error| *error)
}

/// Trusts servers whose certificate names them and was issued by one of these authorities.
pub(super) fn trusting(pem: &[u8]) -> Result<MakeRustlsConnect, PostgresError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        roots.add(certificate.map_err(configuration)?).map_err(configuration)?;
    }
    with_roots(roots, "the PEM text contains no certificate")
}

/// Trusts servers whose certificate names them and was issued by one of the system's authorities.
fn trusting_system() -> Result<MakeRustlsConnect, PostgresError> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    let reason = found.errors.first().map_or_else(
        || "the system has none; install them, for example the package ca-certificates".to_owned(),
        |error| format!("those of the system cannot be read: {error}; check SSL_CERT_FILE and SSL_CERT_DIR"),
    );
    let missing = "or pass them to PostgresOptions::root_certificates";
    with_roots(roots, format!("sslmode=require needs root certificates: {reason}, {missing}"))
}

fn with_roots(
    roots: RootCertStore,
    if_empty: impl Into<Box<dyn Error + Send + Sync>>,
) -> Result<MakeRustlsConnect, PostgresError> {
    if roots.is_empty() {
        return Err(configuration(if_empty));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(configuration)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

fn configuration(error: impl Into<Box<dyn Error + Send + Sync>>) -> PostgresError {
    PostgresError::new(PostgresProblem::Configuration, error)
}
