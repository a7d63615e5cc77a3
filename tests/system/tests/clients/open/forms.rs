//! Issuers and resources with and without a path.

use serde_json::json;
use support_servers::http::Request;

use crate::open::client::Kind;
use crate::open::course::{Case, READ, Way, assert_ok};
use crate::open::process::Language;
use crate::open::service::{Service, Shape};
use crate::open::table;

const ALL: [Kind; 5] = [Kind::TYPESCRIPT_1, Kind::TYPESCRIPT_2, Kind::PYTHON_1, Kind::PYTHON_2, Kind::Rust];

/// NEG-OC-10, RC-TS-01, RC-TS-02, RC-PY-01, RC-RS-01
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs npm and PyPI"]
async fn every_sdk_signs_in_at_an_issuer_with_a_path() {
    let shape = Shape { issuer: "/tenant", resource: "/mcp" };
    for kind in ALL {
        signs_in(Case::new(kind, "2025-11-25", Way::Dynamic(None)).at(shape), "at an issuer with a path").await;
    }
}

/// RC-TS-03
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs npm and PyPI"]
async fn every_sdk_signs_in_at_a_bare_origin() {
    let shape = Shape { issuer: "", resource: "" };
    for kind in ALL.into_iter().chain([Kind::Process(Language::TypeScript130)]) {
        let service = signs_in(Case::new(kind, "2025-11-25", Way::Dynamic(None)).at(shape), "at a bare origin").await;
        let asked = service.links().remove(0);
        let asked = asked.query_pairs().find(|(name, _)| name == "resource").map(|(_, value)| value.into_owned());
        let asked = asked.expect("it names the resource");
        assert!([service.resource(), format!("{}/", service.resource())].contains(&asked), "{kind:?}: {asked}");
    }
}

/// MCP-0326-01
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs npm and PyPI"]
async fn the_paths_of_servers_without_metadata_are_not_served() {
    let service = Service::start(Shape::USUAL, &[]).await;
    let origin = service.relay.origin();
    for path in ["/authorize", "/token", "/register"] {
        assert_eq!(Request::to("GET", format!("{origin}{path}")).send().await.status, 404, "{path}");
    }
    let metadata = Request::to("GET", format!("{origin}/.well-known/oauth-authorization-server")).send().await;
    assert_eq!((metadata.status, &metadata.json()["issuer"]), (200, &json!(origin)));
}

/// First contact and a call.
async fn signs_in(case: Case, place: &str) -> Service {
    let (service, mut client) = case.start().await;
    for command in ["connect".to_owned(), format!("call {READ}")] {
        assert_ok(case, &command, &client.ask(&service, &command).await);
    }
    assert_eq!(service.links().len(), 1, "{case:?} signs in once");
    table::add(case.kind.name(), case.revision, &format!("dynamically, {place}"), "connected");
    service
}
