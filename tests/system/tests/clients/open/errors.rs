//! How clients react to errors of the server.

use serde_json::json;

use crate::open::client::{Client, Kind};
use crate::open::course::{Case, READ, REDIRECT_URI, Way, assert_ok, expire};
use crate::open::service::Service;

const TYPESCRIPT: [Kind; 2] = [Kind::TYPESCRIPT_1, Kind::TYPESCRIPT_2];

/// RC-TS-06
/// Throttling and store failures cost a client neither its registration nor its grant.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs npm and PyPI"]
async fn a_refresh_that_has_to_wait_costs_nothing() {
    for kind in TYPESCRIPT {
        let case = Case::new(kind, "2025-11-25", Way::Dynamic(None));
        let (service, mut client) = connected(case).await;
        for status in [429, 503] {
            expire().await;
            service.relay.order(|orders| orders.refuse_next_refresh = Some(status));
            let refused = call(&service, &mut client).await;
            assert_eq!(refused["ok"], false, "{kind:?}, {status}: {refused}");
            assert_ok(case, "the call after that", &call(&service, &mut client).await);
        }
        assert_eq!((service.links().len(), registrations(&service)), (1, 1), "{kind:?}");
    }
}

/// RC-TS-06
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs npm and PyPI"]
async fn a_client_that_was_removed_registers_anew() {
    for kind in TYPESCRIPT {
        let case = Case::new(kind, "2025-11-25", Way::Dynamic(None));
        let (service, mut client) = connected(case).await;
        service.restart();
        let first = call(&service, &mut client).await;
        let again = if first["ok"] == true { first } else { call(&service, &mut client).await };
        assert_ok(case, "the call at a server that knows nothing of it", &again);
        assert_eq!((service.links().len(), registrations(&service)), (2, 2), "{kind:?}");
        let refused = service.relay.grants("refresh_token");
        assert!(refused.iter().all(|refresh| refresh.json()["error"] == "invalid_client"), "{refused:#?}");
    }
}

/// RC-PY-03
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs npm and PyPI"]
async fn two_processes_share_one_refresh_token() {
    for kind in [Kind::PYTHON_1, Kind::PYTHON_2] {
        let case = Case::new(kind, "2025-11-25", Way::Dynamic(None));
        let (service, mut client) = connected(case).await;
        let kept = client.ask(&service, "kept").await;
        let job = json!({
            "name": "Judge", "server": service.resource(), "redirect_uri": REDIRECT_URI,
            "kept": kept["kept"],
        });
        let mut workers = [(); 2].map(|()| Client::start(kind, job.clone()));
        let [one, other] = &mut workers;
        let called = tokio::join!(call(&service, one), call(&service, other));
        assert_ok(case, "the one process", &called.0);
        assert_ok(case, "the other process", &called.1);
        let refreshes = service.relay.grants("refresh_token");
        let used: Vec<_> = refreshes.iter().map(|refresh| (refresh.status, refresh.field("refresh_token"))).collect();
        assert!(used.len() == 2 && used[0].0 == 200 && used[0] == used[1], "{refreshes:#?}");
        assert_eq!(service.links().len(), 1, "{kind:?}");
    }
}

async fn connected(case: Case) -> (Service, Client) {
    let (service, mut client) = case.start().await;
    assert_ok(case, "connect", &client.ask(&service, "connect").await);
    (service, client)
}

async fn call(service: &Service, client: &mut Client) -> serde_json::Value {
    client.ask(service, &format!("call {READ}")).await
}

fn registrations(service: &Service) -> usize {
    service
        .relay
        .exchanges()
        .iter()
        .filter(|exchange| exchange.method == "POST" && exchange.path() == "/oauth2/register")
        .count()
}
