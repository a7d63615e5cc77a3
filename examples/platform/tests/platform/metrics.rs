//! What Prometheus reads, and whether the dashboard and the alerts ask for it.

use std::collections::BTreeSet;

use serde_json::Value;
use support_servers::http::Request;
use url::Url;

use crate::start_with;

const DASHBOARD: &str = include_str!("../../monitoring/dashboard.json");
const ALERTS: &str = include_str!("../../monitoring/alerts.yml");

#[tokio::test]
async fn prometheus_reads_the_figures_apart_from_the_platform() {
    let platform = start_with("metrics", &["--metrics", "127.0.0.1:0"]);
    let secret = ("invented-client", "invented-secret");
    let form = [("grant_type", "refresh_token"), ("refresh_token", "x")];
    let guess = Request::to("POST", platform.url("/oauth2/token")).fields(&form).basic(secret.0, secret.1);
    assert_eq!(guess.send().await.status, 401);
    let url = Url::parse(&format!("http://{}/metrics", platform.about("metrics"))).unwrap();
    let answer = Request::to("GET", url).send().await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/plain; version=0.0.4")));
    let text = answer.text();
    assert!(text.contains("\ngrantor_refusals_total{request=\"token\",reason=\"UnknownClient\"} 1\n"), "{text}");
    assert!(!text.contains("invented"), "{text}");
    assert_eq!(Request::to("GET", platform.url("/metrics")).send().await.status, 404);

    let own: BTreeSet<&str> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let asked = panels.flat_map(|panel| panel["targets"].as_array().unwrap().iter()).map(|own| own["expr"].as_str());
    for expression in asked.map(Option::unwrap).chain([ALERTS]) {
        let words = expression.split(|own: char| !own.is_ascii_lowercase() && own != '_');
        for name in words.filter(|word| word.starts_with("grantor_")) {
            let family = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
            // This platform has no PostgreSQL and no Redis, its throttle leaves the loopback out, its purge comes later,
            // and nothing has failed.
            let of_store = ["grantor_store_waiting", "grantor_store_connections", "grantor_store_failures"];
            let later = [&of_store[..], &["grantor_purge", "grantor_locked_out"]].concat();
            let is_later = later.iter().any(|own| family.starts_with(own));
            assert!(own.contains(family) || is_later, "{family} is no figure: {own:?}");
            assert!(text.contains(&format!("# HELP {family} ")) || is_later, "{family}");
        }
    }
}
