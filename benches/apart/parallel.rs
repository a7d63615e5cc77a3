//! How many requests are sent for many checks at once.

use std::iter;
use std::time::Duration;

use grantor::ResourceServer;
use grantor::wire::Request;
use tokio::runtime::{Builder, Runtime};

use crate::apart::http::Listening;
use crate::apart::service::{JWTS, OPAQUE, headers};
use crate::report::{Figure, Goal, Report, Unit};

const CHECKS: usize = 1000;

/// Over HTTP, so that the checks wait for the answer.
pub(super) fn measure(report: &mut Report) {
    let listening = Listening::new();
    let service = &listening.service;
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let figure = |case: &str, sent: u64| {
        Figure::new(format!("apart/{CHECKS} checks at once/{case}"), sent as f64, Unit::Requests)
    };
    for (case, seconds) in [("introspection", 0), ("kept introspection", 300)] {
        let transport = listening.transport();
        let resource = service.introspecting(transport.clone(), Duration::from_secs(seconds));
        let token = headers(&service.tokens(OPAQUE, 1));
        at_once(&runtime, &resource, iter::repeat_n(token, CHECKS).flatten());
        report.add(figure(case, transport.sent()));
    }
    let transport = listening.transport();
    let resource = service.verifying(transport.clone(), None);
    at_once(&runtime, &resource, headers(&service.tokens(JWTS, CHECKS)));
    report.add(figure("the first JWTs", transport.sent()).goal(Goal::AtMost(1.0)));
}

/// # Panics
///
/// If a token is refused.
fn at_once(runtime: &Runtime, resource: &ResourceServer, headers: impl IntoIterator<Item = String>) {
    let check = |header: String| {
        let resource = resource.clone();
        runtime.spawn(async move {
            let request = Request::new("GET").path("/api").header("Authorization", header.as_bytes());
            resource.authenticate(&request).await.expect("a valid token");
        })
    };
    let checks: Vec<_> = headers.into_iter().map(check).collect();
    checks.into_iter().for_each(|check| runtime.block_on(check).expect("no check panics"));
}
