//! A client's metadata document, served over https on the loopback under a root of the tests.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use support::folder::repository;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The root certificates for the document's host.
pub(crate) fn roots() -> PathBuf {
    certificate("ca.pem")
}

/// Serves a document with those members until the runtime of the test ends, and returns its URL.
pub(crate) async fn serve(members: Value) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}/client.json", listener.local_addr().unwrap().port());
    let mut document = json!({ "client_id": url });
    document.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    let document = Arc::new(document.to_string());
    let acceptor = acceptor();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, document) = (acceptor.clone(), Arc::clone(&document));
            // A fetcher may close the connection.
            tokio::spawn(async move { answer(&acceptor, stream, &document).await.ok() });
        }
    });
    url
}

async fn answer(acceptor: &TlsAcceptor, stream: TcpStream, document: &str) -> io::Result<()> {
    let mut stream = acceptor.accept(stream).await?;
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let length = document.len();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(&[head.as_bytes(), document.as_bytes()].concat()).await?;
    stream.shutdown().await
}

fn acceptor() -> TlsAcceptor {
    let chain = CertificateDer::pem_file_iter(certificate("server.pem")).unwrap().map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(certificate("server.key")).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(chain, key).unwrap();
    TlsAcceptor::from(Arc::new(config))
}

fn certificate(name: &str) -> PathBuf {
    repository().join("tests/data/postgres-tls").join(name)
}
