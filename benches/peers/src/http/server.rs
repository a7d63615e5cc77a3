//! A server process: this program, started again with `--serve`.

use std::io::Read;
use std::net::TcpListener;

use super::{Job, Server, actix_servers, axum_servers};

/// The command line of a server process.
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) server: Server,
    pub(crate) job: Job,
    /// The bytes that a bare server answers with.
    pub(crate) answer: String,
}

impl Options {
    /// Reads the command line. Returns `None` if the process is not a server.
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

/// Serves until standard input is closed, which happens when the process that started it drops it or ends.
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
        Server::OidcProvider => unreachable!("a separate program"),
    }
}
