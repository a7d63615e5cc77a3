//! A server process: this very program, started again with `--serve`.

use std::io::Read;
use std::net::TcpListener;

use super::{Job, Server, actix_servers, axum_servers};

/// What a server process is told on its command line.
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) server: Server,
    pub(crate) job: Job,
    /// The octets that a bare server answers with.
    pub(crate) answer: String,
}

impl Options {
    /// Reads the command line; nothing if the process is to be no server.
    #[must_use]
    pub fn from_args() -> Option<Self> {
        let mut args = std::env::args().skip_while(|arg| arg != "--serve").skip(1);
        let (server, job, answer) = (args.next()?, args.next()?, args.next()?);
        let server = Server::ALL.into_iter().find(|known| known.name() == server)?;
        let job = Job::ALL.into_iter().find(|known| known.name() == job)?;
        Some(Self { server, job, answer })
    }

    pub(crate) fn args(&self) -> [&str; 4] {
        ["--serve", self.server.name(), self.job.name(), &self.answer]
    }
}

/// Serves until the process that started it is gone or wants no more.
///
/// # Panics
///
/// If it cannot listen.
pub fn serve(options: &Options) {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    match options.server {
        Server::GrantorAxum | Server::BareAxum | Server::OxideAuthAxum => axum_servers::serve(options, listener),
        Server::GrantorActix | Server::BareActix | Server::OxideAuthActix => actix_servers::serve(options, listener),
        Server::OidcProvider => unreachable!("a program of its own"),
    }
}
