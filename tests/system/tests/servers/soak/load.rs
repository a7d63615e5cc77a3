//! The load of one server: connections that go through flows side by side.

use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use support_servers::http::Request;
use tokio::time::Instant;

use crate::soak::Settings;
use crate::soak::application::Application;
use crate::soak::connection::{Connection, Pace};
use crate::soak::flow::{Flows, Role};
use crate::soak::server::{Example, Server};
use crate::soak::tally::Tally;

pub(crate) const CONNECTIONS: u32 = 8;

/// A load under way.
#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) tally: Arc<Tally>,
    connections: Mutex<Vec<JoinHandle<()>>>,
}

/// Who is signed in on a connection, and what it is there for.
#[derive(Clone, Debug)]
pub(crate) struct User {
    cookies: String,
    role: Role,
}

impl User {
    /// One for each connection. The thin examples begin a session with the first page.
    pub(crate) fn of(server: &Server) -> Vec<Self> {
        let signed_in =
            |username: &str, password: &str, role| Self { cookies: sign_in(server, username, password), role };
        let mut users = match server.example {
            Example::Axum | Example::Actix => vec![Self { cookies: String::new(), role: Role::Client }],
            // Connections that revoke have their own account, so that they see no other connection's grants.
            Example::Platform => vec![
                signed_in("devon", "devon-likes-rust", Role::Revokes),
                signed_in("admin", "ada-likes-order", Role::Revokes),
                signed_in("alice", "alice-likes-tea", Role::Client),
            ],
        };
        let last = users.last().unwrap().clone();
        users.resize(usize::try_from(CONNECTIONS).unwrap(), last);
        users
    }
}

fn sign_in(server: &Server, username: &str, password: &str) -> String {
    let now = Instant::now();
    let pace = Pace { begun: now, next: now, interval: Duration::ZERO, end: now + Duration::from_secs(60) };
    let (tally, application) = (Tally::new(Duration::from_secs(1)), Application::of(server));
    let form = [("username", username), ("password", password)];
    let mut connection = Connection::open(application.address(), application.host(), &tally, pace).unwrap();
    let answer = connection.ask("sign-in", 303, Request::post("/sign-in", &form));
    answer.unwrap_or_else(|_| panic!("{:?}", tally.seen())).cookies()
}

impl Load {
    pub(crate) fn start(server: &Server, users: Vec<User>, settings: Settings, begun: Instant) -> Self {
        let Settings { length, rate } = settings;
        let tally = Arc::new(Tally::new(length));
        let interval = Duration::from_secs(CONNECTIONS.into()) / rate;
        let mut connections = Vec::new();
        for (user, number) in users.into_iter().zip(0..) {
            let next = begun + interval * number / CONNECTIONS;
            let pace = Pace { begun, next, interval, end: begun + length };
            let (tally, application) = (tally.clone(), Application::of(server));
            connections.push(thread::spawn(move || {
                match Connection::open(application.address(), application.host(), &tally, pace) {
                    Ok(connection) => Flows::new(connection, &application, user.role, user.cookies, number).run(),
                    Err(error) => tally.add_fault(format!("no connection: {error}")),
                }
            }));
        }
        Self { tally, connections: Mutex::new(connections) }
    }

    /// Waits for the last answers.
    pub(crate) fn wait(&self) {
        for connection in self.connections.lock().unwrap().drain(..) {
            if connection.join().is_err() {
                self.tally.add_fault("a connection of the load panicked".to_owned());
            }
        }
    }
}
