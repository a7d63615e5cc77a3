//! A network with scripted answers, which records its calls.

use std::collections::VecDeque;
use std::future::pending;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use grantor_fetch::Network;
use tokio::net::TcpStream;

#[derive(Clone, Debug, Default)]
pub(crate) struct Scripted(Arc<Mutex<Script>>);

#[derive(Debug, Default)]
struct Script {
    /// Where every connection really goes.
    server: Option<SocketAddr>,
    /// Where connections to single addresses really go.
    elsewhere: Vec<(IpAddr, SocketAddr)>,
    answers: VecDeque<Vec<IpAddr>>,
    resolver_hangs: bool,
    /// Look-ups of names below it never end.
    tar_pit: Option<String>,
    refusing: Vec<IpAddr>,
    silent: Vec<IpAddr>,
    names: Vec<String>,
    connections: Vec<SocketAddr>,
}

impl Scripted {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn leading_to(self, server: SocketAddr) -> Self {
        self.script(|script| script.server = Some(server));
        self
    }

    /// Leads connections to one address to another server.
    pub(crate) fn leads(&self, address: IpAddr, server: SocketAddr) {
        self.script(|script| script.elsewhere.push((address, server)));
    }

    /// Adds the answer of one look-up.
    pub(crate) fn answer(&self, addresses: impl IntoIterator<Item = IpAddr>) {
        self.script(|script| script.answers.push_back(addresses.into_iter().collect()));
    }

    pub(crate) fn resolver_hangs(&self) {
        self.script(|script| script.resolver_hangs = true);
    }

    /// Look-ups of names below this domain never end.
    pub(crate) fn tar_pit(&self, domain: &str) {
        self.script(|script| script.tar_pit = Some(domain.to_owned()));
    }

    /// Refuses connections to this address.
    pub(crate) fn refuses(&self, address: IpAddr) {
        self.script(|script| script.refusing.push(address));
    }

    /// Connections to this address never complete.
    pub(crate) fn is_silent(&self, address: IpAddr) {
        self.script(|script| script.silent.push(address));
    }

    /// The names that were looked up.
    pub(crate) fn names(&self) -> Vec<String> {
        self.script(|script| script.names.clone())
    }

    /// The addresses that were connected to, or tried.
    pub(crate) fn connections(&self) -> Vec<SocketAddr> {
        self.script(|script| script.connections.clone())
    }

    fn script<T>(&self, change: impl FnOnce(&mut Script) -> T) -> T {
        change(&mut self.0.lock().unwrap())
    }
}

#[async_trait]
impl Network for Scripted {
    async fn look_up(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let (answer, hangs) = self.script(|script| {
            script.names.push(name.to_owned());
            let hangs = script.tar_pit.as_deref().map_or(script.resolver_hangs, |pit| name.ends_with(pit));
            (if hangs { None } else { script.answers.pop_front() }, hangs)
        });
        if hangs {
            pending::<()>().await;
        }
        answer.ok_or_else(|| io::Error::other("no such name"))
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let (server, silent) = self.script(|script| {
            script.connections.push(address);
            let refused = script.refusing.contains(&address.ip());
            let elsewhere = script.elsewhere.iter().find(|(own, _)| *own == address.ip()).map(|(_, server)| *server);
            (elsewhere.or(script.server).filter(|_| !refused), script.silent.contains(&address.ip()))
        });
        if silent {
            pending::<()>().await;
        }
        TcpStream::connect(server.ok_or(io::ErrorKind::ConnectionRefused)?).await
    }
}
