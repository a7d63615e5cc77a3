//! What many distinct tokens leave on the heap: the caches are bounded.

use std::time::Duration;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use grantor::ResourceServer;
use grantor::fetch::{FetchError, FetchResponse, Transport, TransportRequest};
use grantor::jose::SigningAlgorithm;
use serde_json::Value;
use support::keys::Signer;

use crate::apart::service::{JWTS, OPAQUE, Service, check};
use crate::heap;
use crate::options::{Options, label};
use crate::report::{Figure, Goal, Report, Unit};
use crate::world::ISSUER;

/// The default number of entries, of which each takes at most 1 KiB on average.
const BOUND: f64 = 10_000.0 * 1024.0;

pub(super) fn measure(options: &Options, report: &mut Report) {
    let count = if options.short { 1_000 } else { 1_000_000 };
    let key = include_bytes!("../../tests/data/keys/ed25519-1.pk8");
    let service = Service::new(ISSUER, SigningAlgorithm::EdDsa, key);
    let mut add = |case: &str, bytes: i64| {
        let figure = Figure::new(format!("apart/memory/{case}/{}", label(count)), bytes as f64, Unit::Bytes);
        report.add(figure.goal(Goal::AtMost(BOUND)));
    };

    let [token] = &service.tokens(OPAQUE, 1)[..] else { panic!("one token") };
    let width = token.len() - "at_".len();
    let resource = service.introspecting(Same(service.description(token)), Duration::from_secs(300));
    add("kept introspection", left_by(&resource, (0..count).map(|number| format!("at_{number:0width$}"))));

    let [token] = &service.tokens(JWTS, 1)[..] else { panic!("one token") };
    let (header, claims) = parts(token);
    let width = claims["jti"].as_str().expect("a text").len();
    let signer = Signer::ed25519();
    let tokens = (0..count).map(|number| {
        let mut claims = claims.clone();
        claims["jti"] = format!("{number:0width$}").into();
        signer.sign(&header, claims.to_string())
    });
    add("kept JWT", left_by(&service.verifying(service.in_process(), None), tokens));
}

/// Returns how many bytes the checks of these tokens leave on the heap.
fn left_by(resource: &ResourceServer, tokens: impl Iterator<Item = String>) -> i64 {
    let growth = |token| {
        let header = format!("Bearer {token}");
        heap::of(|| check(resource, &header)).1.bytes
    };
    tokens.map(growth).sum()
}

/// Returns the header of a JWT and its claims.
fn parts(token: &str) -> (Vec<u8>, Value) {
    let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).expect("base64url");
    let mut parts = token.split('.').map(decode);
    let (header, claims) = parts.next().zip(parts.next()).expect("a JWT");
    (header, serde_json::from_slice(&claims).expect("JSON"))
}

/// A transport that answers every request alike.
#[derive(Debug)]
struct Same(FetchResponse);

#[async_trait]
impl Transport for Same {
    async fn send(&self, _: &TransportRequest<'_>) -> Result<FetchResponse, FetchError> {
        Ok(self.0.clone())
    }
}
