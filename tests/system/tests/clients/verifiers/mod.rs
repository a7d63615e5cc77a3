//! JWT access tokens [RFC 9068] at third-party verifiers, which are set up as their documentation recommends:
//! `jsonwebtoken` for Rust, `jose` for JavaScript, `PyJWT`, and `golang-jwt` with `keyfunc`.
//!
//! Needs `.ci/judges`; run by `cargo test --workspace --all-features --test clients verifiers:: -- --ignored`. The
//! results are written to `target/judges/jwt.md`.

mod rust;
pub(crate) mod service;
mod token;
mod verifier;
mod wrong;

use std::fs;

use support::folder::repository;

use crate::verifiers::service::{KEYS, Service};
use crate::verifiers::token::Token;
use crate::verifiers::verifier::{Job, Verifier};

const HEAD: &str = "| verifier | key | right tokens accepted | wrong tokens refused |\n|---|---|---|---|\n";

/// 9068-2.2-01
///
/// Each verifier fetches the key set from the server, which has a key of each algorithm. It reads all claims of the
/// right tokens.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs npm, PyPI and Go modules"]
async fn verifiers_accept_right_tokens_and_refuse_wrong_ones() {
    let mut table = HEAD.to_owned();
    let mut mistaken = Vec::new();
    for key in &KEYS {
        let service = Service::start(key).await;
        let tokens = service.tokens().await;
        let texts = tokens.iter().map(|token| &*token.text).collect();
        let job = Job { issuer: service.issuer(), audience: service.resource(), tokens: texts };
        for verifier in Verifier::ALL {
            let verdicts = verifier.verdicts(&job).await;
            assert_eq!(verdicts.len(), tokens.len(), "{verifier:?}");
            let all = || tokens.iter().zip(&verdicts);
            let count = |is_right: bool| {
                let of_kind = || all().filter(|(token, _)| token.is_right == is_right);
                let as_expected = of_kind().filter(|(token, verdict)| token.is_expected(verdict));
                format!("{} of {}", as_expected.count(), of_kind().count())
            };
            let (accepted, refused) = (count(true), count(false));
            table += &format!("| {} | {} | {accepted} | {refused} |\n", verifier.version(), key.algorithm);
            let unexpected = all().filter(|(token, verdict)| !token.is_expected(verdict));
            let shown = unexpected
                .map(|(Token { name, .. }, verdict)| format!("{verifier:?}, {}, {name}: {verdict}", key.algorithm));
            mistaken.extend(shown);
        }
    }
    println!("{table}");
    fs::write(repository().join("target/judges/jwt.md"), table).unwrap();
    assert!(mistaken.is_empty(), "{mistaken:#?}");
}
