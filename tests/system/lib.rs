//! The thin servers in the process of the test.

use std::future::pending;
use std::net::{SocketAddr, TcpListener};
use std::panic;
use std::sync::{LazyLock, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use actix_web::{App, HttpServer};
use demo::{Application, Options};
use grantor::AuthorizationServer;
use tokio::runtime::{Builder, Runtime};

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there are two")]
pub enum Thin {
    Axum,
    Actix,
}

impl Thin {
    pub const BOTH: [Self; 2] = [Self::Axum, Self::Actix];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Axum => "axum",
            Self::Actix => "actix",
        }
    }

    /// Starts what the example starts with this command line. It serves until the process ends.
    #[must_use]
    pub fn start(self, options: &[&str]) -> Application {
        let listener = listener();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let options = Options::read(options.iter().map(ToString::to_string)).unwrap().expect("no call for help");
        let (made, wait) = mpsc::channel();
        RUNTIME.spawn(async move {
            let (server, application) = demo::with_application(&options, issuer).await.unwrap();
            self.serve(listener, server);
            made.send(application).unwrap();
        });
        wait.recv().expect("the settings are good")
    }

    /// Serves that authorization server until the process ends.
    #[must_use]
    pub fn start_with(self, server: &AuthorizationServer) -> SocketAddr {
        let listener = listener();
        let address = listener.local_addr().unwrap();
        let server = server.clone();
        RUNTIME.spawn(async move { self.serve(listener, server) });
        address
    }

    /// As the examples serve.
    fn serve(self, listener: TcpListener, server: AuthorizationServer) {
        match self {
            Self::Axum => {
                listener.set_nonblocking(true).unwrap();
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                tokio::spawn(grantor_axum::accept::serve(listener, demo::axum::routes(server), pending()));
            }
            Self::Actix => {
                let app = move || App::new().configure(|services| demo::actix::configure(services, &server));
                let patient = HttpServer::new(app).client_request_timeout(Duration::from_secs(10));
                tokio::spawn(patient.workers(1).disable_signals().listen(listener).unwrap().run());
            }
        }
    }
}

/// The panics of the servers' tasks so far: to a client, they look like closed connections.
#[must_use]
pub fn panics() -> Vec<String> {
    PANICS.lock().unwrap().clone()
}

fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

const THREAD: &str = "thin-server";
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// All thin servers run on it, whichever test started them.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |what| {
        let current = thread::current();
        // Workers of actix-web have their own threads.
        if current.name().is_some_and(|name| name == THREAD || name.starts_with("actix-server")) {
            PANICS.lock().unwrap().push(what.to_string());
        }
        report(what);
    }));
    Builder::new_multi_thread().worker_threads(2).thread_name(THREAD).enable_all().build().unwrap()
});
