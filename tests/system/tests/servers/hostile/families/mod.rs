//! The families of cases, and how many there are.

mod assertions;
mod bodies;
mod consent;
mod credentials;
mod delays;
mod devices;
mod framing;
mod headers;
mod media_types;
mod methods;
mod parameters;
mod platform;
mod proofs;
mod pushes;
mod raw;
mod redirects;
mod registration;
mod repeats;
mod sizes;
mod targets;

use futures::future::join_all;

use crate::hostile::case::{Case, run_all};
use crate::hostile::server::Server;
use support_servers::http::Request;

/// Where the form of a client is read.
const ENDPOINTS: [&str; 3] = ["/oauth2/token", "/oauth2/revoke", "/oauth2/introspect"];

/// Sends the cases of a family to both examples.
async fn on_both(cases: impl Fn(&Server) -> Vec<Case>) {
    all(Server::both(), async |server| run_all(server, &cases(server)).await).await;
}

/// Does the same with each server at the same time, and fails with what either found.
async fn all(servers: &[Server], test: impl AsyncFn(&Server) -> Result<(), String>) {
    let found = join_all(servers.iter().map(|server| test(server))).await;
    let faults: Vec<_> = found.into_iter().filter_map(Result::err).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A form of the server's own client.
fn form(server: &Server, path: &str, body: impl AsRef<[u8]>) -> Request {
    Request::form(path, body).basic(&server.id, &server.secret)
}

#[tokio::test]
async fn each_server_meets_at_least_four_and_a_half_thousand_cases() {
    for server in Server::both().iter() {
        let families: [(&str, Vec<Case>); 14] = [
            ("bodies", bodies::cases(server)),
            ("consent", consent::cases(server, "")),
            ("credentials", credentials::cases(server)),
            ("delays", delays::cases(server)),
            ("framing", framing::cases(server)),
            ("headers", headers::cases(server)),
            ("media types", media_types::cases(server)),
            ("methods", methods::cases(server)),
            ("parameters", parameters::cases(server)),
            ("raw", raw::cases(server)),
            ("redirects", redirects::cases(server)),
            ("repeats", repeats::cases(server)),
            ("sizes", sizes::cases(server)),
            ("targets", targets::cases(server)),
        ];
        let counts = families.map(|(family, cases)| (family, cases.len()));
        let sum: usize = counts.iter().map(|(_, count)| count).sum();
        assert!(sum >= 4_500, "{}: {sum} in {counts:?}", server.name);
    }
}
