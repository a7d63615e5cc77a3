//! Hostile bodies at the registration endpoint.

mod forms;
mod management;
mod members;
mod transport;
mod values;

use serde_json::{Value, json};

use crate::hostile::case::{Case, run_all, run_together};
use crate::hostile::families::all;
use crate::hostile::server::Server;
use support_servers::http::Request;

const PATH: &str = "/oauth2/register";
/// The value of `Config::limits.body_bytes`.
const LIMIT: usize = 16_384;

#[tokio::test]
async fn no_body_registers_what_it_must_not() {
    let cases = [members::cases(), forms::cases(), values::redirect_uris(), values::texts()].concat();
    all(Server::open(), async |server| run_all(server, &cases).await).await;
}

#[tokio::test]
async fn no_registration_is_read_beyond_its_limit() {
    let cases = [transport::sizes(), transport::cases()].concat();
    all(Server::open(), async |server| run_all(server, &cases).await).await;
}

#[tokio::test]
async fn a_registration_that_does_not_come_is_given_up() {
    all(Server::open(), async |server| run_together(server, &transport::slow()).await).await;
}

#[tokio::test]
async fn no_request_manages_a_registration_as_it_must_not() {
    all(Server::open(), async |server| {
        let own = management::Own::register(server).await;
        run_all(server, &management::without_the_token(&own)).await?;
        run_all(server, &management::of_itself(&own)).await
    })
    .await;
}

#[test]
fn there_are_at_least_six_hundred_registrations() {
    let [values, sizes] = [[values::redirect_uris(), values::texts()], [transport::sizes(), transport::cases()]];
    let counts = [members::cases(), forms::cases(), values.concat(), sizes.concat(), transport::slow()];
    let counts = counts.map(|cases| cases.len());
    assert!(counts.iter().sum::<usize>() >= 600, "{counts:?}");
}

/// Metadata that is accepted.
fn sound() -> Value {
    json!({
        "redirect_uris": ["https://app.example.com/cb"],
        "client_name": "App",
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
    })
}

fn with(name: &str, value: Value) -> Value {
    let mut metadata = sound();
    metadata[name] = value;
    metadata
}

fn post(body: impl AsRef<[u8]>) -> Request {
    Request::new("POST", PATH).header("Content-Type", "application/json").body(body)
}

fn registration(metadata: &Value, statuses: &[u16]) -> Case {
    let body = metadata.to_string();
    Case::new(format!("{body:.200}"), post(body), statuses)
}
