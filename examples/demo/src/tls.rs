//! Terminates TLS in front of a thin server, like the proxy in front of a service.

use std::error::Error;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{self, ServerConfig};

use crate::Options;

/// Terminates TLS if the command line names a certificate. Decrypted connections go to the listener that is returned.
///
/// # Errors
///
/// If a file cannot be read, or if there is no port.
pub fn terminate(options: &Options, listener: TcpListener) -> Result<TcpListener, Box<dyn Error>> {
    let Some([certificate, key]) = &options.tls else { return Ok(listener) };
    let acceptor = TlsAcceptor::from(Arc::new(settings(certificate, key)?));
    listener.set_nonblocking(true)?;
    let outer = tokio::net::TcpListener::from_std(listener)?;
    let inner = TcpListener::bind("127.0.0.1:0")?;
    let server = inner.local_addr()?;
    tokio::spawn(async move {
        loop {
            match outer.accept().await {
                Ok((stream, _)) => drop(tokio::spawn(pass_on(acceptor.clone(), stream, server))),
                // Most likely the process has no sockets left. Others will be closed.
                Err(_) => sleep(Duration::from_secs(1)).await,
            }
        }
    });
    Ok(inner)
}

/// TLS 1.2 and 1.3 with the cipher suites of rustls: ECDHE with AES-GCM or ChaCha20-Poly1305 only.
fn settings(certificate: &Path, key: &Path) -> Result<ServerConfig, Box<dyn Error>> {
    let unreadable = |path: &Path, error: &dyn Error| format!("cannot read {}: {error}", path.display());
    let chain = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect);
    let chain: Vec<_> = chain.map_err(|error| unreadable(certificate, &error))?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, &error))?;
    let versions: [&rustls::SupportedProtocolVersion; 2] = [&TLS13, &TLS12];
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    Ok(builder.with_protocol_versions(&versions)?.with_no_client_auth().with_single_cert(chain, key)?)
}

/// Serves one connection. Its errors do not affect the others.
async fn pass_on(acceptor: TlsAcceptor, stream: TcpStream, server: SocketAddr) -> io::Result<()> {
    let mut outer = timeout(Duration::from_secs(10), acceptor.accept(stream)).await??;
    let mut inner = TcpStream::connect(server).await?;
    copy_bidirectional(&mut outer, &mut inner).await?;
    Ok(())
}
